/** What this leader asks of Temporal about the run of one workload: to start, to be cancelled, to look at its object. */

import type { Client } from '@temporalio/client';
import { WorkflowExecutionAlreadyStartedError, WorkflowNotFoundError } from '@temporalio/client';

import { rolloutCause } from '../kubernetes/template-change.ts';
import type { Wish } from '../planners/workload.ts';
import type { RolloutInput } from '../workflows/messages.ts';
import {
  ROLLOUT_WORKFLOW,
  WORKFLOW_TASK_TIMEOUT_MS,
  objectChangedSignal,
  rolloutSupersededSignal,
  workflowTaskQueue,
} from '../workflows/messages.ts';
import type { Observation } from './plan-feed.ts';
import { startOptions } from './run-description.ts';
import type { RunningRun } from './run-state.ts';
import { retryMark } from './run-state.ts';

export interface StartRun extends Pick<
  RolloutInput,
  'cluster' | 'clusterUid' | 'searchAttributes' | 'historyLimit'
> {
  readonly client: Client;
  readonly workflowId: string;
  /** What the run is to bring about. */
  readonly wanted: Observation;
  /** Who asked for it, after one that ended badly. */
  readonly retried: Wish | undefined;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

/**
 * Starts the run of a workload; undefined when another one is open under its id.
 * @throws ServiceError as Temporal answers
 */
export async function startRun(start: StartRun): Promise<RunningRun | undefined> {
  const { client, workflowId, wanted, retried, now, ...known } = start;
  const { workload, target } = wanted;
  const input: RolloutInput = {
    ...known,
    workload: workload.ref,
    target,
    onDeadline: workload.onDeadline,
    ...rolloutCause(workload),
    ...(workload.pinned?.at !== undefined && { pinnedBefore: workload.pinned.at }),
    ...(retried && retryCause(retried)),
  };
  try {
    const { firstExecutionRunId: runId } = await client.workflow.start(ROLLOUT_WORKFLOW, {
      ...startOptions(input, wanted),
      workflowId,
      taskQueue: workflowTaskQueue(known.cluster),
      workflowTaskTimeout: WORKFLOW_TASK_TIMEOUT_MS,
      args: [input],
      workflowIdConflictPolicy: 'FAIL',
      workflowIdReusePolicy: 'ALLOW_DUPLICATE',
    });
    const { uid } = workload.ref;
    const names = { runId, awaitedId: runId, target, uid };
    const grantedRetry = retryMark(workload);
    return {
      state: 'running',
      ...names,
      startedAt: now(),
      cancelRequested: false,
      wakeDue: false,
      grantedRetry,
    };
  } catch (error) {
    if (error instanceof WorkflowExecutionAlreadyStartedError) {
      return undefined;
    }
    throw error;
  }
}

/**
 * Ends a run that is not wanted any more, whatever execution of it is open by now. It is told why first: a cancellation has no
 * reason of its own, and without one it means a click in the UI.
 * @throws ServiceError as Temporal answers; WorkflowNotFoundError when it has closed, or another run has its id
 */
export async function supersedeRun(client: Client, workflowId: string, runId: string): Promise<void> {
  const run = client.workflow.getHandle(workflowId, undefined, { firstExecutionRunId: runId });
  await run.signal(rolloutSupersededSignal);
  await run.cancel();
}

/**
 * Tells the open run that its object has changed; none is as well.
 * @throws ServiceError as Temporal answers
 */
export async function wakeRun(client: Client, workflowId: string): Promise<void> {
  try {
    await client.workflow.getHandle(workflowId).signal(objectChangedSignal);
  } catch (error) {
    if (!(error instanceof WorkflowNotFoundError)) {
      throw error;
    }
  }
}

/** The commit stays the one that brought the template. */
function retryCause({ by, reason }: Wish): Pick<RolloutInput, 'by' | 'reason'> {
  return { ...(by !== undefined && { by }), reason: reason === undefined ? 'retry' : `retry: ${reason}` };
}
