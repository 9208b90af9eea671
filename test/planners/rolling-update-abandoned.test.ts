/** The old controller is deleted without its pods in the middle of an update: nothing may say that all is well. */

import { describe, expect, it } from '@jest/globals';

import { explain } from '../../cli/explain-update.ts';
import { judgeUpdate, whyNothingMoves } from '../../cli/update-state.ts';
import { planRollingUpdate } from '../../planners/rolling-update.ts';
import { readRecords } from '../../planners/rolling-update-record.ts';
import { decideRollback } from '../../planners/rolling-update-rollback.ts';
import { decideStart } from '../../planners/rolling-update-start.ts';
import { viewUpdate } from '../../planners/rolling-update-view.ts';
import type { UpdateWrite } from '../../planners/rolling-update-steps.ts';
import type { SimulatedControllers } from '../support/simulated-controllers.ts';
import { IMAGE_TEMPLATE } from '../support/simulated-controllers.ts';
import { IMAGE, KEY, NOW, STATE, begin, foo, run, turn } from '../support/simulated-update.ts';

/** `kubectl delete rc foo --cascade=orphan` */
function orphan(world: SimulatedControllers, name = 'foo'): void {
  const { uid = '', resourceVersion = '' } = world.find(name)?.metadata ?? {};
  world.apply({
    verb: 'delete',
    resource: 'replicationcontrollers',
    name,
    uid,
    resourceVersion,
    orphan: true,
    purpose: 'DeleteOld',
    message: '',
  });
  world.collect();
}

/** As far as it goes. */
function runOn(world: SimulatedControllers, next?: string): void {
  for (let turns = 0; turns < 60; turns += 1) {
    const { step } = planRollingUpdate(world.snapshot('foo', next), NOW);
    if (step.do === 'write') world.apply(step.write);
    else {
      world.collect();
      world.settle();
    }
  }
}

const isPurpose =
  (purpose: string, times = 1) =>
  ({ purpose: found }: UpdateWrite) =>
    found === purpose && --times === 0;

const OPEN = {
  run: { state: 'running', status: 'RUNNING', workflowId: 'w' },
  nobody: undefined,
  git: undefined,
} as const;

function said(world: SimulatedControllers, next?: string) {
  const plan = planRollingUpdate(world.snapshot('foo', next), NOW);
  return { plan, ...explain(plan, OPEN) };
}

const ownerless = (world: SimulatedControllers) =>
  world.activePods.filter(({ metadata }) => (metadata.ownerReferences ?? []).length === 0);

/** Orphaned in the middle; then what was rolled out has its name and its size, and none of its pods is available. */
function unready() {
  const world = foo();
  begin(world);
  run(world, { until: isPurpose('ScaleUp') });
  orphan(world);
  const left = ownerless(world);
  for (let turns = 0; turns < 60; turns += 1) {
    const { step } = planRollingUpdate(world.snapshot('foo'), NOW);
    if (step.do === 'write') world.apply(step.write);
    world.collect();
    world.observe();
    for (const { metadata } of world.controllers) world.manage(metadata.name);
  }
  return { world, left };
}

describe('the template of the old controller is changed before it has its label', () => {
  function changed() {
    const world = foo();
    begin(world);
    run(world, { until: isPurpose('LabelTemplate') });
    world.edit('foo', (one) => ({ ...one, spec: { ...one.spec, template: IMAGE_TEMPLATE('app:7') } }));
    run(world, { until: isPurpose('ScaleDown', 2) });
    return world;
  }

  it('its pods are found by what the record says, when it is deleted without them', () => {
    const world = changed();
    const [record] = readRecords(world.revisions);
    expect(world.find('foo')?.spec.selector).toEqual(record?.replaced?.selector);
    orphan(world);
    runOn(world);

    expect(ownerless(world)).toHaveLength(2);
    expect(said(world).sentence).toBe('2 pods of foo have no controller: foo was deleted without them');
  });

  it('turned round it has the template of before', () => {
    const world = changed();
    turn(world);
    expect(run(world).outcome).toBe('Aborted');
    expect(world.find('foo')?.spec.template?.spec).toEqual(IMAGE_TEMPLATE('app:1').spec);
  });

  it('one that was made anew has a label, and a template, of its own', () => {
    const world = foo();
    begin(world);
    run(world, { until: isPurpose('LabelTemplate') });
    world.forget('replicationcontrollers', 'foo');
    world.controller('foo', { replicas: 3, selector: { app: 'foo' }, template: IMAGE_TEMPLATE('app:7') });
    world.settle();
    run(world, { until: isPurpose('ScaleDown') });
    turn(world);
    expect(run(world).outcome).toBe('Aborted');
    expect(world.find('foo')?.spec.template?.spec).toEqual(IMAGE_TEMPLATE('app:7').spec);
  });
});

