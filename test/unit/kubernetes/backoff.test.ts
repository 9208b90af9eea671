import { describe, expect, it } from '@jest/globals';

import { backoffMs } from '../../../kubernetes/backoff.ts';

describe('back-off', () => {
  it('doubles from the first wait to the last', () => {
    const waits = [1, 2, 3, 4, 5, 6].map((failures) => backoffMs(failures, 10, 100, () => 0));
    expect(waits).toEqual([10, 20, 40, 80, 100, 100]);
  });

  it('adds up to 30 %, so that many do not come at once', () => {
    expect(backoffMs(5, 10, 100, () => 1)).toBeCloseTo(130);
  });
});
