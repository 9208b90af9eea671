/** Starts the run of a rolling update, for the command line and for commits; one that runs is left as it is. */

import type { Client } from '@temporalio/client';
import { SearchAttributeType, TypedSearchAttributes, defineSearchAttributeKey } from '@temporalio/common';

import { workflowTaskQueue } from '../workflows/messages.ts';
import type { RollingUpdateInput } from '../workflows/rolling-update-messages.ts';
import { ROLLING_UPDATE_WORKFLOW, rollingUpdateWorkflowId } from '../workflows/rolling-update-messages.ts';
import type { SearchAttributeName } from '../workflows/search-attributes.ts';
import { clipBytes } from './run-description.ts';

/** The server refuses longer summaries, bytes. */
const SUMMARY_LIMIT = 390;

export interface StartedUpdate {
  readonly workflowId: string;
  readonly runId: string;
}

/**
 * Makes sure that a run of the update is open: what it does follows from the objects alone, so whichever it is, is right.
 * @throws ServiceError as Temporal answers
 */
export async function startRollingUpdate(client: Client, input: RollingUpdateInput): Promise<StartedUpdate> {
  const { cluster, clusterUid, namespace, name, next, commit, reason } = input;
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
  const handle = await client.workflow.start(ROLLING_UPDATE_WORKFLOW, {
    workflowId,
    taskQueue: workflowTaskQueue(cluster),
    args: [input],
    workflowIdConflictPolicy: 'USE_EXISTING',
    workflowIdReusePolicy: 'ALLOW_DUPLICATE',
    memo: { clusterUid, ...(next !== undefined && { next }) },
    typedSearchAttributes: new TypedSearchAttributes(attributes),
    staticSummary: clipBytes(summary.join(', '), SUMMARY_LIMIT),
  });
  return { workflowId, runId: handle.firstExecutionRunId };
}
