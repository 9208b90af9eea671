/** What an operator has rejected while a commit waited that rolls out the very same: git wanted that commit's manifest by then. */

import { readUpdate } from '../kubernetes/rolling-update-objects.ts';
import { readPinned } from '../kubernetes/wish-annotations.ts';
import { ANNOTATION } from '../planners/names.ts';
import type { ReplicationController } from '../planners/replication-controller.ts';
import { plainController, rollsOutSamePods } from '../planners/rolling-update-definition.ts';
import { viewUpdate } from '../planners/rolling-update-view.ts';
import type { Pin } from '../planners/workload.ts';
import { dryRun, updateOf } from './apply-controller.ts';
import type { CommitContext } from './commit.ts';
import type { PreparedObject } from './prepare.ts';

/**
 * The pin of an operator who, since this commit began, has turned the update round to the very pods that its manifest makes, in another
 * number say: the pin is of this manifest from then on. Undefined: nobody has, or it is not known when the commit began.
 * @throws ApiError, also where the controller was changed since it was read (try again)
 */
export async function rejectedMeanwhile(
  context: CommitContext,
  object: PreparedObject,
  live: ReplicationController,
): Promise<Pin | undefined> {
  const { client, worker, begunAt = '', heal, signal } = context;
  const { manifest, path } = object;
  const { uid, resourceVersion, annotations, name } = live.metadata;
  const pin = readPinned(annotations);
  const isSince = Date.parse(pin?.at ?? '') >= Date.parse(begunAt);
  if (pin?.rejected === undefined || !isSince || heal !== undefined) return undefined;
  // Another attempt has written it.
  if (pin.rejected === manifest.hash) return pin;
  const { records } = viewUpdate(await readUpdate(worker, updateOf(object), signal));
  const given = records.find(({ revision }) => revision.metadata.name === pin.revision);
  if (given === undefined) return undefined;
  const wanted = plainController(await dryRun(context, object, live), name);
  if (!rollsOutSamePods(wanted, given.controller, given.key)) return undefined;
  const moved = { [ANNOTATION.pinned]: JSON.stringify({ ...pin, rejected: manifest.hash }) };
  await client.patch(path, 'merge', { metadata: { uid, resourceVersion, annotations: moved } });
  return pin;
}
