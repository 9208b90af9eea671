/** How a rollout run ended, learnt by a long poll: a click on Terminate is known at once, not by a query a minute. */

import { setMaxListeners } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';

import type { Client } from '@temporalio/client';
import { WorkflowFailedError, WorkflowNotFoundError } from '@temporalio/client';

import type { RolloutResult } from '../workflows/messages.ts';
import type { BadEndingReason } from './reported-reasons.ts';

/** A bad end as the workload has it: more is not known once Temporal has forgotten the run. */
export interface ToldEnding {
  readonly reason: BadEndingReason;
  readonly message: string;
  /** RFC 3339. */
  readonly since?: string;
}

/** How a run ended that is not to be started again by itself. Times are milliseconds since the epoch. */
export interface BadEnding extends Omit<ToldEnding, 'since'> {
  readonly runId: string;
  readonly startedAt: number;
  readonly closedAt: number;
}

/** Temporal's names of the ends that are bad. */
export type BadStatus = 'FAILED' | 'TERMINATED' | 'TIMED_OUT';

/** `closed`: completed, cancelled, or not known any more; with what the run answered, if it completed. */
export type RunEnd =
  | { readonly end: 'closed'; readonly result?: RolloutResult }
  | { readonly end: 'badly'; readonly status: BadStatus; readonly cause: string | undefined };

export interface AwaitedRun {
  readonly client: Client;
  readonly workflowId: string;
  /** The execution that is open now: of a run that was reset, the first one is closed already. */
  readonly executionId: string;
  /** Ends the poll; the answer is `closed` then. */
  readonly signal: AbortSignal;
}

const RETRY_MS = 1_000;
/** A run may be open for weeks. */
const ATTEMPT_MS = 600_000;

/**
 * Waits until a run has closed. Goes on while the connection is broken, and when the run was reset: a reset closes an
 * execution as terminated, and another one goes on from an earlier point of its history.
 */
export async function awaitRunEnd({ client, workflowId, executionId, signal }: AwaitedRun): Promise<RunEnd> {
  let awaited = executionId;
  while (!signal.aborted) {
    // Each poll of the client leaves a listener on the signal: one of its own, which is given up now and then.
    const attempt = new AbortController();
    setMaxListeners(0, attempt.signal);
    const stop = () => {
      attempt.abort();
    };
    const timer = setTimeout(stop, ATTEMPT_MS);
    timer.unref();
    signal.addEventListener('abort', stop, { once: true });
    try {
      const run = client.workflow.getHandle<() => Promise<RolloutResult>>(workflowId, awaited);
      return { end: 'closed', result: await client.withAbortSignal(attempt.signal, () => run.result()) };
    } catch (error) {
      if (error instanceof WorkflowNotFoundError) {
        return { end: 'closed' };
      }
      if (error instanceof WorkflowFailedError) {
        const { cause } = error;
        if (cause?.constructor.name === 'CancelledFailure') {
          return { end: 'closed' };
        }
        const successor = await successorOf(client, workflowId, awaited, signal);
        if (successor === undefined) {
          return { end: 'badly', status: statusOf(cause), cause: rootMessage(cause) };
        }
        awaited = successor;
      } else {
        // The connection broke, not the run: look again until Temporal answers.
        await pause(signal);
      }
    } finally {
      clearTimeout(timer);
      signal.removeEventListener('abort', stop);
    }
  }
  return { end: 'closed' };
}

/**
 * Why a run that is closed ended badly, for a leader that did not see it end; undefined where Temporal has just forgotten it.
 * @throws ServiceError as Temporal answers
 */
export async function causeOfEnd(
  client: Client,
  workflowId: string,
  executionId: string,
): Promise<string | undefined> {
  try {
    await client.workflow.getHandle(workflowId, executionId).result();
    return undefined;
  } catch (error) {
    if (error instanceof WorkflowFailedError) {
      return rootMessage(error.cause);
    }
    if (error instanceof WorkflowNotFoundError) return undefined;
    throw error;
  }
}

/**
 * What an operator is told of a bad end. `cause` is the failure's own message; without a `target` it is not known. `isWanted`: whether
 * the workload still has that template.
 */
export function describeBadEnding(
  status: BadStatus,
  target: string,
  times: Pick<BadEnding, 'runId' | 'startedAt' | 'closedAt'>,
  cause: string | undefined,
  { isWanted = true }: { readonly isWanted?: boolean } = {},
): BadEnding {
  const { reason, what } = WORDS[status];
  const template = target === '' ? '' : ofTemplate(target);
  return {
    reason,
    message:
      `rollout run ${times.runId}${template} ${what}${cause === undefined ? '' : `: ${cause}`}; ` +
      (isWanted
        ? 'change the template, or start it again with `fairlead rollout retry`'
        : 'it was not wanted any more: nothing has to be done'),
    ...times,
  };
}

/** Whether an operator was told this of a run of that template: on the object nothing else says which one it was. */
export function isEndOf({ message }: ToldEnding, target: string): boolean {
  return message.includes(`${ofTemplate(target)} `);
}

/** An open run of another cluster under the same workflow id: not ours to cancel, and nothing can be started beside it. */
export function describeForeignRun(
  clusterUid: string,
  workflowId: string,
  times: Pick<BadEnding, 'runId' | 'startedAt' | 'closedAt'>,
): BadEnding {
  return {
    reason: 'RunOfAnotherCluster',
    message:
      `the run ${times.runId} of ${workflowId} belongs to the cluster with kube-system uid ${clusterUid}: give each cluster ` +
      'its own FAIRLEAD_CLUSTER, then `fairlead rollout retry`',
    ...times,
  };
}

const WORDS = {
  FAILED: { reason: 'RunFailed', what: 'failed' },
  TERMINATED: { reason: 'RunTerminated', what: 'was terminated' },
  TIMED_OUT: { reason: 'RunTimedOut', what: 'timed out' },
} as const;

function ofTemplate(target: string): string {
  return ` of template ${target}`;
}

/** The execution that went on where `closedId` was reset. */
async function successorOf(
  client: Client,
  workflowId: string,
  closedId: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  while (!signal.aborted) {
    try {
      const { runId } = await client.workflow.getHandle(workflowId).describe();
      return runId === closedId ? undefined : runId;
    } catch (error) {
      if (error instanceof WorkflowNotFoundError) {
        return undefined;
      }
      await pause(signal);
    }
  }
  return undefined;
}

function statusOf(cause: Error | undefined): BadStatus {
  const name = cause?.constructor.name;
  if (name === 'TerminatedFailure') {
    return 'TERMINATED';
  }
  return name === 'TimeoutFailure' ? 'TIMED_OUT' : 'FAILED';
}

function rootMessage(error: Error | undefined): string | undefined {
  let current = error;
  while (current?.cause instanceof Error) {
    current = current.cause;
  }
  return current?.message;
}

async function pause(signal: AbortSignal): Promise<void> {
  await sleep(RETRY_MS, undefined, { signal, ref: false }).catch(() => undefined);
}
