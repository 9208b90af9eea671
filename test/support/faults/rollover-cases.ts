/** The object changes while a rollout is under way: newer templates, other sizes, deletion. */

import { setTimeout as delay } from 'node:timers/promises';

import { expect } from '@jest/globals';

import { readAttempts } from '../../../kubernetes/attempts.ts';
import { ANNOTATION } from '../../../planners/names.ts';
import type { ControllerRevision } from '../../../planners/objects.ts';
import { imageOf, nameOf, uidOf } from '../scene.ts';
import { untilObjects } from '../until-objects.ts';
import type { FaultCase } from './fault-case.ts';

/** Time between two of the ten commits of a storm, milliseconds: all of them within 5 s. */
const STORM_STEP_MS = 500;
const STORM = Array.from({ length: 10 }, (_, index) => `app:${String(index + 2)}`);

/** Before, while and after the run of the first template closes, milliseconds. */
const BACK_AFTER_MS = [20, 60, 120, 400];

const storm = (podUpdatePolicy: 'ReCreate' | 'InPlaceIfPossible'): FaultCase => ({
  name: `rollover storm, ${podUpdatePolicy}: ten templates in 5 s, the last one wins, one run at a time`,
  run: async (bench) => {
    const scene = await bench.deployed('storm', { podUpdatePolicy });
    for (const image of STORM) {
      await scene.apply({ image });
      await delay(STORM_STEP_MS);
    }
    await scene.untilDone();
    const statuses = await scene.statuses();
    // The run of the first deployment, those that were superseded, and the one that won.
    expect(statuses.at(0)).toBe('COMPLETED');
    expect(statuses.at(-1)).toBe('COMPLETED');
    expect(new Set(statuses.slice(1, -1))).toEqual(new Set(['CANCELLED']));
    await scene.expectWarnings([]);
    await scene.judge();
  },
});

