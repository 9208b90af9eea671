/** Whole rollouts to crash in. Each has a clean run's end that is known beforehand. */

import { expect } from '@jest/globals';

import type { DaemonSetDescription } from '../support/daemonset-manifest.ts';
import type { DeploymentDescription } from '../support/deployment-manifest.ts';
import type { DescribedKindName, Descriptions } from '../support/described-kinds.ts';
import { OwnNodes } from '../support/own-nodes.ts';
import { imageOf, isPodReady } from '../support/scene.ts';
import type { Scene } from '../support/scene.ts';
import type { StatefulSetDescription } from '../support/statefulset-manifest.ts';
import { COMMIT_SCENARIOS } from './commit-scenarios.ts';
import { CONTROLLER_SCENARIOS } from './controller-scenarios.ts';
import { PATIENCE_MS, textOf } from './crash-play.ts';
import type { CrashScenario } from './crash-play.ts';
import { endState, startState } from './end-state.ts';
import type { EndState } from './end-state.ts';
import { moveInNeighbours } from './neighbours.ts';

type AnyScene = Scene<DescribedKindName>;

const SOON_READY = { 'sim.fairlead.dev/ready-delay': '200ms' };
const FOUR: Partial<StatefulSetDescription> = {
  replicas: 4,
  maxUnavailable: 2,
  templateAnnotations: SOON_READY,
};
const AGENT: Partial<DaemonSetDescription> = { maxUnavailable: 2, templateAnnotations: SOON_READY };

/** Small: every step is a write of its own, and every one of them is a place to crash at. */
const API: Partial<DeploymentDescription> = { replicas: 2, templateAnnotations: SOON_READY };

/** One pod after the other, none missing at any time: the steps are the same in every run. */
function surging(maxSurge: number | string): object {
  return { type: 'RollingUpdate', rollingUpdate: { maxSurge, maxUnavailable: 0 } };
}

interface Plot<K extends DescribedKindName> extends Pick<
  CrashScenario<EndState>,
  'name' | 'alone' | 'workloadApi' | 'check'
> {
  readonly description: Partial<Descriptions[K]>;
  /** So many nodes of its own. */
  readonly nodes?: number;
  readonly prepare: (scene: AnyScene) => Promise<void>;
  readonly act: (scene: AnyScene) => Promise<void>;
}

function scenario<K extends DescribedKindName>(kind: K, plot: Plot<K>): CrashScenario<EndState> {
  const { name, alone, workloadApi, description, nodes: count, prepare, act, check } = plot;
  return {
    name: `${kind}: ${name}`,
    kind,
    ...(alone && { alone }),
    ...(workloadApi && { workloadApi }),
    check,
    definition: JSON.stringify({
      kind,
      workloadApi,
      description,
      nodes: count,
      prepare: textOf(prepare),
      act: textOf(act),
    }),
    async open(stage, owner) {
      // Of one owner there are two plays for a while: the next is there before this one is removed.
      const own = `${owner}-${Math.random().toString(36).slice(2, 6)}`;
      const nodes = count === undefined ? undefined : await OwnNodes.create(stage.cluster.client, own, count);
      const scene = await stage.sceneOf(kind, 'crash', description, { owner, nodes });
      return {
        namespace: scene.namespace,
        alias: nodes?.alias.bind(nodes),
        prepare: async () => await prepare(scene),
        async before() {
          const start = await startState(scene);
          return async () => await endState(scene, start);
        },
        act: async () => await act(scene),
        remove: async () => await stage.remove(scene),
      };
    },
  };
}

async function deploy(playing: AnyScene): Promise<void> {
  await playing.apply({});
  await playing.untilDone(PATIENCE_MS);
}

async function update(playing: AnyScene): Promise<void> {
  await playing.apply({ image: 'app:2' });
  await playing.untilDone(PATIENCE_MS);
}

/** So many of four pods are at a revision that never gets ready, and an operator goes back. */
async function goBack(playing: AnyScene, taken = 2): Promise<void> {
  await playing.apply({ image: 'app:bad' });
  await playing.untilPods(
    `${String(taken)} at app:bad`,
    (pods) => pods.filter((pod) => imageOf(pod) === 'app:bad').length === taken,
    PATIENCE_MS,
  );
  await playing.untilUpdated(taken, PATIENCE_MS);
  await playing.runs.signal('abort');
  await playing.untilPods(
    'four ready pods at app:1 again',
    (pods) => pods.length === 4 && pods.every((pod) => imageOf(pod) === 'app:1' && isPodReady(pod)),
    PATIENCE_MS,
  );
  await playing.untilReady(PATIENCE_MS);
  await playing.runs.until(
    'aborted, rolled back, none open',
    (runs) => runs.length === 3 && runs.every(({ status }) => status !== 'RUNNING'),
    PATIENCE_MS,
  );
}

