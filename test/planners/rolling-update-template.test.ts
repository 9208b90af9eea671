/** Somebody edits the template of the next controller in the middle of an update. */

import { describe, expect, it } from '@jest/globals';

import { judgeUpdate } from '../../cli/update-state.ts';
import { UPDATE_FIELD_MANAGER } from '../../planners/names.ts';
import type { ReplicationController } from '../../planners/replication-controller.ts';
import { planRollingUpdate } from '../../planners/rolling-update.ts';
import { decideStart } from '../../planners/rolling-update-start.ts';
import type { RecordData } from '../../planners/rolling-update-record.ts';
import { isAheadOfPods, patchTowards } from '../../planners/rolling-update-template.ts';
import { trusted } from '../../planners/values.ts';
import { viewUpdate } from '../../planners/rolling-update-view.ts';
import { IMAGE_TEMPLATE, SimulatedControllers, ownerEntry } from '../support/simulated-controllers.ts';
import { IMAGE, NOW, STATE, begin, foo, run, stepOf, turn } from '../support/simulated-update.ts';

const fieldsV1 = { 'f:spec': { 'f:template': { 'f:spec': { 'f:containers': {} } } } };

/** As `kubectl set image`; another label shows that what was added goes again. */
function setImage(world: SimulatedControllers, name: string, image: string): void {
  world.edit(name, (one) => ({
    ...one,
    metadata: { ...one.metadata, managedFields: [{ manager: 'kubectl-set', fieldsV1 }] },
    spec: { ...one.spec, template: IMAGE_TEMPLATE(image, { ...one.spec.selector, added: 'by hand' }) },
  }));
}

/** The apiserver: whoever writes a field last owns it. */
function putBackOf(world: SimulatedControllers, name: string): void {
  const step = stepOf(world);
  expect(step).toMatchObject({ write: { purpose: 'PutBack', name } });
  expect(step.do === 'write' && world.apply(step.write)).toBe('done');
  world.edit(name, (one) => ({ ...one, metadata: { ...one.metadata, managedFields: [] } }));
}

function images(world: SimulatedControllers): readonly (string | undefined)[] {
  return world.activePods.map(({ spec }) => spec.containers[0]?.image);
}

/** With `count` pods of the next controller, the last of which is made of the edited template. */
function editedAt(count: number) {
  const world = foo(4);
  const next = begin(world);
  run(world, {
    until: ({ purpose }) => purpose === 'ScaleUp' && world.find(next)?.spec.replicas === count - 1,
  });
  setImage(world, next, 'app:7');
  world.edit(next, (one) => ({ ...one, spec: { ...one.spec, replicas: count } }));
  world.settle();
  return { world, next };
}

