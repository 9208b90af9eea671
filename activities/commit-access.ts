/** What the activities of a commit share: who asks, the commit's content, the repository's inventory. */

import { Context } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';

import type { KeyedMutex } from '../controllers/keyed-mutex.ts';
import type { CommitContent, CommitContext } from '../git/commit.ts';
import { CommitReader, prepareWhole } from '../git/commit.ts';
import { isBehind, withCommit } from '../git/commit-report.ts';
import { TRANSIENT_CODES } from '../git/git-errors.ts';
import { widen } from '../git/inventory-content.ts';
import type { Inventory, InventoryDraft } from '../git/inventory.ts';
import type { CommitStatus } from '../git/inventory-status.ts';
import type { InventoryStore } from '../git/inventory.ts';
import { foreignSource } from '../git/inventory.ts';
import type { CommitWords, Mirror } from '../git/mirror.ts';
import type { FollowedSources, FoundOthers } from '../git/other-commits.ts';
import { OtherCommits } from '../git/other-commits.ts';
import { accountOf as accountName } from '../git/own-rights.ts';
import type { Prepared, PreparedObject } from '../git/prepare.ts';
import { inventoryEntry } from '../git/prepare.ts';
import type { Problem } from '../git/problems.ts';
import { ProblemError, formatProblem } from '../git/problems.ts';
import type { Repository } from '../git/repositories.ts';
import { asksForSignatures } from '../git/signature.ts';
import { sourceIdentity } from '../git/source-url.ts';
import type { KubernetesClient } from '../kubernetes/client.ts';
import { Discovery } from '../kubernetes/discovery.ts';
import type { WorkloadApi } from '../kubernetes/workload-api.ts';
import { attemptClient } from './attempt.ts';
import type { BegunCommit, CommitReference } from './commit-types.ts';
import { OwnInventory } from './own-inventory.ts';

export interface CommitActivityDependencies {
  /** The worker's own identity; refuses writes when this process does not lead. */
  readonly client: KubernetesClient;
  readonly clusterUid: string;
  /** FAIRLEAD_CLUSTER */
  readonly cluster: string;
  /** By name; undefined when the repositories file no longer has it. */
  readonly repository: (name: string) => Repository | undefined;
  /** All that are followed, in the order of the file. */
  readonly followed: () => readonly Repository[];
  /** One that this leader has followed until it left the file: who made its last commit is still known. */
  readonly former: (name: string) => Repository | undefined;
  readonly mirror: (repository: Repository) => Mirror;
  /** As of {@link FollowedSources}. */
  readonly seen?: FollowedSources['seen'];
  /** Reads commits, and keeps the last few. @default its own */
  readonly reader?: CommitReader;
  /** The one whose workloads this worker keeps. */
  readonly workloadApi: WorkloadApi;
  /** Where the inventories are kept. */
  readonly inventoryNamespace: string;
  readonly startRollingUpdate: CommitContext['startRollingUpdate'];
  readonly rollingUpdateRun?: CommitContext['rollingUpdateRun'];
  /** One for all repositories of the process. */
  readonly mutex: KeyedMutex;
  readonly now: () => number;
  /** Has the last commit of a repository tried again, soon: what it was refused for has been handed over. Nothing hangs on it. */
  readonly tryAgain: (
    repository: string,
    tried: { readonly sha: string; readonly reason: string },
  ) => Promise<void>;
  /** A commit has ended, for the log. */
  readonly onRecorded: (repository: string, commit: CommitStatus) => void;
  /** The apiserver refuses the Event of a commit, whose record is in its inventory: that ends no run. */
  readonly onEventLost: (repository: string, message: string) => void;
}

/** Runs of which it is kept what they have found out about others. */
const MOST_FOUND = 100;

export class CommitAccess {
  readonly #dependencies: CommitActivityDependencies;
  readonly #reader: CommitReader;
  readonly #found = new Map<string, FoundOthers>();

  constructor(dependencies: CommitActivityDependencies) {
    this.#dependencies = dependencies;
    this.#reader = dependencies.reader ?? new CommitReader(dependencies.mirror);
  }

  /** What an activity of this run works with. @throws ApplicationFailure WrongCluster; RepositoryUnknown, tried again */
  contextOf(input: CommitReference): CommitContext {
    const context = this.contextIfFollowed(input);
    if (context !== undefined) return context;
    throw ApplicationFailure.create({
      type: 'RepositoryUnknown',
      // Another replica reads its file a little later. One that is followed no more has its runs cancelled by the leader.
      nextRetryDelay: '30s',
      message: `this worker does not follow a repository named ${input.repository}: see its repositories file`,
    });
  }

