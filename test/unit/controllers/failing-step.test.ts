/** What a run of a rolling update is stuck at, by what Temporal describes of it. */

import { expect, it } from '@jest/globals';
import { temporal } from '@temporalio/proto';

import { failingStep } from '../../../controllers/rolling-update-runs.ts';

const ANSWERED = { attempt: 4, lastFailure: { message: 'exceeded quota' } };

it('is the step that the cluster has answered, with the tries so far', () => {
  expect(failingStep({ pendingActivities: [{ attempt: 1 }, ANSWERED] })).toEqual({
    attempts: 3,
    message: 'exceeded quota',
  });
});

it('is none where the last try ended with its worker', () => {
  const lost = { message: 'activity Heartbeat timeout', timeoutFailureInfo: { timeoutType: 4 } };
  expect(failingStep({ pendingActivities: [{ attempt: 2, lastFailure: lost }] })).toBeUndefined();
});

it('is none where somebody has paused it: it is not tried again', () => {
  const lastFailure = { message: 'Activity paused' };
  const state = temporal.api.enums.v1.PendingActivityState.PENDING_ACTIVITY_STATE_PAUSED;
  expect(failingStep({ pendingActivities: [{ attempt: 2, lastFailure, state }] })).toBeUndefined();
});

it('is one where a try took too long: something hangs', () => {
  const slow = { message: 'activity StartToClose timeout', timeoutFailureInfo: { timeoutType: 1 } };
  expect(failingStep({ pendingActivities: [{ attempt: 2, lastFailure: slow }] })).toEqual({
    attempts: 1,
    message: 'activity StartToClose timeout',
  });
});
