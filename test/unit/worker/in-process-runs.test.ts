/** Runs without Temporal: when they begin and end, what they try again, and what stands in their way. */

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import type { RolloutSteps } from '../../../activities/rollout.ts';
import type { CloseInput } from '../../../activities/rollout-types.ts';
import type { Observation } from '../../../controllers/plan-feed.ts';
import { PlanFeed } from '../../../controllers/plan-feed.ts';
import { ApiError } from '../../../kubernetes/api-error.ts';
import { InProcessRuns } from '../../../worker/in-process-runs.ts';
import { eventually } from '../../support/eventually.ts';
import { observationOf } from '../../support/observations.ts';

const KEY = 'StatefulSet/default/web';
const base = observationOf({});
const { uid } = base.workload.ref;
const state = { progress: base.plan.progress, waiting: [] };

let feed: PlanFeed;
let runs: InProcessRuns;
let clock: number;
let closed: CloseInput[];
let errors: unknown[];
let started: number;
/** When something is to be looked at again. */
let due: (number | undefined)[];
/** What updateBatch does, in turn; the last one again and again. */
let batches: (() => Promise<unknown>)[];

const finished = async () => ({ outcome: 'finished', ...state });
const never = async () => await new Promise<never>(() => undefined);

beforeEach(() => {
  feed = new PlanFeed();
  clock = 1_000_000;
  [closed, errors, due, started] = [[], [], [], 0];
  batches = [finished];
  const steps = {
    createRevision: async () => ({ outcome: 'ready', revision: 'web-b', created: true, desired: 3 }),
    updateBatch: async () => await ((batches.length > 1 ? batches.shift() : batches[0]) ?? finished)(),
    awaitReady: async () => await never(),
    closeRun: async (input: CloseInput) => {
      closed.push(input);
      return { outcome: 'Succeeded' };
    },
  } as unknown as RolloutSteps;
  runs = new InProcessRuns({
    steps: () => steps,
    feed,
    clusterUid: 'cluster',
    now: () => clock,
    onChange: (_, at) => due.push(at),
    onStarted: () => (started += 1),
    onBadEnding: () => undefined,
    onError: (_, error) => errors.push(error),
  });
});

afterEach(async () => {
  await runs.stop();
});

function see(change: Partial<Observation> = {}, plan = { needsRollout: true }): void {
  const observation = observationOf(plan, change);
  feed.publish(KEY, observation);
  runs.ensure(KEY, observation);
}

async function untilClosed(times = 1): Promise<void> {
  await eventually(`${String(times)} runs have closed`, () => closed.length >= times && !isOpen());
}

function isOpen(): boolean {
  return runs.isOpen(KEY, uid);
}

function apiError(status: number, reason: string): ApiError {
  return new ApiError({ method: 'PATCH', path: '/x', server: 's' }, { status, reason, text: 'said so' });
}

describe('a rollout in process', () => {
  it('begins where one is due, once, and closes with its revision and no workflow', async () => {
    see({}, { needsRollout: false });
    expect(started).toBe(0);
    see();
    see();
    expect(isOpen()).toBe(true);
    await untilClosed();
    expect(started).toBe(1);
    expect(closed).toMatchObject([{ ending: 'finished', revision: 'web-b', workflowId: 'in-process' }]);
    expect(due).toEqual([undefined]);
  });

  it('comes later each time where it ends at once with nothing done', async () => {
    see();
    await untilClosed();
    see();
    expect(due.at(-1)).toBeUndefined();
    await untilClosed(2);
    see();
    expect(started).toBe(2);
    expect(due.at(-1)).toBeGreaterThan(clock);
    clock = due.at(-1) ?? 0;
    see();
    expect(started).toBe(3);
  });

  it('tries a step again when the apiserver is away', async () => {
    batches = [async () => await Promise.reject(apiError(503, 'ServiceUnavailable')), finished];
    see();
    await untilClosed();
    expect(errors).toHaveLength(1);
    expect(closed).toMatchObject([{ ending: 'finished' }]);
  });

  it('fails for what a retry cannot mend, and begins again for another template or a wish', async () => {
    batches = [async () => await Promise.reject(apiError(403, 'Forbidden'))];
    see();
    await untilClosed();
    expect(closed).toMatchObject([{ ending: 'failed' }]);
    expect(runs.blocked(KEY, uid, base.target)?.reason).toBe('RunFailed');
    see();
    expect(started).toBe(1);
    expect(runs.blocked(KEY, uid, 'other')).toBeUndefined();
    clock += 60_000;
    see({ workload: { ...base.workload, retried: { by: 'ann', at: '2026-01-01T00:00:00Z' } } });
    expect(started).toBe(2);
    await untilClosed(2);
    see({ target: 'other' });
    expect(started).toBe(3);
  });

  it('sleeps while it is paused and goes on when the object says so', async () => {
    batches = [async () => ({ outcome: 'paused', paused: {}, ...state }), finished];
    see({ workload: { ...base.workload, paused: { by: 'ann' } } });
    await eventually('it has met the pause', () => batches.length === 1);
    expect(closed).toEqual([]);
    see();
    await untilClosed();
    expect(closed).toMatchObject([{ ending: 'finished' }]);
  });

  it('ends without a word when it is on Temporal from now on, or this process stops', async () => {
    batches = [async () => ({ outcome: 'paused', paused: {}, ...state })];
    see({ workload: { ...base.workload, paused: {} } });
    runs.workloadGone(KEY);
    expect(isOpen()).toBe(false);
    see({ workload: { ...base.workload, paused: {} } });
    await runs.stop();
    expect(closed).toEqual([]);
    see();
    expect(started).toBe(2);
  });
});