describe('the template of the next controller is edited in the middle', () => {
  it.each([1, 2, 3, 4])('%i pods: it is put back, and no pod of the edited one is left', (count) => {
    const { world, next } = editedAt(count);
    expect(images(world)).toContain('app:7');
    expect(stepOf(world)).toMatchObject({
      write: {
        message: `the template of ${next} was changed by kubectl-set: put back as the update rolls it out`,
        uid: world.find(next)?.metadata.uid,
        resourceVersion: world.find(next)?.metadata.resourceVersion,
      },
    });
    putBackOf(world, next);
    expect(world.find(next)?.spec.template?.metadata?.labels).not.toHaveProperty('added');
    const { outcome, written } = run(world, {
      until: () => {
        const ready = world.activePods.filter(({ status }) => status?.phase === 'Running').length;
        expect(ready).toBeGreaterThanOrEqual(4);
        return false;
      },
    });

    expect(outcome).toBe('Succeeded');
    expect(written).toContain('DeleteEdited');
    expect(images(world)).toEqual(['app:2', 'app:2', 'app:2', 'app:2']);
    expect(world.find('foo')?.metadata.annotations).toEqual({});
  });

  it('where none may be unavailable: they are named, and the update is not over', () => {
    const world = foo();
    const next = begin(world);
    run(world, { until: ({ purpose }) => purpose === 'DeleteOld' });
    setImage(world, next, 'app:7');
    const [pod] = world.activePods;
    world.forget('pods', pod?.metadata.name ?? '');
    world.settle();
    putBackOf(world, next);
    const step = stepOf(world);
    const [edited] = world.activePods.filter(({ spec }) => spec.containers[0]?.image === 'app:7');

    expect(step).toMatchObject({
      do: 'await',
      waiting: [{ code: 'PodOfEditedTemplate', pods: [edited?.metadata.name] }],
    });
    world.forget('pods', edited?.metadata.name ?? '');
    world.settle();
    expect(run(world).outcome).toBe('Succeeded');
    expect(images(world)).toEqual(['app:2', 'app:2', 'app:2']);
  });

  it('a pause holds that too', () => {
    const { world, next } = editedAt(2);
    const paused = { ...world.snapshot('foo'), paused: { by: 'ann' } };
    expect(JSON.stringify(planRollingUpdate(paused, NOW).step)).not.toContain('PutBack');
    expect(stepOf(world)).toMatchObject({ write: { purpose: 'PutBack', name: next } });
  });
});

