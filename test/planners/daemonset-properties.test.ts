/** Properties of the DaemonSet's planner over random histories: users, kubelets, nodes that come and go, a worker that forgets. */

import { describe, expect, it } from '@jest/globals';
import { fc } from '../support/properties.ts';

import { desiredPlaces } from '../../planners/daemonset-budget.ts';
import { hashOf } from '../../planners/daemonset-hash.ts';
import { viewDaemonSet } from '../../planners/daemonset-view.ts';
import { planDaemonSet } from '../../planners/daemonset.ts';
import { resolveIntOrPercent } from '../../planners/int-or-percent.ts';
import { eligibilityOf } from '../../planners/node-eligibility.ts';
import type { ControllerRevision, Pod } from '../../planners/objects.ts';
import { PURPOSES } from '../../planners/plan.ts';
import type { Purpose } from '../../planners/plan.ts';
import { templateOfRevision } from '../../planners/template-revision.ts';
import type { DaemonSet } from '../../planners/workload.ts';
import type { DaemonCheck, DaemonPlanner, SimulatedDaemons } from '../support/simulated-daemons.ts';
import { aimOf, daemonHistories, runDaemonHistory } from '../support/simulated-daemons.ts';

const RUNS = Number(process.env['FAIRLEAD_PROPERTY_RUNS'] ?? 40);
const SURGE: Partial<DaemonSet> = { maxSurge: 1, maxUnavailable: 0, podUpdatePolicy: 'ReCreate' };
const nothing: DaemonCheck = () => undefined;

function always(
  judge: (cluster: SimulatedDaemons) => void,
  {
    check = nothing,
    planner = planDaemonSet,
    settings = {},
  }: {
    readonly check?: DaemonCheck;
    readonly planner?: DaemonPlanner;
    readonly settings?: Partial<DaemonSet>;
  } = {},
): void {
  fc.assert(
    fc.property(daemonHistories(settings), (history) => {
      judge(runDaemonHistory(history, planner, check));
    }),
    { numRuns: RUNS },
  );
}

function isLive({ metadata, status }: Pod): boolean {
  return (
    metadata.deletionTimestamp === undefined && status?.phase !== 'Failed' && status?.phase !== 'Succeeded'
  );
}

function isReady({ status }: Pod): boolean {
  return status?.conditions?.some(({ type, status: is }) => type === 'Ready' && is === 'True') === true;
}

function livePodsOn({ pods }: SimulatedDaemons, node: string): readonly Pod[] {
  return [...pods.values()].filter((pod) => isLive(pod) && (pod.spec.nodeName ?? aimOf(pod)) === node);
}

function desiredNodes(cluster: SimulatedDaemons): readonly string[] {
  const { set, nodes, now } = cluster;
  // Which nodes a partition holds at an older template is the planner's to say.
  if (set.partition > 0) return desiredPlaces(viewDaemonSet(cluster.snapshot(), now)).map(({ name }) => name);
  const of = eligibilityOf(set.template);
  return [...nodes.values()].filter((node) => of(node).shouldRun).map(({ metadata }) => metadata.name);
}

function latestNumber({ revisions }: SimulatedDaemons): number | bigint | undefined {
  return revisions.reduce<number | bigint | undefined>(
    (highest, { revision }) => (highest === undefined || revision > highest ? revision : highest),
    undefined,
  );
}

/** Whether a node is for pods of a revision. */
function fits({ nodes }: SimulatedDaemons, revision: ControllerRevision | undefined, name: string) {
  const node = nodes.get(name);
  return node && revision && eligibilityOf(templateOfRevision(revision))(node);
}

/** Writes that a DaemonSet never needs; and adoption, which is the same for all kinds. */
const OF_OTHERS: ReadonlySet<Purpose> = new Set([
  'Adopt',
  'Release',
  'FixIdentity',
  'CreateClaim',
  'RetainClaim',
  'ScaleReplicaSet',
  'GrowReplicaSet',
  'ShrinkReplicaSet',
  'AnnotateReplicaSet',
]);

