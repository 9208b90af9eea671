/** How the rollout of one object of a commit is now, asked once; and how one that failed is told. */

import { readUpdate } from '../kubernetes/rolling-update-objects.ts';
import { withoutStop } from '../kubernetes/safe-text.ts';
import { trusted } from '../kubernetes/values.ts';
import { planRollingUpdate } from '../planners/rolling-update.ts';
import { updateOf } from './apply-controller.ts';
import type { CommitContext } from './commit.ts';
import { controllerState } from './controller-state.ts';
import type { PreparedObject } from './prepare.ts';
import { isController, isWorkload } from './prepare.ts';
import type { Problem, ProblemCode } from './problems.ts';
import { problem } from './problems.ts';
import { getOrUndefined } from '../kubernetes/get-or-undefined.ts';
import type { LiveWorkload, RolloutState } from './rollout-state.ts';
import { rolloutState } from './rollout-state.ts';

/** By the same rules as the wait for it. @throws ApiError */
export async function rolloutNow(
  { client, worker, signal }: CommitContext,
  object: PreparedObject,
): Promise<RolloutState> {
  const { hash } = object.manifest;
  if (isController(object.manifest)) {
    const plan = planRollingUpdate(await readUpdate(worker, updateOf(object), signal), Date.now());
    return controllerState(plan, hash).state;
  }
  const live = await getOrUndefined(client, object.path, signal);
  return rolloutState(trusted<LiveWorkload | undefined>(live), hash);
}

/** What is wrong with a commit for which this was awaited. `object`: as the commit has it. */
export function rolloutProblem(
  label: string,
  state: RolloutState & { readonly state: 'Failed' },
  object: PreparedObject | undefined,
): Problem {
  const isRollout = object === undefined || isWorkload(object.manifest) || isController(object.manifest);
  const code: ProblemCode = state.rolledBack ? 'RolledBack' : isRollout ? 'RolloutFailed' : 'NotReady';
  return problem(code, `${withoutStop(state.message)}.`, {
    object: label,
    file: object?.manifest.file,
    line: object?.manifest.line,
    ...(state.next !== undefined && { next: state.next }),
  });
}
