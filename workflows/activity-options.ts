/** Activity options by class of activity (temporal.md §1.2, §1.7): declared once, so that no workflow invents its own. */

import type { ActivityOptions } from '@temporalio/workflow';
import { ActivityCancellationType } from '@temporalio/workflow';

/**
 * Activities that write: short, so that the next run never races a write in flight; cancellation waits for it. Retried without
 * end: an API outage must not fail a rollout.
 */
export function mutating(taskQueue: string): ActivityOptions {
  return {
    taskQueue,
    startToCloseTimeout: '10 seconds',
    heartbeatTimeout: '4 seconds',
    cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
    retry: { initialInterval: '500ms', backoffCoefficient: 2, maximumInterval: '30 seconds' },
  };
}

/** Activities that only observe: there is no side effect to wait for, so cancellation does not wait either. */
export function awaiting(taskQueue: string): ActivityOptions {
  return {
    taskQueue,
    startToCloseTimeout: '1 hour',
    heartbeatTimeout: '5 seconds',
    cancellationType: ActivityCancellationType.TRY_CANCEL,
    retry: { initialInterval: '200ms', backoffCoefficient: 2, maximumInterval: '10 seconds' },
  };
}
