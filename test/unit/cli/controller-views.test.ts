/** What `explain rc/NAME` says first. */

import { describe, expect, it } from '@jest/globals';

import type { UpdateRun } from '../../../cli/controller-session.ts';
import { controllerName } from '../../../cli/controller-argument.ts';
import { explain } from '../../../cli/controller-views.ts';
import type { LeaseState } from '../../../cli/lease.ts';
import { ROLLING_UPDATE } from '../../../planners/names.ts';
import { planRollingUpdate } from '../../../planners/rolling-update.ts';
import { recordManifest } from '../../../planners/rolling-update-record.ts';
import { decideStart } from '../../../planners/rolling-update-start.ts';
import { viewUpdate } from '../../../planners/rolling-update-view.ts';
import { IMAGE_TEMPLATE, SimulatedControllers } from '../../support/simulated-controllers.ts';

const RUNNING: UpdateRun = { state: 'running', status: 'RUNNING', workflowId: 'w' };
const TERMINATED: UpdateRun = { state: 'closed', status: 'TERMINATED', workflowId: 'w' };
const FREE: LeaseState = { state: 'free' };

/** An update that has come so far that `until` is the next write. */
function world(until?: string): SimulatedControllers {
  const all = new SimulatedControllers();
  all.controller('foo', { replicas: 2, selector: { app: 'foo' }, template: IMAGE_TEMPLATE('app:1') });
  all.settle();
  if (until === undefined) return all;
  const request = { change: { kind: 'image', image: 'app:2' }, key: ROLLING_UPDATE.deployment } as const;
  const decision = decideStart(viewUpdate(all.snapshot('foo')), request);
  if (decision.do !== 'begin') throw new Error(JSON.stringify(decision));
  const state = {
    phase: 'Rolling',
    desired: 2,
    surge: 1,
    unavailable: 0,
    updatePeriodMs: 0,
    pollIntervalMs: 1,
  } as const;
  const body = recordManifest(decision.data, state, []);
  const { name } = body['metadata'] as { name: string };
  all.apply({ verb: 'create', resource: 'controllerrevisions', name, body, purpose: 'Record', message: '' });
  for (;;) {
    const { step } = planRollingUpdate(all.snapshot('foo'), 0);
    if (step.do === 'write' && step.write.purpose === until) return all;
    if (step.do === 'write') all.apply(step.write);
    else if (!all.collect()) all.settle();
  }
}

function said(
  all: SimulatedControllers,
  run: UpdateRun,
  lease: LeaseState = { state: 'unknown', message: '' },
) {
  return explain(planRollingUpdate(all.snapshot('foo'), 0), run, lease, 'fairlead');
}

describe('explain of a rolling update', () => {
  it('names pods without a controller before anything else', () => {
    expect(said(world('Create'), TERMINATED)).toEqual({
      verdict: 'PodsWithoutController',
      sentence: expect.stringMatching(
        /^2 pods have no controller: foo-[0-9a-f]+ is gone and foo is not there yet; no run is open \(the last one is terminated\): `fairlead rollout retry rc\/foo -n default` starts one$/,
      ),
    });
    expect(said(world('Create'), RUNNING).sentence).toMatch(/not there yet$/);
  });

  it.each<[string, SimulatedControllers, UpdateRun, LeaseState | undefined, string]>([
    ['no run', world('ScaleUp'), TERMINATED, undefined, 'NoRun'],
    ['no worker', world('ScaleUp'), RUNNING, FREE, 'NoRun'],
    ['Temporal away', world('ScaleUp'), { state: 'unreachable', message: 'away' }, undefined, 'NoRun'],
    ['under way', world('ScaleUp'), RUNNING, undefined, 'Progressing'],
    ['no update', world(), { state: 'none' }, undefined, 'NoUpdate'],
  ])('%s', (_, all, run, lease, verdict) => {
    expect(said(all, run, lease).verdict).toBe(verdict);
  });
});

describe('rc/NAME', () => {
  it.each([
    ['rc/foo', 'foo'],
    ['replicationcontroller/foo', 'foo'],
    ['ReplicationControllers.v1/foo', 'foo'],
    ['sts/foo', undefined],
    ['foo', undefined],
    [undefined, undefined],
  ])('%s', (operand, name) => {
    expect(controllerName(operand)).toBe(name);
  });
});
