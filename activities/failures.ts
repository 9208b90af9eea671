/** The one table that turns errors of the outside into activity failures: which are retried, what they say, what they hide. */

import { ApplicationFailure, CancelledFailure } from '@temporalio/common';

import { TRANSIENT_CODES } from '../git/git-errors.ts';
import { ProblemError } from '../git/problems.ts';
import { ApiError, isTransient, toMessage } from '../kubernetes/api-error.ts';

/** Statuses after which the same request will not succeed either. */
const FINAL: Readonly<Record<number, string>> = {
  400: 'InvalidObject',
  401: 'Unauthorized',
  403: 'Forbidden',
  405: 'NotSupported',
  413: 'TooLarge',
  422: 'InvalidObject',
};

/** Temporal keeps 4 KiB of a failure. */
const MESSAGE_LIMIT = 2_000;

/**
 * Any error → ApplicationFailure. Refusals that a retry cannot mend are non-retryable; throttling waits as long as the
 * apiserver asks; everything else is retried with the activity's back-off. Messages hold reasons and field paths only.
 */
export function toActivityFailure(error: unknown): Error {
  if (error instanceof ApplicationFailure || error instanceof CancelledFailure) {
    return error;
  }
  const message = toMessage(error).slice(0, MESSAGE_LIMIT);
  if (error instanceof ApiError) {
    const type = FINAL[error.status];
    if (type !== undefined && !isTransient(error)) {
      return ApplicationFailure.create({ message, type, nonRetryable: true });
    }
    return ApplicationFailure.create({
      message,
      type: 'ApiUnavailable',
      ...(error.retryAfterSeconds !== undefined && { nextRetryDelay: error.retryAfterSeconds * 1000 }),
    });
  }
  if (error instanceof ProblemError) {
    const { code } = error.problem;
    return ApplicationFailure.create({ message, type: code, nonRetryable: !TRANSIENT_CODES.has(code) });
  }
  return ApplicationFailure.create({ message, type: error instanceof Error ? error.name : 'Error' });
}
