import { describe, expect, it } from '@jest/globals';

import type {
  ControllerRevision,
  JsonObject,
  OwnerReference,
  PersistentVolumeClaim,
  Pod,
} from '../../planners/objects.ts';
import type { Action, Plan, Refusal } from '../../planners/plan.ts';
import { claimBelongsTo } from '../../planners/statefulset-claims.ts';
import { planStatefulSet } from '../../planners/statefulset.ts';
import type { Snapshot, StatefulSet } from '../../planners/workload.ts';
import type { PodOptions } from '../support/statefulset-fixtures.ts';
import {
  NOW,
  completed,
  podOf,
  revisionFor,
  rolloutOf,
  setOf,
  snapshotOf,
  templateOf,
} from '../support/statefulset-fixtures.ts';

const CLAIMS: readonly JsonObject[] = [
  {
    metadata: { name: 'data', labels: { tier: 'disk' }, annotations: { note: 'x' } },
    spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
    status: { phase: 'Pending' },
  },
];

function planOf(
  set: StatefulSet,
  parts: Partial<Omit<Snapshot<StatefulSet>, 'workload'>> = {},
  now = NOW,
): Plan<object> {
  return planStatefulSet(snapshotOf(set, { revisions: [completed(revisionFor(set))], ...parts }), now);
}

function nameOf(set: StatefulSet): string {
  return revisionFor(set).metadata.name;
}

function pods(set: StatefulSet, ordinals: readonly number[], options: PodOptions = {}): Pod[] {
  return ordinals.map((ordinal) => podOf(set, ordinal, nameOf(set), options));
}

function brief(actions: readonly Action[]): readonly string[] {
  return actions.map(({ purpose, name }) => `${purpose} ${name}`);
}

/** The apiserver has just refused that write, and it is not to be tried again for `inMs`. */
function denied(key: string, inMs = 1_000): ReadonlyMap<string, Refusal> {
  return new Map([[key, { since: NOW - 1_000, retryAt: NOW + inMs, message: 'denied' }]]);
}

function claim(
  name: string,
  ownerReferences: readonly OwnerReference[] = [],
  deleted = false,
): PersistentVolumeClaim {
  return {
    metadata: {
      name,
      uid: `uid-${name}`,
      resourceVersion: '5',
      ownerReferences,
      ...(deleted && { deletionTimestamp: '2026-01-01T00:00:00Z' }),
    },
    spec: {},
  };
}

const SET_OWNER: OwnerReference = {
  apiVersion: 'fairlead.dev/v1beta1',
  kind: 'StatefulSet',
  name: 'web',
  uid: 'set-uid',
  controller: true,
  blockOwnerDeletion: true,
};

function podOwner(ordinal: number, uid = `uid-web-${String(ordinal)}`): OwnerReference {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    name: `web-${String(ordinal)}`,
    uid,
    controller: true,
    blockOwnerDeletion: true,
  };
}

describe('identity (S1, S2)', () => {
  it('S1: a pod has its name, labels, hostname, subdomain, owner, and the template of its revision', () => {
    const set = setOf({
      template: {
        ...templateOf('web:1'),
        metadata: { labels: { app: 'web' }, annotations: { a: 'b', 'fairlead.dev/in-place-update': '{}' } },
      },
      replicas: 1,
      start: 4,
    });
    const [action] = planOf(
      { ...set, template: templateOf('web:other') },
      {
        revisions: [
          revisionFor(set),
          revisionFor({ ...set, template: templateOf('web:other') }, [revisionFor(set)]),
        ],
      },
    ).steady;
    expect(action).toMatchObject({ verb: 'create', resource: 'pods', name: 'web-4', purpose: 'ScaleUp' });
    const [built] = planOf(set).steady;
    expect(built?.body).toEqual({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: {
        name: 'web-4',
        generateName: 'web-',
        namespace: 'default',
        labels: {
          app: 'web',
          'statefulset.kubernetes.io/pod-name': 'web-4',
          'apps.kubernetes.io/pod-index': '4',
          'controller-revision-hash': nameOf(set),
        },
        annotations: { a: 'b' },
        ownerReferences: [SET_OWNER],
      },
      spec: { ...set.template.spec, hostname: 'web-4', subdomain: 'web' },
    });
  });

  it('S1: a missing or wrong name label is repaired, a wrong index is not', () => {
    const set = setOf({ replicas: 2 });
    const wrong = pods(set, [0], { labels: { 'statefulset.kubernetes.io/pod-name': 'x' } });
    const index = pods(set, [1], { labels: { 'apps.kubernetes.io/pod-index': '9' } });
    const { steady } = planOf(set, { pods: [...wrong, ...index] });
    expect(steady).toMatchObject([
      {
        purpose: 'FixIdentity',
        name: 'web-0',
        body: {
          metadata: {
            labels: { 'statefulset.kubernetes.io/pod-name': 'web-0', 'apps.kubernetes.io/pod-index': '0' },
          },
        },
      },
    ]);
  });

  it('S2: a new start ordinal renumbers: low ones go, high ones come', () => {
    const set = setOf({ replicas: 3, start: 2 });
    const { steady } = planOf(set, { pods: pods(set, [0, 1, 2]) });
    expect(brief(steady)).toEqual(['ScaleUp web-3', 'ScaleUp web-4', 'ScaleDown web-1', 'ScaleDown web-0']);
  });
});

