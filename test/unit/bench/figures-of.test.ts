/** What a measured rollout is called by. */

import { describe, expect, it } from '@jest/globals';

import { figuresOf, figuresOfFix, secondsUntilWrite } from '../../../bench/figures-of.ts';
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

  it('of what only tries a write: it stores nothing, and is told by itself', () => {
    const patch = { verb: 'patch', resource: 'pods', subresource: undefined, namespace: 'a', name: 'web-0' };
    const create = { ...patch, verb: 'create', code: 409, isDryRun: true, at: 1_000 };
    const writes = [
      create,
      { ...patch, code: 200, isDryRun: true, at: 2_000 },
      { ...patch, code: 200, isDryRun: false, at: 3_000 },
    ];
    const one = measured({ writes });

    expect(figuresOf([one], 1)).toMatchObject({
      writesPerPod: 1,
      podPatchesPerPod: 1,
      podCreatesPerPod: 0,
      failedWrites: 0,
      dryRuns: 2,
    });
    expect(secondsUntilWrite(one, 0)).toBe(3);
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
