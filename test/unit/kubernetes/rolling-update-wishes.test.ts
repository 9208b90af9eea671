/** `rollout pause|resume rc/NAME`: of an update, and of the next one where none is under way. */

import { describe, expect, it } from '@jest/globals';

import { decidePause, decideResume, describeTurn } from '../../../kubernetes/rolling-update-wishes.ts';
import { ANNOTATION } from '../../../planners/names.ts';
import { viewUpdate } from '../../../planners/rolling-update-view.ts';
import type { SimulatedControllers } from '../../support/simulated-controllers.ts';
import { begin, foo, run } from '../../support/simulated-update.ts';

const WISH = { by: 'ann', reason: 'look' };
const viewOf = (world: SimulatedControllers) => viewUpdate(world.snapshot('foo'));

function pausedByHand(world: SimulatedControllers): SimulatedControllers {
  world.edit('foo', (one) => {
    const annotations = { ...one.metadata.annotations, [ANNOTATION.paused]: JSON.stringify(WISH) };
    return { ...one, metadata: { ...one.metadata, annotations } };
  });
  return world;
}

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

  it('what has the pause when an update begins is held, and is not paused again by its end', () => {
    const world = pausedByHand(foo());
    const next = begin(world);
    expect(world.revisions.map((one) => JSON.stringify(one)).join('')).not.toContain(ANNOTATION.paused);
    run(world, { until: ({ purpose }) => purpose === 'ScaleUp' });
    // On both, for either may be deleted.
    const both = decidePause(viewOf(world), WISH, { orNext: true });
    expect(both).toMatchObject({ message: 'the update of foo is paused', step: { write: { name: next } } });
    expect(both).not.toHaveProperty('isIdle');
    const resumed = decideResume(viewOf(world));
    expect(resumed).toMatchObject({ message: 'the update of foo goes on', step: { write: { name: 'foo' } } });
    expect(resumed).not.toHaveProperty('isIdle');
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
