/** A name that kubectl left on a controller after a rollback, and another controller that has been made of that name since: nobody's half. */

import { describe, expect, it } from '@jest/globals';

import { isUnderWay } from '../../cli/update-state.ts';
import { SHIPPED_ROLLING_UPDATE } from '../../planners/names.ts';
import { planRollingUpdate } from '../../planners/rolling-update.ts';
import { decideRollback } from '../../planners/rolling-update-rollback.ts';
import { decideStart } from '../../planners/rolling-update-start.ts';
import type { WantedChange } from '../../planners/rolling-update-start.ts';
import { updateNameOf, viewUpdate } from '../../planners/rolling-update-view.ts';
import { IMAGE_TEMPLATE, SimulatedControllers } from '../support/simulated-controllers.ts';
import {
  IMAGE,
  KEY,
  NOW,
  STATE,
  begin,
  fileOf,
  foo,
  run,
  stepOf,
  turn,
} from '../support/simulated-update.ts';

const SHIPPED = SHIPPED_ROLLING_UPDATE;
const LEFT = { [SHIPPED.originalReplicas]: '3', [SHIPPED.nextController]: 'foo-v2' };

/** `foo` of its whole size as kubectl left it after a rollback, and a `foo-v2` that somebody has made since. */
function world(
  left: Record<string, string> = LEFT,
  { size = 3, marks = {}, selector = { app: 'web' } }: Partial<Other> = {},
): SimulatedControllers {
  const all = new SimulatedControllers();
  const template = IMAGE_TEMPLATE('app:1');
  all.controller('foo', { replicas: size, selector: { app: 'foo' }, template }, left);
  all.controller('foo-v2', { replicas: 2, selector, template: IMAGE_TEMPLATE('web:1', selector) }, marks);
  all.settle();
  return all;
}

interface Other {
  readonly size: number;
  readonly marks: Record<string, string>;
  readonly selector: Record<string, string>;
}

describe('a controller of the name that kubectl left behind', () => {
  it.each<[string, WantedChange, string | undefined, object]>([
    ['nothing asked for', { kind: 'none' }, undefined, { do: 'refuse', code: 'NothingAsked' }],
    ['an image', IMAGE.change, undefined, { do: 'begin', data: { next: begin(foo()), to: 'foo' } }],
    ['its very name', { kind: 'none' }, 'foo-v2', { do: 'refuse', code: 'NameTaken' }],
    ['an image, and its very name', IMAGE.change, 'foo-v2', { do: 'refuse', code: 'NameTaken' }],
    ['a file of its name', fileOf('foo-v2', { app: 'x' }), 'foo-v2', { do: 'refuse', code: 'NameTaken' }],
  ])('start: %s', (_, change, newName, decision) => {
    const view = viewUpdate(world().snapshot('foo', newName));
    expect(decideStart(view, { change, newName, key: KEY })).toMatchObject(decision);
  });

  it.each(['rollback', 'abort', 'commit'] as const)('%s: nothing is turned round', (verb) => {
    const asked = (next?: string) => decideRollback(viewUpdate(world().snapshot('foo', next)), { verb });
    expect(asked()).toMatchObject({ do: 'refuse', code: 'NotInProgress' });
    expect(asked('foo-v2')).toMatchObject({ do: 'refuse', code: 'NameTaken' });
  });

  it('a commit, and whoever looks: no update is under way, of neither', () => {
    const all = world();
    for (const name of ['foo', 'foo-v2']) {
      expect(updateNameOf(all, name)).toBe(name);
      const plan = planRollingUpdate(all.snapshot(name), NOW);
      expect(plan.view).toMatchObject({ nextController: undefined, record: undefined, isRollback: false });
      expect(isUnderWay(plan)).toBe(false);
      expect(plan.step).toMatchObject({ do: 'refuse', code: 'NothingToDo' });
    }
  });

  it.each(['forward', 'back'])(
    'is left alone by an update of foo, and so it is by one of its own: %s',
    (way) => {
      const all = world();
      begin(all);
      run(all, { until: ({ purpose }) => purpose === 'ScaleDown' });
      if (way === 'back') turn(all);
      expect(run(all).outcome).toBe(way === 'back' ? 'Aborted' : 'Succeeded');
      expect(all.find('foo-v2')?.metadata.annotations).toEqual({});
      expect(all.find('foo-v2')?.spec).toMatchObject({ replicas: 2, selector: { app: 'web' } });
      expect(all.find('foo')).toMatchObject({ spec: { replicas: 3 } });
      expect(all.controllers).toHaveLength(2);
      expect(decideStart(viewUpdate(world().snapshot('foo-v2')), IMAGE)).toMatchObject({ do: 'begin' });
    },
  );

  it.each<[string, Partial<Other>]>([
    ['is marked as its next one', { marks: { [SHIPPED.sourceId]: 'foo:uid-1' } }],
    ['has the size that is wanted', { marks: { [SHIPPED.desiredReplicas]: '3' } }],
    ['has its selector but for the label', { selector: { app: 'foo', deployment: 'b' } }],
    // kubectl strips the next one's marks before it deletes the old one (K7).
    ['has no mark, and the old one is smaller than it was', { size: 0 }],
  ])('one that %s is the other half', (_, other) => {
    const all = world(LEFT, other);
    expect(updateNameOf(all, 'foo-v2')).toBe('foo');
    expect(viewUpdate(all.snapshot('foo')).nextController?.metadata.name).toBe('foo-v2');
    expect(decideStart(viewUpdate(all.snapshot('foo')), { change: { kind: 'none' }, key: KEY })).toEqual({
      do: 'attach',
    });
    expect(stepOf(all)).toMatchObject({ do: 'write', write: { purpose: 'Record' } });
  });

  it('nor is one whose marks are of another update', () => {
    const all = world(LEFT, { marks: { [SHIPPED.sourceId]: 'bar:uid-1', [SHIPPED.desiredReplicas]: '3' } });
    expect(decideStart(viewUpdate(all.snapshot('foo')), IMAGE)).toMatchObject({ do: 'begin' });
    expect(updateNameOf(all, 'foo-v2')).toBe('bar');
  });

  it('nor is one that has the name which follows from what is rolled out', () => {
    const all = foo();
    const decision = decideStart(viewUpdate(all.snapshot('foo')), IMAGE);
    const next = decision.do === 'begin' ? decision.data.next : '';
    const spec = { replicas: 2, selector: { app: 'web' }, template: IMAGE_TEMPLATE('web:1', { app: 'web' }) };
    all.controller(next, spec);
    expect(decideStart(viewUpdate(all.snapshot('foo')), IMAGE)).toMatchObject({ code: 'NameTaken' });
  });
});

