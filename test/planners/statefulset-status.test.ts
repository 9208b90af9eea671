import { describe, expect, it } from '@jest/globals';

import type { Pod } from '../../planners/objects.ts';
import { planStatefulSet } from '../../planners/statefulset.ts';
import type { StatefulSet } from '../../planners/workload.ts';
import { NOW, podOf, rolloutOf, snapshotOf } from '../support/statefulset-fixtures.ts';

describe('status (S17–S20)', () => {
  const { set, old, update, revisions } = rolloutOf({ replicas: 3 });
  const [o, u] = [old.metadata.name, update.metadata.name];
  const statusOf = (one: StatefulSet, pods: readonly Pod[]) =>
    planStatefulSet(snapshotOf(one, { revisions, pods }), NOW).status;

  it('S17: terminating pods count as replicas and ready, not as current or updated; condemned ones count', () => {
    const status = statusOf({ ...set, replicas: 2 }, [
      podOf(set, 0, o),
      podOf(set, 1, u, { terminating: true }),
      podOf(set, 2, u, { ready: false }),
      podOf(set, 3, 'web-unknown'),
    ]);
    expect(status).toMatchObject({
      replicas: 4,
      readyReplicas: 3,
      availableReplicas: 3,
      currentReplicas: 1,
      updatedReplicas: 1,
      currentRevision: o,
      updateRevision: u,
    });
  });

  it('S17: a pod without a phase is not there yet; minReadySeconds and updates in place make it unavailable', () => {
    const { status: _, ...unseen } = podOf(set, 0, u);
    const fresh = podOf(set, 1, u, { readySince: NOW - 1_000 });
    const updating = podOf(set, 2, u, { annotations: { 'fairlead.dev/in-place-update': '{}' } });
    expect(statusOf({ ...set, minReadySeconds: 5 }, [unseen, fresh, updating])).toMatchObject({
      replicas: 2,
      readyReplicas: 2,
      availableReplicas: 0,
      updatedReplicas: 2,
    });
  });

  it('S20: of a revision that was observed and is gone no pod counts as updated, least of all those at the one before', () => {
    const observed = { ...set.status, observedGeneration: set.generation, updateRevision: u };
    const pods = [podOf(set, 0, o), podOf(set, 1, o), podOf(set, 2, u)];
    const lost = snapshotOf({ ...set, status: observed }, { revisions: [old], pods });
    expect(planStatefulSet(lost, NOW).status).toMatchObject({
      updatedReplicas: 0,
      currentReplicas: 2,
      updateRevision: u,
    });
  });

  it.each([
    ['all updated and ready', {}, [u, u, u], true, u],
    ['one is old', {}, [o, u, u], true, o],
    ['one is not ready', {}, [u, u, u], false, o],
    ['a partition', { partition: 1 }, [o, u, u], true, o],
    ['OnDelete never', { updateStrategy: 'OnDelete' }, [u, u, u], true, o],
  ] as const)(
    'S19: the current revision moves on when the rollout is complete: %s',
    (_, overrides, labels, ready, current) => {
      const pods = labels.map((label, ordinal) =>
        podOf(set, ordinal, label, { ready: ordinal === 0 ? ready : true }),
      );
      const status = statusOf({ ...set, ...overrides }, pods);
      expect(status.currentRevision).toBe(current);
      expect(status.currentReplicas).toBe(current === u ? 3 : labels.filter((label) => label === o).length);
    },
  );

  it('S19: replicas must be as asked for: one too many is not complete', () => {
    const pods = [0, 1, 2, 3].map((ordinal) => podOf(set, ordinal, u));
    expect(statusOf(set, pods).currentRevision).toBe(o);
  });

  it('S20: conditions of others are kept', () => {
    const conditions = [{ type: 'Foreign', status: 'True' as const }];
    expect(statusOf({ ...set, status: { ...set.status, conditions } }, []).conditions).toEqual(conditions);
  });

  it('S8: a current revision that is gone is the update revision', () => {
    const status = statusOf({ ...set, status: { ...set.status, currentRevision: 'web-gone' } }, [
      podOf(set, 0, o),
    ]);
    expect(status.currentRevision).toBe(u);
  });

  it('scale subresource: the selector is in the status of fairlead.dev, apps/v1 has no place for it', () => {
    expect(statusOf(set, []).labelSelector).toBe('app=web');
    expect(statusOf({ ...set, ref: { ...set.ref, group: 'apps', version: 'v1' } }, [])).not.toHaveProperty(
      'labelSelector',
    );
  });

  it('P18: progress counts what the strategy wants', () => {
    const pods = [podOf(set, 0, o), podOf(set, 1, u), podOf(set, 2, u, { ready: false })];
    const { progress } = planStatefulSet(
      snapshotOf({ ...set, partition: 1, maxUnavailable: 2 }, { revisions, pods }),
      NOW,
    );
    expect(progress).toEqual({
      target: 2,
      updated: 2,
      updatedReady: 1,
      updatedAvailable: 1,
      desired: 3,
      ready: 2,
      available: 2,
      unavailable: 1,
      maxUnavailable: 2,
    });
  });
});
