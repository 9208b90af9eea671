import { getEventListeners } from 'node:events';

import { describe, expect, it } from '@jest/globals';

import { backoffMs, pause } from '../../../kubernetes/backoff.ts';
import { startDeadline } from '../../../kubernetes/deadline.ts';

describe('back-off', () => {
  it('doubles from the first wait to the last', () => {
    const waits = [1, 2, 3, 4, 5, 6].map((failures) => backoffMs(failures, 10, 100, () => 0));
    expect(waits).toEqual([10, 20, 40, 80, 100, 100]);
  });

  it('adds up to 30 %, so that many do not come at once', () => {
    expect(backoffMs(5, 10, 100, () => 1)).toBeCloseTo(130);
  });
});

describe('a wait', () => {
  it.each([0, 1])(
    'ends when one of its signals aborts (%i), and leaves nothing at the others',
    async (which) => {
      const controllers = [new AbortController(), new AbortController()];
      const waited = pause(600_000, ...controllers.map(({ signal }) => signal));
      controllers[which]?.abort();
      await waited;
      await pause(600_000, ...controllers.map(({ signal }) => signal));
      expect(controllers.map(({ signal }) => getEventListeners(signal, 'abort').length)).toEqual([0, 0]);
    },
  );
});

describe('a time of more days than a timer can count', () => {
  const MS = 30 * 86_400_000;

  it('is not over at once', async () => {
    const ended = new AbortController();
    let isOver = false;
    const long = pause(MS, ended.signal).then(() => (isOver = true));
    const deadline = startDeadline(MS, ended.signal);
    await pause(20, ended.signal);
    expect([isOver, deadline.signal.aborted]).toEqual([false, false]);
    ended.abort();
    deadline.clear();
    await long;
  });
});
