/** The rollout of a StatefulSet: which pods may be brought to the update revision now (S13–S16, A4–A6, design "Budget"). */

import { Budget, describeUse, maxUnavailableOf } from './budget.ts';
import { conditionOf } from './availability.ts';
import { IN_PLACE_GATE } from './names.ts';
import type { ControllerRevision } from './objects.ts';
import type { PlanBuilder } from './plan-builder.ts';
import { isInfeasible, updateAction } from './pod-updates.ts';
import { describeWish } from './reasons.ts';
import { takesClaimAlong } from './statefulset-claims.ts';
import type { StatefulSetMember, StatefulSetView } from './statefulset-view.ts';

/**
 * The legal writes of this moment. Pods that are not ready come first, all of them: they cost nothing, and a broken revision
 * can always be left (S14 as mended, S15, A6). Then ready ones from the highest ordinal down, each charged, while
 * unavailable + 1 ≤ maxUnavailable, where every wanted pod counts, also below the partition.
 */
export function planBatch(view: StatefulSetView, plan: PlanBuilder): void {
  const { update, workload: set } = view;
  if (update === undefined) return;
  const candidates = candidatesOf(view, plan, update);
  if (candidates.length === 0) return;
  if (set.paused !== undefined || plan.holdsBatch) {
    for (const { name } of candidates) {
      if (set.paused === undefined) plan.wait('ScalingFirst', { pod: name });
      else plan.wait('Paused', { pod: name, detail: describeWish(set.paused) });
    }
    return;
  }
  const { value: max } = maxUnavailableOf(set);
  const unavailable = countUnavailable(view);
  const budget = new Budget(max, unavailable);
  for (const member of candidates) {
    if (!member.ready) write(view, plan, member, update);
  }
  for (const member of candidates) {
    if (!member.ready) continue;
    // It is counted already if it is out of service only because of its own update.
    const own = member.inPlace !== undefined && isAvailableButForUpdate(view, member) ? 1 : 0;
    if (!budget.allowsChargeBeside(own)) {
      if (budget.isUsedUpBeside(own)) {
        plan.wait('BudgetUsed', { pod: member.name, detail: describeUse(unavailable, max) });
      }
    } else if (write(view, plan, member, update) && own === 0) {
      budget.charge();
    } else if (own === 0 && set.podManagementPolicy === 'OrderedReady') {
      return;
    }
  }
}

/** Pods to be brought to the update revision, highest ordinal first. */
function candidatesOf(
  view: StatefulSetView,
  plan: PlanBuilder,
  update: ControllerRevision,
): readonly StatefulSetMember[] {
  const candidates: StatefulSetMember[] = [];
  for (let offset = view.slots.length - 1; offset >= 0; offset -= 1) {
    const member = view.slots[offset];
    if (member === undefined || !member.owned || member.terminating || member.finished) continue;
    if (plan.writesPod(member.name)) continue;
    const infeasible = member.inPlace !== undefined && isInfeasible(view, member);
    if (member.revision === update.metadata.name && !infeasible) continue;
    if (view.workload.updateStrategy === 'OnDelete') plan.wait('OnDelete', { pod: member.name });
    else if (!view.isTarget(member))
      plan.wait('Partition', { pod: member.name, ...lostRevision(view, member) });
    else if (member.inPlace?.revision !== update.metadata.name || infeasible) candidates.push(member);
  }
  return candidates;
}

/** Such a pod cannot be made again as it is: whoever looks at it is to know before it dies. */
function lostRevision(
  { byLabel }: StatefulSetView,
  { name, revision }: StatefulSetMember,
): { readonly detail?: string } {
  if (revision === '' || byLabel.has(revision)) return {};
  const detail = `ControllerRevision ${revision} of ${name} does not exist any more, so a pod made in its place comes at another`;
  return { detail };
}

function write(
  view: StatefulSetView,
  plan: PlanBuilder,
  member: StatefulSetMember,
  update: ControllerRevision,
): boolean {
  const action = updateAction(view, plan, member, update);
  // A pod that was out of range before: its claims let go of it first, however long that is refused (S4).
  if (action?.verb === 'delete' && takesClaimAlong(view.workload, view.claims, member.pod, member.ordinal)) {
    plan.wait('ClaimOwners', { pod: member.name });
    return false;
  }
  return action !== undefined && plan.addBatch(action);
}

function isAvailableButForUpdate(view: StatefulSetView, member: StatefulSetMember): boolean {
  const at = member.availableAt;
  return at !== undefined && at <= view.now && conditionOf(member.pod, IN_PLACE_GATE)?.status !== 'False';
}

/** Wanted pods that are missing, not available, terminating or being updated in place (S14, A3). */
export function countUnavailable(view: StatefulSetView): number {
  let count = 0;
  for (const member of view.slots) {
    if (member?.available !== true) count += 1;
  }
  return count;
}
