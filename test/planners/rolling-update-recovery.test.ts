/** Rolling updates recovered from the objects alone, by the seed's states, and turned round (seed 001 "Abort", "Recovery"). */

import { describe, expect, it } from '@jest/globals';

import { commandFor } from '../../cli/update-state.ts';
import { ANNOTATION, ROLLING_UPDATE, SHIPPED_ROLLING_UPDATE } from '../../planners/names.ts';
import type { ControllerRevision } from '../../planners/objects.ts';
import { planRollingUpdate } from '../../planners/rolling-update.ts';
import { nameByHash } from '../../planners/rolling-update-record.ts';
import { decideRollback } from '../../planners/rolling-update-rollback.ts';
import { decideStart } from '../../planners/rolling-update-start.ts';
import type { StartRequest } from '../../planners/rolling-update-start.ts';
import type { UpdateWrite } from '../../planners/rolling-update-steps.ts';
import { updateNameOf, viewUpdate } from '../../planners/rolling-update-view.ts';
import { IMAGE_TEMPLATE, SimulatedControllers } from '../support/simulated-controllers.ts';
import {
  IMAGE,
  KEY,
  NOW,
  RENAME,
  STATE,
  begin,
  foo,
  run,
  stepOf,
  turn,
} from '../support/simulated-update.ts';

/** As kubectl has them, which names the next controller by all of it. */
const HASH = '0123456789abcdef'.repeat(2);

