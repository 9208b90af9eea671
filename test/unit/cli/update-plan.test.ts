/** `rolling-update --dry-run`: whatever the command would do, the document says it. */

import { describe, expect, it } from '@jest/globals';

import { planRollback, planStart } from '../../../cli/update-plan.ts';
import { decideRollback } from '../../../planners/rolling-update-rollback.ts';
import { decideStart } from '../../../planners/rolling-update-start.ts';
import { viewUpdate } from '../../../planners/rolling-update-view.ts';
import type { SimulatedControllers } from '../../support/simulated-controllers.ts';
import { IMAGE, begin, foo, run, turn } from '../../support/simulated-update.ts';

function start(world: SimulatedControllers) {
  const view = viewUpdate(world.snapshot('foo'));
  const decision = decideStart(view, IMAGE);
  if (decision.do === 'refuse') throw new Error(decision.message);
  return planStart(view, decision);
}

function back(world: SimulatedControllers) {
  const view = viewUpdate(world.snapshot('foo'));
  const decision = decideRollback(view, { verb: 'rollback' });
  if (decision.do === 'refuse') throw new Error(decision.message);
  return planRollback(view, decision);
}

describe('the plan of a rolling update', () => {
  const own = { kind: 'RollingUpdatePlan', namespace: 'default', name: 'foo' };
  const controller = { spec: { template: { spec: { containers: [{ image: 'app:2' }] } } } };

  it('that would begin', () => {
    const next = expect.stringMatching(/^foo-[0-9a-f]{10}$/);
    expect(start(foo())).toMatchObject({ ...own, action: 'begin', next, to: 'foo', desired: 3, controller });
  });

  it('that is in progress, and may be turned round', () => {
    const world = foo();
    const next = begin(world);
    expect(start(world)).toMatchObject({
      ...own,
      action: 'attach',
      next,
      to: 'foo',
      desired: 3,
      controller,
      message: 'the update of foo is in progress',
    });
    expect(back(world)).toMatchObject({
      ...own,
      action: 'rollback',
      next,
      to: 'foo',
      desired: 3,
      message: `${next} would shrink and foo grow again`,
    });
    turn(world);
    expect(back(world)).toMatchObject({ action: 'attach', message: expect.stringContaining('already') });
  });

  it('whose next controller and record are gone, turned round', () => {
    const world = foo();
    const next = begin(world);
    run(world, { until: ({ purpose }) => purpose === 'ScaleDown' });
    world.forget('replicationcontrollers', next);
    for (const { metadata } of world.revisions) world.forget('controllerrevisions', metadata.name);
    expect(back(world)).toMatchObject({ action: 'rollback', message: 'foo would grow again' });
  });

  it('that is over', () => {
    const world = foo();
    begin(world);
    run(world);
    const message = expect.stringMatching(/^nothing to do: foo is rolled out/);
    expect(start(world)).toMatchObject({ ...own, action: 'none', message });
  });
});
