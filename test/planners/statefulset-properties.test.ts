/** Properties of the planner over random histories: users, crashes, lost nodes, refused writes, a worker that dies anywhere. */

import { describe, expect, it } from '@jest/globals';
import { fc } from '../support/properties.ts';

import { resolveIntOrPercent } from '../../planners/int-or-percent.ts';
import type { Pod } from '../../planners/objects.ts';
import { PURPOSES } from '../../planners/plan.ts';
import type { Purpose } from '../../planners/plan.ts';
import type { Plan } from '../../planners/plan.ts';
import { planStatefulSet } from '../../planners/statefulset.ts';
import type { Snapshot, StatefulSet, StatefulSetStatus } from '../../planners/workload.ts';
import type { SimulatedCluster } from '../support/simulated-cluster.ts';
import { runsOldImage } from '../support/simulated-kubelet.ts';
import { budgetBreaches, histories, runHistory, templateNumber } from '../support/simulated-history.ts';
import type { Planner } from '../support/simulated-history.ts';

const RUNS = Number(process.env['FAIRLEAD_PROPERTY_RUNS'] ?? 60);

type Check = (plan: Plan<StatefulSetStatus>, snapshot: Snapshot<StatefulSet>, now: number) => void;

function always(check: Check, settings: Partial<StatefulSet> = {}, planner: Planner = planStatefulSet): void {
  fc.assert(
    fc.property(histories(settings), (history) => {
      runHistory(history, planner, check);
    }),
    { numRuns: RUNS },
  );
}

/** A planner that believes in one pod more than the user allows. */
const mutant: Planner = (snapshot, now) => {
  const { workload } = snapshot;
  const maxUnavailable =
    Math.max(1, resolveIntOrPercent(workload.maxUnavailable, workload.replicas, 'down')) + 1;
  return planStatefulSet({ ...snapshot, workload: { ...workload, maxUnavailable } }, now);
};

/** Settings under which most updates are done in place. */
const IN_PLACE = {
  podUpdatePolicy: 'InPlaceIfPossible',
  podManagementPolicy: 'Parallel',
  replicas: 3,
} as const;

function ordinalOf(name: string): number {
  return Number(name.slice(name.lastIndexOf('-') + 1));
}

/** Writes that a StatefulSet never needs. */
const OF_OTHERS: ReadonlySet<Purpose> = new Set([
  'Surge',
  'Cordon',
  'Evict',
  'Uncordon',
  'PrePull',
  'PrePullDone',
  'ScaleReplicaSet',
  'GrowReplicaSet',
  'ShrinkReplicaSet',
  'AnnotateReplicaSet',
]);

