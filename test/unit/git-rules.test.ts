import { describe, expect, it } from '@jest/globals';

import { describeConflicts, decide, isTakenByForce, readConflicts } from '../../git/decision.ts';
import { findFieldLine } from '../../git/field-line.ts';
import type { InventoryEntry } from '../../git/inventory-content.ts';
import {
  entryKey,
  judgeHandOver,
  judgePrune,
  packEntries,
  pruneCandidates,
  readEntries,
  unpackEntries,
  widen,
  writeEntries,
} from '../../git/inventory-content.ts';
import { STAGES, compareObjects, stageOf } from '../../git/order.ts';
import { SourceText } from '../../git/source-text.ts';
import { rolloutProblem } from '../../git/rolled-out.ts';
import { rolloutState } from '../../git/rollout-state.ts';
import type { LiveWorkload } from '../../git/rollout-state.ts';
import type { KubernetesObject, ObjectMeta } from '../../planners/objects.ts';

const live = (metadata: Partial<ObjectMeta>, annotations?: Record<string, string>): KubernetesObject => ({
  metadata: {
    name: 'web',
    uid: 'u1',
    resourceVersion: '7',
    ...metadata,
    ...(annotations && { annotations }),
  },
});

const entry = (name: string, more: Partial<InventoryEntry> = {}): InventoryEntry => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  namespace: 'ns',
  name,
  ...more,
});

describe('order of kinds', () => {
  const object = (kind: string, group = '', name = 'x', namespace?: string) => ({
    kind,
    group,
    name,
    namespace,
  });

  it('puts what others need before them, and custom resources last', () => {
    const shuffled = [
      object('Thing', 'example.com'),
      object('StatefulSet', 'fairlead.dev'),
      object('Service'),
      object('Deployment', 'apps'),
      object('ConfigMap'),
      object('CustomResourceDefinition', 'apiextensions.k8s.io'),
      object('RoleBinding', 'rbac.authorization.k8s.io'),
      object('HorizontalPodAutoscaler', 'autoscaling'),
      object('Namespace'),
      object('ServiceAccount'),
    ];
    expect(shuffled.toSorted(compareObjects).map(({ kind }) => kind)).toEqual([
      'Namespace',
      'CustomResourceDefinition',
      'ServiceAccount',
      'RoleBinding',
      'ConfigMap',
      'Service',
      'StatefulSet',
      'Deployment',
      'HorizontalPodAutoscaler',
      'Thing',
    ]);
    expect(STAGES[stageOf(object('Namespace', 'example.com'))]).toBe('Rest');
  });

  it('is the same for the same commit, whatever the order of its files', () => {
    const objects = ['b', 'a', 'c'].flatMap((name) => [
      object('ConfigMap', '', name, 'n2'),
      object('ConfigMap', '', name, 'n1'),
    ]);
    const sorted = objects.toSorted(compareObjects);
    expect(objects.toReversed().toSorted(compareObjects)).toEqual(sorted);
    expect(sorted.map(({ namespace, name }) => `${namespace ?? ''}/${name}`)).toEqual([
      'n1/a',
      'n1/b',
      'n1/c',
      'n2/a',
      'n2/b',
      'n2/c',
    ]);
  });
});

