import { describe, expect, it } from '@jest/globals';

import type { Pod } from '../../planners/objects.ts';
import { planStatefulSet } from '../../planners/statefulset.ts';
import type { StatefulSet } from '../../planners/workload.ts';
import {
  NOW,
  podOf,
  revisionFor,
  rolloutOf,
  snapshotOf,
  templateOf,
} from '../support/statefulset-fixtures.ts';

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

  it.each([
    ['pods below the partition have the old one', 2, [o, o, u], o],
    ['one of those below the partition has the old one', 2, [u, o, u], o],
    ['pods below the partition are at the update revision', 2, [u, u, o], u],
    ['none is below the partition', 2, [undefined, undefined, o], o],
    ['pods below the partition are at a revision that is gone', 2, ['web-gone', 'web-gone', u], u],
    ['no partition, in the middle of a rollout', 0, [o, u, u], o],
    ['no pods', 2, [], u],
  ])(
    'S8: without a current revision in the status it is that of the pods: %s',
    (_, partition, labels, current) => {
      const pods = labels.flatMap((label, ordinal) =>
        label === undefined ? [] : [podOf(set, ordinal, label)],
      );
      const orphans = pods.map((pod) => ({ ...pod, metadata: { ...pod.metadata, ownerReferences: [] } }));
      for (const status of [{ replicas: 0 }, { ...set.status, currentRevision: 'web-lost' }]) {
        const anew = { ...set, partition, status };
        expect(statusOf(anew, pods)).toMatchObject({
          currentRevision: current,
          currentReplicas: labels.filter((label) => label === current).length,
        });
        expect(statusOf(anew, orphans).currentRevision).toBe(current);
      }
    },
  );

  it('S8: of several old ones below the partition it is the newest, and what is gone back to is no old one', () => {
    const third = { ...set, template: templateOf('web:3'), partition: 3, status: { replicas: 0 } };
    const newest = revisionFor(third, revisions);
    const all = [...revisions, newest];
    const plan = (one: StatefulSet, labels: readonly string[]) => {
      const pods = labels.map((label, ordinal) => podOf(set, ordinal, label));
      return planStatefulSet(snapshotOf(one, { revisions: all, pods }), NOW).status.currentRevision;
    };
    expect(plan(third, [u, o, o])).toBe(u);
    expect(plan({ ...third, template: templateOf('web:1') }, [o, o, o])).toBe(o);
    expect(plan({ ...third, template: templateOf('web:4') }, [o, o, o])).toBe(o);
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