/** So many pods at app:2, none of them there before. */
function checkAllAnew(count: number): CrashScenario<EndState>['check'] {
  return (end) => {
    expect(end.pods.map(({ images, kept }) => [images.join(), kept])).toEqual(
      Array.from({ length: count }, () => ['app:2', false]),
    );
    expect(end.runs).toEqual(['COMPLETED Succeeded']);
  };
}

/** Four pods, the same ones, at these images after so many restarts. */
function checkInPlace(images: readonly string[], restarts: Readonly<Record<string, number>>) {
  return (end: EndState) => {
    const pod = expect.objectContaining({ images, kept: true, restarts, gate: 'True', marked: false });
    expect(end.pods).toEqual([pod, pod, pod, pod]);
    expect(end.runs).toEqual(['COMPLETED Succeeded']);
  };
}

function checkBack(end: EndState, taken = 2): void {
  expect(end.pods.map(({ images, kept }) => [images.join(), kept])).toEqual(
    Array.from({ length: 4 }, (_, ordinal) => ['app:1', ordinal < 4 - taken]),
  );
  expect(end.runs).toEqual(['COMPLETED Aborted', 'COMPLETED Succeeded']);
  expect(end.set.pinned).toMatchObject({ verb: 'abort' });
}

const RECREATE: Plot<'StatefulSet'> = {
  name: 'recreate',
  description: FOUR,
  prepare: deploy,
  act: update,
  check: checkAllAnew(4),
};
const IN_PLACE: Plot<'StatefulSet'> = {
  name: 'in place',
  description: { ...FOUR, podUpdatePolicy: 'InPlaceOnly', sidecars: { log: 'log:1' } },
  prepare: deploy,
  act: update,
  check: checkInPlace(['app:2', 'log:1'], { main: 1, log: 0 }),
};
const RECREATE_DAEMONS: Plot<'DaemonSet'> = {
  name: 'recreate',
  description: AGENT,
  nodes: 4,
  prepare: deploy,
  act: update,
  check: checkAllAnew(4),
};