describe('properties of the StatefulSet planner', () => {
  const withinBudget: Check = (plan, snapshot, now) => {
    expect(budgetBreaches(plan, snapshot, now)).toEqual([]);
  };

  it('histories reach every kind of write', () => {
    const seen = new Set<string>();
    const note: Check = (plan) => {
      for (const { purpose } of [...plan.steady, ...plan.batch]) seen.add(purpose);
    };
    // Always the same histories: this one asks whether the generator is any good.
    for (const settings of [{}, IN_PLACE]) {
      fc.assert(
        fc.property(histories(settings), (history) => {
          runHistory(history, planStatefulSet, note);
        }),
        { numRuns: 100 },
      );
    }
    expect([...seen].sort()).toEqual(PURPOSES.filter((one) => !OF_OTHERS.has(one)).sort());
  });

  it('design "Budget": no write to a Ready pod beyond maxUnavailable', () => always(withinBudget));

  it('design "Budget": a planner with one pod more is caught', () => {
    expect(() => always(withinBudget, { podManagementPolicy: 'Parallel' }, mutant)).toThrow();
  });

  it('design "Budget": exactly the writes to Ready pods are charged', () =>
    always((plan, { pods }) => {
      for (const action of plan.batch) {
        const pod = pods.find(({ metadata }) => metadata.name === action.name);
        const ready = pod?.status?.conditions?.find(({ type }) => type === 'Ready')?.status === 'True';
        expect([action.name, action.charged === true]).toEqual([action.name, ready]);
      }
    }));

  it('design "One planner per kind": the steady state never takes a Ready pod out of service for an update', () =>
    always((plan, { pods }) => {
      for (const action of plan.steady) {
        const pod = pods.find(({ metadata }) => metadata.name === action.name);
        const ready = pod?.status?.conditions?.find(({ type }) => type === 'Ready')?.status === 'True';
        if (!ready || action.resource !== 'pods' || ['ScaleDown', 'ReplaceFinished'].includes(action.purpose))
          continue;
        expect(action.verb).toBe('patch');
        const { spec } = action.body as {
          readonly spec?: { readonly containers?: readonly { readonly image?: string }[] };
        };
        expect(spec?.containers?.some(({ image }) => image !== undefined) ?? false).toBe(false);
      }
    }));

  it('S10, S14: only pods from the partition up are brought to the update revision, and none under OnDelete or pause', () =>
    always((plan, { workload }) => {
      for (const action of plan.batch) {
        expect(ordinalOf(action.name)).toBeGreaterThanOrEqual(workload.start + workload.partition);
      }
      const held = workload.updateStrategy === 'OnDelete' || workload.paused !== undefined;
      expect(held && plan.batch.length > 0).toBe(false);
    }));

  it('S8, S10: without a status, a pod below the partition comes back at what the others there have', () => {
    let seen = 0;
    always((_, snapshot, now) => {
      const { workload, pods, revisions } = snapshot;
      const isBelow = ({ metadata }: Pod) =>
        ordinalOf(metadata.name) >= workload.start &&
        ordinalOf(metadata.name) < workload.start + Math.min(workload.partition, workload.replicas) &&
        metadata.labels?.['app'] === 'web' &&
        metadata.deletionTimestamp === undefined;
      const [lost, ...others] = pods.filter(isBelow);
      const labels = new Set(others.map(({ metadata }) => metadata.labels?.['controller-revision-hash']));
      const [label] = labels;
      const isKnown = revisions.some(({ metadata }) => metadata.name === label);
      if (workload.updateStrategy !== 'RollingUpdate' || labels.size !== 1 || !isKnown) return;
      const anew = { ...workload, status: { replicas: 0 } };
      const rest = pods.filter((pod) => pod !== lost);
      const plan = planStatefulSet({ ...snapshot, workload: anew, pods: rest }, now);
      const made = plan.steady.filter(
        ({ purpose, name }) => purpose === 'ScaleUp' && name === lost?.metadata.name,
      );
      for (const { revision } of made) {
        seen += 1;
        expect(revision).toBe(label);
      }
    });
    expect(seen).toBeGreaterThan(0);
  });

  it('S9, S11: OrderedReady creates one pod at a time, and only above pods that are all available', () =>
    always(
      (plan, { workload, pods }, now) => {
        const creates = plan.steady.filter(({ purpose }) => purpose === 'ScaleUp');
        expect(creates.length).toBeLessThanOrEqual(1);
        for (const { name } of creates) {
          for (let ordinal = workload.start; ordinal < ordinalOf(name); ordinal += 1) {
            const pod = pods.find(({ metadata }) => metadata.name === `web-${String(ordinal)}`);
            const ready = pod?.status?.conditions?.find(({ type }) => type === 'Ready');
            expect([pod?.metadata.deletionTimestamp, ready?.status]).toEqual([undefined, 'True']);
            const since = Date.parse(ready?.lastTransitionTime ?? '');
            expect(since + workload.minReadySeconds * 1000).toBeLessThanOrEqual(now);
          }
        }
      },
      { podManagementPolicy: 'OrderedReady' },
    ));

  it('S9, S12: OrderedReady takes no Ready pod for an update while one is there that is too many', () => {
    let seen = 0;
    always(
      (plan, { workload, pods, refusals }) => {
        const excess = pods.filter(({ metadata }) => {
          const offset = ordinalOf(metadata.name) - workload.start;
          const owner = metadata.ownerReferences?.find(({ controller }) => controller === true);
          const isOurs = owner?.uid === workload.ref.uid && metadata.labels?.['app'] === 'web';
          return isOurs && (offset < 0 || offset >= workload.replicas);
        });
        // What the apiserver refuses for long holds nothing up.
        if (excess.length === 0 || refusals.size > 0) return;
        seen += 1;
        expect(plan.batch.filter(({ charged }) => charged === true)).toEqual([]);
      },
      { podManagementPolicy: 'OrderedReady', replicas: 6, start: 0, minReadySeconds: 0 },
    );
    expect(seen).toBeGreaterThan(0);
  });

  it('S13: Ready pods are taken from the highest ordinal down', () =>
    always((plan, { workload, pods }) => {
      const charged = plan.batch
        .filter((action) => action.charged === true)
        .map(({ name }) => ordinalOf(name));
      expect(charged).toEqual([...charged].sort((a, b) => b - a));
      const lowest = Math.min(...charged);
      const skipped = pods.filter(
        ({ metadata, status }) =>
          ordinalOf(metadata.name) > lowest &&
          ordinalOf(metadata.name) < workload.start + workload.replicas &&
          metadata.deletionTimestamp === undefined &&
          metadata.labels?.['app'] === 'web' &&
          status?.conditions?.some(({ type, status: value }) => type === 'Ready' && value === 'True') ===
            true &&
          metadata.labels?.['controller-revision-hash'] !== plan.updateRevision &&
          metadata.annotations?.['fairlead.dev/in-place-update'] === undefined,
      );
      const names = new Set([...plan.batch, ...plan.steady].map(({ name }) => name));
      expect(
        skipped.map(({ metadata }) => metadata.name).filter((name) => !names.has(name) && charged.length > 0),
      ).toEqual([]);
    }));

  it('C4: no write to a pod that is not owned but its adoption; deletes and patches carry the uid', () =>
    always((plan, { workload, pods }) => {
      for (const action of [...plan.steady, ...plan.batch]) {
        if (action.verb === 'create') continue;
        expect(action.uid).toBeDefined();
        if (action.resource !== 'pods') continue;
        const pod = pods.find(({ metadata }) => metadata.uid === action.uid);
        const owner = pod?.metadata.ownerReferences?.find(({ controller }) => controller === true);
        expect(owner?.uid).toBe(action.purpose === 'Adopt' ? undefined : workload.ref.uid);
      }
    }));

  it('S4: no pod of the replicas is deleted while a claim would go with it, had all been above them before', () => {
    let seen = 0;
    always(
      (_, snapshot, now) => {
        const { workload, pods } = snapshot;
        const uids = new Map(pods.map(({ metadata }) => [`data-${metadata.name}`, metadata]));
        const claims = snapshot.claims.map((claim) => {
          const { name = '', uid = '' } = uids.get(claim.metadata.name) ?? {};
          const ownerReferences = [{ apiVersion: 'v1', kind: 'Pod', name, uid, controller: true }];
          return uid === '' ? claim : { ...claim, metadata: { ...claim.metadata, ownerReferences } };
        });
        const plan = planStatefulSet({ ...snapshot, claims }, now);
        const released = plan.steady.filter(({ purpose }) => purpose === 'RetainClaim');
        seen += released.length;
        for (const { verb, resource, name } of [...plan.steady, ...plan.batch]) {
          const offset = ordinalOf(name) - workload.start;
          if (verb !== 'delete' || resource !== 'pods' || offset < 0 || offset >= workload.replicas) continue;
          expect(claims.map(({ metadata }) => metadata.name)).not.toContain(`data-${name}`);
        }
      },
      { whenScaled: 'Delete', volumeClaimTemplates: [{ metadata: { name: 'data' }, spec: {} }] },
    );
    expect(seen).toBeGreaterThan(0);
  });

  it('design "Once": one plan writes to an object once', () =>
    always((plan) => {
      const keys = [...plan.steady, ...plan.batch].map(({ resource, name }) => `${resource}/${name}`);
      expect(new Set(keys).size).toBe(keys.length);
    }));

  it('design "One planner per kind": the same snapshot gives the same plan, in whatever order lists come', () =>
    always((plan, snapshot, now) => {
      expect(planStatefulSet(structuredClone(snapshot), now)).toEqual(plan);
      const shuffled = {
        ...snapshot,
        pods: [...snapshot.pods].reverse(),
        revisions: [...snapshot.revisions].reverse(),
        claims: [...snapshot.claims].reverse(),
      };
      expect(planStatefulSet(shuffled, now)).toEqual(plan);
    }));

  it('design "One planner per kind": whenever nothing is done and it is not finished, waiting says why', () =>
    always((plan) => {
      if (plan.finished || plan.steady.length > 0 || plan.batch.length > 0) return;
      expect(plan.waiting).not.toEqual([]);
      for (const { message } of plan.waiting) expect(message).toMatch(/\w/);
    }));

  it('design "One planner per kind": when time alone changes the plan, requeueAt says when', () =>
    always((plan, snapshot, now) => {
      const shape = (one: Plan<StatefulSetStatus>) =>
        JSON.stringify([
          one.steady.map(({ verb, name, purpose }) => [verb, name, purpose]),
          one.batch.map(({ verb, name, purpose }) => [verb, name, purpose]),
          one.status,
          one.finished,
          one.waiting.map(({ code, pods }) => [code, pods]),
        ]);
      for (const later of [500, 2_500, 6_000, 45_000, 120_000]) {
        if (shape(planStatefulSet(snapshot, now + later)) === shape(plan)) continue;
        expect(plan.requeueAt).toBeDefined();
        expect(plan.requeueAt).toBeLessThanOrEqual(now + later);
      }
    }));

  it('in-place.md 1–4: the gate is opened only when no container runs an old image', () =>
    always((plan, { pods }) => {
      for (const action of plan.steady) {
        if (action.subresource !== 'status' || !JSON.stringify(action.body).includes('"True"')) continue;
        const pod = pods.find(({ metadata }) => metadata.name === action.name);
        expect([action.name, pod !== undefined && runsOldImage(pod)]).toEqual([action.name, false]);
      }
    }, IN_PLACE));

  it('design "What a run is": finished and needsRollout are never both true', () =>
    always((plan) => {
      expect(plan.finished && plan.needsRollout).toBe(false);
    }));

  it('design "What a run is": whenever the rollout has something to write, needsRollout says so', () =>
    always((plan) => {
      expect(plan.batch.length > 0 && !plan.needsRollout).toBe(false);
    }));

  it('S17, S18: status holds what the apiserver takes', () =>
    always(({ status }, { workload }) => {
      for (const value of [
        status.readyReplicas,
        status.currentReplicas,
        status.updatedReplicas,
        status.availableReplicas,
      ]) {
        expect(value).toBeGreaterThanOrEqual(0);
        expect(value).toBeLessThanOrEqual(status.replicas);
      }
      expect(status.availableReplicas).toBeLessThanOrEqual(status.readyReplicas ?? 0);
      expect(status.observedGeneration ?? 0).toBeLessThanOrEqual(workload.generation);
    }));

  it('design "A broken revision …": whatever happened before, a good revision is always reached', () => {
    fc.assert(
      fc.property(histories(), fc.integer({ min: 0, max: 6 }), (history, replicas) => {
        const cluster = runHistory(history, planStatefulSet, () => undefined);
        mend(cluster, replicas);
        converge(cluster);
      }),
      { numRuns: RUNS },
    );
  });
});

