/** A worker process: workflow tasks on every replica, controllers and activities on the holder of the Lease. */

import { once } from 'node:events';
import type { Server } from 'node:http';
import { setFlagsFromString } from 'node:v8';

import type { Client } from '@temporalio/client';
import { Runtime, makeTelemetryFilterString } from '@temporalio/worker';
import type { Logger } from 'pino';

import { readKeptEntries } from '../git/followed-list.ts';
import type { RepositoryFlags } from '../git/repositories.ts';
import { HEARTBEAT_THROTTLE_MS } from '../activities/attempt.ts';
import { KubernetesClient } from '../kubernetes/client.ts';
import { toMessage } from '../kubernetes/api-error.ts';
import { loadConnection } from '../kubernetes/kubeconfig.ts';
import type { WatchCache } from '../kubernetes/watch-cache.ts';
import { leaderTaskQueue, waitsTaskQueue, workflowTaskQueue } from '../workflows/messages.ts';
import type { WorkerConfig, WorkerFlags } from './config.ts';
import { readConfig } from './config.ts';
import { followRepositories, syncRuns } from './followed-repositories.ts';
import { endWithin } from './end-within.ts';
import type { Check } from './http-server.ts';
import { startHttpServer } from './http-server.ts';
import type { Fence } from './fence.ts';
import { runLeaderElection } from './leader-election.ts';
import type { Leader } from './leader.ts';
import { startLeader } from './leader.ts';
import { keptAnnotations, leaseNameOf } from '../kubernetes/lease.ts';
import { createLog, sdkLogger } from './log.ts';
import { Metrics } from './metrics.ts';
import { tellOwnRights } from './own-rights-notice.ts';
import { assertNoOtherOwner } from './other-owner.ts';
import type { LeaseTrouble } from './readiness.ts';
import { standbyCheck, watchCheck } from './readiness.ts';
import { RepositoriesFile, readableRepository } from './repositories-file.ts';
import { warnOfRivals } from './rival-leaders.ts';
import { KnownSearchAttributes } from './known-search-attributes.ts';
import type { StopSignal } from './stopping.ts';
import { listenForStop } from './stopping.ts';
import type { TemporalSettings } from './temporal-connection.ts';
import { createTemporalClient, leadersTemporalClient, readTemporalSettings } from './temporal-connection.ts';
import { watchTemporal } from './temporal-watch.ts';
import type { TemporalWorkerOptions } from './temporal-workers.ts';
import { runTemporalWorker } from './temporal-workers.ts';
import { Webhook } from './webhook.ts';
import { whileLeading } from './while-leading.ts';
import { workflowCode } from './workflow-bundle.ts';

/**
 * By how many percent the heap may grow before it is collected. V8's own choice is up to 300 for a small heap: of a plan of 10,000
 * pods, made every few seconds, more than 100 MiB of garbage stays then. With 50 a plan takes no longer.
 */
const HEAP_GROWING_PERCENT = 50;

/** Of activities that plan or write. */
const MOST_ACTIVITIES = 1_000;

/** A wait costs a promise, a timer and a heartbeat a second: so many that the waits of a base image that nobody can pull find room. */
const MOST_WAITS = 10_000;

/** Requests have deadlines of ten seconds, activities five to end in. */
const LEADER_END_MS = 15_000;

/** What a worker sees of its process. */
export interface Surroundings {
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Aborts on Ctrl-C. */
  readonly interrupted: AbortSignal;
}

/**
 * Runs a worker until SIGTERM, SIGHUP or Ctrl-C; resolves with which. `repo` and its companions (`fairlead up`) are one repository
 * beside those of the file.
 * @throws ConfigurationError, KubeconfigError or ApiError where configuration or cluster are unusable; the reason of the abort when
 *   Ctrl-C came before the worker ran
 */
export async function runWorker(
  flags: WorkerFlags & Partial<RepositoryFlags>,
  { environment, interrupted }: Surroundings,
): Promise<StopSignal | undefined> {
  setFlagsFromString(`--heap-growing-percent=${String(HEAP_GROWING_PERCENT)}`);
  const config = readConfig(flags, environment);
  const log = createLog(config);
  const stopping = listenForStop(log, interrupted);
  const { signal } = stopping;
  try {
    const { repo } = flags;
    const own = repo === undefined ? [] : [await readableRepository({ ...flags, repo }, signal)];
    const repositories = await RepositoriesFile.read({ file: config.repositoriesFile, own, log });
    signal.throwIfAborted();
    await new WorkerProcess(config, environment, repositories, log, signal).run();
  } catch (error) {
    if (error !== signal.reason || interrupted.aborted) throw error;
  } finally {
    stopping.done();
  }
  return stopping.by();
}