describe('inventory', () => {
  const mapOf = (...entries: InventoryEntry[]) => new Map(entries.map((one) => [entryKey(one), one]));

  it('is read as it was written, plain or compressed', () => {
    const small = mapOf(entry('a', { uid: 'u' }), entry('b'), {
      apiVersion: 'apps/v1',
      kind: 'X',
      name: 'y',
    });
    expect(readEntries(writeEntries(small))).toEqual(small);
    expect(packEntries(small).data['objects']).toBe(
      'apps/v1 X - y -\nv1 ConfigMap ns a u\nv1 ConfigMap ns b -',
    );
    const large = mapOf(
      ...Array.from({ length: 10_000 }, (_, index) =>
        entry(`object-${index}`, { uid: `${index}`.padStart(36, '0') }),
      ),
    );
    const packed = packEntries(large);
    expect(packed.data).toEqual({});
    expect(packed.binaryData['objects.gz']?.length).toBeLessThan(1_000_000);
    expect(unpackEntries(packed.data, packed.binaryData)).toEqual(large);
  });

  it('does not look empty when it is damaged', () => {
    expect(() => readEntries('v1 ConfigMap ns a u\nv1 ConfigMap')).toThrow(
      'line 2 of the inventory cannot be read',
    );
    expect(() => unpackEntries(undefined, { 'objects.gz': 'AAAA' })).toThrow();
  });

  it('is widened before the first write and keeps the uids it knows', () => {
    const widened = widen(mapOf(entry('a', { uid: 'u' }), entry('old', { uid: 'o' })), [
      entry('a'),
      entry('new'),
    ]);
    expect([...widened.values()]).toEqual([
      entry('a', { uid: 'u' }),
      entry('old', { uid: 'o' }),
      entry('new'),
    ]);
  });

  it('is one object under two versions', () => {
    expect(entryKey({ apiVersion: 'batch/v1beta1', kind: 'CronJob', name: 'x' })).toBe(
      entryKey({ apiVersion: 'batch/v1', kind: 'CronJob', name: 'x' }),
    );
  });

  it('prunes what left the commit, and never everything', () => {
    const entries = mapOf(entry('a'), entry('b'));
    expect(pruneCandidates(entries, [entry('a')])).toEqual([entry('b')]);
    expect(pruneCandidates(entries, [])).toEqual([]);
  });

  const ours = { 'fairlead.dev/repository': 'repo' };
  it.each([
    [
      'ours',
      entry('a', { uid: 'u1' }),
      live({}, ours),
      { verdict: 'delete', uid: 'u1', resourceVersion: '7' },
    ],
    [
      'ours, its uid not known yet',
      entry('a'),
      live({}, ours),
      { verdict: 'delete', uid: 'u1', resourceVersion: '7' },
    ],
    ['gone', entry('a'), undefined, { verdict: 'forget' }],
    ['made again by somebody else', entry('a', { uid: 'u0' }), live({}, ours), { verdict: 'forget' }],
    ['without our annotation', entry('a', { uid: 'u1' }), live({}), { verdict: 'forget', stays: true }],
    [
      'without our annotation, and another one since',
      entry('a', { uid: 'u0' }),
      live({}),
      { verdict: 'forget', stays: true },
    ],
    [
      'of another repository',
      entry('a', { uid: 'u1' }),
      live({}, { 'fairlead.dev/repository': 'other' }),
      { verdict: 'forget', why: 'repository other holds it now' },
    ],
    [
      'controlled by something',
      entry('a', { uid: 'u1' }),
      live(
        { ownerReferences: [{ apiVersion: 'v1', kind: 'X', name: 'x', uid: 'x', controller: true }] },
        ours,
      ),
      { verdict: 'forget' },
    ],
    [
      'detached',
      entry('a', { uid: 'u1' }),
      live({}, { ...ours, 'client.lifecycle.config.k8s.io/deletion': 'detach' }),
      { verdict: 'detach', uid: 'u1', resourceVersion: '7' },
    ],
    [
      'an inventory',
      entry('a', { uid: 'u1' }),
      live({ labels: { 'fairlead.dev/inventory': 'shop' } }, ours),
      { verdict: 'forget', why: 'it is the inventory of repository shop', stays: true },
    ],
    ['a claim', entry('a', { kind: 'PersistentVolumeClaim' }), live({}, ours), { verdict: 'keep' }],
    ['a namespace', entry('a', { kind: 'Namespace' }), live({}, ours), { verdict: 'keep' }],
    [
      'a namespace, confirmed',
      entry('a', { kind: 'Namespace' }),
      live({}, { ...ours, 'fairlead.dev/prune': 'confirmed' }),
      { verdict: 'delete' },
    ],
    [
      'somebody else\u2019s kind Namespace',
      entry('a', { kind: 'Namespace', apiVersion: 'example.com/v1' }),
      live({}, ours),
      { verdict: 'delete' },
    ],
  ])('an object that is %s', (_what, one, object, expected) => {
    expect(judgePrune(one, object, 'repo')).toMatchObject(expected);
  });
});

