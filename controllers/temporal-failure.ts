/** What a call to Temporal failed with: Temporal is away, or it refused. */

import { QueryRejectedError, isGrpcServiceError, isRetryableError } from '@temporalio/client';

/** DEADLINE_EXCEEDED, UNAVAILABLE */
const AWAY: readonly number[] = [4, 14];

/** Whether a call failed because Temporal is away, rather than because it refused. */
export function isTemporalAway(error: unknown): boolean {
  const cause = causeOf(error);
  return isGrpcServiceError(cause) && AWAY.includes(cause.code);
}

/** FAILED_PRECONDITION (no worker has asked for the run's queue of late, its workflow task fails, or it is paused in Temporal), DEADLINE_EXCEEDED */
const UNANSWERED: readonly number[] = [9, 4];

/**
 * Whether a query or an update failed as one does that no worker answers, or that is of a run which is paused in Temporal. So it does, too,
 * while Temporal is slow or away: that is for another call to tell.
 */
export function isUnanswered(error: unknown): boolean {
  if (isOfPausedRun(error)) return true;
  const cause = causeOf(error);
  return isGrpcServiceError(cause) && UNANSWERED.includes(cause.code);
}

/** Whether a query was refused because its run is paused in Temporal: nothing else refuses ours. */
export function isOfPausedRun(error: unknown): boolean {
  return error instanceof QueryRejectedError;
}

/** Whether a call failed for what may pass in a moment, by the rule of Temporal's own client. */
export function isWorthRetrying(error: unknown): boolean {
  const cause = causeOf(error);
  return isGrpcServiceError(cause) && isRetryableError(cause);
}

/** Temporal's own words for a refusal (an argument, a permission, a limit); undefined where it is away, or did not speak at all. */
export function refusalOf(error: unknown): string | undefined {
  const cause = causeOf(error);
  return isGrpcServiceError(cause) && !AWAY.includes(cause.code) ? cause.details : undefined;
}

/** The client wraps what gRPC answered. */
function causeOf(error: unknown): unknown {
  return error instanceof Error && error.cause !== undefined ? error.cause : error;
}
