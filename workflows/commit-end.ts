/** What the end of a commit's run means to its repository's sync. */

import {
  ActivityFailure,
  ApplicationFailure,
  ChildWorkflowFailure,
  TerminatedFailure,
  isCancellation,
} from '@temporalio/workflow';

import type { RetryDelays } from '../activities/commit-types.ts';
import type { HEALER } from '../git/inventory-status.ts';
import type { ProblemList } from '../git/problems.ts';
import type { CommitInput, DriftFound, LastCommit, WantedCommit } from './sync-messages.ts';

/** What became of a commit; `mayPassLater`: it is tried again by itself. */
export type CommitEnd = Pick<LastCommit, 'outcome' | 'message' | 'endedAt'> & {
  readonly mayPassLater: boolean;
};

/** Between the tries of a commit that the cluster did not take. */
export const RETRY: RetryDelays = { firstMs: 10_000, longestMs: 10 * 60_000 };

/** Characters: it is carried along by the sync, and told to receivers. */
const LONGEST_MESSAGE = 2_000;
const SHOWN_PROBLEMS = 10;

/** Why a commit was not applied, a problem a line; the last line says where those are that did not fit. */
export function failureMessage(
  { sha, repository }: Pick<CommitInput, 'sha' | 'repository'>,
  ending: 'Refused' | 'Failed',
  { total, first, lines = [] }: ProblemList,
): string {
  const head = ending === 'Refused' ? 'refused before its first write' : 'not everything could be done';
  const problems = total === 1 ? 'one problem' : `${total} problems`;
  const told = [`commit ${sha.slice(0, 8)}: ${head}, ${problems}`];
  const where = (left: number) => {
    const command = `\`fairlead get repository/${repository} -o yaml\``;
    return total <= first.length
      ? `… and ${left} more: ${command} shows all`
      : `… and ${left} more: ${command} shows the first ${first.length}, \`fairlead plan\` all`;
  };
  const room = LONGEST_MESSAGE - where(total).length - 1;
  for (const line of lines.slice(0, SHOWN_PROBLEMS)) {
    const next = [...told, line].join('\n');
    // The first one is told in any case, if need be in part.
    if (next.length > room && told.length > 1) break;
    told.push(line.slice(0, room - told.join('\n').length - 1));
  }
  const left = total - (told.length - 1);
  return (left > 0 ? [...told, where(left)] : told).join('\n');
}

/** Milliseconds until a commit is tried again that the cluster did not take: soon while somebody is mending it, then seldom. */
export function retryDelay(tries: number): number {
  return Math.min(RETRY.firstMs * 2 ** (tries - 1), RETRY.longestMs);
}

/** Milliseconds for which a commit whose rollouts were mended waits at the most: workloads that come and go have it tried no more often. */
const MEND_WAIT_MS = 60_000;

/** When a commit is tried again whose rollouts have ended well since: now, if its last try is long enough ago. Since the epoch. */
export function mendedAt({ finishedAt, tries = 1 }: LastCommit, now: number): number {
  return Math.max(now, Date.parse(finishedAt) + Math.min(retryDelay(tries), MEND_WAIT_MS));
}

/** Whether the cluster did not take it; one that was ended from outside has neither failed nor succeeded. */
export function hasFailed(outcome: LastCommit['outcome']): boolean {
  return outcome === 'Refused' || outcome === 'Failed';
}

/** What a commit that was refused before its first write has left as it was applied, of what `before` tells. */
export function leftAsApplied(
  outcome: LastCommit['outcome'],
  before: LastCommit | undefined,
): Pick<LastCommit, 'applied'> {
  if (outcome !== 'Refused' || before === undefined) return {};
  if (before.outcome !== 'Succeeded') return before.applied === undefined ? {} : { applied: before.applied };
  const { sha, settings } = before;
  return { applied: { sha, ...(settings !== undefined && { settings }) } };
}

/** The run of an applied commit that puts objects back. */
export function puttingBack(
  { sha, settings }: Pick<LastCommit, 'sha' | 'settings'>,
  { objects, reason }: DriftFound,
): WantedCommit {
  const as = settings !== undefined && { settings };
  const by = 'fairlead' satisfies typeof HEALER;
  return { sha, ...as, again: true, by, reason, heal: objects };
}

/** The note of a commit that somebody has ended in the middle: `how`, and what to do. */
export function cutOff(repository: string, how: 'it was cancelled' | 'its run was terminated'): string {
  return `${how}, what it has done stays: \`fairlead sync ${repository}\` tries it again`;
}

/** What the end of a child means; `superseded`: a newer commit was the reason for its cancellation. */
export function describeEnd(error: unknown, superseded: boolean): CommitEnd {
  const cause = error instanceof ChildWorkflowFailure ? error.cause : error;
  const mayPassLater = false;
  if (isCancellation(error)) return { outcome: superseded ? 'Superseded' : 'Canceled', mayPassLater };
  if (cause instanceof TerminatedFailure)
    return { outcome: 'Terminated', message: 'the run was terminated', mayPassLater };
  const message = whyFailed(cause).slice(0, LONGEST_MESSAGE);
  const isRefusal = cause instanceof ApplicationFailure && cause.type === 'CommitRefused';
  const details: unknown = cause instanceof ApplicationFailure ? cause.details?.[1] : undefined;
  const told = typeof details === 'object' && details !== null ? details : {};
  return {
    outcome: isRefusal ? 'Refused' : 'Failed',
    message,
    mayPassLater: 'mayPassLater' in told && told.mayPassLater === true,
    ...('endedAt' in told && typeof told.endedAt === 'number' && { endedAt: told.endedAt }),
  };
}

/** Why a run failed; one that ended with a step of its says nothing of that itself. */
function whyFailed(cause: unknown): string {
  if (!(cause instanceof ActivityFailure)) return cause instanceof Error ? cause.message : 'the run failed';
  const next = '; `fairlead sync` tries it again';
  const why = `a step of it has failed: ${(cause.cause ?? cause).message}`;
  return `${why.slice(0, LONGEST_MESSAGE - next.length)}${next}`;
}
