/**
 * What people have set by hand to the very thing that git says, in other words: a quantity is spelled otherwise (`1024Mi` and `1Gi`), or the
 * apiserver has put its defaults into a list that has one owner as a whole. Server-side apply calls it a conflict.
 */

import { isDeepStrictEqual } from 'node:util';

import { ApiError } from '../kubernetes/api-error.ts';
import { asRecord } from '../kubernetes/values.ts';
import type { JsonObject, KubernetesObject } from '../planners/objects.ts';
import type { CommitContext } from './commit.ts';
import type { FieldConflict } from './decision.ts';
import { isTakenBySync } from './decision.ts';
import { isHand } from './dropped-fields.ts';
import { locate } from './field-path.ts';
import type { PreparedObject } from './prepare.ts';
import { withSignal } from './resources.ts';

/**
 * Whether nothing that is there would be another by force: whoever ran `kubectl apply` with the manifest that is committed now has claimed
 * nothing against it. What another tool applies, or a controller sets, is a claim however it is spelled.
 * @param body What is about to be applied.
 * @throws ApiError when the apiserver cannot be asked
 */
export async function isSaidAlike(
  { client, signal }: CommitContext,
  { path }: PreparedObject,
  body: JsonObject,
  live: KubernetesObject | undefined,
  conflicts: readonly FieldConflict[],
): Promise<boolean> {
  const others = conflicts.filter((conflict) => !isTakenBySync(conflict));
  const isOfPeople = others.every(({ manager, isApplied }) => isApplied !== true && isHand(manager));
  if (live === undefined || others.length === 0 || !isOfPeople) return false;
  const options = { dryRun: true, force: true, fieldValidation: 'Strict', ...withSignal(signal) } as const;
  try {
    const forced = await client.patch(path, 'apply', body, options);
    return others.every(({ field }) => {
      const [there, then] = [valueAt(live, field), valueAt(forced, field)];
      return there !== undefined && isDeepStrictEqual(there, then);
    });
  } catch (error) {
    // Whatever else is wrong with it is told when it is applied.
    if (error instanceof ApiError && error.reason === 'Invalid') return false;
    throw error;
  }
}

/** Undefined where nothing is there, or the field is not found. */
function valueAt(object: KubernetesObject, field: string): unknown {
  return locate(object, field)?.reduce<unknown>((inside, key) => asRecord(inside)[key], object);
}