describe('the template of the old controller is edited in the middle, and it gets its pods back', () => {
  /** Two pods are replaced, and one of the others was made of the edited template. */
  function editedOld() {
    const world = foo(4);
    const next = begin(world);
    run(world, {
      until: ({ purpose }) => purpose === 'ScaleUp' && world.find(next)?.spec.replicas === 2,
    });
    setImage(world, 'foo', 'app:7');
    const [pod] = world.activePods.filter(({ spec }) => spec.containers[0]?.image === 'app:1');
    world.forget('pods', pod?.metadata.name ?? '');
    world.settle();
    expect(images(world)).toContain('app:7');
    return { world, next };
  }

  it('is as it was before, with its label, and no pod of the edited one is left', () => {
    const { world } = editedOld();
    const label = world.find('foo')?.spec.selector;
    turn(world);
    const { outcome, written } = run(world);

    expect(outcome).toBe('Aborted');
    expect(written).toEqual(expect.arrayContaining(['PutBack', 'DeleteEdited']));
    expect(images(world)).toEqual(['app:1', 'app:1', 'app:1', 'app:1']);
    const { spec, metadata } = world.find('foo') ?? {};
    expect(spec?.template).toEqual(IMAGE_TEMPLATE('app:1', label));
    expect(spec?.selector).toEqual(label);
    expect(metadata?.annotations).toEqual({});
    const sentence = () => judgeUpdate(planRollingUpdate(world.snapshot('foo'), NOW)).sentence;
    expect(sentence()).toMatch(/; foo is as it was before$/);
    setImage(world, 'foo', 'app:9');
    expect(sentence()).toMatch(
      /; the template of foo was changed since by .*, so pods made from now on differ/,
    );
  });

  it('also where somebody deletes the next one with its pods', () => {
    const { world, next } = editedOld();
    turn(world);
    world.forget('replicationcontrollers', next);
    for (const { metadata, spec } of world.activePods)
      if (spec.containers[0]?.image === 'app:2') world.forget('pods', metadata.name);
    world.settle();
    run(world, { until: ({ purpose }) => purpose === 'ScaleUp' });
    world.edit('foo', (one) => ({ ...one, spec: { ...one.spec, replicas: 4 } }));
    world.settle();
    const edited = world.activePods.find(({ spec }) => spec.containers[0]?.image === 'app:7');
    // None may be unavailable: whoever looks is told which one it is.
    expect(stepOf(world)).toMatchObject({
      do: 'await',
      waiting: [{ code: 'PodOfEditedTemplate', pods: [edited?.metadata.name] }],
    });
    world.forget('pods', edited?.metadata.name ?? '');
    world.settle();
    expect(run(world).outcome).toBe('Aborted');
    expect(images(world)).toEqual(['app:1', 'app:1', 'app:1', 'app:1']);
  });

  it('a record that was made anew tells nothing of it: the end says that its pods differ', () => {
    const { world } = editedOld();
    for (const { metadata } of world.revisions) world.forget('controllerrevisions', metadata.name);
    run(world, { until: ({ purpose }) => purpose === 'ScaleUp' });
    turn(world);
    expect(run(world).outcome).toBe('Aborted');
    expect(judgeUpdate(planRollingUpdate(world.snapshot('foo'), NOW)).sentence).toMatch(
      /foo is as it was before, but for its template: 1 of its 4 pods have other images$/,
    );
  });

  it('a record that was made anew tells nothing of it: who mends it by hand is not hindered', () => {
    const { world } = editedOld();
    for (const { metadata } of world.revisions) world.forget('controllerrevisions', metadata.name);
    run(world, { until: ({ purpose }) => purpose === 'ScaleUp' });
    turn(world);
    setImage(world, 'foo', 'app:1');
    const { outcome, written } = run(world);
    expect([outcome, written.includes('PutBack')]).toEqual(['Aborted', false]);
    expect(world.find('foo')?.spec.template?.spec.containers[0]?.image).toBe('app:1');
  });

  it('one that somebody has made anew under the name keeps its own', () => {
    const { world, next } = editedOld();
    for (const name of ['foo', next]) world.forget('replicationcontrollers', name);
    for (const { metadata } of world.pods) world.forget('pods', metadata.name);
    world.controller('foo', { replicas: 4, selector: { app: 'foo' }, template: IMAGE_TEMPLATE('app:5') });
    world.settle();
    turn(world);
    const { outcome, written } = run(world);
    expect([outcome, written.includes('PutBack')]).toEqual(['Aborted', false]);
    expect(images(world)).toEqual(['app:5', 'app:5', 'app:5', 'app:5']);
    expect(judgeUpdate(planRollingUpdate(world.snapshot('foo'), NOW)).sentence).not.toContain('was changed');
  });

  it('until then it is left alone: it is on its way out', () => {
    const { world } = editedOld();
    const { outcome, written } = run(world);
    expect([outcome, written.includes('PutBack')]).toEqual(['Succeeded', false]);
    expect(images(world)).toEqual(['app:2', 'app:2', 'app:2', 'app:2']);
  });

  it('a pause holds that too', () => {
    const { world, next } = editedOld();
    turn(world);
    const paused = () => planRollingUpdate({ ...world.snapshot('foo'), paused: { by: 'ann' } }, NOW).step;
    expect(JSON.stringify(paused())).not.toContain('PutBack');
    world.forget('replicationcontrollers', next);
    world.settle();
    expect(paused()).toMatchObject({ do: 'paused' });
  });
});

