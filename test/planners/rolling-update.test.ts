/** The planner of rolling updates by the seed's states (seed 001 "Initialization", "Rename", "Abort", "Recovery"; K1–K9). */

import { describe, expect, it } from '@jest/globals';

import { updateRefusal } from '../../cli/update-refusal.ts';
import { isReady } from '../../planners/availability.ts';
import { ANNOTATION, ROLLING_UPDATE, SHIPPED_ROLLING_UPDATE } from '../../planners/names.ts';
import type { ControllerRevision } from '../../planners/objects.ts';
import { planRollingUpdate } from '../../planners/rolling-update.ts';
import { awaitPods } from '../../planners/rolling-update-pods.ts';
import { recordManifest } from '../../planners/rolling-update-record.ts';
import { decideDefaulted, decideRollback, decideStart } from '../../planners/rolling-update-start.ts';
import type { StartRequest } from '../../planners/rolling-update-start.ts';
import {
  controllerOfFile,
  finalManifest,
  labelled,
  plainController,
} from '../../planners/rolling-update-definition.ts';
import type { ControllerManifest } from '../../planners/rolling-update-record.ts';
import type { UpdateWrite } from '../../planners/rolling-update-steps.ts';
import { viewUpdate } from '../../planners/rolling-update-view.ts';
import { IMAGE_TEMPLATE, SimulatedControllers } from '../support/simulated-controllers.ts';
import { IMAGE, KEY, NOW, STATE, begin, foo, run, stepOf, turn } from '../support/simulated-update.ts';

/** The first step that changes more than the marks of an update. */
function stepAfterMarks(world: SimulatedControllers) {
  for (;;) {
    const step = stepOf(world);
    if (step.do !== 'write' || step.write.purpose !== 'Annotate') return step;
    world.apply(step.write);
  }
}

/** A whole controller, as -f has it. */
function fileOf(name: string, labels: Record<string, string>, selector = labels) {
  const template = IMAGE_TEMPLATE('app:2', labels);
  const manifest: ControllerManifest = {
    apiVersion: 'v1',
    kind: 'ReplicationController',
    metadata: { name, namespace: 'default' },
    spec: { selector, template },
  };
  return { kind: 'manifest', manifest } as const;
}

const ROLL = ['ScaleUp', 'ScaleDown', 'ScaleUp', 'ScaleDown', 'ScaleUp', 'ScaleDown'];
const LABEL = ['LabelTemplate', 'LabelPod', 'LabelPod', 'LabelPod', 'LabelSelector'];
const RENAME = ['Phase', 'DeleteOld', 'HoldNext', 'DeleteNext', 'ReleaseNext', 'Create', 'Own', 'Phase'];

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
      ['Create', ...writes, 'Own', 'Phase'],
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
    const owner = { apiVersion: 'v1', kind: 'ConfigMap', name: 'app', uid: 'u', controller: true };
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
      expect(world.controllers.map(({ metadata }) => metadata.ownerReferences?.length ?? 0)).toEqual([1, 0]);

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

