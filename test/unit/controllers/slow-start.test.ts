/** Widths of slow starts (C13). */

import { describe, expect, it } from '@jest/globals';

import { SlowStart } from '../../../controllers/slow-start.ts';

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

  it('begins with one write after a refusal', () => {
    const widths = new SlowStart(() => 0);
    widths.reached('create', 32);
    widths.failed('create');
    expect(widths.first('create')).toBe(1);
  });
});