describe('pods whose controller was deleted without them in the middle', () => {
  it.each<[string, string | undefined, string, number]>([
    ['before they had the label', undefined, 'LabelTemplate', 3],
    ['while they got the label', undefined, 'LabelSelector', 3],
    ['in the middle, under a new name', 'foo-v2', 'ScaleDown', 3],
    ['in the middle, with a rename', undefined, 'ScaleDown', 3],
    ['later', undefined, 'ScaleUp', 2],
  ])('%s: they are named first, and the update is over when they are gone', (_, next, until, count) => {
    const world = foo();
    begin(world, next);
    const times = until === 'ScaleUp' ? 2 : 1;
    run(world, { ...(next && { next }), until: isPurpose(until, times) });
    orphan(world);
    runOn(world, next);

    const left = ownerless(world);
    expect(left).toHaveLength(count);
    const { plan, verdict, sentence, next: command } = said(world, next);
    expect([verdict, sentence]).toEqual([
      'PodsWithoutController',
      `${String(count)} pods of foo have no controller: foo was deleted without them`,
    ]);
    // Last, so that all of it can be pasted.
    expect(command).toBe(
      `give those that are to stay other labels, then: kubectl delete pods ${left.map(({ metadata }) => metadata.name).join(' ')} -n default`,
    );
    expect(judgeUpdate(plan)).toMatchObject({ outcome: 'progressing' });
    expect(judgeUpdate(plan).sentence).toContain('foo was deleted without them');
    for (const { metadata } of left) world.forget('pods', metadata.name);
    expect(run(world, { ...(next && { next }) }).outcome).toBe('Succeeded');
    expect(world.activePods).toHaveLength(3);
  });

  it('are not to be deleted while they are the only ones that serve: what holds the new ones is told beside', () => {
    const { world } = unready();
    const { plan, verdict, sentence, next } = said(world);
    const told = '3 pods of foo have no controller: foo was deleted without them';
    const why = '3 of 3 pods of foo are not available';
    expect([verdict, sentence]).toEqual(['PodsWithoutController', `${told}; ${why}`]);
    expect(next).toBe(
      'leave these pods until 3 others are available (now 0); wait, or roll out another image: fairlead rolling-update foo --image=… -n default',
    );
    expect(whyNothingMoves(plan)).toBe(`${told}; ${why}`);
    expect(judgeUpdate(plan).sentence).toContain(`(${told}; ${why})`);
    expect(explain(plan, { ...OPEN, nobody: 'no worker' })).toMatchObject({
      sentence: `${told}; no worker; ${why}`,
      next: expect.stringMatching(/^start a worker/),
    });
  });

  it('may be deleted as soon as the others are as many as wanted, or where none of them serves', () => {
    const { world, left } = unready();
    const others = world.activePods.filter((pod) => !left.includes(pod));
    for (const { metadata } of others.slice(1)) world.becomeReady(metadata.name);
    expect(said(world).next).toMatch(/^leave these pods until 3 others are available \(now 2\); wait, or/);
    for (const { metadata } of others) world.becomeReady(metadata.name);
    const command = `kubectl delete pods ${left.map(({ metadata }) => metadata.name).join(' ')} -n default`;
    expect(said(world).next).toBe(`give those that are to stay other labels, then: ${command}`);

    const down = unready();
    const snapshot = down.world.snapshot('foo');
    const pods = snapshot.pods.map((pod) => ({ ...pod, status: { phase: 'Pending' } as const }));
    const plan = planRollingUpdate({ ...snapshot, pods }, NOW);
    expect(explain(plan, OPEN).next).toContain('kubectl delete pods');
  });

  it('of a paused update: it is told that it is paused, and that it goes on first', () => {
    const world = foo();
    begin(world);
    run(world, { until: isPurpose('ScaleUp', 3) });
    orphan(world);
    const paused = { by: 'ann', reason: 'disk alarm' };
    const plan = planRollingUpdate({ ...world.snapshot('foo'), paused }, NOW);
    const told = '1 pod of foo has no controller: foo was deleted without it';
    const sentence = `${told}; paused by ann: disk alarm`;
    expect(explain(plan, OPEN)).toEqual({
      verdict: 'PodsWithoutController',
      sentence,
      next: 'leave these pods until 3 others are available (now 2); fairlead rollout resume rc/foo -n default',
    });
    expect(judgeUpdate(plan).sentence).toContain(`(${sentence})`);

    // Nothing but them is awaited: they are told once.
    const { world: whole, left } = unready();
    for (const { metadata } of whole.activePods) whole.becomeReady(metadata.name);
    const last = planRollingUpdate({ ...whole.snapshot('foo'), paused }, NOW);
    expect(left).toHaveLength(3);
    expect(judgeUpdate(last).sentence).toMatch(
      /\(3 pods of foo have no controller: foo was deleted without them; paused by ann: disk alarm\)$/,
    );
  });

  it('also those of a controller that an update before has rolled out, and of a way back', () => {
    const world = foo();
    begin(world);
    run(world);
    const { records } = viewUpdate(world.snapshot('foo'));
    const decision = decideStart(viewUpdate(world.snapshot('foo')), {
      change: { kind: 'image', image: 'app:3' },
      key: KEY,
    });
    if (decision.do !== 'begin') throw new Error(JSON.stringify(decision));
    world.record(decision.data, STATE, records);
    run(world, { until: isPurpose('ScaleDown') });
    turn(world);
    orphan(world);
    runOn(world);

    expect(said(world)).toMatchObject({ verdict: 'PodsWithoutController' });
    expect(ownerless(world)).toHaveLength(3);
  });

  it('also with selectors that have nothing in common, and not what merely looks alike', () => {
    const world = foo();
    const selector = { app: 'bar' };
    const spec = { selector, template: IMAGE_TEMPLATE('app:2', selector) };
    const metadata = { name: 'bar', namespace: 'default' };
    const manifest = { apiVersion: 'v1', kind: 'ReplicationController', metadata, spec } as const;
    const request = { ...IMAGE, newName: 'bar', change: { kind: 'manifest', manifest } } as const;
    const decision = decideStart(viewUpdate(world.snapshot('foo', 'bar')), request);
    if (decision.do !== 'begin') throw new Error(JSON.stringify(decision));
    world.record(decision.data, STATE);
    run(world, { next: 'bar', until: isPurpose('ScaleDown') });
    orphan(world);
    runOn(world, 'bar');
    expect(said(world, 'bar').sentence).toMatch(/^3 pods of foo/);

    const alike = foo();
    begin(alike);
    run(alike, { until: isPurpose('DeleteOld') });
    alike.addPod('foo', { app: 'foo', [KEY]: 'of somebody else' });
    orphan(alike);
    expect(run(alike).outcome).toBe('Succeeded');
    expect(ownerless(alike)).toHaveLength(1);
  });

  it('are still named where another image is rolled out instead', () => {
    const world = foo();
    begin(world);
    run(world, { until: isPurpose('ScaleDown') });
    orphan(world);
    runOn(world);
    const view = viewUpdate(world.snapshot('foo'));
    const decision = decideStart(view, { change: { kind: 'image', image: 'app:3' }, key: KEY });
    if (decision.do !== 'begin') throw new Error(JSON.stringify(decision));
    world.record(decision.data, STATE, view.records);
    runOn(world);

    expect(said(world).sentence).toMatch(/^3 pods of foo have no controller/);
  });
});

