/** The recordings of sync and commit. */

import { fileURLToPath } from 'node:url';

import { ANNOTATION } from '../../planners/names.ts';
import { eventually, found } from './eventually.ts';
import { INVENTORY_NAMESPACE } from './git-sync.ts';
import type { HistoryGround, RecordedRun } from './history-ground.ts';
import { newest } from './history-ground.ts';
import type { HistoryRecording } from './history-recordings.ts';
import { ReceivingServer } from './receiving-server.ts';
import { refuseConfigMap } from './refusing-policy.ts';
import { TemporalProxy } from './temporal-proxy.ts';

export const COMMIT_RECORDINGS: readonly HistoryRecording[] = [
  {
    name: 'commit-applied',
    holds: ['WORKFLOW_EXECUTION_COMPLETED'],
    async record(ground) {
      await ground.startWorkerWithRepository();
      const sha = await ground.commit({
        'web.yaml': web('app:1'),
        'service.yaml': SERVICE,
        'settings.yaml': SETTINGS,
      });
      return await newest(ground.commitRuns(sha), 'COMPLETED');
    },
  },
  {
    name: 'commit-pruned',
    holds: ['WORKFLOW_EXECUTION_COMPLETED'],
    async record(ground) {
      await ground.startWorkerWithRepository();
      const first = await ground.commit({ 'web.yaml': web('app:1'), 'settings.yaml': SETTINGS });
      await newest(ground.commitRuns(first), 'COMPLETED');
      const second = await ground.commit({ 'web.yaml': web('app:2'), 'settings.yaml': undefined });
      return await newest(ground.commitRuns(second), 'COMPLETED');
    },
  },
  {
    name: 'commit-refused',
    holds: ['WORKFLOW_EXECUTION_FAILED'],
    async record(ground) {
      await ground.startWorkerWithRepository();
      const sha = await ground.commit({ 'web.yaml': web('app:1').replace('replicas: 3', 'replicas: many') });
      return await newest(ground.commitRuns(sha), 'FAILED');
    },
  },
  {
    name: 'sync-superseded',
    holds: [
      'CHILD_WORKFLOW_EXECUTION_STARTED',
      'CHILD_WORKFLOW_EXECUTION_CANCELED',
      'CHILD_WORKFLOW_EXECUTION_COMPLETED',
    ],
    async record(ground) {
      await ground.startWorkerWithRepository();
      const stuck = await ground.commit({ 'web.yaml': web('app:bad') });
      await newest(ground.commitRuns(stuck), 'RUNNING');
      await ground.untilPods('the bad pods are there', (pods) => pods.length === 3);
      const fixed = await ground.commit({ 'web.yaml': web('app:2') });
      const cancelled = await newest(ground.commitRuns(stuck), 'CANCELLED');
      await newest(ground.commitRuns(fixed), 'COMPLETED');
      return [
        ...(await newest(ground.syncRuns, 'RUNNING')),
        ...cancelled.map((run) => ({ ...run, suffix: 'commit' })),
      ];
    },
  },
  {
    name: 'commit-waves',
    holds: ['ACTIVITY_TASK_COMPLETED', 'WORKFLOW_EXECUTION_COMPLETED'],
    async record(ground) {
      await ground.startWorkerWithRepository();
      const sha = await ground.commit({ 'web.yaml': web('app:1'), 'api.yaml': inWave(1, web('app:1')) });
      return await newest(ground.commitRuns(sha), 'COMPLETED');
    },
  },
  {
    name: 'commit-depends-on',
    holds: ['ACTIVITY_TASK_COMPLETED', 'WORKFLOW_EXECUTION_COMPLETED'],
    async record(ground) {
      await ground.startWorkerWithRepository();
      const on = `"fairlead.dev/namespaces/${ground.namespace}/StatefulSet/web"`;
      const api = inWave(0, web('app:1')).replace(
        'fairlead.dev/wave: "0"',
        `config.kubernetes.io/depends-on: ${on}`,
      );
      const sha = await ground.commit({ 'web.yaml': web('app:1'), 'api.yaml': api });
      return await newest(ground.commitRuns(sha), 'COMPLETED');
    },
  },
  {
    name: 'commit-wave-held',
    holds: ['ACTIVITY_TASK_COMPLETED', 'WORKFLOW_EXECUTION_FAILED'],
    async record(ground) {
      await ground.startWorkerWithRepository();
      const stuck = web('app:bad').replace('spec:', 'spec:\n  progressDeadlineSeconds: 2');
      const sha = await ground.commit({ 'web.yaml': stuck, 'api.yaml': inWave(1, web('app:1')) });
      return await newest(ground.commitRuns(sha), 'FAILED');
    },
  },
  {
    name: 'commit-waves-of-stages',
    holds: ['MARKER_RECORDED', 'ACTIVITY_TASK_COMPLETED', 'WORKFLOW_EXECUTION_COMPLETED'],
    async record(ground) {
      await ground.startWorkerWithRepository();
      const budget =
        'apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: web}\nspec: {maxUnavailable: 1, selector: {matchLabels: {app: web}}}\n';
      const sha = await ground.commit({ 'api.yaml': inWave(1, web('app:1')), 'budget.yaml': budget });
      return await newest(ground.commitRuns(sha), 'COMPLETED');
    },
  },
  {
    name: 'sync-rolled-out',
    holds: ['CHILD_WORKFLOW_EXECUTION_FAILED', 'TIMER_FIRED', 'CHILD_WORKFLOW_EXECUTION_COMPLETED'],
    async record(ground) {
      await ground.startWorkerWithRepository();
      const late = web('app:1')
        .replace('metadata: {labels', 'metadata: {annotations: {sim.fairlead.dev/ready-delay: 6s}, labels')
        .replace('spec:', 'spec:\n  progressDeadlineSeconds: 2');
      const sha = await ground.commit({ 'web.yaml': late });
      await newest(ground.commitRuns(sha), 'FAILED');
      const again = await newest(ground.commitRuns(sha), 'COMPLETED');
      return [
        ...(await newest(ground.syncRuns, 'RUNNING')),
        ...again.map((run) => ({ ...run, suffix: 'commit' })),
      ];
    },
  },
  {
    name: 'sync-tried-again',
    holds: ['CHILD_WORKFLOW_EXECUTION_FAILED', 'TIMER_FIRED', 'CHILD_WORKFLOW_EXECUTION_COMPLETED'],
    async record(ground) {
      await ground.startWorkerWithRepository();
      const path = { group: '', version: 'v1', resource: 'configmaps', namespace: ground.namespace };
      const stranger = await ground.cluster.client.create(path, {
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { name: 'settings', annotations: { [ANNOTATION.repository]: 'another' } },
      });
      const early = await ground.commit({ 'settings.yaml': SETTINGS });
      const refused = await newest(ground.commitRuns(early), 'FAILED');
      const { name, uid } = stranger.metadata;
      await ground.cluster.client.delete({ ...path, name }, { uid });
      await newest(ground.commitRuns(early), 'COMPLETED');
      return [
        ...(await newest(ground.syncRuns, 'RUNNING')),
        ...refused.map((run) => ({ ...run, suffix: 'commit' })),
      ];
    },
  },
  {
    name: 'sync-suspended',
    holds: [
      'WORKFLOW_EXECUTION_SIGNALED',
      'CHILD_WORKFLOW_EXECUTION_COMPLETED',
      'WORKFLOW_EXECUTION_UPDATE_ACCEPTED',
      'WORKFLOW_EXECUTION_UPDATE_COMPLETED',
      'CHILD_WORKFLOW_EXECUTION_COMPLETED',
    ],
    async record(ground) {
      await ground.startWorkerWithRepository();
      const first = await ground.commit({ 'settings.yaml': SETTINGS });
      await newest(ground.commitRuns(first), 'COMPLETED');
      await ground.suspend(true);
      const held = await ground.commit({ 'settings.yaml': CHANGED_SETTINGS });
      await ground.untilSync(
        'it is held',
        ({ suspended, wanted }) => suspended !== undefined && wanted === held,
      );
      await ground.askToSync();
      await ground.suspend(false);
      await newest(ground.commitRuns(held), 'COMPLETED');
      return await newest(ground.syncRuns, 'RUNNING');
    },
  },
  {
    name: 'sync-drift',
    holds: [
      'CHILD_WORKFLOW_EXECUTION_COMPLETED',
      'WORKFLOW_EXECUTION_SIGNALED',
      'CHILD_WORKFLOW_EXECUTION_STARTED',
      'CHILD_WORKFLOW_EXECUTION_COMPLETED',
    ],
    async record(ground) {
      await ground.startWorkerWithRepository({}, { heal: true });
      const sha = await ground.commit({ 'settings.yaml': SETTINGS });
      await newest(ground.commitRuns(sha), 'COMPLETED');
      await ground.deleteSettings();
      const runs = ground.commitRuns(sha);
      await runs.until('it has been put back', (known) => known.length === 2, 60_000);
      const [healed] = await newest(ground.commitRuns(sha), 'COMPLETED');
      return [
        ...(await newest(ground.syncRuns, 'RUNNING')),
        ...(healed === undefined ? [] : [{ ...healed, suffix: 'commit' }]),
      ];
    },
  },
  {
    name: 'sync-asked-while-healing',
    holds: [
      'CHILD_WORKFLOW_EXECUTION_COMPLETED',
      'WORKFLOW_EXECUTION_SIGNALED',
      'CHILD_WORKFLOW_EXECUTION_STARTED',
      'MARKER_RECORDED',
      'CHILD_WORKFLOW_EXECUTION_CANCELED',
      'CHILD_WORKFLOW_EXECUTION_COMPLETED',
    ],
    async record(ground) {
      await ground.startWorkerWithRepository({}, { heal: true });
      const slow = 'metadata: {annotations: {sim.fairlead.dev/ready-delay: 6s}, labels';
      const sha = await ground.commit({ 'web.yaml': web('app:1').replace('metadata: {labels', slow) });
      const runs = ground.commitRuns(sha);
      await newest(runs, 'COMPLETED');
      await ground.cluster.client.delete(ground.cluster.setPath(ground.namespace, 'web'));
      await runs.until('it is being put back', (known) => known.length === 2, 60_000);
      await ground.askForSync();
      await runs.until('all of it is tried', (known) => known.length === 3, 60_000);
      await newest(runs, 'COMPLETED');
      return await newest(ground.syncRuns, 'RUNNING');
    },
  },
  {
    name: 'commit-heals-the-rest',
    // The check refuses one of two; the other is put back.
    holds: [
      'ACTIVITY_TASK_COMPLETED',
      'MARKER_RECORDED',
      'ACTIVITY_TASK_COMPLETED',
      'ACTIVITY_TASK_COMPLETED',
      'WORKFLOW_EXECUTION_FAILED',
    ],
    async record(ground) {
      await ground.startWorkerWithRepository({}, { heal: true });
      const second = SETTINGS.replace('{name: settings}', '{name: second}');
      const sha = await ground.commit({ 'settings.yaml': SETTINGS, 'second.yaml': second });
      await newest(ground.commitRuns(sha), 'COMPLETED');
      const { client } = ground.cluster;
      const allow = await refuseConfigMap(client, ground.namespace, 'second');
      try {
        // So that both are put back at once.
        await ground.suspend(true);
        await ground.untilSync('it is held', ({ suspended }) => suspended !== undefined);
        const path = { group: '', version: 'v1', resource: 'configmaps', namespace: ground.namespace };
        for (const name of ['settings', 'second']) await client.delete({ ...path, name });
        await ground.untilDrifted(2);
        await ground.suspend(false);
        return await newest(ground.commitRuns(sha), 'FAILED');
      } finally {
        await allow();
      }
    },
  },
  {
    name: 'sync-drift-behind-refused',
    holds: [
      'CHILD_WORKFLOW_EXECUTION_COMPLETED',
      'CHILD_WORKFLOW_EXECUTION_FAILED',
      'WORKFLOW_EXECUTION_SIGNALED',
      'MARKER_RECORDED',
      'CHILD_WORKFLOW_EXECUTION_COMPLETED',
    ],
    async record(ground) {
      await ground.startWorkerWithRepository({}, { heal: true });
      const sha = await ground.commit({ 'settings.yaml': SETTINGS });
      await newest(ground.commitRuns(sha), 'COMPLETED');
      const refused = await ground.commit({ 'broken.yaml': 'a: [' });
      await newest(ground.commitRuns(refused), 'FAILED');
      await ground.deleteSettings();
      const runs = ground.commitRuns(sha);
      await runs.until('it has been put back', (known) => known.length === 2, 60_000);
      await newest(runs, 'COMPLETED');
      return await newest(ground.syncRuns, 'RUNNING');
    },
  },
  {
    name: 'sync-notified',
    holds: [
      'CHILD_WORKFLOW_EXECUTION_COMPLETED',
      'ACTIVITY_TASK_COMPLETED',
      'CHILD_WORKFLOW_EXECUTION_FAILED',
      'ACTIVITY_TASK_COMPLETED',
    ],
    async record(ground) {
      return await toldTo(async (server, settings) => {
        await ground.startWorkerWithRepository({}, settings);
        const first = await ground.commit({ 'settings.yaml': SETTINGS });
        await newest(ground.commitRuns(first), 'COMPLETED');
        const bad = await ground.commit({ 'bad.yaml': 'kind: ConfigMap\n' });
        await newest(ground.commitRuns(bad), 'FAILED');
        await eventually('all is told', () => server.received.length === 4, 20_000);
        return await newest(ground.syncRuns, 'RUNNING');
      });
    },
  },
  {
    name: 'sync-unheard',
    // Refused, reported; heard, reported.
    holds: [
      'MARKER_RECORDED',
      'ACTIVITY_TASK_FAILED',
      'ACTIVITY_TASK_COMPLETED',
      'CHILD_WORKFLOW_EXECUTION_STARTED',
      'ACTIVITY_TASK_COMPLETED',
      'ACTIVITY_TASK_COMPLETED',
    ],
    async record(ground) {
      return await toldTo(async (server, settings) => {
        server.answers[0] = 404;
        await ground.startWorkerWithRepository({}, settings);
        const reported = async (reason: string) =>
          await found(`there is an Event ${reason}`, async () => {
            const events = await ground.cluster.events(INVENTORY_NAMESPACE);
            return events.some((event) => event.reason === reason) ? true : undefined;
          });
        const first = await ground.commit({ 'settings.yaml': SETTINGS });
        await newest(ground.commitRuns(first), 'COMPLETED');
        await reported('ReceiverFailed');
        await eventually('the end was told as well', () => server.received.length === 2, 20_000);
        server.answers[0] = 200;
        const bad = await ground.commit({ 'bad.yaml': 'kind: ConfigMap\n' });
        await newest(ground.commitRuns(bad), 'FAILED');
        await reported('ReceiverReady');
        return await newest(ground.syncRuns, 'RUNNING');
      });
    },
  },
  {
    name: 'sync-continued',
    holds: ['WORKFLOW_EXECUTION_CONTINUED_AS_NEW'],
    async record(ground) {
      await ground.startWorkerWithRepository(SHORT_HISTORY);
      return await continuedSync(ground);
    },
  },
  {
    name: 'sync-news-carried',
    // What the receiver was being told is ended, and the next execution tells it.
    holds: [
      'MARKER_RECORDED',
      'TIMER_STARTED',
      'ACTIVITY_TASK_CANCEL_REQUESTED',
      'WORKFLOW_EXECUTION_CONTINUED_AS_NEW',
    ],
    async record(ground) {
      return await toldTo(async (server, settings) => {
        server.answers[0] = 'hang';
        await ground.startWorkerWithRepository(SHORT_HISTORY, settings);
        const [first] = await continuedSync(ground);
        server.answers[0] = 200;
        const isEnd = ({ body }: { readonly body: string }) => body.includes('"Succeeded"');
        await eventually('the rest was told', () => server.received.filter(isEnd).length === 2, 60_000);
        const all = await ground.syncRuns.all();
        const next = all[all.findIndex(({ runId }) => runId === first?.runId) + 1];
        if (first === undefined || next === undefined) {
          throw new Error(`no run went on: ${JSON.stringify(all)}`);
        }
        return [first, { ...first, runId: next.runId, suffix: 'next' }];
      });
    },
  },
  {
    name: 'sync-asked-once',
    holds: [
      'WORKFLOW_EXECUTION_UPDATE_ACCEPTED',
      'CHILD_WORKFLOW_EXECUTION_COMPLETED',
      'MARKER_RECORDED',
      'WORKFLOW_EXECUTION_UPDATE_COMPLETED',
    ],
    async record(ground, address) {
      // The look that was asked for begins when the leader has long found the commit by itself.
      let letLook: () => void = () => undefined;
      const mayLook = new Promise<void>((resolve) => (letLook = resolve));
      let isHeld = false;
      const proxy = await TemporalProxy.start({
        address,
        onCall: async ({ key }, side) => {
          if (key !== 'PollActivityTaskQueue lookAtRepository' || side !== 'after') return;
          isHeld = true;
          await mayLook;
        },
      });
      try {
        await ground.startWorkerWithRepository({}, {}, proxy.address);
        const first = await ground.commit({ 'settings.yaml': SETTINGS });
        await newest(ground.commitRuns(first), 'COMPLETED');
        const asked = ground.askToSync();
        await eventually('its look is held', () => isHeld, 20_000);
        const second = await ground.commit({ 'settings.yaml': CHANGED_SETTINGS });
        await newest(ground.commitRuns(second), 'COMPLETED');
        letLook();
        await asked;
        return await newest(ground.syncRuns, 'RUNNING');
      } finally {
        letLook();
        await ground.stopWorker();
        await proxy.close();
      }
    },
  },
  {
    name: 'sync-asked-under-way',
    // Typed while the commit was under way, arrived after its end.
    holds: [
      'CHILD_WORKFLOW_EXECUTION_COMPLETED',
      'WORKFLOW_EXECUTION_UPDATE_ACCEPTED',
      'MARKER_RECORDED',
      'WORKFLOW_EXECUTION_UPDATE_COMPLETED',
    ],
    async record(ground) {
      await ground.startWorkerWithRepository();
      const sha = await ground.commit({ 'settings.yaml': SETTINGS });
      await newest(ground.commitRuns(sha), 'COMPLETED');
      await ground.askToSync({ wayMs: 60_000 });
      return await newest(ground.syncRuns, 'RUNNING');
    },
  },
  {
    name: 'sync-asked-of-next-worker',
    // The next worker is handed the end of the commit and the question behind it as one, a replay one after the other.
    holds: [
      'CHILD_WORKFLOW_EXECUTION_COMPLETED',
      'WORKFLOW_TASK_TIMED_OUT',
      'WORKFLOW_EXECUTION_UPDATE_ACCEPTED',
      'MARKER_RECORDED',
      'WORKFLOW_EXECUTION_UPDATE_COMPLETED',
      'START_CHILD_WORKFLOW_EXECUTION_INITIATED',
      'CHILD_WORKFLOW_EXECUTION_COMPLETED',
    ],
    async record(ground) {
      await ground.startWorkerWithRepository();
      const sha = await ground.commit({ 'settings.yaml': SETTINGS });
      await newest(ground.commitRuns(sha), 'COMPLETED');
      await ground.untilSync('it was applied', ({ last }) => last?.sha === sha);
      await ground.killWorker();
      const asked = ground.askForSync({ wayMs: 100 });
      await ground.startWorker();
      await asked;
      await ground.untilSync('it was applied again', ({ last }) => last?.tries === 2);
      return await newest(ground.syncRuns, 'RUNNING');
    },
  },
  {
    name: 'sync-terminated',
    holds: [
      'CHILD_WORKFLOW_EXECUTION_STARTED',
      'CHILD_WORKFLOW_EXECUTION_TERMINATED',
      'MARKER_RECORDED',
      'ACTIVITY_TASK_COMPLETED',
      'CHILD_WORKFLOW_EXECUTION_COMPLETED',
    ],
    async record(ground) {
      await ground.startWorkerWithRepository();
      const stuck = await ground.commit({ 'web.yaml': web('app:bad') });
      await ground.untilPods('the bad pods are there', (pods) => pods.length === 3);
      await ground.commitRuns(stuck).terminate();
      const next = await ground.commit({ 'web.yaml': undefined, 'settings.yaml': SETTINGS });
      await newest(ground.commitRuns(next), 'COMPLETED');
      return await newest(ground.syncRuns, 'RUNNING');
    },
  },
  {
    name: 'sync-reset-commit',
    holds: [
      'CHILD_WORKFLOW_EXECUTION_TERMINATED',
      'START_CHILD_WORKFLOW_EXECUTION_FAILED',
      'MARKER_RECORDED',
      'ACTIVITY_TASK_COMPLETED',
      'CHILD_WORKFLOW_EXECUTION_STARTED',
      'CHILD_WORKFLOW_EXECUTION_CANCELED',
    ],
    async record(ground) {
      await ground.startWorkerWithRepository();
      const stuck = await ground.commit({ 'web.yaml': web('app:bad') });
      await ground.untilPods('the bad pods are there', (pods) => pods.length === 3);
      await ground.commitRuns(stuck).terminate();
      await ground.untilSync('it is terminated', ({ last }) => last?.outcome === 'Terminated');
      await ground.commitRuns(stuck).reset();
      await ground.askToSync();
      await ground.untilSync('it is tried again', ({ running }) => running === stuck);
      await ground.commitRuns(stuck).until('three runs', (runs) => runs.length === 3);
      const fixed = await ground.commit({ 'web.yaml': web('app:2') });
      await newest(ground.commitRuns(fixed), 'COMPLETED');
      return await newest(ground.syncRuns, 'RUNNING');
    },
  },
  {
    name: 'sync-unfollowed',
    holds: [
      'WORKFLOW_EXECUTION_SIGNALED',
      'CHILD_WORKFLOW_EXECUTION_STARTED',
      'WORKFLOW_EXECUTION_SIGNALED',
      'WORKFLOW_EXECUTION_CANCEL_REQUESTED',
      'EXTERNAL_WORKFLOW_EXECUTION_SIGNALED',
      'CHILD_WORKFLOW_EXECUTION_CANCELED',
      'WORKFLOW_EXECUTION_CANCELED',
    ],
    async record(ground) {
      await ground.startWorkerWithRepository();
      return await leftInTheMiddle(ground);
    },
  },
  {
    name: 'sync-unfollowed-told',
    holds: [
      'WORKFLOW_EXECUTION_CANCEL_REQUESTED',
      'CHILD_WORKFLOW_EXECUTION_CANCELED',
      'MARKER_RECORDED',
      'ACTIVITY_TASK_COMPLETED',
      'WORKFLOW_EXECUTION_CANCELED',
    ],
    async record(ground) {
      return await toldTo(async (_server, settings) => {
        await ground.startWorkerWithRepository({}, settings);
        return await leftInTheMiddle(ground);
      });
    },
  },
];

