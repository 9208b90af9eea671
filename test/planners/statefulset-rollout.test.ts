import { describe, expect, it } from '@jest/globals';

import type { ControllerRevision, Pod } from '../../planners/objects.ts';
import type { Action, Plan, Refusal } from '../../planners/plan.ts';
import { planStatefulSet } from '../../planners/statefulset.ts';
import type { Snapshot, StatefulSet } from '../../planners/workload.ts';
import { SimulatedCluster } from '../support/simulated-cluster.ts';
import type { PodOptions } from '../support/statefulset-fixtures.ts';
import {
  NOW,
  podOf,
  revisionFor,
  rolloutOf,
  setOf,
  snapshotOf,
  templateOf,
} from '../support/statefulset-fixtures.ts';

type Parts = Partial<Omit<Snapshot<StatefulSet>, 'workload'>>;

interface Rollout {
  readonly set: StatefulSet;
  readonly old: ControllerRevision;
  readonly update: ControllerRevision;
  readonly revisions: readonly ControllerRevision[];
}

/** Pods from a word: `o` old, `u` updated, capital = not ready, `-` missing, `t` old and terminating. */
function podsOf({ set, old, update }: Rollout, word: string, options: PodOptions = {}): Pod[] {
  return word.split('').flatMap((letter, offset) => {
    if (letter === '-') return [];
    const revision = letter.toLowerCase() === 'u' ? update : old;
    const ready = letter === letter.toLowerCase();
    return [
      podOf(set, set.start + offset, revision.metadata.name, {
        ready,
        terminating: letter === 't',
        ...(revision === old && { image: 'web:1' }),
        ...options,
      }),
    ];
  });
}

function planOf(rollout: Rollout, word: string, parts: Parts = {}, now = NOW): Plan<object> {
  return planStatefulSet(
    snapshotOf(rollout.set, { revisions: rollout.revisions, pods: podsOf(rollout, word), ...parts }),
    now,
  );
}

function names(actions: readonly Action[]): string {
  return actions.map(({ name }) => name.replace('web-', '')).join(' ');
}

function codes(plan: Plan<object>): readonly string[] {
  return plan.waiting.map(({ code }) => code);
}

