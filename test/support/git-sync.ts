/** A worker for sync and commit alone, in the process of the test: the real workflows and activities, the real servers. */

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import type { Client } from '@temporalio/client';
import { DefaultLogger, NativeConnection, Runtime, Worker } from '@temporalio/worker';

import type { CommitActivityDependencies } from '../../activities/commit-access.ts';
import { HEARTBEAT_THROTTLE_MS } from '../../activities/attempt.ts';
import { createCommitActivities } from '../../activities/commit.ts';
import { createSyncActivities } from '../../activities/sync.ts';
import { KeyedMutex } from '../../controllers/keyed-mutex.ts';
import { SyncRuns } from '../../controllers/sync-runs.ts';
import { connectTemporal } from '../../controllers/temporal-client.ts';
import type { Inventory } from '../../git/inventory.ts';
import { InventoryStore } from '../../git/inventory.ts';
import { isRecorded } from '../../git/inventory-reading.ts';
import { openMirror } from '../../git/mirror.ts';
import type { SeenSource } from '../../git/other-commits.ts';
import type { Repository } from '../../git/repositories.ts';
import { toMessage } from '../../kubernetes/api-error.ts';
import type { KubernetesClient } from '../../kubernetes/client.ts';
import { leaderTaskQueue, waitsTaskQueue, workflowTaskQueue } from '../../workflows/messages.ts';
import type { SeenCommit, SyncView } from '../../workflows/sync-messages.ts';
import { commitWorkflowId, syncStatusQuery, syncWorkflowId } from '../../workflows/sync-messages.ts';
import { builtWorker } from './built-worker.ts';
import { found } from './eventually.ts';

export const INVENTORY_NAMESPACE = 'fairlead-system';
/** Enough for a commit of a few objects on a machine that has much else to do. */
const DEALT_WITH_MS = 60_000;

export interface GitSyncOptions {
  readonly client: KubernetesClient;
  readonly temporalAddress: string;
  /** Name of the cluster in ids and task queues: another for each test file. */
  readonly cluster: string;
  readonly historyLimit?: number;
  /** Whether what leaves one repository is looked for in the others: each prune reads all of them. @default false */
  readonly handsOver?: boolean;
}

export class GitSync {
  readonly temporal: Client;
  readonly cluster: string;
  readonly #options: GitSyncOptions;
  readonly #repositories = new Map<string, Repository>();
  readonly #former = new Map<string, Repository>();
  readonly #connection: NativeConnection;
  readonly #createWorkflows: () => Promise<Worker>;
  #workflows: RunningWorker;
  readonly #activities: readonly RunningWorker[];
  readonly #cache: string;
  readonly runs: SyncRuns;
  /** What the looks of a poller have found, by the name of the repository: this worker has none. */
  readonly seen = new Map<string, SeenSource>();
  /** In the place of a run of the rolling update. */
  startRollingUpdate: CommitActivityDependencies['startRollingUpdate'] = async () =>
    await Promise.reject(new Error('no rolling update is expected'));
  /** Awaited by each look before it begins. */
  beforeLook: () => Promise<void> = async () => undefined;

  private constructor(
    options: GitSyncOptions,
    temporal: Client,
    connection: NativeConnection,
    cache: string,
    clusterUid: string,
    createWorkflows: () => Promise<Worker>,
    [workflows, ...activities]: readonly [Worker, ...Worker[]],
  ) {
    this.#options = options;
    this.cluster = options.cluster;
    this.temporal = temporal;
    this.#connection = connection;
    this.#cache = cache;
    this.runs = new SyncRuns({
      temporal,
      cluster: options.cluster,
      clusterUid,
      searchAttributes: async () => [],
      ...(options.historyLimit !== undefined && { historyLimit: options.historyLimit }),
    });
    this.#createWorkflows = createWorkflows;
    this.#workflows = running(workflows);
    this.#activities = activities.map(running);
  }

