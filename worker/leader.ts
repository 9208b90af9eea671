/** What only the holder of the Lease runs: caches, controllers, and the activities that plan and write. */

import { setMaxListeners } from 'node:events';

import type { Client } from '@temporalio/client';
import type { Logger } from 'pino';

import { createRollingUpdateActivities } from '../activities/rolling-update.ts';
import type { RolloutSteps } from '../activities/rollout.ts';
import { createRolloutActivities, createRolloutSteps } from '../activities/rollout.ts';
import { ActionEvents } from '../controllers/action-events.ts';
import { attemptOfRun } from '../controllers/closed-run.ts';
import { ClusterView } from '../controllers/cluster-view.ts';
import { EventRecorder } from '../controllers/events.ts';
import { Executor } from '../controllers/executor.ts';
import { KeyedMutex } from '../controllers/keyed-mutex.ts';
import { MissingRuns } from '../controllers/missing-runs.ts';
import { PlanFeed } from '../controllers/plan-feed.ts';
import { Reconciler } from '../controllers/reconciler.ts';
import { WriteMemory } from '../controllers/write-memory.ts';
import { readRollingUpdateRun, startRollingUpdate, whyRunEnded } from '../controllers/rolling-update-runs.ts';
import { RolloutRuns } from '../controllers/rollout-runs.ts';
import { isTemporalAway } from '../controllers/temporal-failure.ts';
import { Spacing } from '../controllers/spacing.ts';
import { StatusWriter } from '../controllers/status-writer.ts';
import { WorkQueue } from '../controllers/work-queue.ts';
import { WorkloadWatch } from '../controllers/workload-watch.ts';
import type { KubernetesClient } from '../kubernetes/client.ts';
import { toMessage } from '../kubernetes/api-error.ts';
import { readAttempts, recordAttemptAt } from '../kubernetes/attempts.ts';
import { pathOf } from '../kubernetes/rolling-update-objects.ts';
import { groupVersion } from '../kubernetes/workload-api.ts';
import { parseWorkloadKey, workloadKey } from '../kubernetes/workload-key.ts';
import type { WatchCache } from '../kubernetes/watch-cache.ts';
import { LABEL } from '../planners/names.ts';
import type { ControllerRevision } from '../planners/objects.ts';
import type { UpdateRecord } from '../planners/rolling-update-record.ts';
import { isActiveRecord, readRecords } from '../planners/rolling-update-record.ts';
import type { Workload } from '../planners/workload.ts';
import type { SearchAttributeName } from '../workflows/search-attributes.ts';
import { BadEndings } from './bad-endings.ts';
import type { WorkerConfig } from './config.ts';
import { NotLeaderError } from './fence.ts';
import type { Metrics } from './metrics.ts';
import { InProcessRuns } from './in-process-runs.ts';
import { isCanary } from './other-owner.ts';
import { createWorkloadCache } from './workload-cache.ts';

export interface LeaderOptions {
  readonly config: WorkerConfig;
  /** Guarded by the Lease. */
  readonly client: KubernetesClient;
  readonly clusterUid: string;
  readonly temporal: Client;
  readonly searchAttributes: () => Promise<readonly SearchAttributeName[]>;
  readonly temporalAnswers: () => boolean;
  /** Temporal answered a call with a refusal: what is believed of it may be wrong. */
  readonly onTemporalRefusal: () => void;
  readonly metrics: Metrics;
  readonly log: Logger;
  /** Settles before anything is written: whether the workloads are this worker's to keep. */
  readonly mayOwn: Promise<void>;
  /** Before it is filled, which takes as long as a collection cannot be listed. */
  readonly onCache: (cache: WatchCache) => void;
  readonly signal: AbortSignal;
}

export type Leader = Awaited<ReturnType<typeof startLeader>>;

/**
 * Lists with quorum reads, then starts to reconcile. Rejects when the apiserver does not answer, and as `mayOwn` does; `stop` ends
 * everything and resolves when the last write is over.
 */
