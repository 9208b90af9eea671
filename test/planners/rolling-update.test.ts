/** The planner of rolling updates (seed 001 "Initialization", "Rename"; K1–K9): the scale sequences, and what meets them on the way. */

import { describe, expect, it } from '@jest/globals';

import { isReady } from '../../planners/availability.ts';
import { ANNOTATION, ROLLING_UPDATE, SHIPPED_ROLLING_UPDATE } from '../../planners/names.ts';
import { planRollingUpdate } from '../../planners/rolling-update.ts';
import { decideStart } from '../../planners/rolling-update-start.ts';
import { controllerOfFile, finalManifest } from '../../planners/rolling-update-definition.ts';
import { viewUpdate } from '../../planners/rolling-update-view.ts';
import { IMAGE_TEMPLATE } from '../support/simulated-controllers.ts';
import type { SimulatedControllers } from '../support/simulated-controllers.ts';
import {
  IMAGE,
  KEY,
  RENAME,
  NOW,
  STATE,
  begin,
  fileOf,
  foo,
  run,
  stepOf,
  turn,
} from '../support/simulated-update.ts';

/** The first step that changes more than the marks of an update. */
function stepAfterMarks(world: SimulatedControllers) {
  for (;;) {
    const step = stepOf(world);
    if (step.do !== 'write' || step.write.purpose !== 'Annotate') return step;
    world.apply(step.write);
  }
}

const ROLL = ['ScaleUp', 'ScaleDown', 'ScaleUp', 'ScaleDown', 'ScaleUp', 'ScaleDown'];
const LABEL = ['LabelTemplate', 'LabelPod', 'LabelPod', 'LabelPod', 'LabelSelector'];

const OWNED = {
  manager: 'fairlead',
  operation: 'Apply',
  apiVersion: 'v1',
  fieldsType: 'FieldsV1',
  fieldsV1: { 'f:spec': { 'f:replicas': {} } },
};