describe('recovered from the objects alone', () => {
  it('the seed: both exist, only the annotation of the next is missing', () => {
    const world = foo();
    const next = begin(world);
    run(world, { until: ({ purpose }) => purpose === 'ScaleDown' });
    world.edit(next, (one) => ({ ...one, metadata: { ...one.metadata, annotations: {} } }));

    expect(stepOf(world)).toMatchObject({ write: { purpose: 'Annotate', name: next } });
    expect(run(world).outcome).toBe('Succeeded');
  });

  it('the seed: without any record the desired size is the present one of the old controller', () => {
    const world = foo();
    world.controller(
      'foo-next',
      {
        replicas: 0,
        selector: { app: 'foo', [KEY]: 'x' },
        template: IMAGE_TEMPLATE('app:2', { app: 'foo', [KEY]: 'x' }),
      },
      { [ROLLING_UPDATE.partner]: 'foo' },
    );
    const { written, outcome } = run(world);

    expect(outcome).toBe('Succeeded');
    expect(written.slice(0, 2)).toEqual(['Record', 'Annotate']);
    expect(world.find('foo')?.spec.replicas).toBe(3);
  });

  it('a record that is lost while both exist: the name keeps what git knows it by', () => {
    const world = foo();
    const marks = { [ANNOTATION.repository]: 'shop', [ANNOTATION.commit]: 'c0ffee' };
    world.edit('foo', (one) => ({
      ...one,
      metadata: {
        ...one.metadata,
        labels: { ...one.metadata.labels, 'applyset.kubernetes.io/part-of': 'applyset-1' },
        annotations: { ...one.metadata.annotations, ...marks },
      },
    }));
    begin(world);
    run(world, { until: ({ purpose }) => purpose === 'ScaleDown' });
    for (const { metadata } of world.revisions) world.forget('controllerrevisions', metadata.name);

    expect(run(world).outcome).toBe('Succeeded');
    expect(world.find('foo')?.metadata).toMatchObject({
      labels: { 'applyset.kubernetes.io/part-of': 'applyset-1' },
      annotations: marks,
    });
  });

  it('the seed: only the next exists', () => {
    const world = foo();
    begin(world);
    run(world, { until: ({ purpose }) => purpose === 'DeleteOld' });
    world.forget('replicationcontrollers', 'foo');

    expect(run(world)).toEqual({ outcome: 'Succeeded', written: RENAME.slice(2) });
  });

  it('the seed: only the next exists, without a record', () => {
    const world = foo();
    begin(world);
    run(world, { until: ({ purpose }) => purpose === 'DeleteOld' });
    world.forget('replicationcontrollers', 'foo');
    for (const { metadata } of world.revisions) world.forget('controllerrevisions', metadata.name);

    expect(run(world)).toMatchObject({ outcome: 'Succeeded', written: ['Record', ...RENAME.slice(2)] });
    expect(world.find('foo')?.spec.replicas).toBe(3);
  });

  it('the seed: only the next exists, without a record and without its mark of the partner: both names are asked for', () => {
    const world = foo();
    const next = begin(world, 'foo-v2');
    run(world, { next, until: ({ purpose }) => purpose === 'DeleteOld' });
    world.forget('replicationcontrollers', 'foo');
    for (const { metadata } of world.revisions) world.forget('controllerrevisions', metadata.name);
    const annotations = { [ROLLING_UPDATE.desiredReplicas]: '3' };
    world.edit(next, (one) => ({ ...one, metadata: { ...one.metadata, annotations } }));

    const asked = { newName: next, change: { kind: 'none' }, key: KEY } as const;
    expect(decideStart(viewUpdate(world.snapshot('foo', next)), asked)).toEqual({ do: 'attach' });
    expect(run(world, { next }).outcome).toBe('Succeeded');
    expect(world.find(next)).toMatchObject({ metadata: { annotations: {} }, spec: { replicas: 3 } });
    expect(decideStart(viewUpdate(world.snapshot('foo', next)), asked)).toMatchObject({ do: 'finished' });
  });

  it('the seed: only the old exists, and a record says what was to come', () => {
    const world = foo();
    const next = begin(world);
    run(world, { until: ({ purpose }) => purpose === 'ScaleDown' });
    world.forget('replicationcontrollers', next);
    for (const pod of world.pods)
      if (pod.metadata.generateName === `${next}-`) world.forget('pods', pod.metadata.name);

    expect(stepOf(world)).toMatchObject({ write: { purpose: 'CreateNext', name: next } });
    expect(run(world).outcome).toBe('Succeeded');
  });

  it('the seed: only the old exists, and nothing says what was to come', () => {
    const world = foo();
    expect(stepOf(world)).toMatchObject({ do: 'refuse', code: 'NothingToDo' });
    world.edit('foo', (one) => ({
      ...one,
      metadata: { ...one.metadata, annotations: { [ROLLING_UPDATE.partner]: 'foo-x' } },
    }));
    expect(stepOf(world)).toMatchObject({ do: 'refuse', code: 'NextLost' });
  });

  it('neither exists', () => {
    expect(stepOf(new SimulatedControllers())).toMatchObject({ do: 'refuse', code: 'NotFound' });
  });

  it('neither exists in the middle of a rename: pods without a controller come first', () => {
    const world = foo();
    begin(world);
    run(world, { until: ({ purpose }) => purpose === 'Create' });

    expect(world.controllers).toEqual([]);
    expect(world.activePods).toHaveLength(3);
    expect(run(world)).toEqual({ outcome: 'Succeeded', written: RENAME.slice(5) });
  });

  it('an update that kubectl began, by the names that it shipped (K1)', () => {
    const world = foo();
    world.edit('foo', (one) => ({
      ...one,
      spec: { ...one.spec, replicas: 2 },
      metadata: {
        ...one.metadata,
        annotations: {
          [SHIPPED_ROLLING_UPDATE.originalReplicas]: '3',
          [SHIPPED_ROLLING_UPDATE.nextController]: 'foo-b',
        },
      },
    }));
    world.controller(
      'foo-b',
      {
        replicas: 1,
        selector: { app: 'foo', deployment: 'b' },
        template: IMAGE_TEMPLATE('app:2', { app: 'foo', deployment: 'b' }),
      },
      { [SHIPPED_ROLLING_UPDATE.sourceId]: 'foo:uid-1', [SHIPPED_ROLLING_UPDATE.desiredReplicas]: '3' },
    );
    world.settle();

    expect(run(world).outcome).toBe('Succeeded');
    expect(world.controllers.map(({ metadata }) => [metadata.name, metadata.annotations])).toEqual([
      ['foo', {}],
    ]);
    expect(world.find('foo')?.spec.replicas).toBe(3);
  });

  it('a next controller that only the rolling update has written, and a webhook changed, is renamed as it is now', () => {
    const world = foo();
    const next = begin(world);
    run(world, { until: ({ purpose }) => purpose === 'DeleteOld' });
    const fieldsV1 = { 'f:spec': { 'f:template': {} } };
    const managedFields = [{ manager: 'fairlead-rolling-update', fieldsV1 }];
    world.edit(next, (one) => ({
      ...one,
      metadata: { ...one.metadata, managedFields },
      spec: { ...one.spec, template: IMAGE_TEMPLATE('app:3', one.spec.selector) },
    }));

    expect(run(world).outcome).toBe('Succeeded');
    expect(world.find('foo')?.spec.template?.spec.containers[0]?.image).toBe('app:3');
  });
});

