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
}

/** The last run that is over. */
export interface LastRun {
  readonly last: LastCommit | undefined;
  /** Its number. */
  readonly begun: number;
  /** Nobody had asked for it: the same commit again, by itself. */
  readonly isRetry: boolean;
}

/** Milliseconds: no request is on its way for longer. */
const LONGEST_WAY_MS = 60_000;

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
  { last, begun, isRetry }: LastRun,
  newest: Pick<SeenCommit, 'sha' | 'settings'> | undefined,
): boolean {
  if (last === undefined || newest === undefined || !isSameCommit(last, newest)) return false;
  if (begun > asked.begun) return patched('asked-once');
  const isFailure = hasFailed(last.outcome);
  const wasUnderWay = Date.parse(last.finishedAt) > asked.at;
  if (!wasUnderWay || (last.outcome !== 'Succeeded' && !isFailure)) return false;
  if (isRetry && isFailure && patched('asked-while-retried')) return false;
  return patched('asked-under-way');
}