describe('from the beginning', () => {
  it('renames the next controller when no name was given, and keeps every pod', () => {
    const world = foo();
    const next = begin(world);
    const before = run(world, { until: ({ purpose }) => purpose === 'DeleteOld' });
    const pods = world.activePods.map(({ metadata }) => metadata.uid);
    const after = run(world);

    expect([...before.written, ...after.written]).toEqual([
      'CreateNext',
      'Annotate',
      ...LABEL,
      ...ROLL,
      ...RENAME,
    ]);
    expect(after.outcome).toBe('Succeeded');
    expect(world.controllers.map(({ metadata }) => metadata.name)).toEqual(['foo']);
    expect(world.activePods.map(({ metadata }) => metadata.uid)).toEqual(pods);
    expect(world.find('foo')?.spec).toMatchObject({
      replicas: 3,
      template: { spec: { containers: [{ image: 'app:2' }] } },
    });
    expect(world.find('foo')?.metadata.annotations).toEqual({});
    expect(next).toMatch(/^foo-[0-9a-f]{10}$/);
  });

  it.each([
    ['gives its fields back to who owned them', OWNED, ['FieldOwners'], [OWNED]],
    ['keeps them where somebody has spoilt what is recorded', { ...OWNED, operation: 'x' }, [], undefined],
  ])('the renamed controller, made anew, %s', (_, recorded, writes, owners) => {
    const world = foo();
    const decision = decideStart(viewUpdate(world.snapshot('foo')), IMAGE);
    if (decision.do !== 'begin') throw new Error(JSON.stringify(decision));
    world.record({ ...decision.data, owners: [recorded] }, STATE);
    const { written, outcome } = run(world);

    expect([written.slice(written.indexOf('Create')), outcome]).toEqual([
      ['Create', 'Renamed', ...writes, 'Own', 'Phase'],
      'Succeeded',
    ]);
    expect(world.find('foo')?.metadata.managedFields).toEqual(owners);
    expect(world.find('foo')?.metadata.annotations).toEqual({});
  });

  it('also where its record was deleted in the middle: to who owned those of the old one, its status apart', () => {
    const world = foo();
    begin(world);
    const managedFields = [OWNED, { ...OWNED, operation: 'Update', subresource: 'status' }];
    world.edit('foo', (one) => ({ ...one, metadata: { ...one.metadata, managedFields } }));
    run(world, { until: ({ purpose }) => purpose === 'ScaleDown' });
    for (const { metadata } of world.revisions) world.forget('controllerrevisions', metadata.name);

    expect(run(world).outcome).toBe('Succeeded');
    expect(world.find('foo')?.metadata.managedFields).toEqual([OWNED]);
  });

  it('leaves it to its owners, and to git, whichever manifest is rolled out', () => {
    const followed = { apiVersion: 'v1', kind: 'ConfigMap', name: 'app', uid: 'u' };
    const owner = { ...followed, controller: true };
    for (const request of [IMAGE, { change: fileOf('foo', { app: 'foo' }), key: KEY }, undefined]) {
      const world = foo();
      world.edit('foo', (one) => ({
        ...one,
        metadata: {
          ...one.metadata,
          ownerReferences: [{ ...owner, blockOwnerDeletion: true }],
          annotations: { [ANNOTATION.repository]: 'shop' },
        },
      }));
      const decision = decideStart(viewUpdate(world.snapshot('foo')), request ?? IMAGE);
      if (decision.do !== 'begin') throw new Error(JSON.stringify(decision));
      world.record(decision.data, STATE);
      if (request === undefined) {
        // Its record is deleted in the middle.
        run(world, { until: ({ purpose }) => purpose === 'ScaleDown' });
        for (const { metadata } of world.revisions) world.forget('controllerrevisions', metadata.name);
      }
      run(world, { until: ({ purpose }) => purpose === 'ScaleDown' });
      expect(world.controllers.map(({ metadata }) => metadata.ownerReferences)).toEqual([
        [{ ...owner, blockOwnerDeletion: true }],
        [followed],
      ]);

      expect(run(world).outcome).toBe('Succeeded');
      const { ownerReferences, annotations } = world.find('foo')?.metadata ?? {};
      expect([ownerReferences, annotations]).toEqual([[owner], { [ANNOTATION.repository]: 'shop' }]);
    }
  });

  it('a file that `kubectl get` wrote: without what the apiserver fills in, and without marks of then', () => {
    const { manifest } = fileOf('foo', { app: 'foo' });
    const written = {
      ...manifest,
      metadata: {
        ...manifest.metadata,
        uid: 'u',
        resourceVersion: '7',
        labels: { tier: 'x', 'applyset.kubernetes.io/part-of': 'y' },
        annotations: {
          note: 'n',
          [ANNOTATION.paused]: '{}',
          [ANNOTATION.manifestHash]: 'old',
          [ROLLING_UPDATE.partner]: 'bar',
        },
      },
      status: { replicas: 3 },
    };
    const { metadata, ...rest } = controllerOfFile(written);
    expect(metadata).toEqual({
      name: 'foo',
      namespace: 'default',
      labels: { tier: 'x' },
      annotations: { note: 'n' },
    });
    expect(Object.keys(rest)).toEqual(['apiVersion', 'kind', 'spec']);
    // What a record holds of an earlier version: the apiserver creates nothing with a resourceVersion.
    const data = { from: 'foo', next: 'foo-2', to: 'foo', key: KEY, hash: 'h', controller: written };
    expect(Object.keys(finalManifest(data, 3).metadata)).toEqual([
      'name',
      'namespace',
      'labels',
      'annotations',
    ]);
  });

  it('keeps the next controller under a name that was given, without marks', () => {
    const world = foo();
    begin(world, 'foo-v2');

    expect(run(world, { next: 'foo-v2' }).outcome).toBe('Succeeded');
    expect(world.controllers.map(({ metadata }) => metadata.name)).toEqual(['foo-v2']);
    expect(world.find('foo-v2')?.metadata.annotations).toEqual({});
  });

  it('writes the seed’s marks on both and a label on all pods', () => {
    const world = foo();
    const next = begin(world);
    run(world, { until: ({ purpose }) => purpose === 'ScaleDown' });
    const label = (name: string) => world.find(name)?.spec.selector?.[KEY] ?? '';

    expect(world.find(next)?.metadata.annotations).toEqual({
      [ROLLING_UPDATE.desiredReplicas]: '3',
      [ROLLING_UPDATE.partner]: 'foo',
    });
    expect(world.find('foo')?.metadata.annotations).toEqual({
      [ROLLING_UPDATE.desiredReplicas]: '0',
      [ROLLING_UPDATE.partner]: next,
      [SHIPPED_ROLLING_UPDATE.originalReplicas]: '3',
    });
    expect(label(next)).toMatch(/^[0-9a-f]{63}$/);
    expect(label('foo')).toMatch(/^[0-9a-f]{58}-orig$/);
    expect(world.activePods.every(({ metadata }) => metadata.labels?.[KEY] !== undefined)).toBe(true);
  });

  it('deletes what the old controller made without the label in between, and nothing else', () => {
    const world = foo();
    begin(world);
    run(world, { until: ({ purpose }) => purpose === 'LabelSelector' });
    const step = stepOf(world);
    const stray = world.addPod('foo', { app: 'foo' });
    const bystander = world.addPod('foo', { app: 'foo', [KEY]: 'of somebody else' });
    if (step.do === 'write') world.apply(step.write);
    world.settle();

    expect(stepOf(world)).toMatchObject({ write: { purpose: 'DeleteStray', name: stray } });
    const paused = { by: 'ann' };
    expect(planRollingUpdate({ ...world.snapshot('foo'), paused }, NOW).step).toEqual({
      do: 'paused',
      ...paused,
    });
    expect(run(world).outcome).toBe('Succeeded');
    expect(world.pods.map(({ metadata }) => metadata.name)).toContain(bystander);
    expect(world.pods.map(({ metadata }) => metadata.name)).not.toContain(stray);
  });
});

