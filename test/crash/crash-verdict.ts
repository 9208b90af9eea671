/** Judges one crash by the run without one. */

import { isDeepStrictEqual } from 'node:util';

import type { CrashRun } from './crash-arena.ts';
import type { CrashSite } from './crash-sites.ts';

export interface CrashVerdict {
  readonly site: CrashSite;
  readonly reached: boolean;
  readonly resumedAfterMs: number | undefined;
  /** What was wrong; empty if nothing was. */
  readonly faults: readonly string[];
}

/** Design "Where the bar is": work goes on this soon after a worker is back. */
export const RESUME_LIMIT_MS = 10_000;

/**
 * The same end, the same runs, nothing deleted twice, the budget kept, and work resumed in time. `inTime` is false where so much
 * goes on at once that the clock says nothing of the worker.
 */
export function judgeCrash(
  site: CrashSite,
  clean: CrashRun,
  crashed: CrashRun,
  inTime: boolean,
): CrashVerdict {
  const { reached, resumedAfterMs, budget, deletedTwice, end } = crashed;
  const faults = [
    ...budget.violations.map(({ rule, message }) => `${rule}: ${message}`),
    ...deletedTwice.map((what) => `deleted twice: ${what}`),
  ];
  const [found, wanted] = [new Map(Object.entries(end)), Object.entries(clean.end)];
  for (const [part, value] of wanted) {
    if (!isDeepStrictEqual(found.get(part), value)) {
      faults.push(
        `another end of ${part}: ${JSON.stringify(found.get(part))} instead of ${JSON.stringify(value)}`,
      );
    }
  }
  if (budget.came !== clean.budget.came) {
    faults.push(`${String(budget.came)} pods were made instead of ${String(clean.budget.came)}`);
  }
  if (inTime && resumedAfterMs !== undefined && resumedAfterMs > RESUME_LIMIT_MS) {
    faults.push(`work went on only after ${String(resumedAfterMs)} ms`);
  }
  return { site, reached, resumedAfterMs, faults };
}

/** A run that ended in an error instead of an end. */
export function failedCrash(site: CrashSite, error: unknown): CrashVerdict {
  const message = error instanceof Error ? error.message : String(error);
  return { site, reached: true, resumedAfterMs: undefined, faults: [message] };
}
