/** Buttons of the Temporal UI, pressed mid-rollout: Cancel, Terminate, Signal, Reset (design "Rollover"). */

import { expect } from '@jest/globals';

import { ANNOTATION } from '../../../planners/names.ts';
import type { Scene } from '../scene.ts';
import { conditionOf, imageOf, uidOf } from '../scene.ts';
import type { Bench, FaultCase } from './fault-case.ts';

async function midRollout(bench: Bench, name: string): Promise<Scene> {
  // Slow enough for a click to come before its end, also where the machine is busy.
  const scene = await bench.deployed(name, { maxUnavailable: 1 });
  await scene.apply({ image: 'app:2' });
  await scene.runs.untilOpen();
  await scene.untilMidRollout('app:2');
  return scene;
}

/** What is on the object as soon as it is paused. */
async function untilPaused(scene: Scene): Promise<unknown> {
  const set = await scene.untilSet(
    'paused',
    ({ metadata }) => metadata.annotations?.[ANNOTATION.paused] !== undefined,
    5_000,
  );
  return JSON.parse(set.metadata.annotations?.[ANNOTATION.paused] ?? '');
}

/** Nothing more is taken: pods that are still at the old image keep their uid while another one is healed. */
async function expectHeld(scene: Scene): Promise<void> {
  await scene.untilSet('held', (set) =>
    ['Paused', 'RunTerminated'].includes(conditionOf(set, 'Ready')?.reason ?? ''),
  );
  const settled = await scene.untilPods(
    'no pod is under way',
    (pods) =>
      pods.length === 6 &&
      pods.every((pod) => pod.metadata.deletionTimestamp === undefined && pod.status?.phase === 'Running'),
  );
  const old = settled.filter((pod) => imageOf(pod) === 'app:1').map(uidOf);
  expect(old.length).toBeGreaterThan(0);
  const victim = settled.find((pod) => imageOf(pod) === 'app:2');
  await scene.deletePod(victim?.metadata.name ?? '');
  if (victim !== undefined) await scene.untilHealed(victim);
  const after = new Set((await scene.pods()).map(uidOf));
  expect(old.filter((uid) => !after.has(uid))).toEqual([]);
}

async function untilTerminated(scene: Scene): Promise<void> {
  const set = await scene.untilSet(
    'Stalled by the end of its run',
    (one) => conditionOf(one, 'Stalled')?.status === 'True',
    5_000,
  );
  expect(conditionOf(set, 'Stalled')?.reason).toBe('RunTerminated');
  expect((await scene.untilEvent('RunTerminated')).message).toContain('fairlead rollout retry');
}