/** Judged from outside: charged writes may only take as many nodes out of service as the budget has left. */
const withinBudget: DaemonCheck = (cluster, plan) => {
  const desired = desiredNodes(cluster);
  const begun = cluster.revisions.findLast((one) => one.revision === latestNumber(cluster));
  const { annotations, creationTimestamp = '' } = begun?.metadata ?? {};
  const since = Date.parse(annotations?.['fairlead.dev/wanted-since'] ?? creationTimestamp);
  const isForgotten = (node: string) => {
    const ready = cluster.nodes.get(node)?.status?.conditions?.find(({ type }) => type === 'Ready');
    return (
      cluster.set.notReadyNodes === 'Ignore' &&
      ready?.status !== 'True' &&
      Date.parse(ready?.lastTransitionTime ?? '') < since
    );
  };
  const down = desired
    .filter((node) => !isForgotten(node))
    .filter((node) => !livePodsOn(cluster, node).some(isReady)).length;
  const max = Math.max(1, resolveIntOrPercent(cluster.set.maxUnavailable, desired.length, 'up'));
  const byName = cluster.pods;
  const taken = plan.batch.filter(({ verb, name, place }) => {
    const pod = byName.get(name);
    return (
      verb !== 'create' && pod !== undefined && isReady(pod) && isLive(pod) && desired.includes(place ?? '')
    );
  }).length;
  expect(taken === 0 || down + taken <= max).toBe(true);
};