describe('which pods may be updated now', () => {
  it.each([
    ['S14: ready ones from the top, within the budget', 'Parallel', 3, 'ooooo', '4 3 2'],
    ['S14: unavailable ones use it up, whatever their revision', 'Parallel', 3, 'oooUu', '2 1'],
    ['S14: none left', 'Parallel', 2, 'ooUUu', ''],
    ['S14 as mended: pods that are not ready first, all of them, free', 'Parallel', 1, 'OoOoo', '2 0'],
    ['A6: a broken pod below does not stop the others within the budget', 'Parallel', 2, 'Ooooo', '0 4'],
    ['A4: a broken one above neither', 'Parallel', 2, 'ooooO', '4 3'],
    ['S14: more broken than the budget: only they', 'Parallel', 2, 'ooOOO', '4 3 2'],
    ['S16: a terminating pod is unavailable, and is not deleted twice', 'Parallel', 2, 'oooot', '3'],
    ['C3: a percentage is rounded down, at least one', 'Parallel', '30%', 'ooooo', '4'],
    ['S13: OrderedReady takes one', 'OrderedReady', 1, 'ooooo', '4'],
    ['S13: and waits for it', 'OrderedReady', 1, 'ooooU', ''],
    ['S13: then takes the next', 'OrderedReady', 1, 'oooou', '3'],
    ['S15: OrderedReady replaces a broken pod that would block it', 'OrderedReady', 1, 'oOooo', '1'],
    ['S15: also before higher ordinals exist', 'OrderedReady', 1, 'oO---', '1'],
    ['S15: all broken ones at once', 'OrderedReady', 1, 'OOooo', '1 0'],
  ] as const)('%s', (_, podManagementPolicy, maxUnavailable, word, expected) => {
    const rollout = rolloutOf({ replicas: 5, podManagementPolicy, maxUnavailable });
    const plan = planOf(rollout, word);
    expect(names(plan.batch)).toBe(expected);
    const charged = plan.batch.filter((action) => action.charged === true);
    const ready = plan.batch.filter(({ name }) => /[a-z]/.test(word.charAt(Number(name.slice(4)))));
    expect(charged).toEqual(ready);
  });

  it('S9: nothing is updated while a pod is missing that can be made', () => {
    const plan = planOf(rolloutOf({ replicas: 5, maxUnavailable: 3 }), 'oo-oo');
    expect([names(plan.steady), names(plan.batch)]).toEqual(['2', '']);
    expect(codes(plan)).toContain('ScalingFirst');
  });

  it.each([
    // Not among the replicas: the pods behind the bar.
    ['a pod is deleted', 'ooo|oo', '4', ''],
    ['its end is awaited', 'ooo|ot', '', ''],
    ['then the next is', 'ooo|o', '3', ''],
    ['whose end is awaited too', 'ooo|t', '', ''],
    ['then the rollout goes on', 'ooo', '', '2'],
    ['a broken one goes first', 'oou|oU', '4', ''],
  ])('S9, S12: OrderedReady scales down before it updates: %s', (_, word, steady, batch) => {
    const replicas = word.indexOf('|') === -1 ? word.length : word.indexOf('|');
    const plan = planOf(rolloutOf({ replicas, podManagementPolicy: 'OrderedReady' }), word.replace('|', ''));
    expect([names(plan.steady), names(plan.batch)]).toEqual([steady, batch]);
    expect(codes(plan).includes('ScalingFirst')).toBe(batch === '');
  });

  it('S12, S15: a replica that is not ready stops the scaling, which is said, and is updated if it may be', () => {
    const rollout = rolloutOf({ replicas: 2, podManagementPolicy: 'OrderedReady' });
    const stuck = planOf(rollout, 'oUoo');
    expect([names(stuck.steady), names(stuck.batch)]).toEqual(['', '']);
    expect(stuck.waiting).toContainEqual({
      code: 'ScaleDownWaits',
      message: 'web-3, web-2 are not among the replicas and are deleted when all of them are ready',
      pods: ['web-3', 'web-2'],
    });
    const left = planOf(rollout, 'oOoo');
    expect([names(left.steady), names(left.batch)]).toEqual(['', '1']);
  });

  it.each([
    [0, 'oooou', '3'],
    [3, 'ooooo', '4'],
    [4, 'oooou', ''],
    [5, 'ooooo', ''],
    [99, 'ooooo', ''],
  ])('S10: partition %s of %s updates %j', (partition, word, expected) => {
    const plan = planOf(rolloutOf({ replicas: 5, partition }), word);
    expect(names(plan.batch)).toBe(expected);
  });

  it('S10: the partition is an offset from the first ordinal', () => {
    const plan = planOf(rolloutOf({ replicas: 3, start: 10, partition: 2, maxUnavailable: 3 }), 'ooo');
    expect(names(plan.batch)).toBe('12');
  });

  it('S14: pods below the partition use up the budget as well, and are left broken', () => {
    const plan = planOf(rolloutOf({ replicas: 5, partition: 3 }), 'Ooooo');
    expect(plan.batch).toEqual([]);
    expect(codes(plan)).toEqual(['PodNotReady', 'BudgetUsed', 'Partition']);
  });

  it('the budget is used up by pods that are unavailable, not by those that the plan itself takes', () => {
    const [free, used] = ['ooooo', 'ooooU'].map((word) => planOf(rolloutOf({ replicas: 5 }), word));
    expect([names(free?.batch ?? []), free?.waiting]).toEqual(['4', []]);
    expect(used?.waiting.at(-1)?.message).toMatch(/^the budget is used up: 1 of 1 unavailable; web-3, /);
  });

  it('S16: minReadySeconds keeps the budget used, until a known moment', () => {
    const rollout = rolloutOf({ replicas: 2, minReadySeconds: 10 });
    const pods = [
      ...podsOf(rollout, 'o'),
      podOf(rollout.set, 1, rollout.update.metadata.name, { readySince: NOW - 3_000 }),
    ];
    const plan = planOf(rollout, '', { pods });
    expect([names(plan.batch), plan.requeueAt]).toEqual(['', NOW + 7_000]);
    expect(codes(plan)).toEqual(['MinReadySeconds', 'BudgetUsed']);
    expect(names(planOf(rollout, '', { pods }, NOW + 7_000).batch)).toBe('0');
  });

  it('D7, S11: a finished pod is replaced by the steady state, not by the rollout', () => {
    const rollout = rolloutOf({ replicas: 1 });
    const plan = planOf(rollout, '', { pods: podsOf(rollout, 'O', { phase: 'Failed' }) });
    expect([plan.steady.map(({ purpose }) => purpose), plan.batch]).toEqual([['ReplaceFinished'], []]);
  });

  it('design "Once": deletes carry uid and resourceVersion', () => {
    expect(planOf(rolloutOf({ replicas: 1 }), 'o').batch).toMatchObject([
      { verb: 'delete', purpose: 'Recreate', uid: 'uid-web-0', resourceVersion: '10', charged: true },
    ]);
  });

  it('S13: OnDelete updates nothing and says so', () => {
    const plan = planOf(rolloutOf({ replicas: 3, updateStrategy: 'OnDelete' }), 'ooo');
    expect([plan.batch, codes(plan), plan.finished, plan.needsRollout]).toEqual([
      [],
      ['OnDelete'],
      true,
      false,
    ]);
  });

  it('design "Pause": no write of the rollout, and who and why is told', () => {
    const plan = planOf(rolloutOf({ replicas: 2, paused: { by: 'kim', reason: 'lunch' } }), 'oo');
    expect(plan.batch).toEqual([]);
    expect(plan.waiting[0]).toMatchObject({ code: 'Paused', pods: ['web-1', 'web-0'] });
    expect(plan.waiting[0]?.message).toContain('kim');
    expect(plan.waiting[0]?.message).toContain('lunch');
  });

  it('design "One planner per kind": a refused delete leaves its place to the next under Parallel, not under OrderedReady', () => {
    const revision = rolloutOf({ replicas: 5 }).update.metadata.name;
    const refusals = new Map([
      ['delete pods/web-4', { since: NOW, retryAt: NOW + 1_000, message: 'denied', revision }],
    ]);
    const parallel = planOf(rolloutOf({ replicas: 5 }), 'ooooo', { refusals });
    expect([names(parallel.batch), codes(parallel)]).toEqual(['3', ['WriteRefused']]);
    const ordered = planOf(rolloutOf({ replicas: 5, podManagementPolicy: 'OrderedReady' }), 'ooooo', {
      refusals,
    });
    expect([names(ordered.batch), codes(ordered)]).toEqual(['', ['WriteRefused']]);
  });

  it('design "One planner per kind": why a pod is not ready is told, as far as its status says', () => {
    const rollout = rolloutOf({ replicas: 1 });
    const [pod] = podsOf(rollout, 'U');
    const told = (status: Partial<NonNullable<Pod['status']>>) =>
      planOf(rollout, '', {
        pods: pod === undefined ? [] : [{ ...pod, status: { ...pod.status, ...status } }],
      }).waiting[0];
    const waiting = {
      name: 'main',
      restartCount: 0,
      ready: false,
      state: { waiting: { reason: 'ImagePullBackOff' } },
    };
    expect(told({ containerStatuses: [waiting] })).toMatchObject({
      code: 'PodNotReady',
      message: 'web-0 is not ready: container main of web-0: ImagePullBackOff',
    });
    const unscheduled = {
      type: 'PodScheduled',
      status: 'False' as const,
      message: '0/3 nodes are available',
    };
    expect(told({ phase: 'Pending', conditions: [unscheduled], containerStatuses: [] })?.message).toContain(
      '0/3 nodes',
    );
  });

  it('design "One planner per kind": a node that is down is named', () => {
    const plan = planOf(rolloutOf({ replicas: 2 }), 'oU', { downNodes: new Map([['node-0', 'NotReady']]) });
    expect(plan.waiting[0]).toMatchObject({ code: 'NodeDown', pods: ['web-1'] });
    expect(plan.waiting[0]?.message).toContain('node-0');
    const gone = planOf(rolloutOf({ replicas: 2 }), 'oU', { downNodes: new Map([['node-0', 'Gone']]) });
    expect(gone.waiting[0]).toMatchObject({
      code: 'NodeGone',
      message: 'web-1 is on a node that is gone: node-0',
    });
  });
});

