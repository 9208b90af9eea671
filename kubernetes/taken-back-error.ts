/** A patch that the apiserver has taken, and that has changed nothing, or not what it was for. */

import type { KubernetesObject, ObjectMeta } from '../planners/objects.ts';
import { asRecord } from './values.ts';
import type { ResourcePath } from './client.ts';
import { describePath } from './resource-path.ts';

/** Whoever looks again wants the same patch again, and trying at once would not help. */
export class TakenBackError extends Error {
  override name = 'TakenBackError';

  /** @param stayed What of the object is as it was before */
  constructor(path: ResourcePath, stayed = 'the object') {
    super(
      `PATCH ${describePath(path)}: it was taken, and ${stayed} stayed as it was: a webhook or policy of admission takes ` +
        'back what it writes (kubectl get mutatingwebhookconfigurations)',
    );
  }
}

/**
 * @param before The version of the object that the patch was decided on, not one that was read later: so a patch that is repeated after
 *   a lost answer, and changes nothing either, is no such one
 * @throws TakenBackError where the object that the apiserver answered is of that version still
 */
export function assertChanged(
  path: ResourcePath,
  before: string | undefined,
  { metadata }: { readonly metadata: Pick<ObjectMeta, 'resourceVersion' | 'deletionTimestamp'> },
): void {
  // The last finalizer was taken off: the object is gone with that, and answered as it was.
  if (metadata.deletionTimestamp !== undefined) return;
  if (before !== undefined && metadata.resourceVersion === before) throw new TakenBackError(path);
}

/**
 * That an object which the apiserver answered has the annotations and the `spec.paused` that a JSON patch was to give it. Of other fields an
 * admission may make something else with good reason (an image of a mirror).
 * @throws TakenBackError naming the first that stayed
 */
export function assertWished(
  path: ResourcePath,
  operations: readonly { readonly op: string; readonly path: string; readonly value?: unknown }[],
  answered: Pick<KubernetesObject, 'metadata'> & { readonly spec?: object },
): void {
  for (const { op, path: pointer, value } of operations.filter((operation) => operation.op !== 'test')) {
    const wanted = op === 'remove' ? undefined : value;
    const annotation = ANNOTATION_POINTER.exec(pointer)?.[1]?.replaceAll('~1', '/').replaceAll('~0', '~');
    if (annotation !== undefined && answered.metadata.annotations?.[annotation] !== wanted)
      throw new TakenBackError(path, `the annotation ${annotation}`);
    // What is false is left out of an answer.
    const isPaused = asRecord(answered.spec)['paused'] === true;
    if (pointer === '/spec/paused' && isPaused !== (wanted === true))
      throw new TakenBackError(path, 'spec.paused');
  }
}

const ANNOTATION_POINTER = /^\/metadata\/annotations\/(.+)$/;
