/** Judges one crash by the run without one. */

import { isDeepStrictEqual } from 'node:util';

import type { ApiWrite } from '../support/api-write.ts';
import type { CrashRun } from './crash-arena.ts';
import type { CrashSite } from './crash-sites.ts';
import { describeSite } from './crash-sites.ts';

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
  const { reached, resumedAfterMs, budget, end } = crashed;
  const faults = [
    ...budget.violations.map(({ rule, message }) => `${rule}: ${message}`),
    ...crashed.deletedTwice.map((what) => `deleted twice: ${what}`),
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

/** Deletes that the apiserver took of an object, told by its uid, of which it had taken one before. */
export function deletedTwice(
  writes: readonly Pick<ApiWrite, 'key' | 'verb' | 'uid' | 'status'>[],
): readonly string[] {
  const taken = writes.filter(
    ({ verb, uid, status = 0 }) => verb === 'delete' && uid !== undefined && status >= 200 && status < 300,
  );
  return taken
    .filter(({ uid }, index) => taken.findIndex((other) => other.uid === uid) < index)
    .map(({ key, uid }) => `${key} (${String(uid)})`);
}

/** Events are gathered, and a status is written as often as something is seen: by the clock. */
const BY_THE_CLOCK = /events$|\/status$/;
const POD_WRITE = /^(?:create|delete|patch) pods(?: |$)/;

/**
 * What no clock excuses of the places that were not come by: any write of a pod, and every place before (or after) a kind of request.
 * Empty if there is nothing such.
 */
export function missedForGood(
  verdicts: readonly Pick<CrashVerdict, 'site' | 'reached'>[],
): readonly string[] {
  const missed = verdicts.filter(({ reached }) => !reached).map(({ site }) => site);
  const kindOf = ({ layer, kind, side }: CrashSite) => `every place ${side} ${kind} (${layer})`;
  const reached = new Set(verdicts.filter((one) => one.reached).map(({ site }) => kindOf(site)));
  const kinds = missed.filter(({ kind }) => !BY_THE_CLOCK.test(kind)).map(kindOf);
  const pods = missed.filter(({ kind }) => POD_WRITE.test(kind)).map(describeSite);
  return [...new Set([...pods, ...kinds.filter((kind) => !reached.has(kind))])];
}

/** A run that ended in an error instead of an end. */
export function failedCrash(site: CrashSite, error: unknown): CrashVerdict {
  const message = error instanceof Error ? error.message : String(error);
  return { site, reached: true, resumedAfterMs: undefined, faults: [message] };
}