export const ROLLOVER_CASES: readonly FaultCase[] = [
  {
    name: 'StatefulSet orphaned and made again mid-rollout: the new one adopts, and finishes what was begun (C4)',
    run: async (bench) => {
      const scene = await bench.deployed('adopted');
      await scene.apply({ image: 'app:2' });
      const before = await scene.untilMidRollout('app:2');
      const updated = before.filter(
        (pod) => imageOf(pod) === 'app:2' && pod.metadata.deletionTimestamp === undefined,
      );
      await scene.deleteSet('Orphan');
      await scene.untilSetGone();
      await scene.apply({});
      const after = new Set((await scene.untilDone()).map(uidOf));
      // What was at the new revision already was adopted, not made again.
      expect(updated.filter((pod) => !after.has(pod.metadata.uid)).map(nameOf)).toEqual([]);
      expect(await scene.statuses()).toEqual(['COMPLETED', 'CANCELLED', 'COMPLETED']);
      // What became of the run whose object went is told by its revision, which outlives it.
      const collection = { group: 'apps', version: 'v1', resource: 'controllerrevisions' };
      const { namespace } = scene;
      const tries = await untilObjects<ControllerRevision>(
        scene.cluster.client,
        { ...collection, namespace },
        'the revision of both runs tells of both',
        (revisions) => revisions.some((one) => readAttempts(one).length === 2),
        20_000,
      );
      expect(tries.map((one) => readAttempts(one).length).sort((a, b) => a - b)).toEqual([1, 2]);
      await scene.judge();
    },
  },
  {
    name: 'A → B → A mid-rollout, however fast: rolled out, and nobody has paused it',
    run: async (bench) => {
      const scene = await bench.deployed('back-and-forth');
      for (const [round, milliseconds] of BACK_AFTER_MS.entries()) {
        const image = `app:${String(2 * round + 2)}`;
        await scene.apply({ image });
        await scene.untilMidRollout(image);
        await scene.apply({ image: `app:${String(2 * round + 3)}` });
        await delay(milliseconds);
        await scene.apply({ image });
        await scene.untilDone();
      }
      const set = await scene.set();
      expect(set.metadata.annotations?.[ANNOTATION.paused]).toBeUndefined();
      expect([...new Set(await scene.statuses())].sort()).toEqual(['CANCELLED', 'COMPLETED']);
      await scene.expectWarnings([]);
      await scene.judge();
    },
  },
  storm('ReCreate'),
  { ...storm('InPlaceIfPossible'), isForFull: true },
  {
    name: 'scaled up and down mid-rollout: the new size at the new revision, scaling first (S9)',
    run: async (bench) => {
      const scene = await bench.deployed('scale');
      await scene.apply({ image: 'app:2' });
      await scene.untilMidRollout('app:2');
      await scene.apply({ replicas: 9 });
      await scene.untilPods('nine pods', (pods) => pods.length === 9);
      await scene.apply({ replicas: 3 });
      const pods = await scene.untilDone();
      expect(pods.map(nameOf)).toEqual(['web-0', 'web-1', 'web-2']);
      // Scaling is no rollout: the run that was under way is the one that ends.
      expect(await scene.statuses()).toEqual(['COMPLETED', 'COMPLETED']);
      await scene.expectWarnings([]);
      await scene.judge();
    },
  },
  {
    name: 'StatefulSet deleted mid-rollout: its run closes, its pods go, nothing comes back',
    run: async (bench) => {
      const scene = await bench.deployed('deleted');
      await scene.apply({ image: 'app:2' });
      await scene.untilMidRollout('app:2');
      await scene.deleteSet();
      await scene.untilPods('all gone', (pods) => pods.length === 0);
      await scene.runs.until('none is open', (runs) => runs.every(({ status }) => status !== 'RUNNING'));
      expect(await scene.isGone()).toBe(true);
      expect(await scene.pods()).toEqual([]);
      expect(await scene.statuses()).toEqual(['COMPLETED', 'CANCELLED']);
      await scene.judge();
    },
  },
  {
    name: 'StatefulSet deleted and made again mid-rollout: another uid, another run, other pods',
    run: async (bench) => {
      const scene = await bench.deployed('remade');
      await scene.apply({ image: 'app:2' });
      const before = new Set((await scene.untilMidRollout('app:2')).map(uidOf));
      const { metadata: old } = await scene.set();
      await scene.deleteSet();
      await scene.apply({ image: 'app:3' });
      const pods = await scene.untilDone();
      expect((await scene.set()).metadata.uid).not.toBe(old.uid);
      expect(pods.filter((pod) => before.has(pod.metadata.uid))).toEqual([]);
      expect(await scene.statuses()).toEqual(['COMPLETED', 'CANCELLED', 'COMPLETED']);
      await scene.judge();
    },
  },
  {
    name: 'the revision deleted by hand mid-rollout: it is made again, and the rollout goes on (S6)',
    run: async (bench) => {
      const scene = await bench.deployed('revision');
      await scene.apply({ image: 'app:2' });
      await scene.untilMidRollout('app:2');
      const collection = { group: 'apps', version: 'v1', resource: 'controllerrevisions' };
      const { namespace, cluster } = scene;
      const { updateRevision: name } = (await scene.set()).status ?? {};
      await cluster.client.delete({ ...collection, namespace, name });
      await scene.untilDone();
      expect((await scene.set()).status?.updateRevision).toBe(name);
      expect(await scene.statuses()).toEqual(['COMPLETED', 'COMPLETED']);
      await scene.expectWarnings([]);
      await scene.judge();
    },
  },
  {
    name: 'pods deleted by hand mid-rollout, an old and a new one: healed, and the rollout goes on',
    run: async (bench) => {
      const scene = await bench.deployed('by-hand');
      await scene.apply({ image: 'app:2' });
      await scene.untilMidRollout('app:2');
      const pods = await scene.untilPods('a new one is ready', (all) =>
        all.some((pod) => imageOf(pod) === 'app:2' && pod.status?.phase === 'Running'),
      );
      const victims = ['app:1', 'app:2'].map((image) => pods.find((pod) => imageOf(pod) === image));
      for (const victim of victims) {
        await scene.deletePod(victim?.metadata.name ?? '');
      }
      const after = new Set((await scene.untilDone()).map(uidOf));
      expect(victims.filter((pod) => pod !== undefined && after.has(pod.metadata.uid))).toEqual([]);
      expect(await scene.statuses()).toEqual(['COMPLETED', 'COMPLETED']);
      await scene.expectWarnings([]);
      await scene.judge();
    },
  },
];
