/** Servers that go away mid-rollout: kube-apiserver, Temporal. One after the other: each case disturbs all others. */

import { setTimeout as delay } from 'node:timers/promises';

import { expect } from '@jest/globals';

import { ANNOTATION } from '../../../planners/names.ts';
import { imageOf, isPodReady, nameOf, uidOf } from '../scene.ts';
import type { Scene } from '../scene.ts';
import type { Bench, FaultCase } from './fault-case.ts';

/** How long Temporal stays away, seconds: more than the deadline below. */
const AWAY_SECONDS = 60;

/** Longer than it takes to notice that Temporal is away, and to go on when it is back; shorter than it stays away. */
const DEADLINE = { progressDeadlineSeconds: 20, onDeadline: 'Rollback' } as const;

async function expectDone(scene: Scene): Promise<void> {
  await scene.untilDone(90_000);
  expect(await scene.statuses()).toEqual(['COMPLETED', 'COMPLETED']);
  await scene.judge();
}

/** Rollouts by new pods and in place, and a first deployment, all under way when it happens. */
async function whileRolling(bench: Bench, disturb: () => Promise<void>): Promise<void> {
  const scenes = await Promise.all([
    bench.deployed('recreate'),
    bench.deployed('in-place', { podUpdatePolicy: 'InPlaceIfPossible', maxUnavailable: 1 }),
    bench.deployed('ordered', { parallel: false, maxUnavailable: 1, replicas: 3 }),
  ]);
  const first = await bench.scene('first', { parallel: false, maxUnavailable: 1, replicas: 4 });
  // Looked at from before they begin: none may be over before it is seen.
  await Promise.all([
    ...scenes.map(async (scene) => await scene.untilMidRollout('app:2')),
    first.untilPods('its first pod', (pods) => pods.length > 0),
    ...scenes.map(async (scene) => await scene.apply({ image: 'app:2' })),
    first.apply({}),
  ]);
  await disturb();
  await Promise.all(scenes.map(expectDone));
  await first.untilDone(90_000);
  expect(await first.statuses()).toEqual(['COMPLETED']);
  await first.judge();
}

/** Made again although Temporal is away: at the revision that it had. */
async function expectHealed(scene: Scene, image: string): Promise<void> {
  const victim = (await scene.pods()).find((pod) => imageOf(pod) === image && isPodReady(pod));
  if (victim === undefined) throw new Error(`no ready pod at ${image} to be deleted`);
  await scene.deletePod(victim.metadata.name);
  await scene.untilHealed(victim);
}

/** A run that waits for the end of a pause. */
async function paused(bench: Bench, name: string): Promise<Scene> {
  const scene = await bench.deployed(name);
  await scene.annotate({ [ANNOTATION.paused]: JSON.stringify({ by: 'test' }) });
  await scene.apply({ image: 'app:2' });
  await scene.runs.untilOpen();
  await scene.runs.untilPhase('Paused');
  return scene;
}

export const SERVER_CASES: readonly FaultCase[] = [
  {
    name: 'apiserver restarted mid-rollout',
    isForFull: true,
    run: async (bench) => {
      await whileRolling(bench, async () => await bench.controlPlane.restart('kube-apiserver'));
    },
  },
  {
    name: 'apiserver killed mid-rollout, and away for 5 s',
    run: async (bench) => {
      await whileRolling(bench, async () => {
        await bench.controlPlane.kill('kube-apiserver');
        // Longer than the worker's Lease may go without a renewal: it has to win it again.
        await delay(5_000);
        await bench.controlPlane.start('kube-apiserver');
      });
    },
  },
  {
    name: 'Temporal restarted mid-rollout',
    run: async (bench) => {
      await whileRolling(bench, async () => await bench.controlPlane.restart('temporal'));
    },
  },
  {
    name: `Temporal away for ${String(AWAY_SECONDS)} s: pods are healed, a new set starts, replacing waits; then all goes on`,
    run: async (bench) => {
      const [rolling, idle, held, doomed] = await Promise.all([
        bench.deployed('rolling', { maxUnavailable: 1, ...DEADLINE }),
        bench.deployed('idle'),
        paused(bench, 'held'),
        paused(bench, 'doomed'),
      ]);
      // When all others are where they shall be: it must not be over before Temporal is away.
      await Promise.all([rolling.untilMidRollout('app:2'), rolling.apply({ image: 'app:2' })]);
      await bench.controlPlane.stop('temporal');
      const back = delay(AWAY_SECONDS * 1_000);
      const fresh = await bench.scene('fresh', { replicas: 3 });
      await fresh.apply({});
      await idle.apply({ image: 'app:2' });
      // Neither run can be told of it now.
      await held.annotate({ [ANNOTATION.paused]: undefined });
      await doomed.deleteSet();
      const before = await idle.pods();
      await Promise.all([
        expectHealed(rolling, 'app:1'),
        expectHealed(idle, 'app:1'),
        fresh.untilPods('three, ready', (pods) => pods.length === 3 && pods.every(isPodReady)),
        fresh.untilEvent('TemporalUnreachable'),
        idle.untilSet('its status says why it waits', ({ status }) =>
          (status?.conditions ?? []).some(
            ({ type, reason }) => type === 'Reconciling' && reason === 'TemporalUnreachable',
          ),
        ),
      ]);
      await back;
      // One pod was deleted by hand and is at its old revision again; the others are the same: replacing has waited.
      const meanwhile = await idle.pods();
      expect(meanwhile.map(imageOf)).toEqual(before.map(() => 'app:1'));
      const known = new Set(before.map(uidOf));
      expect(meanwhile.filter((pod) => !known.has(pod.metadata.uid)).map(nameOf)).toHaveLength(1);
      await bench.controlPlane.start('temporal');
      // However long it was away: within 15 s.
      await idle.runs.untilOpen();
      await Promise.all([rolling, idle, held].map(expectDone));
      await doomed.runs.until('none is open', (runs) => runs.every(({ status }) => status !== 'RUNNING'));
      expect(await doomed.statuses()).toEqual(['COMPLETED', 'CANCELLED']);
      // It could not go on for longer than its deadline, and that was not the revision's fault.
      await rolling.expectWarnings([]);
      await fresh.untilDone();
      // Nothing was left to do for it.
      expect(await fresh.statuses()).toEqual([]);
      await fresh.expectWarnings(['TemporalUnreachable']);
      await fresh.judge();
    },
  },
];