describe('an object that left the commit and that another repository wants', () => {
  const ours = { 'fairlead.dev/repository': 'repo' };
  const judge = (one: InventoryEntry, object: KubernetesObject) =>
    judgeHandOver(judgePrune(one, object, 'repo'), object, {
      to: 'heir',
      isCounterpart: false,
      isSure: true,
      uid: one.uid,
    });
  const handedOver = { verdict: 'handOver', to: 'heir', why: 'repository heir wants it' };
  it.each([
    ['would be deleted', entry('a', { uid: 'u' }), live({ uid: 'u' }, ours), handedOver],
    ['would wait for a confirmation', entry('a', { kind: 'Namespace' }), live({}, ours), handedOver],
    [
      'was let go by an attempt that was killed',
      entry('a', { uid: 'u' }),
      live({ uid: 'u' }),
      { verdict: 'forget', to: 'heir' },
    ],
    [
      'the other has already',
      entry('a', { uid: 'u' }),
      live({ uid: 'u' }, { 'fairlead.dev/repository': 'heir' }),
      { verdict: 'forget', to: 'heir' },
    ],
    [
      'is to be detached',
      entry('a'),
      live({}, { ...ours, 'client.lifecycle.config.k8s.io/deletion': 'detach' }),
      { verdict: 'detach' },
    ],
  ])('and %s', (_what, one, object, expected) => {
    expect(judge(one, object)).toMatchObject(expected);
  });

  it.each([
    ['of a third', entry('a', { uid: 'u' }), live({ uid: 'u' }, { 'fairlead.dev/repository': 'third' })],
    ['another of its name', entry('a', { uid: 'u' }), live({ uid: 'v' })],
  ])('is handed over by nobody when it is %s', (_what, one, object) => {
    expect(judge(one, object)).not.toHaveProperty('to');
  });
});