describe('mutating webhooks come in the middle', () => {
  function served() {
    const world = new SimulatedControllers({ owners: true });
    world.controller('foo', { replicas: 3, selector: { app: 'foo' }, template: IMAGE_TEMPLATE('app:1') });
    world.settle();
    return world;
  }

  it('what one adds to the old controller, whoever made that, is no edit: the way back ends', () => {
    const world = served();
    begin(world);
    run(world, { until: ({ purpose }) => purpose === 'ScaleDown' });
    world.served.policy = (template) => ({
      ...template,
      metadata: { ...template.metadata, annotations: { policy: 'v1' } },
    });
    turn(world);
    const { outcome, written } = run(world);

    expect([outcome, written.includes('PutBack')]).toEqual(['Aborted', false]);
    expect(images(world)).toEqual(['app:1', 'app:1', 'app:1']);
    // Nobody is named who has not done it.
    const { sentence } = judgeUpdate(planRollingUpdate(world.snapshot('foo'), NOW));
    expect(sentence).toMatch(/; the template of foo was changed since, so pods made from now on differ/);
  });

  it('beside it the edit of a person is put back, and the way back ends', () => {
    const world = served();
    begin(world);
    run(world, { until: ({ purpose }) => purpose === 'ScaleDown' });
    setImage(world, 'foo', 'app:7');
    const own = ownerEntry('kubectl-set', world.now);
    world.edit('foo', (one) => ({ ...one, metadata: { ...one.metadata, managedFields: [own] } }));
    turn(world);
    expect(stepOf(world)).toMatchObject({ write: { purpose: 'Annotate' } });
    run(world, { until: ({ purpose }) => purpose === 'PutBack' });
    putBackOf(world, 'foo');

    expect(run(world).outcome).toBe('Aborted');
    expect(world.find('foo')?.spec.template?.spec.containers[0]?.image).toBe('app:1');
  });

  it.each([0, 1])(
    '%i may be unavailable: pods of another image are not made of an edited template',
    (many) => {
      const world = served();
      const owners = [...(world.find('foo')?.metadata.managedFields ?? [])];
      const decision = decideStart(viewUpdate(world.snapshot('foo')), IMAGE);
      if (decision.do !== 'begin') throw new Error(JSON.stringify(decision));
      const given = trusted<RecordData['owners']>([...owners, ownerEntry(UPDATE_FIELD_MANAGER, world.now)]);
      world.record({ ...decision.data, ...(given && { owners: given }) }, { ...STATE, unavailable: many });
      run(world, {
        until: ({ purpose }) => purpose === 'ScaleDown' && images(world).includes('app:2'),
      });
      world.served.podPolicy = ({ containers }) => ({
        containers: containers.map((one) => ({ ...one, image: `mirror/${one.image ?? ''}` })),
      });
      const { outcome, written } = run(world);

      expect(written).toContain('FieldOwners');
      expect([outcome, written.includes('DeleteEdited')]).toEqual(['Succeeded', false]);
      expect(new Set(images(world))).toEqual(new Set(['app:2', 'mirror/app:2']));
    },
  );
});

