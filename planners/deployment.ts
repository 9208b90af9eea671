/** The planner of the Deployment (P1–P21): one snapshot in, one plan out. Pure; see design "One planner per kind". */

import { lostAnnotations } from './deployment-annotations.ts';
import { alteredFields } from './deployment-revision.ts';
import { planDeploymentBatch } from './deployment-rollout.ts';
import {
  conditionsOfDeployment,
  failureOf,
  isCompleteDeployment,
  needsDeploymentRollout,
  progressOfDeployment,
  statusOfDeployment,
} from './deployment-status.ts';
import { planDeploymentSteady } from './deployment-steady.ts';
import { viewDeployment } from './deployment-view.ts';
import type { DeploymentView } from './deployment-view.ts';
import { readMember } from './member.ts';
import { ANNOTATION, DEPLOYMENT_ANNOTATION } from './names.ts';
import type { Plan } from './plan.ts';
import { PlanBuilder } from './plan-builder.ts';
import { explainPod } from './pod-reasons.ts';
import { describeWish } from './reasons.ts';
import { isEmptySelector } from './selector.ts';
import type { Deployment, DeploymentStatus, Snapshot } from './workload.ts';
import { firstOf } from './first-of.ts';

/**
 * Plans a Deployment. `now` is milliseconds since the epoch; the same snapshot and time give the same plan.
 * @throws {Error} if a ReplicaSet of it holds no pod template
 */
export function planDeployment(snapshot: Snapshot<Deployment>, now: number): Plan<DeploymentStatus> {
  const view = viewDeployment(snapshot, now);
  const { workload, update, budget, revisionPlan } = view;
  const plan = new PlanBuilder(snapshot.refusals, now);
  const selectsAll = isEmptySelector(workload.selector);
  if (workload.deleting) {
    plan.wait('Deleting');
  } else if (selectsAll) {
    plan.wait('SelectorEmpty');
  } else {
    if (budget.problem !== undefined) plan.wait('InvalidField', { detail: budget.problem });
    if (update === undefined || revisionPlan.outcome !== 'exists') {
      if (workload.paused === undefined) plan.waitForRevision('ReplicaSet', view.revisionRefused);
      else plan.wait('Paused', { detail: describeWish(workload.paused) });
    }
    tellAltered(view, plan);
    planDeploymentSteady(view, plan);
    planDeploymentBatch(view, plan);
    explainReplicaSets(view, plan);
  }
  plan.waitForPin(workload);
  const { requeueAt } = plan;
  return {
    steady: plan.steady,
    batch: plan.batch,
    status: statusOfDeployment(view),
    progress: progressOfDeployment(view),
    waiting: plan.waiting,
    ...(requeueAt !== undefined && { requeueAt }),
    needsRollout: !selectsAll && needsDeploymentRollout(view),
    finished: !selectsAll && isCompleteDeployment(view),
    settled: plan.isSettled,
    ...(update !== undefined && { updateRevision: update.name }),
    conditions: conditionsOfDeployment(view),
    ...annotationsOf(view),
  };
}

/** P4: the Deployment carries the number of its newest ReplicaSet, as soon as that has it; and what an undo has dropped comes back. */
function annotationsOf({ workload, revisionPlan, revisions, update }: DeploymentView): {
  readonly annotations?: Readonly<Record<string, string | null>>;
} {
  const before = revisions.findLast(({ metadata }) => metadata.name !== update?.name);
  const lost = lostAnnotations(workload, before?.metadata);
  const number = revisionPlan.outcome === 'exists' ? revisionPlan.revision.revision : 0;
  const annotations = {
    ...lost,
    // `kubectl rollout resume` has taken the field back; what is left is who had paused it, and why.
    ...(workload.hasEndedPause === true && { [ANNOTATION.paused]: null }),
    ...(number !== 0 && { [DEPLOYMENT_ANNOTATION.revision]: String(number) }),
  };
  return Object.keys(annotations).length === 0 ? {} : { annotations };
}

/** So many fields are named in a sentence. */
const MOST_FIELDS = 5;

/** That pods are not as the Deployment says: nothing that is written here could change it. */
function tellAltered({ workload, revisionPlan }: DeploymentView, plan: PlanBuilder): void {
  if (revisionPlan.outcome === 'create' || revisionPlan.altered !== true) return;
  const { revision } = revisionPlan;
  const { namespace, name } = workload.ref;
  const fields = alteredFields(workload, revision);
  const detail =
    `ReplicaSet ${revision.metadata.name} was made of the present template, and the apiserver has stored it with other ` +
    `${firstOf(fields, MOST_FIELDS)} (by an admission policy or webhook for ReplicaSets, a feature gate, or by ` +
    'hand), so its pods are not as the template says; mend that, then ' +
    `\`fairlead rollout restart deployment/${name} -n ${namespace}\` makes a new one`;
  plan.wait('RevisionAltered', { detail });
}

/** Why pods that are to stay are not available, and what ReplicaSets complain of (P20). */
function explainReplicaSets(view: DeploymentView, plan: PlanBuilder): void {
  for (const { replicaSet, name, size, active } of view.all) {
    const failure = failureOf(replicaSet);
    if (failure?.status === 'True') {
      plan.wait('CreateRefused', { pod: `pods of ${name}`, detail: failure.message ?? failure.reason ?? '' });
    }
    if (size === 0) continue;
    for (const pod of active) {
      const member = readMember(view.workload, pod, true, view.now);
      if (!member.available) explainPod(view, plan, member);
    }
  }
}
