/** Starts the run of a rolling update, for the command line and for commits; one that is open is told to look again. */

import type { Client, WorkflowExecutionDescription } from '@temporalio/client';
import { WorkflowNotFoundError } from '@temporalio/client';
import { SearchAttributeType, TypedSearchAttributes, defineSearchAttributeKey } from '@temporalio/common';

import type { Wisher } from '../kubernetes/wish-edits.ts';
import { isOpenRun } from '../planners/open-runs.ts';
import type { FailingStep, UpdateRun } from '../planners/rolling-update-run.ts';
import { PAUSED_ACTIVITY } from '../planners/rolling-update-run.ts';
import { WORKFLOW_TASK_TIMEOUT_MS, workflowTaskQueue } from '../workflows/messages.ts';
import type { WishVerb } from '../workflows/operator-wishes.ts';
import type { RollingUpdateInput, UpdateCall } from '../workflows/rolling-update-messages.ts';
import {
  ROLLING_UPDATE_WORKFLOW,
  rollingUpdateWorkflowId,
  updateBegunSignal,
} from '../workflows/rolling-update-messages.ts';
import type { SearchAttributeName } from '../workflows/search-attributes.ts';
import { clipBytes } from './run-description.ts';
import { causeOfEnd } from './run-endings.ts';

/** The server refuses longer summaries, bytes. */
const SUMMARY_LIMIT = 390;

/**
 * Makes sure that a run sees the update that has been written down: what it does follows from the objects alone, so whichever it
 * is, is right. One that is closing goes on with it.
 * @returns its workflow id
 * @throws ServiceError as Temporal answers
 */
export async function startRollingUpdate(client: Client, input: RollingUpdateInput): Promise<string> {
  const { cluster, clusterUid, namespace, name, next, commit, repository, by, reason } = input;
  const values: Partial<Record<SearchAttributeName, string>> = {
    KubeCluster: cluster,
    WorkloadKind: 'ReplicationController',
    WorkloadNamespace: namespace,
    WorkloadName: name,
    RolloutPhase: 'Progressing',
    ...(commit !== undefined && { GitCommit: commit }),
  };
  const attributes = input.searchAttributes.flatMap((attribute) => {
    const value = values[attribute];
    return value === undefined
      ? []
      : [{ key: defineSearchAttributeKey(attribute, SearchAttributeType.KEYWORD), value }];
  });
  const to = next === undefined ? '' : ` → ${next}`;
  const why = [commit === undefined ? '' : `commit ${commit.slice(0, 8)}`, reason ?? ''];
  const summary = [`ReplicationController ${namespace}/${name}${to}`, ...why.filter((part) => part !== '')];
  const workflowId = rollingUpdateWorkflowId(cluster, input);
  const call: UpdateCall = {
    ...(next !== undefined && { next }),
    ...(commit !== undefined && { commit }),
    ...(repository !== undefined && { repository }),
    ...(by !== undefined && { by }),
    ...(reason !== undefined && { reason }),
  };
  await client.workflow.signalWithStart(ROLLING_UPDATE_WORKFLOW, {
    signal: updateBegunSignal,
    signalArgs: [call],
    workflowId,
    taskQueue: workflowTaskQueue(cluster),
    workflowTaskTimeout: WORKFLOW_TASK_TIMEOUT_MS,
    args: [input],
    workflowIdReusePolicy: 'ALLOW_DUPLICATE',
    memo: { clusterUid, ...(next !== undefined && { next }) },
    typedSearchAttributes: new TypedSearchAttributes(attributes),
    staticSummary: clipBytes(summary.join(', '), SUMMARY_LIMIT),
  });
  return workflowId;
}

/**
 * Tells the run of an update that a wish is written on the controllers: it looks at once, also where it waits for the update period.
 * @returns false where it has seen that for itself, and has ended
 * @throws ServiceError as Temporal answers
 */
export async function tellRollingUpdate(
  client: Client,
  workflowId: string,
  verb: WishVerb,
  who: Wisher,
): Promise<boolean> {
  try {
    await client.workflow.getHandle(workflowId).signal(verb, { ...who, onObject: true });
    return true;
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return false;
    throw error;
  }
}

/** temporal.api.enums.v1.TimeoutType.TIMEOUT_TYPE_HEARTBEAT */
const HEARTBEAT_TIMEOUT = 4;

/**
 * The present step of a run that is tried again and again, if it is, in what Temporal describes. A try that ended because its worker was
 * gone has been answered by nobody: the next worker goes on with it. What was paused is not tried again.
 */
export function failingStep({
  pendingActivities,
}: Pick<WorkflowExecutionDescription['raw'], 'pendingActivities'>): FailingStep | undefined {
  const failing = (pendingActivities ?? []).find(
    ({ lastFailure, state }) =>
      lastFailure?.message &&
      Number(state) !== PAUSED_ACTIVITY &&
      Number(lastFailure.timeoutFailureInfo?.timeoutType) !== HEARTBEAT_TIMEOUT,
  );
  return failing && { attempts: (failing.attempt ?? 1) - 1, message: failing.lastFailure?.message ?? '' };
}

/** Asks for the last run of an update. @throws ServiceError as Temporal answers */
export async function readRollingUpdateRun(
  client: Client,
  cluster: string,
  update: Pick<RollingUpdateInput, 'namespace' | 'name'>,
): Promise<UpdateRun> {
  const workflowId = rollingUpdateWorkflowId(cluster, update);
  try {
    const found = await client.workflow.getHandle(workflowId).describe();
    const { status, runId, startTime, closeTime, raw } = found;
    const failing = failingStep(raw);
    return {
      state: isOpenRun(status.name) ? 'running' : 'closed',
      status: status.name,
      workflowId,
      runId: raw.workflowExecutionInfo?.firstRunId || runId,
      executionId: runId,
      startedAt: startTime.toISOString(),
      ...(closeTime !== undefined && { endedAt: closeTime.toISOString() }),
      ...(failing !== undefined && { failing }),
    };
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return { state: 'none' };
    throw error;
  }
}

/** Why the run of an update ended, in Temporal's words; undefined where it has none. @throws ServiceError as Temporal answers */
export async function whyRunEnded(client: Client, run: UpdateRun): Promise<string | undefined> {
  if (run.state !== 'closed' || run.executionId === undefined) return undefined;
  return await causeOfEnd(client, run.workflowId, run.executionId);
}
