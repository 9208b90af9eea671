/** Properties of the Deployment's planner over random histories: users, kubelets, ReplicaSet controllers that come late. */

import { describe, expect, it } from '@jest/globals';
import { fc } from '../support/properties.ts';

import { deploymentBudgetOf } from '../../planners/deployment-budget.ts';
import { planDeployment } from '../../planners/deployment.ts';
import type { Deployment } from '../../planners/workload.ts';
import type {
  DeploymentCheck,
  DeploymentPlanner,
  Operation,
  SimulatedDeployment,
} from '../support/simulated-replica-sets.ts';
import { deploymentHistories, runDeploymentHistory } from '../support/simulated-replica-sets.ts';
import { normaliseTemplate } from '../../planners/template-defaults.ts';

const RUNS = Number(process.env['FAIRLEAD_PROPERTY_RUNS'] ?? 100);
const nothing: DeploymentCheck = () => undefined;

interface Play {
  readonly planner?: DeploymentPlanner;
  readonly check?: DeploymentCheck;
  readonly settings?: Partial<Deployment>;
  readonly without?: readonly Operation[];
  readonly runs?: number;
}

/** `after` is called after each operation, `end` at the end of each history. */
function always(
  after: () => (cluster: SimulatedDeployment) => void,
  { planner = planDeployment, check = nothing, settings = {}, without = [], runs = RUNS }: Play = {},
  end: (cluster: SimulatedDeployment) => void = () => undefined,
): void {
  fc.assert(
    fc.property(deploymentHistories(settings, without), (history) => {
      end(runDeploymentHistory(history, planner, check, after()));
    }),
    { numRuns: runs },
  );
}

/** Once enough were available, there are never fewer: nothing in these histories takes a pod but the rollout. */
const keepsEnough = () => {
  let reached = false;
  return (cluster: SimulatedDeployment): void => {
    const least = cluster.deployment.replicas - deploymentBudgetOf(cluster.deployment).maxUnavailable;
    const available = cluster.available();
    reached ||= available >= least;
    if (reached) expect(available).toBeGreaterThanOrEqual(least);
  };
};
const NO_ACCIDENTS: readonly Operation[] = ['crash', 'kill', 'scale', 'foreign'];

/** At no moment more pods than replicas and surge. */
const neverTooMany = () => (cluster: SimulatedDeployment) => {
  const { replicas } = cluster.deployment;
  const { maxSurge } = deploymentBudgetOf(cluster.deployment);
  expect(cluster.active().length).toBeLessThanOrEqual(replicas + maxSurge);
};

/** What a planner with one more in its budget would do; the checks must find it out. */
function generous(field: 'maxUnavailable' | 'maxSurge'): DeploymentPlanner {
  return (snapshot, now) => {
    const { workload } = snapshot;
    const budget = deploymentBudgetOf(workload);
    const amounts = { ...budget, [field]: budget[field] + 1 };
    return planDeployment({ ...snapshot, workload: { ...workload, ...amounts } }, now);
  };
}

describe('a Deployment at any moment', () => {
  it('P11: never fewer available than replicas − maxUnavailable by our doing', () => {
    always(keepsEnough, { without: NO_ACCIDENTS });
  });

  it('… which a planner that takes one more does not pass', () => {
    expect(() => {
      always(keepsEnough, { without: NO_ACCIDENTS, planner: generous('maxUnavailable') });
    }).toThrow();
  });

  it('P10: never more pods than replicas + maxSurge', () => {
    always(neverTooMany, { without: ['scale', 'foreign'] });
  });

  it('… which a planner that makes one more does not pass', () => {
    expect(() => {
      always(neverTooMany, { without: ['scale', 'foreign'], planner: generous('maxSurge') });
    }).toThrow();
  });

  it('KEP-5882: with TerminationComplete not even with those that are being deleted', () => {
    const withGoing = () => (cluster: SimulatedDeployment) => {
      const { replicas } = cluster.deployment;
      const { maxSurge } = deploymentBudgetOf(cluster.deployment);
      const all = [...cluster.sets.values()].flatMap((set) => cluster.podsOf(set));
      expect(all.length).toBeLessThanOrEqual(replicas + maxSurge);
    };
    // A pod that is killed is replaced by its ReplicaSet, which does not wait; here nobody kills any.
    always(withGoing, {
      settings: { podReplacementPolicy: 'TerminationComplete' },
      without: ['scale', 'foreign', 'kill'],
    });
  });

  it('P12: Recreate has pods of one template at a time', () => {
    const oneTemplate = () => (cluster: SimulatedDeployment) => {
      const images = [...cluster.pods.values()].map(({ spec }) => spec.containers[0]?.image);
      expect(new Set(images).size).toBeLessThanOrEqual(1);
    };
    always(oneTemplate, {
      settings: { strategy: 'Recreate' },
      without: ['foreign', 'kill', 'scale'],
    });
  });

  it('a template has one ReplicaSet, however the apiserver stores it', () => {
    const oneSet = () => (cluster: SimulatedDeployment) => {
      const images = [...cluster.sets.values()].map(({ spec }) => spec.template.spec.containers[0]?.image);
      expect(new Set(images).size).toBe(images.length);
    };
    always(oneSet, { without: ['foreign'] });
  });

  it('progress is always possible: with a good template it comes to its end', () => {
    const good = normaliseTemplate({
      metadata: { labels: { app: 'web' } },
      spec: { containers: [{ name: 'main', image: 'api:good' }] },
    });
    fc.assert(
      fc.property(
        deploymentHistories(),
        fc.constantFrom<Deployment['strategy'][]>('RollingUpdate', 'Recreate'),
        (history, strategy) => {
          const cluster = runDeploymentHistory(history, planDeployment, nothing);
          const { paused: _, ...rest } = cluster.deployment;
          cluster.deployment = { ...rest, strategy };
          cluster.change({ template: good });
          expect(cluster.settle(planDeployment, nothing)).toBe(true);
          expect(cluster.available()).toBe(cluster.deployment.replicas);
          expect(
            new Set(cluster.active().map(({ spec }) => spec.containers[0]?.image)).size,
          ).toBeLessThanOrEqual(1);
        },
      ),
      { numRuns: RUNS },
    );
  });

  it('the same snapshot gives the same plan', () => {
    const twice: DeploymentCheck = (cluster, plan) => {
      const { status: _, ...again } = planDeployment(structuredClone(cluster.snapshot()), cluster.now);
      expect({ ...again, status: plan.status }).toEqual(plan);
    };
    always(() => () => undefined, { check: twice, runs: Math.min(RUNS, 100) });
  });

  it('C4: nothing is written to what is not owned, but to adopt it; each write has its preconditions', () => {
    const onlyOurs: DeploymentCheck = (cluster, { steady, batch }) => {
      for (const { purpose, name, uid, resourceVersion, resource } of [...steady, ...batch]) {
        const set = cluster.sets.get(name);
        expect([resource, set?.metadata.uid]).toEqual(['replicasets', uid]);
        const isFree = (set?.metadata.ownerReferences ?? []).length === 0;
        const isOurs = set !== undefined && cluster.isOurs(set) && resourceVersion !== undefined;
        expect(purpose === 'Adopt' ? isFree : isOurs).toBe(true);
      }
    };
    always(() => () => undefined, { check: onlyOurs });
  });
});
