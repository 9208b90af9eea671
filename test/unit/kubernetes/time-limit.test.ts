import { describe, expect, it, jest } from '@jest/globals';
import { once } from 'node:events';
import { setImmediate as immediately } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

import { timeLimit } from '../../../kubernetes/time-limit.ts';

describe('timeLimit', () => {
  it('aborts when the time is up, also after a garbage collection (nodejs/node#57736)', async () => {
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as () => void;
    const never = new AbortController();
    const ended = Promise.race([
      once(timeLimit(100, never.signal), 'abort'),
      once(AbortSignal.timeout(2_000), 'abort').then(() => 'late'),
    ]);
    // What a WeakRef was made of is kept until the end of the job.
    await immediately();
    collect();
    await expect(ended).resolves.not.toBe('late');
  });

  it('aborts with the first of its signals, and at once with one that has aborted', () => {
    const one = new AbortController();
    const limited = timeLimit(60_000, new AbortController().signal, one.signal);
    expect(limited.aborted).toBe(false);
    one.abort('enough');
    expect(limited.reason).toBe('enough');
    expect(timeLimit(60_000, one.signal).aborted).toBe(true);
  });

  it('knows no limit of 0', () => {
    jest.useFakeTimers();
    try {
      const unlimited = timeLimit(0, new AbortController().signal);
      jest.advanceTimersByTime(86_400_000);
      expect(unlimited.aborted).toBe(false);
    } finally {
      jest.useRealTimers();
    }
  });
});