describe('somebody scales a controller meanwhile', () => {
  it('takes it back, and the step says what decides about the size', () => {
    const world = foo();
    const next = begin(world);
    run(world, { until: ({ purpose }) => purpose === 'ScaleDown' });
    world.edit('foo', (one) => ({ ...one, spec: { ...one.spec, replicas: 9 } }));

    const step = stepOf(world);
    expect(step).toMatchObject({ write: { purpose: 'ScaleDown', name: 'foo' } });
    expect(JSON.stringify(step)).toContain(
      `somebody has scaled one; kubernetes.io/desired-replicas of ${next} (3) says how many there shall be`,
    );
    expect(run(world).outcome).toBe('Succeeded');
    expect(world.find('foo')?.spec.replicas).toBe(3);
  });

  it.each<[string, number, number, number]>([
    ['the old one, away', 0, 1, 3],
    ['the old one, smaller', 1, 1, 3],
    ['both, away', 0, 0, 3],
  ])('puts back what does work while the next one does not: %s', (_, old, nextSize, back) => {
    const world = foo();
    const next = begin(world);
    run(world, { until: ({ purpose }) => purpose === 'ScaleUp' });
    // Its pods are not ready before the world settles.
    for (const [name, replicas] of [
      ['foo', old],
      [next, nextSize],
    ] as const) {
      world.edit(name, (one) => ({ ...one, spec: { ...one.spec, replicas } }));
      world.manage(name);
    }

    expect(stepOf(world)).toMatchObject({
      write: {
        purpose: 'ScaleUp',
        name: 'foo',
        body: { spec: { replicas: back } },
        message: expect.stringMatching(/^scale foo from \d to 3: \w+ has scaled/),
      },
    });
    expect(run(world).outcome).toBe('Succeeded');
  });

  it('lets the next one make up for it where its pods work', () => {
    const world = foo();
    const next = begin(world);
    run(world, { until: ({ purpose }) => purpose === 'ScaleDown' });
    world.edit('foo', (one) => ({ ...one, spec: { ...one.spec, replicas: 0 } }));
    world.manage('foo');
    world.settle();
    expect(stepOf(world)).toMatchObject({ write: { purpose: 'ScaleUp', name: next } });
  });

  it('names the field manager that did it, also where there are no pods too many, and nobody who did so before', () => {
    const world = foo();
    const next = begin(world);
    run(world, { until: ({ purpose }) => purpose === 'ScaleDown' });
    const snapshot = world.snapshot('foo');
    const messageOf = (
      name: string,
      replicas: number,
      time?: string,
      manager = 'kubectl',
      fields: Record<string, unknown> = { 'f:replicas': {} },
    ) => {
      const managedFields = [{ manager, time, fieldsV1: { 'f:spec': fields } }];
      const controllers = snapshot.controllers.map((one) =>
        one.metadata.name === name
          ? { ...one, metadata: { ...one.metadata, managedFields }, spec: { ...one.spec, replicas } }
          : one,
      );
      const revisions = snapshot.revisions.map((one) => ({
        ...one,
        metadata: { ...one.metadata, creationTimestamp: '2026-01-01T00:00:00Z' },
      }));
      const pods = snapshot.pods.filter(({ metadata }) => replicas > 0 || metadata.generateName === 'foo-');
      return JSON.stringify(planRollingUpdate({ ...snapshot, controllers, revisions, pods }, NOW).step);
    };

    const told = `kubectl has scaled foo; kubernetes.io/desired-replicas of ${next} (3) says`;
    expect(messageOf('foo', 9, '2026-01-01T00:00:05Z')).toContain(told);
    expect(messageOf('foo', 9)).toContain(told);
    expect(messageOf('foo', 3)).not.toContain('has scaled');
    expect(messageOf(next, 3, '2026-01-01T00:00:05Z')).toContain(`kubectl has scaled ${next};`);
    expect(messageOf('foo', 3, '2025-12-01T00:00:05Z')).not.toContain('has scaled');
    // As the apiserver has it after `kubectl scale --replicas=0`, and as a next controller begins.
    const ours = ['2026-01-01T00:00:05Z', 'fairlead-rolling-update'] as const;
    expect(messageOf(next, 0, ...ours, { 'f:template': {} })).toContain(`somebody has scaled ${next};`);
    expect(messageOf(next, 0, ...ours)).not.toContain('has scaled');
    expect(messageOf('foo', 3, '2026-01-01T00:00:05Z', 'fairlead-rolling-update')).not.toContain(
      'has scaled',
    );
  });
});

