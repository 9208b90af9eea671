/** The repositories that the leader follows: mirrors, the poller that looks at them, the activities that apply their commits. */

import { join } from 'node:path';

import type { Client } from '@temporalio/client';
import type { Logger } from 'pino';

import { createCommitActivities } from '../activities/commit.ts';
import { createSyncActivities } from '../activities/sync.ts';
import { KeyedMutex } from '../controllers/keyed-mutex.ts';
import { DriftMonitor } from '../controllers/drift-monitor.ts';
import { RepositoryPoller } from '../controllers/repository-poller.ts';
import {
  readRollingUpdateRun,
  startRollingUpdate,
  tellRollingUpdate,
} from '../controllers/rolling-update-runs.ts';
import { isTemporalAway } from '../controllers/temporal-failure.ts';
import { SyncRuns } from '../controllers/sync-runs.ts';
import { UnfollowedRuns } from '../controllers/unfollowed-runs.ts';
import { CommitReader } from '../git/commit.ts';
import type { Mirror } from '../git/mirror.ts';
import { openMirror } from '../git/mirror.ts';
import { FollowedList } from '../git/followed-list.ts';
import type { FollowedRow, KeptEntries, Troubles } from '../git/followed-list.ts';
import { InventoryStore } from '../git/inventory.ts';
import { HEALER } from '../git/inventory-status.ts';
import { accountOf } from '../git/own-rights.ts';
import { isRecorded } from '../git/inventory-reading.ts';
import { formatProblem } from '../git/problems.ts';
import { describeUnusable, isUsableFile } from '../git/repository-files.ts';
import { readSuspension } from '../git/suspension.ts';
import type { Repository } from '../git/repositories.ts';
import { SourceReporter } from '../git/source-report.ts';
import { toMessage } from '../kubernetes/api-error.ts';
import type { KubernetesClient } from '../kubernetes/client.ts';
import type { SearchAttributeName } from '../workflows/search-attributes.ts';
import type { WorkerConfig } from './config.ts';
import type { Metrics } from './metrics.ts';
import { RenamedRepositories, unlessForeign } from './renamed-repositories.ts';

export interface FollowedRepositoriesOptions extends SyncRunsSettings {
  readonly repositories: readonly Repository[];
  /** {@link KeptEntries}, as they are now. */
  readonly kept: () => KeptEntries | undefined;
  /** Guarded by the Lease. */
  readonly client: KubernetesClient;
  readonly metrics: Metrics;
  readonly log: Logger;
}

/** What the sync workflows of a worker are reached with. */
export interface SyncRunsSettings {
  readonly config: WorkerConfig;
  readonly clusterUid: string;
  readonly temporal: Client;
  readonly searchAttributes: () => Promise<readonly SearchAttributeName[]>;
}

/** The sync workflows of this worker's cluster. */
export function syncRuns({ config, clusterUid, temporal, searchAttributes }: SyncRunsSettings) {
  return new SyncRuns({
    temporal,
    cluster: config.cluster,
    clusterUid,
    searchAttributes,
    ...(config.historyLimit !== undefined && { historyLimit: config.historyLimit }),
  });
}