describe('how a pod is updated (A18–A22)', () => {
  const [image, env] = [
    templateOf('web:2'),
    templateOf('web:2', { containers: [{ name: 'main', image: 'web:2', env: [{ name: 'A', value: 'b' }] }] }),
  ];

  it.each([
    ['ReCreate', image, ['Recreate']],
    ['InPlaceIfPossible', image, ['InPlaceBegin']],
    ['InPlaceIfPossible', env, ['Recreate']],
    ['InPlaceOnly', image, ['InPlaceBegin']],
    ['InPlaceOnly', env, []],
  ] as const)('A18: %s', (podUpdatePolicy, template, expected) => {
    const plan = planOf(rolloutOf({ replicas: 1, podUpdatePolicy, template }), 'o');
    expect(plan.batch.map(({ purpose }) => purpose)).toEqual(expected);
  });

  it('A38: InPlaceOnly names the fields that stand in the way', () => {
    const plan = planOf(rolloutOf({ replicas: 1, podUpdatePolicy: 'InPlaceOnly', template: env }), 'o');
    expect(plan.waiting[0]).toMatchObject({ code: 'InPlaceImpossible', pods: ['web-0'] });
    expect(plan.waiting[0]?.message).toContain('spec.containers[main].env');
  });

  it('A19, A35: an old revision that is gone means a new pod; InPlaceOnly waits', () => {
    const rollout = rolloutOf({ replicas: 1, podUpdatePolicy: 'InPlaceIfPossible' });
    const lost = { pods: [podOf(rollout.set, 0, 'web-lost')] };
    expect(planOf(rollout, '', lost).batch.map(({ purpose }) => purpose)).toEqual(['Recreate']);
    const only = { ...rollout, set: { ...rollout.set, podUpdatePolicy: 'InPlaceOnly' as const } };
    expect(codes(planOf(only, '', lost))).toContain('InPlaceImpossible');
  });

  it('A18: a pod without the readiness gate is not updated in place', () => {
    const rollout = rolloutOf({ replicas: 1, podUpdatePolicy: 'InPlaceOnly' });
    const [pod] = podsOf(rollout, 'o');
    const { readinessGates: _, ...spec } = pod?.spec ?? { containers: [] };
    const plan = planOf(rollout, '', { pods: pod === undefined ? [] : [{ ...pod, spec }] });
    expect(plan.waiting[0]?.message).toContain('readinessGates');
  });

  it('D21: a revision that means the same under another name costs a label, no restart', () => {
    const rollout = rolloutOf({ replicas: 1 });
    const twin = {
      ...rollout.update,
      metadata: { ...rollout.update.metadata, name: 'web-twin', uid: 'twin' },
      revision: 1,
    };
    const plan = planOf(rollout, '', {
      revisions: [twin, rollout.update],
      pods: [podOf(rollout.set, 0, 'web-twin')],
    });
    expect(plan.batch).toMatchObject([
      {
        verb: 'patch',
        purpose: 'InPlaceApply',
        body: { metadata: { labels: { 'controller-revision-hash': rollout.update.metadata.name } } },
      },
    ]);
    expect(plan.batch[0]?.body).not.toHaveProperty('spec');
  });

  it('A3: a pod in an update in place is unavailable, also while it is Ready', () => {
    const rollout = rolloutOf({ replicas: 2, podUpdatePolicy: 'InPlaceIfPossible' });
    const annotations = {
      'fairlead.dev/in-place-update': JSON.stringify({
        revision: rollout.update.metadata.name,
        at: new Date(NOW).toISOString(),
        gate: false,
        wasReady: true,
        containers: { main: { containerID: 'containerd://web-1-1', imageID: '', restartCount: 0 } },
      }),
    };
    const updating = podOf(rollout.set, 1, rollout.update.metadata.name, { annotations });
    const plan = planOf(rollout, '', { pods: [...podsOf(rollout, 'o'), updating] });
    expect([plan.steady, plan.batch]).toEqual([[], []]);
    expect(plan.progress).toMatchObject({
      unavailable: 1,
      ready: 2,
      available: 1,
      updated: 1,
      updatedAvailable: 0,
    });
    expect(codes(plan)).toEqual(['InPlaceRestarting', 'BudgetUsed']);
  });

  it.each([
    ['ReCreate', 'Recreate'],
    ['InPlaceIfPossible', 'Recreate'],
    // Who rules a new pod out has it go on as it is.
    ['InPlaceOnly', 'InPlaceBegin'],
  ] as const)(
    'S3: a pod that was made without a claim of the present templates, %s: %s',
    (podUpdatePolicy, purpose) => {
      const before = { volumeClaimTemplates: [{ metadata: { name: 'data' }, spec: {} }] };
      const volumeClaimTemplates = [...before.volumeClaimTemplates, { metadata: { name: 'log' }, spec: {} }];
      const rollout = rolloutOf({ replicas: 2, podUpdatePolicy, volumeClaimTemplates });
      const made = { pods: podsOf(rollout, 'oo', { claimsOf: before }) };
      const { batch, waiting } = planOf(rollout, 'oo', made);
      expect(batch.map((action) => action.purpose)).toEqual([purpose]);
      expect(waiting).toContainEqual({
        code: 'ClaimMissing',
        pods: ['web-0', 'web-1'],
        message: expect.stringMatching(/without the present ones: log, /),
      });
      const whole = planOf(rollout, 'oo');
      expect(codes(whole)).not.toContain('ClaimMissing');
      expect(whole.batch[0]?.purpose).toBe(podUpdatePolicy === 'ReCreate' ? 'Recreate' : 'InPlaceBegin');
    },
  );

  it('KEP-1287: resources that the node does not have: a new pod under InPlaceIfPossible, a wait under InPlaceOnly', () => {
    const sized = (cpu: string) =>
      templateOf('web:1', {
        containers: [{ name: 'main', image: 'web:1', resources: { requests: { cpu } } }],
      });
    const before = setOf({ replicas: 1, template: sized('1') });
    const old = revisionFor(before);
    const set = { ...before, template: sized('99'), podUpdatePolicy: 'InPlaceIfPossible' as const };
    const update = revisionFor(set, [old]);
    const annotation = {
      revision: update.metadata.name,
      at: new Date(NOW).toISOString(),
      gate: false,
      wasReady: true,
      containers: {},
      resources: [
        { list: 'containers', container: 'main', previous: { requests: { cpu: '1' }, limits: {} } },
      ],
    };
    const pod = podOf(set, 0, update.metadata.name, {
      annotations: { 'fairlead.dev/in-place-update': JSON.stringify(annotation) },
      conditions: [
        { type: 'InPlaceUpdateReady', status: 'True' },
        { type: 'Ready', status: 'True', lastTransitionTime: '2025-12-31T00:00:00Z' },
        {
          type: 'PodResizePending',
          status: 'True',
          reason: 'Infeasible',
          message: "node didn't have enough capacity",
        },
      ],
    });
    const plan = (one: StatefulSet) =>
      planStatefulSet(snapshotOf(one, { revisions: [old, update], pods: [pod] }), NOW);
    expect(plan(set).batch).toMatchObject([{ purpose: 'Recreate', charged: true }]);
    const waiting = plan({ ...set, podUpdatePolicy: 'InPlaceOnly' });
    expect([waiting.steady, waiting.batch, codes(waiting)]).toEqual([[], [], ['ResizePending']]);
  });

  describe('KEP-1287: resources that the node has, and other pods use (Deferred)', () => {
    const sized = (cpu: string) =>
      templateOf('web:1', {
        containers: [{ name: 'main', image: 'web:1', resources: { requests: { cpu } } }],
      });
    const before = setOf({ replicas: 2, template: sized('1') });
    const old = revisionFor(before);
    const set = { ...before, template: sized('2'), podUpdatePolicy: 'InPlaceIfPossible' as const };
    const update = revisionFor(set, [old]);
    const annotation = {
      revision: update.metadata.name,
      at: new Date(NOW).toISOString(),
      appliedAt: new Date(NOW).toISOString(),
      gate: false,
      wasReady: true,
      containers: {},
      resources: [
        { list: 'containers', container: 'main', previous: { requests: { cpu: '1' }, limits: {} } },
      ],
    };
    const planAt = (
      seconds: number,
      { one = set, since = NOW, down = false }: { one?: StatefulSet; since?: number; down?: boolean } = {},
    ) => {
      const pod = podOf(set, 1, update.metadata.name, {
        annotations: { 'fairlead.dev/in-place-update': JSON.stringify(annotation) },
        conditions: [
          { type: 'InPlaceUpdateReady', status: 'True' },
          { type: 'Ready', status: 'True', lastTransitionTime: '2025-12-31T00:00:00Z' },
          {
            type: 'PodResizePending',
            status: 'True',
            reason: 'Deferred',
            message: 'Node did not have enough resource: cpu',
            lastTransitionTime: new Date(since).toISOString(),
          },
        ],
      });
      const plan = planStatefulSet(
        snapshotOf(one, {
          revisions: [old, update],
          pods: [podOf(before, 0, old.metadata.name), pod],
          ...(down && { downNodes: new Map([['node-0', 'NotReady']]) }),
        }),
        NOW + seconds * 1_000,
      );
      return { ...plan, written: [...plan.steady, ...plan.batch] };
    };

    it('are waited for a minute; then there is a new pod, which costs nothing more', () => {
      const waiting = planAt(59);
      expect(waiting.written).toEqual([]);
      expect(waiting.requeueAt).toBe(NOW + 60_000);
      expect(waiting.waiting).toContainEqual({
        code: 'ResizePending',
        message: 'web-1 waits for the node to resize it: Node did not have enough resource: cpu',
        pods: ['web-1'],
        until: NOW + 60_000,
      });
      expect(planAt(60).written).toMatchObject([
        {
          purpose: 'Recreate',
          name: 'web-1',
          message: expect.stringContaining(
            'and cannot be resized in place: Node did not have enough resource: cpu',
          ),
        },
      ]);
    });

    it('are waited for from when the node said so, if that was after the change', () => {
      expect(planAt(89, { since: NOW + 30_000 }).written).toEqual([]);
      expect(planAt(90, { since: NOW + 30_000 }).written).toHaveLength(1);
      expect(planAt(59, { since: NOW - 90_000 }).written).toEqual([]);
    });

    it.each([
      ['InPlaceOnly allows no new pod', { one: { ...set, podUpdatePolicy: 'InPlaceOnly' as const } }],
      ['what a dead kubelet said last does not count', { down: true }],
    ])('are waited for as long as it takes: %s', (_, options) => {
      const plan = planAt(86_400, options);
      expect([plan.written, plan.requeueAt]).toEqual([[], undefined]);
    });
  });

  describe('KEP-1287: resources that the apiserver does not give a pod', () => {
    const sized = (tag: string, cpu: string) =>
      templateOf(tag, { containers: [{ name: 'main', image: tag, resources: { requests: { cpu } } }] });
    const before = setOf({ replicas: 2, template: sized('web:1', '1') });
    const old = revisionFor(before);
    const set = {
      ...before,
      template: sized('web:2', '2'),
      podUpdatePolicy: 'InPlaceIfPossible' as const,
    };
    const only = { ...set, podUpdatePolicy: 'InPlaceOnly' as const };
    const update = revisionFor(set, [old]);
    const first = podOf(before, 0, old.metadata.name);
    const second = podOf(before, 1, old.metadata.name);
    /** web-1 as it is after the first write: out of service, not resized. */
    const begun = podOf(before, 1, old.metadata.name, {
      ready: false,
      conditions: [
        { type: 'InPlaceUpdateReady', status: 'False' },
        { type: 'Ready', status: 'False' },
      ],
      annotations: {
        'fairlead.dev/in-place-update': JSON.stringify({
          revision: update.metadata.name,
          at: new Date(NOW - 60_000).toISOString(),
          gate: true,
          wasReady: true,
          containers: { main: { containerID: 'old', imageID: 'web:1', restartCount: 0 } },
          resources: [
            { list: 'containers', container: 'main', previous: { requests: { cpu: '1' }, limits: {} } },
          ],
        }),
      },
    });
    const refusedOf = ({ metadata: { name, uid } }: Pod, changes: Partial<Refusal> = {}) =>
      new Map([
        [
          `patch pods/${name}`,
          {
            since: NOW - 100,
            retryAt: NOW + 900,
            message: 'node without support for resize',
            revision: update.metadata.name,
            unresizable: uid,
            ...changes,
          },
        ],
      ]);
    const plan = (one: StatefulSet, pod: Pod, refusals: ReadonlyMap<string, Refusal>) =>
      planStatefulSet(snapshotOf(one, { revisions: [old, update], pods: [first, pod], refusals }), NOW);
    const written = ({ steady, batch }: Plan<object>) =>
      [...steady, ...batch].map(({ purpose, name }) => `${purpose} ${name}`);

    it('are asked for without effect before a pod goes out of service, again by whoever does not know the answer', () => {
      expect(plan(set, second, new Map()).batch).toMatchObject([
        {
          purpose: 'InPlaceBegin',
          name: 'web-1',
          charged: true,
          rehearsal: { spec: { containers: [{ name: 'main', resources: { requests: { cpu: '2' } } }] } },
        },
      ]);
    });

    it('a new pod under InPlaceIfPossible, within the budget and told why', () => {
      const { batch } = plan(set, second, refusedOf(second));
      expect(batch).toMatchObject([{ purpose: 'Recreate', name: 'web-1', charged: true }]);
      expect(batch[0]?.message).toContain('cannot be resized in place: node without support for resize');
      const used = planStatefulSet(
        snapshotOf(set, {
          revisions: [old, update],
          pods: [second],
          refusals: refusedOf(second),
        }),
        NOW,
      );
      expect(used.batch).toEqual([]);
    });

    it('a new pod for one that is out of service already, though the next try is not due', () => {
      const result = plan(set, begun, refusedOf(begun));
      expect(written(result)).toEqual(['Recreate web-1']);
      expect(result.batch[0]?.charged).toBeUndefined();
      expect(result.needsRollout).toBe(true);
    });

    it('a new pod for one that cannot be given back what it had', () => {
      const pinned = { ...set, template: sized('web:1', '1') };
      const bigger = { ...begun, spec: { ...begun.spec, containers: sized('web:1', '2').spec.containers } };
      const back = (refusals: ReadonlyMap<string, Refusal>) =>
        planStatefulSet(
          snapshotOf(pinned, { revisions: [update, old], pods: [first, bigger], refusals }),
          NOW,
        );
      expect(written(back(new Map()))).toEqual(['InPlaceWithdraw web-1']);
      expect(written(back(refusedOf(bigger, { revision: old.metadata.name })))).toEqual(['Recreate web-1']);
    });

    it('InPlaceOnly: no write to it until the next try, and what is refused is told', () => {
      const told = {
        code: 'ResizeRefused',
        pods: ['web-1'],
        message: 'the apiserver refuses to resize web-1: node without support for resize',
        until: NOW + 900,
      };
      const refused = plan(only, second, refusedOf(second));
      expect([written(refused), refused.waiting[0]]).toEqual([['InPlaceBegin web-0'], told]);
      const stuck = plan(only, begun, refusedOf(begun));
      expect([written(stuck), stuck.waiting[0]]).toEqual([[], told]);
    });

    it.each([
      ['a quota, which may pass', undefined, update.metadata.name],
      ['an earlier pod of that name', 'uid-of-another', update.metadata.name],
      ['another revision', begun.metadata.uid, 'web-other'],
    ])('no new pod for what was refused because of %s', (_, unresizable, revision) => {
      const refusal = {
        since: NOW,
        retryAt: NOW,
        message: 'no',
        revision,
        ...(unresizable && { unresizable }),
      };
      const refusals = new Map([['patch pods/web-1', refusal]]);
      expect(written(plan(set, second, refusals))).toEqual(['InPlaceBegin web-1']);
      expect(written(plan(set, begun, refusals))).toEqual(['InPlaceApply web-1']);
    });
  });
});