describe('the records of controllers that were replaced one after the other, each under a name of its own', () => {
  /** `rolling-update FROM TO --image=…`, to its end. */
  function roll(all: SimulatedControllers, from: string, to: string, image: string): void {
    const view = viewUpdate(all.snapshot(from, to));
    const decision = decideStart(view, { change: { kind: 'image', image }, newName: to, key: KEY });
    if (decision.do !== 'begin') throw new Error(JSON.stringify(decision));
    all.record(decision.data, { ...STATE, desired: 1 }, view.records);
    for (let turns = 0; turns < 100; turns += 1) {
      const { step } = planRollingUpdate(all.snapshot(from, to), NOW);
      if (step.do === 'done') return;
      if (step.do === 'write') all.apply(step.write);
      else all.settle();
      all.collect();
    }
    throw new Error(`no end of ${from} to ${to}`);
  }

  const owners = (all: SimulatedControllers) =>
    all.revisions.map(({ metadata: { name, ownerReferences = [] } }) => [
      name,
      ownerReferences.map((owner) => owner.name).join(),
    ]);

  it('go on to the last, which keeps ten of them; one made since of an earlier name keeps its own', () => {
    const all = foo(1);
    roll(all, 'foo', 'foo-v1', 'app:v1');
    all.controller('foo', {
      replicas: 1,
      selector: { app: 'anew' },
      template: IMAGE_TEMPLATE('x', { app: 'anew' }),
    });
    all.settle();
    roll(all, 'foo', 'anew', 'app:new');
    for (let v = 1; v < 3; v += 1)
      roll(all, `foo-v${String(v)}`, `foo-v${String(v + 1)}`, `app:v${String(v + 1)}`);
    expect(owners(all)).toEqual([
      ['foo-1', 'foo-v3'],
      ['foo-2', 'anew'],
      ['foo-v1-2', 'foo-v3'],
      ['foo-v2-3', 'foo-v3'],
    ]);
    for (let v = 3; v < 14; v += 1)
      roll(all, `foo-v${String(v)}`, `foo-v${String(v + 1)}`, `app:v${String(v + 1)}`);
    expect(owners(all).filter(([, owner]) => owner === 'foo-v14')).toHaveLength(10);
    expect(owners(all).filter(([, owner]) => owner !== 'foo-v14')).toEqual([['foo-2', 'anew']]);
  });

  it('end where a finalizer holds one that is deleted: it is not deleted again, given to nobody, and takes no place', () => {
    const all = foo(1);
    roll(all, 'foo', 'foo-v1', 'app:v1');
    for (const { metadata } of all.revisions)
      Object.assign(metadata, { deletionTimestamp: '2026-01-01T00:00:00Z', finalizers: ['backup'] });
    for (let v = 1; v < 13; v += 1)
      roll(all, `foo-v${String(v)}`, `foo-v${String(v + 1)}`, `app:v${String(v + 1)}`);
    expect(owners(all)[0]).toEqual(['foo-1', '']);
    expect(owners(all).filter(([, owner]) => owner === 'foo-v13')).toHaveLength(10);
  });
});
