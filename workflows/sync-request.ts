/** When somebody asked for a commit to be tried, and whether it was tried since: who asks is answered by the run that was there. */

import { patched } from '@temporalio/workflow';

import { hasFailed } from './commit-end.ts';
import type { LastCommit, SeenCommit, WantedCommit } from './sync-messages.ts';
import { isSameCommit } from './sync-messages.ts';

/** The moment of a request. */
export interface AskedAt {
  /** How many runs had been begun when it arrived. */
  readonly begun: number;
  /** Milliseconds since the epoch when it was made. */
  readonly at: number;
  /** Events of the history when it arrived. */
  readonly events: number;
}

/** The last run that is over. */
export interface LastRun {
  readonly last: LastCommit | undefined;
  /** Its number. */
  readonly begun: number;
  /** Events of the history when it was over; absent: it was by an earlier execution. */
  readonly events: number | undefined;
  /** Nobody had asked for it: the same commit again, by itself. */
  readonly isRetry: boolean;
}

/** Milliseconds: no request is on its way for longer. */
const LONGEST_WAY_MS = 60_000;
/**
 * Events from the start of one task to that of the next, where nothing happened but that the first was completed and its worker killed:
 * completed, scheduled, timed out, scheduled, started. In runs of before, the next worker took both as one, and the two as of one moment.
 */
const TAKEN_OVER = 5;

/**
 * Milliseconds that the request in this payload was on its way, by the clock of whoever made it; anybody may send anything.
 */
export function readWay(payload: unknown): number {
  const ms =
    typeof payload === 'object' && payload !== null && 'wayMs' in payload ? payload.wayMs : undefined;
  return typeof ms === 'number' && ms > 0 ? Math.min(ms, LONGEST_WAY_MS) : 0;
}

/** Whether a run is the last commit again, by itself: nobody has asked for it. */
export function isRetryOf({ sha, again, by }: WantedCommit, last: LastCommit | undefined): boolean {
  return again && by === undefined && last?.sha === sha;
}

/**
 * Whether a run of the newest commit has ended that is what was asked for: it began after the request arrived, or was under way when the
 * request was made. One that had ended before is no answer: objects may have been changed since. Nor is a retry that failed: what it
 * failed for may have been mended after it had looked, and just for that somebody asks.
 */
export function wasTriedSince(
  asked: AskedAt,
  run: LastRun,
  newest: Pick<SeenCommit, 'sha' | 'settings'> | undefined,
): boolean {
  const { last, begun, isRetry } = run;
  if (last === undefined || newest === undefined || !isSameCommit(last, newest)) return false;
  if (begun > asked.begun) return patched('asked-once');
  const isFailure = hasFailed(last.outcome);
  if (last.outcome !== 'Succeeded' && !isFailure) return false;
  if (!wasUnderWay(asked, last, run.events)) return false;
  if (isRetry && isFailure && patched('asked-while-retried')) return false;
  return patched('asked-under-way');
}

/**
 * Whether the run ended after the request was made, by the run's own clock. The sync's is no measure: where its worker is another, Temporal
 * hands a task that commanded nothing, as one of such an end, to it together with the update that follows, at the time of the latter, but
 * each at its own time on replay (temporalio/sdk-rust#1146).
 */
function wasUnderWay({ at, events }: AskedAt, last: LastCommit, endedWith: number | undefined): boolean {
  if (patched('ended-by-its-own-clock')) return last.endedAt !== undefined && last.endedAt > at;
  return Date.parse(last.finishedAt) > at || (endedWith !== undefined && events === endedWith + TAKEN_OVER);
}
