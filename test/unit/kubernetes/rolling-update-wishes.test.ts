/** `rollout pause|resume rc/NAME`: of an update, and of the next one where none is under way. */

import { describe, expect, it } from '@jest/globals';

import type { KubernetesClient } from '../../../kubernetes/client.ts';
import {
  decidePause,
  decideResume,
  decideTurn,
  describeTurn,
  pauseUpdate,
  resumeUpdate,
} from '../../../kubernetes/rolling-update-wishes.ts';
import { pauseOf } from '../../../kubernetes/rolling-update-objects.ts';
import { trusted } from '../../../kubernetes/values.ts';
import { ANNOTATION } from '../../../planners/names.ts';
import { planRollingUpdate } from '../../../planners/rolling-update.ts';
import type { UpdateStep } from '../../../planners/rolling-update-steps.ts';
import { viewUpdate } from '../../../planners/rolling-update-view.ts';
import type { SimulatedControllers } from '../../support/simulated-controllers.ts';
import { NOW, STATE, begin, foo, run, turn } from '../../support/simulated-update.ts';

const WISH = { by: 'ann', reason: 'look' };
const viewOf = (world: SimulatedControllers) => viewUpdate(world.snapshot('foo'));

function pausedByHand(world: SimulatedControllers): SimulatedControllers {
  world.edit('foo', (one) => {
    const annotations = { ...one.metadata.annotations, [ANNOTATION.paused]: JSON.stringify(WISH) };
    return { ...one, metadata: { ...one.metadata, annotations } };
  });
  return world;
}

/** As a run does, which sees the pause on the controllers; answers what it has come to. */
function runPaused(world: SimulatedControllers): UpdateStep {
  for (let turns = 0; turns < 100; turns += 1) {
    const paused = pauseOf(viewOf(world));
    const { step } = planRollingUpdate({ ...world.snapshot('foo'), paused }, NOW);
    if (step.do === 'write') world.apply(step.write);
    else if (step.do !== 'await') return step;
    world.collect();
    world.settle();
  }
  throw new Error('no end');
}

const marksOf = (world: SimulatedControllers) =>
  Object.fromEntries(
    world.controllers.map(({ metadata }) => [metadata.name, metadata.annotations?.[ANNOTATION.paused]]),
  );

describe('pause and resume without an update under way', () => {
  it('are written on the controller, for the next one', () => {
    const world = foo();
    const paused = decidePause(viewOf(world), WISH, { orNext: true });
    expect(paused).toMatchObject({
      changed: true,
      isIdle: true,
      message: 'replicationcontroller/foo paused: its next update will wait',
      step: { write: { name: 'foo', verb: 'patch' } },
    });
    if (paused.step?.do === 'write') world.apply(paused.step.write);

    expect(decidePause(viewOf(world), WISH, { orNext: true })).toEqual({
      changed: false,
      message: 'nothing to do: replicationcontroller/foo is already paused by ann: look',
    });
    const resumed = decideResume(viewOf(world));
    expect(resumed).toMatchObject({
      changed: true,
      isIdle: true,
      message: 'replicationcontroller/foo resumed: its next update will not wait',
    });
    if (resumed.step?.do === 'write') world.apply(resumed.step.write);
    expect(world.find('foo')?.metadata.annotations).toEqual({});
    expect(decideResume(viewOf(world))).toEqual({
      changed: false,
      message: 'nothing to do: replicationcontroller/foo is not paused',
    });
  });

  it('a run that is told to pause means its own update, which may be over', () => {
    expect(decidePause(viewOf(foo()), WISH)).toEqual({
      changed: false,
      message: 'nothing to do: no update of foo is in progress',
    });
  });

  it('what has the pause when an update begins is held, its next controller too, and is not paused again by its end', () => {
    const world = pausedByHand(foo());
    const next = begin(world);
    expect(world.revisions.map((one) => JSON.stringify(one)).join('')).not.toContain(ANNOTATION.paused);
    expect(runPaused(world).do).toBe('paused');

    const mark = JSON.stringify(WISH);
    expect(marksOf(world)).toEqual({ foo: mark, [next]: mark });
    expect(decidePause(viewOf(world), { by: 'bob' }, { orNext: true })).toEqual({
      changed: false,
      message: 'nothing to do: the update of foo is already paused by ann: look',
    });
    // Whoever deletes the old one takes one of the two.
    const controllers = world.controllers.filter(({ metadata }) => metadata.name !== 'foo');
    expect(pauseOf(viewUpdate({ ...world.snapshot('foo'), controllers }))).toEqual(WISH);

    for (const name of ['foo', next]) {
      const resumed = decideResume(viewOf(world));
      expect(resumed).toMatchObject({ message: 'the update of foo goes on', step: { write: { name } } });
      expect(resumed).not.toHaveProperty('isIdle');
      if (resumed.step?.do === 'write') world.apply(resumed.step.write);
    }
    expect(run(world).outcome).toBe('Succeeded');
    expect(marksOf(world)).toEqual({ foo: undefined });
  });

  it('given up before it is resumed, the next update is to wait still', () => {
    const world = pausedByHand(foo());
    begin(world);
    runPaused(world);
    turn(world);
    expect(runPaused(world)).toMatchObject({ do: 'done', outcome: 'Aborted' });
    expect(marksOf(world)).toEqual({ foo: JSON.stringify(WISH) });
  });

  it('one that stands on the old controller alone is completed under the name of who gave it', () => {
    const world = foo();
    const next = begin(world);
    run(world, { until: ({ purpose }) => purpose === 'ScaleUp' });
    const both = decidePause(viewOf(pausedByHand(world)), { by: 'bob' }, { orNext: true });
    expect(both).toMatchObject({
      message: `the update of foo is already paused by ann: look: that is on ${next} too now`,
      step: { write: { name: next } },
    });
    expect(both).not.toHaveProperty('isIdle');
    if (both.step?.do === 'write') world.apply(both.step.write);
    expect(marksOf(world)[next]).toBe(JSON.stringify(WISH));
  });
});

