/** Scenarios of our side alone: what the built-in controller does not do, or where only we have a bar. */

import { atMost, atMostInEveryRun, medianOf } from './bars.ts';
import type { FigureName, Figures } from './figures.ts';
import { figuresOf, longestGap } from './figures-of.ts';
import { MeasuredSet } from './measured-set.ts';
import type { SetShape } from './measured-set.ts';
import type { Bar, Outcome, Sample, Scenario, ScenarioContext } from './scenario.ts';
import { sized, tenth } from './scenario.ts';
import { FairleadSide } from './sides.ts';

const BATCH_SIZES = [
  ['writesPerPodOf5', 5],
  ['writesPerPodOf10', 10],
  ['writesPerPodOf25', 25],
  ['writesPerPodOf50', 50],
] as const;

interface OneSided {
  readonly name: string;
  readonly title: string;
  readonly pods: number;
  readonly inPlace?: boolean;
  readonly simulation: Readonly<Record<string, string>>;
  readonly conditions: string;
  /** One measured run. @default one roll of all pods */
  readonly rollOnce?: (set: MeasuredSet, side: FairleadSide) => Promise<Figures>;
  readonly bars: (samples: readonly Sample[]) => readonly Bar[];
}

/** Rolls a set of ours `runs` times. */
export function oneSided(definition: OneSided): Scenario {
  const { name, title, rollOnce = roll } = definition;
  const run = async (context: ScenarioContext): Promise<Outcome> => {
    const { arena, runs } = context;
    const pods = sized(context, definition.pods);
    const shape: SetShape = {
      kind: 'StatefulSet',
      replicas: pods,
      maxUnavailable: tenth(pods),
      inPlace: definition.inPlace ?? false,
      simulation: definition.simulation,
    };
    const side = await FairleadSide.start(arena, `${name}-fairlead`);
    try {
      arena.say(`${name}: a set of ${String(pods)} pods`);
      const set = await MeasuredSet.deploy(arena, side, shape);
      const samples: Sample[] = [];
      for (let number = 1; number <= runs; number += 1) {
        const figures = await rollOnce(set, side);
        samples.push({ side: 'fairlead', figures });
        arena.say(`${name}: run ${String(number)} of ${String(runs)} is over`);
      }
      await set.remove();
      const conditions = `${String(pods)} pods, ${String(shape.maxUnavailable)} at a time, ${definition.conditions}`;
      return { conditions, samples, bars: definition.bars(samples) };
    } finally {
      await side.stop();
    }
  };
  return { name, title, run };
}

async function roll(set: MeasuredSet): Promise<Figures> {
  const measurement = await set.roll();
  const figures = figuresOf([measurement], set.replicas);
  return { ...figures, longestGapSeconds: longestGap(measurement.writes) };
}

/** The same set, more and more pods at a time. */
async function rollByBatchSize(set: MeasuredSet): Promise<Figures> {
  const figures: Partial<Record<FigureName, number>> = {};
  for (const [name, percent] of BATCH_SIZES) {
    const maxUnavailable = Math.max(1, Math.round((set.replicas * percent) / 100));
    const measurement = await set.roll({ maxUnavailable });
    figures[name] = figuresOf([measurement], set.replicas).writesPerPod ?? 0;
  }
  return figures;
}

/** Each needs fewer writes a pod than the one before. */
function falling(samples: readonly Sample[]): Bar {
  const medians = BATCH_SIZES.map(([name]) => medianOf(samples, 'fairlead', name));
  return {
    what: 'API writes per pod fall with the size of the batch',
    measured: medians.map((median) => median.toFixed(2)).join(', '),
    met: medians.every((median, index) => index === 0 || median < (medians[index - 1] ?? 0)),
  };
}

export const ONE_SIDED: readonly Scenario[] = [
  oneSided({
    name: 'batch-sizes',
    title: 'API writes per pod by the size of the batch',
    pods: 100,
    simulation: { 'ready-delay': '2s' },
    conditions: 'then 5, 10, 25 and 50; ready 2 s after their start',
    rollOnce: rollByBatchSize,
    bars: (samples) => [falling(samples)],
  }),
  oneSided({
    name: 'in-place-100',
    title: '100 pods in place, 10 at a time, no restart delay',
    pods: 100,
    inPlace: true,
    simulation: { linger: '0s', 'restart-delay': '0s' },
    conditions: 'updated in place, containers ready at once',
    bars: (samples) => [
      // Kruise's way needs three; what the set itself costs comes on top.
      atMost(samples, 'podPatchesPerPod', 3),
      atMost(samples, 'writesPerPod', 3),
      atMost(samples, 'seconds', 3.6, 'half of what OpenKruise took on a machine of this size: 7.2 to 7.8 s'),
    ],
  }),
  oneSided({
    name: 'actions-1000',
    title: 'Temporal actions of 1,000 pods, 10 % at a time',
    pods: 1_000,
    simulation: { 'ready-delay': '2s' },
    conditions: 'ready 2 s after their start',
    bars: (samples) => [atMost(samples, 'actions', 60)],
  }),
  oneSided({
    name: 'statefulset-10000',
    title: '10,000 pods, 10 % at a time, each ready after 2 s',
    pods: 10_000,
    simulation: { 'ready-delay': '2s' },
    conditions: 'ready 2 s after their start',
    bars: (samples) => [
      atMostInEveryRun(samples, 'maxRssMiB', 500, 'it may have 768'),
      atMostInEveryRun(samples, 'longestGapSeconds', 3, 'without a gap: pods are ready after 2 s'),
    ],
  }),
];