describe('what a run is (design §1)', () => {
  it('the first revision awaits all pods, also below the partition and under OnDelete', () => {
    for (const overrides of [{}, { partition: 2 }, { updateStrategy: 'OnDelete' as const }]) {
      const set = setOf({ replicas: 2, ...overrides });
      const revision = revisionFor(set);
      const finished = (...ready: readonly boolean[]) =>
        planStatefulSet(
          snapshotOf(set, {
            revisions: [revision],
            pods: ready.map((one, ordinal) => podOf(set, ordinal, revision.metadata.name, { ready: one })),
          }),
          NOW,
        );
      expect([finished().finished, finished(true, false).finished, finished(true, true).finished]).toEqual([
        false,
        false,
        true,
      ]);
      expect(finished(true).needsRollout).toBe(false);
    }
  });

  it.each([
    ['all updated and available', {}, 'uuu', true, false],
    ['one is old', {}, 'ouu', false, true],
    ['one is not ready', {}, 'uuU', false, false],
    ['one is missing', {}, 'uu-', false, false],
    ['all above the partition', { partition: 2 }, 'oou', true, false],
    ['one above it is not', { partition: 1 }, 'oou', false, true],
    ['broken below the partition', { partition: 2 }, 'Oou', true, false],
    ['OnDelete', { updateStrategy: 'OnDelete' }, 'ooo', true, false],
    ['no replicas', { replicas: 0 }, '', true, false],
  ] as const)('%s', (_, overrides, word, finished, needsRollout) => {
    const plan = planOf(rolloutOf({ replicas: 3, ...overrides }), word);
    expect({ finished: plan.finished, needsRollout: plan.needsRollout }).toEqual({ finished, needsRollout });
  });

  it.each([
    ['above the partition all is done', { partition: 2 }, 'oouu', true],
    ['below it pods are broken, as they may be', { partition: 2 }, 'Oouu', true],
    ['above it one is not ready', { partition: 2 }, 'ooUu', false],
    ['below it one is missing, which comes at the new one', { partition: 2 }, '-ouu', false],
    ['below it one at the new revision is not ready yet', { partition: 2 }, 'Uouu', false],
    ['OnDelete', { updateStrategy: 'OnDelete' }, 'oooo', true],
  ] as const)('a revision that is the last one left is no first one: %s', (_, overrides, word, finished) => {
    const rollout = rolloutOf({ replicas: 4, ...overrides });
    const plan = planOf(rollout, word, { revisions: [rollout.update] });
    expect({ finished: plan.finished, needsRollout: plan.needsRollout }).toEqual({
      finished,
      needsRollout: false,
    });
  });

  it('what is at a revision that somebody has deleted is said to be', () => {
    const rollout = rolloutOf({ replicas: 4, partition: 2 });
    const plan = planOf(rollout, 'oouu', { revisions: [rollout.update] });
    expect(plan.waiting).toMatchObject([
      {
        code: 'Partition',
        message: expect.stringContaining(
          `ControllerRevision ${rollout.old.metadata.name} of web-1 does not exist any more`,
        ),
      },
    ]);
    expect(planOf(rollout, 'oouu').waiting[0]?.message).toBe(
      'web-1, web-0 are below the partition and keep their revision',
    );
  });

  it('S6: an undo needs a rollout until the revision has the highest number', () => {
    const { old, update } = rolloutOf({ replicas: 0 });
    const undone = setOf({ replicas: 0, template: templateOf('web:1') });
    const plan = planStatefulSet(snapshotOf(undone, { revisions: [old, update] }), NOW);
    expect([plan.needsRollout, plan.finished, plan.updateRevision]).toEqual([true, false, old.metadata.name]);
    expect(codes(plan)).toEqual(['RevisionMissing']);
    const renumbered = planStatefulSet(
      snapshotOf(undone, { revisions: [{ ...old, revision: 3 }, update] }),
      NOW,
    );
    expect([renumbered.needsRollout, renumbered.finished]).toEqual([false, true]);
  });

  it('design "Migration is not an outage": pods and revisions of the other API are taken over without a rollout', () => {
    const native = setOf({
      replicas: 2,
      ref: { ...setOf().ref, group: 'apps', version: 'v1', uid: 'native' },
    });
    const revision = revisionFor(native);
    const orphaned = <T extends Pod | ControllerRevision>(object: T): T => {
      const { ownerReferences: _, ...metadata } = object.metadata;
      return { ...object, metadata };
    };
    const ours = setOf({ replicas: 2 });
    const pods = [0, 1].map((ordinal) => orphaned(podOf(native, ordinal, revision.metadata.name)));
    const plan = planStatefulSet(snapshotOf(ours, { revisions: [orphaned(revision)], pods }), NOW);
    expect(plan.steady.map(({ purpose, name }) => `${purpose} ${name}`)).toEqual([
      'Adopt web-0',
      'Adopt web-1',
      `Adopt ${revision.metadata.name}`,
    ]);
    expect([plan.batch, plan.needsRollout, plan.updateRevision]).toEqual([[], false, revision.metadata.name]);
  });
});

