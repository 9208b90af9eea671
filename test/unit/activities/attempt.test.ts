/** Every activity shows that it lives: without that the server gives it up after the heartbeat timeout, its writes under way. */

import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import { MockActivityEnvironment } from '@temporalio/testing';

import {
  HEARTBEAT_THROTTLE_MS,
  asActivities,
  asWritingActivities,
  beat,
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

async function passing(milliseconds: number): Promise<void> {
  await new Promise((resolve) => {
    setTimeout(resolve, milliseconds);
  });
}