describe('claims (S3–S5)', () => {
  const set = setOf({ replicas: 1, volumeClaimTemplates: CLAIMS });

  it('S3: claims come before their pod and take the place of template volumes of that name', () => {
    const template = templateOf('web:1', {
      volumes: [
        { name: 'data', emptyDir: {} },
        { name: 'tmp', emptyDir: {} },
      ],
    });
    const { steady } = planOf({ ...set, template });
    expect(brief(steady)).toEqual(['CreateClaim data-web-0', 'ScaleUp web-0']);
    expect(steady[0]?.body).toEqual({
      apiVersion: 'v1',
      kind: 'PersistentVolumeClaim',
      metadata: {
        name: 'data-web-0',
        namespace: 'default',
        labels: { tier: 'disk', app: 'web' },
        annotations: { note: 'x' },
      },
      spec: CLAIMS[0]?.['spec'],
    });
    expect(steady[1]?.body).toMatchObject({
      spec: {
        volumes: [
          { name: 'data', persistentVolumeClaim: { claimName: 'data-web-0' } },
          { name: 'tmp', emptyDir: {} },
        ],
      },
    });
  });

  it('S3: an existing claim is used, a terminating one is waited for', () => {
    expect(brief(planOf(set, { claims: [claim('data-web-0')] }).steady)).toEqual(['ScaleUp web-0']);
    const plan = planOf(set, { claims: [claim('data-web-0', [], true)] });
    expect(plan.steady).toEqual([]);
    expect(plan.waiting).toMatchObject([
      {
        code: 'ClaimTerminating',
        pods: ['web-0'],
        message: expect.stringMatching(/data-web-0 is being deleted$/),
      },
    ]);
  });

  it('S3: a Pending pod gets the claims that it lacks', () => {
    const pending = pods(set, [0], { phase: 'Pending', ready: false });
    expect(brief(planOf(set, { pods: pending }).steady)).toEqual(['CreateClaim data-web-0']);
    expect(planOf(set, { pods: pods(set, [0]) }).steady).toEqual([]);
  });

  it.each([
    ['data-web-0', true],
    ['data-web-12', true],
    ['data-web-api-0', false],
    ['logs-web-0', false],
    ['data-web-x', false],
  ])('S3: %s belongs to the set: %s', (name, expected) => {
    expect(claimBelongsTo(set, claim(name))).toBe(expected);
  });

  it.each([
    ['Retain', 'Retain', 'in range', [], []],
    ['Retain', 'Delete', 'in range', [], [SET_OWNER]],
    ['Retain', 'Delete', 'out of range', [], [SET_OWNER]],
    ['Delete', 'Retain', 'in range', [], []],
    ['Delete', 'Retain', 'out of range', [], [podOwner(1)]],
    ['Delete', 'Delete', 'in range', [podOwner(1)], [SET_OWNER]],
    ['Delete', 'Delete', 'out of range', [SET_OWNER], [podOwner(1)]],
    ['Retain', 'Retain', 'in range', [SET_OWNER, podOwner(1)], []],
  ] as const)(
    'S4: whenScaled %s, whenDeleted %s, pod %s: %j → %j',
    (whenScaled, whenDeleted, where, present, wanted) => {
      const replicas = where === 'in range' ? 2 : 1;
      const sized = setOf({ replicas, volumeClaimTemplates: CLAIMS, whenScaled, whenDeleted });
      const first = claim('data-web-0', whenDeleted === 'Delete' ? [SET_OWNER] : []);
      const { steady } = planOf(sized, {
        pods: pods(sized, [0, 1]),
        claims: [first, claim('data-web-1', present)],
      });
      const retained = steady.find(({ purpose }) => purpose === 'RetainClaim');
      const changed = JSON.stringify(present) !== JSON.stringify(wanted);
      expect(retained?.name).toBe(changed ? 'data-web-1' : undefined);
      expect(retained?.resourceVersion).toBe(changed ? '5' : undefined);
      expect(retained?.body).toEqual(changed ? { metadata: { ownerReferences: wanted } } : undefined);
    },
  );

  it('S4: a pod above the replicas goes only after its claim knows it', () => {
    const scaled = setOf({ replicas: 1, volumeClaimTemplates: CLAIMS, whenScaled: 'Delete' });
    const all = pods(scaled, [0, 1]);
    const before = planOf(scaled, { pods: all, claims: [claim('data-web-0'), claim('data-web-1')] });
    expect(brief(before.steady)).toEqual(['RetainClaim data-web-1']);
    expect(before.waiting).toMatchObject([{ code: 'ClaimOwners', pods: ['web-1'] }]);
    const then = planOf(scaled, {
      pods: all,
      claims: [claim('data-web-0'), claim('data-web-1', [podOwner(1)])],
    });
    expect(brief(then.steady)).toEqual(['ScaleDown web-1']);
  });

  it.each<['Parallel' | 'OrderedReady']>([['Parallel'], ['OrderedReady']])(
    'S4: a refused patch of the claim is told, and nothing is settled: %s',
    (podManagementPolicy) => {
      const scaled = setOf({
        replicas: 1,
        volumeClaimTemplates: CLAIMS,
        whenScaled: 'Delete',
        podManagementPolicy,
      });
      const parts = {
        pods: pods(scaled, [0, 1]),
        claims: [claim('data-web-0'), claim('data-web-1')],
        refusals: denied('patch persistentvolumeclaims/data-web-1'),
      };
      const plan = planOf(scaled, parts);
      expect([plan.steady, plan.finished, plan.settled]).toEqual([[], true, false]);
      expect(plan.waiting.map(({ code }) => code)).toEqual(['WriteRefused', 'ClaimOwners']);
      expect(plan.waiting[0]?.message).toContain('patch of persistentvolumeclaims/data-web-1: denied');
    },
  );

  describe('S4: a pod that came back into range before it went is not deleted while its claim belongs to it', () => {
    const before = setOf({ replicas: 4, volumeClaimTemplates: CLAIMS, whenScaled: 'Delete' });
    const after = { ...before, template: templateOf('web:2') };
    const revisions = [revisionFor(before), revisionFor(after, [revisionFor(before)])];
    const claimsWith = (owners: readonly OwnerReference[]) => [
      ...[0, 1, 2].map((ordinal) => claim(`data-web-${String(ordinal)}`)),
      claim('data-web-3', owners),
    ];
    const refused = denied('patch persistentvolumeclaims/data-web-3');

    it('by a rollout that replaces what stops OrderedReady: it lets go of the claim first', () => {
      const ordered = { ...after, podManagementPolicy: 'OrderedReady' } as const;
      const all = [...pods(before, [0, 2]), ...pods(before, [1, 3], { ready: false })];
      const held = planOf(ordered, { pods: all, revisions, claims: claimsWith([podOwner(3)]) });
      expect([brief(held.steady), brief(held.batch)]).toEqual([['RetainClaim data-web-3'], []]);
      const free = planOf(ordered, { pods: all, revisions, claims: claimsWith([]) });
      expect([brief(free.steady), brief(free.batch)]).toEqual([[], ['Recreate web-3', 'Recreate web-1']]);
    });

    it.each([[true], [false]])('by a rollout while that is refused, for however long; ready: %s', (ready) => {
      const all = [...pods(before, [0, 1, 2]), ...pods(before, [3], { ready })];
      const refusals = new Map([...refused].map(([key, one]) => [key, { ...one, since: NOW - 60_000 }]));
      const parts = { pods: all, revisions, refusals };
      const held = planOf(after, { ...parts, claims: claimsWith([podOwner(3)]) });
      expect([brief(held.steady), brief(held.batch)]).toEqual([[], ready ? ['Recreate web-2'] : []]);
      expect(held.waiting).toContainEqual({
        code: 'ClaimOwners',
        message: 'web-3 is deleted once its claims have the owners that whenScaled asks for',
        pods: ['web-3'],
      });
      const free = planOf(after, { ...parts, claims: claimsWith([]) });
      expect(brief(free.batch)).toEqual(['Recreate web-3']);
    });

    it('in the place of one that has failed', () => {
      const all = [...pods(before, [0, 1, 2]), ...pods(before, [3], { phase: 'Failed' })];
      const of = (owners: readonly OwnerReference[], refusals?: ReadonlyMap<string, Refusal>) => {
        const plan = planOf(before, { pods: all, claims: claimsWith(owners), ...(refusals && { refusals }) });
        return [brief(plan.steady), plan.waiting.map(({ code }) => code)];
      };
      expect(of([podOwner(3)])[0]).toEqual(['RetainClaim data-web-3']);
      expect(of([podOwner(3)], refused)).toEqual([[], ['WriteRefused', 'ClaimOwners', 'PodNotReady']]);
      expect(of([])[0]).toEqual(['ReplaceFinished web-3']);
    });
  });

  it.each([
    ['a predecessor of the set', [{ ...SET_OWNER, uid: 'earlier' }]],
    ['an earlier pod', [podOwner(0, 'earlier')]],
  ])('S4: a reference to %s is never touched', (_, owners) => {
    const deleting = setOf({ replicas: 1, volumeClaimTemplates: CLAIMS, whenDeleted: 'Delete' });
    const plan = planOf(deleting, { pods: pods(deleting, [0]), claims: [claim('data-web-0', owners)] });
    expect(plan.steady).toEqual([]);
  });

  it('S4: beside a foreign controller we are no owner; other owners stay', () => {
    const deleting = setOf({ replicas: 1, volumeClaimTemplates: CLAIMS, whenDeleted: 'Delete' });
    const backup: OwnerReference = {
      apiVersion: 'example.com/v1',
      kind: 'Backup',
      name: 'b',
      uid: 'b',
      controller: true,
    };
    const conflicting = planOf(deleting, {
      pods: pods(deleting, [0]),
      claims: [claim('data-web-0', [SET_OWNER, backup])],
    });
    expect(conflicting.steady).toMatchObject([
      { purpose: 'RetainClaim', body: { metadata: { ownerReferences: [backup] } } },
    ]);
    const conflict = { code: 'ClaimConflict', pods: ['data-web-0'] };
    expect(conflicting.waiting).toContainEqual(expect.objectContaining(conflict));
    expect(conflicting.waiting.find(({ code }) => code === 'ClaimConflict')?.message).toContain('Backup b');
    const neverOurs = planOf(deleting, {
      pods: pods(deleting, [0]),
      claims: [claim('data-web-0', [backup])],
    });
    expect(neverOurs.steady).toEqual([]);
    expect(neverOurs.waiting).toContainEqual(expect.objectContaining(conflict));
    const { controller: _, ...friend } = backup;
    const friendly = planOf(deleting, { pods: pods(deleting, [0]), claims: [claim('data-web-0', [friend])] });
    expect(friendly.steady).toMatchObject([{ body: { metadata: { ownerReferences: [friend, SET_OWNER] } } }]);
  });

  it('S4: our reference that does not control is made to', () => {
    const deleting = setOf({ replicas: 1, volumeClaimTemplates: CLAIMS, whenDeleted: 'Delete' });
    const { controller: _, ...weak } = SET_OWNER;
    const plan = planOf(deleting, { pods: pods(deleting, [0]), claims: [claim('data-web-0', [weak])] });
    expect(plan.steady).toMatchObject([{ body: { metadata: { ownerReferences: [SET_OWNER] } } }]);
  });

  it('S5: with whenScaled=Delete the claim of an earlier pod is waited out', () => {
    const stale = [claim('data-web-0', [podOwner(0, 'earlier')])];
    const plan = planOf(setOf({ replicas: 1, volumeClaimTemplates: CLAIMS, whenScaled: 'Delete' }), {
      claims: stale,
    });
    expect(plan.steady).toEqual([]);
    expect(plan.waiting).toMatchObject([{ code: 'ClaimStale', pods: ['web-0'] }]);
    expect(brief(planOf(set, { claims: stale }).steady)).toContain('ScaleUp web-0');
  });
});

