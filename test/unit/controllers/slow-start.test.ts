/** Widths of slow starts (C13). */

import { describe, expect, it } from '@jest/globals';

import { SlowStart, widthAfter } from '../../../controllers/slow-start.ts';

describe('slow start (C13)', () => {
  it('begins with one write, and with the width that was reached within ten seconds', () => {
    let now = 1_000;
    const widths = new SlowStart(() => now);
    expect(widths.first('create')).toBe(1);
    widths.reached('create', 8);
    now += 9_999;
    expect(widths.first('create')).toBe(8);
    expect(widths.first('delete')).toBe(1);
    now += 1;
    expect(widths.first('create')).toBe(1);
  });

  it.each([
    [1, undefined, 2],
    [32, undefined, 32],
    [16, 20, 32],
    [8, 50, 16],
    [8, 51, 8],
    [8, 100, 8],
    [8, 101, 4],
    [1, 5_000, 1],
  ])('pace: of %d at once, the slowest after %s ms, it goes on with %d', (width, slowest, next) => {
    expect(widthAfter(width, slowest)).toBe(next);
  });

  it('begins with one write after a refusal', () => {
    const widths = new SlowStart(() => 0);
    widths.reached('create', 32);
    widths.failed('create');
    expect(widths.first('create')).toBe(1);
  });
});
