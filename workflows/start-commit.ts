/** Starts the run of one commit as a child of its repository's sync. */

import { SearchAttributeType, defineSearchAttributeKey } from '@temporalio/common';
import type { ChildWorkflowHandle } from '@temporalio/workflow';
import {
  ChildWorkflowCancellationType,
  ParentClosePolicy,
  WorkflowIdReusePolicy,
  startChild,
} from '@temporalio/workflow';

import { RETRY } from './commit-end.ts';
import { commit } from './commit.ts';
import type { OperatorMessage } from './messages.ts';
import { WORKFLOW_TASK_TIMEOUT_MS } from './messages.ts';
import type { SyncInput, WantedCommit } from './sync-messages.ts';
import { commitWorkflowId } from './sync-messages.ts';

/** Resolves when it has started. A cancellation is passed on to it and waits for its end. */
export async function startCommit(
  { cluster, clusterUid, repository, searchAttributes }: SyncInput,
  wanted: WantedCommit,
): Promise<ChildWorkflowHandle<typeof commit>> {
  const short = wanted.sha.slice(0, 8);
  const { heal } = wanted;
  const again = wanted.by === undefined ? 'tried again' : `asked for by ${wanted.by}`;
  const why = heal === undefined ? again : `puts back ${objectsOf(heal.length)}`;
  const asked = wanted.again ? ` (${why})` : '';
  const typed = [
    ['KubeCluster', cluster] as const,
    ['GitCommit', wanted.sha] as const,
    ['RolloutPhase', 'Progressing'] as const,
  ].filter(([name]) => searchAttributes.includes(name));
  return await startChild(commit, {
    workflowId: commitWorkflowId(cluster, repository, wanted.sha),
    workflowTaskTimeout: WORKFLOW_TASK_TIMEOUT_MS,
    args: [
      {
        cluster,
        clusterUid,
        repository,
        searchAttributes,
        sha: wanted.sha,
        ...(heal === undefined ? { retry: RETRY } : { heal }),
        ...askedBy(wanted),
      },
    ],
    parentClosePolicy: ParentClosePolicy.ABANDON,
    cancellationType: ChildWorkflowCancellationType.WAIT_CANCELLATION_COMPLETED,
    workflowIdReusePolicy: WorkflowIdReusePolicy.ALLOW_DUPLICATE,
    staticSummary: `${repository} at ${short}${asked}`,
    ...(typed.length > 0 && {
      typedSearchAttributes: typed.map(([name, value]) => ({
        key: defineSearchAttributeKey(name, SearchAttributeType.KEYWORD),
        value,
      })),
    }),
  });
}

function objectsOf(count: number): string {
  return count === 1 ? 'one object' : `${count} objects`;
}

/** Who asked for a commit that is tried again. */
export function askedBy({ again, by, reason }: WantedCommit): { readonly asked?: OperatorMessage } {
  if (!again || (by === undefined && reason === undefined)) return {};
  return { asked: { ...(by !== undefined && { by }), ...(reason !== undefined && { reason }) } };
}