describe('the old controller is deleted by hand in the middle, and the new pods do not come', () => {
  /** The garbage collector takes its pods with it. */
  function deleteByHand(world: SimulatedControllers): void {
    const { uid } = world.find('foo')?.metadata ?? {};
    world.forget('replicationcontrollers', 'foo');
    for (const { metadata } of world.pods) {
      if (metadata.ownerReferences?.some((owner) => owner.uid === uid) === true)
        world.forget('pods', metadata.name);
    }
  }

  /** No pod of the cluster becomes ready any more; answers what is written before pods are waited for. */
  function runBadly(world: SimulatedControllers, next?: string): readonly string[] {
    const written: string[] = [];
    for (let turns = 0; turns < 200; turns += 1) {
      const step = stepOf(world, next);
      if (step.do === 'write') {
        written.push(step.write.purpose);
        world.apply(step.write);
        continue;
      }
      world.collect();
      world.observe();
      const isMoving = world.controllers.some(({ metadata }) => world.manage(metadata.name));
      if (!isMoving) return written;
    }
    throw new Error('no end');
  }

  const purposeIs =
    (purpose: string) =>
    ({ purpose: found }: UpdateWrite) =>
      found === purpose;
  const other: StartRequest = { change: { kind: 'image', image: 'app:3' }, key: KEY };

  it('renames (seed, "Recovery"), and is not over before the pods are available', () => {
    const world = foo();
    begin(world);
    run(world, { until: purposeIs('ScaleDown') });
    deleteByHand(world);

    expect(runBadly(world)).toContain('Create');
    expect(world.find('foo')?.spec.replicas).toBe(3);
    const plan = planRollingUpdate(world.snapshot('foo'), NOW);
    expect(plan.progress.phase).toBe('Rolling');
    expect(plan.step).toMatchObject({
      do: 'await',
      waiting: [{ code: 'PodNotReady', message: '2 of 3 pods of foo are not available' }],
    });
    // The first of its own commands attaches, and there is nothing left to go back to.
    expect(decideStart(plan.view, IMAGE)).toMatchObject({ do: 'attach' });
    expect(decideRollback(plan.view, {})).toMatchObject({ code: 'NotInProgress' });
    world.settle();
    expect(run(world)).toEqual({ outcome: 'Succeeded', written: ['Own', 'Phase'] });
  });

  it('another image is rolled out instead of one that does not become available, and can be rolled back', () => {
    const world = foo();
    begin(world);
    run(world, { until: purposeIs('ScaleDown') });
    deleteByHand(world);
    runBadly(world);
    const view = viewUpdate(world.snapshot('foo'));
    const decision = decideStart(view, other);
    if (decision.do !== 'begin') throw new Error(JSON.stringify(decision));
    world.record(decision.data, STATE, view.records);
    run(world, { until: purposeIs('ScaleDown') });
    turn(world);

    expect(run(world).outcome).toBe('Aborted');
    expect(viewUpdate(world.snapshot('foo')).record).toBeUndefined();
    expect(world.find('foo')?.spec.template?.spec.containers[0]?.image).toBe('app:2');
  });

  it('a next controller that keeps its name grows to what is wanted, and its pods are awaited', () => {
    const world = foo();
    begin(world, 'foo-v2');
    run(world, { next: 'foo-v2', until: purposeIs('ScaleDown') });
    deleteByHand(world);

    expect(runBadly(world, 'foo-v2')).toEqual(['ScaleUp', 'Strip']);
    expect(stepOf(world, 'foo-v2')).toMatchObject({ do: 'await', waiting: [{ code: 'PodNotReady' }] });
    world.settle();
    expect(run(world, { next: 'foo-v2' }).outcome).toBe('Succeeded');
    expect(world.activePods).toHaveLength(3);
  });

  it('on the way back: what is left gets the size that the update was to have, not 0', () => {
    const world = foo();
    begin(world);
    run(world, { until: purposeIs('ScaleDown') });
    turn(world);
    run(world, { until: purposeIs('ScaleDown') });
    deleteByHand(world);

    expect(run(world).outcome).toBe('Succeeded');
    expect(world.find('foo')?.spec.replicas).toBe(3);
  });
});

