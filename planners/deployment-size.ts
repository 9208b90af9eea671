/** How large the ReplicaSet of a Deployment that is to have all its pods may be now (P10, P12, KEP-5882). */

import type { DeploymentView, OwnedReplicaSet } from './deployment-view.ts';
import type { PlanBuilder } from './plan-builder.ts';
import { explainTermination } from './pod-reasons.ts';

/**
 * The size that the new ReplicaSet may have now (P10), or what a pause has left of an older one: all that is wanted, but no more
 * pods at a time than replicas and surge together. As long as another one is still to delete pods nothing grows; with
 * TerminationComplete pods keep their places until they are gone (P12 for Recreate, which begins when nothing of the others is
 * left). Gives the reason where that is less than wanted.
 */
export function legalSize(view: DeploymentView, plan: PlanBuilder, growing: OwnedReplicaSet): number {
  const { workload, budget, all } = view;
  const { replicas, strategy, podReplacementPolicy } = workload;
  if (growing.size >= replicas) return replicas;
  const others = all.filter((one) => one !== growing);
  if (strategy === 'Recreate') {
    const there = others.flatMap(({ active, terminating }) => [...active, ...terminating]);
    for (const pod of there) explainTermination(view, plan, pod);
    const isLeft = there.length > 0 || others.some((one) => placesUntilGone(one) > 0 || !one.observed);
    return isLeft ? growing.size : replicas;
  }
  const isComplete = podReplacementPolicy === 'TerminationComplete';
  for (const pod of isComplete ? all.flatMap(({ terminating }) => terminating) : [])
    explainTermination(view, plan, pod);
  if (others.some(isShrinking)) return growing.size;
  const taken = all.reduce((sum, one) => sum + (isComplete ? placesUntilGone(one) : one.places), 0);
  const room = replicas + budget.maxSurge - taken;
  return Math.min(replicas, growing.size + Math.max(0, room));
}

/** It has yet to delete pods: what that frees is taken in one step rather than pod by pod. */
function isShrinking({ observed, active, size }: OwnedReplicaSet): boolean {
  return !observed || active.length > size;
}

/** Places that are taken as long as any pod is there, being deleted or not. */
function placesUntilGone({ places, leaving, replicaSet }: OwnedReplicaSet): number {
  return Math.max(places, replicaSet.status?.replicas ?? 0) + leaving;
}