describe('properties of the DaemonSet planner', () => {
  it('histories reach every kind of write', () => {
    const seen = new Set<string>();
    const note: DaemonCheck = (_, plan) => {
      for (const { purpose, body } of [...plan.steady, ...plan.batch]) {
        seen.add(purpose);
        if (purpose === 'Uncordon' && JSON.stringify(body).includes('gaveUp'))
          seen.add('a drain that is given up');
      }
    };
    // Always the same histories: this one asks whether the generator is any good.
    const drain = { timeoutSeconds: 10 };
    for (const settings of [{}, SURGE, { drain }, { drain, prePull: { nodes: 1, timeoutSeconds: 20 } }]) {
      fc.assert(
        fc.property(daemonHistories(settings), (history) => {
          const cluster = runDaemonHistory(history, planDaemonSet, note);
          cluster.heal();
          for (let round = 0; round < 20; round += 1) {
            cluster.act(planDaemonSet, note);
            cluster.kubelets();
            cluster.now += 6_000;
          }
        }),
        { numRuns: 50 },
      );
    }
    expect([...seen].sort()).toEqual(
      [...PURPOSES.filter((one) => !OF_OTHERS.has(one)), 'a drain that is given up'].sort(),
    );
  });

  it('design "Budget": no write to a ready pod beyond maxUnavailable, by nodes', () => {
    always(() => undefined, { check: withinBudget });
  });

  it('the check of the budget finds a planner that takes one too many', () => {
    const mutant: DaemonPlanner = (snapshot, now) => {
      const { workload, nodes = [] } = snapshot;
      const max = resolveIntOrPercent(workload.maxUnavailable, nodes.length, 'up') + 1;
      return planDaemonSet({ ...snapshot, workload: { ...workload, maxUnavailable: max } }, now);
    };
    expect(() => always(() => undefined, { check: withinBudget, planner: mutant })).toThrow();
  });

  it('design "Once": never two live pods on a node without a surge, never more than two with one', () => {
    const most =
      (limit: number): DaemonCheck =>
      (cluster) => {
        for (const node of cluster.nodes.keys())
          expect(livePodsOn(cluster, node).length).toBeLessThanOrEqual(limit);
      };
    always(() => undefined, { check: most(1) });
    always(() => undefined, { check: most(2), settings: SURGE });
  });

  it('with a surge no node loses its only available pod to the rollout', () => {
    always(() => undefined, {
      settings: SURGE,
      check: (cluster, plan) => {
        const desired = desiredNodes(cluster);
        for (const { verb, name, place = '' } of [...plan.steady, ...plan.batch]) {
          const pod = cluster.pods.get(name);
          if (verb !== 'delete' || pod === undefined || !isReady(pod) || !isLive(pod)) continue;
          const others = livePodsOn(cluster, place).filter((one) => one !== pod && isReady(one));
          expect(!desired.includes(place) || others.length > 0).toBe(true);
        }
      },
    });
  });

  it.each<[string, Partial<DaemonSet>]>([
    ['with a partition', { partition: 3 }],
    ['with a pause', { paused: { by: 'test' } }],
  ])('a pod is made only where its own template fits, %s', (_, settings) => {
    always(() => undefined, {
      settings,
      check: (cluster, plan) => {
        for (const { verb, purpose, place = '', revision } of plan.steady) {
          if (verb !== 'create' || purpose !== 'ScaleUp') continue;
          const made = cluster.revisions.find(({ metadata }) => metadata.name === revision);
          expect(fits(cluster, made, place)?.shouldRun).toBe(true);
        }
      },
    });
  });

  it.each<[string, Partial<DaemonSet>, (cluster: SimulatedDaemons) => boolean]>([
    ['a pause', { paused: { by: 'test' } }, ({ set }) => set.paused !== undefined],
    ['a partition of all nodes', { partition: 8 }, ({ set, nodes }) => set.partition >= nodes.size],
  ])('%s: no node loses its only pod while the template that the pod has fits', (_, settings, isFrozen) => {
    always(() => undefined, {
      settings,
      check: (cluster, plan) => {
        if (cluster.set.updateStrategy !== 'RollingUpdate' || !isFrozen(cluster)) return;
        for (const { verb, name, place = '' } of [...plan.steady, ...plan.batch]) {
          const pod = cluster.pods.get(name);
          if (verb !== 'delete' || pod === undefined || !isLive(pod)) continue;
          const label = pod.metadata.labels?.['controller-revision-hash'];
          const own = cluster.revisions.find((one) => hashOf(one) === label);
          const isOnly = livePodsOn(cluster, place).length === 1;
          expect(isOnly && fits(cluster, own, place)?.shouldContinue === true).toBe(false);
        }
      },
    });
  });

  it('every delete and patch has its preconditions, and a pod is written once', () => {
    always(() => undefined, {
      check: (_, plan) => {
        const writes = [...plan.steady, ...plan.batch].filter(({ resource }) => resource === 'pods');
        for (const { verb, uid } of writes) expect(verb === 'create' || uid !== undefined).toBe(true);
        expect(new Set(writes.map(({ name }) => name)).size).toBe(writes.length);
      },
    });
  });

  it('the same snapshot and time give the same plan', () => {
    always((cluster) => {
      const snapshot = cluster.snapshot();
      expect(planDaemonSet(structuredClone(snapshot), cluster.now)).toEqual(
        planDaemonSet(snapshot, cluster.now),
      );
    });
  });

  it.each([
    ['without a surge', {}],
    ['with a surge', SURGE],
  ])('progress is always possible: once all is well every node has one new pod, %s', (_, settings) => {
    always(
      (cluster) => {
        cluster.heal();
        for (let round = 0; round < 60; round += 1) {
          cluster.act(planDaemonSet, nothing);
          cluster.kubelets();
          cluster.now += 6_000;
        }
        const plan = planDaemonSet(cluster.snapshot(), cluster.now);
        expect(plan).toMatchObject({ needsRollout: false, finished: true, steady: [], batch: [] });
        for (const node of desiredNodes(cluster)) {
          const [pod, ...more] = livePodsOn(cluster, node);
          expect([pod?.spec.containers[0]?.image, more]).toEqual(['agent:9', []]);
        }
        expect(plan.status).toMatchObject({
          desiredNumberScheduled: 6,
          updatedNumberScheduled: 6,
          numberAvailable: 6,
        });
      },
      { settings },
    );
  });

  describe('drain', () => {
    const DRAIN: Partial<DaemonSet> = { drain: { timeoutSeconds: 20 } };
    const marked = ({ nodes }: SimulatedDaemons) =>
      [...nodes.values()].filter(
        ({ metadata }) => metadata.annotations?.['fairlead.dev/drain'] !== undefined,
      );

    it('no ready pod is replaced on a node that holds others, but by a scale-down', () => {
      always(() => undefined, {
        settings: DRAIN,
        check: (cluster, plan) => {
          for (const { verb, name, place = '' } of plan.batch) {
            const pod = cluster.pods.get(name);
            if (verb === 'create' || pod === undefined || !isReady(pod) || !isLive(pod)) continue;
            const others = [...cluster.guests.values()].filter(({ spec }) => spec.nodeName === place);
            expect(others).toEqual([]);
          }
        },
      });
    });

    it('the budget holds as without', () => {
      always(() => undefined, { settings: DRAIN, check: withinBudget });
    });

    it('in the end every node is updated and let go, and only what was cordoned for it is uncordoned', () => {
      always(
        (cluster) => {
          cluster.heal();
          for (let round = 0; round < 120; round += 1) {
            cluster.act(planDaemonSet, nothing);
            cluster.kubelets();
            cluster.now += 6_000;
          }
          const plan = planDaemonSet(cluster.snapshot(), cluster.now);
          expect(plan).toMatchObject({ needsRollout: false, finished: true, steady: [], batch: [] });
          expect(marked(cluster)).toEqual([]);
          const closed = [...cluster.nodes.values()].filter(({ spec }) => spec?.unschedulable === true);
          expect(closed.map(({ metadata }) => metadata.name).sort()).toEqual([...cluster.closed].sort());
        },
        { settings: DRAIN },
      );
    });
  });
});
