/** Small changes of a workload's pod template, each one guarded patch of the object. */

import { ANNOTATION } from '../planners/names.ts';
import type { Container, PodTemplate } from '../planners/objects.ts';
import type { Wish } from '../planners/workload.ts';
import type { KubernetesClient } from './client.ts';
import { isInPlaceOnly } from './in-place-only.ts';
import { isTemplateFromGit, templateChange } from './template-change.ts';
import { asRecord, trusted } from './values.ts';
import type { Wisher } from './wish-edits.ts';
import { pausedHint, short, wish } from './wish-edits.ts';
import type { PatchOperation, WishResult, WorkloadTarget } from './workload-edit.ts';
import { annotationOperations, editWorkload } from './workload-edit.ts';
import { WishRefusedError } from './wish-refused-error.ts';

/** What `kubectl rollout restart` writes too. */
export const RESTARTED_AT = 'kubectl.kubernetes.io/restartedAt';
/** Beside it, on the template so that it belongs to that revision alone: who wanted the restart and why, JSON. */
export const RESTARTED = 'fairlead.dev/restarted';

/**
 * Changes an annotation of the template, so that every pod is replaced. `now` in milliseconds since the epoch.
 * @throws Error under the policy InPlaceOnly, which replaces no pod; ApiError as the apiserver answers
 */
export async function restartWorkload(
  client: KubernetesClient,
  target: WorkloadTarget,
  wisher: Wisher,
  now: number,
): Promise<WishResult> {
  return await editWorkload(client, target, (object) => {
    if (isInPlaceOnly(object)) {
      throw new WishRefusedError(
        'InPlaceOnly',
        `${short(target)} cannot be restarted: its podUpdatePolicy is InPlaceOnly, and a restart replaces pods; ` +
          'use InPlaceIfPossible or ReCreate, or delete pods by hand',
      );
    }
    const { template } = object.spec;
    const { metadata } = template;
    const said = { ...wish(wisher, now), at: new Date(now).toISOString() };
    const added = { [RESTARTED_AT]: said.at, [RESTARTED]: JSON.stringify(said) };
    const annotations = { ...metadata?.annotations, ...added };
    const restarted: PodTemplate = { ...template, metadata: { ...metadata, annotations } };
    return {
      operations: [
        ...(metadata === undefined
          ? [{ op: 'add', path: '/spec/template/metadata', value: {} } as const]
          : []),
        ...annotationOperations(metadata?.annotations, added, '/spec/template/metadata'),
        ...annotationOperations(
          object.metadata.annotations,
          templateChange(object, restarted, 'restart', wisher, now),
        ),
      ],
      result: { changed: true, message: `${short(target)} restarted${pausedHint(object, target)}` },
    };
  });
}

/** Who restarted it and why, of a template that is there for that; undefined of any other. */
export function readRestarted(template: PodTemplate): Wish | undefined {
  const text = template.metadata?.annotations?.[RESTARTED];
  if (text === undefined) return undefined;
  try {
    return trusted<Wish>(asRecord(JSON.parse(text)));
  } catch {
    return { reason: text };
  }
}

/**
 * Sets images by container name; `*` means every container and init container. A custom resource has no strategic merge, so
 * containers are found by index, and the patch fails if another container stands there meanwhile. `now` in milliseconds since
 * the epoch.
 *
 * @throws Error naming the known containers for one that does not exist; ApiError as the apiserver answers
 */
export async function setImage(
  client: KubernetesClient,
  target: WorkloadTarget,
  images: ReadonlyMap<string, string>,
  wisher: Wisher,
  now: number,
): Promise<WishResult> {
  return await editWorkload<WishResult>(client, target, (object) => {
    const containers = listContainers(object.spec.template);
    const known = new Set(containers.map(({ container }) => container.name));
    for (const name of images.keys()) {
      if (name !== '*' && !known.has(name)) {
        throw new WishRefusedError(
          'NoContainer',
          `${short(target)} has no container "${name}": it has ${[...known].join(', ')}`,
        );
      }
    }
    const changes = containers.flatMap(({ container, path }) => {
      const image = images.get(container.name) ?? images.get('*');
      return image === undefined || image === container.image ? [] : [{ container, path, image }];
    });
    const name = short(target);
    if (changes.length === 0) {
      return {
        operations: [],
        result: { changed: false, message: `nothing to do: ${name} has these images already` },
      };
    }
    const what = changes.map(({ container, image }) => `${container.name}=${image}`).join(', ');
    const template = structuredClone(object.spec.template);
    for (const { container } of listContainers(template)) {
      const { image } = changes.find((change) => change.container.name === container.name) ?? container;
      Object.assign(container, { image });
    }
    return {
      operations: [
        ...changes.flatMap(({ container, path, image }): PatchOperation[] => [
          { op: 'test', path: `${path}/name`, value: container.name },
          { op: 'add', path: `${path}/image`, value: image },
        ]),
        ...annotationOperations(object.metadata.annotations, {
          ...templateChange(object, template, `set image ${what}`, wisher, now),
          // Who leads back to what git gives has nothing against it any more.
          ...(isTemplateFromGit(object, template) && { [ANNOTATION.pinned]: undefined }),
        }),
      ],
      result: { changed: true, message: `${name} image updated: ${what}${pausedHint(object, target)}` },
    };
  });
}

interface Found {
  readonly container: Container;
  readonly path: string;
}

function listContainers(template: PodTemplate): readonly Found[] {
  const of = (field: 'containers' | 'initContainers') =>
    (template.spec[field] ?? []).map((container, index) => ({
      container,
      path: `/spec/template/spec/${field}/${String(index)}`,
    }));
  return [...of('containers'), ...of('initContainers')];
}
