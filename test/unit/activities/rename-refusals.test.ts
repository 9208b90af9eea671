/** How soon a write of a rolling update that has failed is tried again: pods without a controller do not wait for the longest back-off. */

import { expect, it } from '@jest/globals';

import { insteadOfEnding } from '../../../activities/rename-refusals.ts';
import { ApiError } from '../../../kubernetes/api-error.ts';
import { TakenBackError } from '../../../kubernetes/taken-back-error.ts';
import { planRollingUpdate } from '../../../planners/rolling-update.ts';
import type { UpdatePurpose } from '../../../planners/rolling-update-steps.ts';
import { begin, foo, run } from '../../support/simulated-update.ts';

const takenBack = new TakenBackError({
  group: '',
  version: 'v1',
  resource: 'replicationcontrollers',
  namespace: 'default',
  name: 'foo-2',
});

const refused = new ApiError(
  { method: 'DELETE', path: '/replicationcontrollers/foo', server: 's' },
  { status: 422, reason: 'Invalid', text: 'foo is protected' },
);

/** What an error of that write becomes, or of one that is asked with while something is awaited. */
function failedBefore(next: UpdatePurpose | 'asking', error: Error = takenBack): unknown {
  const world = foo();
  begin(world);
  run(world, { until: ({ purpose }) => purpose === (next === 'asking' ? 'ScaleUp' : next) });
  const plan = planRollingUpdate(world.snapshot('foo'), 0);
  const asking = { do: 'await', urgent: false, waiting: [] } as const;
  return insteadOfEnding(error, next === 'asking' ? { ...plan, step: asking } : plan);
}

it('a patch that is taken back in the gap of a rename is tried again each second, with its words', () => {
  const { message } = takenBack;
  expect(failedBefore('ReleaseNext')).toMatchObject({
    type: 'RenameRefused',
    nextRetryDelay: 1_000,
    message,
  });
});

it('before that with the back-off of the activity', () => {
  expect(failedBefore('ScaleUp')).toBe(takenBack);
});

it('a refused step towards the gap holds the rename: both controllers can wait', () => {
  expect(failedBefore('DeleteOld', refused)).toMatchObject({
    type: 'RenameHeld',
    nextRetryDelay: 3_000,
    nonRetryable: false,
    message: expect.stringMatching(/^foo-\w+ keeps its name for now: DELETE .* foo is protected/),
  });
  expect(failedBefore('DeleteNext', refused)).toMatchObject({ type: 'RenameHeld' });
});

it('a refused write that only asks is tried again, and any other ends the run', () => {
  expect(failedBefore('asking', refused)).toMatchObject({
    type: 'AskingRefused',
    nextRetryDelay: 10_000,
    nonRetryable: false,
  });
  expect(failedBefore('ScaleUp', refused)).toBe(refused);
});
