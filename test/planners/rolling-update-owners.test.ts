/** Owners of the old controller (`metadata.ownerReferences`) that go, or are taken off, in the middle of an update. */

import { describe, expect, it } from '@jest/globals';

import { ANNOTATION } from '../../planners/names.ts';
import type { OwnerReference } from '../../planners/objects.ts';
import { finalManifest } from '../../planners/rolling-update-definition.ts';
import type { UpdatePurpose, UpdateWrite } from '../../planners/rolling-update-steps.ts';
import { viewUpdate } from '../../planners/rolling-update-view.ts';
import type { SimulatedControllers } from '../support/simulated-controllers.ts';
import { begin, foo, run } from '../support/simulated-update.ts';

const APP = { apiVersion: 'v1', kind: 'ConfigMap', name: 'app', uid: 'app', controller: true };
const OTHER = { apiVersion: 'v1', kind: 'ConfigMap', name: 'other', uid: 'other' };

/** `foo` of these owners, and its update so far that `until` is next. */
function updating(until: UpdatePurpose, newName?: string): SimulatedControllers {
  const world = foo();
  own(world, 'foo', [APP]);
  begin(world, newName);
  run(world, { next: newName, until: isPurpose(until) });
  return world;
}

function own(world: SimulatedControllers, name: string, ownerReferences: readonly OwnerReference[]): void {
  world.edit(name, (one) => ({ ...one, metadata: { ...one.metadata, ownerReferences } }));
}

function isPurpose(purpose: UpdatePurpose): (write: UpdateWrite) => boolean {
  return (write) => write.purpose === purpose;
}

/** The owner is deleted: the garbage collector takes what names it, or (`--cascade=orphan`) takes the reference off. */
function deleteOwner(world: SimulatedControllers, { isOrphaning = false } = {}): void {
  for (const { metadata } of world.controllers) {
    const { name, ownerReferences = [] } = metadata;
    const others = ownerReferences.filter(({ uid }) => uid !== APP.uid);
    if (others.length === ownerReferences.length) continue;
    if (isOrphaning) own(world, name, others);
    else world.deleteByHand(name);
  }
}

const ownersOf = (world: SimulatedControllers, name = 'foo') => world.find(name)?.metadata.ownerReferences;

describe('an owner that is deleted in the middle', () => {
  it('takes both controllers with it: the update ends, and nothing is made again', () => {
    const world = updating('ScaleDown');
    deleteOwner(world);

    expect(run(world)).toEqual({ written: [], outcome: 'refuse' });
    expect([world.controllers, world.pods]).toEqual([[], []]);
    expect(world.revisions).toHaveLength(1);
  });

  it.each<UpdatePurpose>(['CreateNext', 'ScaleDown', 'DeleteOld', 'HoldNext', 'DeleteNext', 'ReleaseNext'])(
    'without what it owns, before %s: what is renamed does not name it, and keeps its pods',
    (until) => {
      const world = updating(until);
      deleteOwner(world, { isOrphaning: true });

      expect(run(world).outcome).toBe('Succeeded');
      expect([ownersOf(world) ?? [], world.activePods.length]).toEqual([[], 3]);
    },
  );

  it('without what it owns: a next controller that is made again does not name it', () => {
    const world = updating('ScaleDown');
    deleteOwner(world, { isOrphaning: true });
    const next = world.controllers.find(({ metadata }) => metadata.name !== 'foo')!.metadata.name;
    world.deleteByHand(next);
    run(world, { until: isPurpose('ScaleUp') });

    expect(ownersOf(world, next)).toEqual([]);
  });
});

describe('what is renamed goes with', () => {
  it('whom the old controller went with right before it was deleted', () => {
    const world = updating('ScaleDown');
    own(world, 'foo', [APP, OTHER]);

    expect(run(world).outcome).toBe('Succeeded');
    expect(ownersOf(world)).toEqual([APP, OTHER]);
  });

  it('whom the next one still goes with, where somebody has deleted the old one', () => {
    const world = updating('ScaleDown');
    world.deleteByHand('foo');

    expect(run(world).outcome).toBe('Succeeded');
    expect(ownersOf(world)).toEqual([APP]);
  });

  it('nobody, where it keeps a name of its own', () => {
    const world = updating('ScaleDown', 'foo-v2');
    expect(ownersOf(world, 'foo-v2')).toBeUndefined();

    expect(run(world, { next: 'foo-v2' }).outcome).toBe('Succeeded');
    expect(ownersOf(world, 'foo-v2')).toBeUndefined();
  });

  it('nobody, where it was there and is made again for the pods that it has left', () => {
    const world = updating('Own');
    expect(ownersOf(world)).toEqual([APP]);
    const { uid = '', resourceVersion = '' } = world.find('foo')?.metadata ?? {};
    const write = {
      verb: 'delete',
      resource: 'replicationcontrollers',
      name: 'foo',
      uid,
      resourceVersion,
    } as const;
    world.apply({ ...write, orphan: true, purpose: 'DeleteOld', message: '' });
    world.collect();

    expect(run(world).outcome).toBe('Succeeded');
    expect([ownersOf(world) ?? [], world.activePods.length]).toEqual([[], 3]);
  });

  it('whom the record of an earlier version names, in a rename that it began', () => {
    const world = updating('Create');
    const { record } = viewUpdate(world.snapshot('foo'));
    const { ownerReferences: _1, state, ...data } = record!;
    const { ownerReferences: _2, ...before } = state;
    const { metadata } = data.controller;
    const controller = { ...data.controller, metadata: { ...metadata, ownerReferences: [APP] } };

    expect(finalManifest({ ...data, controller, state: before }, 3).metadata.ownerReferences).toEqual([APP]);
    const rolling = { ...before, phase: 'Rolling' } as const;
    expect(
      finalManifest({ ...data, controller, state: rolling }, 3).metadata.ownerReferences,
    ).toBeUndefined();
  });
});

it('the definition in a record names no owner: who creates it by hand, once that is gone, keeps it', () => {
  const world = updating('Create');
  const { data, metadata } = world.revisions[0]!;
  expect(data['controller']).not.toHaveProperty('metadata.ownerReferences');
  expect(JSON.parse(metadata.annotations?.[ANNOTATION.rollingUpdateState] ?? '')).toMatchObject({
    ownerReferences: [APP],
  });
});