describe('what to do with an object', () => {
  const manifest = { group: 'fairlead.dev', kind: 'StatefulSet', hash: 'new' };
  const judge = (object: KubernetesObject | undefined, heal = false) =>
    decide({ manifest, live: object, repository: 'repo', applySetId: 'set', heal });
  const ours = { 'fairlead.dev/repository': 'repo' };
  const pin = (rejected: string | undefined) => ({
    'fairlead.dev/pinned': JSON.stringify({ ...(rejected && { rejected }), by: 'ann', reason: 'errors' }),
  });

  it.each([
    ['does not exist', undefined, { do: 'apply', create: true, force: false }],
    ['is not from git', live({}), { do: 'apply', create: false, force: false, unpin: false }],
    ['has this manifest', live({}, { ...ours, 'fairlead.dev/manifest-hash': 'new' }), { do: 'nothing' }],
    [
      'has another manifest',
      live({}, { ...ours, 'fairlead.dev/manifest-hash': 'old' }),
      { do: 'apply', force: false, unpin: false },
    ],
    [
      'has this manifest of another repository',
      live({}, { 'fairlead.dev/repository': 'b', 'fairlead.dev/manifest-hash': 'new' }),
      { do: 'refuse', code: 'OwnedByOther', message: 'repository b applies this object too.' },
    ],
    [
      'is a member of another tool\u2019s set',
      live({ labels: { 'applyset.kubernetes.io/part-of': 'x' } }),
      { do: 'refuse', code: 'OwnedByOther' },
    ],
    [
      'is controlled',
      live({ ownerReferences: [{ apiVersion: 'v1', kind: 'Boss', name: 'b', uid: 'b', controller: true }] }),
      { do: 'refuse', message: 'Boss b controls this object.' },
    ],
    ['is going away', live({ deletionTimestamp: '2026-01-01T00:00:00Z' }, ours), { do: 'wait' }],
    [
      'is pinned against this manifest',
      live({}, { ...ours, ...pin('new'), 'fairlead.dev/manifest-hash': 'new' }),
      { do: 'leave', why: 'this manifest was rejected by ann: errors' },
    ],
    [
      'is pinned against an older manifest',
      live({}, { ...ours, ...pin('old'), 'fairlead.dev/manifest-hash': 'old' }),
      { do: 'apply', force: true, unpin: true },
    ],
    [
      'is pinned, applied since, and a crash left the pin',
      live({}, { ...ours, ...pin('old'), 'fairlead.dev/manifest-hash': 'new' }),
      { do: 'unpin' },
    ],
    ['was pinned before it came to git', live({}, pin(undefined)), { do: 'apply', force: true, unpin: true }],
  ])('an object that %s', (_what, object, expected) => {
    expect(judge(object)).toMatchObject(expected);
  });

  const applied = { ...ours, 'fairlead.dev/manifest-hash': 'new' };

  const inventory = live({ labels: { 'fairlead.dev/inventory': 'shop' } });
  const refused = {
    do: 'refuse',
    code: 'OwnedByOther',
    message: 'this is the inventory of repository shop, which Fairlead alone writes.',
    next: 'Rename the ConfigMap in the manifest.',
  };
  const group = '';
  it.each<[string, Partial<Parameters<typeof decide>[0]>, object]>([
    ['is an inventory', { manifest: { group, kind: 'ConfigMap', hash: 'new' }, live: inventory }, refused],
    [
      'is an inventory, to be healed',
      { manifest: { group, kind: 'ConfigMap', hash: 'new' }, live: inventory, heal: true },
      refused,
    ],
    [
      'would be in the place of one',
      { manifest: { group, kind: 'ConfigMap', hash: 'new' }, reservedFor: 'shop' },
      refused,
    ],
    [
      'is of another kind with that label',
      { manifest: { group, kind: 'Secret', hash: 'new' }, live: inventory },
      { do: 'apply' },
    ],
  ])('one that %s', (_what, input, expected) => {
    expect(
      decide({ manifest, live: undefined, repository: 'repo', applySetId: 'set', ...input }),
    ).toMatchObject(expected);
  });

  it.each([
    ['this manifest', 'new', { do: 'nothing' }],
    ['a later one, which the commit goes back from', 'later', { do: 'apply', create: false }],
    ['one that no commit has asked for', undefined, { do: 'nothing' }],
  ])('a controller of which an update rolls out %s', (_what, rolled, expected) => {
    const input = { manifest, live: live({}, applied), repository: 'repo', applySetId: 'set', rolled };
    expect(decide(input)).toMatchObject(expected);
  });

  const paused = { 'fairlead.dev/paused': '{"by":"ann","reason":"look"}' };

  it.each([
    ['does not exist', undefined, { do: 'apply', create: true, force: false }],
    ['has this manifest', live({}, applied), { do: 'apply', create: false, force: true, unpin: false }],
    ['has lost the hash', live({}, ours), { do: 'apply', force: true }],
    ['was made again by somebody else', live({}), { do: 'apply', force: false }],
    ['is paused', live({}, { ...applied, ...paused }), { do: 'leave', why: 'it is paused by ann: look' }],
    [
      'is paused by its field',
      { ...live({}, applied), spec: { paused: true } },
      { do: 'leave', why: 'it is paused: spec.paused is true' },
    ],
    ['is pinned against this manifest', live({}, { ...applied, ...pin('new') }), { do: 'leave' }],
    ['is going away', live({ deletionTimestamp: '2026-01-01T00:00:00Z' }, applied), { do: 'wait' }],
    ['is of another repository', live({}, { 'fairlead.dev/repository': 'b' }), { do: 'refuse' }],
  ])('an object that is to be healed and %s', (_what, object, expected) => {
    expect(judge(object, true)).toMatchObject(expected);
  });

  it.each([
    ['', live({}), { do: 'apply', create: false, force: true, unpin: false }],
    [', and is paused', live({}, paused), { do: 'leave' }],
    [', and is pinned against this manifest', live({}, pin('new')), { do: 'leave' }],
    [
      ', and is another repository\u2019s now',
      live({}, { 'fairlead.dev/repository': 'b' }),
      { do: 'refuse' },
    ],
    [
      ', and is a member of another tool\u2019s set',
      live({ labels: { 'applyset.kubernetes.io/part-of': 'x' } }),
      { do: 'refuse' },
    ],
    [
      ', and is controlled',
      live({ ownerReferences: [{ apiVersion: 'v1', kind: 'Boss', name: 'b', uid: 'b', controller: true }] }),
      { do: 'refuse' },
    ],
  ])('an object of the inventory that was made again by somebody else%s', (_what, object, expected) => {
    const input = { manifest, live: object, repository: 'repo', applySetId: 'set', isListed: true };
    expect(decide({ ...input, heal: true })).toMatchObject(expected);
    const { do: without } = decide(input);
    expect(without === 'apply' ? decide(input) : {}).not.toMatchObject({ force: true });
  });

  it('takes back only a template that an undo changed, and what sync itself writes', () => {
    const causes = (...pairs: readonly (readonly [string, string])[]) =>
      readConflicts(
        pairs.map(([field, manager]) => ({
          field,
          message: `conflict with "${manager}" using apps/v1 at 2026-01-01T00:00:00Z`,
        })),
      );
    expect(
      isTakenByForce(causes(['.spec.template.spec.containers[name="a"].image', 'kubectl-rollout'])),
    ).toBe(true);
    expect(isTakenByForce(causes(['.spec.template', 'fairlead']))).toBe(true);
    expect(isTakenByForce(causes(['.spec.template.spec', 'kubectl']))).toBe(true);
    const claim = { field: '.spec.template.spec', message: 'conflict with "kubectl"' };
    expect(isTakenByForce(readConflicts([claim]))).toBe(false);
    expect(isTakenByForce(causes(['.spec.replicas', 'kubectl-rollout']))).toBe(false);
    expect(
      isTakenByForce(
        causes(['.spec.template.spec', 'kubectl-rollout'], ['.spec.template.metadata', 'kubectl-edit']),
      ),
    ).toBe(false);
    expect(isTakenByForce(causes(['.spec.templateGeneration', 'kubectl-rollout']))).toBe(false);
    expect(isTakenByForce([])).toBe(false);
    const own = [
      ['.metadata.annotations.fairlead.dev/commit', 'velero'],
      ['.metadata.labels.applyset.kubernetes.io/part-of', 'velero'],
    ] as const;
    expect(isTakenByForce(causes(...own))).toBe(true);
    expect(isTakenByForce(causes(...own, ['.data.a', 'velero']))).toBe(false);
    expect(describeConflicts(causes(...own, ['.data.a', 'velero']))).toBe('"velero" owns .data.a.');
    expect(isTakenByForce(causes(['.metadata.annotations.fairlead.dev/wave', 'edit']))).toBe(false);
    expect(
      describeConflicts(causes(['.spec.replicas', 'hpa'], ['.data.a', 'edit'], ['.data.b', 'edit'])),
    ).toBe('"hpa" owns .spec.replicas; "edit" owns .data.a, .data.b.');
  });

  it.each([
    [
      'holds it and is followed by others',
      { claim: 'holds', isFollowed: false },
      { do: 'refuse', message: 'repository b applies this object too.' },
    ],
    [
      'holds it',
      { claim: 'holds', isFollowed: true },
      {
        do: 'refuse',
        message: 'repository b applies this object too.',
        next: 'Leave it to one of the two. To let repo have it, take it out of b: it is handed over as it is, not deleted, and the commit is tried again by itself.',
      },
    ],
    ['has no claim left', { claim: 'none' }, { do: 'apply', create: false, force: false }],
    [
      'left it behind',
      { claim: 'left', next: 'kubectl annotate …' },
      {
        do: 'refuse',
        code: 'OwnedByOther',
        message: 'repository b applied this object from another source, and is not followed any more.',
        next: 'To let repo have what b had: kubectl annotate … (then commit again, or `fairlead sync repo`).',
      },
    ],
    [
      'belongs to other workers',
      { claim: 'elsewhere', cluster: 'prod', next: 'Leave it to one of both.' },
      {
        do: 'refuse',
        code: 'OwnedByOther',
        message: 'repository b of the workers with FAIRLEAD_CLUSTER=prod has applied this object.',
        next: 'Leave it to one of both.',
      },
    ],
  ] as const)('that another repository is named on, which %s', (_, former, expected) => {
    const object = live({}, { 'fairlead.dev/repository': 'b', 'fairlead.dev/manifest-hash': 'new' });
    const input = { manifest, live: object, repository: 'repo', applySetId: 'set' };
    expect(decide({ ...input, former })).toMatchObject(expected);
  });
});

