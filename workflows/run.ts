/** What runs of every kind go by: how long a history may get, what a summary may hold, what a failure says. */

import { CancellationScope, CancelledFailure, isCancellation, workflowInfo } from '@temporalio/workflow';

/** Characters; the server takes 400 bytes. */
const SUMMARY_LIMIT = 120;
const REASON_LIMIT = 500;

/** Whether it is time to continue as new. @param historyLimit events; absent: the server's suggestion */
export function isHistoryLong(historyLimit: number | undefined): boolean {
  const { continueAsNewSuggested, historyLength } = workflowInfo();
  return historyLimit === undefined ? continueAsNewSuggested : historyLength > historyLimit;
}

/** The text as the summary of an activity. */
export function summaryOf(text: string): string {
  return text.slice(0, SUMMARY_LIMIT);
}

/** Why a run failed: an ActivityFailure says nothing itself, its cause does. */
export function failureReason(error: Error): string {
  return (error.cause instanceof Error ? error.cause.message : error.message).slice(0, REASON_LIMIT);
}

/**
 * The cancellation of the run that has failed with this, if it was cancelled: a write in flight may be answered with a failure of its own
 * afterwards, and the server does not try it again.
 */
export function cancellationOf(error: unknown): Error | undefined {
  if (error instanceof Error && isCancellation(error)) return error;
  return CancellationScope.current().consideredCancelled
    ? new CancelledFailure('the run was cancelled')
    : undefined;
}
