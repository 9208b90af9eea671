/** Both sides roll a set of their own in turn, in one cluster: built-in, ours, built-in, ours, … */

import { createHash } from 'node:crypto';

import { addNodes } from '../local/nodes.ts';
import type { WorkloadKind } from '../planners/workload.ts';
import type { Arena } from './arena.ts';
import { atMost, atMostBuiltIn } from './bars.ts';
import type { Figures } from './figures.ts';
import { figuresOf, figuresOfFix } from './figures-of.ts';
import { MeasuredSet } from './measured-set.ts';
import type { SetShape } from './measured-set.ts';
import type { Bar, Outcome, Sample, Scenario, ScenarioContext } from './scenario.ts';
import { sized, tenth } from './scenario.ts';
import { SET_NAME } from './set-manifest.ts';
import { FairleadSide, builtInSide } from './sides.ts';

interface SideBySide {
  readonly name: string;
  readonly title: string;
  /** @default 'StatefulSet' */
  readonly kind?: WorkloadKind;
  readonly pods: number;
  readonly simulation: Readonly<Record<string, string>>;
  readonly conditions: string;
  /** One measured run. @default one roll of all pods */
  readonly rollOnce?: (set: MeasuredSet) => Promise<Figures>;
  readonly bars: (samples: readonly Sample[]) => readonly Bar[];
}

const NEVER_READY_PERCENT = 5;
const READY_AFTER_2_S = { 'ready-delay': '2s' };

function sideBySide(definition: SideBySide): Scenario {
  const { name, title, rollOnce = roll, kind = 'StatefulSet' } = definition;
  const run = async (context: ScenarioContext): Promise<Outcome> => {
    const { arena, runs } = context;
    const pods = sized(context, definition.pods);
    // A pod for each node: the nodes that are missing are made, and stay.
    if (kind === 'DaemonSet') await ensureNodes(arena, pods);
    const shape: SetShape = {
      kind,
      replicas: pods,
      maxUnavailable: tenth(pods),
      inPlace: false,
      simulation: definition.simulation,
    };
    const ours = await FairleadSide.start(arena, `${name}-fairlead`);
    try {
      arena.say(`${name}: two ${kind}s of ${String(pods)} pods`);
      const builtIn = await MeasuredSet.deploy(arena, builtInSide(arena, `${name}-built-in`, kind), shape);
      const sets = [builtIn, await MeasuredSet.deploy(arena, ours, shape)];
      const samples: Sample[] = [];
      for (let number = 1; number <= runs; number += 1) {
        for (const set of sets) {
          const figures = await rollOnce(set);
          samples.push({ side: set.side.name, figures });
          const seconds = figures.seconds ?? figures.brokenSeconds ?? figures.healSeconds ?? 0;
          arena.say(`${name}: run ${String(number)} of ${set.side.name}: ${seconds.toFixed(2)} s`);
        }
      }
      for (const set of sets) await set.remove();
      const conditions = `${String(pods)} pods, ${String(shape.maxUnavailable)} at a time, ${definition.conditions}`;
      return { conditions, samples, bars: definition.bars(samples) };
    } finally {
      await ours.stop();
    }
  };
  return { name, title, run };
}

async function ensureNodes({ controlPlane: { client } }: Arena, count: number): Promise<void> {
  const { items } = await client.list({ group: '', version: 'v1', resource: 'nodes' });
  await addNodes(client, Math.max(0, count - items.length));
}

async function roll(set: MeasuredSet): Promise<Figures> {
  return figuresOf([await set.roll()], set.replicas);
}

/** A revision of which some pods never get ready; when only those are left, another one without that fault. */
async function rollBrokenThenFixed(set: MeasuredSet): Promise<Figures> {
  const never = neverReadyOf(set.replicas);
  const broken = await set.roll({
    simulation: { ...READY_AFTER_2_S, 'never-ready': `${String(NEVER_READY_PERCENT)}%` },
    goal: {
      what: `every pod is new, and ready but for ${String(never)}`,
      reached: ({ all, updated, updatedReady }) =>
        all === set.replicas && updated === set.replicas && updatedReady === set.replicas - never,
    },
  });
  const fixed = await set.roll({ simulation: READY_AFTER_2_S });
  return figuresOfFix(broken, fixed, set.replicas);
}

