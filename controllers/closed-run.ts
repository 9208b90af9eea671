/** What the record of a rolling update keeps of a run that closed without its last activity: Temporal forgets it. Pure. */

import type { Attempt, AttemptOutcome } from '../kubernetes/attempts.ts';
import type { UpdateRun } from '../planners/rolling-update-run.ts';
import type { Wish } from '../planners/workload.ts';

const ENDS: Readonly<Record<string, { readonly outcome: AttemptOutcome; readonly words: string }>> = {
  TERMINATED: { outcome: 'Terminated', words: 'its run was terminated' },
  CANCELLED: { outcome: 'Canceled', words: 'its run was cancelled' },
  FAILED: { outcome: 'Failed', words: 'its run failed' },
  TIMED_OUT: { outcome: 'Failed', words: 'its run timed out' },
};

/** Ends after which nobody but a person has an update tried again. */
const LEFT_TO_A_PERSON: ReadonlySet<AttemptOutcome> = new Set(['Terminated', 'Canceled', 'Failed']);

/**
 * An attempt like those that runs record themselves; undefined for a run that did not end badly.
 * @param begun Who began the update, and why
 * @param why What Temporal says of the end
 */
export function attemptOfRun(run: UpdateRun, begun: Wish | undefined, why?: string): Attempt | undefined {
  if (run.state !== 'closed') return undefined;
  const { runId, workflowId, startedAt, endedAt, status } = run;
  const end = ENDS[status];
  if (end === undefined || runId === undefined || startedAt === undefined) return undefined;
  return {
    runId,
    workflowId,
    startedAt,
    ...(endedAt !== undefined && { endedAt }),
    outcome: end.outcome,
    ...(begun?.by !== undefined && { by: begun.by }),
    ...(begun?.reason !== undefined && { reason: begun.reason }),
    endedBecause: why === undefined ? end.words : `${end.words}: ${why}`,
  };
}

/** Whether the last of these attempts, oldest first, leaves the update to a person's retry. */
export function isLeftToPerson(attempts: readonly Attempt[]): boolean {
  const last = attempts.at(-1);
  return last !== undefined && LEFT_TO_A_PERSON.has(last.outcome);
}
