/** Activities of a repository's sync. */

import type { Client } from '@temporalio/client';
import { WorkflowFailedError, WorkflowNotFoundError } from '@temporalio/client';
import { Context } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';

import type { StopStrayInput } from './commit-types.ts';
import { asActivities } from './attempt.ts';

export interface SyncActivityDependencies {
  readonly temporal: Client;
  readonly clusterUid: string;
}

export type SyncActivities = ReturnType<typeof createSyncActivities>;

/** The activities, bound to this leader. */
export function createSyncActivities({ temporal, clusterUid }: SyncActivityDependencies) {
  /** Cancels every running commit of the repository and waits until it has closed. Answers their ids. */
  async function stopStrayCommits(input: StopStrayInput): Promise<readonly string[]> {
    if (input.clusterUid !== clusterUid) {
      const message = `this sync belongs to the cluster with kube-system uid ${input.clusterUid}, the worker to ${clusterUid}`;
      throw ApplicationFailure.create({ type: 'WrongCluster', nonRetryable: true, message });
    }
    const prefix = `commit/${input.cluster}/${input.repository}/`;
    const query = `WorkflowType = 'commit' AND ExecutionStatus = 'Running' AND WorkflowId STARTS_WITH '${prefix}'`;
    const stopped: string[] = [];
    for await (const { workflowId, runId } of temporal.workflow.list({ query })) {
      await stop(workflowId, runId);
      stopped.push(workflowId);
    }
    return stopped;
  }

  async function stop(workflowId: string, runId: string): Promise<void> {
    const handle = temporal.workflow.getHandle(workflowId, runId);
    try {
      await handle.cancel();
      const closed = handle.result().catch((error: unknown) => {
        // However it ended: it has closed.
        if (!(error instanceof WorkflowFailedError)) throw error;
      });
      await Promise.race([closed, Context.current().cancelled]);
    } catch (error) {
      if (!(error instanceof WorkflowNotFoundError)) throw error;
    }
  }

  return asActivities({ stopStrayCommits });
}
