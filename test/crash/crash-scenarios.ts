/** Whole rollouts to crash in. Each has a clean run's end that is known beforehand. */

import { expect } from '@jest/globals';

import type { DaemonSetDescription } from '../support/daemonset-manifest.ts';
import type { DescribedKindName, Descriptions } from '../support/described-kinds.ts';
import { OwnNodes } from '../support/own-nodes.ts';
import { imageOf, isPodReady } from '../support/scene.ts';
import type { Scene } from '../support/scene.ts';
import type { Stage } from '../support/stage.ts';
import type { StatefulSetDescription } from '../support/statefulset-manifest.ts';
import type { EndState } from './end-state.ts';
import { moveInNeighbours } from './neighbours.ts';

type AnyScene = Scene<DescribedKindName>;

export interface CrashScenario {
  readonly name: string;
  /** A namespace of its own, and nodes if it needs any; nothing is applied yet. */
  readonly open: (stage: Stage, owner: string) => Promise<AnyScene>;
  /** Its worker looks after all namespaces: no other may run on the control plane meanwhile. */
  readonly alone?: true;
  /** Brings about what the rollout starts from; the worker is up. */
  readonly prepare: (scene: AnyScene) => Promise<void>;
  /** The rollout: from the user's write until everything is done. */
  readonly act: (scene: AnyScene) => Promise<void>;
  /** What must be so at the end of a clean run: the others are compared with it. */
  readonly check: (end: EndState) => void;
}

/** A crash costs some 10 s of waiting for the Lease, and several scenarios run at a time. */
const PATIENCE_MS = 120_000;
const SOON_READY = { 'sim.fairlead.dev/ready-delay': '200ms' };
const FOUR: Partial<StatefulSetDescription> = {
  replicas: 4,
  maxUnavailable: 2,
  templateAnnotations: SOON_READY,
};
const AGENT: Partial<DaemonSetDescription> = { maxUnavailable: 2, templateAnnotations: SOON_READY };

/** How a scenario opens its scene; with a number of nodes, on so many of its own. */
function scene<K extends DescribedKindName>(
  kind: K,
  description: Partial<Descriptions[K]>,
  nodes?: number,
): CrashScenario['open'] {
  return async (stage, owner) =>
    await stage.sceneOf(kind, 'crash', description, {
      owner,
      nodes: nodes === undefined ? undefined : await OwnNodes.create(stage.cluster.client, owner, nodes),
    });
}

async function deploy(playing: AnyScene): Promise<void> {
  await playing.apply({});
  await playing.untilDone(PATIENCE_MS);
}

async function update(playing: AnyScene): Promise<void> {
  await playing.apply({ image: 'app:2' });
  await playing.untilDone(PATIENCE_MS);
}

/** Two of four pods are at a revision that never gets ready, and an operator goes back. */
async function goBack(playing: AnyScene): Promise<void> {
  await playing.apply({ image: 'app:bad' });
  await playing.untilPods(
    'two pods at app:bad',
    (pods) => pods.filter((pod) => imageOf(pod) === 'app:bad').length === 2,
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
}

/** So many pods at app:2, none of them there before. */
function checkAllAnew(count: number): CrashScenario['check'] {
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

function checkBack(end: EndState): void {
  expect(end.pods.map(({ images, kept }) => [images.join(), kept])).toEqual([
    ['app:1', true],
    ['app:1', true],
    ['app:1', false],
    ['app:1', false],
  ]);
  expect(end.runs).toEqual(['COMPLETED Aborted', 'COMPLETED Succeeded']);
  expect(end.set.pinned).toMatchObject({ verb: 'abort' });
}

export const CRASH_SCENARIOS: readonly CrashScenario[] = [
  {
    name: 'first revision',
    open: scene('StatefulSet', { ...FOUR, replicas: 3, claim: 'data', podUpdatePolicy: 'InPlaceIfPossible' }),
    prepare: () => Promise.resolve(),
    act: deploy,
    check(end) {
      expect(end.pods.map(({ name }) => name)).toEqual(['web-0', 'web-1', 'web-2']);
      expect(end.claims).toEqual(['data-web-0', 'data-web-1', 'data-web-2']);
      expect(end.runs).toEqual(['COMPLETED Succeeded']);
    },
  },
  {
    name: 'recreate',
    open: scene('StatefulSet', FOUR),
    prepare: deploy,
    act: update,
    check: checkAllAnew(4),
  },
  {
    name: 'in place',
    open: scene('StatefulSet', { ...FOUR, podUpdatePolicy: 'InPlaceOnly', sidecars: { log: 'log:1' } }),
    prepare: deploy,
    act: update,
    check: checkInPlace(['app:2', 'log:1'], { main: 1, log: 0 }),
  },
  {
    name: 'rollback',
    open: scene('StatefulSet', FOUR),
    prepare: deploy,
    act: goBack,
    check: checkBack,
  },
  {
    name: 'DaemonSet: recreate',
    open: scene('DaemonSet', AGENT, 4),
    prepare: deploy,
    act: update,
    check: checkAllAnew(4),
  },
  {
    name: 'DaemonSet: surge',
    open: scene('DaemonSet', { ...AGENT, maxUnavailable: 0, maxSurge: 2 }, 4),
    prepare: deploy,
    act: update,
    check: checkAllAnew(4),
  },
  {
    name: 'DaemonSet: in place',
    open: scene('DaemonSet', { ...AGENT, podUpdatePolicy: 'InPlaceOnly' }, 4),
    prepare: deploy,
    act: update,
    check: checkInPlace(['app:2'], { main: 1 }),
  },
  {
    name: 'DaemonSet: rollback',
    open: scene('DaemonSet', AGENT, 4),
    prepare: deploy,
    act: goBack,
    check: checkBack,
  },
  {
    name: 'DaemonSet: pre-pull',
    open: scene('DaemonSet', { ...AGENT, prePullNodes: 1 }, 4),
    prepare: deploy,
    act: update,
    // Four pods: of those that pulled nothing is left.
    check: checkAllAnew(4),
  },
  {
    name: 'DaemonSet: drain',
    open: scene('DaemonSet', { ...AGENT, maxUnavailable: 1, drainTimeoutSeconds: 60 }, 3),
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
  },
];

/** @throws Error if there is none of that name */
export function crashScenario(name: string): CrashScenario {
  const found = CRASH_SCENARIOS.find((scenario) => scenario.name === name);
  if (found === undefined) {
    throw new Error(`no scenario ${name}`);
  }
  return found;
}
