/** Last step: every rollout of the story is found in Temporal, each closed as it should be. */

import { formatTable } from '../cli/table.ts';
import type { RolloutRun } from './rollout-runs.ts';
import type { Stage } from './stage.ts';
import type { Step } from './step.ts';
import { check } from './step.ts';
import { seconds } from './steps-of-commits.ts';

const WEB = 'StatefulSet web';
/** How each run ended, in the order of the story; of `web` with its image. */
const STORIES: Readonly<Record<string, readonly string[]>> = {
  [WEB]: [
    'v1 Succeeded',
    'v2 Succeeded',
    'bad Superseded',
    'v3 Succeeded',
    'v4 Aborted',
    'v3 Succeeded',
    'v5 Succeeded',
    'v3 Succeeded',
    'v6 Succeeded',
    'v7 Succeeded',
  ],
  'DaemonSet agent': ['Succeeded', 'Succeeded'],
  'Deployment api': ['Succeeded', 'Succeeded'],
  // Its first commit creates it: only another template is an update.
  'ReplicationController legacy': ['Succeeded'],
};
const RUNS = Object.values(STORIES).flat().length;
const VISIBILITY_MS = 10_000;

async function findRuns(stage: Stage): Promise<string> {
  const { runs, screen, signal, observer } = stage;
  const isWhole = (list: readonly RolloutRun[]) =>
    list.length >= RUNS && list.every(({ status }) => status !== 'RUNNING');
  const found = await runs.listUntil(isWhole, VISIBILITY_MS, signal);
  const workloads = [...new Set([...Object.keys(STORIES), ...found.map(({ workload }) => workload)])];
  const list = workloads.flatMap((workload) => found.filter((run) => run.workload === workload));
  const images = observer.imagesOfRevisions();
  const tagOf = ({ revision }: RolloutRun) => images.get(revision)?.split(':').at(-1) ?? '?';
  screen.quote(
    formatTable<RolloutRun>(
      [
        { title: 'WORKLOAD', value: ({ workload }) => workload },
        { title: 'REVISION', value: ({ revision }) => revision },
        { title: 'IMAGE', value: (run) => (run.workload === WEB ? `web:${tagOf(run)}` : '') },
        { title: 'STATUS', value: ({ status }) => status },
        { title: 'OUTCOME', value: ({ outcome }) => outcome },
        {
          title: 'TOOK',
          value: ({ startedAt, closedAt }) => (closedAt === undefined ? '' : seconds(closedAt - startedAt)),
        },
        { title: 'TEMPORAL UI', value: ({ url }) => url },
      ],
      list,
    ),
  );
  for (const workload of workloads) {
    const told = list
      .filter((run) => run.workload === workload)
      .map((run) => (workload === WEB ? `${tagOf(run)} ${run.outcome}` : run.outcome));
    check(
      told.join(', ') === (STORIES[workload] ?? []).join(', '),
      `Temporal tells another story of ${workload}: ${told.join(', ') || 'no run'}`,
    );
  }
  return `${String(list.length)} runs, 1 superseded, 1 aborted, the others succeeded`;
}

export const STEP_OF_TEMPORAL: Step = {
  name: 'Temporal',
  title: 'Every rollout is found in Temporal',
  expected: `${String(RUNS)} runs of four workloads, each with its outcome`,
  play: findRuns,
};