/** Two commits are too many. */
const SHORT_HISTORY = { FAIRLEAD_HISTORY_LIMIT: '15' };
const SETTINGS = 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {greeting: hello}\n';
const CHANGED_SETTINGS = SETTINGS.replace('hello', 'good morning');
const SERVICE =
  'apiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec: {clusterIP: None, selector: {app: web}, ports: [{port: 80}]}\n';

function web(image: string): string {
  return `apiVersion: fairlead.dev/v1beta1
kind: StatefulSet
metadata: {name: web}
spec:
  replicas: 3
  serviceName: web
  podManagementPolicy: Parallel
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      terminationGracePeriodSeconds: 1
      containers: [{name: main, image: "${image}"}]
`;
}

/** The same workload as `api`, in a wave. */
function inWave(wave: number, manifest: string): string {
  const annotations = `annotations: {fairlead.dev/wave: "${String(wave)}"}`;
  return manifest
    .replaceAll('app: web', 'app: api')
    .replace('metadata: {name: web}', `metadata: {name: api, ${annotations}}`);
}

/** Two commits, after which the sync goes on in another execution; answers the one before. */
async function continuedSync(ground: HistoryGround): Promise<readonly RecordedRun[]> {
  const first = await ground.commit({ 'settings.yaml': SETTINGS });
  await newest(ground.commitRuns(first), 'COMPLETED');
  const second = await ground.commit({ 'settings.yaml': CHANGED_SETTINGS });
  await newest(ground.commitRuns(second), 'COMPLETED');
  const runs = await ground.syncRuns.until(
    'one continued as new',
    (known) => known.some(({ status }) => status === 'CONTINUED_AS_NEW'),
    60_000,
  );
  const run = runs.find(({ status }) => status === 'CONTINUED_AS_NEW');
  return run === undefined ? [] : [{ runs: ground.syncRuns, runId: run.runId }];
}

/** A repository that leaves the worker's file while its commit waits for pods that are bad. */
async function leftInTheMiddle(ground: HistoryGround): Promise<readonly RecordedRun[]> {
  const stuck = await ground.commit({ 'web.yaml': web('app:bad') });
  await ground.untilPods('the bad pods are there', (pods) => pods.length === 3);
  await ground.unfollow();
  const ended = await newest(ground.commitRuns(stuck), 'CANCELLED');
  return [
    ...(await newest(ground.syncRuns, 'CANCELLED')),
    ...ended.map((run) => ({ ...run, suffix: 'commit' })),
  ];
}

/** With a receiver and the settings of a repository that tells it. */
async function toldTo(
  record: (server: ReceivingServer, settings: object) => Promise<readonly RecordedRun[]>,
): Promise<readonly RecordedRun[]> {
  const server = await ReceivingServer.start();
  try {
    // Any file that others cannot write.
    const secretFile = fileURLToPath(import.meta.url);
    return await record(server, { notify: [{ type: 'webhook', url: server.url(), secretFile }] });
  } finally {
    await server.stop();
  }
}
