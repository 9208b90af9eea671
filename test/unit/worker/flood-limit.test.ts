/** Who may ask how much, by address. */

import { beforeEach, describe, expect, it } from '@jest/globals';

import { addressKey } from '../../../worker/address-key.ts';
import { FloodLimit } from '../../../worker/flood-limit.ts';

let now: number;
let limit: FloodLimit;
beforeEach(() => {
  now = 0;
  limit = new FloodLimit({ burst: 10, perSecond: 1, addresses: 50, now: () => now });
});

function exhaust(address: string): void {
  while (limit.take(address));
}

describe('a flood limit', () => {
  it('gives each address its own tokens, which come back', () => {
    exhaust('a');
    expect(limit.take('b')).toBe(true);
    expect(limit.take('a')).toBe(false);
    now += 2_000;
    expect([limit.take('a'), limit.take('a'), limit.take('a')]).toEqual([true, true, false]);
  });

  it('has what was taken beyond them paid back first, and asks nothing of those that it refuses', () => {
    expect(limit.take('a', 15)).toBe(true);
    now += 5_000;
    expect(limit.take('a')).toBe(false);
    now += 1_000;
    expect([limit.take('a'), limit.take('a')]).toEqual([true, false]);
    limit.charge('a', 3);
    limit.giveBack('a', 4);
    expect([limit.take('a'), limit.take('a')]).toEqual([true, false]);
  });

  it('forgets nobody who has still to wait, however many addresses come', () => {
    exhaust('a');
    for (let other = 0; other < 1_000; other += 1) limit.take(`other ${String(other)}`, 10);
    expect(limit.take('a')).toBe(false);
  });

  it('has newcomers share what one may have while it can remember no more', () => {
    for (let other = 0; other < 50; other += 1) limit.take(`other ${String(other)}`, 5);
    const taken = Array.from({ length: 100 }, (_, newcomer) => limit.take(`new ${String(newcomer)}`));
    expect(taken.filter(Boolean)).toHaveLength(10);
    // All buckets are full again: they can be forgotten.
    now += 5_000;
    exhaust('a');
    expect(limit.take('b')).toBe(true);
    expect(limit.take('a')).toBe(false);
  });

  it('is not reset by being full of those who asked for little', () => {
    exhaust('a');
    for (let other = 0; other < 1_000; other += 1) {
      now += 1_000;
      limit.take(`other ${String(other)}`);
      exhaust('a');
    }
    expect(limit.take('a')).toBe(false);
  });
});

describe('whom an address stands for', () => {
  it.each([
    ['192.0.2.7', '192.0.2.7'],
    ['::ffff:192.0.2.7', '192.0.2.7'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:db8:1:2::1', '2001:db8:1:2::/64'],
    ['2001:DB8:0001:2:ffff::', '2001:db8:1:2::/64'],
    ['2001:db8::1', '2001:db8:0:0::/64'],
    ['fe80::1%eth0', 'fe80:0:0:0::/64'],
    ['::1', '0:0:0:0::/64'],
    ['', ''],
  ])('%s is %s', (address, key) => {
    expect(addressKey(address)).toBe(key);
  });
});
