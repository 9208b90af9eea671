/** Starts and signals the sync workflows; only the leader does. */

import { randomUUID } from 'node:crypto';

import type { Client } from '@temporalio/client';
import { WorkflowFailedError, WorkflowNotFoundError } from '@temporalio/client';
import type { SignalDefinition } from '@temporalio/common';
import {
  SearchAttributeType,
  TypedSearchAttributes,
  defaultPayloadConverter,
  defineSearchAttributeKey,
} from '@temporalio/common';

import { OPEN_RUNS, isOpenRun } from '../planners/open-runs.ts';
import type { CommitEnd } from '../workflows/commit-end.ts';
import { describeEnd } from '../workflows/commit-end.ts';
import type { commit } from '../workflows/commit.ts';
import type { OperatorMessage } from '../workflows/messages.ts';
import { WORKFLOW_TASK_TIMEOUT_MS, workflowTaskQueue } from '../workflows/messages.ts';
import type { SearchAttributeName } from '../workflows/search-attributes.ts';
import type {
  CommitInput,
  DriftFound,
  RolledOut,
  SeenCommit,
  SyncInput,
  SyncState,
  UntoldNews,
} from '../workflows/sync-messages.ts';
import {
  SYNC_WORKFLOW,
  commitSeenSignal,
  commitWorkflowPrefix,
  driftSignal,
  lookSignal,
  readSeenCommit,
  rolledOutSignal,
  syncSignal,
  syncStatusQuery,
  syncWorkflowId,
  unfollowedSignal,
} from '../workflows/sync-messages.ts';
import { isOfPausedRun } from './temporal-failure.ts';

export interface SyncRunsOptions {
  /** Of one who leads: refuses to signal anything once the Lease is lost. Of others: what anybody may do. */
  readonly temporal: Client;
  readonly cluster: string;
  readonly clusterUid: string;
  readonly searchAttributes: () => Promise<readonly SearchAttributeName[]>;
  /** For tests of continue-as-new. */
  readonly historyLimit?: number;
}

/** Milliseconds for which a commit that was cancelled may take to say how it ended. */
const CLOSING_MS = 5_000;

export class SyncRuns {
  readonly #options: SyncRunsOptions;
  /** Run id and length of each sync's history when it last was seen to know its commit, and what that was. */
  readonly #seen = new Map<string, string>();

  constructor(options: SyncRunsOptions) {
    this.#options = options;
  }

  /**
   * Tells the repository's sync of a commit, and starts it if it does not run. One atomic request. Rejects where
   * the client is one of a lost Lease: who was frozen during a look wakes with a commit that is not the newest any more.
   */
  async commitSeen(repository: string, seen: SeenCommit): Promise<void> {
    const start = await this.#startOf(repository);
    await this.#options.temporal.workflow.signalWithStart(SYNC_WORKFLOW, {
      ...start,
      signal: commitSeenSignal,
      signalArgs: [{ ...seen, searchAttributes: start.args[0].searchAttributes }],
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
    await this.#signal(repository, driftSignal, found);
  }

  /** Has the last commit tried again. The sync runs: it has tried that commit; else nothing is done. */
  async rolledOut(repository: string, found: RolledOut): Promise<void> {
    await this.#signal(repository, rolledOutSignal, found);
  }

  /** Has the newest commit tried again, now. The sync runs: it has tried that commit; else nothing is done. */
  async tryAgain(repository: string, message: OperatorMessage): Promise<void> {
    await this.#signal(repository, syncSignal, message);
  }

