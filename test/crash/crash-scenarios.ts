/** Whole rollouts to crash in. Each has a clean run's end that is known beforehand. */

import { expect } from '@jest/globals';

import { imageOf, isPodReady } from '../support/scene.ts';
import type { Scene } from '../support/scene.ts';
import type { StatefulSetDescription } from '../support/statefulset-manifest.ts';
import type { EndState } from './end-state.ts';

export interface CrashScenario {
  readonly name: string;
  readonly description: Partial<StatefulSetDescription>;
  /** Brings about what the rollout starts from; the worker is up. */
  readonly prepare: (scene: Scene) => Promise<void>;
  /** The rollout: from the user's write until everything is done. */
  readonly act: (scene: Scene) => Promise<void>;
  /** What must be so at the end of a clean run: the others are compared with it. */
  readonly check: (end: EndState) => void;
}

const FOUR: Partial<StatefulSetDescription> = {
  replicas: 4,
  maxUnavailable: 2,
  templateAnnotations: { 'sim.fairlead.dev/ready-delay': '200ms' },
};

/** A crash costs some 10 s of waiting for the Lease, and several scenarios run at a time. */
const PATIENCE_MS = 120_000;

async function deploy(scene: Scene): Promise<void> {
  await scene.apply({});
  await scene.untilDone(PATIENCE_MS);
}

async function update(scene: Scene): Promise<void> {
  await scene.apply({ image: 'app:2' });
  await scene.untilDone(PATIENCE_MS);
}

export const CRASH_SCENARIOS: readonly CrashScenario[] = [
  {
    name: 'first revision',
    description: { ...FOUR, replicas: 3, claim: 'data', podUpdatePolicy: 'InPlaceIfPossible' },
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
    description: FOUR,
    prepare: deploy,
    act: update,
    check(end) {
      expect(end.pods.map(({ images, kept }) => [images.join(), kept])).toEqual([
        ['app:2', false],
        ['app:2', false],
        ['app:2', false],
        ['app:2', false],
      ]);
      expect(end.runs).toEqual(['COMPLETED Succeeded']);
    },
  },
  {
    name: 'in place',
    description: { ...FOUR, podUpdatePolicy: 'InPlaceOnly', sidecars: { log: 'log:1' } },
    prepare: deploy,
    act: update,
    check(end) {
      const updated = { images: ['app:2', 'log:1'], kept: true, restarts: { main: 1, log: 0 } };
      const pod = expect.objectContaining({ ...updated, gate: 'True', marked: false });
      expect(end.pods).toEqual([pod, pod, pod, pod]);
      expect(end.runs).toEqual(['COMPLETED Succeeded']);
    },
  },
  {
    name: 'rollback',
    description: FOUR,
    prepare: deploy,
    async act(scene) {
      await scene.apply({ image: 'app:bad' });
      await scene.untilPods(
        'two pods at app:bad',
        (pods) => pods.filter((pod) => imageOf(pod) === 'app:bad').length === 2,
        PATIENCE_MS,
      );
      await scene.untilSet('two of four updated', (set) => set.status?.updatedReplicas === 2, PATIENCE_MS);
      await scene.runs.signal('abort');
      await scene.untilPods(
        'four ready pods at app:1 again',
        (pods) => pods.length === 4 && pods.every((pod) => imageOf(pod) === 'app:1' && isPodReady(pod)),
        PATIENCE_MS,
      );
      await scene.cluster.untilReady(scene.namespace, 'web', PATIENCE_MS);
      await scene.runs.until(
        'aborted, rolled back, none open',
        (runs) => runs.length === 3 && runs.every(({ status }) => status !== 'RUNNING'),
        PATIENCE_MS,
      );
    },
    check(end) {
      expect(end.pods.map(({ images, kept }) => [images.join(), kept])).toEqual([
        ['app:1', true],
        ['app:1', true],
        ['app:1', false],
        ['app:1', false],
      ]);
      expect(end.runs).toEqual(['COMPLETED Aborted', 'COMPLETED Succeeded']);
      expect(end.set.pinned).toMatchObject({ verb: 'abort' });
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
