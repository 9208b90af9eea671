/** When an object that was changed in the cluster is put back: two owners that both insist must not fight for ever. Pure. */

/** What was put back how often in a row, and when last (milliseconds since the epoch). */
export interface Healing {
  readonly count: number;
  readonly at: number;
}

const FIRST_MS = 10_000;
const LONGEST_MS = 10 * 60_000;
/** From this time on it is a fight, which is told. */
export const FIGHT_COUNT = 3;

/** Milliseconds between the last time and the next: 10 s, doubled each time, at most ten minutes. */
function delayAfter(count: number): number {
  return Math.min(FIRST_MS * 2 ** (count - 1), LONGEST_MS);
}

/** The earliest time at which the object may be put back (again); of one that never was, now. */
export function healAt(past: Healing | undefined, now: number): number {
  if (past === undefined || isOver(past, now)) return now;
  return Math.max(now, past.at + delayAfter(past.count));
}

/** After it has been put back once more. */
export function healed(past: Healing | undefined, now: number): Healing {
  return { count: past === undefined || isOver(past, now) ? 1 : past.count + 1, at: now };
}

/** Long after the last time it is another matter: whoever changes it now gets an answer at once. */
export function isOver(past: Healing, now: number): boolean {
  return now - past.at > 2 * delayAfter(past.count) + FIRST_MS;
}
