/** One guarded change of a workload object: read, decide, one JSON patch that fails if anybody wrote in between, again. */

import type { JsonObject, KubernetesObject, PodTemplate } from '../planners/objects.ts';
import { normaliseTemplate } from '../planners/template-defaults.ts';
import type { WorkloadRef } from '../planners/workload.ts';
import { isConflict, isInvalid } from './api-error.ts';
import type { KubernetesClient, ResourcePath } from './client.ts';
import { assertWished } from './taken-back-error.ts';
import { describeWorkload, workloadPath } from './workload-api.ts';
import { templateHash } from './workload-key.ts';
import { WishRefusedError } from './wish-refused-error.ts';

/** Which workload; with `uid` another object under the same name is left alone. */
export type WorkloadTarget = Omit<WorkloadRef, 'uid'> & {
  readonly uid?: string;
  /** With the hash of a template an object that has another one by now is left alone: what a run decides is about its own. */
  readonly template?: string;
};

/** A workload of any kind, as far as wishes read it. */
export interface WorkloadObject extends KubernetesObject {
  readonly spec: {
    readonly template: PodTemplate;
    readonly paused?: boolean;
    readonly [field: string]: unknown;
  };
  readonly status?: JsonObject;
}

export interface PatchOperation {
  readonly op: 'add' | 'remove' | 'replace' | 'test';
  readonly path: string;
  readonly value?: unknown;
}

/** What was done, in a sentence for people. */
export interface WishResult {
  readonly changed: boolean;
  readonly message: string;
}

/** What is to be done with the object just read; without `operations` nothing is. */
export interface Edit<R extends WishResult> {
  readonly operations: readonly PatchOperation[];
  readonly result: R;
}

/** Status writes of a rollout also move the resourceVersion, so conflicts are common and cheap. */
const CONFLICT_LIMIT = 12;

/**
 * Applies what `decide` answers for the workload as it is now. The patch carries uid and resourceVersion as preconditions
 * (answered with 409, unlike a failed `test` operation), so each decision is made on the state that it changes.
 *
 * @throws ApiError as the apiserver answers (404, 403, 422), or the last conflict after 12 tries
 * @throws TakenBackError when an annotation that was written is not there
 * @throws WishRefusedError when the name belongs to another object than `target.uid`, or has another template than `target.template`
 */
export async function editWorkload<R extends WishResult>(
  client: KubernetesClient,
  target: WorkloadTarget,
  decide: (object: WorkloadObject) => Edit<R> | Promise<Edit<R>>,
): Promise<R> {
  const path = workloadPath(target);
  for (let attempt = 1; ; attempt += 1) {
    const object = await client.get<WorkloadObject>(path);
    if (target.uid !== undefined && object.metadata.uid !== target.uid) {
      throw new WishRefusedError(
        'Replaced',
        `${describeWorkload(target)} is another object now: uid ${object.metadata.uid}, not ${target.uid}; look again`,
      );
    }
    if (target.template !== undefined && target.template !== templateOf(object)) {
      throw new WishRefusedError('Superseded', `${describeWorkload(target)} has another template now`);
    }
    const { operations, result } = await decide(object);
    if (operations.length === 0) {
      return result;
    }
    try {
      const answered = await client.patch<WorkloadObject>(path, 'json', [
        { op: 'replace', path: '/metadata/uid', value: object.metadata.uid },
        { op: 'replace', path: '/metadata/resourceVersion', value: object.metadata.resourceVersion },
        ...operations,
      ]);
      assertWished(path, operations, answered);
      return result;
    } catch (error) {
      const stale = isConflict(error) || (isInvalid(error) && (await hasChanged(client, path, object)));
      if (!stale || attempt === CONFLICT_LIMIT) {
        throw error;
      }
    }
  }
}

/** What a run of the object's template is known by. */
function templateOf({ spec }: WorkloadObject): string {
  return templateHash(normaliseTemplate(spec.template));
}

/** A patch made for a state that is gone is refused as invalid when it does not even apply (a removed annotation). */
async function hasChanged(
  client: KubernetesClient,
  path: ResourcePath,
  seen: WorkloadObject,
): Promise<boolean> {
  const { metadata } = await client.get<WorkloadObject>(path);
  return metadata.resourceVersion !== seen.metadata.resourceVersion;
}

/** JSON patch operations that set annotations, or remove those whose value is undefined; `at` is the pointer to the metadata. */
export function annotationOperations(
  annotations: Readonly<Record<string, string>> | undefined,
  changes: Readonly<Record<string, string | undefined>>,
  at = '/metadata',
): PatchOperation[] {
  const operations: PatchOperation[] =
    annotations === undefined ? [{ op: 'add', path: `${at}/annotations`, value: {} }] : [];
  for (const [name, value] of Object.entries(changes)) {
    const path = `${at}/annotations/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`;
    if (value !== undefined) {
      operations.push({ op: 'add', path, value });
    } else if (annotations?.[name] !== undefined) {
      operations.push({ op: 'remove', path });
    }
  }
  return operations;
}
