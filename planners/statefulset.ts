/** The planner of the StatefulSet (S1–S21, A1–A31): one snapshot in, one plan out. Pure; see design "One planner per kind". */

import { maxUnavailableOf } from './budget.ts';
import { markComplete } from './complete-mark.ts';
import type { Plan } from './plan.ts';
import { PlanBuilder } from './plan-builder.ts';
import { trimHistory } from './revision-history.ts';
import { isEmptySelector } from './selector.ts';
import { explainPod, explainTermination } from './pod-reasons.ts';
import { planInPlaceSteps } from './pod-updates.ts';
import { planBatch } from './statefulset-rollout.ts';
import {
  isCompleteSet,
  isFinishedRollout,
  needsRollout,
  progressOfSet,
  statusOfSet,
} from './statefulset-status.ts';
import { planReplicas } from './statefulset-steady.ts';
import { MOST_REPLICAS, membersOf, viewStatefulSet } from './statefulset-view.ts';
import type { StatefulSetView } from './statefulset-view.ts';
import type { Snapshot, StatefulSet, StatefulSetStatus } from './workload.ts';

/**
 * Plans a StatefulSet. `now` is milliseconds since the epoch; the same snapshot and time give the same plan.
 * @throws {Error} if a revision of the set holds no pod template
 */
export function planStatefulSet(snapshot: Snapshot<StatefulSet>, now: number): Plan<StatefulSetStatus> {
  const view = viewStatefulSet(snapshot, now);
  const { workload: set } = view;
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
    if (view.update === undefined || view.revisionPlan.outcome !== 'exists')
      plan.waitForRevision('ControllerRevision', snapshot.revisionRefused);
    planReplicas(view, plan, snapshot.revisionMissingSince);
    const members = membersOf(view);
    planInPlaceSteps(view, members, plan);
    const complete = isCompleteSet(view);
    trimHistory(view, members, { kept: [view.current, view.latest], complete }, plan);
    planBatch(view, plan);
    // Of no pod nothing is proven.
    markComplete(view, complete && view.slots.length > 0, plan);
    explainPods(view, plan);
  }
  plan.waitForPin(set);
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
    settled: plan.isSettled,
    ...(view.update !== undefined && { updateRevision: view.update.metadata.name }),
  };
}

/** Why each wanted pod that is not available is not, and when time alone will change that. */
function explainPods(view: StatefulSetView, plan: PlanBuilder): void {
  for (const member of view.slots) {
    if (member === undefined || member.available) continue;
    explainPod(view, plan, member);
  }
  for (const member of view.condemned) {
    if (member.terminating) explainTermination(view, plan, member.pod);
  }
  for (const member of membersOf(view)) {
    if (member.availableAt !== undefined) plan.requeue(member.availableAt);
  }
}
