/** A batch goes on while slots come free (design "The loop and its window"). */

import { setTimeout as delay } from 'node:timers/promises';

import { beforeEach, describe, expect, it } from '@jest/globals';
import { MockActivityEnvironment } from '@temporalio/testing';

import { asActivities } from '../../../activities/attempt.ts';
import { awaitNextBatch } from '../../../activities/next-batch.ts';
import type { Observation } from '../../../controllers/plan-feed.ts';
import { PlanFeed } from '../../../controllers/plan-feed.ts';
import type { Action, Plan } from '../../../planners/plan.ts';
import { setOf } from '../../support/statefulset-fixtures.ts';

const KEY = 'StatefulSet/default/web';
const workload = setOf({ replicas: 10, maxUnavailable: 2 });
const input = { clusterUid: 'c', workload: workload.ref, target: 't' };
const write: Action = {
  verb: 'delete',
  resource: 'pods',
  name: 'web-1',
  purpose: 'Recreate',
  message: '',
  charged: true,
};

function observation(plan: Partial<Plan<object>>, change: Partial<Observation> = {}): Observation {
  const progress = {
    target: 10,
    updated: 4,
    updatedReady: 2,
    updatedAvailable: 2,
    desired: 10,
    ready: 8,
    available: 8,
    unavailable: 2,
    maxUnavailable: 2,
  };
  const all: Plan<object> = {
    steady: [],
    batch: [],
    status: {},
    progress,
    waiting: [],
    needsRollout: true,
    finished: false,
    ...plan,
  };
  return { workload, plan: all, target: 't', timedOut: false, ...change };
}

let feed: PlanFeed;
const written = observation({});

beforeEach(() => {
  feed = new PlanFeed();
  feed.publish(KEY, written);
});

async function ask(environment = new MockActivityEnvironment()): Promise<boolean> {
  const asked = environment.run(awaitNextBatch, feed, KEY, input, written);
  return (await asked) as boolean;
}

describe('whether a batch goes on', () => {
  it('does as soon as a slot is free', async () => {
    const answer = ask();
    feed.publish(KEY, written);
    feed.publish(KEY, observation({ batch: [write] }));
    expect(await answer).toBe(true);
  });

  it('does for a plan that was made before it was asked', async () => {
    feed.publish(KEY, observation({ batch: [write] }));
    expect(await ask()).toBe(true);
  });

  it('does not look again at the plan that was written', async () => {
    const stale = observation({ batch: [write] });
    feed.publish(KEY, stale);
    const environment = new MockActivityEnvironment();
    expect(await environment.run(awaitNextBatch, feed, KEY, input, stale)).toBe(false);
  });

  it('does not when no slot comes free', async () => {
    expect(await ask()).toBe(false);
  });

  it.each<[string, Observation | undefined]>([
    ['all pods are at the revision', observation({ progress: { ...written.plan.progress, updated: 10 } })],
    ['the template is another one', observation({ batch: [write] }, { target: 'u' })],
    ['it is paused', observation({ batch: [write] }, { workload: { ...workload, paused: { by: 'alice' } } })],
    ['it is deleted', undefined],
    ['it is finished', observation({ finished: true, needsRollout: false })],
  ])('ends at once when %s', async (_, next) => {
    const environment = new MockActivityEnvironment({ startToCloseTimeoutMs: 3_600_000 });
    const started = performance.now();
    const answer = ask(environment);
    feed.publish(KEY, next);
    expect(await answer).toBe(false);
    expect(performance.now() - started).toBeLessThan(290);
  });

  it('ends at once when the run is cancelled', async () => {
    const environment = new MockActivityEnvironment();
    const answer = ask(environment);
    environment.cancel();
    expect(await answer).toBe(false);
  });

  it('ends when the attempt is old, long before it may not write any more', async () => {
    const environment = new MockActivityEnvironment({ startToCloseTimeoutMs: 100 });
    feed.publish(KEY, observation({ batch: [write] }));
    const { late } = asActivities({
      late: async () => {
        await delay(41);
        return await awaitNextBatch(feed, KEY, input, written);
      },
    });
    expect(await environment.run(late)).toBe(false);
  });
});
