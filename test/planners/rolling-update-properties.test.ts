/** Any order of events, any crash, any delay: budget, uids, and an end (seed 001, K5). */

import { describe, expect, it } from '@jest/globals';
import { fc } from '../support/properties.ts';

import { ANNOTATION, UPDATE_FIELD_MANAGER } from '../../planners/names.ts';
import { isReady } from '../../planners/availability.ts';
import { planRollingUpdate } from '../../planners/rolling-update.ts';
import type { RecordState } from '../../planners/rolling-update-record.ts';
import { resolveUpdateBudget } from '../../planners/rolling-update-scale.ts';
import { decideRollback } from '../../planners/rolling-update-rollback.ts';
import { decideStart } from '../../planners/rolling-update-start.ts';
import type { UpdateStep, UpdateWrite } from '../../planners/rolling-update-steps.ts';
import { trusted } from '../../planners/values.ts';
import { viewUpdate } from '../../planners/rolling-update-view.ts';
import { IMAGE_TEMPLATE, SimulatedControllers, ownerEntry } from '../support/simulated-controllers.ts';
import type { Served } from '../support/simulated-controllers.ts';

const NOW = Date.parse('2026-01-01T00:00:00Z');

/** One thing that happens next; numbers choose among what is there. */
type Happening =
  | { readonly what: 'plan' }
  /** What was planned last is written: maybe long after, maybe twice (an answer was lost). */
  | { readonly what: 'write' }
  | { readonly what: 'manage' | 'ready'; readonly which: number }
  /** The garbage collector, and the controller manager's cache of pods. */
  | { readonly what: 'collect' | 'observe' };

const HAPPENING: fc.Arbitrary<Happening> = fc.oneof(
  { arbitrary: fc.constant({ what: 'plan' as const }), weight: 4 },
  { arbitrary: fc.constant({ what: 'write' as const }), weight: 4 },
  {
    arbitrary: fc.record({ what: fc.constantFrom('manage' as const, 'ready' as const), which: fc.nat(20) }),
    weight: 6,
  },
  { arbitrary: fc.record({ what: fc.constantFrom('collect' as const, 'observe' as const) }), weight: 4 },
);

interface Case {
  readonly replicas: number;
  readonly surge: number | string;
  readonly unavailable: number | string;
  readonly keepsName: boolean;
  readonly rollbackAfter: number | undefined;
  /** Mutating webhooks are installed then: one of controllers, and one of pods that is away for some of them. */
  readonly policyAfter?: number;
  readonly history: readonly Happening[];
}

const CASE: fc.Arbitrary<Case> = fc.record({
  replicas: fc.integer({ min: 1, max: 6 }),
  surge: fc.constantFrom<number | string>(0, 1, 2, '30%', '100%'),
  unavailable: fc.constantFrom<number | string>(0, 1, 2, '50%'),
  keepsName: fc.boolean(),
  rollbackAfter: fc.option(fc.nat(200), { nil: undefined }),
  history: fc.array(HAPPENING, { minLength: 50, maxLength: 400, size: 'max' }),
});

function begin(world: SimulatedControllers, { surge, unavailable, keepsName }: Case): string | undefined {
  const newName = keepsName ? 'foo-v2' : undefined;
  const change = { kind: 'image', image: 'app:2' } as const;
  const decision = decideStart(viewUpdate(world.snapshot('foo')), { change, newName, key: 'dk' });
  if (decision.do !== 'begin') throw new Error(JSON.stringify(decision));
  const state: RecordState = {
    phase: 'Rolling',
    desired: decision.desired,
    surge,
    unavailable,
    updatePeriodMs: 0,
    pollIntervalMs: 1,
  };
  const { data } = decision;
  const owners =
    data.to === 'foo' && world.served.owners === true
      ? [...(world.find('foo')?.metadata.managedFields ?? []), ownerEntry(UPDATE_FIELD_MANAGER, world.now)]
      : undefined;
  world.record({ ...data, ...(owners && { owners: trusted(owners) }) }, state);
  return newName;
}

/** Runs one case; calls `check` after every change of the world. `quietUntil`: only from there on does anything happen. */
function play(
  world: SimulatedControllers,
  one: Case,
  check: (why: string) => void,
  quietUntil?: UpdateWrite['purpose'],
): string {
  const next = begin(world, one);
  let planned: UpdateWrite | undefined;
  const plan = () => {
    const { step } = planRollingUpdate(world.snapshot('foo', next), NOW);
    planned = step.do === 'write' ? step.write : planned;
    return step;
  };
  const turn = () => {
    const decision = decideRollback(viewUpdate(world.snapshot('foo', next)), { verb: 'abort' });
    if (decision.do === 'turn') world.apply(decision.write);
  };
  for (let step = plan(); !isThere(step, quietUntil); step = plan()) {
    if (step.do === 'write') world.apply(step.write);
    else world.settle();
  }
  one.history.forEach((happening, index) => {
    if (index === one.rollbackAfter) turn();
    if (index === one.policyAfter) install(world);
    switch (happening.what) {
      case 'plan':
        plan();
        return;
      case 'write':
        if (planned !== undefined) {
          world.apply(planned);
          check(planned.message);
        }
        return;
      case 'manage': {
        const name = pick(world.controllers, happening.which)?.metadata.name ?? '';
        world.manage(name);
        check(`the controller manager looked at ${name}`);
        return;
      }
      case 'ready': {
        const name = pick(world.activePods, happening.which)?.metadata.name;
        if (name !== undefined) world.becomeReady(name);
        return;
      }
      case 'observe':
        world.observe();
        return;
      case 'collect':
        world.collect();
    }
  });
  for (let turns = 0; turns < 1_000; turns += 1) {
    const step = plan();
    if (step.do === 'done' || step.do === 'refuse') return step.do === 'done' ? step.outcome : step.code;
    if (step.do === 'write') {
      world.apply(step.write);
      check(step.write.message);
    } else {
      world.collect();
      world.observe();
      for (const { metadata } of world.controllers) {
        world.manage(metadata.name);
        check(`the controller manager looked at ${metadata.name}`);
      }
      for (const { metadata } of world.activePods) world.becomeReady(metadata.name);
    }
  }
  return 'no end';
}

