import { describe, expect, it } from '@jest/globals';

import { planStatefulSet } from '../../planners/statefulset.ts';
import { NOW, podOf, revisionFor, rolloutOf, setOf, snapshotOf } from '../support/statefulset-fixtures.ts';

describe('rollout of a StatefulSet', () => {
  it('design "What a run is": a new set needs a rollout, and no pod is made before its revision', () => {
    const set = setOf();
    const without = planStatefulSet(snapshotOf(set), NOW);
    expect(without.needsRollout).toBe(true);
    expect(without.steady).toEqual([]);
    expect(without.waiting[0]?.code).toBe('RevisionMissing');
    const revision = revisionFor(set);
    const plan = planStatefulSet(snapshotOf(set, { revisions: [revision] }), NOW);
    expect(plan.needsRollout).toBe(false);
    expect(plan.finished).toBe(false);
    expect(plan.steady.map(({ name }) => name)).toEqual(['web-0', 'web-1', 'web-2']);
  });

  it('S14: ready pods are replaced from the highest ordinal down within maxUnavailable', () => {
    const { set, old, revisions } = rolloutOf({ replicas: 5, maxUnavailable: 3, partition: 4 });
    const pods = [0, 1, 2, 3, 4].map((ordinal) => podOf(set, ordinal, old.metadata.name));
    const canary = planStatefulSet(snapshotOf(set, { revisions, pods }), NOW);
    expect(canary.batch.map(({ name, verb }) => `${verb} ${name}`)).toEqual(['delete web-4']);
    const all = planStatefulSet(snapshotOf({ ...set, partition: 0 }, { revisions, pods }), NOW);
    expect(all.batch.map(({ name }) => name)).toEqual(['web-4', 'web-3', 'web-2']);
    expect(all.batch.every(({ charged }) => charged === true)).toBe(true);
  });
});
