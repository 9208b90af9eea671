/** Waves: what is applied together, in which order, and what a later wave waits for. */

import { describe, expect, it } from '@jest/globals';

import { ManifestReader } from '../../git/manifests.ts';
import { applySteps, compareObjects, parseWave } from '../../git/order.ts';
import { bounded, formatProblem, mayPassLater, problem } from '../../git/problems.ts';
import type { LiveObject } from '../../git/readiness.ts';
import { hasReadiness, readiness } from '../../git/readiness.ts';

function read(text: string) {
  const reader = new ManifestReader();
  for (const _ of reader.read({ path: 'a.yaml', text }));
  return reader;
}

const withWave = (value: string): string =>
  `apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: x\n  annotations:\n    fairlead.dev/wave: ${value}\n`;

describe('the annotation fairlead.dev/wave', () => {
  it.each([
    ['"0"', 0],
    ['"7"', 7],
    ['"-5"', -5],
    ['"999999999"', 999_999_999],
  ])('%s is wave %d', (value, wave) => {
    expect(read(withWave(value)).manifests.map((manifest) => manifest.wave)).toEqual([wave]);
  });

  it('is 0 where there is none', () => {
    const { manifests } = read('apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n');
    expect(manifests.map(({ wave }) => wave)).toEqual([0]);
  });

  it.each(['"one"', '"1.5"', '""', '"01"', '"+1"', '"-0"', '"1e3"', '"0x10"', '" 1"', '"1000000000"'])(
    'of %s is refused at its line',
    (value) => {
      const { manifests, problems } = read(withWave(value));
      expect(manifests).toEqual([]);
      expect(problems.map((item) => formatProblem(item, 'a'.repeat(40)))).toEqual([
        `BadWave a.yaml:6@aaaaaaaa: ConfigMap x: fairlead.dev/wave is ${value}, and must be a whole number of at most nine ` +
          'digits, such as "1" or "-5". Correct the annotation, or remove it: without it the wave is "0".',
      ]);
    },
  );

  it('without quotes is refused with what is missing', () => {
    expect(read(withWave('1')).problems).toMatchObject([
      {
        code: 'BadWave',
        line: 6,
        message: 'fairlead.dev/wave is a number, and must be a whole number in quotes.',
      },
    ]);
    expect(parseWave('9'.repeat(10))).toBeUndefined();
  });
});

describe('the order of waves', () => {
  const object = (kind: string, group: string, name: string, wave?: number) => ({
    kind,
    group,
    name,
    ...(wave !== undefined && { wave }),
  });

  it('is within a stage: the stage comes first, the place of the kind last', () => {
    const shuffled = [
      object('Deployment', 'apps', 'late', 2),
      object('StatefulSet', 'apps', 'plain'),
      object('DaemonSet', 'apps', 'later', 1),
      object('Deployment', 'apps', 'early', -1),
      object('ConfigMap', '', 'wave nine', 9),
      object('Ingress', 'networking.k8s.io', 'first of the rest', -9),
    ];
    expect(shuffled.toSorted(compareObjects).map(({ name }) => name)).toEqual([
      'wave nine',
      'early',
      'plain',
      'later',
      'late',
      'first of the rest',
    ]);
  });

  it('gives steps, each with what it has and what of it is to be written', () => {
    const objects = [
      { stage: 3, wave: 1, changed: true },
      { stage: 3, wave: 0, changed: false },
      { stage: 1, wave: 0, changed: true },
      { stage: 3, wave: 0, changed: true },
      { stage: 3, wave: -2, changed: false },
    ];
    expect(applySteps(objects, ({ changed }) => changed)).toEqual([
      { stage: 1, wave: 0, count: 1, changes: 1 },
      { stage: 3, wave: -2, inWaves: true, count: 1, changes: 0 },
      { stage: 3, wave: 0, inWaves: true, count: 2, changes: 1 },
      { stage: 3, wave: 1, inWaves: true, count: 1, changes: 1 },
    ]);
    expect(applySteps([], () => true)).toEqual([]);
  });

  it('tell of each step whether later stages wait for its own, where any object of that has a wave', () => {
    const objects = [
      { stage: 0, wave: 0 },
      { stage: 1, wave: 5 },
      { stage: 3, wave: -1 },
      { stage: 3, wave: 0 },
      { stage: 4, wave: 0 },
    ];
    expect(applySteps(objects, () => true).map(({ stage, inWaves }) => [stage, inWaves])).toEqual([
      [0, undefined],
      [1, true],
      [3, true],
      [3, true],
      [4, undefined],
    ]);
  });
});

const SHA = '0123456789abcdef0123456789abcdef01234567';

describe('a commit whose wave was held up', () => {
  const held = problem('WaveHeld', 'wave 1 was held up.');

  it('is tried again: the rollout that it waits for may be mended without it', () => {
    expect(mayPassLater(bounded([held, problem('RolloutFailed', 'stalled.')], SHA))).toBe(true);
    expect(mayPassLater(bounded([held, problem('NotReady', 'not ready.')], SHA))).toBe(true);
    expect(mayPassLater(bounded([held, problem('Forbidden', 'forbidden.')], SHA))).toBe(true);
  });

  it('is not when an operator has rejected a manifest, nor is a failed rollout that holds nothing up', () => {
    expect(mayPassLater(bounded([held, problem('RolledBack', 'rolled back.')], SHA))).toBe(false);
    expect(mayPassLater(bounded([problem('RolloutFailed', 'stalled.')], SHA))).toBe(false);
  });

  it('tells the causes first, however many there are, and is not cut off by them', () => {
    const codes = (count: number) => {
      const causes = Array.from({ length: count }, () => problem('RolloutFailed', 'stalled.'));
      const { total, first, lines } = bounded([held, ...causes], SHA);
      expect(lines?.map((line) => line.split(' ')[0])).toEqual(first.map(({ code }) => code));
      return { total, codes: first.map(({ code }) => code) };
    };
    expect(codes(1)).toEqual({ total: 2, codes: ['RolloutFailed', 'WaveHeld'] });
    const most: string[] = Array.from({ length: 19 }, () => 'RolloutFailed');
    expect(codes(30)).toEqual({ total: 31, codes: [...most, 'WaveHeld'] });
  });
});

