/** Observations of a rollout of ten pods, two at a time, as activities get them from the plan feed. */

import type { Observation } from '../../controllers/plan-feed.ts';
import type { Plan } from '../../planners/plan.ts';
import { setOf } from './statefulset-fixtures.ts';

const workload = setOf({ replicas: 10, maxUnavailable: 2 });

/** Reference of the run whose observations these are. */
export const rolloutInput = { clusterUid: 'c', workload: workload.ref, target: 't' };

/** In the middle of the rollout, nothing to write, but for what `plan` and `change` say. */
export function observationOf(plan: Partial<Plan<object>>, change: Partial<Observation> = {}): Observation {
  const progress = {
    target: 10,
    updated: 4,
    updatedReady: 2,
    updatedAvailable: 2,
    desired: 10,
    ready: 8,
    available: 8,
    unavailable: 2,
    maxUnavailable: 2,
  };
  const all: Plan<object> = {
    steady: [],
    batch: [],
    status: {},
    progress,
    waiting: [],
    needsRollout: true,
    finished: false,
    settled: true,
    updateRevision: 'api-1',
    ...plan,
  };
  return { workload, plan: all, target: 't', timedOut: false, ...change };
}
