/** What this leader knows of one workload's runs, and how often it has started the same one in a row. */

import type { Wish } from '../planners/workload.ts';
import type { Observation } from './plan-feed.ts';
import type { RunEnd } from './run-endings.ts';
import type { RunState, RunningRun } from './run-state.ts';

/** Restarts of one target in a row, against a loop of runs that end at once with nothing done. */
export interface Restarts {
  readonly target: string;
  readonly count: number;
  /** Milliseconds since the epoch. */
  readonly notBefore: number;
}

export interface RunEntry {
  readonly workflowId: string;
  run: RunState;
  /** A call to Temporal is under way; newer plans only leave their wish. */
  busy: boolean;
  /** What the newest plan wants; of a workload that is gone, the last one. */
  wanted: Observation | undefined;
  /** There is no workload any more: a run that is open is to be cancelled, then all of this is forgotten. */
  gone: boolean;
  /** An earlier leader has left a run open: to be looked at, however finished the workload is. */
  leftOpen: boolean;
  restarts: Restarts;
  wasPaused: boolean;
  /** {@link Observation.resumedMidway}, until a run has been started for it. */
  resumedMidway: boolean;
  /** Temporal's words for why it did not do what was asked last; undefined when it did, or is away. */
  refusal?: string | undefined;
  /** Who asked for the run that is to be started, after one that ended badly. */
  retried?: Wish | undefined;
}

export const NO_RESTARTS: Restarts = { target: '', count: 0, notBefore: 0 };
/** The longest wait for the next run of one target, milliseconds. */
export const LONGEST_RESTART_MS = 60_000;
/** A run that has lived so long, milliseconds, is no loop. */
const NO_LOOP_MS = 10_000;

/** Of a workload of which nothing is known yet. */
export function newEntry(workflowId: string): RunEntry {
  return {
    workflowId,
    run: { state: 'unknown' },
    busy: false,
    wanted: undefined,
    gone: false,
    leftOpen: false,
    restarts: NO_RESTARTS,
    wasPaused: false,
    resumedMidway: false,
  };
}

/** After another start at `now`, milliseconds since the epoch: the first of a target is free, each further one waits twice as long. */
export function countStart(before: Restarts, target: string, now: number): Restarts {
  const count = before.target === target ? before.count + 1 : 0;
  const pause = count === 0 ? 0 : Math.min(500 * 2 ** count, LONGEST_RESTART_MS);
  return { target, count, notBefore: now + pause };
}

/** Steps of a canary are runs of one template, one after the other: each has written something, or waited. */
export function wasOfUse({ startedAt }: RunningRun, end: RunEnd, now: number): boolean {
  const result = end.end === 'closed' ? end.result : undefined;
  return (result?.outcome === 'Succeeded' && result.batches > 0) || now - startedAt > NO_LOOP_MS;
}
