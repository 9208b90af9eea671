/** Starts and signals the sync workflows; only the leader does. */

import type { Client } from '@temporalio/client';
import { WorkflowNotFoundError } from '@temporalio/client';
import { SearchAttributeType, TypedSearchAttributes, defineSearchAttributeKey } from '@temporalio/common';

import type { SearchAttributeName } from '../workflows/messages.ts';
import { workflowTaskQueue } from '../workflows/messages.ts';
import type { SyncInput } from '../workflows/sync-messages.ts';
import { SYNC_WORKFLOW, commitSeenSignal, syncWorkflowId } from '../workflows/sync-messages.ts';

export interface SyncRunsOptions {
  readonly temporal: Client;
  readonly cluster: string;
  readonly clusterUid: string;
  readonly searchAttributes: () => Promise<readonly SearchAttributeName[]>;
  /** For tests of continue-as-new. */
  readonly historyLimit?: number;
}

export class SyncRuns {
  readonly #options: SyncRunsOptions;

  constructor(options: SyncRunsOptions) {
    this.#options = options;
  }

  /** Tells the repository's sync of a commit, and starts it if it does not run. One atomic request. */
  async commitSeen(repository: string, sha: string): Promise<void> {
    const { temporal, cluster, clusterUid, historyLimit } = this.#options;
    const searchAttributes = await this.#options.searchAttributes();
    const input: SyncInput = {
      cluster,
      clusterUid,
      repository,
      searchAttributes,
      ...(historyLimit !== undefined && { historyLimit }),
    };
    await temporal.workflow.signalWithStart(SYNC_WORKFLOW, {
      workflowId: syncWorkflowId(cluster, repository),
      taskQueue: workflowTaskQueue(cluster),
      args: [input],
      signal: commitSeenSignal,
      signalArgs: [{ sha }],
      staticSummary: `repository ${repository}`,
      ...(searchAttributes.includes('KubeCluster') && {
        typedSearchAttributes: new TypedSearchAttributes([
          { key: defineSearchAttributeKey('KubeCluster', SearchAttributeType.KEYWORD), value: cluster },
        ]),
      }),
    });
  }

  /** Whether the repository's sync is there to remember what it was told; a look costs no action. */
  async isRunning(repository: string): Promise<boolean> {
    const { temporal, cluster } = this.#options;
    try {
      const { status } = await temporal.workflow.getHandle(syncWorkflowId(cluster, repository)).describe();
      return status.name === 'RUNNING';
    } catch (error) {
      if (error instanceof WorkflowNotFoundError) return false;
      throw error;
    }
  }
}
