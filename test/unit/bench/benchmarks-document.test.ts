/** The page of the benchmarks: what a reader must know of each figure. */

import { describe, expect, it } from '@jest/globals';

import { benchmarksDocument } from '../../../bench/benchmarks-document.ts';
import type { Result } from '../../../bench/results.ts';

const RESULT: Result = {
  scenario: 'two-pods',
  title: 'Two pods',
  at: '2026-01-02T03:04:05Z',
  machine: { cpu: 'CPU', cores: 2, memoryGiB: 8, node: 'v20', versions: { etcd: '3' } },
  loadAverage: 0.5,
  commit: '0123456789',
  sources: 'now',
  conditions: '2 pods',
  samples: (['built-in', 'fairlead', 'fairlead'] as const).map((side) => ({ side, figures: { seconds: 1 } })),
  bars: [{ what: 'seconds: ≤ 2', measured: '3', met: false }],
};

function withoutSources(): Result {
  const { sources: _, ...rest } = RESULT;
  return rest;
}

describe('the page', () => {
  it('has each bar with its verdict and the number of runs', () => {
    expect(benchmarksDocument([RESULT], 'now')).toContain(
      '| two-pods | seconds: ≤ 2 | 3 | MISSED | 2 |  |\n',
    );
  });

  it.each([
    ['of other sources', RESULT, 'later'],
    ['that does not say of which', withoutSources(), 'now'],
  ])('calls a result stale %s', (_, result, sources) => {
    expect(benchmarksDocument([result], sources)).toContain('| MISSED | 2 | **yes** |\n');
  });

  it('says of each scenario when, of which commit and on what it was measured', () => {
    expect(benchmarksDocument([RESULT], 'now')).toContain(
      '2026-01-02, 0123456789, runs of each side: 2; 2 × CPU, 8 GiB; Node v20, etcd 3; load average before it began 0.5.',
    );
  });
});
