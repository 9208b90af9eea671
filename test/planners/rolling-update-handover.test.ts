/** The next controller of a rename, deleted by somebody else than the update: its pods are handed over whoever began that. */

import { describe, expect, it } from '@jest/globals';

import { RENAME_FINALIZER } from '../../planners/names.ts';
import type { SimulatedControllers } from '../support/simulated-controllers.ts';
import { begin, foo, run, stepOf } from '../support/simulated-update.ts';

describe('somebody deletes the next controller, with its pods, while it is held for the rename', () => {
  const uidsOf = (world: SimulatedControllers) => world.activePods.map(({ metadata }) => metadata.uid).sort();
  const held = (until: string) => {
    const world = foo();
    const next = begin(world);
    run(world, { until: ({ purpose }) => purpose === until });
    return { world, next };
  };
  const isDone = { outcome: 'Succeeded', written: ['DeleteNext', 'ReleaseNext', 'Create', 'Own', 'Phase'] };

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