describe('scaling (S9, S11, S12)', () => {
  const ordered = setOf({ replicas: 3, podManagementPolicy: 'OrderedReady' });

  it('S9: Parallel creates all at once, OrderedReady the lowest', () => {
    expect(brief(planOf(setOf({ replicas: 3 })).steady)).toEqual([
      'ScaleUp web-0',
      'ScaleUp web-1',
      'ScaleUp web-2',
    ]);
    expect(brief(planOf(ordered).steady)).toEqual(['ScaleUp web-0']);
  });

  it.each([
    ['not ready', { ready: false }, 'PodNotReady'],
    ['terminating', { terminating: true }, 'PodTerminating'],
  ])('S11: OrderedReady waits for a pod that is %s', (_, options, code) => {
    const plan = planOf(ordered, { pods: pods(ordered, [0], options) });
    expect(plan.steady).toEqual([]);
    expect(plan.waiting.map((reason) => reason.code)).toEqual([code, 'ScaleUpWaits']);
    expect(plan.waiting[1]).toMatchObject({
      message: 'web-1, web-2 are not made before the pods of lower ordinals are ready (OrderedReady)',
      pods: ['web-1', 'web-2'],
    });
  });

  it('S11: nothing waits for the order while Parallel makes all, or OrderedReady the next', () => {
    for (const set of [ordered, setOf({ replicas: 3 })]) {
      const plan = planOf(set, { pods: pods(set, [0]) });
      expect(plan.steady).not.toEqual([]);
      expect(plan.waiting).toEqual([]);
    }
  });

  describe('a pod that is being deleted', () => {
    const only = setOf({ replicas: 1, podManagementPolicy: 'OrderedReady' });
    const leaving = (finalizers: readonly string[], at = NOW - 60_000): readonly Pod[] =>
      pods(only, [0]).map((pod) => ({
        ...pod,
        metadata: { ...pod.metadata, finalizers, deletionTimestamp: new Date(at).toISOString() },
      }));
    const told = (there: readonly Pod[], overrides = {}) =>
      planOf(only, { pods: there, ...overrides }).waiting.map(({ code, message }) => [code, message]);

    it('is only told as such until its grace period is over, and looked at again then', () => {
      const soon = leaving(['example.com/hold'], NOW + 20_000);
      expect(told(soon)).toContainEqual(['PodTerminating', 'web-0 is terminating']);
      expect(planOf(only, { pods: soon }).requeueAt).toBe(NOW + 30_000);
    });

    it('is held by its finalizers', () => {
      const message = 'web-0 is terminating, held by its finalizers example.com/hold, example.com/too';
      expect(told(leaving(['example.com/hold', 'example.com/too']))).toEqual([['TerminationHeld', message]]);
    });

    it('is not confirmed by its node, in words that stay as time goes by', () => {
      const message =
        'web-0 is terminating, and its grace period is over: its node node-0 does not confirm that web-0 has ended';
      expect(told(leaving([]))).toEqual([['TerminationOverdue', message]]);
      expect(told(leaving([], NOW - 3_600_000))).toEqual([['TerminationOverdue', message]]);
    });

    it('is on a node that is known to be down', () => {
      expect(told(leaving([]), { downNodes: new Map([['node-0', 'NotReady']]) })[0]?.[0]).toBe('NodeDown');
    });
  });

  it('S11, S16: OrderedReady waits for minReadySeconds and says until when', () => {
    const waiting = { ...ordered, minReadySeconds: 10 };
    const fresh = pods(waiting, [0], { readySince: NOW - 4_000 });
    const plan = planOf(waiting, { pods: fresh });
    expect(plan).toMatchObject({
      steady: [],
      requeueAt: NOW + 6_000,
      waiting: [{ code: 'MinReadySeconds', until: NOW + 6_000 }, { code: 'ScaleUpWaits' }],
    });
    expect(brief(planOf(waiting, { pods: fresh }, NOW + 6_000).steady)).toEqual(['ScaleUp web-1']);
  });

  it.each(['Failed', 'Succeeded'] as const)(
    'S11: a pod that is %s is deleted once and waited for',
    (phase) => {
      const single = setOf({ replicas: 1 });
      const { steady } = planOf(single, { pods: pods(single, [0], { phase, ready: false }) });
      expect(steady).toMatchObject([
        { verb: 'delete', purpose: 'ReplaceFinished', uid: 'uid-web-0', resourceVersion: '10' },
      ]);
      const gone = planOf(single, { pods: pods(single, [0], { phase, ready: false, terminating: true }) });
      expect(gone.steady).toEqual([]);
    },
  );

  it('S12: OrderedReady scales down one pod at a time from the top, Parallel all at once', () => {
    const down = { ...ordered, replicas: 1 };
    expect(brief(planOf(down, { pods: pods(down, [0, 1, 2]) }).steady)).toEqual(['ScaleDown web-2']);
    const waiting = planOf(down, {
      pods: [...pods(down, [0, 1]), ...pods(down, [2], { terminating: true })],
    });
    expect([waiting.steady, waiting.finished, waiting.settled]).toEqual([[], true, false]);
    expect(planOf(down, { pods: pods(down, [0]) }).settled).toBe(true);
    const parallel = setOf({ replicas: 1 });
    expect(brief(planOf(parallel, { pods: pods(parallel, [0, 1, 2]) }).steady)).toEqual([
      'ScaleDown web-2',
      'ScaleDown web-1',
    ]);
  });

  it('S12: an unwell pod stops scaling down unless it is the first unwell one', () => {
    const down = { ...ordered, replicas: 1 };
    const two = planOf(down, { pods: [...pods(down, [0]), ...pods(down, [1, 2], { ready: false })] });
    expect(two.steady).toEqual([]);
    expect(two.waiting).toMatchObject([{ code: 'PodNotReady', pods: ['web-1'] }]);
    const one = planOf(down, { pods: [...pods(down, [0, 1]), ...pods(down, [2], { ready: false })] });
    expect(brief(one.steady)).toEqual(['ScaleDown web-2']);
    const lower = planOf(down, { pods: [...pods(down, [0], { ready: false }), ...pods(down, [1, 2])] });
    expect(lower.steady).toEqual([]);
  });

  it('S12, S15: a pod that cannot get well by waiting does not stop scaling down', () => {
    const down = { ...ordered, replicas: 1 };
    const failed = pods(down, [1, 2], { ready: false, phase: 'Failed' });
    expect(brief(planOf(down, { pods: [...pods(down, [0]), ...failed] }).steady)).toEqual([
      'ScaleDown web-2',
    ]);
    const left = [1, 2].map((ordinal) => podOf(down, ordinal, 'web-left', { ready: false }));
    expect(brief(planOf(down, { pods: [...pods(down, [0]), ...left] }).steady)).toEqual(['ScaleDown web-2']);
  });

  it('S9: a set that is being deleted is left alone', () => {
    const plan = planOf({ ...ordered, deleting: true });
    expect([plan.steady, plan.batch, plan.needsRollout, plan.finished, plan.waiting[0]?.code]).toEqual([
      [],
      [],
      false,
      false,
      'Deleting',
    ]);
  });
});

