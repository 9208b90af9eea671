/** The planner of the StatefulSet (S1–S21, A1–A31): one snapshot in, one plan out. Pure; see design "One planner per kind". */

import { maxUnavailableOf } from './budget.ts';
import { conditionOf, isRunningAndReady } from './availability.ts';
import type { Plan } from './plan.ts';
import { PlanBuilder } from './plan-builder.ts';
import { describeWish } from './reasons.ts';
import { surplusRevisions } from './revision.ts';
import { isEmptySelector } from './selector.ts';
import { planBatch, planInPlaceSteps } from './statefulset-rollout.ts';
import { isFinishedRollout, needsRollout, progressOfSet, statusOfSet } from './statefulset-status.ts';
import { planReplicas } from './statefulset-steady.ts';
import { MOST_REPLICAS, viewStatefulSet } from './statefulset-view.ts';
import type { Member, StatefulSetView } from './statefulset-view.ts';
import type { Snapshot, StatefulSet, StatefulSetStatus } from './workload.ts';

/**
 * Plans a StatefulSet. `now` is milliseconds since the epoch; the same snapshot and time give the same plan.
 * @throws {Error} if a revision of the set holds no pod template
 */
export function planStatefulSet(snapshot: Snapshot<StatefulSet>, now: number): Plan<StatefulSetStatus> {
  const view = viewStatefulSet(snapshot, now);
  const { set } = view;
  const plan = new PlanBuilder(snapshot.refusals, now);
  const selectsAll = isEmptySelector(set.selector);
  if (set.deleting) {
    plan.wait('Deleting');
  } else if (selectsAll) {
    plan.wait('SelectorEmpty');
  } else {
    const { problem } = maxUnavailableOf(set);
    if (problem !== undefined) plan.wait('InvalidField', { detail: problem });
    if (snapshot.workload.replicas > MOST_REPLICAS) {
      plan.wait('InvalidField', { detail: `replicas: ${String(MOST_REPLICAS)} is the most that is kept` });
    }
    if (view.update === undefined || view.revisionPlan.outcome !== 'exists') plan.wait('RevisionMissing');
    planReplicas(view, plan, snapshot.revisionMissingSince);
    planInPlaceSteps(view, plan);
    trimHistory(view, plan);
    planBatch(view, plan);
    explainPods(view, plan);
  }
  if (set.pinned !== undefined) plan.wait('Pinned', { detail: describeWish(set.pinned) });
  const { requeueAt } = plan;
  return {
    steady: plan.steady,
    batch: plan.batch,
    status: statusOfSet(view),
    progress: progressOfSet(view),
    waiting: plan.waiting,
    ...(requeueAt !== undefined && { requeueAt }),
    needsRollout: !selectsAll && needsRollout(view),
    finished: !selectsAll && isFinishedRollout(view),
    ...(view.update !== undefined && { updateRevision: view.update.metadata.name }),
  };
}

/** S8: what pods, the rollout and updates in place refer to is live. */
function trimHistory(view: StatefulSetView, plan: PlanBuilder): void {
  const { set, revisions } = view;
  const live = new Set<string>();
  for (const revision of [view.current, view.update, view.latest]) {
    if (revision !== undefined) live.add(revision.metadata.name);
  }
  for (const member of [...view.slots, ...view.condemned]) {
    if (member === undefined) continue;
    live.add(member.revision);
    if (member.inPlace !== undefined) live.add(member.inPlace.revision);
  }
  for (const { metadata } of surplusRevisions(revisions, live, set.revisionHistoryLimit)) {
    plan.addSteady({
      verb: 'delete',
      resource: 'controllerrevisions',
      name: metadata.name,
      uid: metadata.uid,
      resourceVersion: metadata.resourceVersion,
      purpose: 'TrimHistory',
      message: `delete ControllerRevision ${metadata.name} of StatefulSet ${set.ref.name}: beyond revisionHistoryLimit ${String(set.revisionHistoryLimit)}`,
    });
  }
}

/** Why each wanted pod that is not available is not, and when time alone will change that. */
function explainPods(view: StatefulSetView, plan: PlanBuilder): void {
  for (const member of view.slots) {
    if (member === undefined || member.available) continue;
    explainPod(view, plan, member);
  }
  for (const member of view.condemned) {
    if (member.terminating) plan.wait('PodTerminating', { pod: member.name });
  }
  for (const member of [...view.slots, ...view.condemned]) {
    if (member?.availableAt !== undefined) plan.requeue(member.availableAt);
  }
}

function explainPod(view: StatefulSetView, plan: PlanBuilder, member: Member): void {
  const { pod, name } = member;
  if (pod.spec.nodeName !== undefined && view.downNodes.has(pod.spec.nodeName)) {
    plan.wait('NodeDown', { pod: name, detail: pod.spec.nodeName });
  }
  if (member.terminating) {
    plan.wait('PodTerminating', { pod: name });
  } else if (member.inPlace !== undefined) {
    // The step of the update has given its reason.
  } else if (!isRunningAndReady(pod)) {
    plan.wait('PodNotReady', { pod: name, ...whyNotReady(member) });
  } else if (member.availableAt !== undefined && member.availableAt > view.now) {
    plan.wait('MinReadySeconds', { pod: name, until: member.availableAt });
  }
}

function whyNotReady({ name, pod }: Member): { readonly detail?: string } {
  const statuses = [...(pod.status?.initContainerStatuses ?? []), ...(pod.status?.containerStatuses ?? [])];
  for (const status of statuses) {
    const reason = status.state?.waiting?.reason ?? status.state?.terminated?.reason;
    if (reason !== undefined) return { detail: `container ${status.name} of ${name}: ${reason}` };
  }
  const scheduled = conditionOf(pod, 'PodScheduled');
  if (scheduled?.status === 'False')
    return { detail: `${name}: ${scheduled.message ?? scheduled.reason ?? 'not scheduled'}` };
  return pod.status?.reason === undefined ? {} : { detail: pod.status.reason };
}
