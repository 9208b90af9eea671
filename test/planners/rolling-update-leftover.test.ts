/** Somebody gives the next controller another partner, and the update is given up: what it made must go, or be told. */

import { describe, expect, it } from '@jest/globals';

import { rowsOf, viewControllers } from '../../cli/controller-list.ts';
import { explain, wayOutOfRefusal } from '../../cli/explain-update.ts';
import { updateRefusal } from '../../cli/update-refusal.ts';
import { judgeUpdate } from '../../cli/update-state.ts';
import { ROLLING_UPDATE } from '../../planners/names.ts';
import { planRollingUpdate } from '../../planners/rolling-update.ts';
import { decideRollback } from '../../planners/rolling-update-rollback.ts';
import { decideStart } from '../../planners/rolling-update-start.ts';
import { updateNameOf, viewUpdate } from '../../planners/rolling-update-view.ts';
import type { SimulatedControllers } from '../support/simulated-controllers.ts';
import { IMAGE_TEMPLATE } from '../support/simulated-controllers.ts';
import { IMAGE, NOW, begin, foo, run, stepOf, turn } from '../support/simulated-update.ts';

const { desiredReplicas, partner } = ROLLING_UPDATE;

/** `kubectl annotate --overwrite` */
function annotate(world: SimulatedControllers, name: string, marks: Readonly<Record<string, string>>): void {
  world.edit(name, (one) => ({
    ...one,
    metadata: { ...one.metadata, annotations: { ...one.metadata.annotations, ...marks } },
  }));
}

/** In the middle, with a next controller that is marked as another's; the update is refused, and given up. */
function givenUp(marks: Readonly<Record<string, string>>, prepare?: (world: SimulatedControllers) => void) {
  const world = foo();
  const next = begin(world);
  run(world, { until: ({ purpose }) => purpose === 'ScaleDown' });
  prepare?.(world);
  annotate(world, next, marks);
  expect(stepOf(world)).toMatchObject({ do: 'refuse', code: 'OtherUpdate' });
  turn(world);
  const { outcome } = run(world);
  return { world, next, outcome };
}

function said(world: SimulatedControllers, name: string) {
  const plan = planRollingUpdate(world.snapshot(updateNameOf(world, name)), NOW);
  const evidence = { run: { state: 'none' }, nobody: undefined, git: undefined } as const;
  return { plan, explained: explain(plan, evidence), judged: judgeUpdate(plan) };
}

const bar = (world: SimulatedControllers) => {
  world.controller('bar', { replicas: 0, selector: { app: 'bar' }, template: IMAGE_TEMPLATE('app:1') });
};

/** Marked as the old controller of the same next one. */
const pairedBar = (world: SimulatedControllers) => {
  bar(world);
  const next = world.controllers.find(({ metadata }) => metadata.name.startsWith('foo-'));
  annotate(world, 'bar', { [partner]: next?.metadata.name ?? '' });
};