describe('the next controller is deleted without its pods', () => {
  const imagesOf = (world: SimulatedControllers) =>
    world.activePods.map(({ spec }) => spec.containers[0]?.image);
  const uidsOf = (pods: SimulatedControllers['pods']) => pods.map(({ metadata }) => metadata.uid);

  it.each<[string, string | undefined, string, number, number]>([
    ['after the first step', undefined, 'ScaleDown', 1, 1],
    ['in the middle', undefined, 'ScaleDown', 2, 2],
    ['in the middle, under a new name', 'foo-v2', 'ScaleDown', 2, 2],
    ['at its whole size', undefined, 'ScaleDown', 3, 3],
    ['while the old one is cleaned up', 'foo-v2', 'DeleteOld', 1, 3],
    ['while the old one goes for the rename', undefined, 'DeleteOld', 1, 3],
  ])('%s: it is made again for them, and none is lost', (_, newName, until, times, count) => {
    const world = foo();
    const next = begin(world, newName);
    const options = newName === undefined ? {} : { next: newName };
    run(world, { ...options, until: isPurpose(until, times) });
    const ofNext = uidsOf(world.activePods.filter(({ spec }) => spec.containers[0]?.image === 'app:2'));
    orphan(world, next);
    expect([ofNext.length, uidsOf(ownerless(world))]).toEqual([count, ofNext]);
    const { plan, verdict, sentence } = said(world, newName);
    const [pods, them] = count === 1 ? ['pod has', 'it'] : ['pods have', 'them'];
    expect([verdict, sentence]).toEqual([
      'PodsWithoutController',
      `${String(count)} ${pods} no controller: ${next} was deleted without ${them}; ${next} is made again from the record foo-1`,
    ]);
    expect(judgeUpdate(plan).outcome).toBe('progressing');

    let fewest = world.activePods.length;
    const watched = () => {
      fewest = Math.min(fewest, world.activePods.length);
      return false;
    };
    expect(run(world, { ...options, until: watched }).outcome).toBe('Succeeded');
    expect(fewest).toBeGreaterThanOrEqual(3);
    expect(uidsOf(world.activePods)).toEqual(expect.arrayContaining(ofNext));
    expect(imagesOf(world)).toEqual(['app:2', 'app:2', 'app:2']);
  });

  it('at the beginning: it is made again as before', () => {
    const world = foo();
    const next = begin(world);
    run(world, { until: isPurpose('LabelSelector') });
    orphan(world, next);
    expect(said(world).plan.step).toMatchObject({
      write: { purpose: 'CreateNext', body: { spec: { replicas: 0 } } },
    });
    expect(run(world).outcome).toBe('Succeeded');
    expect(imagesOf(world)).toEqual(['app:2', 'app:2', 'app:2']);
  });

  it('on the way back: its pods go one by one, as those of the old one come', () => {
    const world = foo();
    const next = begin(world);
    run(world, { until: isPurpose('ScaleDown', 2) });
    turn(world);
    orphan(world, next);
    expect(said(world).plan).toMatchObject({
      progress: { phase: 'RollingBack' },
      step: { write: { purpose: 'CreateNext', body: { spec: { replicas: 2 } } } },
    });
    const sizes: number[] = [];
    expect(run(world, { until: () => sizes.push(world.activePods.length) === 0 }).outcome).toBe('Aborted');
    expect([Math.min(...sizes), Math.max(...sizes)]).toEqual([3, 4]);
    expect(imagesOf(world)).toEqual(['app:1', 'app:1', 'app:1']);
  });

  it('and more pods than are wanted have its labels: none goes before it is the turn', () => {
    const world = foo();
    const next = begin(world);
    run(world, { until: isPurpose('ScaleDown', 2) });
    for (let more = 0; more < 3; more += 1) world.addPod(next, world.find(next)?.spec.selector ?? {});
    orphan(world, next);
    const { step } = said(world).plan;
    expect(step).toMatchObject({ write: { body: { spec: { replicas: 5 } } } });
    expect(run(world).outcome).toBe('Succeeded');
    expect(world.activePods).toHaveLength(3);
  });
});

