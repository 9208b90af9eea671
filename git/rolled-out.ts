/** Whether the rollout of one object of a commit has ended well, asked once. */

import { readUpdate } from '../kubernetes/rolling-update-objects.ts';
import { trusted } from '../kubernetes/values.ts';
import { planRollingUpdate } from '../planners/rolling-update.ts';
import { updateOf } from './apply-controller.ts';
import type { CommitContext } from './commit.ts';
import { controllerState } from './controller-state.ts';
import type { PreparedObject } from './prepare.ts';
import { isController } from './prepare.ts';
import { getOrUndefined } from './resources.ts';
import type { LiveWorkload } from './rollout-state.ts';
import { rolloutState } from './rollout-state.ts';

/** By the same rules as the wait for it. @throws ApiError */
export async function isRolledOut(
  { client, worker, signal }: CommitContext,
  object: PreparedObject,
): Promise<boolean> {
  const { hash } = object.manifest;
  if (isController(object.manifest)) {
    const plan = planRollingUpdate(await readUpdate(worker, updateOf(object), signal), Date.now());
    return controllerState(plan, hash).state.state === 'Done';
  }
  const live = await getOrUndefined(client, object.path, signal);
  return rolloutState(trusted<LiveWorkload | undefined>(live), hash).state === 'Done';
}
