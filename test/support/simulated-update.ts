/** A rolling update of `foo` in memory: begun, run, turned round. */

import { expect } from '@jest/globals';

import { ROLLING_UPDATE } from '../../planners/names.ts';
import { planRollingUpdate } from '../../planners/rolling-update.ts';
import type { ControllerManifest, RecordState } from '../../planners/rolling-update-record.ts';
import { decideRollback } from '../../planners/rolling-update-rollback.ts';
import { decideStart } from '../../planners/rolling-update-start.ts';
import type { StartRequest } from '../../planners/rolling-update-start.ts';
import type { UpdateWrite } from '../../planners/rolling-update-steps.ts';
import { viewUpdate } from '../../planners/rolling-update-view.ts';
import { IMAGE_TEMPLATE, SimulatedControllers } from './simulated-controllers.ts';

export const NOW = Date.parse('2026-01-01T00:00:00Z');
export const KEY = ROLLING_UPDATE.deployment;
export const IMAGE: StartRequest = { change: { kind: 'image', image: 'app:2' }, key: KEY };
export const STATE: RecordState = {
  phase: 'Rolling',
  desired: 3,
  surge: 1,
  unavailable: 0,
  updatePeriodMs: 0,
  pollIntervalMs: 1_000,
};

export function foo(replicas = 3): SimulatedControllers {
  const world = new SimulatedControllers();
  world.controller('foo', { replicas, selector: { app: 'foo' }, template: IMAGE_TEMPLATE('app:1') });
  world.settle();
  return world;
}

/** As `rolling-update foo [newName] --image=app:2` would. */
export function begin(world: SimulatedControllers, newName?: string, state: RecordState = STATE): string {
  const request = newName === undefined ? IMAGE : { ...IMAGE, newName };
  const view = viewUpdate(world.snapshot('foo', newName));
  const decision = decideStart(view, request);
  if (decision.do !== 'begin') throw new Error(JSON.stringify(decision));
  const { data } = decision;
  world.record(data, { ...state, desired: decision.desired }, view.records);
  return data.next;
}

export function stepOf(world: SimulatedControllers, next?: string) {
  return planRollingUpdate(world.snapshot('foo', next), NOW).step;
}

/** As `rollout abort rc/foo`. */
export function turn(world: SimulatedControllers): void {
  const decision = decideRollback(viewUpdate(world.snapshot('foo')), { verb: 'abort', by: 'ann' });
  if (decision.do !== 'turn') throw new Error(JSON.stringify(decision));
  expect(world.apply(decision.write)).toBe('done');
}

/** Runs until it is over, in a cluster that does its part at once; answers what was written. */
export function run(
  world: SimulatedControllers,
  options: { next?: string | undefined; until?: (write: UpdateWrite) => boolean } = {},
) {
  const written: string[] = [];
  for (let turns = 0; turns < 500; turns += 1) {
    const step = stepOf(world, options.next);
    if (step.do === 'done') return { written, outcome: step.outcome };
    if (step.do === 'refuse' || step.do === 'paused') return { written, outcome: step.do };
    if (step.do === 'await') {
      world.collect();
      world.settle();
      continue;
    }
    if (options.until?.(step.write) === true) return { written, outcome: 'stopped' };
    written.push(step.write.purpose);
    expect(world.apply(step.write)).toBe('done');
  }
  throw new Error(`no end: ${written.join(' ')}`);
}

/** The writes of a rename, in order. */
export const RENAME = [
  'Phase',
  'DeleteOld',
  'HoldNext',
  'DeleteNext',
  'ReleaseNext',
  'Create',
  'Renamed',
  'Own',
  'Phase',
];

/** A whole controller, as -f has it. */
export function fileOf(name: string, labels: Record<string, string>, selector = labels) {
  const template = IMAGE_TEMPLATE('app:2', labels);
  const manifest: ControllerManifest = {
    apiVersion: 'v1',
    kind: 'ReplicationController',
    metadata: { name, namespace: 'default' },
    spec: { selector, template },
  };
  return { kind: 'manifest', manifest } as const;
}