describe('a pause in a rename', () => {
  const until = (purpose: string) => {
    const world = foo();
    const next = begin(world);
    run(world, { until: (write) => write.purpose === purpose });
    return { world, next };
  };
  const pauseIn = (world: SimulatedControllers) => decidePause(viewOf(world), WISH, { orNext: true });

  it('holds it as long as the next controller is not being deleted', () => {
    const { world, next } = until('DeleteNext');
    const { message, step } = pauseIn(world);
    expect([message, step]).toMatchObject(['the update of foo is paused', { write: { name: next } }]);
    expect(planRollingUpdate({ ...world.snapshot('foo'), paused: WISH }, 0).step.do).toBe('paused');
  });

  it('is written on the next one alone while the old one is being deleted', () => {
    const { world, next } = until('DeleteOld');
    world.edit('foo', (one) => {
      const metadata = { deletionTimestamp: '2026-01-01T00:00:00Z', finalizers: ['x.example/hold'] };
      return { ...one, metadata: { ...one.metadata, ...metadata } };
    });
    expect(pauseIn(world)).toMatchObject({ changed: true, step: { write: { name: next } } });
  });

  it.each<[string, string, string]>([
    [
      'by a finalizer of somebody else',
      'ReleaseNext',
      'is being deleted, held by its finalizer x.example/hold',
    ],
    ['by nothing', 'Create', 'is gone'],
  ])('is refused once that is let go, held %s: the renamed one would not have it', (_, purpose, how) => {
    const { world, next } = until(purpose);
    if (purpose === 'ReleaseNext') {
      const finalizers = ['x.example/hold'];
      world.edit(next, (one) => ({ ...one, metadata: { ...one.metadata, finalizers } }));
    }
    const refused = pauseIn(world);
    const message = `the update of foo cannot be paused: foo is gone, ${next} ${how}, and a pause goes with its controller`;
    expect(refused).toMatchObject({ changed: false, refused: { code: 'Renaming', message } });
    expect(refused).not.toHaveProperty('step');
  });

  it('has nothing to hold where both went with their pods', () => {
    const { world, next } = until('ScaleDown');
    for (const name of ['foo', next]) world.forget('replicationcontrollers', name);
    for (const { metadata } of world.pods) world.forget('pods', metadata.name);
    expect(pauseIn(world)).toEqual({
      changed: false,
      message: 'nothing to do: no update of foo is in progress',
    });
  });
});

describe('an update that is turned round while it is paused', () => {
  const told = (world: SimulatedControllers) =>
    describeTurn({ ...viewOf(world), paused: WISH }, 'is being rolled back', 'is to be rolled back');

  it('goes back at once where it has not begun to replace pods, for nothing is to be scaled', () => {
    const world = foo();
    begin(world);
    run(world, { until: ({ purpose }) => purpose === 'ScaleUp' });
    expect(told(world)).toBe('the update of foo is being rolled back');
  });

  it('goes back when it is resumed where it has', () => {
    const world = foo();
    begin(world);
    run(world, { until: ({ purpose }) => purpose === 'ScaleDown' });
    expect(told(world)).toBe(
      'the update of foo is to be rolled back, but it is paused: fairlead rollout resume rc/foo -n default',
    );
  });
});

describe('a wish that a webhook takes back', () => {
  /** Lists what is there, and takes every patch without effect; a wish that asks for more than a few would never end. */
  function unmoved(world: SimulatedControllers) {
    const { controllers } = world.snapshot('foo');
    let patches = 0;
    const client = trusted<KubernetesClient>({
      list: async ({ resource }: { resource: string }) => ({
        items: resource === 'replicationcontrollers' ? controllers : [],
      }),
      patch: async ({ name }: { name: string }) => {
        patches += 1;
        if (patches > 5) throw new Error('asked again and again');
        return controllers.find(({ metadata }) => metadata.name === name);
      },
    });
    return client;
  }
  const reference = { namespace: 'default', name: 'foo' };
  const takenBack = 'PATCH replicationcontrollers default/foo: it was taken, and the object stayed as it was';

  it('ends with an error that names it: the update is not paused', async () => {
    const paused = pauseUpdate(unmoved(foo()), reference, WISH, 0, { orNext: true });
    await expect(paused).rejects.toThrow(takenBack);
  });

  it('the same of the end of a pause', async () => {
    await expect(resumeUpdate(unmoved(pausedByHand(foo())), reference)).rejects.toThrow(takenBack);
  });
});

it.each([
  [60_000, false, true],
  [0, false, undefined],
  [60_000, true, undefined],
])(
  'a turn that is there already, with a period of %i ms, paused: %s, is told again: %s',
  (period, isPaused, told) => {
    const world = foo();
    begin(world, undefined, { ...STATE, updatePeriodMs: period });
    run(world, { until: ({ purpose }) => purpose === 'ScaleDown' });
    turn(world);
    const view = { ...viewOf(world), ...(isPaused && { paused: WISH }) };
    const { changed, isTurned } = decideTurn(view, { verb: 'commit' });
    expect({ changed, isTurned }).toEqual({ changed: false, isTurned: told });
  },
);