  async #signal<A extends [unknown?]>(
    repository: string,
    signal: SignalDefinition<A>,
    ...message: A
  ): Promise<void> {
    const { temporal, cluster } = this.#options;
    try {
      await temporal.workflow.getHandle(syncWorkflowId(cluster, repository)).signal(signal, ...message);
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
      const query = `${OPEN_RUNS} AND WorkflowId STARTS_WITH '${prefix}'`;
      for await (const { workflowId } of temporal.workflow.list({ query })) {
        const [name = ''] = workflowId.slice(prefix.length).split('/');
        names.add(name);
      }
    }
    return names;
  }

  /**
   * Ends the sync of a repository that is followed no more, which ends its commit; and a commit that is left without its sync, of which
   * these receivers are then told by another. Each closes as cancelled and says why; one that is paused in Temporal, when it goes on.
   * False: none runs, or they are those of another cluster of this name.
   */
  async unfollow(repository: string, reason: string, receivers: readonly string[] = []): Promise<boolean> {
    const { temporal, cluster, clusterUid } = this.#options;
    const end = async (workflowId: string) => {
      const handle = temporal.workflow.getHandle(workflowId);
      try {
        const { status, runId, raw } = await handle.describe();
        if (!isOpenRun(status.name)) return undefined;
        const input = await this.#inputOf(workflowId, runId);
        if (input?.clusterUid !== clusterUid) return undefined;
        // A second request is refused; and one that is paused hears of the first when it goes on.
        const isNews = raw.workflowExtendedInfo?.cancelRequested !== true;
        if (isNews) {
          await handle.signal(unfollowedSignal, { reason });
          await handle.cancel();
        }
        return { sha: input.sha, isNews };
      } catch (error) {
        // It has ended meanwhile.
        if (error instanceof WorkflowNotFoundError) return undefined;
        throw error;
      }
    };
    if ((await end(syncWorkflowId(cluster, repository))) !== undefined) return true;
    let hasEnded = false;
    const query = `${OPEN_RUNS} AND WorkflowId STARTS_WITH '${commitWorkflowPrefix(cluster, repository)}'`;
    for await (const { workflowId } of temporal.workflow.list({ query })) {
      const ended = await end(workflowId);
      if (ended === undefined) continue;
      hasEnded = true;
      const { sha, isNews } = ended;
      if (isNews && receivers.length > 0 && sha !== undefined)
        await this.#tellOfStray(repository, reason, receivers, workflowId, sha);
    }
    return hasEnded;
  }

  /** What a sync, or a commit, was started with, by its history: one that is paused in Temporal, or has no worker, answers no query. */
  async #inputOf(
    workflowId: string,
    runId: string,
  ): Promise<Partial<Pick<CommitInput, 'clusterUid' | 'sha'>> | undefined> {
    const { workflowService, options } = this.#options.temporal;
    const { history } = await workflowService.getWorkflowExecutionHistory({
      namespace: options.namespace,
      execution: { workflowId, runId },
      maximumPageSize: 1,
    });
    const [payload] = history?.events?.[0]?.workflowExecutionStartedEventAttributes?.input?.payloads ?? [];
    return payload && defaultPayloadConverter.fromPayload(payload);
  }

  /** The sync that told its receivers that the commit is pending is gone: another one tells them how it ended, and nothing else. */
  async #tellOfStray(
    repository: string,
    reason: string,
    receivers: readonly string[],
    workflowId: string,
    sha: string,
  ): Promise<void> {
    const { temporal } = this.#options;
    const ended = await this.#endOf(workflowId);
    const news = { sha, ...ended, ...(ended.outcome === 'Canceled' && { message: reason }) };
    const untold = receivers.map((receiver): readonly [string, UntoldNews] => [
      receiver,
      { news: [{ ...news, delivery: randomUUID() }], missed: 0 },
    ]);
    const start = await this.#startOf(repository, {
      version: 1,
      notify: receivers,
      untold: Object.fromEntries(untold),
    });
    const handle = await temporal.workflow.signalWithStart(SYNC_WORKFLOW, {
      ...start,
      signal: unfollowedSignal,
      signalArgs: [{ reason }],
    });
    await handle.cancel();
  }

  /** Of a commit that was asked to end; where it takes its time, it will have been cancelled. */
  async #endOf(workflowId: string): Promise<Pick<CommitEnd, 'outcome' | 'message'>> {
    const { connection, workflow } = this.#options.temporal;
    try {
      const result = async () => await workflow.getHandle<typeof commit>(workflowId).result();
      const { outcome } = await connection.withDeadline(Date.now() + CLOSING_MS, result);
      return { outcome };
    } catch (error) {
      if (!(error instanceof WorkflowFailedError)) return { outcome: 'Canceled' };
      const { outcome, message } = describeEnd(error.cause, false);
      return { outcome, ...(message !== undefined && { message }) };
    }
  }

  /**
   * Whether the sync has tried the commit, and nothing else is to be done, while nothing in the cluster tells of it: a commit is recorded
   * before its sync knows of its end. Only where nothing is recorded the sync is asked, which costs one action; one that is paused in
   * Temporal cannot be, and is when it goes on.
   */
  async isForgotten(
    repository: string,
    { sha }: Pick<SeenCommit, 'sha'>,
    isRecorded: () => Promise<boolean>,
  ): Promise<boolean> {
    if (await isRecorded()) return false;
    const { temporal, cluster } = this.#options;
    try {
      const handle = temporal.workflow.getHandle(syncWorkflowId(cluster, repository));
      const { wanted, running, last } = await handle.query(syncStatusQuery);
      if (wanted !== undefined || running !== undefined || last?.sha !== sha) return false;
    } catch (error) {
      if (error instanceof WorkflowNotFoundError || isOfPausedRun(error)) return false;
      throw error;
    }
    return !(await isRecorded());
  }

  async #startOf(repository: string, carried?: SyncState) {
    const { cluster, clusterUid, historyLimit } = this.#options;
    const searchAttributes = await this.#options.searchAttributes();
    const input: SyncInput = {
      cluster,
      clusterUid,
      repository,
      searchAttributes,
      ...(historyLimit !== undefined && { historyLimit }),
      ...(carried !== undefined && { carried }),
    };
    return {
      workflowId: syncWorkflowId(cluster, repository),
      taskQueue: workflowTaskQueue(cluster),
      workflowTaskTimeout: WORKFLOW_TASK_TIMEOUT_MS,
      args: [input] as [SyncInput],
      staticSummary: `repository ${repository}`,
      ...(searchAttributes.includes('KubeCluster') && {
        typedSearchAttributes: new TypedSearchAttributes([
          { key: defineSearchAttributeKey('KubeCluster', SearchAttributeType.KEYWORD), value: cluster },
        ]),
      }),
    };
  }

  /**
   * Whether the repository's sync runs, and what it was told of last is this: another leader may have told it of another commit since,
   * and one that somebody else has started, after the last was terminated, knows no receivers. A look costs no action; only when its history has grown since the last look it is asked, which costs one.
   */
  async knows(repository: string, seen: SeenCommit): Promise<boolean> {
    const { temporal, cluster } = this.#options;
    try {
      const handle = temporal.workflow.getHandle(syncWorkflowId(cluster, repository));
      const known = await this.#options.searchAttributes();
      const { status, runId, historyLength } = await handle.describe();
      if (!isOpenRun(status.name)) return false;
      // What it was told it takes up when it is unpaused, and is asked then: telling it again would only make its history longer.
      if (status.name === 'PAUSED') return true;
      const state = `${runId} ${String(historyLength)} ${JSON.stringify([seen, known])}`;
      if (this.#seen.get(repository) === state) return true;
      const {
        wanted,
        running,
        last,
        notify = [],
        suspended,
        searchAttributes,
      } = await handle.query(syncStatusQuery);
      const told = readSeenCommit(seen);
      const isSame =
        (wanted ?? running ?? last?.sha) === told?.sha &&
        notify.join() === (told?.notify ?? []).join() &&
        (suspended === undefined) === (told?.suspended === undefined) &&
        (searchAttributes === undefined || searchAttributes.join() === known.join());
      if (!isSame) return false;
      this.#seen.set(repository, state);
      return true;
    } catch (error) {
      if (error instanceof WorkflowNotFoundError) return false;
      throw error;
    }
  }
}
