/** The rollout of a Deployment: which ReplicaSets may get another size now (P10–P12, design "Budget"). */

import { describeUse } from './budget.ts';
import { scaleAction } from './deployment-scale.ts';
import { legalSize } from './deployment-size.ts';
import { availableOf, totalAvailable, totalSize } from './deployment-view.ts';
import type { DeploymentView, OwnedReplicaSet } from './deployment-view.ts';
import type { PlanBuilder } from './plan-builder.ts';
import { describeWish } from './reasons.ts';

/**
 * The legal writes of this moment. The new ReplicaSet grows as far as the surge has room (P10), the old ones shrink by what is
 * not Ready, which costs nothing, and by as many available pods as may be missing (P11). Neither needs the other to be executed
 * first: each is legal in the snapshot as it is.
 */
export function planDeploymentBatch(view: DeploymentView, plan: PlanBuilder): void {
  const { workload, update, revisionPlan } = view;
  const active = view.old.filter(({ size }) => size > 0);
  if (update === undefined || revisionPlan.outcome !== 'exists') return;
  if (workload.paused !== undefined || plan.holdsBatch) {
    for (const { name } of active) {
      if (workload.paused === undefined) plan.wait('ScalingFirst', { pod: name });
      else plan.wait('Paused', { pod: name, detail: describeWish(workload.paused) });
    }
    return;
  }
  if (active.length === 0 || !update.owned) return;
  if (workload.strategy === 'Recreate') {
    planRecreate(view, plan, active);
    return;
  }
  const to = legalSize(view, plan, update);
  if (to !== update.size) {
    plan.addBatch(scaleAction(view, update, to, to > update.size ? 'GrowReplicaSet' : 'ShrinkReplicaSet'));
  }
  planShrinking(view, plan, update);
}

/** P12: all old ones go first; the new one gets its size when none of their pods is left. */
function planRecreate(view: DeploymentView, plan: PlanBuilder, active: readonly OwnedReplicaSet[]): void {
  for (const one of active) {
    if (!one.owned || one.deleting) continue;
    plan.addBatch({ ...scaleAction(view, one, 0, 'ShrinkReplicaSet'), charged: true });
  }
}

/** P11: so many pods of old ReplicaSets may go that enough are available, were none of the new one's but those that are. */
function planShrinking(view: DeploymentView, plan: PlanBuilder, update: OwnedReplicaSet): void {
  const { workload, budget, old, all } = view;
  const least = workload.replicas - budget.maxUnavailable;
  const newUnavailable = Math.max(0, update.size - availableOf(update));
  let may = totalSize(all) - least - newUnavailable;
  let surplus = totalAvailable(all) - least;
  const unavailable = Math.max(0, workload.replicas - totalAvailable(all));
  // What this very plan takes is no reason to wait: it is next, and nobody may have taken it yet.
  const isUsedUp = Math.min(may, surplus) <= 0;
  const shrinking = old.filter(({ size, owned, deleting }) => size > 0 && owned && !deleting);
  const free = new Map<OwnedReplicaSet, number>();
  // Everywhere first what is not Ready, so that a broken revision is left before a good one pays for it.
  for (const one of shrinking) {
    const taken = one.observed ? Math.min(Math.max(0, may), Math.max(0, one.size - one.ready)) : 0;
    free.set(one, taken);
    may -= taken;
  }
  for (const one of shrinking) {
    const unready = free.get(one) ?? 0;
    const ready = one.observed ? Math.min(one.size - unready, Math.max(0, Math.min(may, surplus))) : 0;
    may -= ready;
    surplus -= ready;
    if (unready + ready > 0) {
      plan.addBatch({
        ...scaleAction(view, one, one.size - unready - ready, 'ShrinkReplicaSet'),
        ...(ready > 0 && { charged: true }),
      });
    } else if (isUsedUp) {
      plan.wait('BudgetUsed', {
        pod: one.name,
        detail: describeUse(unavailable, budget.maxUnavailable),
      });
    }
  }
}
