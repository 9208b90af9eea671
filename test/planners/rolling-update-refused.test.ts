/** Pods that the controller manager could not make: it tries more and more seldom, so it is made to try again. */

import { describe, expect, it } from '@jest/globals';

import type { Condition } from '../../planners/objects.ts';
import { ANNOTATION, UPDATE_FIELD_MANAGER } from '../../planners/names.ts';
import { ASK_AGAIN_MS } from '../../planners/rolling-update-pods.ts';
import { writeOf } from '../../planners/rolling-update-steps.ts';
import type { UpdateStep } from '../../planners/rolling-update-steps.ts';
import { planRollingUpdate } from '../../planners/rolling-update.ts';
import { ownerEntry } from '../support/simulated-controllers.ts';
import type { SimulatedControllers } from '../support/simulated-controllers.ts';
import { begin, foo, run, stepOf } from '../support/simulated-update.ts';

const REFUSED = {
  type: 'ReplicaFailure',
  status: 'True',
  reason: 'FailedCreate',
  message: 'pods "foo-x-abcde" is forbidden: exceeded quota: few',
} as const;

/** Later than whatever the world has on its clock. */
const SINCE = '2026-01-01T01:00:00Z';

/** After the first growth, whose pod is refused from now on. */
function refused(condition: Partial<Condition> = {}): {
  readonly world: SimulatedControllers;
  readonly next: string;
} {
  const world = foo();
  const next = begin(world);
  run(world, { until: ({ purpose }) => purpose === 'ScaleUp' });
  const step = stepOf(world);
  if (step.do === 'write') world.apply(step.write);
  const conditions = [{ ...REFUSED, lastTransitionTime: SINCE, ...condition }];
  world.edit(next, (one) => ({ ...one, status: { ...one.status, conditions } }));
  return { world, next };
}

/** What is planned so much later. */
function after(world: SimulatedControllers, ms: number): UpdateStep {
  return planRollingUpdate(world.snapshot('foo'), Date.parse(SINCE) + ms).step;
}

describe('a next controller whose pods are refused', () => {
  it('is asked for them again after a while, which changes nothing of what is waited for', () => {
    const { world, next } = refused();
    const before = after(world, ASK_AGAIN_MS - 1);
    expect(before).toMatchObject({ do: 'await', waiting: [{ code: 'PodRefused' }] });
    expect(writeOf(before)).toBeUndefined();

    const { asking, ...step } = { asking: undefined, ...after(world, ASK_AGAIN_MS) };
    expect(step).toEqual(before);
    const { uid, resourceVersion } = world.find(next)?.metadata ?? {};
    expect(asking).toEqual({
      verb: 'patch',
      resource: 'replicationcontrollers',
      name: next,
      uid,
      resourceVersion,
      purpose: 'AskAgain',
      message: `ask again for the pods of ${next} that were refused`,
      body: {
        metadata: {
          uid,
          resourceVersion,
          annotations: {
            [ANNOTATION.podsAskedAt]: new Date(Date.parse(SINCE) + ASK_AGAIN_MS).toISOString(),
          },
        },
      },
    });
  });

  it('and then only after the same time again', () => {
    const { world } = refused();
    const asking = writeOf(after(world, ASK_AGAIN_MS));
    if (asking === undefined) throw new Error('nothing is asked');
    world.apply(asking);
    expect(writeOf(after(world, 2 * ASK_AGAIN_MS - 1))).toBeUndefined();
    expect(writeOf(after(world, 2 * ASK_AGAIN_MS))?.purpose).toBe('AskAgain');
  });

  it.each([['yesterday'], ['9999-01-01T00:00:00Z']])('whatever somebody has written there: %s', (text) => {
    const { world, next } = refused();
    world.edit(next, (one) => ({
      ...one,
      metadata: {
        ...one.metadata,
        annotations: { ...one.metadata.annotations, [ANNOTATION.podsAskedAt]: text },
      },
    }));
    expect(writeOf(after(world, ASK_AGAIN_MS - 1))).toBeUndefined();
    expect(writeOf(after(world, ASK_AGAIN_MS))?.purpose).toBe('AskAgain');
  });

  it('not while the update is paused', () => {
    const snapshot = { ...refused().world.snapshot('foo'), paused: { by: 'ann' } };
    const { step } = planRollingUpdate(snapshot, Date.parse(SINCE) + ASK_AGAIN_MS);
    expect(step).toMatchObject({ do: 'await', waiting: [{ code: 'PodRefused' }] });
    expect(writeOf(step)).toBeUndefined();
  });

  it('not where the controller manager says something else, or nothing', () => {
    for (const other of [{ status: 'False' }, { reason: 'FailedDelete' }] as const)
      expect(writeOf(after(refused(other).world, ASK_AGAIN_MS))).toBeUndefined();
  });

  it('and nothing of it is left when the update is over', () => {
    const { world, next } = refused();
    const asking = writeOf(after(world, ASK_AGAIN_MS));
    if (asking === undefined) throw new Error('nothing is asked');
    world.apply(asking);
    world.edit(next, (one) => ({ ...one, status: { ...one.status, conditions: [] } }));
    expect(run(world).outcome).toBe('Succeeded');
    expect(world.find('foo')?.metadata.annotations).toEqual({});
  });
});

describe('a controller that was made anew and does not get its pods', () => {
  /** The gap is over, and nobody has adopted a pod. */
  function unadopted(): { readonly world: SimulatedControllers; readonly later: (ms: number) => UpdateStep } {
    const world = foo();
    begin(world);
    run(world, { until: ({ purpose }) => purpose === 'Create' });
    for (const purpose of ['Create', 'Renamed']) {
      const step = stepOf(world);
      if (step.do !== 'write' || step.write.purpose !== purpose) throw new Error(JSON.stringify(step));
      world.apply(step.write);
    }
    const managedFields = [ownerEntry(UPDATE_FIELD_MANAGER, world.now)];
    const made = Date.parse(SINCE);
    world.edit('foo', (one) => ({
      ...one,
      metadata: { ...one.metadata, creationTimestamp: SINCE, managedFields },
    }));
    return { world, later: (ms) => planRollingUpdate(world.snapshot('foo'), made + ms).step };
  }

  it('says that they have no controller, and after a while who has to adopt them', () => {
    const { later } = unadopted();
    const message = '3 pods have no controller: foo has not adopted all its pods yet';
    expect(later(0)).toMatchObject({ do: 'await', urgent: true, waiting: [{ code: 'Adoption', message }] });
    expect(later(10_000)).toMatchObject({
      waiting: [
        { message: `${message}: the controller manager's log says why (a policy or webhook may refuse it)` },
      ],
    });
  });

  it('is touched again and again, and nothing of that is left', () => {
    const { world, later } = unadopted();
    expect(writeOf(later(ASK_AGAIN_MS - 1))).toBeUndefined();
    const asking = writeOf(later(ASK_AGAIN_MS));
    expect(asking).toMatchObject({ name: 'foo', purpose: 'AskAgain' });
    if (asking !== undefined) world.apply(asking);
    expect(writeOf(later(2 * ASK_AGAIN_MS - 1))).toBeUndefined();
    expect(writeOf(later(2 * ASK_AGAIN_MS))?.purpose).toBe('AskAgain');
    expect(run(world).outcome).toBe('Succeeded');
    expect(world.find('foo')?.metadata.annotations).toEqual({});
  });
});
