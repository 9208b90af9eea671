/** The way to the gap of a rename, in which pods have no controller, and the gap itself. */

import { describe, expect, it } from '@jest/globals';

import { isInGap, isTowardsGap } from '../../planners/rolling-update-handover.ts';
import { planRollingUpdate } from '../../planners/rolling-update.ts';
import type { UpdatePurpose } from '../../planners/rolling-update-steps.ts';
import { begin, foo, run } from '../support/simulated-update.ts';

/** An update that has come so far that `next` is the purpose of its next write. */
function planAt(next: UpdatePurpose) {
  const world = foo();
  begin(world);
  run(world, { until: ({ purpose }) => purpose === next });
  const plan = planRollingUpdate(world.snapshot('foo'), 0);
  expect(plan.step).toMatchObject({ do: 'write', write: { purpose: next } });
  return plan;
}

describe('a rename', () => {
  it.each<[UpdatePurpose, { readonly towards: boolean; readonly inGap: boolean }]>([
    ['ScaleUp', { towards: false, inGap: false }],
    ['ScaleDown', { towards: false, inGap: false }],
    ['DeleteOld', { towards: true, inGap: false }],
    ['HoldNext', { towards: true, inGap: false }],
    ['DeleteNext', { towards: true, inGap: false }],
    ['ReleaseNext', { towards: false, inGap: true }],
    ['Create', { towards: false, inGap: true }],
  ])('before %s', (purpose, expected) => {
    const { view, step } = planAt(purpose);
    expect({ towards: isTowardsGap(view, step), inGap: isInGap(view) }).toEqual(expected);
  });
});
