/** Runs of rolling updates whose histories are committed; rows of `history-recordings.ts`. */

import type { ReplicationController } from '../../planners/replication-controller.ts';
import type { HistoryGround, RecordedRun } from './history-ground.ts';
import type { HistoryRecording } from './history-recordings.ts';
import { refuseController } from './refusing-policy.ts';
import type { TemporalRuns } from './temporal-runs.ts';
import { untilObjects } from './until-objects.ts';

const RCS = { group: '', version: 'v1', resource: 'replicationcontrollers' } as const;

export const ROLLING_UPDATE_RECORDINGS: readonly HistoryRecording[] = [
  {
    name: 'rolling-update-renamed',
    holds: ['TIMER_STARTED', 'WORKFLOW_EXECUTION_COMPLETED'],
    async record(ground) {
      await prepare(ground);
      return await closed(await ground.rollingUpdate('foo', 'foo:2'), 'COMPLETED');
    },
  },
  {
    name: 'rolling-update-paused-and-turned-round',
    holds: ['WORKFLOW_EXECUTION_SIGNALED', 'WORKFLOW_EXECUTION_SIGNALED', 'WORKFLOW_EXECUTION_COMPLETED'],
    async record(ground) {
      await prepare(ground);
      const runs = await ground.rollingUpdate('foo', 'foo:2');
      await until(ground, 'foo has shrunk', ({ spec }) => spec.replicas === 2);
      await runs.signal('pause');
      await until(ground, 'paused', isPaused);
      await runs.signal('abort');
      await runs.signal('resume');
      return await closed(runs, 'COMPLETED');
    },
  },
  {
    name: 'rolling-update-paused-while-refused',
    holds: ['WORKFLOW_EXECUTION_SIGNALED', 'WORKFLOW_EXECUTION_SIGNALED', 'WORKFLOW_EXECUTION_COMPLETED'],
    async record(ground) {
      await prepare(ground);
      const allow = await refuseController(ground.cluster.client, ground.namespace, 'foo');
      const runs = await ground.rollingUpdate('foo', 'foo:2');
      const isShrunk = ({ metadata, status }: ReplicationController) =>
        metadata.name === 'foo' && (status as Sizes).replicas === 0;
      await until(ground, 'foo has no pods', isShrunk);
      await runs.signal('pause');
      await until(ground, 'paused', isPaused);
      await allow();
      await runs.signal('resume');
      return await closed(runs, 'COMPLETED');
    },
  },
  {
    name: 'rolling-update-cancelled',
    holds: ['WORKFLOW_EXECUTION_CANCEL_REQUESTED', 'WORKFLOW_EXECUTION_CANCELED'],
    async record(ground) {
      await prepare(ground);
      const runs = await ground.rollingUpdate('foo', 'foo:bad');
      await until(
        ground,
        'foo-… has a pod that does not start',
        ({ metadata, status }) => metadata.name !== 'foo' && status?.replicas === 1,
      );
      await runs.cancel();
      return await closed(runs, 'CANCELED');
    },
  },
  {
    name: 'rolling-update-continued',
    holds: ['WORKFLOW_EXECUTION_CONTINUED_AS_NEW'],
    async record(ground) {
      await prepare(ground);
      const runs = await ground.rollingUpdate('foo', 'foo:2', 20);
      const all = await runs.until(
        'the newest is COMPLETED',
        (known) => known.at(-1)?.status === 'COMPLETED',
        60_000,
      );
      const first = all.find(({ status }) => status === 'CONTINUED_AS_NEW');
      return first === undefined ? [] : [{ runs, runId: first.runId }];
    },
  },
];

interface Sizes {
  readonly replicas?: number;
  readonly availableReplicas?: number;
}

function isPaused({ metadata }: ReplicationController): boolean {
  return metadata.annotations?.['fairlead.dev/paused'] !== undefined;
}

/** A worker, and a controller with three pods. */
async function prepare(ground: HistoryGround): Promise<void> {
  await ground.startWorker();
  const { namespace, cluster } = ground;
  const labels = { app: 'foo' };
  const annotations = { 'sim.fairlead.dev/ready-delay': '300ms' };
  await cluster.client.create(
    { ...RCS, namespace },
    {
      apiVersion: 'v1',
      kind: 'ReplicationController',
      metadata: { name: 'foo' },
      spec: {
        replicas: 3,
        selector: labels,
        template: {
          metadata: { labels, annotations },
          spec: { containers: [{ name: 'main', image: 'foo:1' }] },
        },
      },
    },
  );
  await until(ground, 'three pods', ({ status }) => (status as Sizes).availableReplicas === 3);
}

async function until(
  { namespace, cluster }: HistoryGround,
  what: string,
  holds: (controller: ReplicationController) => boolean,
): Promise<void> {
  const path = { ...RCS, namespace };
  await untilObjects<ReplicationController>(cluster.client, path, what, (all) => all.some(holds), 60_000);
}

async function closed(runs: TemporalRuns, status: string): Promise<readonly RecordedRun[]> {
  // Temporal's client spells it with two l.
  const names = status === 'CANCELED' ? ['CANCELED', 'CANCELLED'] : [status];
  const isClosed = (one: { readonly status: string } | undefined) => names.includes(one?.status ?? '');
  const all = await runs.until(`the newest is ${status}`, (known) => isClosed(known.at(-1)), 60_000);
  return all.slice(-1).map(({ runId }) => ({ runs, runId }));
}