describe('large sets', () => {
  it('design "Kubernetes client": a plan for 10,000 pods is far from quadratic', () => {
    const rollout = rolloutOf({
      replicas: 10_000,
      maxUnavailable: '10%',
      podUpdatePolicy: 'InPlaceIfPossible',
    });
    const pods = podsOf(rollout, 'ou'.repeat(5_000));
    const started = performance.now();
    const plan = planOf(rollout, '', { pods });
    expect(plan.batch).toHaveLength(1_000);
    // About 50 ms on an idle machine; a quadratic planner takes minutes.
    expect(performance.now() - started).toBeLessThan(60_000);
  });
});

describe('seed 003: P0 to P4, maxUnavailable 3, partition 4 and then 0', () => {
  const act = (cluster: SimulatedCluster): string => {
    const plan = planStatefulSet(cluster.snapshot(), cluster.now);
    cluster.writeStatus(plan);
    for (const action of plan.steady) cluster.execute(action);
    if (plan.needsRollout) cluster.createRevision();
    for (const action of plan.batch) cluster.execute(action);
    return names(plan.batch);
  };
  const settle = (cluster: SimulatedCluster): string => {
    const batches: string[] = [];
    for (let round = 0; round < 10; round += 1) {
      batches.push(act(cluster));
      cluster.kubelets();
      cluster.now += 1_000;
    }
    return batches.filter((batch) => batch !== '').join(' | ');
  };

  it('A5: only P4; then P3, P2, P1 at once; then P0 as soon as one of them is available', () => {
    const cluster = new SimulatedCluster({
      replicas: 5,
      maxUnavailable: 3,
      partition: 4,
      podUpdatePolicy: 'InPlaceIfPossible',
    });
    settle(cluster);
    const uids = [...cluster.pods.values()].map(({ metadata }) => metadata.uid);
    cluster.changeTemplate(templateOf('web:2'));
    expect(settle(cluster)).toBe('4');

    cluster.change({ partition: 0 });
    expect(act(cluster)).toBe('3 2 1');
    expect(act(cluster)).toBe('');
    for (let step = 0; step < 4; step += 1) {
      for (const name of ['web-3', 'web-2', 'web-1']) expect(act(cluster) + name).toBe(name);
      cluster.kubelet('web-2');
    }
    expect(act(cluster)).toBe('0');
    expect(settle(cluster)).toBe('');
    expect([...cluster.pods.values()].map(({ metadata }) => metadata.uid)).toEqual(uids);
    const restarts = [...cluster.pods.values()].map(
      ({ status }) => status?.containerStatuses?.[0]?.restartCount,
    );
    expect(restarts).toEqual([1, 1, 1, 1, 1]);
  });
});
