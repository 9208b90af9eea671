import { once } from 'node:events';
import { setImmediate } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

import { describe, expect, it } from '@jest/globals';

import { backoffMs, pause, withTimeLimit } from '../../../kubernetes/backoff.ts';

describe('back-off', () => {
  it('doubles from the first wait to the last', () => {
    const waits = [1, 2, 3, 4, 5, 6].map((failures) => backoffMs(failures, 10, 100, () => 0));
    expect(waits).toEqual([10, 20, 40, 80, 100, 100]);
  });

  it('adds up to 30 %, so that many do not come at once', () => {
    expect(backoffMs(5, 10, 100, () => 1)).toBeCloseTo(130);
  });
});

describe('a time limit', () => {
  const DAY_MS = 86_400_000;
  const stop = new AbortController();

  it('comes, although garbage was collected meanwhile', async () => {
    const signal = withTimeLimit([stop.signal], 200);
    const ended = once(signal, 'abort');
    // A turn later, nothing of the turn that made the signal is kept alive for its own sake.
    await setImmediate();
    collectGarbage();
    // A timer of its own keeps the process here: that of the limit does not.
    const tooLate = new AbortController();
    expect(await Promise.race([ended, pause(4_000, tooLate.signal)])).toBeDefined();
    tooLate.abort();
    expect(signal.reason).toMatchObject({ name: 'TimeoutError' });
  });

  it('ends with any of the signals', () => {
    const other = new AbortController();
    const signal = withTimeLimit([stop.signal, other.signal], DAY_MS);
    other.abort(new Error('interrupted'));
    expect(signal).toMatchObject({ aborted: true, reason: new Error('interrupted') });
  });

  it('of more days than a timer can count does not come at once', async () => {
    const signal = withTimeLimit([stop.signal], 30 * DAY_MS);
    let isOver = false;
    const ended = new AbortController();
    const long = pause(30 * DAY_MS, ended.signal).then(() => (isOver = true));
    await pause(20, stop.signal);
    expect([signal.aborted, isOver]).toEqual([false, false]);
    ended.abort();
    await long;
  });
});

function collectGarbage(): void {
  setFlagsFromString('--expose-gc');
  (runInNewContext('gc') as () => void)();
}
