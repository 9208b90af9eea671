/** Rollouts that something happens to: a stuck one that a good one supersedes, a worker that is killed. */

import { setTimeout as delay } from 'node:timers/promises';

import { atMostInEveryRun } from './bars.ts';
import type { Figures } from './figures.ts';
import { figuresOf, secondsUntilWrite } from './figures-of.ts';
import type { MeasuredSet } from './measured-set.ts';
import { oneSided } from './one-sided.ts';
import type { Scenario } from './scenario.ts';
import type { FairleadSide } from './sides.ts';

/** `local/stages/pods.yaml`: cannot be pulled. */
const BAD_IMAGE = 'app:bad';
/** A rollout that can go no further is left alone for so long before the good one comes. */
const STUCK_MS = 2_000;

/** A revision that takes the whole budget and never gets ready, then a good one. */
async function supersede(set: MeasuredSet): Promise<Figures> {
  const budget = set.maxUnavailable;
  await set.roll({
    image: BAD_IMAGE,
    goal: { what: 'the budget is used up', reached: ({ updated }) => updated === budget },
  });
  await delay(STUCK_MS);
  const stuckRun = await set.newestRun();
  const good = await set.roll();
  return {
    ...figuresOf([good], set.replicas),
    firstWriteSeconds: secondsUntilWrite(good, good.appliedAt),
    handoverSeconds: ((await set.closedAt(stuckRun)) - good.appliedAt) / 1000,
  };
}

/** SIGKILL when a third of the pods is new; another worker is started at once. */
async function crash(set: MeasuredSet, side: FairleadSide): Promise<Figures> {
  const third = Math.round(set.replicas / 3);
  let killedAt = 0;
  let startedAt = 0;
  const measurement = await set.roll({
    meanwhile: async () => {
      await set.tally.until('a third is new', ({ updatedReady }) => updatedReady >= third, 120_000);
      killedAt = Date.now();
      startedAt = await side.replaceWorker();
      await side.untilLeading();
    },
  });
  return {
    ...figuresOf([measurement], set.replicas),
    resumedSeconds: secondsUntilWrite(measurement, startedAt),
    outageSeconds: secondsUntilWrite(measurement, killedAt),
  };
}

export const DISTURBED: readonly Scenario[] = [
  oneSided({
    name: 'supersede',
    title: 'A good revision supersedes one that is stuck',
    pods: 100,
    simulation: { 'ready-delay': '2s' },
    conditions: 'the whole budget held by a revision whose image does not exist, then a good one',
    rollOnce: supersede,
    bars: (samples) => [atMostInEveryRun(samples, 'firstWriteSeconds', 5, 'it waits for no broken pod')],
  }),
  oneSided({
    name: 'crash',
    title: 'The worker is killed in the middle of a rollout',
    pods: 100,
    simulation: { 'ready-delay': '2s' },
    conditions:
      'ready 2 s after their start; SIGKILL when a third of them is new, another worker started at once',
    rollOnce: crash,
    bars: (samples) => [
      atMostInEveryRun(samples, 'resumedSeconds', 10, 'nobody has to do anything'),
      atMostInEveryRun(samples, 'podDeletesPerPod', 1, 'no more deletes than pods'),
    ],
  }),
];
