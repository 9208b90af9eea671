/** Runs that do not go on because their workflow task fails again and again: only Temporal knows of it, and the log of a worker. */

import type { Client, WorkflowExecutionDescription } from '@temporalio/client';

import { shellWord } from '../kubernetes/shell-word.ts';

/** Tries of one workflow task. A worker that is killed costs one; of as many as these Temporal answers no queries and no updates. */
const STUCK_TRIES = 3;

/** Whether the workflow task of a run fails again and again: no worker of the version that runs can go on with it. */
export function isStuck({ raw }: Pick<WorkflowExecutionDescription, 'raw'>): boolean {
  return (raw.pendingWorkflowTask?.attempt ?? 0) >= STUCK_TRIES;
}

/** What is wrong with such a run. */
export function describeStuck(workflowId: string): string {
  return `the run ${workflowId} cannot go on: its workflow task fails again and again with this version of the worker, whose log says why`;
}

/** The command that ends such a run. What it has done stays; the next run of a repository looks at the cluster before it writes. */
export function endStuck(namespace: string, workflowId: string): string {
  return `temporal workflow terminate --namespace ${shellWord(namespace)} --workflow-id ${shellWord(workflowId)}`;
}

/**
 * Ids of the runs of repositories and of commits of a cluster that are stuck. One visibility query, and a look at each that is open.
 * @throws what Temporal refuses, or that it is away
 */
export async function stuckRuns({ workflow }: Client, cluster: string): Promise<readonly string[]> {
  const { WorkflowNotFoundError } = await import('@temporalio/client');
  const ofCluster = ['sync', 'commit'].map((kind) => `WorkflowId STARTS_WITH '${kind}/${cluster}/'`);
  const query = `ExecutionStatus = 'Running' AND (${ofCluster.join(' OR ')})`;
  const open: { readonly workflowId: string; readonly runId: string }[] = [];
  for await (const { workflowId, runId } of workflow.list({ query })) open.push({ workflowId, runId });
  const stuck = await Promise.all(
    open.map(async ({ workflowId, runId }) => {
      try {
        return isStuck(await workflow.getHandle(workflowId, runId).describe()) ? [workflowId] : [];
      } catch (error) {
        // It has ended meanwhile.
        if (error instanceof WorkflowNotFoundError) return [];
        throw error;
      }
    }),
  );
  return stuck.flat().sort();
}
