/** Judges one crash by the run without one. */

import { isDeepStrictEqual } from 'node:util';

import type { CrashRun } from './crash-arena.ts';
import type { CrashSite } from './crash-sites.ts';

export interface CrashVerdict {
  readonly scenario: string;
  readonly site: CrashSite;
  readonly reached: boolean;
  readonly resumedAfterMs: number | undefined;
  readonly durationMs: number;
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
  scenario: string,
  site: CrashSite,
  clean: CrashRun,
  crashed: CrashRun,
  inTime: boolean,
): CrashVerdict {
  const { reached, resumedAfterMs, durationMs, budget, end } = crashed;
  const faults = budget.violations.map(({ rule, message }) => `${rule}: ${message}`);
  for (const part of Object.keys(clean.end) as (keyof typeof clean.end)[]) {
    if (!isDeepStrictEqual(end[part], clean.end[part])) {
      faults.push(
        `another end of ${part}: ${JSON.stringify(end[part])} instead of ${JSON.stringify(clean.end[part])}`,
      );
    }
  }
  if (inTime && resumedAfterMs !== undefined && resumedAfterMs > RESUME_LIMIT_MS) {
    faults.push(`work went on only after ${String(resumedAfterMs)} ms`);
  }
  return { scenario, site, reached, resumedAfterMs, durationMs, faults };
}

/** A run that ended in an error instead of an end. */
export function failedCrash(scenario: string, site: CrashSite, error: unknown): CrashVerdict {
  const message = error instanceof Error ? error.message : String(error);
  return { scenario, site, reached: true, resumedAfterMs: undefined, durationMs: 0, faults: [message] };
}
