/**
 * The runs whose histories are committed and replayed against every later version of the workflows (design "Temporal"). A new
 * workflow, or a new way through one, gets a row here: `npm run record:histories` makes its history from a real run.
 */

import { COMMIT_RECORDINGS } from './commit-recordings.ts';
import type { HistoryGround, RecordedRun } from './history-ground.ts';
import { newest } from './history-ground.ts';
import type { Contents } from './recorded-history.ts';
import { TemporalProxy } from './temporal-proxy.ts';

import { ROLLING_UPDATE_RECORDINGS } from './rolling-update-recordings.ts';

export interface HistoryRecording extends Contents {
  /** Begins with the type of the workflow, in kebab case; becomes the name of the file. */
  readonly name: string;
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
    holds: ['ACTIVITY_TASK_COMPLETED "created":true', 'WORKFLOW_EXECUTION_COMPLETED "batches":0'],
    async record(ground) {
      await ground.startWorker();
      await ground.roll({});
      return await newest(ground.runs, 'COMPLETED');
    },
  },
  {
    name: 'rollout-recreate',
    holds: ['ACTIVITY_TASK_COMPLETED "code":"PodTerminating"', 'WORKFLOW_EXECUTION_COMPLETED "batches":2'],
    async record(ground) {
      await ground.startWorker();
      await ground.roll({});
      await ground.roll({ image: 'app:2' });
      return await newest(ground.runs, 'COMPLETED');
    },
  },
  {
    name: 'rollout-in-place',
    holds: ['ACTIVITY_TASK_COMPLETED "outcome":"written"', 'WORKFLOW_EXECUTION_COMPLETED "batches":2'],
    // No pod goes.
    lacks: 'PodTerminating',
    async record(ground) {
      await ground.startWorker();
      await ground.roll(IN_PLACE);
      await ground.roll({ image: 'app:2' });
      return await newest(ground.runs, 'COMPLETED');
    },
  },
  {
    name: 'rollout-cancelled-in-place',
    holds: [
      'ACTIVITY_TASK_COMPLETED "outcome":"written"',
      'WORKFLOW_EXECUTION_CANCEL_REQUESTED',
      'WORKFLOW_EXECUTION_CANCELED',
    ],
    // No pod goes.
    lacks: 'PodTerminating',
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
    holds: [
      'ACTIVITY_TASK_COMPLETED "code":"PodTerminating"',
      'WORKFLOW_EXECUTION_CANCEL_REQUESTED',
      'ACTIVITY_TASK_COMPLETED "outcome":"Superseded"',
      'WORKFLOW_EXECUTION_CANCELED',
    ],
    async record(ground) {
      const stuck = await stuckInTheMiddle(ground);
      await ground.roll({ image: 'app:2' });
      return stuck;
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
      const stuck = await stuckInTheMiddle(ground);
      await ground.roll({ image: 'app:2' });
      return stuck;
    },
  },
  {
    name: 'rollout-paused-across-restart',
    holds: [
      'WORKFLOW_EXECUTION_SIGNALED',
      'ACTIVITY_TASK_COMPLETED "outcome":"paused"',
      'WORKFLOW_EXECUTION_COMPLETED "outcome":"Succeeded"',
    ],
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
    holds: [
      'ACTIVITY_TASK_COMPLETED "outcome":"deadline"',
      'ACTIVITY_TASK_COMPLETED "rolledBack":true',
      'WORKFLOW_EXECUTION_COMPLETED "outcome":"RolledBack"',
    ],
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
    holds: [
      'ACTIVITY_TASK_COMPLETED "outcome":"deadline","onDeadline":"Rollback"',
      'ACTIVITY_TASK_COMPLETED "rolledBack":true',
      'WORKFLOW_EXECUTION_COMPLETED "outcome":"RolledBack"',
    ],
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
    holds: ['WORKFLOW_EXECUTION_SIGNALED', 'WORKFLOW_EXECUTION_COMPLETED "outcome":"Aborted"'],
    async record(ground) {
      const stuck = await stuckInTheMiddle(ground);
      await ground.runs.signal('abort');
      await ground.untilPods('all at app:1', (pods) =>
        pods.every((pod) => pod.spec.containers[0]?.image === 'app:1'),
      );
      await ground.untilDone();
      return stuck;
    },
  },
  {
    name: 'rollout-cancelled-by-hand',
    holds: [
      'WORKFLOW_EXECUTION_CANCEL_REQUESTED',
      'ACTIVITY_TASK_COMPLETED "outcome":"Canceled"',
      'WORKFLOW_EXECUTION_CANCELED',
    ],
    async record(ground) {
      const stuck = await stuckInTheMiddle(ground);
      await ground.runs.cancel();
      await ground.untilClosed();
      return stuck;
    },
  },
  ...COMMIT_RECORDINGS,
  ...ROLLING_UPDATE_RECORDINGS,
];

/** A rollout that its bad pods hold at half of them; answers its run. */
async function stuckInTheMiddle(ground: HistoryGround): Promise<readonly RecordedRun[]> {
  await ground.startWorker();
  await ground.roll({});
  await ground.apply({ image: 'app:bad' });
  await ground.untilSet('two of four updated', (set) => set.status?.updatedReplicas === 2);
  return await newest(ground.runs, 'RUNNING');
}