describe('numbers that nobody can mean', () => {
  it('C13: one plan creates 500 pods, and deletes 500', () => {
    const large = setOf({ replicas: 2_000, podManagementPolicy: 'Parallel' });
    const up = planOf(large);
    expect([up.steady.length, up.steady.at(-1)?.name]).toEqual([500, 'web-499']);
    const ordinals = Array.from({ length: 700 }, (_, ordinal) => ordinal);
    const down = planOf({ ...large, replicas: 0 }, { pods: pods(large, ordinals) });
    expect([down.steady.length, down.steady.at(-1)?.name]).toEqual([500, 'web-200']);
  });

  it('replicas of 2^31 - 1 cost no memory, and the field is named', () => {
    const plan = planOf(setOf({ replicas: 2_147_483_647, podManagementPolicy: 'Parallel' }));
    expect(plan.steady.length).toBe(500);
    expect(plan.waiting[0]).toMatchObject({ code: 'InvalidField' });
    expect(plan.waiting[0]?.message).toContain('replicas: 100000 is the most');
    expect(plan.finished).toBe(false);
  });
});

describe('the revision of a new pod (S10, A8, A9)', () => {
  function createdAt(
    set: StatefulSet,
    present: readonly Pod[],
    parts: Partial<Snapshot<StatefulSet>> = {},
  ): Record<string, string> {
    const { steady } = planStatefulSet(snapshotOf(set, { pods: present, ...parts }), NOW);
    return Object.fromEntries(
      steady
        .filter(({ purpose }) => purpose === 'ScaleUp')
        .map(({ name, body }) => {
          const { labels } = (body as unknown as Pod).metadata;
          return [name, labels?.['controller-revision-hash'] ?? ''];
        }),
    );
  }

  it('S10: below start + partition the current revision, else the update revision', () => {
    const { set, old, update, revisions } = rolloutOf({ replicas: 3, start: 5, partition: 1 });
    expect(createdAt(set, [], { revisions })).toEqual({
      'web-5': old.metadata.name,
      'web-6': update.metadata.name,
      'web-7': update.metadata.name,
    });
  });

  it('S10: below the partition the current revision also when the object was made anew and has no status', () => {
    const { set, old, update, revisions } = rolloutOf({ replicas: 4, partition: 2 });
    const anew = { ...set, status: { replicas: 0 } };
    const orphans = [1, 2, 3].map((ordinal) => {
      const { metadata, ...rest } = podOf(set, ordinal, (ordinal < 2 ? old : update).metadata.name);
      return { ...rest, metadata: { ...metadata, ownerReferences: [] } };
    });
    expect(createdAt(anew, orphans, { revisions })).toEqual({ 'web-0': old.metadata.name });
  });

  it('S10: OnDelete always the update revision', () => {
    const { set, update, revisions } = rolloutOf({ replicas: 3 });
    const manual = { ...set, updateStrategy: 'OnDelete' as const, partition: 2 };
    expect(new Set(Object.values(createdAt(manual, [], { revisions })))).toEqual(
      new Set([update.metadata.name]),
    );
  });

  describe('while paused', () => {
    const { set, old, update, revisions } = rolloutOf({ replicas: 5, paused: { by: 'me' } });
    const [o, u] = [old.metadata.name, update.metadata.name];
    const at = (wanted: Record<number, string>) =>
      Object.entries(wanted).map(([ordinal, revision]) => podOf(set, Number(ordinal), revision));

    it('A9: a pod that the rollout had not reached comes back at the current revision', () => {
      expect(createdAt(set, at({ 0: o, 2: o, 3: u, 4: u }), { revisions })).toEqual({ 'web-1': o });
    });

    it('A9: a pod above one that is updated was reached, and comes back updated', () => {
      expect(createdAt(set, at({ 0: o, 1: o, 2: o, 3: u }), { revisions })).toEqual({ 'web-4': u });
    });

    it('A9: a pod that a batch has deleted comes at the revision that it was deleted for', () => {
      const present = at({ 0: o, 1: o, 2: o });
      const replaced = new Map([
        ['web-3', u],
        ['web-4', 'web-earlier'],
      ]);
      expect(createdAt(set, present, { revisions, replaced })).toEqual({ 'web-3': u, 'web-4': o });
    });

    it('A9: where it cannot be told the pod comes back at the current revision', () => {
      expect(createdAt(set, at({ 0: o, 1: o, 2: o, 4: u }), { revisions })).toEqual({ 'web-3': o });
    });

    it('A9: after a finished rollout of that revision everything was reached', () => {
      const attempts = JSON.stringify([
        { outcome: 'Failed', endedAt: '2026-01-01T10:00:00.000Z' },
        { outcome: 'Succeeded', endedAt: '2026-01-01T11:00:00.000Z' },
      ]);
      const done = {
        ...update,
        metadata: { ...update.metadata, annotations: { 'fairlead.dev/attempts': attempts } },
      };
      const parts = { revisions: [old, done] };
      expect(createdAt({ ...set, partition: 3 }, at({ 0: o, 1: o, 2: o, 4: u }), parts)).toEqual({
        'web-3': u,
      });
      // Complete once, but another revision was rolled out since, and this one is being gone back to.
      const later = JSON.stringify([{ outcome: 'Succeeded', endedAt: '2026-01-01T12:00:00.000Z' }]);
      const between = {
        ...old,
        metadata: { ...old.metadata, annotations: { 'fairlead.dev/attempts': later } },
      };
      expect(
        createdAt({ ...set, partition: 3 }, at({ 0: o, 1: o, 2: o, 4: u }), { revisions: [between, done] }),
      ).toEqual({ 'web-3': o });
    });

    it('A9: that a canary succeeded does not let the rest come: pods that it had not reached come back at the current revision', () => {
      const attempts = JSON.stringify([{ outcome: 'Succeeded', endedAt: '2026-01-01T11:00:00.000Z' }]);
      const tried = {
        ...update,
        metadata: { ...update.metadata, annotations: { 'fairlead.dev/attempts': attempts } },
      };
      const comesAt = (
        partition: number,
        present: Record<number, string>,
        canary: ControllerRevision = tried,
      ) => createdAt({ ...set, partition }, at(present), { revisions: [old, canary] });
      expect(comesAt(0, { 0: o, 2: o, 3: o, 4: u })).toEqual({ 'web-1': o });
      expect(comesAt(2, { 0: o, 1: o, 2: o, 4: u })).toEqual({ 'web-3': o });
      // None of them is left to tell.
      expect(comesAt(0, { 1: u, 2: u, 3: u, 4: u })).toEqual({ 'web-0': o });
      expect(comesAt(0, { 4: u })).toEqual({ 'web-0': o, 'web-1': o, 'web-2': o, 'web-3': o });
      expect(comesAt(0, { 0: u, 1: u, 2: u, 3: u }, completed(tried))).toEqual({ 'web-4': u });
      expect(comesAt(4, { 0: o, 1: o, 2: o, 3: o })).toEqual({ 'web-4': u });
    });

    it('design "Pause": the steady state goes on', () => {
      const plan = planStatefulSet(
        snapshotOf(set, { revisions, pods: at({ 0: o, 1: o, 2: o, 3: o, 4: o, 5: o }) }),
        NOW,
      );
      expect(brief(plan.steady)).toEqual(['ScaleDown web-5']);
      expect(plan.batch).toEqual([]);
      expect(plan.waiting.map(({ code }) => code)).toContain('Paused');
    });
  });

  describe('while the template has no revision yet', () => {
    const { set, old } = rolloutOf({ replicas: 4 });
    const o = old.metadata.name;
    const revisions = [old];
    const present = [0, 2].map((ordinal) => podOf(set, ordinal, o));

    it('design "What a run is": holes are filled at the last revision, new ordinals wait for the new one', () => {
      expect(createdAt(set, present, { revisions })).toEqual({ 'web-1': o });
    });

    it('S6: a hole that a batch has made for a revision that is gone waits for that to be made again', () => {
      const gone = new Map([['web-1', 'web-gone']]);
      expect(createdAt(set, present, { revisions, replaced: gone })).toEqual({});
      const late = { revisions, replaced: gone, revisionMissingSince: NOW - 5_000 };
      expect(createdAt(set, present, late)).toEqual({ 'web-1': o, 'web-3': o });
      const known = new Map([['web-1', o]]);
      expect(createdAt(set, present, { revisions, replaced: known })).toEqual({ 'web-1': o });
    });

    it('design "What a run is": after 5 s without a revision all pods are healed', () => {
      expect(createdAt(set, present, { revisions, revisionMissingSince: NOW - 5_000 })).toEqual({
        'web-1': o,
        'web-3': o,
      });
      const early = snapshotOf(set, { revisions, pods: present, revisionMissingSince: NOW - 4_000 });
      expect(planStatefulSet(early, NOW).requeueAt).toBe(NOW + 1_000);
    });

    it('S10: pods below the partition are made at the current revision at once', () => {
      expect(createdAt({ ...set, partition: 4 }, [], { revisions })).toEqual({
        'web-0': o,
        'web-1': o,
        'web-2': o,
        'web-3': o,
      });
    });

    it('S20: observedGeneration stays behind', () => {
      const stored = { ...set.status, observedGeneration: 1 };
      const plan = planStatefulSet(snapshotOf({ ...set, status: stored }, { revisions, pods: present }), NOW);
      expect(plan.status).toMatchObject({ observedGeneration: 1, updateRevision: o, currentRevision: o });
      expect([plan.needsRollout, plan.finished, plan.updateRevision]).toEqual([true, false, undefined]);
    });
  });
});

