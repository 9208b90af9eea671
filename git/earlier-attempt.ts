/** What an attempt of a run has applied whose answer was lost: its worker was killed, or the apiserver went away in the middle. */

import type { Inventory } from './inventory.ts';
import type { CommitRun } from './inventory-status.ts';

/** Of an object, by its key in the inventory, that needs no change: what it was to the run. */
export type EarlierAttempt = (
  key: string,
  live: { readonly uid: string; readonly commit: string | undefined; readonly appliedAt: string | undefined },
) => 'created' | 'changed' | 'unchanged';

/**
 * Reads it from the objects and the inventory, so that the counts of a commit do not depend on who was killed when. One that the
 * inventory does not know by its uid yet was created. One that the commit changed was changed by this run, unless an earlier run
 * of the same commit has applied anything, or may have: then the time tells, in whole seconds of the apiserver's clock. Pure.
 */
export function earlierAttempt(
  { entries, status }: Pick<Inventory, 'entries' | 'status'>,
  { sha, runId }: Pick<CommitRun, 'sha' | 'runId'>,
): EarlierAttempt {
  const isAgain = (status.history ?? []).some(
    (other) => other.sha === sha && other.runId !== runId && other.applied !== 0,
  );
  const { commit: begun } = status;
  const since = begun?.runId === runId ? Date.parse(begun.startedAt ?? '') : Number.NaN;
  return (key, { uid, commit, appliedAt = '' }) => {
    if (commit !== sha) return 'unchanged';
    if (entries.get(key)?.uid !== uid) return 'created';
    return isAgain && !(Date.parse(appliedAt) >= since) ? 'unchanged' : 'changed';
  };
}