interface Leading {
  readonly client: KubernetesClient;
  readonly clusterUid: string;
  readonly mayOwn: Promise<void>;
  readonly fence: Fence;
  readonly signal: AbortSignal;
}

class WorkerProcess {
  readonly #config: WorkerConfig;
  readonly #environment: Surroundings['environment'];
  readonly #repositories: RepositoriesFile;
  readonly #log: Logger;
  /** The process stops, or must not run. */
  readonly #signal: AbortSignal;
  readonly #refused = new AbortController();
  readonly #metrics = new Metrics();
  readonly #settings: TemporalSettings;
  readonly #temporal: Client;
  readonly #searchAttributes: KnownSearchAttributes;
  #leader: Leader | undefined;
  /** Of a replica that leads, also before everything is listed. */
  #cache: WatchCache | undefined;
  #leaseTrouble: LeaseTrouble | undefined;
  /** What this replica follows while it leads. */
  #followed: ReturnType<typeof followRepositories> | undefined;
  /** Looks at a repository now, while this replica leads. */
  #poke: ((repository: string) => boolean) | undefined;
  /** Undefined: not asked yet. */
  #temporalReachable: boolean | undefined;
  /** Why a Temporal worker cannot run, by its name. */
  readonly #problems = new Map<string, string>();

  constructor(
    config: WorkerConfig,
    environment: Surroundings['environment'],
    repositories: RepositoriesFile,
    log: Logger,
    signal: AbortSignal,
  ) {
    this.#config = config;
    this.#environment = environment;
    this.#repositories = repositories;
    this.#log = log;
    this.#signal = AbortSignal.any([signal, this.#refused.signal]);
    this.#settings = readTemporalSettings(environment);
    this.#temporal = createTemporalClient(this.#settings);
    const { namespace } = this.#settings;
    this.#searchAttributes = new KnownSearchAttributes({ client: this.#temporal, namespace, log });
  }

