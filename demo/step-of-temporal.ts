/** Last step: every rollout of the story is found in Temporal, each closed as it should be. */

import { formatTable } from '../cli/table.ts';
import type { RolloutRun } from './rollout-runs.ts';
import type { Stage } from './stage.ts';
import type { Step } from './step.ts';
import { check } from './step.ts';
import { seconds } from './steps-of-commits.ts';

/** Image and end of each run, in the order of the story. */
const STORY = [
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
] as const;
const VISIBILITY_MS = 10_000;

async function findRuns(stage: Stage): Promise<string> {
  const { runs, screen, signal, observer } = stage;
  const isWhole = (list: readonly RolloutRun[]) =>
    list.length >= STORY.length && list.every(({ status }) => status !== 'RUNNING');
  const list = await runs.listUntil(isWhole, VISIBILITY_MS, signal);
  const images = observer.imagesOfRevisions();
  const tagOf = ({ revision }: RolloutRun) => images.get(revision)?.split(':').at(-1) ?? '?';
  screen.quote(
    formatTable<RolloutRun>(
      [
        { title: 'REVISION', value: ({ revision }) => revision },
        { title: 'IMAGE', value: (run) => `web:${tagOf(run)}` },
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
  const told = list.map((run) => `${tagOf(run)} ${run.outcome}`);
  check(told.join(', ') === STORY.join(', '), `Temporal tells another story: ${told.join(', ')}`);
  return `${String(list.length)} runs, 1 superseded, 1 aborted, the others succeeded`;
}

export const STEP_OF_TEMPORAL: Step = {
  name: 'Temporal',
  title: 'Every rollout is found in Temporal',
  expected: `${String(STORY.length)} runs, each with its outcome`,
  play: findRuns,
};
