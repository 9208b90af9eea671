/** The next controller of a rename, deleted by somebody else than the update: its pods are handed over whoever began that. */

import { describe, expect, it } from '@jest/globals';

import { RENAME_FINALIZER } from '../../planners/names.ts';
import { planRollingUpdate } from '../../planners/rolling-update.ts';
import type { SimulatedControllers } from '../support/simulated-controllers.ts';
import { NOW, RENAME, begin, foo, run, stepOf } from '../support/simulated-update.ts';

describe('somebody deletes the next controller, with its pods, while it is held for the rename', () => {
  const uidsOf = (world: SimulatedControllers) => world.activePods.map(({ metadata }) => metadata.uid).sort();
  const held = (until: string) => {
    const world = foo();
    const next = begin(world);
    run(world, { until: ({ purpose }) => purpose === until });
    return { world, next };
  };
  const isDone = {
    outcome: 'Succeeded',
    written: ['DeleteNext', 'ReleaseNext', 'Create', 'Renamed', 'Own', 'Phase'],
  };

  it('before it is deleted: the pods are freed all the same, and stay', () => {
    const { world, next } = held('DeleteNext');
    const uids = uidsOf(world);
    world.deleteByHand(next);
    expect(world.find(next)?.metadata).toMatchObject({ finalizers: [RENAME_FINALIZER] });

    expect(run(world)).toEqual(isDone);
    expect(uidsOf(world)).toEqual(uids);
  });

  it('beside its deletion, which takes the wish back that the pods stay: written again', () => {
    const { world, next } = held('DeleteNext');
    const uids = uidsOf(world);
    const step = stepOf(world);
    if (step.do === 'write') world.apply(step.write);
    expect(world.find(next)?.metadata.finalizers).toEqual([RENAME_FINALIZER, 'orphan']);
    world.deleteByHand(next);
    expect(world.find(next)?.metadata.finalizers).toEqual([RENAME_FINALIZER]);

    expect(run(world)).toEqual(isDone);
    expect(uidsOf(world)).toEqual(uids);
  });

  it('and waits for the pods to be gone: they go, and others are made under the old name', () => {
    const { world, next } = held('DeleteNext');
    const uids = uidsOf(world);
    world.deleteByHand(next, 'foregroundDeletion');
    expect(stepOf(world)).toMatchObject({ do: 'await', waiting: [{ code: 'PodsBound' }] });

    expect(run(world).outcome).toBe('Succeeded');
    expect(world.activePods).toHaveLength(3);
    expect(uidsOf(world).filter((uid) => uids.includes(uid))).toEqual([]);
  });
});

describe('the namespace is deleted in the middle of a rename', () => {
  /** Before the write of this number; the namespace's controller may have deleted the record already. */
  const moments = RENAME.flatMap((_, index) => [true, false].map((isRecorded) => ({ index, isRecorded })));

  it.each(moments)(
    'before write $index, its record there: $isRecorded: what is held is let go, and nothing else is written',
    ({ index, isRecorded }) => {
      const world = foo();
      const next = begin(world);
      // What comes before the rename does not count.
      run(world, { until: ({ purpose }) => purpose === 'Phase' });
      let writes = 0;
      run(world, { until: () => writes++ === index });
      if (!isRecorded) world.forget('controllerrevisions', 'foo-1');
      const isHeld = world.find(next)?.metadata.finalizers?.includes(RENAME_FINALIZER) === true;

      const planned = () => planRollingUpdate({ ...world.snapshot('foo'), isEnding: true }, NOW).step;
      const written: string[] = [];
      for (let step = planned(); step.do === 'write'; step = planned()) {
        written.push(step.write.purpose);
        world.apply(step.write);
      }
      expect(planned()).toMatchObject({
        do: 'refuse',
        code: 'NotFound',
        message: 'namespace default is being deleted, and the update of foo with it',
      });
      expect(written).toEqual(isHeld ? ['ReleaseNext'] : []);
      expect(world.find(next)?.metadata.finalizers ?? []).not.toContain(RENAME_FINALIZER);
    },
  );
});
