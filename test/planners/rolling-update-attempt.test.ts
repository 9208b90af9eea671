/** What a worker keeps in mind through the gap of a rename: a record is not lost, and nothing that somebody deletes is made twice. */

import { describe, expect, it } from '@jest/globals';

import { seenAgain, withMemory } from '../../planners/rolling-update-attempt.ts';
import type { UpdateRecord } from '../../planners/rolling-update-record.ts';
import { planRollingUpdate } from '../../planners/rolling-update.ts';
import { NOW, begin, foo, run } from '../support/simulated-update.ts';
import type { SimulatedControllers } from '../support/simulated-controllers.ts';

/** Lets the next controller go, and writes on with what is remembered, until nothing is to be written; `meddle` comes after each write. */
function rename(meddle: (world: SimulatedControllers, last: string) => void) {
  const world = foo();
  begin(world);
  run(world, { until: ({ purpose }) => purpose === 'ReleaseNext' });
  const written: string[] = [];
  let released: UpdateRecord | undefined;
  let created: string | undefined;
  for (let turns = 0; turns < 50; turns += 1) {
    const looked = planRollingUpdate(world.snapshot('foo'), NOW);
    const { record } = looked.view;
    released = seenAgain(released ?? record!, looked.view);
    const { step } = withMemory(looked, { released, created });
    if (step.do === 'done' || step.do === 'refuse') return { world, written, end: step };
    if (step.do !== 'write') {
      world.collect();
      world.settle();
      continue;
    }
    expect(world.apply(step.write)).toBe('done');
    if (step.write.purpose === 'Create') created = record?.revision.metadata.uid;
    written.push(step.write.purpose);
    meddle(world, step.write.purpose);
  }
  throw new Error(`no end: ${written.join(' ')}`);
}

describe('the renamed controller deleted while the worker that renames still looks', () => {
  it.each([
    ['before it was seen', 'Create', ['ReleaseNext', 'Create', 'Renamed']],
    ['once it was seen', 'Renamed', ['ReleaseNext', 'Create', 'Renamed']],
    ['once it has the record', 'Own', ['ReleaseNext', 'Create', 'Renamed', 'Own']],
  ])('%s: it is not created a second time, and the record has no copy', (_, at, expected) => {
    const { world, written, end } = rename((there, last) => {
      if (last !== at) return;
      there.settle();
      there.deleteByHand('foo');
    });

    expect(written).toEqual(expected);
    expect(end).toMatchObject({ do: 'refuse', code: 'NotFound' });
    expect(world.controllers).toEqual([]);
    expect(world.revisions).toHaveLength(1);
  });

  it('together with its record: neither is written again', () => {
    const { world, written } = rename((there, last) => {
      if (last !== 'Own') return;
      there.deleteByHand('foo');
      for (const { metadata } of there.revisions) there.forget('controllerrevisions', metadata.name);
    });

    expect(written).toEqual(['ReleaseNext', 'Create', 'Renamed', 'Own']);
    expect([world.controllers, world.revisions]).toEqual([[], []]);
  });
});

it.each([
  ['in the gap', 'ReleaseNext', ['ReleaseNext', 'Record', 'Create', 'Renamed', 'Own', 'Phase']],
  ['once it is created', 'Create', ['ReleaseNext', 'Create', 'Record', 'Renamed', 'Own', 'Phase']],
])('a record that is deleted alone, %s, is written again', (_, at, expected) => {
  const { world, written, end } = rename((there, last) => {
    if (last !== at) return;
    for (const { metadata } of there.revisions) there.forget('controllerrevisions', metadata.name);
  });

  expect(written).toEqual(expected);
  expect(end).toMatchObject({ do: 'done', outcome: 'Succeeded' });
  expect(world.controllers.map(({ metadata }) => metadata.name)).toEqual(['foo']);
});
