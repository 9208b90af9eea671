/** Somebody has edited the template of a controller that an update has rolled out, and an image is rolled out again. */

import { describe, expect, it } from '@jest/globals';

import { ANNOTATION } from '../../planners/names.ts';
import { planRollingUpdate } from '../../planners/rolling-update.ts';
import { labelled } from '../../planners/rolling-update-definition.ts';
import type { RecordData } from '../../planners/rolling-update-record.ts';
import { readRecords } from '../../planners/rolling-update-record.ts';
import { decideRollback } from '../../planners/rolling-update-rollback.ts';
import { decideDefaulted, decideStart } from '../../planners/rolling-update-start.ts';
import type { StartRequest } from '../../planners/rolling-update-start.ts';
import { viewUpdate } from '../../planners/rolling-update-view.ts';
import { IMAGE_TEMPLATE } from '../support/simulated-controllers.ts';
import type { SimulatedControllers } from '../support/simulated-controllers.ts';
import { IMAGE, KEY, NOW, STATE, begin, foo, run, stepOf, turn } from '../support/simulated-update.ts';

const fieldsV1 = { 'f:spec': { 'f:template': { 'f:spec': { 'f:containers': {} } } } };

/** As `kubectl set image`; of 3 pods, `lost` are made anew. */
function setImage(world: SimulatedControllers, name: string, image: string, lost = 0): void {
  world.edit(name, (one) => ({
    ...one,
    metadata: { ...one.metadata, managedFields: [{ manager: 'kubectl-set', fieldsV1 }] },
    spec: { ...one.spec, template: IMAGE_TEMPLATE(image, one.spec.template?.metadata?.labels) },
  }));
  for (const { metadata } of world.activePods.slice(0, lost)) world.forget('pods', metadata.name);
  world.settle();
}

function images(world: SimulatedControllers): readonly (string | undefined)[] {
  return world.activePods.map(({ spec }) => spec.containers[0]?.image);
}

const request = (image: string, newName?: string): StartRequest => ({
  ...IMAGE,
  newName,
  change: { kind: 'image', image },
});

function wantedBy(world: SimulatedControllers, asked: StartRequest): RecordData {
  const decision = decideStart(viewUpdate(world.snapshot('foo', asked.newName)), asked);
  if (decision.do !== 'begin') throw new Error(JSON.stringify(decision));
  return decision.data;
}

function beginAgain(world: SimulatedControllers, asked: StartRequest): RecordData {
  const data = wantedBy(world, asked);
  world.record(data, STATE, readRecords(world.revisions));
  return data;
}

/** `rolling-update foo --image=app:2` is over, and then `kubectl set image rc/foo main=app:9`. */
function rolledOutAndEdited(lost = 2) {
  const world = foo();
  const first = begin(world);
  expect(run(world).outcome).toBe('Succeeded');
  setImage(world, 'foo', 'app:9', lost);
  return { world, first };
}

