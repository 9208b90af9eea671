/** Starts and signals the sync workflows; only the leader does. */

import type { Client } from '@temporalio/client';
import { WorkflowNotFoundError } from '@temporalio/client';
import { SearchAttributeType, TypedSearchAttributes, defineSearchAttributeKey } from '@temporalio/common';

import { workflowTaskQueue } from '../workflows/messages.ts';
import type { SearchAttributeName } from '../workflows/search-attributes.ts';
import type { CommitView, DriftFound, SeenCommit, SyncInput, SyncView } from '../workflows/sync-messages.ts';
import {
  SYNC_WORKFLOW,
  commitProgressQuery,
  commitSeenSignal,
  commitWorkflowPrefix,
  driftSignal,
  lookSignal,
  syncStatusQuery,
  syncWorkflowId,
  unfollowedSignal,
} from '../workflows/sync-messages.ts';

export interface SyncRunsOptions {
  readonly temporal: Client;
  readonly cluster: string;
  readonly clusterUid: string;
  readonly searchAttributes: () => Promise<readonly SearchAttributeName[]>;
  /** Throws when this process does not lead (any more): nothing is signalled then. */
  readonly assertLeader: () => void;
  /** For tests of continue-as-new. */
  readonly historyLimit?: number;
}

export class SyncRuns {
  readonly #options: SyncRunsOptions;
  /** Run id and length of each sync's history when it last was seen to know its commit. */
  readonly #seen = new Map<string, string>();

  constructor(options: SyncRunsOptions) {
    this.#options = options;
  }

  /**
   * Tells the repository's sync of a commit, and starts it if it does not run. One atomic request. Rejects with what `assertLeader`
   * throws: one who was frozen during a look wakes with a commit that is not the newest any more.
   */
  async commitSeen(repository: string, seen: SeenCommit): Promise<void> {
    const start = await this.#startOf(repository);
    this.#options.assertLeader();
    await this.#options.temporal.workflow.signalWithStart(SYNC_WORKFLOW, {
      ...start,
      signal: commitSeenSignal,
      signalArgs: [seen],
    });
  }

  /** Asks for a look at the repository by whoever leads; starts its sync if it does not run. Anybody may. */
  async look(repository: string): Promise<void> {
    const start = await this.#startOf(repository);
    await this.#options.temporal.workflow.signalWithStart(SYNC_WORKFLOW, {
      ...start,
      signal: lookSignal,
      signalArgs: [],
    });
  }

  /** Starts the sync of a repository where it does not run. Anybody may: it begins by itself with nothing. */
  async start(repository: string): Promise<void> {
    const start = await this.#startOf(repository);
    await this.#options.temporal.workflow.start(SYNC_WORKFLOW, {
      ...start,
      workflowIdConflictPolicy: 'USE_EXISTING',
    });
  }

  /** Has objects of the commit put back that was applied last. The sync runs: it has applied that commit; else nothing is done. */
  async driftFound(repository: string, found: DriftFound): Promise<void> {
    this.#options.assertLeader();
    const { temporal, cluster } = this.#options;
    try {
      await temporal.workflow.getHandle(syncWorkflowId(cluster, repository)).signal(driftSignal, found);
    } catch (error) {
      if (!(error instanceof WorkflowNotFoundError)) throw error;
    }
  }

  /**
   * Repositories of which a sync or a commit is open. One visibility query; what has begun in the last seconds may be missing.
   */
  async open(): Promise<ReadonlySet<string>> {
    const { temporal, cluster } = this.#options;
    const names = new Set<string>();
    for (const prefix of [syncWorkflowId(cluster, ''), commitWorkflowPrefix(cluster, '').slice(0, -1)]) {
      const query = `ExecutionStatus = 'Running' AND WorkflowId STARTS_WITH '${prefix}'`;
      for await (const { workflowId } of temporal.workflow.list({ query })) {
        const [name = ''] = workflowId.slice(prefix.length).split('/');
        names.add(name);
      }
    }
    return names;
  }

  /**
   * Ends the sync of a repository that is followed no more, which ends its commit; and a commit that is left without its sync.
   * Each closes as cancelled and says why. False: none runs, or they are those of another cluster of this name.
   */
  async unfollow(repository: string, reason: string): Promise<boolean> {
    const { temporal, cluster, clusterUid, assertLeader } = this.#options;
    const end = async (workflowId: string, query: typeof syncStatusQuery | typeof commitProgressQuery) => {
      const handle = temporal.workflow.getHandle(workflowId);
      try {
        if ((await handle.describe()).status.name !== 'RUNNING') return false;
        const view: { readonly clusterUid: string } = await handle.query<SyncView | CommitView>(query);
        if (view.clusterUid !== clusterUid) return false;
        assertLeader();
        await handle.signal(unfollowedSignal, { reason });
        await handle.cancel();
        return true;
      } catch (error) {
        // It has ended meanwhile.
        if (error instanceof WorkflowNotFoundError) return false;
        throw error;
      }
    };
    if (await end(syncWorkflowId(cluster, repository), syncStatusQuery)) return true;
    let hasEnded = false;
    const query = `ExecutionStatus = 'Running' AND WorkflowId STARTS_WITH '${commitWorkflowPrefix(cluster, repository)}'`;
    for await (const { workflowId } of temporal.workflow.list({ query }))
      hasEnded = (await end(workflowId, commitProgressQuery)) || hasEnded;
    return hasEnded;
  }

  async #startOf(repository: string) {
    const { cluster, clusterUid, historyLimit } = this.#options;
    const searchAttributes = await this.#options.searchAttributes();
    const input: SyncInput = {
      cluster,
      clusterUid,
      repository,
      searchAttributes,
      ...(historyLimit !== undefined && { historyLimit }),
    };
    return {
      workflowId: syncWorkflowId(cluster, repository),
      taskQueue: workflowTaskQueue(cluster),
      args: [input],
      staticSummary: `repository ${repository}`,
      ...(searchAttributes.includes('KubeCluster') && {
        typedSearchAttributes: new TypedSearchAttributes([
          { key: defineSearchAttributeKey('KubeCluster', SearchAttributeType.KEYWORD), value: cluster },
        ]),
      }),
    };
  }

  /**
   * Whether the repository's sync runs, and the last commit it was told of is this one: another leader may have told it of another
   * since. A look costs no action; only when its history has grown since the last look it is asked, which costs one.
   */
  async knows(repository: string, sha: string): Promise<boolean> {
    const { temporal, cluster } = this.#options;
    try {
      const handle = temporal.workflow.getHandle(syncWorkflowId(cluster, repository));
      const { status, runId, historyLength } = await handle.describe();
      if (status.name !== 'RUNNING') return false;
      const seen = `${runId} ${String(historyLength)}`;
      if (this.#seen.get(repository) === seen) return true;
      const { wanted, running, last } = await handle.query(syncStatusQuery);
      if ((wanted ?? running ?? last?.sha) !== sha) return false;
      this.#seen.set(repository, seen);
      return true;
    } catch (error) {
      if (error instanceof WorkflowNotFoundError) return false;
      throw error;
    }
  }
}
