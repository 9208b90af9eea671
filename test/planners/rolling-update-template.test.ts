/** Somebody edits the template of the next controller in the middle of an update. */

import { describe, expect, it } from '@jest/globals';

import { planRollingUpdate } from '../../planners/rolling-update.ts';
import { IMAGE_TEMPLATE } from '../support/simulated-controllers.ts';
import type { SimulatedControllers } from '../support/simulated-controllers.ts';
import { NOW, begin, foo, run, stepOf } from '../support/simulated-update.ts';

const fieldsV1 = { 'f:spec': { 'f:template': { 'f:spec': { 'f:containers': {} } } } };

/** As `kubectl set image`; another label shows that what was added goes again. */
function setImage(world: SimulatedControllers, name: string, image: string): void {
  world.edit(name, (one) => ({
    ...one,
    metadata: { ...one.metadata, managedFields: [{ manager: 'kubectl-set', fieldsV1 }] },
    spec: { ...one.spec, template: IMAGE_TEMPLATE(image, { ...one.spec.selector, added: 'by hand' }) },
  }));
}

/** The apiserver: whoever writes a field last owns it. */
function putBackOf(world: SimulatedControllers, name: string): void {
  const step = stepOf(world);
  expect(step).toMatchObject({ write: { purpose: 'PutBack', name } });
  expect(step.do === 'write' && world.apply(step.write)).toBe('done');
  world.edit(name, (one) => ({ ...one, metadata: { ...one.metadata, managedFields: [] } }));
}

function images(world: SimulatedControllers): readonly (string | undefined)[] {
  return world.activePods.map(({ spec }) => spec.containers[0]?.image);
}

/** With `count` pods of the next controller, the last of which is made of the edited template. */
function editedAt(count: number) {
  const world = foo(4);
  const next = begin(world);
  run(world, {
    until: ({ purpose }) => purpose === 'ScaleUp' && world.find(next)?.spec.replicas === count - 1,
  });
  setImage(world, next, 'app:7');
  world.edit(next, (one) => ({ ...one, spec: { ...one.spec, replicas: count } }));
  world.settle();
  return { world, next };
}

describe('the template of the next controller is edited in the middle', () => {
  it.each([1, 2, 3, 4])('%i pods: it is put back, and no pod of the edited one is left', (count) => {
    const { world, next } = editedAt(count);
    expect(images(world)).toContain('app:7');
    expect(stepOf(world)).toMatchObject({
      write: {
        message: `the template of ${next} was changed by kubectl-set: put back as the update rolls it out`,
        uid: world.find(next)?.metadata.uid,
        resourceVersion: world.find(next)?.metadata.resourceVersion,
      },
    });
    putBackOf(world, next);
    expect(world.find(next)?.spec.template?.metadata?.labels).not.toHaveProperty('added');
    const { outcome, written } = run(world, {
      until: () => {
        const ready = world.activePods.filter(({ status }) => status?.phase === 'Running').length;
        expect(ready).toBeGreaterThanOrEqual(4);
        return false;
      },
    });

    expect(outcome).toBe('Succeeded');
    expect(written).toContain('DeleteEdited');
    expect(images(world)).toEqual(['app:2', 'app:2', 'app:2', 'app:2']);
    expect(world.find('foo')?.metadata.annotations).toEqual({});
  });

  it('where none may be unavailable: they are named, and the update is not over', () => {
    const world = foo();
    const next = begin(world);
    run(world, { until: ({ purpose }) => purpose === 'DeleteOld' });
    setImage(world, next, 'app:7');
    const [pod] = world.activePods;
    world.forget('pods', pod?.metadata.name ?? '');
    world.settle();
    putBackOf(world, next);
    const step = stepOf(world);
    const [edited] = world.activePods.filter(({ spec }) => spec.containers[0]?.image === 'app:7');

    expect(step).toMatchObject({
      do: 'await',
      waiting: [{ code: 'PodOfEditedTemplate', pods: [edited?.metadata.name] }],
    });
    world.forget('pods', edited?.metadata.name ?? '');
    world.settle();
    expect(run(world).outcome).toBe('Succeeded');
    expect(images(world)).toEqual(['app:2', 'app:2', 'app:2']);
  });

  it('a pause holds that too', () => {
    const { world, next } = editedAt(2);
    const paused = { ...world.snapshot('foo'), paused: { by: 'ann' } };
    expect(JSON.stringify(planRollingUpdate(paused, NOW).step)).not.toContain('PutBack');
    expect(stepOf(world)).toMatchObject({ write: { purpose: 'PutBack', name: next } });
  });
});