describe('recovered from the objects alone', () => {
  it('the seed: both exist, only the annotation of the next is missing', () => {
    const world = foo();
    const next = begin(world);
    run(world, { until: ({ purpose }) => purpose === 'ScaleDown' });
    world.edit(next, (one) => ({ ...one, metadata: { ...one.metadata, annotations: {} } }));

    expect(stepOf(world)).toMatchObject({ write: { purpose: 'Annotate', name: next } });
    expect(run(world).outcome).toBe('Succeeded');
  });

  // Only a name that an update has formed is given up: any other somebody has chosen, and it stays (seed, "Lightweight rollout").
  it.each([
    [nameByHash('foo', HASH), 'foo'],
    [`foo-${HASH}`, 'foo'],
    ['foo-next', 'foo-next'],
    ['foo-v2', 'foo-v2'],
    // The hash of something else.
    ['foo-c0ffeec0ffee', 'foo-c0ffeec0ffee'],
    // A word, and the value of a label of that word.
    [`foo-${HASH.slice(0, 3)}`, `foo-${HASH.slice(0, 3)}`],
  ])(
    'the seed: without any record the desired size is the present one of the old controller; %s is %s then',
    (next, to) => {
      const world = foo();
      const labels = { app: 'foo', [KEY]: HASH };
      const marks = { [ROLLING_UPDATE.partner]: 'foo' };
      world.controller(
        next,
        { replicas: 0, selector: labels, template: IMAGE_TEMPLATE('app:2', labels) },
        marks,
      );
      const { written, outcome } = run(world);

      expect(outcome).toBe('Succeeded');
      expect(written.slice(0, 2)).toEqual(['Record', 'Annotate']);
      expect(world.controllers).toMatchObject([{ metadata: { name: to }, spec: { replicas: 3 } }]);
    },
  );

  it.each([
    [nameByHash('foo', HASH), ROLLING_UPDATE.desiredReplicas, KEY],
    [`foo-${HASH}`, SHIPPED_ROLLING_UPDATE.desiredReplicas, SHIPPED_ROLLING_UPDATE.deployment],
  ])(
    'the seed: only the next exists, and no mark names the one before: its name does (%s, %s)',
    (next, mark, key) => {
      const world = new SimulatedControllers();
      const labels = { app: 'foo', [key]: HASH };
      world.controller(
        next,
        { replicas: 3, selector: labels, template: IMAGE_TEMPLATE('app:2', labels) },
        { [mark]: '3' },
      );
      world.settle();
      const uids = world.pods.map(({ metadata }) => metadata.uid);
      expect(updateNameOf(world.snapshot(next), next)).toBe('foo');
      expect(decideStart(viewUpdate(world.snapshot('foo')), { ...IMAGE, key })).toMatchObject({
        do: 'attach',
      });

      expect(run(world).outcome).toBe('Succeeded');
      expect(world.controllers).toMatchObject([{ metadata: { name: 'foo' }, spec: { replicas: 3 } }]);
      expect(world.pods.map(({ metadata }) => metadata.uid)).toEqual(uids);
    },
  );

  it.each<[string, string, Record<string, string>]>([
    ['wants nothing any more', `foo-${HASH}`, {}],
    ['has a name that somebody has chosen', 'foo-v2', { [ROLLING_UPDATE.desiredReplicas]: '3' }],
    ['is the old one', `foo-${HASH}`, { [ROLLING_UPDATE.desiredReplicas]: '3', [ANNOTATION.turned]: '{}' }],
  ])('one that %s is the next of none', (_, name, marks) => {
    const world = new SimulatedControllers();
    const labels = { app: 'foo', [KEY]: HASH };
    world.controller(
      name,
      { replicas: 3, selector: labels, template: IMAGE_TEMPLATE('app:2', labels) },
      marks,
    );
    expect(updateNameOf(world.snapshot(name), name)).toBe(name);
    expect(viewUpdate(world.snapshot('foo')).nextController).toBeUndefined();
    expect(decideStart(viewUpdate(world.snapshot('foo')), IMAGE)).toMatchObject({
      do: 'refuse',
      code: 'NotFound',
    });
  });

  it('the name that was given, where the record is lost: it stays, and the command that is printed has it', () => {
    const world = foo();
    begin(world, 'foo-v2');
    run(world, { next: 'foo-v2', until: ({ purpose }) => purpose === 'ScaleDown' });
    for (const { metadata } of world.revisions) world.forget('controllerrevisions', metadata.name);
    const { view } = planRollingUpdate(world.snapshot('foo'), NOW);
    expect(commandFor(view)).toBe('fairlead rolling-update foo foo-v2 -n default');

    expect(run(world).outcome).toBe('Succeeded');
    expect(world.controllers.map(({ metadata }) => metadata.name)).toEqual(['foo-v2']);
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

  it('a key that was asked for, where the record is lost before the old one has the label: it gets it all the same', () => {
    const world = foo();
    const decision = decideStart(viewUpdate(world.snapshot('foo')), { ...IMAGE, key: 'example.com/rolled' });
    if (decision.do !== 'begin') throw new Error(JSON.stringify(decision));
    world.record(decision.data, STATE);
    run(world, { until: ({ purpose }) => purpose === 'LabelTemplate' });
    for (const { metadata } of world.revisions) world.forget('controllerrevisions', metadata.name);

    expect(run(world, { until: ({ purpose }) => purpose === 'ScaleUp' }).written).toContain('LabelSelector');
    const keys = world.controllers.map(({ spec }) => Object.keys(spec.selector ?? {}));
    expect(keys).toEqual([
      ['app', 'example.com/rolled'],
      ['app', 'example.com/rolled'],
    ]);
    expect(viewUpdate(world.snapshot('foo')).record?.key).toBe('example.com/rolled');
    expect(run(world).outcome).toBe('Succeeded');
  });

  it.each<[Record<string, string>, object]>([
    [
      { [ANNOTATION.maxSurge]: '2', [ANNOTATION.maxUnavailable]: '1' },
      { surge: 2, unavailable: 1 },
    ],
    [{ [ANNOTATION.maxSurge]: '50%' }, { surge: '50%', unavailable: 0 }],
    [{ [ANNOTATION.maxSurge]: 'many' }, { surge: 1, unavailable: 0 }],
  ])('the budget of annotations %j holds without a record', (annotations, budget) => {
    const world = foo();
    const next = begin(world);
    run(world, { until: ({ purpose }) => purpose === 'ScaleUp' });
    for (const { metadata } of world.revisions) world.forget('controllerrevisions', metadata.name);
    world.edit(next, (one) => ({
      ...one,
      metadata: { ...one.metadata, annotations: { ...one.metadata.annotations, ...annotations } },
    }));

    expect(viewUpdate(world.snapshot('foo')).state).toMatchObject(budget);
    run(world, { until: ({ purpose }) => purpose === 'ScaleUp' });
    expect(viewUpdate(world.snapshot('foo')).record?.state).toMatchObject(budget);
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
    expect(world.find(next)?.metadata.annotations).toEqual({});
    expect(world.find(next)?.spec.replicas).toBe(3);
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
    const next = `foo-${HASH}`;
    world.edit('foo', (one) => ({
      ...one,
      spec: { ...one.spec, replicas: 2 },
      metadata: {
        ...one.metadata,
        annotations: {
          [SHIPPED_ROLLING_UPDATE.originalReplicas]: '3',
          [SHIPPED_ROLLING_UPDATE.nextController]: next,
        },
      },
    }));
    const labels = { app: 'foo', [SHIPPED_ROLLING_UPDATE.deployment]: HASH };
    world.controller(
      next,
      { replicas: 1, selector: labels, template: IMAGE_TEMPLATE('app:2', labels) },
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

describe('an update that is begun while the run of the one before still closes', () => {
  it.each([
    ['of a next controller with a name of its own', 'foo-v2', undefined],
    ['with a name of its own', 'foo-v3', 'foo-v2'],
  ])('that run, which looks for the one of before, ends with its own (%s)', (_, former, later) => {
    const world = foo();
    begin(world, former);
    run(world, { next: former, until: ({ purpose }) => purpose === 'ScaleDown' });
    turn(world);
    expect(run(world, { next: former, until: ({ purpose }) => purpose === 'Own' }).outcome).toBe('stopped');
    begin(world, later);

    // Neither closed nor given to a controller that is about to be deleted.
    expect(run(world, { next: former })).toEqual({ written: ['Own'], outcome: 'Aborted' });
    const { record } = viewUpdate(world.snapshot('foo'));
    expect(record?.state.phase).toBe('Rolling');
    expect(record?.revision.metadata.ownerReferences ?? []).toEqual([]);
    expect(run(world).outcome).toBe('Succeeded');
    expect(world.find(later ?? 'foo')?.spec.template?.spec.containers[0]?.image).toBe('app:2');
  });
});
