/** The queue of reconciles: one at a time for each workload, coalesced, and again with back-off after an error (P21). */

import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';

import { WorkQueue } from '../../../controllers/work-queue.ts';

const SPACING_MS = 50;

describe('the work queue', () => {
  const runs: { readonly key: string; readonly at: number }[] = [];
  let failures = 0;
  let hold: Promise<void> | undefined;
  let queue: WorkQueue;
  const errors: string[] = [];

  beforeEach(() => {
    jest.useFakeTimers({ now: 1_000_000 });
    runs.length = 0;
    errors.length = 0;
    failures = 0;
    hold = undefined;
    queue = new WorkQueue({
      reconcile: async (key) => {
        runs.push({ key, at: Date.now() - 1_000_000 });
        await hold;
        if (failures > 0) {
          failures -= 1;
          throw new Error('refused');
        }
      },
      spacing: () => SPACING_MS,
      onError: (key) => errors.push(key),
    });
  });

  afterEach(async () => {
    await queue.stop();
    jest.useRealTimers();
  });

  const times = (): readonly number[] => runs.map(({ at }) => at);

  it('runs the first request at once, and those of the next moments as one', async () => {
    queue.add('a');
    await jest.advanceTimersByTimeAsync(0);
    for (let count = 0; count < 10; count += 1) queue.add('a');
    queue.add('b');
    await jest.advanceTimersByTimeAsync(1_000);
    expect(runs).toEqual([
      { key: 'a', at: 0 },
      { key: 'b', at: 0 },
      { key: 'a', at: SPACING_MS },
    ]);
  });

  it('goes on at once after the clock was set back, though a date is awaited', async () => {
    queue.add('a');
    await jest.advanceTimersByTimeAsync(0);
    queue.add('a', Date.now() + 600_000);
    jest.setSystemTime(Date.now() - 300_000);
    queue.add('a');
    await jest.advanceTimersByTimeAsync(SPACING_MS);
    expect(runs).toHaveLength(2);
  });

  it('never runs one key twice at the same time: what is asked for meanwhile comes after', async () => {
    let release = (): void => undefined;
    hold = new Promise((resolve) => {
      release = resolve;
    });
    queue.add('a');
    await jest.advanceTimersByTimeAsync(500);
    queue.add('a');
    await jest.advanceTimersByTimeAsync(500);
    expect(times()).toEqual([0]);
    release();
    await jest.advanceTimersByTimeAsync(0);
    expect(times()).toEqual([0, 1_000]);
  });

  it('the earliest of several dates counts', async () => {
    queue.add('a', Date.now() + 5_000);
    queue.add('a', Date.now() + 300);
    queue.add('a', Date.now() + 9_000);
    await jest.advanceTimersByTimeAsync(20_000);
    expect(times()).toEqual([300]);
  });

  it('P21: an error brings it back with doubled waits, up to 30 s; unlike upstream it is never dropped', async () => {
    failures = 20;
    queue.add('a');
    await jest.advanceTimersByTimeAsync(1_000_000);
    const waits = times().map((at, index) => at - (times()[index - 1] ?? 0));
    expect(waits.slice(1, 9)).toEqual([200, 400, 800, 1_600, 3_200, 6_400, 12_800, 25_600]);
    expect(new Set(waits.slice(9))).toEqual(new Set([30_000]));
    expect([runs.length, errors.length]).toEqual([21, 20]);
  });

  it('P21: an event does not wait for the back-off, and a success ends it', async () => {
    failures = 6;
    queue.add('a');
    await jest.advanceTimersByTimeAsync(7_000);
    const before = runs.length;
    expect(before).toBe(6);
    queue.add('a');
    await jest.advanceTimersByTimeAsync(0);
    expect(runs.length).toBe(before + 1);
    failures = 1;
    queue.add('a');
    await jest.advanceTimersByTimeAsync(SPACING_MS);
    expect(runs.length).toBe(before + 2);
    await jest.advanceTimersByTimeAsync(200);
    expect(runs.length).toBe(before + 3);
  });

  it('stopped, it starts nothing more and waits for what runs', async () => {
    let release = (): void => undefined;
    hold = new Promise((resolve) => {
      release = resolve;
    });
    queue.add('a');
    await jest.advanceTimersByTimeAsync(0);
    const stopped = queue.stop();
    queue.add('b');
    release();
    await stopped;
    await jest.advanceTimersByTimeAsync(60_000);
    expect(runs.map(({ key }) => key)).toEqual(['a']);
  });
});
