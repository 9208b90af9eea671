/** Somebody changes a selector in the middle (`kubectl edit rc`), up to that of the other half: neither would have pods of its own. */

import { describe, expect, it } from '@jest/globals';

import { explain } from '../../cli/explain-update.ts';
import { planRollingUpdate } from '../../planners/rolling-update.ts';
import type { SimulatedControllers } from '../support/simulated-controllers.ts';
import { NOW, begin, foo, run, stepOf, turn } from '../support/simulated-update.ts';

type Labels = Readonly<Record<string, string>>;

/** The template's labels with it, without which the apiserver takes no selector. */
function select(world: SimulatedControllers, name: string, selector: Labels): void {
  world.edit(name, (one) => {
    const template = { spec: { containers: [] }, ...one.spec.template, metadata: { labels: selector } };
    return { ...one, spec: { ...one.spec, selector, template } };
  });
}

/** Two of four pods are new; the selector of one is edited, and the controller manager has acted by it. */
function edited(which: 'next' | 'old') {
  const world = foo();
  const next = begin(world);
  let shrunk = 0;
  run(world, { until: ({ purpose }) => purpose === 'ScaleDown' && ++shrunk > 1 });
  const other = world.find(which === 'old' ? next : 'foo')?.spec.selector ?? {};
  select(world, which === 'old' ? 'foo' : next, other);
  world.settle();
  return { world, next };
}

const imagesOf = ({ activePods }: SimulatedControllers) =>
  activePods.map(({ spec }) => spec.containers[0]?.image);

describe('a selector that somebody has changed in the middle', () => {
  it.each(['next', 'old'] as const)('of the %s one: the record puts it back, forward', (which) => {
    const { world } = edited(which);
    expect(run(world).outcome).toBe('Succeeded');
    expect(imagesOf(world)).toEqual(['app:2', 'app:2', 'app:2']);
    expect(world.controllers.map(({ metadata }) => metadata.name)).toEqual(['foo']);
    expect(world.find('foo')?.metadata.annotations).toEqual({});
  });

  it.each(['next', 'old'] as const)('of the %s one: and on the way back', (which) => {
    const { world } = edited(which);
    turn(world);
    expect(run(world).outcome).toBe('Aborted');
    expect(imagesOf(world)).toEqual(['app:1', 'app:1', 'app:1']);
    expect(world.controllers.map(({ metadata }) => metadata.name)).toEqual(['foo']);
    expect(world.find('foo')?.metadata.annotations).toEqual({});
  });

  it('a pause holds that', () => {
    const { world } = edited('next');
    const paused = { by: 'ann' };
    expect(planRollingUpdate({ ...world.snapshot('foo'), paused }, NOW).step).toEqual({
      do: 'paused',
      ...paused,
    });
  });

  it('without a record nobody knows what it was: what is said to do leads back', () => {
    const { world, next } = edited('next');
    for (const { metadata } of world.revisions) world.forget('controllerrevisions', metadata.name);
    expect(stepOf(world)).toMatchObject({ do: 'refuse', code: 'SelectorSame' });
    const said = explain(planRollingUpdate(world.snapshot('foo'), NOW), {
      run: { state: 'none' },
      nobody: undefined,
      git: undefined,
    });
    expect(said.next).toBe(
      `no record says which selector it had; delete it and its pods: kubectl delete rc ${next} -n default; then give it up: fairlead rollout abort rc/foo -n default`,
    );
    world.deleteByHand(next);
    turn(world);
    // The run ends there: after its marks nothing tells any more that there was an update.
    expect(run(world).written.at(-1)).toBe('Strip');
    expect(stepOf(world)).toMatchObject({ do: 'refuse', code: 'NothingToDo' });
    expect(world.find('foo')?.metadata.annotations).toEqual({});
    expect(world.find('foo')?.spec.replicas).toBe(3);
  });
});
