/** What a waiting run learns while nothing can be written (design "The loop and its window"). */

import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { MockActivityEnvironment } from '@temporalio/testing';

import { awaitObservation, judge } from '../../../activities/await-ready.ts';
import type { AwaitReadyResult } from '../../../activities/rollout-types.ts';
import { PlanFeed } from '../../../controllers/plan-feed.ts';
import { observationOf, rolloutInput } from '../../support/observations.ts';

const KEY = 'StatefulSet/default/web';
const starting = { code: 'PodNotReady', message: 'web-1 is not ready' } as const;
const stuck = { code: 'PodNotReady', message: 'web-1 is not ready: ImagePullBackOff' } as const;

let feed: PlanFeed;
let answer: AwaitReadyResult | undefined;

beforeEach(() => {
  jest.useFakeTimers();
  feed = new PlanFeed();
  answer = undefined;
});

afterEach(() => {
  jest.useRealTimers();
});

/** The run shows that web-1 is not ready. */
function ask(deadlineReported = false): void {
  const input = { ...rolloutInput, deadlineReported, shown: [starting.message] };
  void new MockActivityEnvironment({ startToCloseTimeoutMs: 3_600_000 })
    .run(awaitObservation, feed, KEY, input)
    .then((result: unknown) => {
      answer = result as AwaitReadyResult;
    });
}

async function after(seconds: number): Promise<AwaitReadyResult | undefined> {
  await jest.advanceTimersByTimeAsync(seconds * 1_000);
  return answer;
}

describe('a run that waits', () => {
  it('is told once it has been stuck for another reason than it shows', async () => {
    feed.publish(KEY, observationOf({ waiting: [stuck] }));
    ask();
    expect(await after(9)).toBeUndefined();
    expect(await after(3)).toMatchObject({ outcome: 'news', waiting: [stuck] });
  });

  it('is not told what it shows already', async () => {
    feed.publish(KEY, observationOf({ waiting: [starting] }));
    ask();
    expect(await after(120)).toBeUndefined();
  });

  it('is not told of reasons that come and go: each would cost an action', async () => {
    ask();
    for (let pod = 0; pod < 20; pod += 1) {
      const message = `web-${String(pod)} is not ready`;
      feed.publish(KEY, observationOf({ waiting: [{ code: 'PodNotReady', message }] }));
      expect(await after(5)).toBeUndefined();
    }
  });
});

describe('a rollout past its deadline', () => {
  const input = { ...rolloutInput, deadlineReported: false };
  const write = {
    verb: 'delete',
    resource: 'pods',
    name: 'web-1',
    purpose: 'Recreate',
    message: '',
  } as const;

  it('writes what can be written before anything is given up: it may have been away all the time', () => {
    const late = observationOf({ batch: [write] }, { timedOut: true });
    expect(judge(late, input)).toMatchObject({ outcome: 'batch' });
  });

  it('is told so when nothing can be written, once', () => {
    const late = observationOf({}, { timedOut: true });
    expect(judge(late, input)).toMatchObject({ outcome: 'deadline' });
    expect(judge(late, { ...input, deadlineReported: true })).toBeUndefined();
  });

  it('is told so once more where there was progress while it waited', async () => {
    const late = observationOf({ waiting: [starting] }, { timedOut: true });
    feed.publish(KEY, late);
    ask(true);
    expect(await after(1)).toBeUndefined();
    feed.publish(KEY, { ...late, timedOut: false });
    expect(await after(1)).toBeUndefined();
    feed.publish(KEY, late);
    expect(await after(1)).toMatchObject({ outcome: 'deadline', timedOut: true });
  });

  it('is told what the object says now is to be done', () => {
    const workload = { ...observationOf({}).workload, onDeadline: 'Rollback' as const };
    expect(judge(observationOf({}, { timedOut: true, workload }), input)).toMatchObject({
      onDeadline: 'Rollback',
    });
  });
});

it('a run whose revision somebody has deleted: a batch, which makes it again', () => {
  const present = observationOf({});
  const { updateRevision: _, ...plan } = present.plan;
  const lost = { ...present, plan };
  const input = { ...rolloutInput, deadlineReported: true };
  expect(judge(lost, input)).toMatchObject({ outcome: 'batch' });
  const paused = { ...lost, workload: { ...lost.workload, paused: { by: 'ann' } } };
  expect(judge(paused, input)).toMatchObject({ outcome: 'paused' });
});

describe('how much of a batch there is before it is written', () => {
  const input = { ...rolloutInput, deadlineReported: true };
  const shrink = (pods: number, charged: boolean) => ({
    verb: 'patch' as const,
    resource: 'replicasets' as const,
    name: 'api-1',
    purpose: 'ShrinkReplicaSet' as const,
    message: '',
    pods,
    ...(charged && { charged }),
  });
  const progress = { ...observationOf({}).plan.progress, target: 100, updated: 10, maxUnavailable: 50 };

  it.each([
    ['less than a tenth of the budget waits for more', shrink(4, true), 'batch soon'],
    ['a tenth of the budget in one write is enough', shrink(5, true), { outcome: 'batch' }],
    ['all that is left is enough', shrink(90, true), { outcome: 'batch' }],
    ['what costs nothing is written at once', shrink(1, false), { outcome: 'batch' }],
  ])('%s', (_, action, expected) => {
    const answered = judge(observationOf({ batch: [action], progress }), input);
    expect(typeof answered === 'object' ? { outcome: answered.outcome } : answered).toEqual(expected);
  });
});