/** Nothing is looked at before `start`. */
export function followRepositories(options: FollowedRepositoriesOptions) {
  const { config, repositories, client, clusterUid, temporal, metrics, log } = options;
  const now = Date.now;
  const inventoryNamespace = config.leaseNamespace;
  let byName = new Map(repositories.map((repository) => [repository.name, repository]));
  /** Those that have left: what became of their last commit is still to be told. */
  const former = new Map<string, Repository>();
  const mirrors = new WeakMap<Repository, Mirror>();
  const mirror = (repository: Repository): Mirror => {
    const known = mirrors.get(repository);
    if (known !== undefined) {
      return known;
    }
    const opened = openMirror({ ...repository, cacheDirectory: join(config.cacheDirectory, 'git') });
    mirrors.set(repository, opened);
    return opened;
  };
  const runs = syncRuns(options);
  /** Why the last look at a repository failed, by its name. */
  const troubles = new Map<string, string | undefined>();
  const reporter = new SourceReporter({ client, inventoryNamespace, cluster: config.cluster, now });
  const reader = new CommitReader(mirror, ({ name }, sha, unread) => {
    const why = unread === undefined ? undefined : formatProblem(unread);
    if (why !== undefined) log.warn({ repository: name, sha, problem: why }, 'commit cannot be read yet');
    followed.commitRead(name, sha, why);
  });
  const troublesOfDrift = new Map<string, string>();
  const drift = new DriftMonitor({
    client,
    workloadApi: config.workloadApi,
    inventoryNamespace,
    cluster: config.cluster,
    read: async (repository, sha, signal) => await reader.readApplied(repository, sha, signal),
    driftFound: async (repository, found) => await runs.driftFound(repository, found),
    tryAgain: async (repository, reason) => {
      await runs.tryAgain(repository, { by: HEALER, reason });
      log.info({ repository, reason }, 'an object is gone, the commit that was refused is tried again');
    },
    rolledOut: async (repository, found) => {
      await runs.rolledOut(repository, found);
      log.info({ repository, ...found }, 'what the commit failed for is rolled out, it is tried again');
    },
    onDrift: (repository, count) => metrics.drifted.set({ repository }, count),
    onHealed: (repository, count, reason) => {
      metrics.healed.inc({ repository }, count);
      log.info({ repository, count, reason }, 'drift is put back');
    },
    onLooked: (repository) => {
      if (!troublesOfDrift.delete(repository)) return;
      log.info({ repository }, 'drift can be looked at again');
      followed.driftLooked(repository, undefined);
    },
    onError: (repository, error) => {
      const trouble = toMessage(error);
      const isNews = troublesOfDrift.get(repository) !== trouble;
      troublesOfDrift.set(repository, trouble);
      log[isNews ? 'warn' : 'debug']({ repository, error: trouble }, 'drift cannot be looked at');
      followed.driftLooked(repository, trouble);
    },
    now,
  });
  const followed = new FollowedList({
    client,
    namespace: inventoryNamespace,
    cluster: config.cluster,
    identity: config.identity,
    now,
    kept: options.kept,
    onError: (error) => log.warn({ error: toMessage(error) }, 'the list of repositories is not written'),
  });
  const unfollowed = new UnfollowedRuns({
    runs,
    isFollowed: (name) => byName.has(name),
    receivers: (name) => former.get(name)?.notify?.map(({ id }) => id) ?? [],
    onEnded: (repository) => log.info({ repository }, 'not followed any more, its runs are cancelled'),
    onError: (error, repository) =>
      log.warn(
        { ...(repository !== undefined && { repository }), error: toMessage(error) },
        'runs of what is not followed any more are not ended, it is tried again; if one cannot go on, `fairlead check` says how to end it',
      ),
  });
  const storeOf = (name: string) => new InventoryStore(client, inventoryNamespace, name, config.cluster);
  const renamed = new RenamedRepositories({
    before: async () => await followed.before(),
    followed: () => [...byName.values()],
    store: storeOf,
    log,
    onChange: () => watchDrift(),
  });
  /** Why pushes are not heard, by the name of the repository: who pushes is told no more than that nothing is trusted. */
  const unheard = new Map<string, string>();
  const tellUnheard = (): void => {
    const texts = [...unheard].map(([name, why]) => `pushes to ${name} are not heard: ${why}`);
    const next = 'it is read again at each push';
    followed.trouble('webhooks', texts.length === 0 ? undefined : `${texts.join('; ')}; ${next}`);
  };
  const lookAtSecret = async ({ name, webhookSecretFile: path }: Repository): Promise<void> => {
    if (path === undefined || (await isUsableFile(path))) unheard.delete(name);
    else unheard.set(name, describeUnusable({ field: 'webhookSecretFile', path }));
    tellUnheard();
  };
  const row = (repository: Repository): FollowedRow => {
    const earlierNames = renamed.earlier(repository.name);
    return { ...rowOf(repository), ...(earlierNames !== undefined && { earlierNames }) };
  };
  let hasStopped = false;
  /** Nothing is put back under a new name of which it is not known yet whether it is suspended. */
  const watchDrift = (): void => {
    if (hasStopped) return;
    drift.follow([...byName.values()].filter(({ name }) => renamed.earlier(name) === undefined));
  };
  /** Those that were suspended at the last look. */
  const held = new Set<string>();
  const poller = new RepositoryPoller({
    repositories,
    mirror,
    commitSeen: async (repository, seen) => {
      await runs.commitSeen(repository, seen);
      const { sha, suspended, unrecorded } = seen;
      const why = unrecorded === true ? ', its inventory was deleted: it is applied again' : '';
      log.info({ repository, sha, ...(suspended !== undefined && { suspended }) }, `commit seen${why}`);
    },
    suspension: async (name) => {
      await renamed.goOn(name);
      const suspension = await unlessForeign(async () => await readSuspension(storeOf(name)));
      const isNews = suspension === undefined ? held.delete(name) : !held.has(name);
      if (suspension !== undefined) held.add(name);
      if (isNews) drift.lookAgain(name);
      return suspension;
    },
    isKnown: async (repository, seen) => await runs.knows(repository, seen),
    isForgotten: async (repository, seen) => {
      const store = new InventoryStore(client, inventoryNamespace, repository);
      return await runs.isForgotten(repository, seen, async () => await isRecorded(store));
    },
    onLook: async (repository, look) => {
      const { name } = repository;
      metrics.looks.inc({ repository: name, result: look.ok ? 'ok' : 'failed' });
      metrics.lookSeconds.observe({ repository: name }, look.milliseconds / 1000);
      const trouble = look.ok ? undefined : formatProblem(look.problem);
      // A look every few seconds would fill the log with one and the same sentence.
      const isNews = trouble !== troubles.get(name);
      troubles.set(name, trouble);
      if (trouble !== undefined) {
        log[isNews ? 'warn' : 'debug']({ repository: name, problem: trouble }, 'repository cannot be read');
      } else if (isNews) {
        log.info({ repository: name }, 'repository can be read again');
      }
      if (look.ok && look.isNew) log.info({ repository: name, sha: look.sha }, 'new commit');
      followed.looked({
        ...row(repository),
        lookedAt: new Date(now()).toISOString(),
        ...(look.ok ? { sha: look.sha } : { problem: formatProblem(look.problem) }),
      });
      await lookAtSecret(repository);
      await reporter.report(name, look.ok ? { sha: look.sha } : { problem: look.problem });
    },
    onError: ({ name }, error, isNews) =>
      log[isNews ? 'warn' : 'debug']({ repository: name, error: toMessage(error) }, 'repository'),
  });
  return {
    activities: {
      ...createCommitActivities({
        client,
        clusterUid,
        cluster: config.cluster,
        repository: (name) => byName.get(name),
        followed: () => [...byName.values()],
        former: (name) => former.get(name),
        mirror,
        seen: (repository) => poller.seen(repository),
        reader,
        workloadApi: config.workloadApi,
        inventoryNamespace,
        rollingUpdateRun: async (update) => {
          try {
            return await readRollingUpdateRun(temporal, config.cluster, update);
          } catch (error) {
            if (isTemporalAway(error)) return undefined;
            throw error;
          }
        },
        startRollingUpdate: async ({ namespace, name, repository, commit, isTurned }) => {
          const searchAttributes = await options.searchAttributes();
          const { cluster } = config;
          const workflowId = await startRollingUpdate(temporal, {
            cluster,
            clusterUid,
            namespace,
            name,
            repository,
            commit,
            searchAttributes,
            ...(config.historyLimit !== undefined && { historyLimit: config.historyLimit }),
          });
          if (isTurned === true) {
            const reason = `commit ${commit.slice(0, 8)}`;
            await tellRollingUpdate(temporal, workflowId, 'abort', { reason });
          }
        },
        mutex: new KeyedMutex(),
        now,
        tryAgain: async (repository, tried) => {
          try {
            await runs.rolledOut(repository, tried);
          } catch (error) {
            log.warn(
              { repository, error: toMessage(error) },
              'its commit is tried again only in its own time',
            );
          }
        },
        onRecorded: (repository, commit) => {
          const { sha, outcome, applied, unchanged, pruned, problems, notes, supersededBy } = commit;
          const isWell = outcome === 'Succeeded' || outcome === 'Superseded';
          log[isWell ? 'info' : 'warn'](
            { repository, sha, outcome, applied, unchanged, pruned, problems, notes, supersededBy },
            'commit ended',
          );
          drift.lookAgain(repository);
        },
        onEventLost: (repository, message) => {
          metrics.eventsLost.inc();
          log.warn({ repository, message }, 'event lost');
        },
      }),
      ...createSyncActivities({
        temporal,
        client,
        inventoryNamespace,
        now,
        clusterUid,
        cluster: config.cluster,
        repository: (name) => byName.get(name) ?? former.get(name),
        look: async (name) => {
          const found = await poller.look(name);
          // Not before: whoever asks for the whole commit is to be first, which puts all back itself.
          drift.healNow(name);
          return found;
        },
      }),
    },
    /** What keeps this leader from following as it should, for `get repositories`; without `text` it does so no more. */
    trouble: (kind: keyof Troubles, text: string | undefined) => followed.trouble(kind, text),
    /** Looks at a repository now. */
    poke: (name: string) => poller.poke(name),
    start: () => {
      followed.follow([...byName.values()].map(row));
      followed.start();
      poller.start();
      unfollowed.start();
      watchDrift();
    },
    /** Other repositories are followed from now on. What one that left has applied stays as it is. */
    change: (changed: readonly Repository[]) => {
      const present = [...byName.values()];
      if (changed.length === present.length && changed.every((one, index) => one === present[index])) return;
      const left = present
        .map(({ name }) => name)
        .filter((name) => !changed.some((one) => one.name === name));
      for (const name of left) {
        metrics.drifted.remove(name);
        troublesOfDrift.delete(name);
        unheard.delete(name);
      }
      tellUnheard();
      renamed.change(present, changed);
      for (const repository of present) former.set(repository.name, repository);
      byName = new Map(changed.map((repository) => [repository.name, repository]));
      poller.change(changed);
      followed.follow(changed.map(row));
      watchDrift();
      unfollowed.left(left);
    },
    stop: async () => {
      hasStopped = true;
      // The list is kept no more from now on, and written to the end of the last look.
      await Promise.all([poller.stop(), drift.stop(), unfollowed.stop(), followed.stop()]);
      metrics.drifted.reset();
      await followed.stop();
    },
  };
}

function rowOf(repository: Repository): FollowedRow {
  const { name, url, ref, path, namespace, intervalSeconds, webhookSecretFile, heal, notify } = repository;
  return {
    name,
    url,
    ...(ref !== undefined && { ref }),
    path,
    namespace,
    serviceAccount: accountOf(repository),
    intervalSeconds,
    webhook: webhookSecretFile !== undefined,
    heal: heal === true,
    receivers: (notify ?? []).map(({ id }) => id),
  };
}