describe('the image of the last update again, after the template was edited', () => {
  it.each([0, 1, 3])('%i pods are of the edited one: all are replaced that are to be', (lost) => {
    const { world, first } = rolledOutAndEdited(lost);
    const before = world.find('foo')?.spec.selector?.[KEY];
    const data = beginAgain(world, IMAGE);
    expect(data.next).not.toBe(first);
    const { outcome, written } = run(world);

    expect(outcome).toBe('Succeeded');
    expect(written).toContain('CreateNext');
    expect(images(world)).toEqual(['app:2', 'app:2', 'app:2']);
    const { spec, metadata } = world.find('foo') ?? {};
    expect(spec?.template?.spec.containers[0]?.image).toBe('app:2');
    expect(spec?.selector?.[KEY]).toBe(data.hash);
    expect(spec?.selector?.[KEY]).not.toBe(before);
    expect(metadata?.annotations).toEqual({});
    expect(world.controllers).toHaveLength(1);
  });

  it('as often as it happens', () => {
    const { world } = rolledOutAndEdited();
    for (const image of ['app:9', 'app:2', 'app:9']) {
      beginAgain(world, IMAGE);
      expect(run(world).outcome).toBe('Succeeded');
      expect(images(world)).toEqual(['app:2', 'app:2', 'app:2']);
      setImage(world, 'foo', image, 1);
      if (image === 'app:2') setImage(world, 'foo', 'app:7', 1);
    }
  });

  it('with a new name: it is there in the end, and the old one is not', () => {
    const { world } = rolledOutAndEdited();
    beginAgain(world, request('app:2', 'foo-new'));

    expect(run(world, { next: 'foo-new' }).outcome).toBe('Succeeded');
    expect(world.controllers.map(({ metadata }) => metadata.name)).toEqual(['foo-new']);
    expect(images(world)).toEqual(['app:2', 'app:2', 'app:2']);
  });

  it('the same command again attaches, from a file too, and recovers from the objects alone', () => {
    const { world } = rolledOutAndEdited();
    const spec = { selector: { app: 'foo' }, template: IMAGE_TEMPLATE('app:2') };
    const metadata = { name: 'foo', namespace: 'default' };
    const file = { apiVersion: 'v1', kind: 'ReplicationController', metadata, spec } as const;
    const manifest: StartRequest = { change: { kind: 'manifest', manifest: file }, key: KEY };
    const data = beginAgain(world, manifest);
    run(world, { until: ({ purpose }) => purpose === 'ScaleDown' });
    const attached = (asked: StartRequest) => decideStart(viewUpdate(world.snapshot('foo')), asked).do;
    expect([attached(manifest), attached(IMAGE), attached(request('app:3'))]).toEqual([
      'attach',
      'attach',
      'refuse',
    ]);
    for (const { metadata: revision } of world.revisions) world.forget('controllerrevisions', revision.name);

    expect(run(world).outcome).toBe('Succeeded');
    expect(images(world)).toEqual(['app:2', 'app:2', 'app:2']);
    expect(world.find('foo')?.spec.selector?.[KEY]).toBe(data.hash);
  });

  it('the next one and the record are lost: asked for again it has the same name and label', () => {
    const { world } = rolledOutAndEdited();
    const data = beginAgain(world, IMAGE);
    run(world, { until: ({ purpose }) => purpose === 'ScaleDown' });
    world.forget('replicationcontrollers', data.next);
    const record = world.revisions.at(-1)?.metadata.name ?? '';
    world.forget('controllerrevisions', record);

    const { next, hash } = wantedBy(world, IMAGE);
    expect([next, hash]).toEqual([data.next, data.hash]);
  });

  it('turned round it is as it was edited', () => {
    const { world } = rolledOutAndEdited();
    beginAgain(world, IMAGE);
    run(world, { until: ({ purpose }) => purpose === 'ScaleDown' });
    turn(world);

    expect(run(world).outcome).toBe('Aborted');
    expect(world.find('foo')?.spec.template?.spec.containers[0]?.image).toBe('app:9');
    expect(world.controllers).toHaveLength(1);
    expect(world.activePods).toHaveLength(3);
  });

  it('the edited image itself: nothing was rolled out, and that is no success', () => {
    const { world } = rolledOutAndEdited(1);
    const answer = (asked: StartRequest) => decideStart(viewUpdate(world.snapshot('foo')), asked);
    expect(answer(request('app:9'))).toMatchObject({
      do: 'refuse',
      code: 'NoChange',
      message: expect.stringContaining('but it was changed by kubectl-set since it was rolled out'),
    });
    const template = IMAGE_TEMPLATE('app:9');
    const metadata = { name: 'foo', namespace: 'default' };
    const file = { apiVersion: 'v1', kind: 'ReplicationController', metadata, spec: { template } } as const;
    const decision = answer({ change: { kind: 'manifest', manifest: file }, key: KEY });
    expect(
      decision.do === 'begin' && decideDefaulted(viewUpdate(world.snapshot('foo')), decision),
    ).toMatchObject({ do: 'refuse', code: 'NoChange' });
    // Nobody has changed anything: the same command after its end.
    setImage(world, 'foo', 'app:2');
    expect(answer(IMAGE)).toMatchObject({ do: 'finished' });
  });
});

describe('a record of an earlier version, with the label of the controller that it replaces', () => {
  function clash() {
    const { world } = rolledOutAndEdited();
    const data = wantedBy(world, IMAGE);
    const { controller, hash } = labelled(data.controller, KEY);
    expect(controller.spec.selector).toEqual(world.find('foo')?.spec.selector);
    world.record({ ...data, controller, hash, next: 'foo-next' }, STATE, readRecords(world.revisions));
    return world;
  }

  it('is no success, and nothing is created', () => {
    expect(run(clash())).toMatchObject({ outcome: 'refuse', written: [] });
    expect(stepOf(clash())).toMatchObject({ code: 'SelectorSame' });
  });

  it('can be given up, and then it is rolled out', () => {
    const world = clash();
    turn(world);
    expect(run(world).outcome).toBe('Aborted');
    expect(world.find('foo')?.metadata.annotations).toEqual({});
    beginAgain(world, IMAGE);
    expect(run(world).outcome).toBe('Succeeded');
    expect(images(world)).toEqual(['app:2', 'app:2', 'app:2']);
  });
});