  static async start(options: GitSyncOptions): Promise<GitSync> {
    // One for all in this process.
    if (Runtime._instance === undefined) Runtime.install({ logger: new DefaultLogger('ERROR') });
    const { temporalAddress: address, cluster, client } = options;
    const connection = await NativeConnection.connect({ address });
    const temporal = await connectTemporal(address);
    const cache = await mkdtemp(join(tmpdir(), 'fairlead-mirrors-'));
    const system = await client.get({
      group: '',
      version: 'v1',
      resource: 'namespaces',
      name: 'kube-system',
    });
    const clusterUid = system.metadata.uid;
    const workflowBundle = { codePath: join(await builtWorker(), 'workflow-bundle.js') };
    let beforeLook = async () => {};
    let known: (name: string) => Repository | undefined = () => undefined;
    let former = known;
    let followed = (): readonly Repository[] => [];
    let tryAgain: SyncRuns['rolledOut'] = async () => undefined;
    let seen: (name: string) => SeenSource | undefined = () => undefined;
    let startRollingUpdate: CommitActivityDependencies['startRollingUpdate'] = async () => undefined;
    const activities = {
      ...createCommitActivities({
        client,
        clusterUid,
        cluster,
        repository: (name) => known(name),
        followed: () => followed(),
        former: (name) => former(name),
        mirror: (repository) => openMirror({ ...repository, cacheDirectory: cache }),
        workloadApi: 'fairlead.dev/v1beta1',
        seen: ({ name }) => seen(name),
        startRollingUpdate: async (update) => await startRollingUpdate(update),
        inventoryNamespace: INVENTORY_NAMESPACE,
        mutex: new KeyedMutex(),
        now: Date.now,
        tryAgain: async (name, tried) => await tryAgain(name, tried),
        onRecorded: () => undefined,
        onEventLost: () => undefined,
      }),
      ...createSyncActivities({
        temporal,
        client,
        inventoryNamespace: INVENTORY_NAMESPACE,
        now: Date.now,
        clusterUid,
        cluster,
        repository: (name) => known(name) ?? former(name),
        look: async (name) => {
          await beforeLook();
          const repository = known(name);
          if (repository === undefined) return undefined;
          const mirror = openMirror({ ...repository, cacheDirectory: cache });
          return { ok: true, sha: await mirror.resolveRef() };
        },
      }),
    };
    const createWorkflows = async () =>
      await Worker.create({
        connection,
        taskQueue: workflowTaskQueue(cluster),
        workflowBundle,
        stickyQueueScheduleToStartTimeout: '1s',
      });
    const createActivities = async (taskQueue: string) =>
      await Worker.create({
        connection,
        taskQueue,
        activities,
        maxHeartbeatThrottleInterval: HEARTBEAT_THROTTLE_MS,
        shutdownForceTime: '5s',
      });
    const workers = [
      await createWorkflows(),
      await createActivities(leaderTaskQueue(cluster)),
      await createActivities(waitsTaskQueue(cluster)),
    ] as const;
    const sync = new GitSync(options, temporal, connection, cache, clusterUid, createWorkflows, workers);
    known = (name) => sync.#repositories.get(name);
    former = (name) => sync.#former.get(name);
    if (options.handsOver === true) followed = () => [...sync.#repositories.values()];
    tryAgain = async (name, tried) => await sync.runs.rolledOut(name, tried);
    seen = (name) => sync.seen.get(name);
    startRollingUpdate = async (update) => await sync.startRollingUpdate(update);
    beforeLook = async () => await sync.beforeLook();
    return sync;
  }

  follow(repository: Repository): void {
    this.#repositories.set(repository.name, repository);
  }

  follows(name: string): boolean {
    return this.#repositories.has(name);
  }

  /** Its entry has left the repositories file; `isForgotten`: this leader has never seen it there. */
  unfollow(name: string, isForgotten = false): void {
    const left = this.#repositories.get(name);
    this.#repositories.delete(name);
    if (left !== undefined && !isForgotten) this.#former.set(name, left);
  }

  /** What the poller does when it sees a commit. */
  async commitSeen(repository: string, sha: string, more: Omit<SeenCommit, 'sha'> = {}): Promise<void> {
    await this.runs.commitSeen(repository, { sha, ...more });
  }

  /** What the poller asks every minute. */
  async knows(repository: string, sha: string): Promise<boolean> {
    return await this.runs.knows(repository, { sha });
  }

  /** What the poller does then, if nothing is new; whether it has told of it. */
  async toldOfForgotten(repository: string, sha: string): Promise<boolean> {
    const store = new InventoryStore(this.#options.client, INVENTORY_NAMESPACE, repository);
    const isForgotten = await this.runs.isForgotten(repository, { sha }, async () => await isRecorded(store));
    if (isForgotten) await this.commitSeen(repository, sha, { unrecorded: true });
    return isForgotten;
  }

  async status(repository: string): Promise<SyncView> {
    return await this.temporal.workflow
      .getHandle(syncWorkflowId(this.cluster, repository))
      .query(syncStatusQuery);
  }

  /** Shows a commit to sync and waits until it has been dealt with. */
  async apply(
    repository: string,
    sha: string,
    timeoutMs = DEALT_WITH_MS,
  ): Promise<NonNullable<SyncView['last']>> {
    await this.commitSeen(repository, sha);
    return await this.dealtWith(repository, sha, timeoutMs);
  }

  async dealtWith(
    repository: string,
    sha: string,
    timeoutMs = DEALT_WITH_MS,
  ): Promise<NonNullable<SyncView['last']>> {
    let view: SyncView | undefined;
    try {
      return await found(
        `commit ${sha} was dealt with`,
        async () => {
          view = await this.status(repository);
          return view.last?.sha === sha && view.running === undefined ? view.last : undefined;
        },
        timeoutMs,
        () => JSON.stringify(view),
      );
    } catch (error) {
      throw new Error(`${toMessage(error)}; ${await this.#underWay(repository, sha)}`, { cause: error });
    }
  }

  /** What the runs of sync and of the commit have under way, and what it failed for last. */
  async #underWay(repository: string, sha: string): Promise<string> {
    const ids = [syncWorkflowId(this.cluster, repository), commitWorkflowId(this.cluster, repository, sha)];
    const told = ids.map(async (id) => {
      const { status, raw } = await this.temporal.workflow.getHandle(id).describe();
      const activities = (raw.pendingActivities ?? []).map(
        ({ activityType, state, attempt, lastFailure }) =>
          `${activityType?.name} ${state} attempt ${attempt} ${lastFailure?.message ?? ''}`,
      );
      return `${id} ${status.name}: ${activities.join(', ')}`;
    });
    return (await Promise.allSettled(told)).map((one) => JSON.stringify(one)).join('; ');
  }

  async inventory(repository: string): Promise<Inventory | undefined> {
    return await new InventoryStore(this.#options.client, INVENTORY_NAMESPACE, repository).read();
  }

  /** While `act` runs no workflow goes on: what happens meanwhile it finds all at once. */
  async withoutWorkflows(act: () => Promise<void>): Promise<void> {
    await end(this.#workflows);
    try {
      await act();
    } finally {
      this.#workflows = running(await this.#createWorkflows());
    }
  }

  async stop(): Promise<void> {
    await Promise.all([this.#workflows, ...this.#activities].map(end));
    await this.temporal.connection.close();
    await this.#connection.close();
    await rm(this.#cache, { recursive: true, force: true });
  }
}

interface RunningWorker {
  readonly worker: Worker;
  readonly ended: Promise<void>;
}

function running(worker: Worker): RunningWorker {
  return { worker, ended: worker.run() };
}

async function end({ worker, ended }: RunningWorker): Promise<void> {
  worker.shutdown();
  await ended;
}
