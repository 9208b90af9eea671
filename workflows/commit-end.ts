/** What the end of a commit's run means to its repository's sync. */

import {
  ApplicationFailure,
  CancelledFailure,
  ChildWorkflowFailure,
  TerminatedFailure,
} from '@temporalio/workflow';

import type { RetryDelays } from '../activities/commit-types.ts';
import type { LastCommit } from './sync-messages.ts';

/** What became of a commit; `mayPassLater`: it is tried again by itself. */
export type CommitEnd = Pick<LastCommit, 'outcome' | 'message'> & { readonly mayPassLater: boolean };

/** Between the tries of a commit that the cluster did not take. */
export const RETRY: RetryDelays = { firstMs: 10_000, longestMs: 10 * 60_000 };

/** Milliseconds until a commit is tried again that the cluster did not take: soon while somebody is mending it, then seldom. */
export function retryDelay(tries: number): number {
  return Math.min(RETRY.firstMs * 2 ** (tries - 1), RETRY.longestMs);
}

/** What the end of a child means; `superseded`: a newer commit was the reason for its cancellation. */
export function describeEnd(error: unknown, superseded: boolean): CommitEnd {
  const cause = error instanceof ChildWorkflowFailure ? error.cause : error;
  const mayPassLater = false;
  if (cause instanceof CancelledFailure)
    return { outcome: superseded ? 'Superseded' : 'Canceled', mayPassLater };
  if (cause instanceof TerminatedFailure)
    return { outcome: 'Terminated', message: 'the run was terminated', mayPassLater };
  const message = cause instanceof Error ? cause.message.slice(0, 2_000) : 'the run failed';
  const isRefusal = cause instanceof ApplicationFailure && cause.type === 'CommitRefused';
  const details: unknown = cause instanceof ApplicationFailure ? cause.details?.[1] : undefined;
  return {
    outcome: isRefusal ? 'Refused' : 'Failed',
    message,
    mayPassLater:
      typeof details === 'object' &&
      details !== null &&
      'mayPassLater' in details &&
      details.mayPassLater === true,
  };
}