describe('a next controller that was given another partner', () => {
  it.each([
    [{ [partner]: 'nobody', [desiredReplicas]: 'banana' }],
    [{ [partner]: 'nobody' }],
    [{ [partner]: 'nobody', [desiredReplicas]: '0' }],
    [{ [partner]: 'bar' }],
  ])(
    'who is no partner of it (%j): the abort takes it away, and the same can be rolled out again',
    (marks) => {
      const { world, next, outcome } = givenUp(marks, bar);
      expect(outcome).toBe('Aborted');
      expect(world.find(next)).toBeUndefined();
      expect(world.activePods.map(({ spec }) => spec.containers[0]?.image)).toEqual([
        'app:1',
        'app:1',
        'app:1',
      ]);
      expect(decideStart(viewUpdate(world.snapshot('foo')), IMAGE).do).toBe('begin');
    },
  );

  it('who was one of it: it stays, and is named with the command that works wherever it is in the way', () => {
    const { world, next, outcome } = givenUp({ [partner]: 'bar' }, pairedBar);
    expect(outcome).toBe('Aborted');
    expect(said(world, 'foo').explained.sentence).toMatch(/foo is as it was before$/);
    world.forget('replicationcontrollers', 'bar');
    const command = `delete it and its pods: kubectl delete rc ${next} -n default`;
    expect(said(world, 'foo').explained).toMatchObject({
      sentence: expect.stringMatching(
        new RegExp(
          `foo is as it was before; but ${next} with 1 replica is left of an update that was given up$`,
        ),
      ),
      next: command,
    });

    const left = `${next} with 1 replica is left of an update of foo that was given up`;
    const { plan, explained, judged } = said(world, next);
    expect(explained).toEqual({ verdict: 'LeftBehind', sentence: left, next: command });
    expect(judged).toEqual({ outcome: 'stalled', sentence: left });
    expect(wayOutOfRefusal(plan)).toBe(command);
    const { controllers, revisions, pods } = world;
    const found = { chosen: controllers, controllers, revisions, pods, isWhole: true };
    expect(rowsOf(viewControllers(found, NOW), next)).toEqual([
      expect.objectContaining({ name: next, state: 'Stalled', message: left }),
    ]);

    const view = viewUpdate(world.snapshot('foo'));
    const refused = { do: 'refuse', code: 'LeftBehind', message: left, about: next } as const;
    expect(decideStart(view, IMAGE)).toEqual(refused);
    expect(updateRefusal(view, refused).message).toBe(`${left} (namespace default)\n  ${command}`);
    expect(decideStart(viewUpdate(world.snapshot('foo', next)), { ...IMAGE, newName: next })).toEqual(
      refused,
    );
    expect(decideRollback(viewUpdate(world.snapshot(next)), { verb: 'abort' })).toEqual(refused);
  });

  it('who has begun one with the same next controller: it is not taken away', () => {
    const { world, next, outcome } = givenUp({ [partner]: 'gone' }, (one) => {
      const { records, record } = viewUpdate(one.snapshot('foo'));
      if (record === undefined) throw new Error('no update');
      const { revision: _, state, ...data } = record;
      one.record({ ...data, from: 'gone', to: 'gone' }, state, records);
    });
    expect(outcome).toBe('Aborted');
    expect(world.find(next)?.metadata.annotations?.[partner]).toBe('gone');
    expect(said(world, 'foo').explained.sentence).toMatch(/foo is as it was before$/);
  });
});

describe('what is said of an update that cannot be had', () => {
  it('advises a way back only where there is one', () => {
    const world = foo();
    begin(world);
    run(world, { until: ({ purpose }) => purpose === 'ScaleDown' });
    const other = { ...IMAGE, change: { kind: 'image', image: 'app:3' } } as const;
    const refusalOf = () => {
      const view = viewUpdate(world.snapshot('foo'));
      const decision = decideStart(view, other);
      if (decision.do !== 'refuse') throw new Error(JSON.stringify(decision));
      return updateRefusal(view, decision).message;
    };
    expect(refusalOf()).toMatch(/turn it round first: fairlead rolling-update foo --rollback -n default$/);
    run(world, { until: ({ purpose }) => purpose === 'ReleaseNext' });
    expect(refusalOf()).toMatch(
      /let it finish, it cannot go back any more: `fairlead explain rc\/foo -n default` says/,
    );
    const view = viewUpdate(world.snapshot('foo'));
    const back = decideRollback(view, { verb: 'rollback' });
    if (back.do !== 'refuse') throw new Error(JSON.stringify(back));
    expect(updateRefusal(view, back).message).toMatch(
      /^foo is gone already: .*\n {2}`fairlead explain rc\/foo -n default` says how it stands; /,
    );
  });

  it('names what has taken its place', () => {
    const world = foo();
    begin(world, 'foo-v2');
    expect(run(world, { next: 'foo-v2' }).outcome).toBe('Succeeded');
    const view = viewUpdate(world.snapshot('foo'));
    const back = decideRollback(view, { verb: 'rollback' });
    if (back.do !== 'refuse') throw new Error(JSON.stringify(back));
    expect(updateRefusal(view, back).message).toMatch(/ fairlead rolling-update foo-v2 --image=/);
  });

  it('names the file where that has no replicas, and not a scaling that would not help', () => {
    const view = viewUpdate(foo().snapshot('foo'));
    const refused = { do: 'refuse', code: 'NoReplicas', message: 'foo is to have 0 replicas' } as const;
    expect(updateRefusal(view, refused).message).toMatch(/the file has `replicas: 0`: /);
    const none = viewUpdate(foo(0).snapshot('foo'));
    expect(updateRefusal(none, refused).message).toMatch(/kubectl scale rc\/foo --replicas=1/);
  });
});
