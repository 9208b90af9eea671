/** Revisions that never become ready: held within the budget, left by another commit, or by their deadline. */

import { expect } from '@jest/globals';

import type { StatefulSetObject } from '../../../kubernetes/statefulset-adapter.ts';
import { ANNOTATION } from '../../../planners/names.ts';
import type { Pod } from '../../../planners/objects.ts';
import type { Scene } from '../scene.ts';
import { conditionOf, imageOf, uidOf } from '../scene.ts';
import type { StatefulSetDescription } from '../statefulset-manifest.ts';
import type { FaultCase } from './fault-case.ts';

/** Only the broken revision has so little time: the others get ready whenever a slow machine gets to them. */
const DEADLINE_SECONDS = 6;
/** The commit that mends it, with more time than any machine needs. */
const MENDED = { image: 'app:2', progressDeadlineSeconds: 600 } as const;

interface Broken {
  readonly name: string;
  readonly isForFull?: true;
  readonly set: Partial<StatefulSetDescription>;
  /** The pods that the broken revision may take. */
  readonly taken: readonly number[];
}

const BROKEN: readonly Broken[] = [
  { name: 'two at a time', set: {}, taken: [4, 5] },
  { name: 'two at a time, in place', set: { podUpdatePolicy: 'InPlaceIfPossible' }, taken: [4, 5] },
  { name: 'a third of the pods at a time', isForFull: true, set: { maxUnavailable: '34%' }, taken: [4, 5] },
  { name: 'OrderedReady (S15)', set: { parallel: false, maxUnavailable: 1, replicas: 3 }, taken: [2] },
];

const broken = ({ name, isForFull, set, taken }: Broken): FaultCase => ({
  ...(isForFull && { isForFull }),
  name: `broken revision, ${name}: holds within its budget; another commit supersedes it`,
  run: async (bench) => {
    const scene = await bench.deployed('broken', set);
    const before = await scene.pods();
    await scene.apply({ image: 'app:bad' });
    await scene.untilHeldAt('app:bad', taken);
    expect((await scene.runs.newest())?.status).toBe('RUNNING');
    await scene.apply({ image: 'app:2' });
    const after = await scene.untilDone();
    if (set.podUpdatePolicy === 'InPlaceIfPossible') {
      expect(after.map(uidOf)).toEqual(before.map(uidOf));
    }
    expect(await scene.statuses()).toEqual(['COMPLETED', 'CANCELLED', 'COMPLETED']);
    await scene.expectWarnings([]);
    await scene.judge();
  },
});

const firstBroken = (
  name: string,
  set: Partial<StatefulSetDescription>,
  taken: readonly number[],
): FaultCase => ({
  name: `first revision broken, ${name}: another commit mends it`,
  run: async (bench) => {
    const scene = await bench.scene('first', { replicas: 3, image: 'app:bad', ...set });
    await scene.apply({});
    await scene.runs.untilOpen();
    await scene.untilHeldAt('app:bad', taken);
    await scene.apply({ image: 'app:2' });
    await scene.untilDone();
    expect(await scene.statuses()).toEqual(['CANCELLED', 'COMPLETED']);
    await scene.expectWarnings([]);
    await scene.judge();
  },
});

/** Brings a set a deadline, and a broken revision that holds two pods past it. */
async function pastDeadline(
  scene: Scene,
  onDeadline: NonNullable<StatefulSetDescription['onDeadline']>,
): Promise<readonly Pod[]> {
  const before = await scene.pods();
  await scene.apply({ image: 'app:bad', progressDeadlineSeconds: DEADLINE_SECONDS, onDeadline });
  await scene.untilEvent('ProgressDeadlineExceeded');
  return before;
}

function untouched(before: readonly Pod[], after: readonly Pod[]): readonly Pod[] {
  const uids = new Set(after.map(uidOf));
  return before.filter((pod) => uids.has(pod.metadata.uid));
}

function isTimedOut(set: StatefulSetObject): boolean {
  return conditionOf(set, 'Progressing')?.reason === 'ProgressDeadlineExceeded';
}