describe('a controller manager that lags behind', () => {
  it('has seen the labels of all pods before the old controller selects by them', () => {
    const world = foo();
    begin(world);
    run(world, { until: ({ purpose }) => purpose === 'LabelSelector' });
    world.edit('foo', (one) => ({ ...one, status: { ...one.status, fullyLabeledReplicas: 2 } }));

    expect(stepOf(world)).toMatchObject({ do: 'await', waiting: [{ code: 'ControllerBehind' }] });
  });

  it('has seen which pods are ready before the one that shrinks loses pods beside those that are spare (R2)', () => {
    const world = foo(2);
    const next = begin(world, undefined, { ...STATE, surge: 0, unavailable: 1 });
    run(world, { until: ({ message }) => message.includes('from 1 to 2') });
    const up = stepOf(world);
    if (up.do === 'write') world.apply(up.write);
    world.manage(next);
    turn(world);
    expect(world.activePods.map(isReady)).toEqual([true, false]);
    const seen = (readyReplicas: number) =>
      world.edit(next, (one) => ({ ...one, status: { ...one.status, readyReplicas } }));

    seen(0);
    expect(stepAfterMarks(world)).toMatchObject({ do: 'await', waiting: [{ code: 'ControllerBehind' }] });
    seen(1);
    expect(stepOf(world)).toMatchObject({ do: 'write', write: { purpose: 'ScaleDown', name: next } });
  });

  it('has counted the pods, and then sees them free, before the next controller is let go', () => {
    const world = foo();
    const next = begin(world);
    run(world, { until: ({ purpose }) => purpose === 'DeleteOld' });
    world.edit(next, (one) => ({ ...one, status: { ...one.status, replicas: 2 } }));
    expect(stepOf(world)).toMatchObject({ do: 'await', waiting: [{ code: 'ControllerBehind' }] });
    world.settle();
    run(world, { until: ({ purpose }) => purpose === 'DeleteNext' });
    const step = stepOf(world);
    if (step.do === 'write') world.apply(step.write);
    expect(stepOf(world)).toMatchObject({ do: 'await', urgent: true, waiting: [{ code: 'PodsBound' }] });
    world.collect();
    expect(stepOf(world)).toMatchObject({
      do: 'await',
      urgent: true,
      waiting: [{ code: 'ControllerBehind' }],
    });
    expect(world.find(next)?.status?.replicas).toBe(3);
    world.settle();
    expect(stepOf(world)).toMatchObject({ do: 'write', write: { purpose: 'ReleaseNext' } });
  });

  it('a record that somebody deletes while the next controller is held is made again', () => {
    const world = foo();
    begin(world);
    run(world, { until: ({ purpose }) => purpose === 'ReleaseNext' });
    for (const { metadata } of world.revisions) world.forget('controllerrevisions', metadata.name);

    expect(run(world)).toMatchObject({
      outcome: 'Succeeded',
      written: ['Record', 'ReleaseNext', 'Create', 'Renamed', 'Own', 'Phase'],
    });
    expect(world.activePods).toHaveLength(3);
  });
});

describe('what holds it', () => {
  it('a pause: no step, no deletion, but a rename without controllers goes on', () => {
    const world = foo();
    begin(world);
    run(world, { until: ({ purpose }) => purpose === 'ScaleUp' });
    const paused = { by: 'ann', reason: 'look' };
    expect(planRollingUpdate({ ...world.snapshot('foo'), paused }, NOW).step).toEqual({
      do: 'paused',
      ...paused,
    });
    run(world, { until: ({ purpose }) => purpose === 'DeleteOld' });
    expect(planRollingUpdate({ ...world.snapshot('foo'), paused }, NOW).step).toEqual({
      do: 'paused',
      ...paused,
    });
    run(world, { until: ({ purpose }) => purpose === 'Create' });
    expect(planRollingUpdate({ ...world.snapshot('foo'), paused }, NOW).step).toMatchObject({ do: 'write' });
  });

  it('another update that one of the two belongs to', () => {
    const world = foo();
    const next = begin(world);
    run(world, { until: ({ purpose }) => purpose === 'ScaleUp' });
    world.edit(next, (one) => ({
      ...one,
      metadata: { ...one.metadata, annotations: { [ROLLING_UPDATE.partner]: 'bar' } },
    }));

    expect(stepOf(world)).toMatchObject({ do: 'refuse', code: 'OtherUpdate' });
  });

  it('a selector that does not differ', () => {
    const world = foo();
    world.controller('foo-v2', { replicas: 0, selector: { app: 'foo' }, template: IMAGE_TEMPLATE('app:2') });

    expect(stepOf(world, 'foo-v2')).toMatchObject({ do: 'refuse', code: 'SelectorSame' });
  });
});
