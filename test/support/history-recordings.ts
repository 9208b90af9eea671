/**
 * The runs whose histories are committed and replayed against every later version of the workflows (design "Temporal"). A new
 * workflow, or a new way through one, gets a row here: `npm run record:histories` makes its history from a real run.
 */

import { fileURLToPath } from 'node:url';

import { ANNOTATION } from '../../planners/names.ts';
import { eventually, found } from './eventually.ts';
import { INVENTORY_NAMESPACE } from './git-sync.ts';
import type { HistoryGround } from './history-ground.ts';
import { ReceivingServer } from './receiving-server.ts';
import { TemporalProxy } from './temporal-proxy.ts';
import type { TemporalRuns } from './temporal-runs.ts';

import { ROLLING_UPDATE_RECORDINGS } from './rolling-update-recordings.ts';

export interface RecordedRun {
  /** Added to the name of the file where one recording gives several. */
  readonly suffix?: string;
  readonly runs: TemporalRuns;
  readonly runId: string;
}

export interface HistoryRecording {
  /** Begins with the type of the workflow, in kebab case; becomes the name of the file. */
  readonly name: string;
  /** What the history must hold, so that a file is what its name says: types of events, in their order. */
  readonly holds: readonly string[];
  readonly record: (ground: HistoryGround, temporalAddress: string) => Promise<readonly RecordedRun[]>;
}

const IN_PLACE = { podUpdatePolicy: 'InPlaceIfPossible' } as const;
const SLOW_RESTART = {
  'sim.fairlead.dev/ready-delay': '300ms',
  'sim.fairlead.dev/restart-delay': '4s',
};

