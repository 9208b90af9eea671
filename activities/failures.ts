/** The one table that turns errors of the outside into activity failures: which are retried, what they say, what they hide. */

import { ApplicationFailure, CancelledFailure } from '@temporalio/common';

import { TRANSIENT_CODES, WITHHELD_CODES } from '../git/git-errors.ts';
import { MEND_REFUSAL } from '../git/own-rights.ts';
import { ProblemError } from '../git/problems.ts';
import { ApiError, isByAdmission, isForbidden, isRefusal, toMessage } from '../kubernetes/api-error.ts';

/** Statuses after which the same request will not succeed either. */
const FINAL: Readonly<Record<number, string>> = {
  400: 'InvalidObject',
  403: 'Forbidden',
  405: 'NotSupported',
  413: 'TooLarge',
  422: 'InvalidObject',
};

/**
 * A read that is forbidden is tried so often, half a minute or more: an apiserver that has just started refuses everything until
 * it has read the roles (kubernetes#121635).
 */
const FORBIDDEN_READS = 8;

/** Temporal keeps 4 KiB of a failure. */
const MESSAGE_LIMIT = 2_000;

/**
 * Any error → ApplicationFailure. Refusals that a retry cannot mend are non-retryable; throttling waits as long as the
 * apiserver asks; everything else is retried with the activity's back-off. Messages hold reasons and field paths only.
 * @param attempt which one of the activity it was, from 1
 */
export function toActivityFailure(error: unknown, attempt: number): Error {
  if (error instanceof ApplicationFailure || error instanceof CancelledFailure) {
    return error;
  }
  const message = toMessage(error).slice(0, MESSAGE_LIMIT);
  if (error instanceof ApiError) {
    const type = isRefusal(error) ? FINAL[error.status] : undefined;
    if (type !== undefined) {
      const mayPass = isForbidden(error) && error.method === 'GET' && attempt < FORBIDDEN_READS;
      return ApplicationFailure.create({ message, type, nonRetryable: !mayPass });
    }
    return ApplicationFailure.create({
      message,
      type: 'ApiUnavailable',
      ...(error.retryAfterSeconds !== undefined && { nextRetryDelay: error.retryAfterSeconds * 1000 }),
    });
  }
  if (error instanceof ProblemError) {
    const { code } = error.problem;
    return ApplicationFailure.create({
      message,
      type: code,
      nonRetryable: !TRANSIENT_CODES.has(code),
      // Who asks a server that refuses again and again is locked out.
      ...(WITHHELD_CODES.has(code) && { nextRetryDelay: '30s' }),
    });
  }
  return ApplicationFailure.create({ message, type: error instanceof Error ? error.name : 'Error' });
}

/**
 * What the worker itself must be allowed for every commit, whatever is in it. While that is refused nothing could be recorded either, so the
 * run waits, as for an apiserver that is away: it shows the failure of the last try.
 * @throws whatever `request` throws; for a refusal ApplicationFailure Forbidden, which is tried again
 */
export async function untilGranted<T>(request: () => Promise<T>): Promise<T> {
  try {
    return await request();
  } catch (error) {
    if (!isForbidden(error) && !(isByAdmission(error) && isRefusal(error))) throw error;
    const message = `${error.message.slice(0, MESSAGE_LIMIT)}; ${MEND_REFUSAL}; it is tried again by itself`;
    throw ApplicationFailure.create({ message, type: 'Forbidden' });
  }
}