function install({ served }: SimulatedControllers): void {
  let pods = 0;
  served.policy = (template) => ({
    ...template,
    metadata: { ...template.metadata, annotations: { policy: 'v1' } },
  });
  served.podPolicy = (spec) => {
    pods += 1;
    const containers = spec.containers.map((each) => ({ ...each, image: `mirror/${each.image ?? ''}` }));
    return pods % 3 === 0 ? spec : { ...spec, containers };
  };
}

function isThere(step: UpdateStep, purpose: UpdateWrite['purpose'] | undefined): boolean {
  return purpose === undefined || (step.do === 'write' && step.write.purpose === purpose);
}

function pick<T>(items: readonly T[], which: number): T | undefined {
  return items[which % Math.max(1, items.length)];
}

function ground({ replicas }: Pick<Case, 'replicas'>, served?: Served): SimulatedControllers {
  const world = new SimulatedControllers(served);
  world.controller('foo', { replicas, selector: { app: 'foo' }, template: IMAGE_TEMPLATE('app:1') });
  world.settle();
  return world;
}

describe('rolling update, whatever happens in between', () => {
  it('never more than desired + surge pods, never fewer available than desired − unavailable, and it ends', () => {
    fc.assert(
      fc.property(CASE, (one) => {
        const world = ground(one);
        const { replicas } = one;
        const budget = resolveUpdateBudget(one, replicas);
        const outcome = play(world, one, (why) => {
          const pods = world.activePods;
          const available = pods.filter(isReady).length;
          if (pods.length > replicas + budget.surge) throw new Error(`${String(pods.length)} pods: ${why}`);
          if (available < replicas - budget.unavailable)
            throw new Error(`${String(available)} available: ${why}`);
        });

        const [image] = new Set(world.activePods.map(({ spec }) => spec.containers[0]?.image));
        const isBack = outcome === 'Aborted';
        expect(['Succeeded', ...(one.rollbackAfter === undefined ? [] : ['Aborted'])]).toContain(outcome);
        expect(image).toBe(isBack ? 'app:1' : 'app:2');
        expect(
          world.controllers.map(({ metadata: { name, annotations }, spec }) => [
            name,
            annotations,
            spec.replicas,
          ]),
        ).toEqual([
          [
            one.keepsName && !isBack ? 'foo-v2' : 'foo',
            isBack ? {} : { [ANNOTATION.deploymentLabelKey]: 'dk' },
            replicas,
          ],
        ]);
        expect(world.activePods).toHaveLength(replicas);
      }),
      { numRuns: 200 },
    );
  });

  it('a rename touches no pod and makes none, whatever the controller manager has seen of it', () => {
    fc.assert(
      fc.property(CASE, (drawn) => {
        const one = { ...drawn, keepsName: false, rollbackAfter: undefined };
        const world = ground(one);
        let atRename: readonly string[] | undefined;
        const check = (why: string) => {
          const present = world.activePods.map(({ metadata }) => metadata.uid);
          atRename ??= present;
          if (String(present) !== String(atRename)) throw new Error(`${String(present.length)} pods: ${why}`);
        };

        expect(play(world, one, check, 'DeleteOld')).toBe('Succeeded');
        expect(world.activePods.map(({ metadata }) => metadata.uid)).toEqual(atRename);
      }),
      { numRuns: 100 },
    );
  });

  it('ends as well where mutating webhooks are installed in the middle', () => {
    fc.assert(
      fc.property(CASE, fc.nat(300), (drawn, policyAfter) => {
        const one = { ...drawn, policyAfter };
        const world = ground(one, { owners: true });
        const outcome = play(world, one, () => undefined);

        const images = world.activePods.map(({ spec }) => spec.containers[0]?.image?.replace('mirror/', ''));
        expect(['Succeeded', ...(one.rollbackAfter === undefined ? [] : ['Aborted'])]).toContain(outcome);
        expect(images).toEqual(Array(one.replicas).fill(outcome === 'Aborted' ? 'app:1' : 'app:2'));
      }),
      { numRuns: 200 },
    );
  });

  it('a planner with one pod more than the budget is found out', () => {
    const { failed, errorInstance } = fc.check(
      fc.property(CASE, (one) => {
        const world = ground(one);
        const budget = resolveUpdateBudget(one, one.replicas);
        play(world, { ...one, surge: budget.surge + 1 }, () => {
          if (world.activePods.length > one.replicas + budget.surge) throw new Error('too many pods');
        });
      }),
      { numRuns: 100, endOnFailure: true },
    );

    expect([failed, String(errorInstance)]).toEqual([true, 'Error: too many pods']);
  });
});