describe('what has got the old name is deleted with its pods before the update is over', () => {
  it.each<[string, string, object]>([
    ['before it was seen there: the gap goes on', 'Renamed', { write: { purpose: 'Create', name: 'foo' } }],
    ['after that: nobody wants another', 'Own', { do: 'refuse', code: 'NotFound' }],
  ])('%s', (_, until, step) => {
    const world = foo();
    begin(world);
    run(world, { until: isPurpose(until) });
    for (const { metadata } of world.activePods) world.forget('pods', metadata.name);
    world.forget('replicationcontrollers', 'foo');
    expect(said(world).plan.step).toMatchObject(step);
    if (until === 'Renamed') return;
    const decision = decideRollback(viewUpdate(world.snapshot('foo')), { verb: 'abort' });
    expect(decision).toMatchObject({ do: 'turn', write: { purpose: 'Phase' } });
    if (decision.do === 'turn') world.apply(decision.write);
    expect(run(world).outcome).toBe('Aborted');
    expect(world.controllers).toEqual([]);
  });

  it.each([
    ['with the pods', true],
    ['before it has adopted them', false],
  ])('or without them, and made anew by somebody %s: it stays as it is', (_, isSettled) => {
    const world = foo();
    begin(world);
    run(world, { until: isPurpose('Own') });
    const pods = world.activePods.map(({ metadata }) => metadata.uid);
    orphan(world);
    const spec = { replicas: 3, selector: { app: 'foo' }, template: IMAGE_TEMPLATE('app:7') };
    world.controller('foo', spec);
    if (isSettled) world.settle();
    expect(said(world).plan.step).toMatchObject({
      write: {
        purpose: 'Phase',
        message:
          'the update of foo is given up: foo, as it was rolled out, was deleted, and foo was made anew since: it stays as it is',
      },
    });
    expect(run(world).outcome).toBe('Aborted');

    expect(world.find('foo')?.spec).toEqual(spec);
    expect(world.controllers).toHaveLength(1);
    expect(world.activePods.map(({ metadata }) => metadata.uid)).toEqual(pods);
  });

  it('and made anew by somebody: it stays as it is', () => {
    const world = foo();
    begin(world);
    run(world, { until: isPurpose('Own') });
    for (const { metadata } of world.activePods) world.forget('pods', metadata.name);
    world.forget('replicationcontrollers', 'foo');
    world.controller('foo', { replicas: 1, selector: { app: 'foo' }, template: IMAGE_TEMPLATE('app:7') });
    world.settle();
    expect(run(world).outcome).toBe('Aborted');
    expect(world.find('foo')?.spec.template?.spec.containers[0]?.image).toBe('app:7');
  });
});

