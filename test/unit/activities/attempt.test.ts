/** Every activity shows that it lives: without that the server gives it up after the heartbeat timeout, its writes under way. */

import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import { MockActivityEnvironment } from '@temporalio/testing';

import {
  HEARTBEAT_THROTTLE_MS,
  asActivities,
  asWritingActivities,
  beat,
  onceInAllAttempts,
} from '../../../activities/attempt.ts';

beforeEach(() => {
  jest.useFakeTimers();
});

afterEach(() => {
  jest.useRealTimers();
});

it('an activity heartbeats once a second while it runs, with what it says of its progress', async () => {
  const environment = new MockActivityEnvironment();
  const heartbeats: unknown[] = [];
  environment.on('heartbeat', (details) => heartbeats.push(details));
  const { slow } = asActivities({
    slow: async () => {
      await passing(1_100);
      beat({ done: 1 });
      await passing(1_000);
    },
  });
  const running = environment.run(slow);
  await jest.advanceTimersByTimeAsync(2_100);
  await running;
  expect(heartbeats).toEqual([undefined, { done: 1 }]);
  await jest.advanceTimersByTimeAsync(5_000);
  expect(heartbeats).toHaveLength(2);
});

it('one that writes heartbeats so often that it hears of a cancellation well within a second, held back by nothing', async () => {
  const environment = new MockActivityEnvironment();
  const beats: number[] = [];
  environment.on('heartbeat', () => beats.push(Date.now()));
  const { slow } = asWritingActivities({ slow: async () => await passing(1_300) });
  const begun = Date.now();
  const running = environment.run(slow);
  await jest.advanceTimersByTimeAsync(1_300);
  await running;
  expect(beats.map((at) => at - begun)).toEqual([400, 800, 1_200]);
  expect(HEARTBEAT_THROTTLE_MS).toBeLessThan(400);
});

it('what an earlier attempt has told stays told, also by one that fails before it comes that far', async () => {
  let heartbeatDetails: unknown;
  let done = 0;
  /** `slow` milliseconds pass, as with an apiserver that does not answer; then it does what must happen once, unless it fails before. */
  const attempt = async (slow: number, fails: boolean) => {
    const environment = new MockActivityEnvironment({ heartbeatDetails });
    environment.on('heartbeat', (details) => {
      heartbeatDetails = details;
    });
    const { close } = asActivities({
      close: async () => {
        await passing(slow);
        if (fails) throw new Error('no answer');
        await onceInAllAttempts('done', async () => await Promise.resolve((done += 1)));
      },
    });
    const running = environment.run(close).catch(() => undefined);
    await jest.advanceTimersByTimeAsync(slow);
    await running;
  };
  await attempt(10, false);
  await attempt(2_500, true);
  await attempt(10, false);
  expect(done).toBe(1);
});

async function passing(milliseconds: number): Promise<void> {
  await new Promise((resolve) => {
    setTimeout(resolve, milliseconds);
  });
}