  async run(): Promise<void> {
    const { client, server: apiserver, system } = await this.#connect();
    const { leaseNamespace, cluster } = this.#config;
    await this.#repositories.recover(async () => await readKeptEntries(client, leaseNamespace, cluster));
    this.#log.info({ server: apiserver, workloadApi: this.#config.workloadApi }, 'worker starting');
    tellOwnRights(this.#repositories, this.#log);
    const webhook = this.#webhook(system.metadata.uid);
    let server: Server | undefined;
    try {
      // Before the SDK's runtime, which would keep a process that may not listen, and its signals, for itself.
      server = await this.#serve(webhook);
      Runtime.install({
        logger: sdkLogger(this.#log),
        // The native part would write lines of its own form to the terminal.
        telemetryOptions: { logging: { forward: {}, filter: makeTelemetryFilterString({ core: 'WARN' }) } },
      });
      const mayOwn = this.#mayOwn(client);
      await Promise.all([
        this.#watchTemporal(),
        this.#repositories.watch(this.#signal),
        this.#runWorkflows(),
        this.#runElection(client, system.metadata.uid, mayOwn),
        mayOwn.catch(() => undefined),
      ]);
      if (this.#refused.signal.aborted) throw this.#refused.signal.reason;
    } finally {
      webhook.stop();
      server?.close();
      client.close();
    }
  }

  /** @throws what is wrong with the repositories file where the cluster cannot be asked what was followed before; else why it cannot */
  async #connect() {
    const { kubeconfig, context } = this.#config;
    try {
      const connection = await loadConnection(this.#environment, { kubeconfig, context });
      const onRequest = this.#metrics.request.bind(this.#metrics);
      const client = new KubernetesClient(connection, { onRequest });
      const path = { group: '', version: 'v1', resource: 'namespaces', name: 'kube-system' };
      return { client, server: connection.server, system: await client.get(path, { signal: this.#signal }) };
    } catch (error) {
      throw this.#repositories.startError ?? error;
    }
  }

  /**
   * From the first moment, beside everything else that a start takes, and the Lease of one that has died. Rejects where somebody
   * else keeps the workloads; everything else ends then.
   */
  async #mayOwn(client: KubernetesClient): Promise<void> {
    if (this.#config.workloadApi !== 'apps/v1') return;
    try {
      const namespace = this.#config.leaseNamespace;
      await assertNoOtherOwner({ client, namespace, signal: this.#signal });
    } catch (error) {
      if (!this.#signal.aborted) this.#refused.abort(error);
      throw error;
    }
  }

  /** A load balancer gives a webhook to any replica; only the one that leads looks at repositories. */
  #webhook(clusterUid: string): Webhook {
    const runs = syncRuns({
      config: this.#config,
      clusterUid,
      temporal: this.#temporal,
      searchAttributes: async () => await this.#searchAttributes.registered(),
    });
    return new Webhook({
      repositories: () => this.#repositories.repositories,
      onPush: (repository) => {
        if (this.#poke?.(repository) === true) return;
        runs.look(repository).catch((error: unknown) => {
          this.#log.warn(
            { repository, error: toMessage(error) },
            'push not passed on, the next look finds it',
          );
        });
      },
      onResult: (result) => this.#metrics.webhooks.inc({ result }),
      log: this.#log,
    });
  }

  async #watchTemporal(): Promise<void> {
    await watchTemporal({
      client: this.#temporal,
      address: this.#settings.address,
      log: this.#log,
      signal: this.#signal,
      onReachable: (reachable) => {
        const changed = reachable !== this.#temporalReachable;
        this.#temporalReachable = reachable;
        this.#metrics.temporalUp.set(reachable ? 1 : 0);
        if (!changed) return;
        this.#leader?.temporalChanged();
        this.#tellOfTemporal();
      },
    });
  }

  #tellOfTemporal(): void {
    const isAway = this.#temporalReachable === false;
    const words = `Temporal at ${this.#settings.address} does not answer: no commit is begun or goes on`;
    this.#followed?.trouble('temporal', isAway ? words : undefined);
  }

  async #runWorkflows(): Promise<void> {
    await this.#runTemporalWorker('workflows', this.#signal, {
      ...workflowCode(),
      taskQueue: workflowTaskQueue(this.#config.cluster),
      // A worker that was killed holds its workflows for this long.
      stickyQueueScheduleToStartTimeout: '1s',
    });
  }

  async #runTemporalWorker(
    name: string,
    signal: AbortSignal,
    options: TemporalWorkerOptions['options'],
  ): Promise<void> {
    try {
      await runTemporalWorker({
        settings: this.#settings,
        client: this.#temporal,
        log: this.#log,
        signal,
        name,
        onProblem: (problem) => {
          if (problem === undefined) this.#problems.delete(name);
          else this.#problems.set(name, problem);
        },
        options: { ...options, identity: this.#config.identity },
      });
    } finally {
      this.#problems.delete(name);
    }
  }

  async #runElection(client: KubernetesClient, clusterUid: string, mayOwn: Promise<void>): Promise<void> {
    const { leaseNamespace, cluster, identity } = this.#config;
    const name = leaseNameOf(cluster);
    await runLeaderElection({
      client,
      identity,
      annotations: keptAnnotations(this.#config),
      namespace: leaseNamespace,
      name,
      signal: this.#signal,
      onLeading: async (fence, signal) => {
        const work = async () => await this.#lead({ client, clusterUid, mayOwn, fence, signal });
        try {
          await whileLeading({ metrics: this.#metrics, log: this.#log, signal }, work);
        } finally {
          this.#cache = undefined;
          // Of a renewal, perhaps long ago: what counts from now on is whether it can be read.
          this.#leaseTrouble = undefined;
        }
      },
      onLeader: (holder) => {
        if (holder !== identity) {
          this.#log.info(
            { holder, lease: `${leaseNamespace}/${name}` },
            'standing by: another worker holds the Lease of this cluster; the repositories of this one are followed when it takes over',
          );
        }
      },
      onRead: () => {
        this.#leaseTrouble = undefined;
      },
      onError: (error) => {
        const message = toMessage(error);
        this.#leaseTrouble = { since: this.#leaseTrouble?.since ?? Date.now(), message };
        this.#log.warn({ error: message }, 'Lease');
      },
    });
  }

  /** Until `signal` fires: the Lease is lost, or the process stops. */
  async #lead({ client, clusterUid, mayOwn, fence, signal }: Leading): Promise<void> {
    void warnOfRivals({ client, config: this.#config, log: this.#log, signal });
    const assertLeader = () => fence.assertLeader();
    const shared = {
      config: this.#config,
      client: client.withWriteGuard(assertLeader),
      clusterUid,
      temporal: leadersTemporalClient(this.#temporal, assertLeader),
      searchAttributes: async () => await this.#searchAttributes.registered(),
      temporalAnswers: () => this.#temporalReachable !== false,
      metrics: this.#metrics,
      log: this.#log,
    };
    const repositories = followRepositories({
      ...shared,
      repositories: this.#repositories.repositories,
      kept: () => this.#repositories.kept,
    });
    const leader = await startLeader({
      ...shared,
      mayOwn,
      signal,
      onCache: (cache) => {
        this.#cache = cache;
      },
      // A search attribute that was taken away, for one: learned anew at the next start.
      onTemporalRefusal: () => this.#searchAttributes.forget(),
    });
    this.#leader = leader;
    repositories.start();
    this.#poke = repositories.poke;
    const unsubscribe = this.#repositories.onChange((changed) => repositories.change(changed));
    // It may have changed while the caches were filled.
    repositories.change(this.#repositories.repositories);
    this.#followed = repositories;
    this.#tellOfTemporal();
    repositories.trouble('file', this.#repositories.problem);
    const unsubscribeProblem = this.#repositories.onProblem((text) => repositories.trouble('file', text));
    const { cluster } = this.#config;
    const running = {
      // The waits of runs that an earlier version has started are here too.
      activities: { ...leader.activities, ...leader.rollingUpdates, ...repositories.activities },
      maxHeartbeatThrottleInterval: HEARTBEAT_THROTTLE_MS,
      shutdownGraceTime: '100ms',
      shutdownForceTime: '5s',
    } as const;
    const activities = this.#runTemporalWorker('leader activities', signal, {
      ...running,
      taskQueue: leaderTaskQueue(cluster),
      maxConcurrentActivityTaskExecutions: MOST_ACTIVITIES,
    });
    const waits = this.#runTemporalWorker('leader waits', signal, {
      ...running,
      taskQueue: waitsTaskQueue(cluster),
      maxConcurrentActivityTaskExecutions: MOST_WAITS,
    });
    try {
      if (!signal.aborted) await Promise.race([Promise.all([activities, waits]), once(signal, 'abort')]);
    } finally {
      this.#leader = undefined;
      this.#poke = undefined;
      this.#followed = undefined;
      unsubscribe();
      unsubscribeProblem();
      // What does not end keeps this replica from leading no longer than that; it cannot write any more, for its fence closes.
      const onLate = (left: readonly string[]) =>
        this.#log.warn({ left }, 'what this replica did as leader does not end: it goes on without');
      await endWithin({ activities, waits }, LEADER_END_MS, onLate);
      await endWithin(
        { controllers: leader.stop(), repositories: repositories.stop() },
        LEADER_END_MS,
        onLate,
      );
    }
  }

  async #serve(webhook: Webhook) {
    const address = this.#config.metricsAddress;
    if (address === undefined) {
      const deaf = this.#repositories.repositories.filter((one) => one.webhookSecretFile !== undefined);
      if (deaf.length > 0) {
        this.#log.warn(
          { repositories: deaf.map(({ name }) => name) },
          'webhooks are not served: set FAIRLEAD_METRICS_ADDRESS (or --metrics-address)',
        );
      }
      return undefined;
    }
    const server = await startHttpServer({
      address,
      registry: this.#metrics.registry,
      health: () => [{ name: 'process', ok: true }],
      readiness: () => this.#readiness(),
      more: (request, response, path) => {
        if (!Webhook.serves(path)) return false;
        webhook.handle(request, response, path);
        return true;
      },
    });
    this.#log.info({ address }, 'metrics');
    return server;
  }

  #readiness(): readonly Check[] {
    const leading = this.#cache !== undefined;
    return [
      leading ? { name: 'leading', ok: true } : standbyCheck(this.#leaseTrouble, Date.now()),
      watchCheck(this.#cache?.health() ?? [], Date.now()),
      // Not a reason to be taken out of service: steady state goes on without Temporal.
      {
        name: 'temporal',
        ok: true,
        message: [
          this.#temporalReachable === true ? 'reachable' : `not reachable at ${this.#settings.address}`,
          ...this.#problems.values(),
        ].join('; '),
      },
    ];
  }
}
