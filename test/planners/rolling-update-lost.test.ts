/** The next controller and the record are deleted together in the middle of an update: how many are wanted is not lost with them. */

import { describe, expect, it } from '@jest/globals';

import { explain } from '../../cli/explain-update.ts';
import { judgeUpdate } from '../../cli/update-state.ts';
import { SHIPPED_ROLLING_UPDATE } from '../../planners/names.ts';
import { planRollingUpdate } from '../../planners/rolling-update.ts';
import { decideStart } from '../../planners/rolling-update-start.ts';
import type { UpdateWrite } from '../../planners/rolling-update-steps.ts';
import { viewUpdate } from '../../planners/rolling-update-view.ts';
import type { SimulatedControllers } from '../support/simulated-controllers.ts';
import { IMAGE, KEY, NOW, STATE, begin, foo, run, stepOf, turn } from '../support/simulated-update.ts';

const isPurpose =
  (purpose: string, times = 1) =>
  ({ purpose: found }: UpdateWrite) =>
    found === purpose && --times === 0;

/** `kubectl delete rc NAME --cascade=orphan` */
function orphan(world: SimulatedControllers, name: string): void {
  const { uid = '', resourceVersion = '' } = world.find(name)?.metadata ?? {};
  const write = { verb: 'delete', resource: 'replicationcontrollers', name, uid, resourceVersion } as const;
  world.apply({ ...write, orphan: true, purpose: 'DeleteNext', message: '' });
  world.collect();
}

/** `kubectl delete controllerrevision --all`, and the next controller without its pods. */
function lose(world: SimulatedControllers, next: string): void {
  for (const { metadata } of world.revisions) world.forget('controllerrevisions', metadata.name);
  orphan(world, next);
}

/** Four wanted, two of each and one too many that is about to go. */
function lost(isMarked = true): { readonly world: SimulatedControllers; readonly next: string } {
  const world = foo(4);
  const next = begin(world);
  run(world, { until: isPurpose('ScaleDown', 3) });
  lose(world, next);
  if (!isMarked) unmark(world);
  return { world, next };
}

/** As an earlier version left it. */
function unmark(world: SimulatedControllers): void {
  world.edit('foo', (one) => {
    const { [SHIPPED_ROLLING_UPDATE.originalReplicas]: _, ...annotations } = one.metadata.annotations ?? {};
    return { ...one, metadata: { ...one.metadata, annotations } };
  });
}

const uids = (world: SimulatedControllers) => world.activePods.map(({ metadata }) => metadata.uid);

function said(world: SimulatedControllers) {
  const plan = planRollingUpdate(world.snapshot('foo'), NOW);
  return { plan, ...explain(plan, { run: { state: 'none' }, nobody: undefined, git: undefined }) };
}