export const CLICK_CASES: readonly FaultCase[] = [
  {
    name: 'Cancel: recorded on the object as a pause; resumed, another run finishes',
    run: async (bench) => {
      const scene = await midRollout(bench, 'cancel');
      await scene.runs.cancel();
      expect(await untilPaused(scene)).toMatchObject({ by: 'Temporal UI' });
      await expectHeld(scene);
      // The run that comes after it waits, and says so. It begins when the one before it has closed.
      await scene.runs.until('the next is open', ([, , third]) => third?.status === 'RUNNING');
      expect(await scene.statuses()).toEqual(['COMPLETED', 'CANCELLED', 'RUNNING']);
      expect(await scene.runs.untilPhase('Paused')).toMatchObject({ paused: { by: 'Temporal UI' } });
      await scene.annotate({ [ANNOTATION.paused]: undefined });
      await scene.untilDone();
      expect(await scene.statuses()).toEqual(['COMPLETED', 'CANCELLED', 'COMPLETED']);
      await scene.expectWarnings(['RolloutCanceled']);
      expect((await scene.events()).map(({ reason }) => reason)).toContain('RolloutPaused');
      await scene.judge();
    },
  },
  {
    name: 'Terminate: Stalled, not started again; `retried` on the object starts another run',
    run: async (bench) => {
      const scene = await midRollout(bench, 'terminate');
      await scene.runs.terminate();
      await untilTerminated(scene);
      await expectHeld(scene);
      expect(await scene.statuses()).toEqual(['COMPLETED', 'TERMINATED']);
      await scene.annotate({
        [ANNOTATION.retried]: JSON.stringify({ by: 'test', at: new Date().toISOString() }),
      });
      await scene.untilDone();
      expect(await scene.statuses()).toEqual(['COMPLETED', 'TERMINATED', 'COMPLETED']);
      expect(conditionOf(await scene.set(), 'Stalled')?.status).toBe('False');
      await scene.expectWarnings(['RunTerminated']);
      await scene.judge();
    },
  },
  {
    name: 'Terminate: another template starts another run',
    isForFull: true,
    run: async (bench) => {
      const scene = await midRollout(bench, 'terminate');
      await scene.runs.terminate();
      await untilTerminated(scene);
      await scene.apply({ image: 'app:3' });
      await scene.untilDone();
      expect(await scene.statuses()).toEqual(['COMPLETED', 'TERMINATED', 'COMPLETED']);
      await scene.expectWarnings(['RunTerminated']);
      await scene.judge();
    },
  },
  {
    name: 'Signals pause and resume without a payload: on the object, in the same run',
    run: async (bench) => {
      const scene = await midRollout(bench, 'signal');
      await scene.runs.signal('pause');
      expect(await untilPaused(scene)).toMatchObject({ by: 'Temporal UI' });
      await expectHeld(scene);
      await scene.runs.untilPhase('Paused');
      await scene.runs.signal('resume');
      await scene.untilDone();
      expect((await scene.set()).metadata.annotations?.[ANNOTATION.paused]).toBeUndefined();
      expect(await scene.statuses()).toEqual(['COMPLETED', 'COMPLETED']);
      const reasons = (await scene.events()).map(({ reason }) => reason);
      expect(reasons).toEqual(expect.arrayContaining(['RolloutPaused', 'RolloutResumed']));
      await scene.expectWarnings([]);
      await scene.judge();
    },
  },
  {
    name: 'Signal abort without a payload: back at the last complete revision, pinned',
    run: async (bench) => {
      const scene = await midRollout(bench, 'abort');
      await scene.runs.signal('abort');
      const set = await scene.untilSet(
        'pinned',
        ({ metadata }) => metadata.annotations?.[ANNOTATION.pinned] !== undefined,
        5_000,
      );
      expect(JSON.parse(set.metadata.annotations?.[ANNOTATION.pinned] ?? '')).toMatchObject({
        verb: 'abort',
        by: 'Temporal UI',
      });
      const runs = await scene.runs.until(
        'three, all closed',
        (all) => all.length === 3 && all.every(({ status }) => status !== 'RUNNING'),
      );
      await scene.untilPods(
        'all at app:1',
        (pods) => pods.length === 6 && pods.every((pod) => imageOf(pod) === 'app:1'),
      );
      expect(await scene.statuses()).toEqual(['COMPLETED', 'COMPLETED', 'COMPLETED']);
      expect((await scene.runs.result(runs[1]?.runId ?? '')).outcome).toBe('Aborted');
      expect((await scene.runs.result(runs[2]?.runId ?? '')).outcome).toBe('Succeeded');
      await scene.expectWarnings(['RolloutAborted']);
      await scene.judge();
    },
  },
  {
    name: 'Reset: the run that goes on from an earlier point finishes the rollout',
    run: async (bench) => {
      const scene = await midRollout(bench, 'reset');
      const runId = await scene.runs.reset();
      await scene.untilDone();
      const runs = await scene.runs.all();
      // The server closes the run that was reset as terminated; the new one has its place.
      expect(runs.map(({ status }) => status)).toEqual(['COMPLETED', 'TERMINATED', 'COMPLETED']);
      expect(runs.at(-1)?.runId).toBe(runId);
      expect((await scene.runs.result(runId)).outcome).toBe('Succeeded');
      expect(conditionOf(await scene.set(), 'Stalled')?.status).toBe('False');
      await scene.judge();
    },
  },
];