  /** As {@link contextOf}; undefined for a repository that is not followed. @throws ApplicationFailure WrongCluster */
  contextIfFollowed(input: CommitReference): CommitContext | undefined {
    if (input.clusterUid !== this.#dependencies.clusterUid) {
      throw ApplicationFailure.create({
        type: 'WrongCluster',
        nonRetryable: true,
        message:
          `this run belongs to the cluster with kube-system uid ${input.clusterUid}, the worker to ` +
          `${this.#dependencies.clusterUid}: give each cluster its own FAIRLEAD_CLUSTER`,
      });
    }
    const repository = this.#dependencies.repository(input.repository);
    if (repository === undefined) return undefined;
    const own = attemptClient(this.#dependencies.client);
    const { cancellationSignal: signal } = Context.current();
    const context: CommitContext = {
      repository,
      sha: input.sha,
      begunAt: input.startedAt,
      client: accountOf(own, repository),
      worker: own,
      discovery: new Discovery(own),
      store: this.store(input),
      workloadApi: this.#dependencies.workloadApi,
      isFollowed: (name) => this.#dependencies.repository(name) !== undefined,
      cluster: this.#dependencies.cluster,
      startRollingUpdate: this.#dependencies.startRollingUpdate,
      rollingUpdateRun: this.#dependencies.rollingUpdateRun,
      inTurn: async (object, section) => await this.#dependencies.mutex.run(object, section),
      ...(input.heal !== undefined && { heal: new Set(input.heal) }),
      earlier: async (sha) => await this.#reader.readEarlier(repository, sha, signal),
      signal,
    };
    const { followed, mirror, seen } = this.#dependencies;
    const account = (other: Repository) => accountOf(own, other);
    const sources = { followed, mirror, account, reader: this.#reader, ...(seen !== undefined && { seen }) };
    const accounts = new Map(followed().map((one) => [one.name, accountName(one)]));
    return { ...context, accounts, others: new OtherCommits(context, sources, this.#foundBy(input)) };
  }

  /** What the activities of a run find out about other repositories, which they share. */
  #foundBy({ runId }: CommitReference): FoundOthers {
    const found = this.#found.get(runId) ?? {};
    this.#found.set(runId, found);
    for (const old of [...this.#found.keys()].slice(0, -MOST_FOUND)) this.#found.delete(old);
    return found;
  }

  /** The inventory of the run's repository, followed or not. */
  store({ repository }: CommitReference): InventoryStore {
    const { client, inventoryNamespace, cluster } = this.#dependencies;
    return new OwnInventory(attemptClient(client), inventoryNamespace, repository, cluster);
  }

  /** The commit's manifests, or why it cannot be read at all; a source that is away for a moment fails the attempt. */
  async read(context: CommitContext): Promise<CommitContent | Problem[]> {
    try {
      const { repository, sha, signal } = context;
      if (await putsBackApplied(context)) return await this.#reader.readApplied(repository, sha, signal);
      return await this.#reader.read(repository, sha, signal);
    } catch (error) {
      if (!(error instanceof ProblemError) || TRANSIENT_CODES.has(error.problem.code)) throw error;
      return [error.problem];
    }
  }

  /** Who made the commit; undefined where that cannot be told: nothing hangs on it. */
  async describe({ repository: name, sha }: CommitReference): Promise<CommitWords | undefined> {
    const { repository, former, mirror } = this.#dependencies;
    const known = repository(name) ?? former(name);
    if (known === undefined) return undefined;
    const { cancellationSignal } = Context.current();
    return await mirror(known)
      .describeCommit(sha, cancellationSignal)
      .catch(() => undefined);
  }

  /** As {@link read}; a commit that was checked can only be unreadable when its source was changed under it. */
  async readOrThrow(context: CommitContext): Promise<CommitContent> {
    const content = await this.read(context);
    if (!Array.isArray(content)) return content;
    const message = content.map((item) => formatProblem(item, context.sha)).join('\n');
    throw ApplicationFailure.create({ type: 'CommitUnreadable', message, nonRetryable: true });
  }

  /** The commit's objects with their places. @throws as {@link prepareWhole} */
  async prepare(context: CommitContext): Promise<Prepared> {
    return await prepareWhole(context, await this.readOrThrow(context));
  }

  /**
   * Takes the inventory for this run and widens it: what is about to be written is in it before it is written.
   * @throws ProblemError InventoryOfOther: the check has seen it, but for one that a worker of another cluster name has taken since
   */
  async claim(
    context: CommitContext,
    run: BegunCommit,
    objects: readonly PreparedObject[],
  ): Promise<Inventory> {
    const claim = await claimOf(context, run, objects);
    const mayClaim = ({ status }: InventoryDraft) => run.isReset !== true || !isBehind(status, run);
    const claimed = await context.store.update(
      (present) => (mayClaim(present) ? claim(present) : undefined),
      context.signal,
    );
    if (claimed !== undefined) return claimed;
    const foreign = foreignSource(await context.store.read(context.signal), '', context.store);
    throw foreign === undefined ? new Error('a claim is always written') : new ProblemError(foreign);
  }

  /** The inventory, while this run is the one that may write (fencing). One that was deleted meanwhile is claimed anew. */
  async claimed(
    context: CommitContext,
    input: CommitReference,
    objects: readonly PreparedObject[],
  ): Promise<Inventory | undefined> {
    const { startedAt } = input;
    const read = await context.store.read(context.signal);
    const isMine = (inventory: Inventory | undefined) => inventory?.run?.runId === input.runId;
    if (read?.run !== undefined || startedAt === undefined || input.heal !== undefined)
      return isMine(read) ? read : undefined;
    const claim = await claimOf(context, { ...input, startedAt }, objects);
    const written = await context.store.update(
      (present) => (isLost(present) ? claim(present) : undefined),
      context.signal,
    );
    return isMine(written) ? written : undefined;
  }

  /**
   * Shows that this run is the one under way: one that has nothing to write never claims the inventory. One that was deleted meanwhile is
   * claimed anew. At most one write.
   */
  async showUnderWay(
    context: CommitContext,
    input: BegunCommit,
    objects: readonly PreparedObject[],
  ): Promise<void> {
    const { runId, startedAt, heal } = input;
    const claim = heal === undefined ? await claimOf(context, input, objects) : undefined;
    await context.store.update((present) => {
      // Its cancellation is on its way; who has deleted its inventory shall not find it again.
      if (!context.isFollowed(input.repository)) return undefined;
      if (claim !== undefined && isLost(present)) return claim(present);
      const { commit } = present.status;
      const isShown = commit?.runId === runId;
      const isHidden = isShown || isBehind(present.status, input);
      if (isHidden || startedAt < (commit?.startedAt ?? startedAt)) return undefined;
      return { ...present, status: withCommit(present.status, underWay(input)) };
    }, context.signal);
  }

  /** Writes the uids of applied objects into the inventory. */
  async learnUids(
    context: CommitContext,
    input: CommitReference,
    uids: ReadonlyMap<string, string>,
  ): Promise<void> {
    await context.store.update((present) => {
      if (present.run?.runId !== input.runId) return undefined;
      const entries = new Map(present.entries);
      for (const [key, uid] of uids) {
        const entry = entries.get(key);
        if (entry !== undefined && entry.uid !== uid) entries.set(key, { ...entry, uid });
      }
      return { ...present, entries };
    }, context.signal);
  }
}

/** Who applies a repository's commits. */
function accountOf(own: KubernetesClient, { impersonate }: Repository): KubernetesClient {
  return impersonate === undefined ? own : own.impersonating(impersonate);
}

/** Whether the run puts back what the inventory says was applied; whoever asks for another commit has it verified. @throws as the store */
async function putsBackApplied({ repository, sha, heal, store, signal }: CommitContext): Promise<boolean> {
  if (heal === undefined || !asksForSignatures(repository)) return false;
  return (await store.read(signal))?.status.lastSucceeded?.sha === sha;
}

/** Whether nobody has claimed it since somebody deleted it: a run that writes claims it first. */
function isLost({ run }: Pick<Inventory, 'run'>): boolean {
  return run === undefined;
}

/** What a claim makes of the inventory. */
async function claimOf(
  { repository, store }: CommitContext,
  run: BegunCommit,
  objects: readonly PreparedObject[],
): Promise<(present: InventoryDraft) => InventoryDraft> {
  const { sha, workflowId, runId } = run;
  const source = await sourceIdentity(repository.url);
  return (present) => {
    const foreign = foreignSource(present, source, store);
    if (foreign !== undefined) throw new ProblemError(foreign);
    return {
      entries: widen(present.entries, objects.map(inventoryEntry)),
      source,
      cluster: store.cluster,
      run: { sha, workflowId, runId },
      status: isBehind(present.status, run) ? present.status : withCommit(present.status, underWay(run)),
    };
  };
}

function underWay({ sha, workflowId, runId, startedAt }: BegunCommit): CommitStatus {
  return { sha, workflowId, runId, startedAt, outcome: 'Progressing' };
}
