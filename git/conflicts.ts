/** Who else holds fields of a manifest, with other values. */

import { isNotFound } from '../kubernetes/api-error.ts';
import type { KubernetesObject } from '../planners/objects.ts';
import { bodyToApply } from './apply-controller.ts';
import { collisions } from './collisions.ts';
import type { CommitContext } from './commit.ts';
import type { FieldConflict } from './decision.ts';
import type { PreparedObject } from './prepare.ts';
import { fieldConflicts, toProblem } from './refusals.ts';
import { withSignal } from './resources.ts';
import { isSaidAlike } from './said-alike.ts';

/**
 * What stands in the way of applying the object without force, by a dry run: fields with other values, or what others have put beside
 * the manifest's own so that the two cannot be together. Whatever else is wrong with it is found where it is
 * really applied.
 * @throws ApiError when the apiserver cannot be asked
 */
export async function findConflicts(
  context: CommitContext,
  object: PreparedObject,
  live: KubernetesObject | undefined,
): Promise<readonly FieldConflict[]> {
  const body = bodyToApply(context, object, live);
  const options = { dryRun: true, fieldValidation: 'Strict', ...withSignal(context.signal) } as const;
  try {
    await context.client.patch(object.path, 'apply', body, options);
    return [];
  } catch (error) {
    const conflicts = fieldConflicts(error);
    if (conflicts !== undefined)
      return (await isSaidAlike(context, object, body, live, conflicts)) ? [] : conflicts;
    const foreign = collisions(error, body, live);
    if (foreign.length > 0)
      return foreign.flatMap(({ label, managers }) =>
        managers.map((manager) => ({ field: `.${label}`, manager })),
      );
    if (isNotFound(error) || toProblem(error, object) !== undefined) return [];
    throw error;
  }
}
