/** How soon a write of a rolling update that has failed is tried again: pods without a controller do not wait for the longest back-off. */

import { expect, it } from '@jest/globals';

import { whileNothingHoldsThePods } from '../../../activities/rename-refusals.ts';
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

/** What a patch that was taken back before that write becomes. */
function failedBefore(next: UpdatePurpose): unknown {
  const world = foo();
  begin(world);
  run(world, { until: ({ purpose }) => purpose === next });
  return whileNothingHoldsThePods(takenBack, planRollingUpdate(world.snapshot('foo'), 0));
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