describe('the next controller and the record deleted together', () => {
  it.each<[string, boolean, number]>([
    ['the old controller says how many are wanted', true, 4],
    ['begun by an earlier version, it is as many as there are', false, 5],
  ])('%s: the pods are named first, and what takes them up', (_, isMarked, desired) => {
    const { world, next } = lost(isMarked);
    const { plan, verdict, sentence, next: command } = said(world);

    expect(world.find('foo')?.spec.replicas).toBe(2);
    expect(plan.progress).toMatchObject({ desired, old: { replicas: 2 }, next: undefined });
    expect([verdict, sentence, command]).toEqual([
      'PodsWithoutController',
      `3 pods have no controller: ${next} was deleted without them, and no record says what it was; ${String(desired)} wanted`,
      'roll it out again, which takes them up: fairlead rolling-update foo --image=app:2 -n default; or go back: fairlead rollout abort rc/foo -n default',
    ]);
  });

  it.each<[string, boolean, number]>([
    ['with the size on the old controller', true, 4],
    ['without', false, 5],
  ])('rolled out again %s: it takes up the pods, and kills none of them', (_, isMarked, desired) => {
    const { world, next } = lost(isMarked);
    const [left, old] = [world.activePods.filter(isNew), world.activePods.filter((pod) => !isNew(pod))];
    expect([left.length, old.length]).toEqual([3, 2]);
    expect(begin(world)).toBe(next);
    const seen: number[] = [];
    const { outcome } = run(world, {
      until: () => {
        seen.push(world.activePods.length);
        expect(uids(world)).toEqual(expect.arrayContaining(left.map(({ metadata }) => metadata.uid)));
        return false;
      },
    });

    expect(outcome).toBe('Succeeded');
    expect(world.find('foo')?.spec.replicas).toBe(desired);
    expect([Math.min(...seen) >= desired, Math.max(...seen) <= desired + 1]).toEqual([true, true]);
  });

  it('another image rolled out instead: the pods are named, and not touched', () => {
    const { world } = lost();
    const left = world.activePods.filter(isNew).map(({ metadata }) => metadata.uid);
    const change = { kind: 'image', image: 'app:3' } as const;
    const decision = decideStart(viewUpdate(world.snapshot('foo')), { ...IMAGE, change });
    if (decision.do !== 'begin') throw new Error(JSON.stringify(decision));
    expect(decision.desired).toBe(4);
    world.record(decision.data, { ...STATE, desired: decision.desired });
    run(world, { until: isPurpose('ScaleUp', 2) });
    expect(said(world).sentence).toMatch(
      /^3 pods have no controller: what was to replace foo was deleted without them/,
    );
    expect(run(world).outcome).toBe('Succeeded');
    expect(uids(world)).toEqual(expect.arrayContaining(left));
    expect(world.find('foo')?.spec.replicas).toBe(4);
  });

  it('all pods were with the next one already: it is not refused for want of pods', () => {
    const world = foo(3);
    const next = begin(world);
    run(world, { until: isPurpose('DeleteOld') });
    lose(world, next);
    const before = uids(world);

    expect(world.find('foo')?.spec.replicas).toBe(0);
    expect(begin(world)).toBe(next);
    expect(run(world).outcome).toBe('Succeeded');
    expect(uids(world)).toEqual(before);
    expect(world.find('foo')?.spec.replicas).toBe(3);
  });

  it('turned round: the old controller gets its size back, and nothing of the update stays on it', () => {
    const { world } = lost();
    const left = world.activePods.filter(isNew).map(({ metadata }) => metadata.name);
    turn(world);

    expect(run(world)).toEqual({ written: ['ScaleUp', 'Strip'], outcome: 'refuse' });
    expect(stepOf(world)).toMatchObject({ code: 'NothingToDo' });
    world.settle();
    expect(world.find('foo')?.metadata.annotations).toEqual({});
    expect(world.find('foo')?.spec.replicas).toBe(4);
    // Whoever orphans pods says that they are to stay: they are told as long as they do.
    expect(said(world)).toMatchObject({
      sentence: expect.stringMatching(/^3 pods have no controller/),
      next: expect.stringContaining(`kubectl delete pods ${left.join(' ')} -n default`),
    });
  });

  it('of a second update: the first one, which is over, does not end it', () => {
    const world = foo(4);
    begin(world);
    run(world);
    const known = new Set(world.revisions.map(({ metadata }) => metadata.name));
    const change = { kind: 'image', image: 'app:3' } as const;
    const view = viewUpdate(world.snapshot('foo'));
    const decision = decideStart(view, { ...IMAGE, change });
    if (decision.do !== 'begin') throw new Error(JSON.stringify(decision));
    world.record(decision.data, { ...STATE, desired: decision.desired }, view.records);
    run(world, { until: isPurpose('ScaleDown', 2) });
    for (const { metadata } of world.revisions)
      if (!known.has(metadata.name)) world.forget('controllerrevisions', metadata.name);
    orphan(world, decision.data.next);

    expect(stepOf(world)).toMatchObject({ do: 'refuse', code: 'NextLost' });
    turn(world);
    run(world);
    expect(world.find('foo')?.metadata.annotations).toEqual({});
    expect(world.find('foo')?.spec.replicas).toBe(4);
  });

  it('what kubectl left after a rollback is not the size of an update that begins later', () => {
    const world = foo(5);
    const stale = { [SHIPPED_ROLLING_UPDATE.originalReplicas]: '3' };
    world.edit('foo', (one) => ({ ...one, metadata: { ...one.metadata, annotations: stale } }));

    expect(viewUpdate(world.snapshot('foo')).state.desired).toBe(5);
    begin(world);
    expect(run(world).outcome).toBe('Succeeded');
    expect(world.find('foo')?.spec.replicas).toBe(5);
  });
});

const isNew = ({ spec }: { spec: { containers: readonly { image?: string }[] } }) =>
  spec.containers[0]?.image === 'app:2';

describe('the record deleted in a rename', () => {
  it.each(['HoldNext', 'DeleteNext', 'ReleaseNext'])(
    'before %s: it is written again before the next controller is let go',
    (purpose) => {
      const world = foo();
      begin(world);
      run(world, { until: isPurpose(purpose) });
      const pods = uids(world);
      for (const { metadata } of world.revisions) world.forget('controllerrevisions', metadata.name);

      const { written, outcome } = run(world);
      expect([written[0], outcome]).toEqual(['Record', 'Succeeded']);
      expect(uids(world)).toEqual(pods);
      expect(world.controllers.map(({ metadata }) => metadata.name)).toEqual(['foo']);
    },
  );
});

describe('the old controller deleted on the way back', () => {
  it.each<[string, string | undefined]>([
    ['with a rename', undefined],
    ['with a name of its own', 'foo-v2'],
  ])('%s: it goes forward, and says that it cannot go back', (_, newName) => {
    const world = foo();
    begin(world, newName);
    run(world, { next: newName, until: isPurpose('ScaleDown', 2) });
    turn(world);
    run(world, { next: newName, until: isPurpose('ScaleDown') });
    orphan(world, 'foo');
    let message = '';
    const until = (write: UpdateWrite) => {
      message = write.message;
      return ['Phase', 'ScaleUp'].includes(write.purpose);
    };
    run(world, { next: newName, until });

    const vain = 'the abort cannot be done any more: foo was deleted';
    expect(message).toMatch(new RegExp(`^${vain}; `));
    const plan = planRollingUpdate(world.snapshot('foo', newName), NOW);
    expect(judgeUpdate(plan).sentence).toContain(`(${vain}; `);
    expect(decideStart(viewUpdate(world.snapshot('foo', newName)), { ...IMAGE, key: KEY }).do).toBe('attach');
  });
});
