/** What a measured rollout is called by. */

import { describe, expect, it } from '@jest/globals';

import { figuresOf, figuresOfFix } from '../../../bench/figures-of.ts';
import type { Measurement } from '../../../bench/measured-set.ts';

function measured(change: Partial<Measurement>): Measurement {
  return {
    appliedAt: 0,
    seconds: 0,
    statusSeconds: undefined,
    writes: [],
    usage: undefined,
    mostUnavailable: 10,
    run: undefined,
    heartbeats: 0,
    ...change,
  };
}

describe('figures of a measurement', () => {
  it('of a rollout: until its pods are ready, and until the status says so', () => {
    expect(figuresOf([measured({ seconds: 22, statusSeconds: 22.1 })], 100)).toMatchObject({
      seconds: 22,
      statusSeconds: 22.1,
    });
  });

  it('of a broken revision and its fix: neither is called a rollout whose pods are all ready', () => {
    const broken = measured({ seconds: 30 });
    const fixed = measured({ seconds: 22, statusSeconds: 22.1 });
    const { brokenSeconds, fixSeconds, fixStatusSeconds, ...others } = figuresOfFix(broken, fixed, 100);

    expect({ brokenSeconds, fixSeconds, fixStatusSeconds }).toEqual({
      brokenSeconds: 30,
      fixSeconds: 22,
      fixStatusSeconds: 22.1,
    });
    expect(Object.keys(others)).not.toContain('seconds');
    expect(Object.keys(others)).not.toContain('statusSeconds');
  });
});
