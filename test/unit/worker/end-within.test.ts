/** The end of what a leader did: awaited, but a call that never comes back keeps nobody from leading. */

import { describe, expect, it } from '@jest/globals';

import { endWithin } from '../../../worker/end-within.ts';

describe('what has to end', () => {
  const never = new Promise<void>(() => undefined);
  const soon = async () => {};

  it('is awaited no longer than its limit, and named when it is late', async () => {
    const late: string[] = [];
    await endWithin({ poller: never, queue: soon() }, 20, (names) => late.push(...names));
    expect(late).toEqual(['poller']);
  });

  it('is nothing to tell of when it ends in time, and fails as it does', async () => {
    const late: string[] = [];
    await endWithin({ poller: soon(), queue: soon() }, 60_000, (names) => late.push(...names));
    const failing = endWithin(
      { poller: never, queue: Promise.reject(new Error('broken')) },
      60_000,
      (names) => late.push(...names),
    );
    await expect(failing).rejects.toThrow('broken');
    expect(late).toEqual([]);
  });
});