describe('the state of a rollout', () => {
  const workload = (
    status: object,
    more: Partial<LiveWorkload> = {},
    annotations: Record<string, string> = {},
  ): LiveWorkload => ({
    kind: 'StatefulSet',
    ...live({ generation: 3 }, { 'fairlead.dev/manifest-hash': 'h', ...annotations }),
    ...more,
    status: status as NonNullable<LiveWorkload['status']>,
  });
  const ready = (status: 'True' | 'False', message = '') => [{ type: 'Ready', status, message }];
  const refused = { type: 'ReplicaFailure', status: 'True', message: 'exceeded quota: few' };

  it.each([
    ['deleted', undefined, { state: 'Failed' }],
    [
      'not seen by its controller',
      workload({ observedGeneration: 2, conditions: ready('True') }),
      { state: 'InProgress', message: 'the controller has not seen it yet' },
    ],
    ['ready', workload({ observedGeneration: 3, conditions: ready('True') }), { state: 'Done' }],
    [
      'not ready',
      workload({ observedGeneration: 3, conditions: ready('False', '2 of 3') }),
      { state: 'InProgress', message: '2 of 3' },
    ],
    [
      'stalled',
      workload({
        observedGeneration: 3,
        conditions: [
          ...ready('False'),
          { type: 'Stalled', status: 'True', reason: 'ProgressDeadlineExceeded', message: 'late' },
        ],
      }),
      { state: 'Failed', message: 'ProgressDeadlineExceeded: late', rolledBack: false },
    ],
    [
      'paused',
      workload(
        { observedGeneration: 3, conditions: ready('False') },
        {},
        { 'fairlead.dev/paused': '{"by":"ann","reason":"lunch"}' },
      ),
      { state: 'InProgress', message: 'paused by ann: lunch' },
    ],
    [
      'rolled back',
      workload(
        { observedGeneration: 3, conditions: ready('True') },
        {},
        { 'fairlead.dev/pinned': '{"rejected":"h","by":"ann"}' },
      ),
      { state: 'Failed', rolledBack: true, message: 'rolled back by ann' },
    ],
    [
      'of another manifest by now',
      workload({ observedGeneration: 3 }, {}, { 'fairlead.dev/manifest-hash': 'x' }),
      { state: 'Failed', message: 'another manifest was applied meanwhile' },
    ],
    [
      'native, updating',
      workload({ observedGeneration: 3, updatedReplicas: 1, readyReplicas: 3 }, { spec: { replicas: 3 } }),
      { state: 'InProgress', message: '1 of 3 pods updated' },
    ],
    [
      'native, with a partition',
      workload(
        { observedGeneration: 3, updatedReplicas: 1, readyReplicas: 3 },
        { spec: { replicas: 3, updateStrategy: { rollingUpdate: { partition: 2 } } } },
      ),
      { state: 'Done' },
    ],
    [
      'a native Deployment with old replicas',
      workload(
        { observedGeneration: 3, updatedReplicas: 2, replicas: 3, availableReplicas: 2 },
        { kind: 'Deployment', spec: { replicas: 2 } },
      ),
      { state: 'InProgress', message: '1 old replicas still there' },
    ],
    [
      'stalled by what its run waits for: there is none to start again',
      workload({
        observedGeneration: 3,
        conditions: [
          { type: 'Stalled', status: 'True', reason: 'InPlaceImpossible', message: 'web-0 cannot' },
        ],
      }),
      {
        state: 'Failed',
        message: 'InPlaceImpossible: web-0 cannot',
        next: expect.not.stringMatching(/rollout retry/),
      },
    ],
    ...(['spec', 'annotations'] as const).map((place): [string, LiveWorkload, object] => [
      `late, and goes back by itself, as its ${place} say`,
      workload(
        {
          observedGeneration: 3,
          conditions: [
            { type: 'Stalled', status: 'True', reason: 'ProgressDeadlineExceeded', message: 'no progress' },
          ],
        },
        place === 'spec' ? { spec: { onDeadline: 'Rollback' } } : {},
        place === 'annotations' ? { 'fairlead.dev/on-deadline': 'Rollback' } : {},
      ),
      {
        state: 'Failed',
        next: 'Correct the manifest; the rollout goes back by itself (onDeadline: Rollback); `fairlead explain` says what it waits for.',
      },
    ]),
    [
      'a native Deployment whose pods a quota refuses',
      workload(
        { observedGeneration: 3, conditions: [refused] },
        { kind: 'Deployment', spec: { replicas: 2 } },
      ),
      { state: 'InProgress', message: '0 of 2 replicas updated: exceeded quota: few' },
    ],
    [
      'a native Deployment whose deadline has passed, with what helps where nobody of ours keeps it',
      workload(
        {
          observedGeneration: 3,
          conditions: [
            {
              type: 'Progressing',
              status: 'False',
              reason: 'ProgressDeadlineExceeded',
              message: 'Timed out.',
            },
            refused,
          ],
        },
        { kind: 'Deployment' },
      ),
      {
        state: 'Failed',
        message: 'ProgressDeadlineExceeded: Timed out: exceeded quota: few',
        next: expect.stringMatching(
          /^(?!.*fairlead rollout).*`kubectl rollout undo deployment\.apps\/web -n default`/,
        ),
      },
    ],
    [
      'a native DaemonSet',
      workload(
        { observedGeneration: 3, desiredNumberScheduled: 2, updatedNumberScheduled: 2, numberAvailable: 2 },
        { kind: 'DaemonSet' },
      ),
      { state: 'Done' },
    ],
  ])('of a workload that is %s', (_what, object, expected) => {
    expect(rolloutState(object, 'h')).toMatchObject(expected);
  });

  it.each(['late', 'late.'])('is told with one full stop: %s', (message) => {
    const state = { state: 'Failed', message, rolledBack: false } as const;
    expect(rolloutProblem('Deployment.apps default/web', state, undefined).message).toBe('late.');
  });
});

