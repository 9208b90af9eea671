/** Sizes of ReplicaSets: the write that changes one, and what a Deployment that is scaled in the middle of a rollout gives each (P7, P8). */

import { numberIn, sizeAnnotations } from './deployment-annotations.ts';
import { legalSize } from './deployment-size.ts';
import type { DeploymentView, OwnedReplicaSet } from './deployment-view.ts';
import { totalSize } from './deployment-view.ts';
import { DEPLOYMENT_ANNOTATION } from './names.ts';
import type { Action, Purpose } from './plan.ts';
import type { PlanBuilder } from './plan-builder.ts';

/** The write that gives a ReplicaSet a size, and the annotations that say for which size of the Deployment it is (P5). */
export function scaleAction(
  { workload, budget }: DeploymentView,
  { replicaSet, name, size }: OwnedReplicaSet,
  to: number,
  purpose: Purpose,
): Action {
  const { uid, resourceVersion } = replicaSet.metadata;
  const annotations = sizeAnnotations(workload.replicas, budget.maxSurge);
  return {
    verb: 'patch',
    resource: 'replicasets',
    name,
    uid,
    resourceVersion,
    body: { metadata: { annotations }, spec: { replicas: to } },
    purpose,
    message: `Scaled ${to < size ? 'down' : 'up'} replica set ${name} from ${String(size)} to ${String(to)}`,
    pods: Math.abs(to - size),
    label: `${name}: ${String(size)} → ${String(to)}`,
  };
}

/** P7: some ReplicaSet with pods has its size for another size of the Deployment. */
export function isScalingEvent({ workload, all }: DeploymentView): boolean {
  return all.some(({ size, replicaSet }) => {
    const desired = numberIn(replicaSet.metadata.annotations, DEPLOYMENT_ANNOTATION.desiredReplicas);
    return size > 0 && desired !== undefined && desired !== workload.replicas;
  });
}

/**
 * P8: what every ReplicaSet is to have now that the Deployment has another size. One alone gets all, the new one as soon as it may; a rollout that is through
 * takes what is left of the old ones; else each gets its share. Sizes that stay are written too where the annotations differ,
 * or the scaling would never be over.
 */
export function planScaling(view: DeploymentView, plan: PlanBuilder): void {
  for (const [one, size] of scaledSizes(view, plan)) {
    if (!one.owned || one.deleting) continue;
    if (size === one.size && isAnnotated(view, one)) continue;
    plan.addSteady(
      size === one.size
        ? { ...annotateSize(view, one), purpose: 'AnnotateReplicaSet' }
        : scaleAction(view, one, size, 'ScaleReplicaSet'),
    );
  }
}

function annotateSize(view: DeploymentView, one: OwnedReplicaSet): Action {
  const message = `note the size of the Deployment on ReplicaSet ${one.name}`;
  const { label: _, pods: __, ...action } = scaleAction(view, one, one.size, 'AnnotateReplicaSet');
  return { ...action, message };
}

function isAnnotated({ workload, budget }: DeploymentView, { replicaSet, size }: OwnedReplicaSet): boolean {
  const { annotations } = replicaSet.metadata;
  return (
    size === 0 ||
    Object.entries(sizeAnnotations(workload.replicas, budget.maxSurge)).every(
      ([name, value]) => annotations?.[name] === value,
    )
  );
}

function scaledSizes(view: DeploymentView, plan: PlanBuilder): ReadonlyMap<OwnedReplicaSet, number> {
  const { workload, update, old, all } = view;
  const active = all.filter(({ size }) => size > 0);
  const single = active.length > 1 ? undefined : (active[0] ?? update ?? old.at(-1));
  if (single !== undefined) {
    // Nothing else grows under a pause, so what is not legal yet comes later; a rollout that goes on would not come back to an old one.
    const isPatient = single === update || workload.paused !== undefined;
    return new Map([[single, isPatient ? legalSize(view, plan, single) : workload.replicas]]);
  }
  if (active.length === 0) return new Map();
  if (isSaturated(view)) return new Map(active.map((one) => [one, one === update ? one.size : 0]));
  return workload.strategy === 'RollingUpdate'
    ? proportionalSizes(view, active)
    : new Map(active.map((one) => [one, one.size]));
}

/** The new one has all that is wanted, and all of it is available. */
function isSaturated({ workload: { replicas }, update }: DeploymentView): boolean {
  const desired = numberIn(update?.replicaSet.metadata.annotations, DEPLOYMENT_ANNOTATION.desiredReplicas);
  return (
    update !== undefined &&
    update.size === replicas &&
    desired === replicas &&
    update.replicaSet.status?.availableReplicas === replicas
  );
}

function proportionalSizes(
  view: DeploymentView,
  active: readonly OwnedReplicaSet[],
): ReadonlyMap<OwnedReplicaSet, number> {
  const { workload, budget } = view;
  const allowed = workload.replicas > 0 ? workload.replicas + budget.maxSurge : 0;
  const missing = allowed - totalSize(active);
  // Pods that are still to be deleted keep their places; the rollout makes up for it when they are gone.
  const taken = active.reduce((sum, { places }) => sum + places, 0);
  const toAdd = missing > 0 ? Math.max(0, allowed - taken) : missing;
  const sizes = new Map(active.map((one) => [one, one.size]));
  if (toAdd === 0) return sizes;
  // The largest first; of equal ones the newer grows first, and the older shrinks first.
  const ordered = (toAdd > 0 ? active.toReversed() : [...active]).sort((a, b) => b.size - a.size);
  let added = 0;
  for (const one of ordered) {
    const share = shareOf(view, one);
    const left = toAdd - added;
    const change = toAdd > 0 ? Math.min(share, left) : Math.max(share, left);
    sizes.set(one, one.size + change);
    added += change;
  }
  const [largest] = ordered;
  if (largest !== undefined) {
    sizes.set(largest, Math.max(0, (sizes.get(largest) ?? 0) + toAdd - added));
  }
  return sizes;
}

/** By how much it would have to change to stay as large a part of all as it was, rounded away from zero. */
function shareOf({ workload, budget }: DeploymentView, { replicaSet, size }: OwnedReplicaSet): number {
  if (workload.replicas === 0) return -size;
  const noted = numberIn(replicaSet.metadata.annotations, DEPLOYMENT_ANNOTATION.maxReplicas) ?? 0;
  const before = noted === 0 ? (workload.status.replicas ?? 0) : noted;
  if (before === 0) return 0;
  return Math.round((size * (workload.replicas + budget.maxSurge)) / before) - size;
}