describe('readiness of objects that have no rollout', () => {
  const live = (more: {
    generation?: number;
    deleted?: boolean;
    spec?: object;
    status?: object;
  }): LiveObject => ({
    metadata: {
      name: 'x',
      uid: 'u',
      resourceVersion: '1',
      generation: more.generation ?? 1,
      ...(more.deleted === true && { deletionTimestamp: '2026-01-01T00:00:00Z' }),
    },
    ...(more.spec && { spec: { ...more.spec } }),
    ...(more.status && { status: { ...more.status } }),
  });
  const condition = (type: string, status: string, reason = 'Why', message = '') => ({
    conditions: [{ type, status, reason, message }],
  });
  const job = { group: 'batch', kind: 'Job' };
  const pod = { group: '', kind: 'Pod' };
  const service = { group: '', kind: 'Service' };
  const custom = { group: 'example.com', kind: 'Thing' };
  const claim = { group: '', kind: 'PersistentVolumeClaim' };
  const replicaSet = { group: 'apps', kind: 'ReplicaSet' };
  const definition = { group: 'apiextensions.k8s.io', kind: 'CustomResourceDefinition' };

  it.each([
    ['a Job that runs', job, live({ status: { active: 1 } }), 'InProgress'],
    ['a Job that is done', job, live({ status: condition('Complete', 'True') }), 'Done'],
    [
      'a Job that has failed',
      job,
      live({ status: condition('Failed', 'True', 'BackoffLimitExceeded') }),
      'Failed',
    ],
    ['a suspended Job', job, live({ spec: { suspend: true } }), 'InProgress'],
    ['a pending Pod', pod, live({ status: { phase: 'Pending' } }), 'InProgress'],
    ['a ready Pod', pod, live({ status: { phase: 'Running', ...condition('Ready', 'True') } }), 'Done'],
    ['a Pod that has done its work', pod, live({ status: { phase: 'Succeeded' } }), 'Done'],
    ['a Pod that has failed', pod, live({ status: { phase: 'Failed' } }), 'Failed'],
    ['a Service', service, live({ spec: { type: 'ClusterIP' } }), 'Done'],
    [
      'a load balancer without an address',
      service,
      live({ spec: { type: 'LoadBalancer' }, status: { loadBalancer: {} } }),
      'InProgress',
    ],
    [
      'a load balancer with one',
      service,
      live({ spec: { type: 'LoadBalancer' }, status: { loadBalancer: { ingress: [{ ip: '192.0.2.1' }] } } }),
      'Done',
    ],
    ['a claim that waits for its pod', claim, live({ status: { phase: 'Pending' } }), 'Done'],
    ['a claim whose volume is lost', claim, live({ status: { phase: 'Lost' } }), 'Failed'],
    [
      'a ReplicaSet that is on its way',
      replicaSet,
      live({ spec: { replicas: 3 }, status: { observedGeneration: 1, availableReplicas: 2 } }),
      'InProgress',
    ],
    [
      'a ReplicaSet with all its pods',
      replicaSet,
      live({ spec: { replicas: 3 }, status: { observedGeneration: 1, availableReplicas: 3 } }),
      'Done',
    ],
    ['a new definition', definition, live({}), 'InProgress'],
    ['an established definition', definition, live({ status: condition('Established', 'True') }), 'Done'],
    [
      'a Namespace that goes',
      { group: '', kind: 'Namespace' },
      live({ status: { phase: 'Terminating' } }),
      'InProgress',
    ],
    ['a custom object whose controller says nothing', custom, live({}), 'Done'],
    [
      'a custom object that is not ready',
      custom,
      live({ status: condition('Ready', 'False') }),
      'InProgress',
    ],
    ['a custom object that is ready', custom, live({ status: condition('Ready', 'True') }), 'Done'],
    [
      'a custom object that is being reconciled',
      custom,
      live({ status: condition('Reconciling', 'True') }),
      'InProgress',
    ],
    ['a custom object that is stalled', custom, live({ status: condition('Stalled', 'True') }), 'Failed'],
    [
      'a custom object that was changed since its controller looked',
      custom,
      live({ generation: 2, status: { observedGeneration: 1, ...condition('Ready', 'True') } }),
      'InProgress',
    ],
    ['anything that is being deleted', custom, live({ deleted: true }), 'InProgress'],
    ['anything that is gone', custom, undefined, 'Failed'],
  ])('of %s', (_what, kind, object, state) => {
    expect(readiness(kind, object)).toMatchObject({ state });
  });

  it.each([
    [{}, 'it has not completed'],
    [{ active: 1, ready: 0 }, 'it has not completed (1 pod active, 0 ready)'],
    [{ active: 2, ready: 1, failed: 3 }, 'it has not completed (2 pods active, 1 ready, 3 failed)'],
  ])('of a Job tells of its pods: %j', (status, message) => {
    expect(readiness(job, live({ status }))).toEqual({ state: 'InProgress', message });
  });

  it('is no question for what has no status', () => {
    expect(hasReadiness({ group: '', kind: 'ConfigMap' })).toBe(false);
    expect(hasReadiness(job)).toBe(true);
  });
});