const WORKLOAD_SCENARIOS: readonly CrashScenario<EndState>[] = [
  scenario('StatefulSet', {
    name: 'first revision',
    description: { ...FOUR, replicas: 3, claim: 'data', podUpdatePolicy: 'InPlaceIfPossible' },
    prepare: () => Promise.resolve(),
    act: deploy,
    check(end) {
      expect(end.pods.map(({ name }) => name)).toEqual(['web-0', 'web-1', 'web-2']);
      expect(end.claims).toEqual(['data-web-0', 'data-web-1', 'data-web-2']);
      expect(end.runs).toEqual(['COMPLETED Succeeded']);
    },
  }),
  scenario('StatefulSet', RECREATE),
  scenario('StatefulSet', IN_PLACE),
  scenario('StatefulSet', {
    name: 'rollback',
    description: FOUR,
    prepare: deploy,
    act: goBack,
    check: checkBack,
  }),
  scenario('StatefulSet', { ...IN_PLACE, name: 'in place, apps/v1', workloadApi: 'apps/v1' }),
  scenario('StatefulSet', {
    name: 'rollback, OrderedReady, apps/v1',
    workloadApi: 'apps/v1',
    description: { ...FOUR, parallel: false, maxUnavailable: 1 },
    prepare: deploy,
    act: async (playing) => await goBack(playing, 1),
    check: (end) => checkBack(end, 1),
  }),
  scenario('DaemonSet', RECREATE_DAEMONS),
  scenario('DaemonSet', {
    name: 'surge',
    description: { ...AGENT, maxUnavailable: 0, maxSurge: 2 },
    nodes: 4,
    prepare: deploy,
    act: update,
    check: checkAllAnew(4),
  }),
  scenario('DaemonSet', {
    name: 'in place',
    description: { ...AGENT, podUpdatePolicy: 'InPlaceOnly' },
    nodes: 4,
    prepare: deploy,
    act: update,
    check: checkInPlace(['app:2'], { main: 1 }),
  }),
  scenario('DaemonSet', {
    name: 'rollback',
    description: AGENT,
    nodes: 4,
    prepare: deploy,
    act: goBack,
    check: checkBack,
  }),
  scenario('DaemonSet', {
    name: 'pre-pull',
    description: { ...AGENT, prePullNodes: 1 },
    nodes: 4,
    prepare: deploy,
    act: update,
    // Four pods: of those that pulled nothing is left.
    check: checkAllAnew(4),
  }),
  scenario('DaemonSet', {
    name: 'drain',
    description: { ...AGENT, maxUnavailable: 1, drainTimeoutSeconds: 60 },
    nodes: 3,
    alone: true,
    async prepare(playing) {
      await deploy(playing);
      await moveInNeighbours(playing, 3);
      await playing.nodes?.cordon(0);
    },
    async act(playing) {
      await update(playing);
      await playing.nodes?.until(
        'nothing cordoned but what a person cordoned',
        (nodes) => nodes.filter(({ spec }) => spec?.unschedulable === true).length === 1,
        PATIENCE_MS,
      );
    },
    check(end) {
      checkAllAnew(3)(end);
      expect(end.nodes).toEqual([
        { name: 'node-0', cordoned: true, marked: false },
        { name: 'node-1', cordoned: false, marked: false },
        { name: 'node-2', cordoned: false, marked: false },
      ]);
    },
  }),
  scenario('Deployment', {
    name: 'rolling update',
    description: { ...API, strategy: surging(1) },
    prepare: deploy,
    act: update,
    check: checkAllAnew(2),
  }),
  scenario('Deployment', {
    name: 'recreate',
    description: { ...API, strategy: { type: 'Recreate' } },
    prepare: deploy,
    act: update,
    check: checkAllAnew(2),
  }),
  scenario('Deployment', {
    name: 'scaled, then rolled back',
    description: { ...API, strategy: surging('50%') },
    prepare: deploy,
    /** One pod of a revision that never gets ready is there, both parts grow (P8), and an operator goes back. */
    async act(playing) {
      await playing.apply({ image: 'app:bad' });
      await playing.untilUpdated(1, PATIENCE_MS);
      await playing.apply({ replicas: 4 });
      await playing.untilPods(
        'four ready pods at app:1, two at app:bad',
        (pods) =>
          pods.filter((pod) => imageOf(pod) === 'app:1' && isPodReady(pod)).length === 4 &&
          pods.filter((pod) => imageOf(pod) === 'app:bad').length === 2,
        PATIENCE_MS,
      );
      await playing.untilUpdated(2, PATIENCE_MS);
      await playing.runs.signal('abort');
      await playing.untilPods(
        'four ready pods at app:1 again',
        (pods) => pods.length === 4 && pods.every((pod) => imageOf(pod) === 'app:1' && isPodReady(pod)),
        PATIENCE_MS,
      );
      await playing.untilReady(PATIENCE_MS);
      await playing.runs.until(
        'aborted, rolled back, none open',
        (runs) => runs.length === 3 && runs.every(({ status }) => status !== 'RUNNING'),
        PATIENCE_MS,
      );
    },
    check(end) {
      expect(end.pods.map(({ images, kept }) => [images.join(), kept])).toEqual([
        ['app:1', false],
        ['app:1', false],
        ['app:1', true],
        ['app:1', true],
      ]);
      expect(end.runs).toEqual(['COMPLETED Aborted', 'COMPLETED Succeeded']);
      expect(end.set.pinned).toMatchObject({ verb: 'abort' });
    },
  }),
];

/**
 * Pods that are ready so late that one too many is seen to be missing, however far apart the deletes come: a busy machine slows them
 * down, and a pod that is ready again before the last of them hides it.
 */
export const LATE_READY: readonly CrashScenario[] = [
  scenario('StatefulSet', late(RECREATE)),
  scenario('StatefulSet', late(IN_PLACE)),
  scenario('DaemonSet', late(RECREATE_DAEMONS)),
];

function late<K extends 'StatefulSet' | 'DaemonSet'>(plot: Plot<K>): Plot<K> {
  const templateAnnotations = { 'sim.fairlead.dev/ready-delay': '8s' };
  return { ...plot, description: { ...plot.description, templateAnnotations } };
}

export const CRASH_SCENARIOS: readonly CrashScenario[] = [
  ...WORKLOAD_SCENARIOS,
  ...CONTROLLER_SCENARIOS,
  ...COMMIT_SCENARIOS,
];

/** @throws Error if there is none of that name */
export function crashScenario(name: string): CrashScenario {
  const found = CRASH_SCENARIOS.find((one) => one.name === name);
  if (found === undefined) {
    throw new Error(`no scenario ${name}`);
  }
  return found;
}