describe('a way back that there is none of', () => {
  it('while the old controller is being deleted, whatever holds it', () => {
    const world = foo();
    const next = begin(world);
    run(world, { until: isPurpose('DeleteOld') });
    const snapshot = world.snapshot('foo');
    const metadata = { deletionTimestamp: '2026-01-01T00:00:00Z', finalizers: ['x.io/hold'] };
    const controllers = snapshot.controllers.map((one) =>
      one.metadata.name === 'foo' ? { ...one, metadata: { ...one.metadata, ...metadata } } : one,
    );
    expect(decideRollback(viewUpdate({ ...snapshot, controllers }), { verb: 'abort' })).toMatchObject({
      code: 'NotFound',
      message: `foo is being deleted, held by its finalizer x.io/hold: ${next} is about to get its name`,
    });
  });
});

describe('both controllers are deleted in the middle', () => {
  it.each<[string | undefined, string]>([
    [undefined, 'foo'],
    ['foo-v2', 'foo-v2'],
  ])('without their pods: recovered from the record (new name %s)', (newName, final) => {
    const world = foo();
    const next = begin(world, newName);
    run(world, { ...(newName !== undefined && { next: newName }), until: isPurpose('ScaleDown', 2) });
    const ofNext = world.activePods.filter(({ spec }) => spec.containers[0]?.image === 'app:2');
    const ofOld = world.activePods.filter(({ spec }) => spec.containers[0]?.image === 'app:1');
    orphan(world);
    orphan(world, next);
    expect(world.controllers).toEqual([]);

    const { plan, verdict, sentence, next: what } = said(world, newName);
    expect(plan.step).toMatchObject({ write: { purpose: 'Create', name: final } });
    expect([verdict, what]).toEqual(['PodsWithoutController', undefined]);
    expect(sentence).toBe(
      `4 pods have no controller: foo and ${next} were deleted without them; ${final} is made again from the record foo-1`,
    );
    expect(judgeUpdate(plan).outcome).toBe('progressing');
    runOn(world, newName);
    expect(world.find(final)?.spec.replicas).toBe(3);
    const uids = world.activePods.map(({ metadata }) => metadata.uid);
    expect(uids).toEqual(expect.arrayContaining(ofNext.map(({ metadata }) => metadata.uid)));
    expect(said(world, newName).verdict).toBe('PodsWithoutController');
    for (const { metadata } of ofOld) world.forget('pods', metadata.name);
    expect(run(world, { ...(newName !== undefined && { next: newName }) }).outcome).toBe('Succeeded');
    expect(world.activePods.map(({ spec }) => spec.containers[0]?.image)).toEqual([
      'app:2',
      'app:2',
      'app:2',
    ]);
  });

  it('with their pods: nothing is made again, and no retry is advised', () => {
    const world = foo();
    const next = begin(world);
    run(world, { until: isPurpose('ScaleDown', 2) });
    for (const name of ['foo', next]) world.forget('replicationcontrollers', name);
    expect(said(world).plan.step).toMatchObject({ do: 'refuse', code: 'NotFound' });
    for (const { metadata } of world.pods) world.forget('pods', metadata.name);
    const closed = { state: 'closed', status: 'FAILED', workflowId: 'w' } as const;
    const { plan } = said(world);

    expect(explain(plan, { run: closed, nobody: undefined, git: undefined })).toEqual({
      verdict: 'NotFound',
      sentence: 'there is no ReplicationController foo, nor one that is to replace it',
      next:
        'give it up: fairlead rollout abort rc/foo -n default; then, if it is wanted again, create it: ' +
        "kubectl get controllerrevision foo-1 -n default -o jsonpath='{.data.controller}' | kubectl create -f -",
    });
    // As those commands do.
    const { spec } = plan.view.record?.controller ?? { spec: {} };
    turn(world);
    expect(run(world)).toEqual({ outcome: 'Aborted', written: [] });
    const sentence = 'nothing is left of foo, and its update was given up';
    expect(judgeUpdate(said(world).plan)).toEqual({ outcome: 'rolledBack', sentence });
    world.controller('foo', spec);
    world.settle();
    expect(run(world).written).toEqual(['Own']);
    expect(world.controllers.map(({ metadata }) => metadata.name)).toEqual(['foo']);
    expect(world.activePods.map(({ spec: { containers } }) => containers[0]?.image)).toEqual([
      'app:2',
      'app:2',
      'app:2',
    ]);
  });

  it('with their pods, and one is made anew: it is another one, and neither a run nor an abort touches it', () => {
    const world = foo();
    begin(world);
    run(world, { until: isPurpose('ScaleDown', 2) });
    for (const { metadata } of world.controllers) world.forget('replicationcontrollers', metadata.name);
    for (const { metadata } of world.pods) world.forget('pods', metadata.name);
    world.controller('foo', { replicas: 5, selector: { app: 'foo' }, template: IMAGE_TEMPLATE('app:7') });
    world.settle();
    const before = world.find('foo');
    const given =
      'the update of foo is given up: both controllers were deleted with their pods, and foo was made anew since: it stays as it is';
    const plan = () => planRollingUpdate(world.snapshot('foo'), NOW);
    expect(plan().step).toMatchObject({
      do: 'write',
      write: { resource: 'controllerrevisions', purpose: 'Phase', message: given },
    });
    const turned = decideRollback(viewUpdate(world.snapshot('foo')), { verb: 'abort', by: 'ann' });
    expect(turned).toMatchObject({ do: 'turn', write: { resource: 'controllerrevisions', message: given } });
    // A record of before uids were kept: one that was there when the update began is its own.
    const dated = (made: string) => {
      const { controllers, revisions, ...rest } = world.snapshot('foo');
      const at = <T extends { metadata: object }>(one: T, creationTimestamp: string) => ({
        ...one,
        metadata: { ...one.metadata, creationTimestamp },
      });
      const records = revisions.map(({ data, ...one }) => {
        const { uid: _, ...replaced } = (data as { replaced: { uid: string } }).replaced;
        return at({ ...one, data: { ...(data as object), replaced } }, '2026-01-01T00:00:10Z');
      });
      const snapshot = {
        ...rest,
        controllers: controllers.map((one) => at(one, made)),
        revisions: records,
      };
      return planRollingUpdate(snapshot, NOW).step;
    };
    expect(dated('2026-01-01T00:05:00Z')).toMatchObject({ write: { purpose: 'Phase', message: given } });
    expect(dated('2026-01-01T00:00:10Z')).toMatchObject({ write: { purpose: 'CreateNext' } });

    for (let step = plan().step; step.do === 'write'; step = plan().step) {
      expect(step.write.resource).toBe('controllerrevisions');
      expect(world.apply(step.write)).toBe('done');
    }
    expect(plan().step).toEqual({
      do: 'done',
      outcome: 'Aborted',
      message: 'foo was made anew since the update began, which is given up',
    });
    expect(world.find('foo')).toEqual(before);
    expect(judgeUpdate(plan())).toMatchObject({ outcome: expect.not.stringMatching('rolledBack') });
  });
});