export const HISTORY_RECORDINGS: readonly HistoryRecording[] = [
  {
    name: 'rollout-first-revision',
    holds: ['WORKFLOW_EXECUTION_COMPLETED'],
    async record(ground) {
      await ground.startWorker();
      await ground.roll({});
      return await newest(ground.runs, 'COMPLETED');
    },
  },
  {
    name: 'rollout-recreate',
    holds: ['WORKFLOW_EXECUTION_COMPLETED'],
    async record(ground) {
      await ground.startWorker();
      await ground.roll({});
      await ground.roll({ image: 'app:2' });
      return await newest(ground.runs, 'COMPLETED');
    },
  },
  {
    name: 'rollout-in-place',
    holds: ['WORKFLOW_EXECUTION_COMPLETED'],
    async record(ground) {
      await ground.startWorker();
      await ground.roll(IN_PLACE);
      await ground.roll({ image: 'app:2' });
      return await newest(ground.runs, 'COMPLETED');
    },
  },
  {
    name: 'rollout-cancelled-in-place',
    holds: ['WORKFLOW_EXECUTION_CANCEL_REQUESTED', 'WORKFLOW_EXECUTION_CANCELED'],
    async record(ground) {
      await ground.startWorker();
      await ground.roll({ ...IN_PLACE, templateAnnotations: SLOW_RESTART });
      await ground.apply({ image: 'app:2' });
      await ground.untilPods('one is being updated in place', (pods) =>
        pods.some((pod) => pod.metadata.annotations?.['fairlead.dev/in-place-update'] !== undefined),
      );
      const [superseded] = await newest(ground.runs, 'RUNNING');
      await ground.roll({ image: 'app:3' });
      return superseded === undefined ? [] : [superseded];
    },
  },
  {
    name: 'rollout-superseded',
    holds: ['WORKFLOW_EXECUTION_CANCEL_REQUESTED', 'WORKFLOW_EXECUTION_CANCELED'],
    async record(ground) {
      await ground.startWorker();
      await ground.roll({});
      await ground.apply({ image: 'app:bad' });
      await ground.untilSet('two of four updated', (set) => set.status?.updatedReplicas === 2);
      const [superseded] = await newest(ground.runs, 'RUNNING');
      await ground.roll({ image: 'app:2' });
      return superseded === undefined ? [] : [superseded];
    },
  },
  {
    name: 'rollout-superseded-told',
    holds: [
      'WORKFLOW_EXECUTION_SIGNALED',
      'WORKFLOW_EXECUTION_CANCEL_REQUESTED',
      'WORKFLOW_EXECUTION_CANCELED',
    ],
    async record(ground) {
      await ground.startWorker();
      await ground.roll({});
      await ground.apply({ image: 'app:bad' });
      await ground.untilSet('two of four updated', (set) => set.status?.updatedReplicas === 2);
      const [superseded] = await newest(ground.runs, 'RUNNING');
      await ground.roll({ image: 'app:2' });
      return superseded === undefined ? [] : [superseded];
    },
  },
  {
    name: 'rollout-paused-across-restart',
    holds: ['WORKFLOW_EXECUTION_SIGNALED', 'WORKFLOW_EXECUTION_COMPLETED'],
    async record(ground) {
      await ground.startWorker();
      await ground.roll({});
      await ground.apply({ image: 'app:2', maxUnavailable: 1 });
      await ground.untilPods('one is updated', (pods) =>
        pods.some((pod) => pod.spec.containers[0]?.image === 'app:2'),
      );
      await ground.runs.signal('pause');
      await ground.untilSet(
        'paused',
        (set) => set.metadata.annotations?.['fairlead.dev/paused'] !== undefined,
      );
      await ground.stopWorker();
      await ground.startWorker();
      await ground.runs.signal('resume');
      await ground.untilDone();
      return await newest(ground.runs, 'COMPLETED');
    },
  },
  {
    name: 'rollout-continued',
    holds: ['WORKFLOW_TASK_FAILED', 'WORKFLOW_EXECUTION_SIGNALED', 'WORKFLOW_EXECUTION_CONTINUED_AS_NEW'],
    async record(ground, address) {
      // A signal that arrives while the workflow's decision to continue as new is on its way.
      let interrupted = false;
      const proxy = await TemporalProxy.start({
        address,
        onCall: async ({ key }, side) => {
          if (key.includes('continue_as_new') && side === 'before' && !interrupted) {
            interrupted = true;
            await ground.runs.signal('resume');
          }
        },
      });
      try {
        await ground.startWorker({
          temporalAddress: proxy.address,
          environment: { FAIRLEAD_HISTORY_LIMIT: '20' },
        });
        await ground.roll({ replicas: 6, maxUnavailable: 1 });
        interrupted = false;
        await ground.roll({ image: 'app:2' });
        const last = (await ground.runs.all()).findLastIndex(({ status }) => status === 'COMPLETED');
        const all = await ground.runs.all();
        const first = all.findIndex(
          ({ status, startedAt }, index) =>
            status === 'CONTINUED_AS_NEW' && startedAt > (all[index - 1]?.closedAt ?? 0) && index > 0,
        );
        const from = all[first];
        const to = all[last];
        if (from === undefined || to === undefined) {
          throw new Error(`no run continued as new: ${JSON.stringify(all)}`);
        }
        return [
          { runs: ground.runs, runId: from.runId },
          { runs: ground.runs, runId: to.runId, suffix: 'last' },
        ];
      } finally {
        await proxy.close();
      }
    },
  },
  {
    name: 'rollout-news-continued',
    holds: ['MARKER_RECORDED', 'WORKFLOW_EXECUTION_CONTINUED_AS_NEW'],
    async record(ground) {
      // Too short for a first revision, too: every wait that brings news goes on in another execution.
      await ground.startWorker({ environment: { FAIRLEAD_HISTORY_LIMIT: '15' } });
      await ground.roll({});
      const before = await ground.runs.all();
      await ground.apply({ image: 'app:bad' });
      const runs = await ground.runs.until(
        'one continued as new by what it waits for',
        (known) => known.slice(before.length).some(({ status }) => status === 'CONTINUED_AS_NEW'),
        60_000,
      );
      const run = runs.slice(before.length).find(({ status }) => status === 'CONTINUED_AS_NEW');
      return run === undefined ? [] : [{ runs: ground.runs, runId: run.runId }];
    },
  },
  {
    name: 'rollout-deadline-rollback',
    holds: ['WORKFLOW_EXECUTION_COMPLETED'],
    async record(ground) {
      await ground.startWorker();
      await ground.roll({ progressDeadlineSeconds: 3, onDeadline: 'Rollback' });
      await ground.apply({ image: 'app:bad' });
      const [late] = await newest(ground.runs, 'RUNNING');
      await ground.untilSet(
        'rolled back',
        (set) => set.metadata.annotations?.['fairlead.dev/pinned'] !== undefined,
      );
      await ground.untilDone();
      return late === undefined ? [] : [late];
    },
  },
  {
    name: 'rollout-deadline-changed',
    holds: ['WORKFLOW_EXECUTION_COMPLETED'],
    async record(ground) {
      await ground.startWorker();
      await ground.roll({ progressDeadlineSeconds: 5, onDeadline: 'Report' });
      await ground.apply({ image: 'app:bad' });
      const [late] = await newest(ground.runs, 'RUNNING');
      await ground.apply({ onDeadline: 'Rollback' });
      await ground.untilSet(
        'rolled back',
        (set) => set.metadata.annotations?.['fairlead.dev/pinned'] !== undefined,
      );
      await ground.untilDone();
      return late === undefined ? [] : [late];
    },
  },
  {
    name: 'rollout-aborted',
    holds: ['WORKFLOW_EXECUTION_SIGNALED', 'WORKFLOW_EXECUTION_COMPLETED'],
    async record(ground) {
      await ground.startWorker();
      await ground.roll({});
      await ground.apply({ image: 'app:bad' });
      await ground.untilSet('two of four updated', (set) => set.status?.updatedReplicas === 2);
      const [aborted] = await newest(ground.runs, 'RUNNING');
      await ground.runs.signal('abort');
      await ground.untilPods('all at app:1', (pods) =>
        pods.every((pod) => pod.spec.containers[0]?.image === 'app:1'),
      );
      await ground.untilDone();
      return aborted === undefined ? [] : [aborted];
    },
  },
  {
    name: 'rollout-cancelled-by-hand',
    holds: ['WORKFLOW_EXECUTION_CANCEL_REQUESTED', 'WORKFLOW_EXECUTION_CANCELED'],
    async record(ground) {
      await ground.startWorker();
      await ground.roll({});
      await ground.apply({ image: 'app:bad' });
      await ground.untilSet('two of four updated', (set) => set.status?.updatedReplicas === 2);
      const [cancelled] = await newest(ground.runs, 'RUNNING');
      await ground.runs.cancel();
      await ground.untilClosed();
      return cancelled === undefined ? [] : [cancelled];
    },
  },
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
      const held = await ground.commit({ 'settings.yaml': SETTINGS.replace('hello', 'good morning') });
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
    name: 'sync-notified',
    holds: [
      'CHILD_WORKFLOW_EXECUTION_COMPLETED',
      'ACTIVITY_TASK_COMPLETED',
      'CHILD_WORKFLOW_EXECUTION_FAILED',
      'ACTIVITY_TASK_COMPLETED',
    ],
    async record(ground) {
      const server = await ReceivingServer.start();
      try {
        const secretFile = fileURLToPath(import.meta.url);
        const notify = [{ type: 'webhook', url: server.url(), secretFile }];
        await ground.startWorkerWithRepository({}, { notify });
        const first = await ground.commit({ 'settings.yaml': SETTINGS });
        await newest(ground.commitRuns(first), 'COMPLETED');
        const bad = await ground.commit({ 'bad.yaml': 'kind: ConfigMap\n' });
        await newest(ground.commitRuns(bad), 'FAILED');
        await eventually('all is told', () => server.received.length === 4, 20_000);
        return await newest(ground.syncRuns, 'RUNNING');
      } finally {
        await server.stop();
      }
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
      const server = await ReceivingServer.start();
      try {
        const secretFile = fileURLToPath(import.meta.url);
        const notify = [{ type: 'webhook', url: server.url(), secretFile }];
        server.answers[0] = 404;
        await ground.startWorkerWithRepository({}, { notify });
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
      } finally {
        await server.stop();
      }
    },
  },
  {
    name: 'sync-continued',
    holds: ['WORKFLOW_EXECUTION_CONTINUED_AS_NEW'],
    async record(ground) {
      await ground.startWorkerWithRepository({ FAIRLEAD_HISTORY_LIMIT: '15' });
      const first = await ground.commit({ 'settings.yaml': SETTINGS });
      await newest(ground.commitRuns(first), 'COMPLETED');
      const second = await ground.commit({ 'settings.yaml': SETTINGS.replace('hello', 'good morning') });
      await newest(ground.commitRuns(second), 'COMPLETED');
      const runs = await ground.syncRuns.until(
        'one continued as new',
        (known) => known.some(({ status }) => status === 'CONTINUED_AS_NEW'),
        60_000,
      );
      const run = runs.find(({ status }) => status === 'CONTINUED_AS_NEW');
      return run === undefined ? [] : [{ runs: ground.syncRuns, runId: run.runId }];
    },
  },
  ...ROLLING_UPDATE_RECORDINGS,
];

const SETTINGS = 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {greeting: hello}\n';
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

/** The newest run, once it has this status. */
async function newest(runs: TemporalRuns, status: string): Promise<readonly RecordedRun[]> {
  const all = await runs.until(`the newest is ${status}`, (known) => known.at(-1)?.status === status, 60_000);
  const runId = all.at(-1)?.runId;
  return runId === undefined ? [] : [{ runs, runId }];
}
