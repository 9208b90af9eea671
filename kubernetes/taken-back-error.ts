/** A patch that the apiserver has taken, and that has changed nothing. */

import type { ObjectMeta } from '../planners/objects.ts';
import type { ResourcePath } from './client.ts';
import { describePath } from './resource-path.ts';

/** Whoever looks again wants the same patch again, and trying at once would not help. */
export class TakenBackError extends Error {
  override name = 'TakenBackError';

  constructor(path: ResourcePath) {
    super(
      `PATCH ${describePath(path)}: it was taken, and the object stayed as it was: a webhook or policy of admission takes ` +
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