describe('pods that a rename has left are adopted by another controller', () => {
  /** Up to the moment in which `foo` is about to be created. */
  function inGap() {
    const world = foo();
    const next = begin(world);
    run(world, { until: isPurpose('Create') });
    return { world, next };
  }

  const web = (world: SimulatedControllers, replicas: number) => {
    const selector = { app: 'foo' };
    world.controller('web', { replicas, selector, template: IMAGE_TEMPLATE('app:1', selector) });
    world.observe();
  };

  it('all of them: it is told whose they are, and can be given up; foo is not made beside them', () => {
    const { world } = inGap();
    web(world, 3);
    world.settle();
    const { plan, verdict, sentence, next: command } = said(world);
    expect(plan.step).toMatchObject({ do: 'refuse', code: 'NotFound' });
    expect([verdict, sentence]).toEqual([
      'NotFound',
      'there is no ReplicationController foo, nor one that is to replace it: its pods are controlled by ReplicationController web now',
    ]);
    expect(command).toContain('give it up: fairlead rollout abort rc/foo -n default');
    const decision = decideRollback(viewUpdate(world.snapshot('foo')), { verb: 'abort' });
    if (decision.do !== 'turn') throw new Error(JSON.stringify(decision));
    expect(decision.write.message).toBe(
      'the update of foo is given up: its pods are controlled by ReplicationController web now',
    );
    world.apply(decision.write);
    expect(world.controllers.map(({ metadata }) => metadata.name)).toEqual(['web']);
    expect(run(world).outcome).toBe('Aborted');
  });

  it('some of them: foo is made for the others', () => {
    const { world } = inGap();
    const [one] = world.activePods;
    web(world, 1);
    const owner = {
      apiVersion: 'v1',
      kind: 'ReplicationController',
      name: 'web',
      uid: world.find('web')?.metadata.uid ?? '',
      controller: true,
    };
    world.apply({
      verb: 'patch',
      resource: 'pods',
      name: one?.metadata.name ?? '',
      uid: one?.metadata.uid ?? '',
      resourceVersion: one?.metadata.resourceVersion ?? '',
      body: { metadata: { ownerReferences: [owner] } },
      purpose: 'LabelPod',
      message: '',
    });
    const { plan, sentence } = said(world);
    expect(plan.step).toMatchObject({
      do: 'write',
      write: { purpose: 'Create', name: 'foo', message: expect.stringContaining('for its 2 pods') },
    });
    expect(sentence).toMatch(/^2 pods have no controller: /);
  });
});
