/** What is known of the newest run of a workload, and how Temporal is asked for it. */

import type { Client } from '@temporalio/client';
import { WorkflowNotFoundError } from '@temporalio/client';

import { OPEN_RUNS } from '../planners/open-runs.ts';
import type { Workload } from '../planners/workload.ts';
import { ROLLOUT_WORKFLOW, rolloutWorkflowPrefix } from '../workflows/messages.ts';
import type { BadEnding, ToldEnding } from './run-endings.ts';
import { causeOfEnd, describeBadEnding, describeForeignRun } from './run-endings.ts';
import type { Observation } from './plan-feed.ts';

export interface RunningRun {
  readonly state: 'running';
  /** First run of the chain: what cancellations name, whatever continued as new or was reset since. */
  readonly runId: string;
  /** The execution whose end is awaited: of a run that was reset, the first one is closed already. */
  readonly awaitedId: string;
  readonly target: string;
  readonly uid: string;
  /** Milliseconds since the epoch. */
  readonly startedAt: number;
  readonly cancelRequested: boolean;
  /** It may sleep through a change of its object (a paused run costs nothing and asks nothing): to be told, until told. */
  readonly wakeDue: boolean;
  /** The wish to try again that was on the object when it was started ({@link retryMark}): it has been granted. */
  readonly grantedRetry: string;
}

export type RunState =
  | { readonly state: 'unknown' }
  | { readonly state: 'none' }
  | RunningRun
  | {
      readonly state: 'ended badly';
      readonly target: string;
      readonly uid: string;
      readonly ending: BadEnding;
      /** Of the run that ended: another wish than this one asks for another run. */
      readonly grantedRetry: string;
    }
  /** It ended badly, and the object alone still knows. */
  | {
      readonly state: 'forgotten';
      readonly target: string;
      readonly uid: string;
      readonly ending: ToldEnding;
      readonly grantedRetry: string;
    };

/** Written at the start of a run (run-description.ts). */
interface RunMemo {
  readonly clusterUid?: string;
  readonly uid?: string;
  readonly target?: string;
  readonly grantedRetry?: string;
}

/**
 * What tells two wishes to try again apart; empty without one. Whether a run has been started because of a wish is asked by
 * this alone, never by the clock: the time in it is that of whoever typed it.
 */
export function retryMark({ retried }: Pick<Workload, 'retried'>): string {
  return retried === undefined ? '' : JSON.stringify(retried);
}

export interface LearnRun {
  readonly client: Client;
  readonly workflowId: string;
  readonly clusterUid: string;
  /** What is to run, if anything. */
  readonly wanted: Pick<Observation, 'workload' | 'target' | 'endedBadly'> | undefined;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/**
 * Asks Temporal for the newest run of a workload: after a change of leader, and when a start met another run.
 * @throws ServiceError as Temporal answers
 */
export async function learnRun({ client, workflowId, clusterUid, wanted, now }: LearnRun): Promise<RunState> {
  try {
    const description = await client.workflow.getHandle(workflowId).describe();
    const memo = (description.memo ?? {}) as RunMemo;
    const { target = '', uid = '', grantedRetry = '' } = memo;
    const runId = description.raw.workflowExecutionInfo?.firstRunId ?? description.runId;
    const startedAt = description.startTime.getTime();
    switch (description.status.name) {
      case 'RUNNING':
      // Paused in Temporal: it keeps its id, and goes on when it is unpaused; a cancellation is kept for it until then.
      case 'PAUSED':
        if (memo.clusterUid !== undefined && memo.clusterUid !== clusterUid) {
          const times = { runId, startedAt, closedAt: now };
          return {
            state: 'ended badly',
            target: wanted?.target ?? '',
            uid: wanted?.workload.ref.uid ?? '',
            ending: describeForeignRun(memo.clusterUid, workflowId, times),
            // Its memo is about an object of that cluster. Who asks from now on has made room.
            grantedRetry: wanted === undefined ? '' : retryMark(wanted.workload),
          };
        }
        return {
          state: 'running',
          runId,
          awaitedId: description.runId,
          target,
          uid,
          startedAt,
          cancelRequested: description.raw.workflowExtendedInfo?.cancelRequested === true,
          // Whether the leader before this one has told it of the last change, nobody knows.
          wakeDue: true,
          grantedRetry,
        };
      case 'FAILED':
      case 'TERMINATED':
      case 'TIMED_OUT': {
        const times = { runId, startedAt, closedAt: description.closeTime?.getTime() ?? 0 };
        const cause = await causeOfEnd(client, workflowId, description.runId);
        return {
          state: 'ended badly',
          target,
          uid,
          ending: describeBadEnding(description.status.name, target, times, cause),
          grantedRetry,
        };
      }
      case 'CANCELLED':
      case 'COMPLETED':
      case 'CONTINUED_AS_NEW':
      case 'UNKNOWN':
      case 'UNSPECIFIED':
        return { state: 'none' };
    }
  } catch (error) {
    if (!(error instanceof WorkflowNotFoundError)) {
      throw error;
    }
    return forgottenRun(wanted);
  }
}

/** A run that Temporal does not know: there was none, or its retention is over, and the object says that none is to follow by itself. */
function forgottenRun(wanted: LearnRun['wanted']): RunState {
  // Of another cluster's run nothing is left to make room for.
  if (wanted?.endedBadly === undefined || wanted.endedBadly.reason === 'RunOfAnotherCluster') {
    return { state: 'none' };
  }
  const { workload, target, endedBadly } = wanted;
  // Of these times both are of long ago, and nothing else is left to compare.
  const isNewWish = Date.parse(workload.retried?.at ?? '') > Date.parse(endedBadly.since ?? '');
  const grantedRetry = isNewWish ? '' : retryMark(workload);
  return { state: 'forgotten', target, uid: workload.ref.uid, ending: endedBadly, grantedRetry };
}

/**
 * The workflow ids of a cluster's open rollout runs: what earlier leaders have left.
 * @throws ServiceError as Temporal answers
 */
export async function listOpenRuns(
  client: Client,
  cluster: string,
  clusterUid: string,
): Promise<readonly string[]> {
  const type = `WorkflowType = '${ROLLOUT_WORKFLOW}' AND ${OPEN_RUNS}`;
  const query = `${type} AND WorkflowId STARTS_WITH '${rolloutWorkflowPrefix(cluster)}'`;
  const ids: string[] = [];
  for await (const { workflowId, memo } of client.workflow.list({ query })) {
    if ((memo as RunMemo | undefined)?.clusterUid === clusterUid) {
      ids.push(workflowId);
    }
  }
  return ids;
}
