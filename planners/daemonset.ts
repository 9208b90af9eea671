/** The planner of the DaemonSet (D1–D25): one snapshot in, one plan out. Pure; see design "One planner per kind". */

import { markComplete } from './complete-mark.ts';
import { daemonBudgetOf, desiredPlaces, isUnavailable } from './daemonset-budget.ts';
import { planHookEnds, releaseNodes } from './daemonset-hooks.ts';
import { planDaemonBatch } from './daemonset-rollout.ts';
import {
  isAwaitingIgnored,
  isCompleteDaemonSet,
  isFinishedDaemonRollout,
  needsDaemonRollout,
  progressOfDaemonSet,
  statusOfDaemonSet,
} from './daemonset-status.ts';
import { planPlaces } from './daemonset-steady.ts';
import { membersOfView, viewDaemonSet } from './daemonset-view.ts';
import type { DaemonSetView } from './daemonset-view.ts';
import type { ControllerRevision } from './objects.ts';
import type { Plan } from './plan.ts';
import { PlanBuilder } from './plan-builder.ts';
import { explainLeftover, explainPod } from './pod-reasons.ts';
import { planInPlaceSteps } from './pod-updates.ts';
import { trimHistory } from './revision-history.ts';
import { isEmptySelector } from './selector.ts';
import type { DaemonSet, DaemonSetStatus, Snapshot } from './workload.ts';

/**
 * Plans a DaemonSet. `now` is milliseconds since the epoch; the same snapshot and time give the same plan.
 * @throws {Error} if a revision of the set holds no pod template
 */
export function planDaemonSet(snapshot: Snapshot<DaemonSet>, now: number): Plan<DaemonSetStatus> {
  const view = viewDaemonSet(snapshot, now);
  const { workload: set } = view;
  const plan = new PlanBuilder(snapshot.refusals, now);
  const budget = daemonBudgetOf(set, desiredPlaces(view).length);
  const selectsAll = isEmptySelector(set.selector);
  if (set.deleting) {
    plan.wait('Deleting');
    releaseNodes(view, plan);
  } else if (selectsAll) {
    plan.wait('SelectorEmpty');
  } else {
    if (budget.problem !== undefined) plan.wait('InvalidField', { detail: budget.problem });
    if (view.update === undefined || view.revisionPlan.outcome !== 'exists')
      plan.waitForRevision('ControllerRevision', snapshot.revisionRefused);
    const members = membersOfView(view);
    planPlaces(view, plan, budget);
    planInPlaceSteps(view, members, plan);
    planHookEnds(view, plan);
    const complete = isCompleteDaemonSet(view);
    trimHistory(view, members, { kept: keptRevisions(view), complete }, plan);
    planDaemonBatch(view, plan, budget);
    // Of no pod nothing is proven.
    markComplete(view, complete && desiredPlaces(view).length > 0, plan);
    explainPods(view, plan);
  }
  plan.waitForPin(set);
  const { requeueAt } = plan;
  return {
    steady: plan.steady,
    batch: plan.batch,
    status: statusOfDaemonSet(view),
    progress: progressOfDaemonSet(view, budget),
    waiting: plan.waiting,
    ...(requeueAt !== undefined && { requeueAt }),
    needsRollout: !selectsAll && needsDaemonRollout(view),
    finished: !selectsAll && isFinishedDaemonRollout(view),
    settled: plan.isSettled,
    ...(view.update !== undefined && { updateRevision: view.update.metadata.name }),
  };
}

/** Why each pod that is not available is not, and when time alone will change that; which nodes nobody waits for, or all; and what is left. */
function explainPods(view: DaemonSetView, plan: PlanBuilder): void {
  const isAwaited = isAwaitingIgnored(view);
  for (const place of view.places) {
    if (place.ignored && isUnavailable({ ...place, ignored: false }))
      plan.wait(isAwaited && place.isTarget ? 'NodesAwaited' : 'NodesIgnored', { pod: place.name });
    for (const { pod } of place.ghosts) explainLeftover(view, plan, pod);
  }
  for (const member of membersOfView(view)) {
    if (member.availableAt !== undefined) plan.requeue(member.availableAt);
    if (!member.available) explainPod(view, plan, member);
  }
}

/** Revisions that are needed beside those of pods: after a rollout of all nodes, the newest alone; the limit counts the others (D22). */
function keptRevisions(view: DaemonSetView): readonly (ControllerRevision | undefined)[] {
  const isEverywhere = isFinishedDaemonRollout(view) && view.places.every(({ isTarget }) => isTarget);
  return isEverywhere ? [view.latest] : [view.current, view.kept, view.latest];
}