/** Pods that are killed by hand, one after the other. */
async function killFive(set: MeasuredSet): Promise<Figures> {
  const seconds: number[] = [];
  for (let number = 1; number <= 5; number += 1) seconds.push(await set.killOne());
  return { healSeconds: Math.max(...seconds) };
}

/** How many pods of a set the simulation leaves unready (`local/stages/pods.yaml`: it draws lots by name). */
function neverReadyOf(replicas: number): number {
  const lots = Array.from({ length: replicas }, (_, ordinal) => {
    const digits = createHash('sha256')
      .update(`${SET_NAME}-${String(ordinal)}`)
      .digest('hex')
      .slice(0, 12);
    return Number(BigInt(`0x${digits}`) % 1000n);
  });
  return lots.filter((lot) => lot < 10 * NEVER_READY_PERCENT).length;
}

export const SIDE_BY_SIDE: readonly Scenario[] = [
  sideBySide({
    name: 'statefulset-100',
    title: '100 pods, 10 at a time, each ready after 2 s',
    pods: 100,
    simulation: READY_AFTER_2_S,
    conditions: 'ready 2 s after their start',
    bars: (samples) => [atMostBuiltIn(samples, 'seconds'), atMostBuiltIn(samples, 'writesPerPod')],
  }),
  sideBySide({
    name: 'statefulset-100-uneven',
    title: '100 pods, 10 at a time, ready after 0.5 to 10 s',
    pods: 100,
    simulation: { 'ready-delay': '500..10000ms' },
    conditions: 'ready 0.5 to 10 s after their start (by name: the same on both sides)',
    bars: (samples) => [atMostBuiltIn(samples, 'seconds'), atMostBuiltIn(samples, 'writesPerPod')],
  }),
  sideBySide({
    name: 'statefulset-100-never-ready',
    title: '100 pods, 10 at a time, some of them never ready, then a fix',
    pods: 100,
    simulation: READY_AFTER_2_S,
    conditions: `ready 2 s after their start, about ${String(NEVER_READY_PERCENT)} % never (by name), then a revision where all of them are`,
    rollOnce: rollBrokenThenFixed,
    bars: (samples) => [
      atMostBuiltIn(samples, 'brokenSeconds'),
      atMostBuiltIn(samples, 'fixSeconds'),
      atMostBuiltIn(samples, 'writesPerPod'),
    ],
  }),
  sideBySide({
    name: 'statefulset-5000',
    title: '5,000 pods, 10 % at a time, each ready after 2 s',
    pods: 5_000,
    simulation: READY_AFTER_2_S,
    conditions: 'ready 2 s after their start',
    bars: (samples) => [atMostBuiltIn(samples, 'seconds'), atMostBuiltIn(samples, 'writesPerPod')],
  }),
  sideBySide({
    name: 'daemonset-100',
    title: 'A DaemonSet on 100 nodes, 10 at a time, each ready after 2 s',
    kind: 'DaemonSet',
    pods: 100,
    simulation: READY_AFTER_2_S,
    conditions: 'one on each node, ready 2 s after their start',
    bars: (samples) => [atMostBuiltIn(samples, 'seconds'), atMostBuiltIn(samples, 'writesPerPod')],
  }),
  sideBySide({
    name: 'daemonset-heal',
    title: 'A pod of a DaemonSet is killed, from then until its successor is healthy',
    kind: 'DaemonSet',
    pods: 100,
    simulation: READY_AFTER_2_S,
    conditions: 'one on each node, ready 2 s after their start; five are killed, one after the other',
    rollOnce: killFive,
    bars: (samples) => [
      atMost(samples, 'healSeconds', 5, 'seed 000: from killed to recreated and healthy < 5 s'),
      atMostBuiltIn(samples, 'healSeconds'),
    ],
  }),
  sideBySide({
    name: 'deployment-100',
    title: 'A Deployment of 100 pods, 10 at a time, each ready after 2 s',
    kind: 'Deployment',
    pods: 100,
    simulation: READY_AFTER_2_S,
    conditions: 'maxUnavailable 10, no surge, ready 2 s after their start',
    bars: (samples) => [atMostBuiltIn(samples, 'seconds'), atMostBuiltIn(samples, 'writesPerPod')],
  }),
];