describe('the way back', () => {
  it.each([1, 2, 3])('in the middle, after %i steps', (steps) => {
    const world = foo();
    begin(world);
    let count = 0;
    run(world, { until: ({ purpose }) => purpose.startsWith('Scale') && ++count > steps });
    turn(world);

    expect(run(world).outcome).toBe('Aborted');
    expect(world.controllers.map(({ metadata }) => metadata.name)).toEqual(['foo']);
    expect(world.find('foo')?.spec).toMatchObject({
      replicas: 3,
      template: { spec: { containers: [{ image: 'app:1' }] } },
    });
    expect(world.find('foo')?.metadata.annotations).toEqual({});
    expect(world.activePods.every(({ spec }) => spec.containers[0]?.image === 'app:1')).toBe(true);
  });

  it('moves the desired size: the mark of the old controller counts while both have one', () => {
    const world = foo();
    const next = begin(world);
    run(world, { until: ({ purpose }) => purpose === 'ScaleDown' });
    turn(world);

    expect(stepOf(world)).toMatchObject({
      write: { name: next, body: { metadata: { annotations: { [ROLLING_UPDATE.desiredReplicas]: '0' } } } },
    });
  });

  it('also when the rename was about to begin', () => {
    const world = foo();
    begin(world);
    run(world, { until: ({ purpose }) => purpose === 'DeleteOld' });
    turn(world);

    expect(run(world).outcome).toBe('Aborted');
    expect(world.find('foo')?.spec.replicas).toBe(3);
  });

  it('of an update that is only written down: nobody has made the next controller yet', () => {
    const world = foo();
    begin(world);
    turn(world);

    expect(run(world)).toMatchObject({
      outcome: 'Aborted',
      written: expect.not.arrayContaining(['CreateNext']),
    });
    expect(world.find('foo')?.metadata.annotations).toEqual({});
    expect(world.activePods).toHaveLength(3);
  });

  it.each([
    ['abort', 'Aborted'],
    ['commit', 'Superseded'],
  ] as const)('who did it by %s stays on the record: %s', (verb, outcome) => {
    const world = foo();
    begin(world);
    run(world, { until: ({ purpose }) => purpose === 'ScaleDown' });
    world.edit('foo', (one) => ({
      ...one,
      metadata: { ...one.metadata, annotations: { ...one.metadata.annotations, [ANNOTATION.commit]: 'c1' } },
    }));
    const turned = { verb, by: 'ann', reason: 'slow', at: '2026-01-01T00:00:00Z' };
    const decision = decideRollback(viewUpdate(world.snapshot('foo')), turned);
    if (decision.do !== 'turn') throw new Error(JSON.stringify(decision));
    world.apply(decision.write);

    expect(run(world).outcome).toBe(outcome);
    expect(viewUpdate(world.snapshot('foo')).last?.state).toMatchObject({
      phase: 'Aborted',
      turned: { ...turned, from: 'c1' },
    });
  });

  it('not without a next, and not without an old controller (seed, "Abort")', () => {
    const world = foo();
    expect(decideRollback(viewUpdate(world.snapshot('foo')), {})).toMatchObject({ code: 'NotInProgress' });
    begin(world);
    run(world, { until: ({ purpose }) => purpose === 'DeleteNext' });
    expect(decideRollback(viewUpdate(world.snapshot('foo')), {})).toMatchObject({ code: 'NotFound' });
  });

  it('pins the manifest in git that was rejected', () => {
    const world = foo();
    const next = begin(world);
    run(world, { until: ({ purpose }) => purpose === 'ScaleDown' });
    const [record] = world.revisions as [ControllerRevision];
    const data = JSON.parse(JSON.stringify(record.data)) as {
      controller: { metadata: Record<string, unknown> };
    };
    data.controller.metadata['annotations'] = { [ANNOTATION.manifestHash]: 'h2' };
    const view = viewUpdate({ ...world.snapshot('foo'), revisions: [{ ...record, data }] });

    expect(view.nextController?.metadata.name).toBe(next);
    const bodyOf = (decision: ReturnType<typeof decideRollback>) =>
      decision.do === 'turn' ? JSON.stringify(decision.write.body) : '';
    expect(bodyOf(decideRollback(view, { verb: 'abort' }))).toContain('\\"rejected\\":\\"h2\\"');
    // A newer commit rejects nothing, nor does going back from an image that was set by hand: its manifest is that of the old.
    expect(bodyOf(decideRollback(view, { verb: 'commit' }))).not.toContain('rejected');
    world.edit('foo', (one) => ({
      ...one,
      metadata: { ...one.metadata, annotations: { [ANNOTATION.manifestHash]: 'h2' } },
    }));
    const { controllers } = world;
    expect(bodyOf(decideRollback(viewUpdate({ ...view, controllers }), { verb: 'abort' }))).not.toContain(
      'rejected',
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
      written: ['Record', 'ReleaseNext', 'Create', 'Own', 'Phase'],
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

describe('what a request means', () => {
  const decide = (world: SimulatedControllers, request: Partial<StartRequest> = {}) =>
    decideStart(viewUpdate(world.snapshot('foo', request.newName)), { ...IMAGE, ...request });

  it.each<[string, SimulatedControllers, Partial<StartRequest>, string]>([
    ['no such controller', new SimulatedControllers(), {}, 'NotFound'],
    ['the same image', foo(), { change: { kind: 'image', image: 'app:1' } }, 'NoChange'],
    ['replicas 0', foo(0), {}, 'NoReplicas'],
    [
      'no such container',
      foo(),
      { change: { kind: 'image', image: 'app:2', container: 'x' } },
      'NoContainer',
    ],
    ['nothing asked for', foo(), { change: { kind: 'none' } }, 'NothingAsked'],
  ])('%s', (_, world, request, code) => {
    expect(decide(world, request)).toMatchObject({ do: 'refuse', code });
  });

  const HASH = '0123456789abcdef'.repeat(4).slice(0, 63);
  it.each<[string, string, Record<string, string>, Record<string, string>, object]>([
    ['a key of the selector', 'app', {}, {}, { do: 'refuse', code: 'KeyTaken' }],
    ['a key of the template', 'tier', { tier: 'web' }, {}, { do: 'refuse', code: 'KeyTaken' }],
    ['a short hash that is somebody’s', 'tier', { tier: 'c0ffee' }, {}, { code: 'KeyTaken' }],
    ['a key that nothing has', 'stage', {}, {}, { do: 'begin' }],
    ['what an update wrote', 'stage', { stage: HASH }, {}, { do: 'begin' }],
    ['what it wrote on the first', 'stage', { stage: `${HASH.slice(0, 58)}-orig` }, {}, { do: 'begin' }],
    ['what kubectl wrote', 'deployment', { deployment: HASH.slice(0, 32) }, {}, { do: 'begin' }],
    ['the key of before', 'app', {}, { [ANNOTATION.deploymentLabelKey]: 'app' }, { do: 'begin' }],
    ['the default key', KEY, { [KEY]: 'x' }, {}, { do: 'begin' }],
  ])('as the key that tells the two apart: %s', (_, key, labels, annotations, decision) => {
    const world = new SimulatedControllers();
    const template = IMAGE_TEMPLATE('app:1', { app: 'foo', ...labels });
    world.controller('foo', { replicas: 3, selector: { app: 'foo' }, template }, annotations);
    expect(decide(world, { key })).toMatchObject(decision);
  });

  it('a key that only the file has for something else', () => {
    const manifest = {
      apiVersion: 'v1',
      kind: 'ReplicationController',
      metadata: { name: 'foo', namespace: 'default' },
      spec: { selector: { app: 'foo' }, template: IMAGE_TEMPLATE('app:2', { app: 'foo', tier: 'web' }) },
    } as const;
    expect(decide(foo(), { change: { kind: 'manifest', manifest }, key: 'tier' })).toMatchObject({
      code: 'KeyTaken',
      message: expect.stringMatching(/^foo has the label tier=web for something else/),
    });
  });

  it('one pod is one', () => {
    const { controllers, pods } = foo(1);
    const unready = pods.map((pod) => ({ ...pod, status: { ...pod.status, conditions: [] } }));
    const [controller] = controllers;
    expect(controller && awaitPods(controller, unready, NOW)).toMatchObject({
      waiting: [{ message: '1 of 1 pod of foo is not available' }],
    });
  });

  it('several containers need the name of one', () => {
    const world = new SimulatedControllers();
    const template = IMAGE_TEMPLATE('app:1');
    const containers = [...template.spec.containers, { name: 'side', image: 'side:1' }];
    world.controller('foo', {
      replicas: 1,
      selector: { app: 'foo' },
      template: { ...template, spec: { containers } },
    });

    expect(decide(world)).toMatchObject({ do: 'refuse', code: 'SeveralContainers' });
    const initContainers = [{ name: 'init', image: 'init:1' }];
    world.edit('foo', (one) => ({
      ...one,
      spec: { ...one.spec, template: { ...template, spec: { containers, initContainers } } },
    }));
    expect(decide(world, { change: { kind: 'image', image: 'init:2', container: 'init' } })).toMatchObject({
      code: 'NoContainer',
      message: expect.stringContaining(
        'init is an init container, whose image only a whole manifest (-f) changes',
      ),
    });
    expect(decide(world, { change: { kind: 'image', image: 'side:2', container: 'side' } })).toMatchObject({
      do: 'begin',
    });
  });

  it('the same command again attaches, another image is refused', () => {
    const world = foo();
    begin(world);
    expect(decide(world)).toEqual({ do: 'attach' });
    run(world, { until: ({ purpose }) => purpose === 'ScaleDown' });
    expect(decide(world)).toEqual({ do: 'attach' });
    expect(decide(world, { change: { kind: 'image', image: 'app:3' } })).toMatchObject({
      code: 'OtherChange',
    });
  });

  it('a manifest of the same pods in another number attaches in the middle: none is taken back for a size', () => {
    const world = foo();
    /** As a dry run answers, with the label that the controller has got meanwhile. */
    const asked = (replicas: number, image: string, also: object = {}): StartRequest => {
      const live = world.find('foo');
      const template = live?.spec.template;
      if (live === undefined || template === undefined) throw new Error('foo is gone');
      const containers = IMAGE_TEMPLATE(image).spec.containers;
      const spec = { ...live.spec, ...also, replicas, template: { ...template, spec: { containers } } };
      return { change: { kind: 'manifest', manifest: plainController({ ...live, spec }, 'foo') }, key: KEY };
    };
    const decision = decide(world, asked(3, 'app:2'));
    if (decision.do !== 'begin') throw new Error(JSON.stringify(decision));
    world.record(decision.data, { ...STATE, desired: decision.desired });
    run(world, { until: ({ purpose }) => purpose === 'ScaleDown' });

    expect(decide(world, asked(3, 'app:2'))).toEqual({ do: 'attach' });
    expect(decide(world, asked(5, 'app:2'))).toEqual({ do: 'attach' });
    expect(decide(world, asked(3, 'app:2', { minReadySeconds: 9 }))).toEqual({ do: 'attach' });
    expect(decide(world, asked(5, 'app:3'))).toMatchObject({ code: 'OtherChange' });
  });

  it.each([{}, { minReadySeconds: 0 }, { minReadySeconds: 5 }])(
    'what was begun with %j is the same without it, and with another',
    (begun) => {
      const asked = (also: object, image = 'app:2'): StartRequest => {
        const metadata = { name: 'foo', namespace: 'default' };
        const spec = { selector: { app: 'foo' }, template: IMAGE_TEMPLATE(image), ...also };
        const manifest = { apiVersion: 'v1', kind: 'ReplicationController', metadata, spec } as const;
        return { change: { kind: 'manifest', manifest }, key: KEY };
      };
      const world = foo();
      const decision = decide(world, asked(begun));
      if (decision.do !== 'begin') throw new Error(JSON.stringify(decision));
      const { controller } = decision.data;
      // As the apiserver serves a 0.
      const { minReadySeconds, ...rest } = controller.spec;
      const spec = {
        ...rest,
        ...(minReadySeconds !== undefined && minReadySeconds > 0 && { minReadySeconds }),
      };
      world.record({ ...decision.data, controller: { ...controller, spec } }, STATE);
      run(world, { until: ({ purpose }) => purpose === 'ScaleDown' });

      for (const also of [{}, { minReadySeconds: 0 }, { minReadySeconds: 5 }, { minReadySeconds: 9 }]) {
        expect(decide(world, asked(also))).toEqual({ do: 'attach' });
        expect(decide(world, asked(also, 'app:3'))).toMatchObject({ code: 'OtherChange' });
      }
    },
  );

  it('the same command again after the end: nothing to do', () => {
    const world = foo();
    begin(world);
    run(world);
    expect(decide(world)).toMatchObject({
      do: 'finished',
      message: expect.stringContaining('foo is rolled out'),
    });
    expect(decide(world, { change: { kind: 'image', image: 'app:1' } })).toMatchObject({ do: 'begin' });

    const kept = foo();
    begin(kept, 'foo-v2');
    run(kept, { next: 'foo-v2' });
    expect(decide(kept, { newName: 'foo-v2' })).toEqual({
      do: 'finished',
      message: 'foo-v2 has taken the place of foo',
    });
    expect(decide(kept, { newName: 'foo-v2', change: { kind: 'image', image: 'app:3' } })).toMatchObject({
      code: 'NotFound',
      message: expect.stringContaining('has taken the place'),
    });
  });

  it('a manifest of which only defaults are missing is what is there', () => {
    const world = foo();
    const spec = { replicas: 5, template: IMAGE_TEMPLATE('app:1') };
    const manifest = {
      apiVersion: 'v1' as const,
      kind: 'ReplicationController' as const,
      metadata: { name: 'foo', namespace: 'default' },
      spec,
    };
    world.edit('foo', (one) => {
      const template = { ...spec.template, spec: { ...spec.template.spec, restartPolicy: 'Always' } };
      return { ...one, spec: { ...one.spec, template } };
    });
    const decision = decide(world, { change: { kind: 'manifest', manifest } });
    if (decision.do !== 'begin') throw new Error(JSON.stringify(decision));
    const view = viewUpdate(world.snapshot('foo'));
    expect(decideDefaulted(view, decision).do).toBe('begin');
    const { controller } = decision.data;
    const { template } = world.find('foo')?.spec ?? {};
    const served = { ...controller.spec, ...(template && { template }) };
    const defaulted = {
      ...decision,
      data: { ...decision.data, controller: { ...controller, spec: served } },
    };
    expect(decideDefaulted(view, defaulted)).toMatchObject({ do: 'refuse', code: 'NoChange' });
  });

  it('a container that is not there is told while an update is in progress too', () => {
    const world = foo();
    begin(world);
    const change = { kind: 'image', image: 'app:2', container: 'x' } as const;
    // The pods that are meant are those of the next controller.
    const message = expect.stringMatching(/^foo-[0-9a-f]+: /);
    expect(decide(world, { change })).toMatchObject({ do: 'refuse', code: 'NoContainer', message });
  });

  it('of two who begin at once only one can: both records have the same name', () => {
    const world = foo();
    const names = ['app:2', 'app:3'].map((image) => {
      const decision = decide(world, { change: { kind: 'image', image } });
      if (decision.do !== 'begin') throw new Error(JSON.stringify(decision));
      return recordManifest(decision.data, STATE, [])['metadata'];
    });
    expect(names[0]).toMatchObject({ name: 'foo-1' });
    expect(names[1]).toMatchObject({ name: 'foo-1' });
  });

  it('a name that was given begins no second update beside the one in progress', () => {
    const world = foo();
    const next = begin(world);
    run(world, { until: ({ purpose }) => purpose === 'ScaleDown' });
    const asked = (newName: string) =>
      decideStart(viewUpdate(world.snapshot('foo', newName)), { ...IMAGE, newName });

    expect(asked('foo-v2')).toMatchObject({ do: 'refuse', code: 'OtherChange' });
    expect(asked(next)).toEqual({ do: 'attach' });
  });

  it('nor takes the next controller of another one, which is only written down; one that did can be given up', () => {
    const world = foo();
    const labels = { app: 'bar' };
    world.controller('bar', { replicas: 2, selector: labels, template: IMAGE_TEMPLATE('app:1', labels) });
    world.settle();
    // Both have looked before either wrote.
    const asked = { ...IMAGE, newName: 'new' };
    const decision = decideStart(viewUpdate(world.snapshot('bar', 'new')), asked);
    if (decision.do !== 'begin') throw new Error(JSON.stringify(decision));
    begin(world, 'new');
    expect(decideStart(viewUpdate(world.snapshot('bar', 'new')), asked)).toMatchObject({
      code: 'OtherUpdate',
    });

    const { records } = viewUpdate(world.snapshot('bar', 'new'));
    world.record(decision.data, { ...STATE, desired: 2 }, records);
    run(world, { next: 'new', until: ({ purpose }) => purpose === 'ScaleDown' });
    const stepOfBar = () => planRollingUpdate(world.snapshot('bar'), NOW).step;
    expect(stepOfBar()).toMatchObject({ do: 'refuse', code: 'OtherUpdate' });
    const turned = decideRollback(viewUpdate(world.snapshot('bar')), { verb: 'abort' });
    if (turned.do !== 'turn') throw new Error(JSON.stringify(turned));
    world.apply(turned.write);
    for (let turns = 0; turns < 20; turns += 1) {
      const step = stepOfBar();
      if (step.do === 'write') world.apply(step.write);
    }

    expect(stepOfBar()).toMatchObject({ do: 'done', outcome: 'Aborted' });
    expect(run(world, { next: 'new' }).outcome).toBe('Succeeded');
    expect(world.find('bar')?.metadata.annotations).toEqual({});
  });

  it('a name that a controller has which belongs to no update of this one is refused, whatever is asked for', () => {
    const world = foo();
    const labels = { app: 'bar' };
    world.controller('bar', { replicas: 2, selector: labels, template: IMAGE_TEMPLATE('app:2', labels) });
    const message = 'bar exists already, and belongs to no update of foo';
    for (const change of [IMAGE.change, { kind: 'none' } as const]) {
      expect(decide(world, { newName: 'bar', change })).toEqual({ do: 'refuse', code: 'NameTaken', message });
    }
    expect(decideRollback(viewUpdate(world.snapshot('foo', 'bar')), {})).toMatchObject({ code: 'NameTaken' });
    world.edit('bar', (one) => ({
      ...one,
      metadata: { ...one.metadata, annotations: { [ROLLING_UPDATE.partner]: 'baz' } },
    }));
    expect(decide(world, { newName: 'bar' })).toMatchObject({
      code: 'OtherUpdate',
      message: 'bar belongs to another update, that of baz',
    });
    world.forget('replicationcontrollers', 'foo');
    expect(decide(world, { newName: 'bar' })).toMatchObject({ do: 'refuse' });
  });

  it('one without any mark whose selector is the same but for the label is gone on with (seed, "Initialization")', () => {
    const world = foo();
    const labels = { app: 'foo', [KEY]: 'x' };
    world.controller('bar', { replicas: 0, selector: labels, template: IMAGE_TEMPLATE('app:2', labels) });

    expect(decide(world, { newName: 'bar' })).toEqual({ do: 'attach' });
    expect(decide(world, { newName: 'bar', change: { kind: 'image', image: 'app:3' } })).toMatchObject({
      code: 'OtherChange',
    });
  });

  it('a name that another update has taken is refused', () => {
    const world = foo();
    const decision = decide(world);
    const next = decision.do === 'begin' ? decision.data.next : '';
    world.controller(
      next,
      { replicas: 0, selector: { a: 'b' }, template: IMAGE_TEMPLATE('x') },
      { [ROLLING_UPDATE.partner]: 'bar' },
    );

    expect(decide(world)).toMatchObject({ do: 'refuse', code: 'OtherUpdate' });
  });

  it('a file of another name needs a selector of its own (K3), one of the same name does not', () => {
    const manifest = (name: string, selector: Record<string, string>) => ({
      change: {
        kind: 'manifest' as const,
        manifest: {
          apiVersion: 'v1' as const,
          kind: 'ReplicationController' as const,
          metadata: { name, namespace: 'default' },
          spec: { selector, template: IMAGE_TEMPLATE('app:2', selector) },
        },
      },
    });
    expect(decide(foo(), manifest('bar', { app: 'bar' }))).toMatchObject({
      do: 'begin',
      desired: 3,
      data: { next: 'bar', to: 'bar' },
    });
    expect(decide(foo(), manifest('foo', { app: 'foo' }))).toMatchObject({
      do: 'begin',
      data: { to: 'foo' },
    });
  });

  const LABELLED = { app: 'foo', [KEY]: 'a' };
  it.each<[string, Record<string, string>, Record<string, string>, string]>([
    ['the same', { app: 'foo' }, { app: 'foo' }, 'the same value as that of foo (app=foo) for each'],
    [
      'fewer keys',
      LABELLED,
      { app: 'foo' },
      `that of foo (app=foo,${KEY}=a) for each key that both have (app)`,
    ],
    ['more keys', { app: 'foo' }, { app: 'foo', v: '2' }, 'of bar (app=foo,v=2) has the same value'],
    ['keys in part', { app: 'foo', a: 'b' }, { app: 'foo', v: '2' }, 'each key that both have (app)'],
    ['other keys', { app: 'foo' }, { v: '2' }, 'no key in common with that of foo (app=foo)'],
  ])('a file whose selector could select the pods of the old one is refused: %s (K3)', (_, old, own, why) => {
    const world = new SimulatedControllers();
    world.controller('foo', { replicas: 3, selector: old, template: IMAGE_TEMPLATE('app:1', old) });
    // The apiserver fills in the second one.
    for (const selector of [own, {}]) {
      const request = { change: fileOf('bar', own, selector), newName: 'bar' };
      expect(decide(world, request)).toMatchObject({
        code: 'SelectorSame',
        message: expect.stringContaining(why),
      });
      const decision = decide(world, request);
      if (decision.do !== 'refuse') throw new Error(decision.do);
      const { message } = updateRefusal(viewUpdate(world.snapshot('foo')), decision);
      expect(message).toContain(`give ${[...new Set([...Object.keys(old), KEY])].join(' or ')} a value`);
    }
  });

  it.each<[string, Record<string, string>, Record<string, string>]>([
    ['another value', { app: 'foo' }, { app: 'bar' }],
    ['another value of one key', { app: 'foo', v: '1' }, { app: 'foo', v: '2' }],
    ['the label of updates, which the old one gets then', { app: 'foo' }, LABELLED],
  ])('a file whose selector cannot is rolled out, and no pod has two: %s', (_, old, own) => {
    const world = new SimulatedControllers();
    world.controller('foo', { replicas: 3, selector: old, template: IMAGE_TEMPLATE('app:1', old) });
    world.settle();
    const decision = decide(world, { change: fileOf('bar', own), newName: 'bar' });
    if (decision.do !== 'begin') throw new Error(JSON.stringify(decision));
    world.record(decision.data, STATE);
    run(world, { next: 'bar', until: ({ purpose }) => purpose === 'ScaleUp' });
    const [a = {}, b = {}] = world.controllers.map(({ spec }) => spec.selector);
    expect(Object.keys(a).some((key) => key in b && a[key] !== b[key])).toBe(true);
    expect(run(world, { next: 'bar' }).outcome).toBe('Succeeded');
  });

  it('an update that began with such a file before it was refused is attached to', () => {
    const world = foo();
    const change = fileOf('bar', { app: 'foo', v: '2' });
    const { manifest: controller } = change;
    const { hash } = labelled(controller, KEY);
    world.record({ from: 'foo', next: 'bar', to: 'bar', key: KEY, hash, controller }, STATE);
    expect(decide(world, { change, newName: 'bar' })).toEqual({ do: 'attach' });
    expect(run(world, { next: 'bar', until: ({ purpose }) => purpose === 'ScaleDown' }).outcome).toBe(
      'stopped',
    );
  });

  it('of the next controller is refused with the command of the old one, as long as that can be turned round', () => {
    const world = foo();
    const next = begin(world);
    run(world, { until: ({ purpose }) => purpose === 'ScaleDown' });
    const hint = () => {
      const view = viewUpdate(world.snapshot(next));
      const decision = decideRollback(view, {});
      if (decision.do !== 'refuse') throw new Error(decision.do);
      return updateRefusal(view, decision).message.split('\n  ')[1];
    };
    expect(hint()).toBe(
      'turn it round: fairlead rolling-update foo --rollback -n default; or follow it: fairlead rolling-update foo -n default',
    );
    world.forget('replicationcontrollers', 'foo');
    expect(hint()).toBe(`\`fairlead explain rc/${next} -n default\` says how it stands`);
  });
});