describe('the renamed controller is edited while its pods are awaited', () => {
  function renamedAndEdited() {
    const world = foo();
    begin(world);
    run(world, { until: ({ purpose }) => purpose === 'Own' });
    const [pod] = world.activePods;
    world.edit('foo', (one) => ({ ...one, spec: { ...one.spec, replicas: 3 } }));
    world.forget('pods', pod?.metadata.name ?? '');
    setImage(world, 'foo', 'app:9');
    return world;
  }

  it('is put back, and pods of the edited one are no end', () => {
    const world = renamedAndEdited();
    expect(images(world)).toContain('app:9');
    expect(decideRollback(viewUpdate(world.snapshot('foo')), {})).toMatchObject({ code: 'NotInProgress' });
    const step = stepOf(world);
    expect(step).toMatchObject({ write: { purpose: 'PutBack', name: 'foo' } });
    expect(step.do === 'write' && world.apply(step.write)).toBe('done');
    world.edit('foo', (one) => ({ ...one, metadata: { ...one.metadata, managedFields: [] } }));
    expect(stepOf(world)).toMatchObject({ do: 'await', waiting: [{ code: 'PodOfEditedTemplate' }] });
    const edited = world.activePods.find(({ spec }) => spec.containers[0]?.image === 'app:9');
    world.forget('pods', edited?.metadata.name ?? '');
    world.settle();

    expect(run(world).outcome).toBe('Succeeded');
    expect(images(world)).toEqual(['app:2', 'app:2', 'app:2']);
    expect(world.find('foo')?.metadata.annotations).not.toHaveProperty(ANNOTATION.editedImages);
  });

  it('while it is paused it is not over either', () => {
    const world = renamedAndEdited();
    const paused = { ...world.snapshot('foo'), paused: { by: 'ann' } };
    expect(planRollingUpdate(paused, NOW).step).toMatchObject({ do: 'paused', by: 'ann' });
  });
});

describe('the next controller is edited, and its record deleted', () => {
  const own = {
    manager: 'fairlead-rolling-update',
    fieldsV1: { 'f:spec': { 'f:selector': {}, 'f:template': {} } },
  };

  /** Of 3 pods of the next one, `lost` are made of the edited template. */
  function editedWithoutRecord(lost: number) {
    const world = foo();
    const next = begin(world);
    run(world, { until: ({ purpose }) => purpose === 'DeleteOld' });
    world.edit('foo', (one) => ({ ...one, spec: { ...one.spec, replicas: 1 } }));
    world.settle();
    setImage(world, next, 'app:9');
    world.edit(next, (one) => ({
      ...one,
      metadata: { ...one.metadata, managedFields: [own, ...(one.metadata.managedFields ?? [])] },
    }));
    const isNext = (name: string | undefined) => name === `${next}-`;
    const pods = world.activePods.filter(({ metadata }) => isNext(metadata.generateName));
    for (const { metadata } of pods.slice(0, lost)) world.forget('pods', metadata.name);
    world.settle();
    for (const { metadata } of world.revisions) world.forget('controllerrevisions', metadata.name);
    return { world, next };
  }

  /** The apiserver: whoever writes a field last owns it. */
  function untilPutBack(world: SimulatedControllers, next: string): void {
    run(world, { until: ({ purpose }) => purpose === 'PutBack' });
    const step = stepOf(world);
    expect(step.do === 'write' && world.apply(step.write)).toBe('done');
    world.edit(next, (one) => ({ ...one, metadata: { ...one.metadata, managedFields: [own] } }));
  }

  it.each([0, 1, 2])('%i pods are of the edited one: those of before say what it was', (lost) => {
    const { world, next } = editedWithoutRecord(lost);
    expect(stepOf(world)).toMatchObject({ write: { purpose: 'Record' } });
    untilPutBack(world, next);

    expect(run(world).outcome).toBe('Succeeded');
    expect(images(world)).toEqual(['app:2', 'app:2', 'app:2']);
  });

  it('put back by hand: pods of the edited one are no end', () => {
    const { world, next } = editedWithoutRecord(2);
    world.edit(next, (one) => ({
      ...one,
      spec: { ...one.spec, template: IMAGE_TEMPLATE('app:2', one.spec.template?.metadata?.labels) },
    }));

    expect(run(world).outcome).toBe('Succeeded');
    expect(images(world)).toEqual(['app:2', 'app:2', 'app:2']);
  });

  it('no pod says it: the run ends with an error, and the image that is asked for again is rolled out', () => {
    const { world, next } = editedWithoutRecord(3);
    expect(images(world)).not.toContain('app:2');
    expect(stepOf(world)).toMatchObject({
      do: 'refuse',
      code: 'TemplateUnknown',
      message: expect.stringContaining(`the template of ${next} was changed by kubectl-set`),
    });
    const answer = (asked: StartRequest) => decideStart(viewUpdate(world.snapshot('foo')), asked);
    for (const other of ['app:9', 'app:3'])
      expect(answer(request(other))).toMatchObject({ do: 'refuse', code: 'OtherChange' });
    expect(beginAgain(world, IMAGE).next).toBe(next);
    untilPutBack(world, next);

    expect(run(world).outcome).toBe('Succeeded');
    expect(images(world)).toEqual(['app:2', 'app:2', 'app:2']);
  });

  it('given up: the old one has its pods again', () => {
    const { world } = editedWithoutRecord(3);
    turn(world);
    expect(run(world).outcome).toBe('Aborted');
    expect(images(world)).toEqual(['app:1', 'app:1', 'app:1']);
  });

  it('one that was made by another hand is what it is', () => {
    const { world, next } = editedWithoutRecord(3);
    world.edit(next, (one) => ({
      ...one,
      metadata: { ...one.metadata, managedFields: [{ manager: 'kubectl', fieldsV1: own.fieldsV1 }] },
    }));
    expect(stepOf(world)).toMatchObject({ write: { purpose: 'Record' } });
    expect(run(world).outcome).toBe('Succeeded');
    expect(images(world)).toEqual(['app:9', 'app:9', 'app:9']);
  });

  it('edited while it is let go: the record stays as it is', () => {
    const world = foo();
    const next = begin(world);
    run(world, { until: ({ purpose }) => purpose === 'ReleaseNext' });
    setImage(world, next, 'app:9');

    expect(run(world).outcome).toBe('Succeeded');
    expect(images(world)).toEqual(['app:2', 'app:2', 'app:2']);
    expect(world.find('foo')?.spec.template?.spec.containers[0]?.image).toBe('app:2');
  });
});

