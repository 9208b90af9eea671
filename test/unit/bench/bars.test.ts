/** The bars of the benchmarks: what is compared with what. */

import { describe, expect, it } from '@jest/globals';

import { atMost, atMostInEveryRun } from '../../../bench/bars.ts';
import type { Sample } from '../../../bench/scenario.ts';

/** Two of five runs deleted a pod twice. */
const SAMPLES = [1, 1.01, 1, 1.01, 1].map((podDeletesPerPod): Sample => ({
  side: 'fairlead',
  figures: { podDeletesPerPod },
}));

describe('bars', () => {
  it('on medians: a slow run is no miss', () => {
    expect(atMost(SAMPLES, 'podDeletesPerPod', 1)).toEqual({
      what: '… deletes of pods: ≤ 1',
      measured: '1.00',
      met: true,
    });
  });

  it('in every run: what must not happen is missed by one that did it', () => {
    expect(atMostInEveryRun(SAMPLES, 'podDeletesPerPod', 1, 'no more deletes than pods')).toEqual({
      what: '… deletes of pods: ≤ 1 in every run (no more deletes than pods)',
      measured: '1.01',
      met: false,
    });
    expect(atMostInEveryRun(SAMPLES.slice(0, 1), 'podDeletesPerPod', 1, 'no more')).toMatchObject({
      measured: '1.00',
      met: true,
    });
  });
});