/** Everything that would rightly hold a rollout up is gone, and the newest template is good. */
function mend(cluster: SimulatedCluster, replicas: number): void {
  cluster.refusesCreates = false;
  cluster.downNodes.clear();
  cluster.pause(false);
  // A pod that a user took out of the set keeps its name; only its user can give that back.
  for (const [name, pod] of cluster.pods) {
    if (pod.metadata.labels?.['app'] !== 'web') cluster.remove(name);
  }
  const podUpdatePolicy =
    cluster.set.podUpdatePolicy === 'InPlaceOnly' ? 'InPlaceIfPossible' : cluster.set.podUpdatePolicy;
  cluster.change({
    partition: 0,
    updateStrategy: 'RollingUpdate',
    replicas,
    podUpdatePolicy,
    template: templateNumber(50),
  });
}

function converge(cluster: SimulatedCluster): void {
  const steps = 100 + 40 * (cluster.set.replicas + cluster.pods.size);
  for (let step = 0; step < steps; step += 1) {
    const snapshot = cluster.snapshot();
    const plan = planStatefulSet(snapshot, cluster.now);
    expect(budgetBreaches(plan, snapshot, cluster.now)).toEqual([]);
    cluster.writeStatus(plan);
    if (plan.finished && plan.steady.length === 0 && !plan.needsRollout && allWell(cluster, plan)) return;
    for (const action of plan.steady) cluster.execute(action);
    if (plan.needsRollout) cluster.createRevision();
    for (const action of plan.batch) cluster.execute(action);
    cluster.kubelets();
    cluster.pass(2_000);
  }
  const plan = planStatefulSet(cluster.snapshot(), cluster.now);
  throw new Error(
    `not finished after ${String(steps)} steps: ${JSON.stringify({ ...plan, pods: [...cluster.pods.values()] })}`,
  );
}

function allWell(cluster: SimulatedCluster, plan: Plan<StatefulSetStatus>): boolean {
  const pods = [...cluster.pods.values()];
  return (
    pods.length === cluster.set.replicas &&
    pods.every(
      (pod) =>
        pod.metadata.labels?.['controller-revision-hash'] === plan.updateRevision &&
        pod.metadata.annotations?.['fairlead.dev/in-place-update'] === undefined &&
        pod.spec.containers[0]?.image === cluster.set.template.spec.containers[0]?.image &&
        pod.status?.containerStatuses?.[0]?.ready === true,
    ) &&
    pods.every((pod) => claimsOf(pod).every((claim) => cluster.claims.has(claim))) &&
    plan.status.currentRevision === plan.updateRevision
  );
}

function claimsOf(pod: Pod): readonly string[] {
  return (pod.spec.volumes ?? []).flatMap((volume) => volume.persistentVolumeClaim?.claimName ?? []);
}
