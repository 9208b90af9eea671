/** Small changes of a workload's pod template, each one guarded patch of the object. */

import type { Container } from '../planners/objects.ts';
import type { KubernetesClient } from './client.ts';
import type { PatchOperation, WishResult, WorkloadObject, WorkloadTarget } from './workload-edit.ts';
import { annotationOperations, editWorkload } from './workload-edit.ts';

/** What `kubectl rollout restart` writes too. */
const RESTARTED_AT = 'kubectl.kubernetes.io/restartedAt';

/**
 * Changes an annotation of the template, so that every pod is replaced. `now` in milliseconds since the epoch.
 * @throws ApiError as the apiserver answers
 */
export async function restartWorkload(
  client: KubernetesClient,
  target: WorkloadTarget,
  now: number,
): Promise<WishResult> {
  return await editWorkload(client, target, ({ spec: { template } }) => ({
    operations: [
      ...(template.metadata === undefined
        ? [{ op: 'add', path: '/spec/template/metadata', value: {} } as const]
        : []),
      ...annotationOperations(
        template.metadata?.annotations,
        { [RESTARTED_AT]: new Date(now).toISOString() },
        '/spec/template/metadata',
      ),
    ],
    result: { changed: true, message: `${target.kind.toLowerCase()}/${target.name} restarted` },
  }));
}

/**
 * Sets images by container name; `*` means every container and init container. A custom resource has no strategic merge, so
 * containers are found by index, and the patch fails if another container stands there meanwhile.
 *
 * @throws Error naming the known containers for one that does not exist; ApiError as the apiserver answers
 */
export async function setImage(
  client: KubernetesClient,
  target: WorkloadTarget,
  images: Readonly<Record<string, string>>,
): Promise<WishResult> {
  return await editWorkload<WishResult>(client, target, (object) => {
    const containers = listContainers(object);
    const known = new Set(containers.map(({ container }) => container.name));
    for (const name of Object.keys(images)) {
      if (name !== '*' && !known.has(name)) {
        throw new Error(
          `${target.kind.toLowerCase()}/${target.name} has no container "${name}": it has ${[...known].join(', ')}`,
        );
      }
    }
    const changes = containers.flatMap(({ container, path }) => {
      const image = images[container.name] ?? images['*'];
      return image === undefined || image === container.image ? [] : [{ container, path, image }];
    });
    const name = `${target.kind.toLowerCase()}/${target.name}`;
    if (changes.length === 0) {
      return {
        operations: [],
        result: { changed: false, message: `nothing to do: ${name} has these images already` },
      };
    }
    const what = changes.map(({ container, image }) => `${container.name}=${image}`).join(', ');
    return {
      operations: changes.flatMap(({ container, path, image }): PatchOperation[] => [
        { op: 'test', path: `${path}/name`, value: container.name },
        { op: 'add', path: `${path}/image`, value: image },
      ]),
      result: { changed: true, message: `${name} image updated: ${what}` },
    };
  });
}

interface Found {
  readonly container: Container;
  readonly path: string;
}

function listContainers({ spec: { template } }: WorkloadObject): readonly Found[] {
  const of = (field: 'containers' | 'initContainers') =>
    (template.spec[field] ?? []).map((container, index) => ({
      container,
      path: `/spec/template/spec/${field}/${String(index)}`,
    }));
  return [...of('containers'), ...of('initContainers')];
}