describe('the template is changed after an update', () => {
  type Template = NonNullable<ReplicationController['spec']['template']>;

  /** Rolled out as app:2, then given another template by `manager`; `replicas` until its pods are made anew. */
  function changed(template: (present: Template) => Template, manager: string, replicas = 3) {
    const world = foo();
    begin(world);
    expect(run(world).outcome).toBe('Succeeded');
    const own = { manager, fieldsV1 };
    world.edit('foo', (one) => ({
      ...one,
      metadata: { ...one.metadata, managedFields: [own] },
      spec: { ...one.spec, replicas, ...(one.spec.template && { template: template(one.spec.template) }) },
    }));
    world.settle();
    resize(world, 3);
    return world;
  }

  function resize(world: SimulatedControllers, replicas: number): void {
    world.edit('foo', (one) => ({ ...one, spec: { ...one.spec, replicas } }));
    world.settle();
    world.edit('foo', (one) => ({ ...one, status: { ...one.status, availableReplicas: replicas } }));
  }

  const withContainer =
    (fields: object) =>
    (present: Template): Template => ({
      ...present,
      spec: { containers: present.spec.containers.map((one) => ({ ...one, ...fields })) },
    });
  const image = withContainer({ image: 'app:3' });
  const sentence = (world: SimulatedControllers) =>
    judgeUpdate(planRollingUpdate(world.snapshot('foo'), NOW)).sentence;
  const again = (world: SimulatedControllers) =>
    decideStart(viewUpdate(world.snapshot('foo')), { ...IMAGE, change: { kind: 'image', image: 'app:3' } });

  it('by somebody: told as long as a pod is of the one before', () => {
    const world = changed(image, 'kubectl-set');
    expect(sentence(world)).toMatch(
      /rolled out; its template was changed since by kubectl-set, so pods made from now on differ from the others$/,
    );
    expect(again(world)).toMatchObject({
      code: 'NoChange',
      message: expect.stringContaining('but it was changed by kubectl-set since it was rolled out'),
    });
    for (const { metadata } of world.activePods.slice(1)) world.forget('pods', metadata.name);
    resize(world, 3);
    expect(sentence(world)).toContain('was changed since');
    for (const { metadata } of world.activePods) world.forget('pods', metadata.name);
    resize(world, 3);
    expect(images(world)).toEqual(['app:3', 'app:3', 'app:3']);
    expect(sentence(world)).toMatch(/successfully rolled out$/);
    expect(again(world)).toMatchObject({ do: 'finished' });
  });

  it('by a commit while there were no pods: not told, nor before there are any', () => {
    const world = changed(image, 'fairlead', 0);
    expect(sentence(world)).toMatch(/successfully rolled out$/);
    resize(world, 0);
    expect(sentence(world)).toMatch(/successfully rolled out$/);
  });

  it('by Fairlead itself: its own manager is nobody to be named', () => {
    const world = changed(image, 'fairlead');
    expect(sentence(world)).toMatch(/; its template was changed since, so pods made from now on differ/);
    expect(again(world)).toMatchObject({
      message: expect.stringContaining('but it was changed since it was rolled out'),
    });
  });

  it.each([
    ['something more', withContainer({ env: [{ name: 'A', value: 'b' }] })],
    ['something less', withContainer({ image: undefined })],
    [
      'another label',
      (present: Template) => ({
        ...present,
        metadata: { labels: { ...present.metadata?.labels, tier: 'x' } },
      }),
    ],
  ])('%s: pods of before are told from those of the present one', (_, template) => {
    const world = changed(template, 'kubectl-edit');
    expect(sentence(world)).toContain('was changed since by kubectl-edit');
    for (const { metadata } of world.activePods) world.forget('pods', metadata.name);
    resize(world, 3);
    expect(sentence(world)).toMatch(/successfully rolled out$/);
  });
});

describe('a template that was changed under the pods, outside of any update', () => {
  const isAhead = (world: SimulatedControllers) => {
    const one = world.find('foo');
    if (one === undefined) throw new Error('no foo');
    return isAheadOfPods(viewUpdate(world.snapshot('foo')), one);
  };
  const without = (world: SimulatedControllers) => {
    world.edit('foo', (one) => ({
      ...one,
      metadata: { ...one.metadata, managedFields: [{ manager: 'kubectl', fieldsV1 }] },
      spec: { ...one.spec, template: IMAGE_TEMPLATE('app:2', { app: 'foo' }) },
    }));
  };

  it('is told by pods that lack what it says, also where no update was ever made', () => {
    const world = foo();
    expect(isAhead(world)).toBe(false);
    setImage(world, 'foo', 'app:2');
    expect(isAhead(world)).toBe(true);
  });

  it('and, after an update, by pods that have what it said before', () => {
    const world = foo();
    begin(world);
    run(world);
    expect(isAhead(world)).toBe(false);
    // Its pods have a label that it does not name any more: what admission adds would look the same, were it not for the record.
    without(world);
    expect(isAhead(world)).toBe(true);
  });

  it('not where all its pods are of it, or it has none', () => {
    const world = foo();
    setImage(world, 'foo', 'app:2');
    for (const { metadata } of world.activePods) world.forget('pods', metadata.name);
    expect(isAhead(world)).toBe(false);
    world.settle();
    expect([world.activePods.length, isAhead(world)]).toEqual([3, false]);
  });
});

it('a label that is called as what every object has is taken away as any other', () => {
  expect(patchTowards({ a: 'b', constructor: 'x' }, { a: 'b' })).toEqual({ constructor: null });
  expect(patchTowards({ a: 'b' }, { a: 'b', constructor: 'x' })).toEqual({ constructor: 'x' });
});
