/** How `rolling-update` learns the end of the update that it began, when another one has the run by then. */

import { describe, expect, it } from '@jest/globals';

import { isFollowedByOther, recordedEnd } from '../../../cli/update-state.ts';
import type { Turned } from '../../../planners/rolling-update-record.ts';
import { decideRollback } from '../../../planners/rolling-update-rollback.ts';
import { decideStart } from '../../../planners/rolling-update-start.ts';
import { setState } from '../../../planners/rolling-update-steps.ts';
import { viewUpdate } from '../../../planners/rolling-update-view.ts';
import type { SimulatedControllers } from '../../support/simulated-controllers.ts';
import { IMAGE, STATE, begin, foo, run } from '../../support/simulated-update.ts';

const viewOf = (world: SimulatedControllers) => viewUpdate(world.snapshot('foo'));
const newest = (world: SimulatedControllers) => viewOf(world).records.at(-1)?.revision.metadata.uid ?? '';

/** An update of foo to app:2 that has some pods, and its record. */
function begun(): readonly [SimulatedControllers, string] {
  const world = foo();
  begin(world);
  run(world, { until: ({ purpose }) => purpose === 'ScaleDown' });
  return [world, newest(world)];
}

function turn(world: SimulatedControllers, turned: Turned): void {
  const decision = decideRollback(viewOf(world), turned);
  if (decision.do !== 'turn') throw new Error(JSON.stringify(decision));
  world.apply(decision.write);
}

/** As a commit begins another one. */
function beginOther(world: SimulatedControllers): void {
  const decision = decideStart(viewOf(world), { ...IMAGE, change: { kind: 'image', image: 'app:3' } });
  if (decision.do !== 'begin') throw new Error(JSON.stringify(decision));
  world.record(decision.data, { ...STATE, desired: decision.desired }, viewOf(world).records);
}

describe('the end of an update, by its record', () => {
  it('is not known while it is under way, nor when the record is gone', () => {
    const [world, record] = begun();
    expect(recordedEnd(viewOf(world), record)).toBeUndefined();
    expect(recordedEnd(viewOf(world), 'another')).toBeUndefined();
    expect(isFollowedByOther(viewOf(world), record)).toBe(false);
  });

  it.each<[string, Turned, string]>([
    ['a commit', { verb: 'commit', commit: 'c2', reason: 'commit c2 brings another manifest' }, 'Superseded'],
    ['somebody', { verb: 'abort', by: 'ann' }, 'Aborted'],
  ])('turned round by %s: also when what came after it has succeeded', (_, turned, outcome) => {
    const [world, record] = begun();
    turn(world, turned);
    expect(run(world).outcome).toBe(outcome);
    expect(recordedEnd(viewOf(world), record)).toMatchObject({ outcome, turned });
    expect(isFollowedByOther(viewOf(world), record)).toBe(false);

    beginOther(world);
    expect(recordedEnd(viewOf(world), record)).toMatchObject({ outcome, turned });
    expect(isFollowedByOther(viewOf(world), record)).toBe(true);
    expect(run(world).outcome).toBe('Succeeded');
    expect(recordedEnd(viewOf(world), record)).toMatchObject({ outcome, turned });
    expect(recordedEnd(viewOf(world), newest(world))).toEqual({ outcome: 'Succeeded' });
  });

  it('succeeded: also when another was turned round since', () => {
    const [world, record] = begun();
    run(world);
    beginOther(world);
    run(world, { until: ({ purpose }) => purpose === 'ScaleDown' });
    turn(world, { verb: 'abort' });
    run(world);
    expect(recordedEnd(viewOf(world), record)).toEqual({ outcome: 'Succeeded' });
    expect(recordedEnd(viewOf(world), newest(world))).toMatchObject({ outcome: 'Aborted' });
  });

  it.each<[string, object, object | undefined]>([
    ['for another image', { next: 'foo-other' }, { outcome: 'Superseded', by: 'foo-other' }],
    ['anew, because the next controller was edited', { hash: 'edited' }, undefined],
  ])('a record that another was made instead of, %s', (_, other, end) => {
    const [world, record] = begun();
    const view = viewOf(world);
    if (view.record === undefined) throw new Error('no record');
    const { state, ...data } = view.record;
    world.record({ ...data, ...other }, state, view.records);
    const closing = setState(
      view.record,
      { phase: 'Aborted' },
      'as its update closes one in favour of another',
    );
    if (closing.do === 'write') world.apply(closing.write);
    expect(recordedEnd(viewOf(world), record)).toEqual(end);
  });
});