describe('the old name is made again by hand while a rename has none', () => {
  const MANIFEST = { selector: { app: 'foo' }, template: IMAGE_TEMPLATE('app:1') };

  it.each([
    ['before the next one is gone', 'ReleaseNext', 3],
    ['after that', 'Create', 3],
    ['of a smaller size', 'Create', 0],
  ] as const)('%s: it becomes what was rolled out, and no pod goes', (_, purpose, replicas) => {
    const world = foo();
    begin(world);
    run(world, { until: (write) => write.purpose === purpose });
    const pods = world.activePods.map(({ metadata }) => metadata.uid);
    world.controller('foo', { ...MANIFEST, replicas });
    if (replicas > 0) world.settle();
    expect(run(world).outcome).toBe('Succeeded');

    expect(world.activePods.map(({ metadata }) => metadata.uid)).toEqual(pods);
    expect(images(world)).toEqual(['app:2', 'app:2', 'app:2']);
    expect(world.controllers.map(({ metadata }) => metadata.name)).toEqual(['foo']);
    const [record] = readRecords(world.revisions);
    expect(world.find('foo')?.spec).toEqual(record?.controller.spec);
  });

  it('cannot be turned round: what it was before is gone', () => {
    const world = foo();
    begin(world);
    run(world, { until: ({ purpose }) => purpose === 'Create' });
    world.controller('foo', { ...MANIFEST, replicas: 3 });
    expect(decideRollback(viewUpdate(world.snapshot('foo')), {})).toMatchObject({ code: 'NotInProgress' });
  });

  it('with pods that it has made itself, it is rolled as any other', () => {
    const world = foo();
    begin(world);
    run(world, { until: ({ purpose }) => purpose === 'Create' });
    for (const { metadata } of world.activePods) world.forget('pods', metadata.name);
    world.controller('foo', { ...MANIFEST, replicas: 3 });
    world.settle();
    expect(images(world)).toEqual(['app:1', 'app:1', 'app:1']);
    const { outcome, written } = run(world);
    expect([outcome, written]).toEqual(['Succeeded', expect.arrayContaining(['CreateNext', 'ScaleDown'])]);
    expect(images(world)).toEqual(['app:2', 'app:2', 'app:2']);
  });
});
