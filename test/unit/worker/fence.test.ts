import { beforeEach, describe, expect, it } from '@jest/globals';

import { WriteRefusedError } from '../../../kubernetes/write-guard.ts';
import { Fence, NotLeaderError } from '../../../worker/fence.ts';
import { FakeLeaseClock } from '../../support/fake-lease-clock.ts';

describe('Fence (design "One writer")', () => {
  let clock: FakeLeaseClock;
  let fence: Fence;

  beforeEach(() => {
    clock = new FakeLeaseClock();
    fence = new Fence(clock, 4000, clock.now());
  });

  it('lets writes pass until 4 s after the last renewal was sent', () => {
    clock.advance(3999);
    expect(() => fence.assertLeader()).not.toThrow();
    expect(fence.remainingMs()).toBe(1);
    clock.advance(1);
    expect(() => fence.assertLeader()).toThrow(NotLeaderError);
    expect(() => fence.assertLeader()).toThrow('last renewed 4000 ms ago');
  });

  it('counts from the sending of a renewal, not from its answer', () => {
    const sentAt = clock.now();
    clock.advance(3000);
    fence.renewed(sentAt);
    expect(fence.remainingMs()).toBe(1000);
    fence.renewed(clock.now());
    expect(fence.remainingMs()).toBe(4000);
  });

  it('sees that the machine was suspended', () => {
    clock.suspend(10_000);
    expect(() => fence.assertLeader()).toThrow(NotLeaderError);
  });

  it('sees a stop although the wall clock was set back meanwhile', () => {
    clock.suspend(-3_600_000);
    expect(() => fence.assertLeader()).not.toThrow();
    clock.advance(4000);
    expect(() => fence.assertLeader()).toThrow(NotLeaderError);
  });

  it('once closed it stays closed, whatever a late renewal says', () => {
    clock.advance(4000);
    expect(() => fence.assertLeader()).toThrow(WriteRefusedError);
    fence.renewed(clock.now());
    expect(() => fence.assertLeader()).toThrow(NotLeaderError);
    expect(fence.remainingMs()).toBe(0);
  });

  it('keeps the first reason', () => {
    fence.close('it was taken');
    fence.close('later');
    expect(() => fence.assertLeader()).toThrow('write refused: it was taken');
  });
});
