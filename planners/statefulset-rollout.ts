/** The rollout of a StatefulSet: which pods may be brought to the update revision now (S13–S16, A4–A6, design "Budget"). */

import { Budget, maxUnavailableOf } from './budget.ts';
import { conditionOf } from './availability.ts';
import { hasGate, isGateOpen, resizeRefusal } from './in-place-state.ts';
import { openGateAction } from './in-place-writes.ts';
import type { InPlaceContext } from './in-place-writes.ts';
import { obstacles, startInPlace, stepInPlace } from './in-place.ts';
import { IN_PLACE_GATE } from './names.ts';
import type { ControllerRevision } from './objects.ts';
import type { Action } from './plan.ts';
import type { PlanBuilder } from './plan-builder.ts';
import { diffTemplates } from './template-diff.ts';
import type { TemplateDiff } from './template-diff.ts';
import { describeWish } from './reasons.ts';
import { templateOfRevision } from './statefulset-revision.ts';
import { deletePod } from './statefulset-steady.ts';
import { isTarget } from './statefulset-view.ts';
import type { Member, StatefulSetView } from './statefulset-view.ts';

/** Steps of updates in place that were begun, and gates to open: steady state, in any order, paused or not. */
export function planInPlaceSteps(view: StatefulSetView, plan: PlanBuilder): void {
  for (const member of [...view.slots, ...view.condemned]) {
    if (member === undefined || !member.owned || member.terminating || member.finished) continue;
    if (plan.writesPod(member.name)) continue;
    if (member.inPlace !== undefined) {
      if (isInfeasible(view, member)) continue;
      // What a dead kubelet said last is no proof that it did what it was to do.
      const isApplied = member.inPlace.revision === member.revision;
      if (isApplied && view.downNodes.has(member.pod.spec.nodeName ?? '')) continue;
      const step = stepInPlace(member.pod, member.inPlace, contextOf(view, member));
      if ('action' in step) plan.addSteady(step.action);
      else
        plan.wait(step.wait, {
          pod: member.name,
          ...(step.detail !== '' && { detail: step.detail }),
          ...(step.until !== undefined && { until: step.until }),
        });
    } else if (hasGate(member.pod) && !isGateOpen(member.pod)) {
      plan.addSteady(openGateAction(member.pod, contextOf(view, member)));
    }
  }
}

/**
 * The legal writes of this moment. Pods that are not ready come first, all of them: they cost nothing, and a broken revision
 * can always be left (S14 as mended, S15, A6). Then ready ones from the highest ordinal down, each charged, while
 * unavailable + 1 ≤ maxUnavailable, where every wanted pod counts, also below the partition.
 */
export function planBatch(view: StatefulSetView, plan: PlanBuilder): void {
  const { update, set } = view;
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
      plan.wait('BudgetUsed', {
        pod: member.name,
        detail: describeBudget(max, unavailable, budget.unavailable - unavailable),
      });
    } else if (write(view, plan, member, update) && own === 0) {
      budget.charge();
    } else if (own === 0 && set.podManagementPolicy === 'OrderedReady') {
      return;
    }
  }
}

/** `charged`: pods that this very plan takes out of service. */
function describeBudget(max: number, unavailable: number, charged: number): string {
  const now = charged === 0 ? '' : `, ${String(charged)} to be written now`;
  return `${String(unavailable)} of ${String(max)} unavailable${now}`;
}

/** Pods to be brought to the update revision, highest ordinal first. */
function candidatesOf(
  view: StatefulSetView,
  plan: PlanBuilder,
  update: ControllerRevision,
): readonly Member[] {
  const candidates: Member[] = [];
  for (let offset = view.slots.length - 1; offset >= 0; offset -= 1) {
    const member = view.slots[offset];
    if (member === undefined || !member.owned || member.terminating || member.finished) continue;
    if (plan.writesPod(member.name)) continue;
    const infeasible = member.inPlace !== undefined && isInfeasible(view, member);
    if (member.revision === update.metadata.name && !infeasible) continue;
    if (view.set.updateStrategy === 'OnDelete') plan.wait('OnDelete', { pod: member.name });
    else if (!isTarget(view, member.ordinal)) plan.wait('Partition', { pod: member.name });
    else if (member.inPlace?.revision !== update.metadata.name || infeasible) candidates.push(member);
  }
  return candidates;
}

function write(
  view: StatefulSetView,
  plan: PlanBuilder,
  member: Member,
  update: ControllerRevision,
): boolean {
  const action = updateAction(view, plan, member, update);
  return action !== undefined && plan.addBatch(action);
}

function updateAction(
  view: StatefulSetView,
  plan: PlanBuilder,
  member: Member,
  update: ControllerRevision,
): Action | undefined {
  const policy = view.set.podUpdatePolicy;
  const context = contextOf(view, member);
  const { diff } = context;
  // Templates that mean the same under another name: a new label is all that is needed (D21).
  if (diff?.empty === true && member.inPlace === undefined) return startInPlace(member.pod, diff, context);
  const recreate = {
    ...deletePod(view, member.pod, 'Recreate', `it is to be at revision ${update.metadata.name}`),
    revision: update.metadata.name,
    ...(member.ready && { charged: true }),
  };
  if (policy === 'ReCreate') return recreate;
  const problems =
    diff === undefined
      ? [`revision ${member.revision === '' ? 'of its label' : member.revision} is not known`]
      : obstacles(member.pod, diff);
  const possible = problems.length === 0 && !(member.inPlace !== undefined && isInfeasible(view, member));
  if (possible && diff !== undefined) return startInPlace(member.pod, diff, context);
  if (policy === 'InPlaceIfPossible') return recreate;
  plan.wait('InPlaceImpossible', { pod: member.name, detail: problems.join(', ') });
  return undefined;
}

function contextOf(view: StatefulSetView, member: Member): InPlaceContext {
  const { set, now, update } = view;
  const target = update !== undefined && isTarget(view, member.ordinal) ? update : undefined;
  const from = view.byName.get(member.revision);
  return {
    owner: `${set.ref.kind} ${set.ref.name}`,
    now,
    gracePeriodSeconds: set.gracePeriodSeconds,
    target: target?.metadata.name,
    diff: target !== undefined && from !== undefined ? diffOf(from, target) : undefined,
  };
}

const diffs = new WeakMap<ControllerRevision, WeakMap<ControllerRevision, TemplateDiff>>();

/** Few revisions, many pods: each pair is compared once. */
function diffOf(from: ControllerRevision, to: ControllerRevision): TemplateDiff {
  let byTarget = diffs.get(from);
  if (byTarget === undefined) {
    byTarget = new WeakMap();
    diffs.set(from, byTarget);
  }
  let diff = byTarget.get(to);
  if (diff === undefined) {
    diff = diffTemplates(templateOfRevision(from), templateOfRevision(to));
    byTarget.set(to, diff);
  }
  return diff;
}

/** The node cannot give the pod its new resources, and the policy allows to make a new one instead. */
export function isInfeasible(view: StatefulSetView, member: Member): boolean {
  return (
    view.set.podUpdatePolicy === 'InPlaceIfPossible' &&
    member.inPlace?.resources !== undefined &&
    member.inPlace.revision === view.update?.metadata.name &&
    isTarget(view, member.ordinal) &&
    resizeRefusal(member.pod)?.infeasible === true
  );
}

function isAvailableButForUpdate(view: StatefulSetView, member: Member): boolean {
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
