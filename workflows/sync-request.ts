/** When somebody asked for a commit to be tried, and whether it was tried since: who asks is answered by the run that was there. */

import { patched } from '@temporalio/workflow';

import type { SeenCommit, LastCommit } from './sync-messages.ts';
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
}

/** Milliseconds: no request is on its way for longer. */
const LONGEST_WAY_MS = 60_000;
const TRIED: ReadonlySet<LastCommit['outcome']> = new Set(['Succeeded', 'Refused', 'Failed']);

/**
 * Milliseconds that the request in this payload was on its way, by the clock of whoever made it; anybody may send anything.
 */
export function readWay(payload: unknown): number {
  const ms =
    typeof payload === 'object' && payload !== null && 'wayMs' in payload ? payload.wayMs : undefined;
  return typeof ms === 'number' && ms > 0 ? Math.min(ms, LONGEST_WAY_MS) : 0;
}

/**
 * Whether a run of the newest commit has ended that is what was asked for: it began after the request arrived, or was under way when the
 * request was made. One that had ended before is no answer: objects may have been changed since.
 */
export function wasTriedSince(
  asked: AskedAt,
  { last, begun }: LastRun,
  newest: Pick<SeenCommit, 'sha' | 'settings'> | undefined,
): boolean {
  if (last === undefined || newest === undefined || !isSameCommit(last, newest)) return false;
  if (begun > asked.begun) return patched('asked-once');
  const wasUnderWay = TRIED.has(last.outcome) && Date.parse(last.finishedAt) > asked.at;
  return wasUnderWay && patched('asked-under-way');
}