describe('the line of a field', () => {
  const text = `# comment
metadata:
  name: spec
  annotations:
    example.com/spec: x
spec:
  template:
    spec:
      containers:
      - name: a
        image: x
      # second
      - name: b
        env:
        - {name: K, value: v}
        image: y
---
spec:
  template: {spec: {volumes: []}}
  other: 1
`;
  it.each([
    ['spec.template.spec.containers[1].image', 1, 16],
    ['spec.template.spec.containers[0].image', 1, 11],
    ['.spec.template.spec.containers[name="b"].env', 1, 14],
    ['spec.template.spec.containers[1].env[0].value', 1, 15],
    ['metadata.annotations[example.com/spec]', 1, 5],
    ['spec.template.spec.volumes', 18, 19],
    ['spec.other', 1, 6],
    ['spec.other', 18, 20],
    ['nothing.like.it', 1, undefined],
  ])('%s from line %d', (field, from, line) => {
    expect(findFieldLine(new SourceText(text), from, field)).toBe(line);
  });

  it.each([
    ['.spec.ports[port=80,protocol="TCP"].name', 7],
    ['.spec.ports[port=8080,protocol="UDP"].name', 4],
    ['.spec.ports[port=8080,protocol="UDP"].targetPort', 5],
    ['.spec.ports[name="web"].nodePort', 8],
    ['.spec.ports[port=9,protocol="TCP"].name', 3],
  ])('of an item that is known by some of its keys: %s', (field, line) => {
    const ports = `kind: Service
spec:
  ports:
  - name: y
    targetPort: 80
    port: 8080
  - {name: n, port: 80}
  - nodePort: 1
    name: web
`;
    expect(findFieldLine(new SourceText(ports), 1, field)).toBe(line);
  });

  it('does not take minutes for a line that names a key a hundred thousand times', () => {
    const line = `${'data '.repeat(200_000)}\ndata: {a: b}`;
    const begun = performance.now();
    expect(findFieldLine(new SourceText(line), 1, 'data')).toBe(2);
    expect(performance.now() - begun).toBeLessThan(60_000);
  });
});
