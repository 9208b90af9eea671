/** One namespace with a worker of its own, in which a history is made. */

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import type { Client } from '@temporalio/client';

import { startRollingUpdate } from '../../controllers/rolling-update-runs.ts';
import { InventoryStore } from '../../git/inventory.ts';
import { beginUpdate } from '../../kubernetes/rolling-update-begin.ts';
import type { StatefulSetObject } from '../../kubernetes/statefulset-adapter.ts';
import { groupVersion } from '../../kubernetes/workload-api.ts';
import type { ControlPlane } from '../../local/control-plane.ts';
import { SUSPENDED, ROLLING_UPDATE } from '../../planners/names.ts';
import type { Pod } from '../../planners/objects.ts';
import { rolloutWorkflowId } from '../../workflows/messages.ts';
import { SEARCH_ATTRIBUTES } from '../../workflows/search-attributes.ts';
import type { SyncRequest, SyncView } from '../../workflows/sync-messages.ts';
import {
  commitWorkflowId,
  lookSignal,
  syncStatusQuery,
  syncUpdate,
  syncWorkflowId,
} from '../../workflows/sync-messages.ts';
import type { Cluster } from './cluster.ts';
import { found } from './eventually.ts';
import type { FileChange } from './git-repository.ts';
import { TestRepository } from './git-repository.ts';
import { INVENTORY_NAMESPACE } from './git-sync.ts';
import type { StatefulSetDescription } from './statefulset-manifest.ts';
import { grantSyncAccount } from './sync-account.ts';
import { TemporalRuns } from './temporal-runs.ts';
import { untilObjects } from './until-objects.ts';
import { startWorker } from './worker-process.ts';
import type { WorkerProcess } from './worker-process.ts';

const PODS = { group: '', version: 'v1', resource: 'pods' } as const;
const PATIENCE_MS = 120_000;

export interface RecordedRun {
  /** Added to the name of the file where one recording gives several. */
  readonly suffix?: string;
  readonly runs: TemporalRuns;
  readonly runId: string;
}

export interface GroundSettings {
  readonly controlPlane: ControlPlane;
  readonly cluster: Cluster;
  readonly temporal: Client;
}

export class HistoryGround {
  readonly owner: string;
  readonly namespace: string;
  readonly runs: TemporalRuns;
  readonly cluster: Cluster;
  readonly #settings: GroundSettings;
  #description: StatefulSetDescription;
  #environment: Readonly<Record<string, string>> = {};
  #temporalAddress: string | undefined;
  #worker: WorkerProcess | undefined;
  #repository: TestRepository | undefined;
  #folder: string | undefined;

