/** Why a pod is not ready, in one clause. */

import { describe, expect, it } from '@jest/globals';

import { IN_PLACE_GATE } from '../../planners/names.ts';
import type { Condition, Pod, Volume } from '../../planners/objects.ts';
import { whyNotReady } from '../../planners/pod-reasons.ts';

function condition(type: string, status: Condition['status']): Condition {
  return { type, status };
}

function gated(gates: readonly string[], conditions: readonly Condition[]): Pod {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'web-0', namespace: 'default', uid: 'u', resourceVersion: '1' },
    spec: { containers: [], readinessGates: gates.map((conditionType) => ({ conditionType })) },
    status: { phase: 'Running', conditions },
  };
}

describe('a pod whose containers are ready (KEP-580)', () => {
  const ready = condition('ContainersReady', 'True');

  it.each<[string, readonly string[], readonly Condition[], string | undefined]>([
    ['a gate that nobody has opened', ['x.io/a'], [ready], 'web-0 waits for its readiness gate x.io/a'],
    [
      'one that is closed, of two',
      ['x.io/a', 'x.io/b'],
      [ready, condition('x.io/a', 'True'), condition('x.io/b', 'False')],
      'web-0 waits for its readiness gate x.io/b',
    ],
    ['two', ['x.io/a', 'x.io/b'], [ready], 'web-0 waits for its readiness gates x.io/a, x.io/b'],
    ['all open', ['x.io/a'], [ready, condition('x.io/a', 'True')], undefined],
    ['our own, which we open', [IN_PLACE_GATE], [ready], undefined],
    ['containers that are not ready', ['x.io/a'], [condition('ContainersReady', 'False')], undefined],
  ])('%s', (_, gates, conditions, why) => {
    expect(whyNotReady(gated(gates, conditions))).toBe(why);
  });
});

describe('a pod that finds no node', () => {
  const unbound = '0/3 nodes are available: pod has unbound immediate PersistentVolumeClaims. not found.';
  const claim = (name: string) => ({ name, persistentVolumeClaim: { claimName: `${name}-web-0` } });

  it.each<[string, string, readonly Volume[], string]>([
    ['for want of room', '0/3 nodes are available: 3 Insufficient cpu.', [claim('data')], ''],
    ['for its claim', unbound, [{ name: 'tmp', emptyDir: {} }, claim('data')], ' (its claim is data-web-0)'],
    ['for one of two', unbound, [claim('data'), claim('log')], ' (its claims are data-web-0, log-web-0)'],
    ['for one that was taken away', unbound, [], ''],
  ])('%s', (_, message, volumes, claims) => {
    const pod = gated([], [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message }]);
    expect(whyNotReady({ ...pod, spec: { ...pod.spec, volumes } })).toBe(`web-0: ${message}${claims}`);
  });
});
