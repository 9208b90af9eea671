/** A batch goes on while slots come free (design "The loop and its window"). */

import { setTimeout as delay } from 'node:timers/promises';

import { beforeEach, describe, expect, it, jest } from '@jest/globals';
import { MockActivityEnvironment } from '@temporalio/testing';

import { asActivities } from '../../../activities/attempt.ts';
import { awaitNextBatch } from '../../../activities/next-batch.ts';
import type { Observation } from '../../../controllers/plan-feed.ts';
import { PlanFeed } from '../../../controllers/plan-feed.ts';
import type { Action } from '../../../planners/plan.ts';
import { observationOf, rolloutInput } from '../../support/observations.ts';

const KEY = 'StatefulSet/default/web';
const input = rolloutInput;
const { workload } = observationOf({});
const write: Action = {
  verb: 'delete',
  resource: 'pods',
  name: 'web-1',
  purpose: 'Recreate',
  message: '',
  charged: true,
};

let feed: PlanFeed;
const written = observationOf({});

beforeEach(() => {
  feed = new PlanFeed();
  feed.publish(KEY, written);
});

async function ask(environment = new MockActivityEnvironment()): Promise<boolean> {
  const asked = environment.run(awaitNextBatch, feed, KEY, input, { seen: written, more: false });
  return (await asked) as boolean;
}

describe('whether a batch goes on', () => {
  it('does as soon as a slot is free', async () => {
    const answer = ask();
    feed.publish(KEY, written);
    feed.publish(KEY, observationOf({ batch: [write] }));
    expect(await answer).toBe(true);
  });

  it('does for a plan that was made before it was asked', async () => {
    feed.publish(KEY, observationOf({ batch: [write] }));
    expect(await ask()).toBe(true);
  });

  it('does not look again at the plan that was written', async () => {
    const stale = observationOf({ batch: [write] });
    feed.publish(KEY, stale);
    const environment = new MockActivityEnvironment();
    expect(await environment.run(awaitNextBatch, feed, KEY, input, { seen: stale, more: false })).toBe(false);
  });

  it('does at once when the last write left something', async () => {
    const before = { seen: written, more: true };
    expect(await new MockActivityEnvironment().run(awaitNextBatch, feed, KEY, input, before)).toBe(true);
  });

  it('does when the next group of pods is ready most of a second later', async () => {
    const environment = new MockActivityEnvironment({ startToCloseTimeoutMs: 3_600_000 });
    jest.useFakeTimers({ doNotFake: ['nextTick', 'queueMicrotask', 'setImmediate'] });
    try {
      const answer = ask(environment);
      jest.advanceTimersByTime(900);
      feed.publish(KEY, observationOf({ batch: [write] }));
      expect(await answer).toBe(true);
    } finally {
      jest.useRealTimers();
    }
  });

  it('does not when no slot comes free', async () => {
    expect(await ask()).toBe(false);
  });

  it.each<[string, Observation | undefined]>([
    ['all pods are at the revision', observationOf({ progress: { ...written.plan.progress, updated: 10 } })],
    ['the template is another one', observationOf({ batch: [write] }, { target: 'u' })],
    [
      'it is paused',
      observationOf({ batch: [write] }, { workload: { ...workload, paused: { by: 'alice' } } }),
    ],
    ['it is deleted', undefined],
    ['it is finished', observationOf({ finished: true, needsRollout: false })],
  ])('ends at once when %s', async (_, next) => {
    const environment = new MockActivityEnvironment({ startToCloseTimeoutMs: 3_600_000 });
    // No time passes, so it is not the end of the lull that is waited for.
    jest.useFakeTimers({ doNotFake: ['nextTick', 'queueMicrotask', 'setImmediate'] });
    try {
      const answer = ask(environment);
      feed.publish(KEY, next);
      expect(await answer).toBe(false);
    } finally {
      jest.useRealTimers();
    }
  });

  it('ends at once when the run is cancelled', async () => {
    const environment = new MockActivityEnvironment();
    const answer = ask(environment);
    environment.cancel();
    expect(await answer).toBe(false);
  });

  it('ends when the attempt is old, long before it may not write any more', async () => {
    const environment = new MockActivityEnvironment({ startToCloseTimeoutMs: 100 });
    feed.publish(KEY, observationOf({ batch: [write] }));
    const { late } = asActivities({
      late: async () => {
        await delay(41);
        return await awaitNextBatch(feed, KEY, input, { seen: written, more: false });
      },
    });
    expect(await environment.run(late)).toBe(false);
  });
});
