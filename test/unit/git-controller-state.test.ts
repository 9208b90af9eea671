/** When a commit's ReplicationController counts as rolled out. */

import { describe, expect, it } from '@jest/globals';

import { controllerState } from '../../git/controller-state.ts';
import { ANNOTATION, ROLLING_UPDATE } from '../../planners/names.ts';
import type { ControllerRevision } from '../../planners/objects.ts';
import { planRollingUpdate } from '../../planners/rolling-update.ts';
import { recordManifest } from '../../planners/rolling-update-record.ts';
import type { RecordState } from '../../planners/rolling-update-record.ts';
import { decideStart } from '../../planners/rolling-update-start.ts';
import { viewUpdate } from '../../planners/rolling-update-view.ts';
import { IMAGE_TEMPLATE, SimulatedControllers } from '../support/simulated-controllers.ts';

const NOW = 0;
const GIT = (hash: string, commit: string) => ({
  [ANNOTATION.manifestHash]: hash,
  [ANNOTATION.commit]: commit,
});

function deleted(all: SimulatedControllers): SimulatedControllers {
  for (const { metadata } of all.controllers) all.forget('replicationcontrollers', metadata.name);
  for (const { metadata } of all.pods) all.forget('pods', metadata.name);
  return all;
}

/** `foo` of `h1`, available as far as said; with an update to `h2` in the phase, if one is given. */
function world(
  phase?: RecordState['phase'],
  available = 3,
  annotations: Record<string, string> = {},
): SimulatedControllers {
  const all = new SimulatedControllers();
  const spec = { replicas: 3, selector: { app: 'foo' }, template: IMAGE_TEMPLATE('app:1') };
  all.controller('foo', spec, { ...GIT('h1', 'c1'), ...annotations });
  all.settle();
  all.edit('foo', (one) => ({ ...one, status: { ...one.status, availableReplicas: available } }));
  if (phase === undefined) return all;
  const manifest = {
    apiVersion: 'v1',
    kind: 'ReplicationController',
    metadata: { name: 'foo', namespace: 'default', annotations: GIT('h2', 'c2') },
    spec: { ...spec, template: IMAGE_TEMPLATE('app:2') },
  } as const;
  const request = { change: { kind: 'manifest', manifest }, key: ROLLING_UPDATE.deployment } as const;
  const decision = decideStart(viewUpdate(all.snapshot('foo')), request);
  if (decision.do !== 'begin') throw new Error(JSON.stringify(decision));
  const state = { phase, desired: 3, surge: 1, unavailable: 0, updatePeriodMs: 0, pollIntervalMs: 1 };
  const body = recordManifest(decision.data, state, []);
  const { name } = body['metadata'] as { name: string };
  all.apply({ verb: 'create', resource: 'controllerrevisions', name, body, purpose: 'Record', message: '' });
  return all;
}

const stateOf = (all: SimulatedControllers, hash: string, paused?: { by: string }) =>
  controllerState(planRollingUpdate({ ...all.snapshot('foo'), paused }, NOW), hash);

describe('a ReplicationController of a commit', () => {
  it.each<[string, SimulatedControllers, string, object]>([
    ['is done when all of it is available', world(), 'h1', { state: { state: 'Done' }, commit: 'c1' }],
    [
      'is in progress before',
      world(undefined, 2),
      'h1',
      { state: { state: 'InProgress', message: '2 of 3 replicas available' } },
    ],
    [
      'is in progress while its update is',
      world('Rolling'),
      'h2',
      { state: { state: 'InProgress', paused: false }, commit: 'c2' },
    ],
    [
      'waits for the end of another update',
      world('Rolling'),
      'h1',
      { state: { state: 'InProgress' }, commit: 'c2' },
    ],
    [
      'has failed when its update was turned round',
      world('Aborted'),
      'h2',
      { state: { state: 'Failed', rolledBack: true } },
    ],
    [
      'has failed when somebody applied another manifest',
      world(),
      'h9',
      { state: { state: 'Failed', rolledBack: false } },
    ],
    [
      'has failed when it was deleted',
      new SimulatedControllers(),
      'h1',
      { state: { state: 'Failed', rolledBack: false, next: '`fairlead sync` makes it anew.' } },
    ],
    [
      'has failed when it was deleted in the middle of its update, with all of its pods',
      deleted(world('Rolling')),
      'h2',
      {
        state: {
          state: 'Failed',
          next: '`fairlead sync` makes it anew. `fairlead rollout abort rc/foo -n default` only gives the update up.',
        },
      },
    ],
    [
      'has failed when an operator has rejected it',
      world(undefined, 3, { [ANNOTATION.pinned]: JSON.stringify({ rejected: 'h2', by: 'ann' }) }),
      'h2',
      { state: { state: 'Failed', rolledBack: true, message: 'rolled back by ann' } },
    ],
  ])('%s', (_, all, hash, expected) => {
    expect(stateOf(all, hash)).toMatchObject(expected);
  });

  it('is not under way while somebody holds it', () => {
    expect(stateOf(world('Rolling'), 'h2', { by: 'ann' })).toMatchObject({
      state: { state: 'InProgress', paused: true, message: 'paused by ann' },
    });
  });

  it('is in progress in the middle of a rename, when there is no such object', () => {
    const all = world('Renaming');
    all.forget('replicationcontrollers', 'foo');
    const [record] = all.revisions as [ControllerRevision];

    expect(record.metadata.name).toMatch(/^foo-/);
    expect(stateOf(all, 'h2')).toMatchObject({ state: { state: 'InProgress' }, commit: 'c2' });
  });

  it('has failed when both controllers are gone with their pods: no run makes them again', () => {
    const all = world('Rolling');
    all.forget('replicationcontrollers', 'foo');
    for (const { metadata } of all.pods) all.forget('pods', metadata.name);
    expect(stateOf(all, 'h2')).toMatchObject({
      state: { state: 'Failed', message: expect.stringContaining('there is no ReplicationController foo') },
    });
  });
});