  private constructor(settings: GroundSettings, owner: string, namespace: string) {
    this.#settings = settings;
    this.cluster = settings.cluster;
    this.owner = owner;
    this.namespace = namespace;
    const { group } = groupVersion(settings.cluster.api);
    const ref = { namespace, kind: 'StatefulSet', group, name: 'web' } as const;
    this.runs = new TemporalRuns(settings.temporal, rolloutWorkflowId(owner, ref));
    this.#description = {
      name: 'web',
      namespace,
      replicas: 4,
      image: 'app:1',
      parallel: true,
      maxUnavailable: 2,
      templateAnnotations: { 'sim.fairlead.dev/ready-delay': '300ms' },
    };
  }

  /** `owner` names the cluster in the ids of the workflows. */
  static async create(settings: GroundSettings, owner: string): Promise<HistoryGround> {
    return new HistoryGround(settings, owner, await settings.cluster.createNamespace('history'));
  }

  /** Starts the worker; later calls start it again as before. */
  async startWorker(
    change: {
      readonly environment?: Readonly<Record<string, string>>;
      readonly temporalAddress?: string;
    } = {},
  ): Promise<void> {
    this.#environment = change.environment ?? this.#environment;
    this.#temporalAddress = change.temporalAddress ?? this.#temporalAddress;
    const { controlPlane } = this.#settings;
    this.#worker = await startWorker({
      controlPlane,
      cluster: this.owner,
      namespaces: [this.namespace],
      temporalAddress: this.#temporalAddress ?? controlPlane.temporalAddress,
      environment: this.#environment,
    });
  }

  /** The worker's last lines, for error messages. */
  get tail(): string {
    return this.#worker?.tail ?? '';
  }

  async stopWorker(): Promise<void> {
    await this.#worker?.stop();
  }

  /** As by `kill -9`: Temporal does not hear of it. */
  async killWorker(): Promise<void> {
    await this.#worker?.kill();
  }

  async apply(change: Partial<StatefulSetDescription>): Promise<void> {
    this.#description = { ...this.#description, ...change };
    await this.cluster.applySet(this.#description);
  }

  /** Applies and waits until all is done. */
  async roll(change: Partial<StatefulSetDescription>): Promise<void> {
    await this.apply(change);
    await this.untilDone();
  }

  async untilDone(): Promise<void> {
    await this.cluster.untilReady(this.namespace, 'web', PATIENCE_MS);
    await this.untilClosed();
  }

  async untilClosed(): Promise<void> {
    const closed = 'none is open';
    await this.runs.until(closed, (runs) => runs.every(({ status }) => status !== 'RUNNING'), PATIENCE_MS);
  }

  async untilPods(what: string, predicate: (pods: readonly Pod[]) => boolean): Promise<readonly Pod[]> {
    const path = { ...PODS, namespace: this.namespace };
    return await untilObjects<Pod>(this.cluster.client, path, what, predicate, PATIENCE_MS);
  }

  async untilSet(what: string, predicate: (set: StatefulSetObject) => boolean): Promise<void> {
    const path = this.cluster.setPath(this.namespace, 'web');
    await this.cluster.until<StatefulSetObject>(path, what, predicate, PATIENCE_MS);
  }

  async annotate(annotations: Readonly<Record<string, string | undefined>>): Promise<void> {
    await this.cluster.annotate(this.cluster.setPath(this.namespace, 'web'), annotations);
  }

  /** A repository that the worker looks at twice a second, applied as the namespace's own ServiceAccount. */
  async startWorkerWithRepository(
    environment: Readonly<Record<string, string>> = {},
    settings: object = {},
    temporalAddress?: string,
  ): Promise<void> {
    this.#folder = await mkdtemp(join(tmpdir(), 'fairlead-history-'));
    this.#repository = await TestRepository.create();
    const serviceAccount = await grantSyncAccount(this.cluster.client, this.namespace);
    const file = this.#repositoriesFile;
    const { namespace } = this;
    const entry = {
      name: this.owner,
      url: this.#repository.path,
      namespace,
      serviceAccount,
    };
    // JSON is YAML.
    await writeFile(file, JSON.stringify([{ ...entry, ref: 'main', interval: '1s', ...settings }]));
    await this.startWorker({
      ...(temporalAddress !== undefined && { temporalAddress }),
      environment: { ...environment, FAIRLEAD_REPOSITORIES: file, XDG_CACHE_HOME: this.#folder },
    });
  }

  /** The repository leaves the worker's file. */
  async unfollow(): Promise<void> {
    await writeFile(this.#repositoriesFile, '[]');
  }

  get #repositoriesFile(): string {
    return join(this.#folder ?? '', 'repositories.yaml');
  }

  async commit(files: Readonly<Record<string, FileChange>>): Promise<string> {
    if (this.#repository === undefined) {
      throw new Error('there is no repository: start the worker with one');
    }
    return await this.#repository.commit(files);
  }

  /** Deletes the ConfigMap of the commits, as anybody might. */
  async deleteSettings(): Promise<void> {
    const path = { group: '', version: 'v1', resource: 'configmaps', namespace: this.namespace };
    await this.cluster.client.delete({ ...path, name: 'settings' });
  }

  /** Until so many objects are known not to be as the commit wants them. */
  async untilDrifted(count: number): Promise<void> {
    const store = new InventoryStore(this.cluster.client, INVENTORY_NAMESPACE, this.owner);
    const look = async () => (((await store.read())?.status.drift?.count ?? 0) === count ? true : undefined);
    await found(`${count} objects differ`, look, PATIENCE_MS);
  }

  /** Suspends the repository, or lets it go on. */
  async suspend(isSuspended: boolean): Promise<void> {
    const path = { group: '', version: 'v1', resource: 'configmaps', namespace: INVENTORY_NAMESPACE };
    const inventory = { ...path, name: `fairlead-${this.owner}` };
    await this.cluster.annotate(inventory, { [SUSPENDED]: isSuspended ? 'true' : undefined });
  }

  /** What a webhook asks for, and what `fairlead sync` does. */
  async askToSync(request: SyncRequest = {}): Promise<void> {
    const handle = this.#settings.temporal.workflow.getHandle(syncWorkflowId(this.owner, this.owner));
    await handle.signal(lookSignal);
    await this.askForSync(request);
  }

  /** What `fairlead sync` does, without a webhook. */
  async askForSync(request: SyncRequest = {}): Promise<void> {
    const handle = this.#settings.temporal.workflow.getHandle(syncWorkflowId(this.owner, this.owner));
    await handle.executeUpdate(syncUpdate, { args: [{ by: 'ada', reason: 'try again', ...request }] });
  }

  /** Until the sync says so of itself. */
  async untilSync(what: string, predicate: (view: SyncView) => boolean): Promise<void> {
    const handle = this.#settings.temporal.workflow.getHandle(syncWorkflowId(this.owner, this.owner));
    const look = async () => (predicate(await handle.query(syncStatusQuery)) ? true : undefined);
    await found(what, look, PATIENCE_MS);
  }

  get syncRuns(): TemporalRuns {
    return new TemporalRuns(this.#settings.temporal, syncWorkflowId(this.owner, this.owner));
  }

  /** The run of the update of a controller of this namespace, started as the command line does. */
  async rollingUpdate(name: string, image: string, historyLimit?: number): Promise<TemporalRuns> {
    const { client } = this.cluster;
    const { namespace, owner: cluster } = this;
    const change = { kind: 'image', image } as const;
    const settings = { surge: 1, unavailable: 0, updatePeriodMs: 100, pollIntervalMs: 100 };
    await beginUpdate(client, { namespace, name }, { change, key: ROLLING_UPDATE.deployment }, settings);
    const { metadata } = await client.get({
      group: '',
      version: 'v1',
      resource: 'namespaces',
      name: 'kube-system',
    });
    const workflowId = await startRollingUpdate(this.#settings.temporal, {
      cluster,
      clusterUid: metadata.uid,
      namespace,
      name,
      searchAttributes: [...SEARCH_ATTRIBUTES],
      ...(historyLimit !== undefined && { historyLimit }),
    });
    return new TemporalRuns(this.#settings.temporal, workflowId);
  }

  /** Where the repository is, once there is one. */
  get repositoryPath(): string {
    if (this.#repository === undefined) throw new Error('it has no repository yet');
    return this.#repository.path;
  }

  commitRuns(sha: string): TemporalRuns {
    return new TemporalRuns(this.#settings.temporal, commitWorkflowId(this.owner, this.owner, sha));
  }

  async close(): Promise<void> {
    await this.#worker?.kill();
    await this.#repository?.remove();
    if (this.#folder !== undefined) {
      await rm(this.#folder, { recursive: true, force: true });
    }
    await this.cluster.client.delete({
      group: '',
      version: 'v1',
      resource: 'namespaces',
      name: this.namespace,
    });
  }
}

/** The newest run, once it has this status. */
export async function newest(runs: TemporalRuns, status: string): Promise<readonly RecordedRun[]> {
  const all = await runs.until(`the newest is ${status}`, (known) => known.at(-1)?.status === status, 60_000);
  const runId = all.at(-1)?.runId;
  return runId === undefined ? [] : [{ runs, runId }];
}
