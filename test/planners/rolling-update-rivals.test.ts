/** Other controllers that select the pods of an update: a rename would give them to whichever is first. */

import { describe, expect, it } from '@jest/globals';

import type { LabelSelector } from '../../planners/objects.ts';
import { planRollingUpdate } from '../../planners/rolling-update.ts';
import { decideStart } from '../../planners/rolling-update-start.ts';
import type { Adopter } from '../../planners/rolling-update-view.ts';
import { viewUpdate } from '../../planners/rolling-update-view.ts';
import { IMAGE_TEMPLATE } from '../support/simulated-controllers.ts';
import type { SimulatedControllers } from '../support/simulated-controllers.ts';
import { IMAGE, KEY, NOW, begin, fileOf, foo, run, stepOf, turn } from '../support/simulated-update.ts';

const GOING = '2026-01-01T00:00:00Z';

function bar(world: SimulatedControllers, selector: Record<string, string> = { app: 'foo' }): void {
  world.controller('bar', { replicas: 2, selector, template: IMAGE_TEMPLATE('bar:1', selector) });
  world.settle();
}

function adopter(kind: Adopter['kind'], selector: LabelSelector, deletionTimestamp?: string): Adopter {
  const metadata = {
    name: 'web',
    uid: 'web',
    resourceVersion: '1',
    ...(deletionTimestamp !== undefined && { deletionTimestamp }),
  };
  return { kind, metadata, spec: { selector } };
}

describe('before an update begins', () => {
  it.each<[string, LabelSelector, string]>([
    ['labels', { matchLabels: { app: 'foo' } }, 'app=foo'],
    ['expressions', { matchExpressions: [{ key: 'app', operator: 'Exists' }] }, 'app'],
  ])('a ReplicaSet or a DaemonSet whose %s select its pods: refused', (_, selector, text) => {
    for (const kind of ['ReplicaSet', 'DaemonSet'] as const) {
      const view = viewUpdate({ ...foo().snapshot('foo'), adopters: [adopter(kind, selector)] });
      expect(decideStart(view, IMAGE)).toMatchObject({
        do: 'refuse',
        code: 'SelectorShared',
        message: expect.stringContaining(`${kind} web (selector ${text}) selects the pods of foo too`),
      });
    }
  });

  it.each<[string, LabelSelector, string | undefined]>([
    ['that is being deleted', { matchLabels: { app: 'foo' } }, GOING],
    ['with other labels', { matchLabels: { app: 'web' } }, undefined],
    ['of a Deployment', { matchLabels: { app: 'foo', 'pod-template-hash': '1' } }, undefined],
  ])('a ReplicaSet %s: begun', (_, selector, deletionTimestamp) => {
    const adopters = [adopter('ReplicaSet', selector, deletionTimestamp)];
    const view = viewUpdate({ ...foo().snapshot('foo'), adopters });
    expect(decideStart(view, IMAGE)).toMatchObject({ do: 'begin' });
  });

  it('a ReplicationController: refused, with an image and with a file; begun where the new one keeps its name', () => {
    const world = foo();
    bar(world);
    const refused = {
      do: 'refuse',
      code: 'SelectorShared',
      message: expect.stringMatching(
        /^ReplicationController bar \(selector app=foo\) selects the pods of foo too: .*renamed to foo/,
      ),
    };
    const view = viewUpdate(world.snapshot('foo'));
    expect(decideStart(view, IMAGE)).toMatchObject(refused);
    const change = fileOf('foo', { app: 'foo' });
    expect(decideStart(view, { change, key: KEY })).toMatchObject(refused);
    const newName = 'foo-v2';
    const kept = viewUpdate(world.snapshot('foo', newName));
    expect(decideStart(kept, { ...IMAGE, newName })).toMatchObject({ do: 'begin' });
  });
});

describe('one that comes in the middle of an update', () => {
  const held = { do: 'await', urgent: false, waiting: [{ code: 'SelectorShared' }] };
  const ownersOf = (world: SimulatedControllers) =>
    world.activePods.map(({ metadata }) => [metadata.name, metadata.ownerReferences]);

  it.each(['Phase', 'DeleteOld', 'HoldNext', 'DeleteNext'])(
    'before %s: the rename waits, no pod changes hands, and it goes on when the other is gone',
    (purpose) => {
      const world = foo();
      begin(world);
      run(world, { until: (write) => write.purpose === purpose });
      const uids = world.activePods.map(({ metadata }) => metadata.uid).sort();
      bar(world);
      const before = ownersOf(world);
      const step = stepOf(world);
      expect(step).toMatchObject(held);
      expect(JSON.stringify(step)).toContain('ReplicationController bar (selector app=foo)');
      world.settle();
      expect(ownersOf(world)).toEqual(before);

      world.deleteByHand('bar');
      expect(run(world).outcome).toBe('Succeeded');
      expect(world.activePods.map(({ metadata }) => metadata.uid).sort()).toEqual(uids);
    },
  );

  it('a ReplicaSet holds it as well', () => {
    const world = foo();
    begin(world);
    run(world, { until: ({ purpose }) => purpose === 'DeleteOld' });
    const adopters = [adopter('ReplicaSet', { matchLabels: { app: 'foo' } })];
    expect(planRollingUpdate({ ...world.snapshot('foo'), adopters }, NOW).step).toMatchObject(held);
  });

  it('while the old one is there it can still be turned round', () => {
    const world = foo();
    begin(world);
    run(world, { until: ({ purpose }) => purpose === 'Phase' });
    bar(world);
    turn(world);
    expect(run(world).outcome).toBe('Aborted');
    expect(world.find('foo')?.spec.replicas).toBe(3);
    expect(world.find('bar')?.spec.replicas).toBe(2);
  });

  it('does not hold one that keeps its name', () => {
    const world = foo();
    begin(world, 'foo-v2');
    bar(world);
    expect(run(world, { next: 'foo-v2' }).outcome).toBe('Succeeded');
  });
});