export const BROKEN_CASES: readonly FaultCase[] = [
  ...BROKEN.map(broken),
  firstBroken('OrderedReady', { parallel: false, maxUnavailable: 1 }, [0]),
  firstBroken('Parallel', { maxUnavailable: 1 }, [0, 1, 2]),
  {
    name: 'deadline, Report: says so and holds; another commit mends it (P17, P18)',
    run: async (bench) => {
      const scene = await bench.deployed('report');
      await pastDeadline(scene, 'Report');
      const set = await scene.untilSet('past its deadline', isTimedOut);
      expect(conditionOf(set, 'Stalled')).toMatchObject({
        status: 'True',
        reason: 'ProgressDeadlineExceeded',
      });
      expect(set.metadata.annotations?.[ANNOTATION.paused]).toBeUndefined();
      expect((await scene.runs.newest())?.status).toBe('RUNNING');
      await scene.apply(MENDED);
      await scene.untilDone();
      expect(await scene.statuses()).toEqual(['COMPLETED', 'CANCELLED', 'COMPLETED']);
      await scene.expectWarnings(['ProgressDeadlineExceeded']);
      await scene.judge();
    },
  },
  {
    name: 'deadline, Pause: the object is paused, the next commit waits for the resume',
    run: async (bench) => {
      const scene = await bench.deployed('pause');
      await pastDeadline(scene, 'Pause');
      const set = await scene.untilSet(
        'paused',
        ({ metadata }) => metadata.annotations?.[ANNOTATION.paused] !== undefined,
      );
      expect(JSON.parse(set.metadata.annotations?.[ANNOTATION.paused] ?? '')).toMatchObject({
        by: 'progressDeadlineSeconds',
      });
      await scene.apply(MENDED);
      await scene.untilSet('the new revision is held', ({ metadata, status }) => {
        const paused =
          conditionOf({ metadata, status } as StatefulSetObject, 'Progressing')?.reason === 'RolloutPaused';
        return paused && status?.observedGeneration === metadata.generation;
      });
      expect((await scene.pods()).map(imageOf)).not.toContain('app:2');
      await scene.annotate({ [ANNOTATION.paused]: undefined });
      await scene.untilDone();
      expect(await scene.statuses()).toEqual(['COMPLETED', 'CANCELLED', 'COMPLETED']);
      expect((await scene.events()).map(({ reason }) => reason)).toContain('RolloutPaused');
      await scene.expectWarnings(['ProgressDeadlineExceeded']);
      await scene.judge();
    },
  },
  {
    name: 'deadline, Pause: a resume that mends nothing is followed by the next deadline, and the next pause',
    isForFull: true,
    run: async (bench) => {
      const scene = await bench.deployed('again');
      await pastDeadline(scene, 'Pause');
      const isPaused = ({ metadata }: StatefulSetObject) =>
        metadata.annotations?.[ANNOTATION.paused] !== undefined;
      const wishOf = ({ metadata }: StatefulSetObject) => metadata.annotations?.[ANNOTATION.paused];
      const saysSo = (set: StatefulSetObject) =>
        isPaused(set) && conditionOf(set, 'Progressing')?.reason === 'RolloutPaused';
      const first = wishOf(await scene.untilSet('paused', saysSo));
      await scene.annotate({ [ANNOTATION.paused]: undefined });
      const isAnother = (set: StatefulSetObject) => isPaused(set) && wishOf(set) !== first;
      const second = wishOf(await scene.untilSet('paused once more', isAnother));
      expect(JSON.parse(second ?? '')).toMatchObject({ by: 'progressDeadlineSeconds' });
      await scene.apply(MENDED);
      await scene.annotate({ [ANNOTATION.paused]: undefined });
      await scene.untilDone();
      expect(await scene.statuses()).toEqual(['COMPLETED', 'CANCELLED', 'COMPLETED']);
      await scene.judge();
    },
  },
  {
    name: 'deadline, Rollback: back at the last complete revision, which is pinned; pods not taken keep their uid',
    run: async (bench) => {
      const scene = await bench.deployed('rollback');
      const before = await pastDeadline(scene, 'Rollback');
      const set = await scene.untilSet(
        'pinned',
        ({ metadata }) => metadata.annotations?.[ANNOTATION.pinned] !== undefined,
      );
      expect(JSON.parse(set.metadata.annotations?.[ANNOTATION.pinned] ?? '')).toMatchObject({
        verb: 'deadline',
      });
      expect(set.spec.template.spec.containers[0]?.image).toBe('app:1');
      const runs = await scene.runs.until(
        'three, all closed',
        (all) => all.length === 3 && all.every(({ status }) => status !== 'RUNNING'),
      );
      const after = await scene.untilPods(
        'all at app:1',
        (pods) => pods.length === 6 && pods.every((pod) => imageOf(pod) === 'app:1'),
      );
      expect(untouched(before, after)).toHaveLength(4);
      expect(await scene.statuses()).toEqual(['COMPLETED', 'COMPLETED', 'COMPLETED']);
      expect((await scene.runs.result(runs[1]?.runId ?? '')).outcome).toBe('RolledBack');
      expect((await scene.runs.result(runs[2]?.runId ?? '')).outcome).toBe('Succeeded');
      await scene.expectWarnings(['ProgressDeadlineExceeded', 'RolledBack', 'RolloutRolledBack']);
      await scene.judge();
    },
  },
];
