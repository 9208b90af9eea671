import { describe, expect, it } from '@jest/globals';

import { isNote } from '../../planners/complete-mark.ts';
import { adoptAction, claimOf, releaseAction } from '../../planners/controller-ref.ts';
import { formatSelector, isEmptySelector, matchesSelector } from '../../planners/selector.ts';
import { ordinalOf } from '../../planners/statefulset-identity.ts';
import { planStatefulSet } from '../../planners/statefulset.ts';
import { NOW, podOf, revisionFor, setOf, snapshotOf } from '../support/statefulset-fixtures.ts';

const set = setOf();
const revision = revisionFor(set);
const name = revision.metadata.name;

describe('who owns what', () => {
  it.each([
    ['ours and matches', podOf(set, 0, name), true, false, 'owned'],
    ['ours and matches, workload deleting', podOf(set, 0, name), true, true, 'owned'],
    ['ours, matches no more', podOf(set, 0, name), false, false, 'release'],
    ['ours, matches no more, workload deleting', podOf(set, 0, name), false, true, 'ignore'],
    ['of another uid under our name', podOf(set, 0, name, { owner: 'earlier-uid' }), true, false, 'ignore'],
    ['an orphan that matches', podOf(set, 0, name, { owner: null }), true, false, 'adopt'],
    ['an orphan that does not match', podOf(set, 0, name, { owner: null }), false, false, 'ignore'],
    ['an orphan, workload deleting', podOf(set, 0, name, { owner: null }), true, true, 'ignore'],
    [
      'an orphan that terminates',
      podOf(set, 0, name, { owner: null, terminating: true }),
      true,
      false,
      'ignore',
    ],
  ] as const)('C4: a pod that is %s', (_, pod, matches, deleting, expected) => {
    expect(claimOf({ ...set, deleting }, pod, matches)).toBe(expected);
  });

  it('C5: adoption and release are strategic merge patches on the uid', () => {
    const pod = podOf(set, 0, name);
    expect(adoptAction(set, 'pods', pod)).toMatchObject({
      uid: pod.metadata.uid,
      patchType: 'strategic',
      body: {
        metadata: {
          uid: pod.metadata.uid,
          ownerReferences: [
            {
              apiVersion: 'fairlead.dev/v1beta1',
              kind: 'StatefulSet',
              name: 'web',
              uid: set.ref.uid,
              controller: true,
              blockOwnerDeletion: true,
            },
          ],
        },
      },
    });
    expect(releaseAction(set, 'pods', pod).body).toEqual({
      metadata: { uid: pod.metadata.uid, ownerReferences: [{ $patch: 'delete', uid: set.ref.uid }] },
    });
  });

  it.each([
    ['web-0', 0],
    ['web-12', 12],
    ['web-2147483647', 2_147_483_647],
    ['web-2147483648', undefined],
    ['web-01', undefined],
    ['web-', undefined],
    ['web-x', undefined],
    ['web', undefined],
    ['web-api-0', undefined],
    ['webx-0', undefined],
  ])('C6: the ordinal of %s is %s', (podName, expected) => {
    expect(ordinalOf(set, podName)).toBe(expected);
  });

  it('C4: while an orphan is being adopted nothing else is done to it, and no second pod is made', () => {
    const orphan = podOf(setOf({ replicas: 1 }), 0, 'web-other', { owner: null });
    const plan = planStatefulSet(
      snapshotOf(setOf({ replicas: 1 }), { revisions: [revision], pods: [orphan] }),
      NOW,
    );
    expect(plan.steady.map(({ purpose }) => purpose)).toEqual(['Adopt']);
    expect(plan.batch).toEqual([]);
  });

  it('C4, C6: a pod whose labels were changed is released, and its name is not taken meanwhile', () => {
    const stray = podOf(set, 0, name, { labels: { app: 'other' } });
    const plan = planStatefulSet(
      snapshotOf(setOf({ replicas: 1 }), { revisions: [revision], pods: [stray] }),
      NOW,
    );
    expect(plan.steady.map(({ purpose }) => purpose)).toEqual(['Release']);
    expect(plan.waiting.find(({ code }) => code === 'NameTaken')?.message).toBe(
      'a pod that is not owned by this workload stands in the place of web-0: web-0 does not match the selector app=web, and is adopted once it does; delete it if nobody needs it',
    );
  });

  it('C4: pods of other owners and unrelated orphans are left alone', () => {
    const foreign = podOf(set, 7, name, { owner: 'somebody' });
    const unrelated = {
      ...podOf(set, 8, name, { owner: null }),
      metadata: { ...foreign.metadata, name: 'db-0' },
    };
    const plan = planStatefulSet(
      snapshotOf(setOf({ replicas: 0 }), { revisions: [revision], pods: [foreign, unrelated] }),
      NOW,
    );
    expect([...plan.steady, ...plan.batch].filter((action) => !isNote(action))).toEqual([]);
  });

  it('S7: orphan revisions that match are adopted and used', () => {
    const { ownerReferences: _, ...metadata } = revision.metadata;
    const plan = planStatefulSet(snapshotOf(set, { revisions: [{ ...revision, metadata }] }), NOW);
    expect(plan.updateRevision).toBe(name);
    expect(plan.steady[0]).toMatchObject({
      purpose: 'Adopt',
      resource: 'controllerrevisions',
      patchType: 'strategic',
    });
  });
});

describe('selectors', () => {
  it.each([
    [{ matchLabels: { a: '1' } }, { a: '1', b: '2' }, true],
    [{ matchLabels: { a: '1' } }, { a: '2' }, false],
    [{ matchLabels: { a: '1' } }, undefined, false],
    [{ matchExpressions: [{ key: 'a', operator: 'In', values: ['1', '2'] }] }, { a: '2' }, true],
    [{ matchExpressions: [{ key: 'a', operator: 'In', values: ['1'] }] }, {}, false],
    [{ matchExpressions: [{ key: 'a', operator: 'NotIn', values: ['1'] }] }, {}, true],
    [{ matchExpressions: [{ key: 'a', operator: 'NotIn', values: ['1'] }] }, { a: '1' }, false],
    [{ matchExpressions: [{ key: 'a', operator: 'Exists' }] }, { a: '' }, true],
    [{ matchExpressions: [{ key: 'a', operator: 'DoesNotExist' }] }, { a: '' }, false],
    [{}, { a: '1' }, true],
  ] as const)('C4: %j on %j is %s', (selector, labels, expected) => {
    expect(matchesSelector(selector, labels)).toBe(expected);
  });

  it('C16: an empty selector is no work', () => {
    expect([
      isEmptySelector({}),
      isEmptySelector({ matchLabels: {} }),
      isEmptySelector({ matchLabels: { a: '' } }),
    ]).toEqual([true, true, false]);
    const plan = planStatefulSet(snapshotOf(setOf({ selector: {} })), NOW);
    expect([plan.steady, plan.needsRollout, plan.finished, plan.waiting[0]?.code]).toEqual([
      [],
      false,
      false,
      'SelectorEmpty',
    ]);
  });

  it('scale subresource: the selector as text, sorted', () => {
    expect(
      formatSelector({
        matchLabels: { b: '2', a: '1' },
        matchExpressions: [
          { key: 'c', operator: 'In', values: ['y', 'x'] },
          { key: 'd', operator: 'NotIn', values: ['z'] },
          { key: 'e', operator: 'Exists' },
          { key: 'f', operator: 'DoesNotExist' },
        ],
      }),
    ).toBe('a=1,b=2,c in (x,y),d notin (z),e,!f');
  });
});