describe('refused writes (design "One planner per kind")', () => {
  const { set, old, update, revisions } = rolloutOf({ replicas: 3, maxUnavailable: 2 });
  const present = [0, 1].map((ordinal) => podOf(set, ordinal, old.metadata.name));
  const planWith = (refusal: Refusal, revision = update.metadata.name) =>
    planStatefulSet(
      snapshotOf(set, {
        revisions,
        pods: present,
        refusals: new Map([['create pods/web-2', { ...refusal, revision }]]),
      }),
      NOW,
    );

  it.each([
    ['stays', 'NameTaken', 'a pod that is not owned by this workload stands in the place of web-2'],
    ['leaves', 'NameLeaving', 'web-2 is not made yet: the pod of that name belongs to db'],
  ] as const)('a name that belongs to the pod of another, which %s', (taken, code, words) => {
    const message = 'the pod of that name belongs to db';
    const { waiting } = planWith({ since: NOW - 5, retryAt: NOW + 5, message, taken });
    const [first] = waiting;
    expect(first).toMatchObject({ code, pods: ['web-2'] });
    expect(first?.message).toContain(words);
    expect(first?.message).toContain(message);
  });

  it('a name that a pod without an owner has, which is being deleted: nobody can delete it once more', () => {
    const { metadata, ...rest } = podOf(set, 2, old.metadata.name, { terminating: true });
    const { ownerReferences: _, ...orphaned } = metadata;
    const left = { ...rest, metadata: { ...orphaned, finalizers: ['x.y/z'] } };
    const { waiting } = planStatefulSet(snapshotOf(set, { revisions, pods: [...present, left] }), NOW);
    expect(waiting[0]).toEqual({
      code: 'NameLeaving',
      message: 'web-2 is not made yet: a pod of that name is being deleted, held by its finalizer x.y/z',
      pods: ['web-2'],
    });
  });

  it('S9: a write that can run now comes before the rollout', () => {
    const plan = planStatefulSet(snapshotOf(set, { revisions, pods: present }), NOW);
    expect([brief(plan.steady), plan.batch]).toEqual([['ScaleUp web-2'], []]);
    expect(plan.waiting.map(({ code }) => code)).toContain('ScalingFirst');
  });

  it('in back-off it is not written, does not hold the rollout, and its pod counts as unavailable', () => {
    const plan = planWith({ since: NOW - 1_000, retryAt: NOW + 3_000, message: 'exceeded quota' });
    expect([brief(plan.steady), brief(plan.batch)]).toEqual([[], ['Recreate web-1']]);
    expect(plan.waiting[0]).toMatchObject({ code: 'CreateRefused', pods: ['web-2'], until: NOW + 3_000 });
    expect(plan.waiting[0]?.message).toContain('exceeded quota');
    expect(plan.requeueAt).toBe(NOW + 3_000);
  });

  it('what was refused at another revision may pass at this one: it is written at once', () => {
    const refusal = { since: NOW - 20_000, retryAt: NOW + 60_000, message: 'image not allowed' };
    const plan = planWith(refusal, old.metadata.name);
    expect([brief(plan.steady), brief(plan.batch)]).toEqual([['ScaleUp web-2'], []]);
  });

  it.each([
    ['9 s', 9_000, []],
    ['10 s', 10_000, ['Recreate web-1']],
  ])('tried again after being refused for %s, it holds the rollout back accordingly', (_, since, batch) => {
    const plan = planWith({ since: NOW - since, retryAt: NOW, message: 'exceeded quota' });
    expect([brief(plan.steady), brief(plan.batch)]).toEqual([['ScaleUp web-2'], batch]);
  });

  it.each([
    ['in back-off', 1_000, [], ['WriteRefused']],
    ['due again', 0, ['ScaleDown web-1'], []],
  ])('a pod that may not be deleted is not wanted all the same: %s', (_, inMs, steady, codes) => {
    const scaled = setOf({ replicas: 1 });
    const plan = planOf(scaled, {
      pods: pods(scaled, [0, 1]),
      refusals: denied('delete pods/web-1', inMs),
    });
    expect([brief(plan.steady), plan.waiting.map(({ code }) => code)]).toEqual([steady, codes]);
    expect([plan.finished, plan.settled]).toEqual([true, false]);
  });

  it('nothing is settled while any of the steady writes is refused, but for a note', () => {
    const one = setOf({ replicas: 1, revisionHistoryLimit: 0 });
    const here = pods(one, [0]);
    const other = revisionFor({ ...one, template: templateOf('web:0') });
    const [first, newest] = [completed(other), { ...completed(revisionFor(one)), revision: 2 }];
    const settled = (known: readonly ControllerRevision[], key: string) =>
      planOf(one, { pods: here, revisions: known, refusals: denied(key) }).settled;
    expect(settled([first, newest], `delete controllerrevisions/${first.metadata.name}`)).toBe(false);
    expect(settled([revisionFor(one)], `patch controllerrevisions/${nameOf(one)}`)).toBe(true);
  });

  it('S3: no pod without its claim', () => {
    const withClaim = setOf({ replicas: 1, volumeClaimTemplates: CLAIMS });
    const refusals = new Map([
      [
        'create persistentvolumeclaims/data-web-0',
        { since: NOW, retryAt: NOW + 1, message: 'no storage class' },
      ],
    ]);
    const plan = planOf(withClaim, { refusals });
    expect(plan.steady).toEqual([]);
    expect(plan.waiting.map(({ code }) => code)).toEqual(['CreateRefused']);
  });
});
