/** What counts as progress of a rollout: its deadline begins anew (P18). */

import { asRecord } from '../kubernetes/values.ts';
import type { JsonObject } from '../planners/objects.ts';
import type { Plan } from '../planners/plan.ts';

/** Counters whose growth is progress (P18), of all kinds. */
const COUNTERS = [
  'updatedReplicas',
  'readyReplicas',
  'availableReplicas',
  'updatedNumberScheduled',
  'numberReady',
  'numberAvailable',
];

/** Whether a plan's status is progress against the one that is served. */
export function hasProgressed(served: JsonObject, plan: Plan<object>): boolean {
  const wanted = asRecord(plan.status);
  const grew = COUNTERS.some((counter) => number(wanted[counter]) > number(served[counter]));
  const isReplaced = plan.conditions !== undefined && oldOnes(wanted) < oldOnes(served);
  return grew || isReplaced || wanted['updateRevision'] !== served['updateRevision'];
}

/** Where pods are not replaced one by one, that there are fewer old ones is progress too (P18). */
function oldOnes(status: JsonObject): number {
  return number(status['replicas']) - number(status['updatedReplicas']);
}

function number(value: unknown): number {
  return typeof value === 'number' ? value : 0;
}
