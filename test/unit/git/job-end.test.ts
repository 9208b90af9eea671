/** How a Job that is gone has ended, by its Events. */

import { describe, expect, it } from '@jest/globals';

import { jobEnd } from '../../../git/job-end.ts';

const CREATED = { reason: 'SuccessfulCreate', message: 'Created pod: migrate-x' };
const EXCEEDED = {
  reason: 'BackoffLimitExceeded',
  message: 'Job has reached the specified backoff limit',
};

describe('a Job that is gone', () => {
  it.each([
    ['has completed where an Event says so', [CREATED, { reason: 'Completed' }], { end: 'Completed' }],
    [
      'has failed where one says so, and why',
      [CREATED, EXCEEDED],
      { end: 'Failed', message: 'BackoffLimitExceeded: Job has reached the specified backoff limit' },
    ],
    ['may have been deleted where none says either', [CREATED], { end: 'Untold' }],
    ['or where none is left', [], { end: 'Untold' }],
    ['and a failure to make a pod is no end', [{ reason: 'FailedCreate' }], { end: 'Untold' }],
  ])('%s', (_, events, expected) => {
    expect(jobEnd(events)).toEqual(expected);
  });
});