export async function startLeader(options: LeaderOptions) {
  const { config, client, clusterUid, temporal, metrics, log, signal } = options;
  // Each watch and each request of this leader listens to it.
  setMaxListeners(0, signal);
  const now = Date.now;
  const cache = createWorkloadCache(client, config, log);
  options.onCache(cache);
  await Promise.all([cache.start(signal), options.mayOwn]);
  signal.throwIfAborted();

  const view = new ClusterView(cache, config.workloadApi, config.namespaces === undefined);
  const events = new EventRecorder({
    client,
    host: config.identity,
    onLost: (message) => {
      metrics.eventsLost.inc();
      log.warn({ message }, 'event lost');
    },
  });
  const memory = new WriteMemory();
  const mutex = new KeyedMutex();
  const feed = new PlanFeed();
  const spacing = new Spacing();
  const queue = new WorkQueue({
    reconcile: async (key) => {
      await reconciler.reconcile(key);
      if (view.object(key) === undefined) {
        spacing.forget(key);
      }
      metrics.reconciles.inc({ kind: parseWorkloadKey(key).kind, result: 'ok' });
    },
    spacing: (key) => spacing.of(key),
    onError: (key, error) => {
      metrics.reconciles.inc({ kind: parseWorkloadKey(key).kind, result: 'error' });
      if (!signal.aborted) {
        log.warn({ workload: key, error: toMessage(error) }, 'reconcile failed, will be tried again');
      }
    },
  });
  const reports = new ActionEvents(events);
  const executor = new Executor({
    cache,
    events,
    reports,
    memory,
    now,
    onAction: (workload, action, outcome) => {
      metrics.actions.inc({ kind: workload.ref.kind, purpose: action.purpose, outcome });
      const { name, resource, verb, purpose, charged } = action;
      log.debug({ workload: workload.ref.name, verb, resource, name, purpose, charged, outcome }, 'action');
    },
  });
  const endings = new BadEndings({ client, cluster: config.cluster, events, log });
  const runs = new RolloutRuns({
    client: temporal,
    cluster: config.cluster,
    clusterUid,
    searchAttributes: options.searchAttributes,
    now,
    ...(config.historyLimit !== undefined && { historyLimit: config.historyLimit }),
    onChange: (key, at) => queue.add(key, at),
    onStarted: (workload, runId) => {
      metrics.rolloutsStarted.inc({ kind: workload.ref.kind });
      log.info({ workload: keyOf(workload), runId }, 'rollout started');
      events.record(workload, 'Normal', 'RolloutStarted', `rollout run ${runId} started`);
    },
    onTakenOver: (workload, runId) => {
      log.info({ workload: keyOf(workload), runId }, 'rollout goes on under this leader');
    },
    onBadEnding: (workload, revision, ending) => {
      endings.report(workload, ending);
      if (revision !== undefined) void endings.record(workload, revision, ending);
    },
    onFoundEnded: (workload, revision, ending) => {
      void endings.record(workload, revision, ending).then((isNews) => {
        if (isNews) endings.report(workload, ending);
      });
    },
    onError: (key, error) => {
      if (isTemporalAway(error)) {
        metrics.temporalUp.set(0);
        // Said once, by who watches it.
        log.debug({ workload: key, error: toMessage(error) }, 'Temporal did not answer, will be asked again');
        return;
      }
      if (error instanceof NotLeaderError) {
        log.debug({ workload: key, error: toMessage(error) }, 'left to the next leader');
        return;
      }
      options.onTemporalRefusal();
      log.warn({ workload: key, error: toMessage(error) }, 'Temporal refused, will be asked again');
    },
    onRefused: (workload, words) =>
      events.record(workload, 'Warning', 'RolloutRefused', `Temporal refuses the rollout run: ${words}`),
  });
  let steps: RolloutSteps;
  const inProcess = new InProcessRuns({
    steps: () => steps,
    feed,
    clusterUid,
    now,
    onChange: (key, at) => queue.add(key, at),
    onStarted: (workload, runId) => {
      metrics.rolloutsStarted.inc({ kind: workload.ref.kind });
      log.info({ workload: keyOf(workload), runId }, 'rollout started in process, without Temporal');
      const message = `rollout ${runId} started in process, without Temporal: the label ${LABEL.bootstrap} asks for it`;
      events.record(workload, 'Normal', 'RolloutStarted', message);
    },
    onBadEnding: (workload, { reason, message }) => {
      log.warn({ workload: keyOf(workload), reason }, message);
      events.record(workload, 'Warning', reason, message);
    },
    onError: (key, error) =>
      log.warn({ workload: key, error: toMessage(error) }, 'rollout in process: a step failed'),
  });
  const reconciler = new Reconciler({
    client,
    cache,
    view,
    executor,
    memory,
    mutex,
    feed,
    runs,
    inProcess,
    status: new StatusWriter(cache, now),
    events,
    now,
    temporalAnswers: options.temporalAnswers,
    requeue: (key, at) => queue.add(key, at),
    onPlanned: (workload, milliseconds) => {
      spacing.planned(keyOf(workload), milliseconds);
      metrics.planSeconds.observe({ kind: workload.ref.kind }, milliseconds / 1000);
    },
  });
  steps = createRolloutSteps({
    client,
    clusterUid,
    cache,
    view,
    executor,
    mutex,
    feed,
    reconciler,
    events,
    now,
    onClosed: ({ kind, namespace, name, uid }, runId, { outcome, by, reason }) => {
      reports.flush(uid);
      const isWell = outcome === 'Succeeded' || outcome === 'Superseded';
      log[isWell ? 'info' : 'warn'](
        { workload: workloadKey(kind, namespace, name), runId, outcome, by, reason },
        'rollout ended',
      );
    },
  });
  const watch = new WorkloadWatch(cache, config.workloadApi, (key) => {
    if (!isCanary(key, config.leaseNamespace)) queue.add(key);
  });
  watch.start();
  const { group } = groupVersion(config.workloadApi);
  void runs.takeOver((ref) => ref.group === group && (config.namespaces?.includes(ref.namespace) ?? true));

  const { cluster, historyLimit } = config;
  const rollingUpdates = createRollingUpdateActivities({
    client,
    clusterUid,
    cluster,
    mutex,
    events,
    now,
    onClosed: ({ update: { namespace, name }, runId, outcome, by, reason }) => {
      const isWell = outcome === 'Succeeded' || outcome === 'Aborted';
      log[isWell ? 'info' : 'warn'](
        { workload: workloadKeyOf(namespace, name), runId, outcome, by, reason },
        'rolling update ended',
      );
    },
  });
  const missingRuns = new MissingRuns({
    records: () => {
      const revisions = cache.list<ControllerRevision>('controllerrevisions');
      const own = revisions.filter(({ metadata }) => metadata.labels?.[LABEL.rollingUpdate] !== undefined);
      const isOurs = ({ state }: UpdateRecord) => (state.cluster ?? cluster) === cluster;
      return readRecords(own).filter((record) => isActiveRecord(record) && isOurs(record));
    },
    temporalAnswers: options.temporalAnswers,
    readRun: async (update) => await readRollingUpdateRun(temporal, cluster, update),
    start: async (update) => {
      const searchAttributes = await options.searchAttributes();
      const limit = historyLimit !== undefined && { historyLimit };
      await startRollingUpdate(temporal, { ...update, cluster, clusterUid, searchAttributes, ...limit });
    },
    noteEnd: async ({ revision, state }, run) => {
      const known = readAttempts(revision);
      const attempt = attemptOfRun(run, state.begun);
      if (attempt === undefined || known.some(({ runId }) => runId === attempt.runId)) return;
      const why = await whyRunEnded(temporal, run);
      const { namespace = '', name } = revision.metadata;
      const path = pathOf('controllerrevisions', namespace, name);
      await recordAttemptAt(client, path, undefined, { ...attempt, ...(why && { endedBecause: why }) });
    },
    onStarted: ({ namespace, name }) =>
      log.warn(
        { workload: workloadKeyOf(namespace, name) },
        'rolling update is recorded and Temporal has no run of it: one is started',
      ),
    onError: ({ namespace, name }, error) => {
      const isAway = isTemporalAway(error);
      if (!isAway) options.onTemporalRefusal();
      log[isAway ? 'debug' : 'warn'](
        { workload: workloadKeyOf(namespace, name), error: toMessage(error) },
        'run of a rolling update cannot be asked for, started or noted as ended, will be tried again',
      );
    },
  });
  missingRuns.start();

  return {
    cache,
    rollingUpdates,
    activities: createRolloutActivities(steps),
    /** Temporal has gone away, or is back: what workloads wait for changes. */
    temporalChanged(): void {
      watch.enqueueAll();
      missingRuns.lookNow();
    },
    /** Ends steady state; activities in flight are ended by their own worker. */
    async stop(): Promise<void> {
      watch.stop();
      await queue.stop();
      await Promise.all([runs.stop(), inProcess.stop(), missingRuns.stop()]);
      reports.flush();
      await events.flush();
    },
  };
}

function keyOf({ ref: { kind, namespace, name } }: Workload): string {
  return workloadKey(kind, namespace, name);
}

/** Of a ReplicationController, as {@link workloadKey} forms it. */
function workloadKeyOf(namespace: string, name: string): string {
  return `ReplicationController/${namespace}/${name}`;
}
