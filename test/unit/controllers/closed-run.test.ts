/** What a record keeps of a run that Temporal forgets. */

import { expect, it } from '@jest/globals';

import { attemptOfRun } from '../../../controllers/closed-run.ts';

const run = { state: 'closed', workflowId: 'w', runId: 'r', startedAt: '2026-01-01T00:00:00Z' } as const;

it.each([
  ['TERMINATED', 'Terminated'],
  ['CANCELLED', 'Canceled'],
  ['FAILED', 'Failed'],
  ['TIMED_OUT', 'Failed'],
  ['COMPLETED', undefined],
  // In Temporal: it goes on when somebody unpauses it.
  ['PAUSED', undefined],
])('%s: %s', (status, outcome) => {
  expect(attemptOfRun({ ...run, status }, { by: 'ann' }, 'clicked')?.outcome).toBe(outcome);
});

it('has who began it, and why it ended', () => {
  expect(attemptOfRun({ ...run, status: 'TERMINATED' }, { by: 'ann', at: '2026' }, 'clicked')).toEqual({
    runId: 'r',
    workflowId: 'w',
    startedAt: '2026-01-01T00:00:00Z',
    outcome: 'Terminated',
    by: 'ann',
    endedBecause: 'its run was terminated: clicked',
  });
});
