/** The steady state of a Deployment: who is whose, sizes outside of a rollout, annotations, history (P5, P8, P9, P14). */

import { completeMark } from './complete-mark.ts';
import { adoptAction, releaseAction } from './controller-ref.ts';
import { carriedAnnotations } from './deployment-annotations.ts';
import { isScalingEvent, planScaling, scaleAction } from './deployment-scale.ts';
import { legalSize } from './deployment-size.ts';
import { isCompleteDeployment } from './deployment-status.ts';
import type { DeploymentView, OwnedReplicaSet } from './deployment-view.ts';
import type { PlanBuilder } from './plan-builder.ts';
import { lastCompleteOf } from './revision.ts';

/** Plans what is to be whether or not a rollout runs. */
export function planDeploymentSteady(view: DeploymentView, plan: PlanBuilder): void {
  const { workload, all, released, update } = view;
  for (const replicaSet of released) plan.addSteady(releaseAction(workload, 'replicasets', replicaSet));
  for (const { owned, replicaSet } of all) {
    if (!owned) plan.addSteady(adoptAction(workload, 'replicasets', replicaSet));
  }
  if (plan.holdsBatch) return;
  const isPaused = workload.paused !== undefined;
  // Upstream gives a paused rollout all of its surge; here only what is not in two parts is healed.
  const isWhole = all.filter(({ size }) => size > 0).length <= 1;
  if (isScalingEvent(view) || (isPaused && isWhole)) planScaling(view, plan);
  else if (!isPaused) planSizeOfNew(view, plan);
  if (update !== undefined) annotate(view, plan, update);
  if (isPaused || isCompleteDeployment(view)) trimReplicaSets(view, plan);
}

/**
 * With no old ReplicaSet left there is nothing to roll: the new one gets what is wanted, the first of all as well as one that
 * somebody has scaled by hand.
 */
function planSizeOfNew(view: DeploymentView, plan: PlanBuilder): void {
  const { update, old, revisionPlan } = view;
  if (update === undefined || revisionPlan.outcome !== 'exists' || update.deleting) return;
  if (old.some(({ size }) => size > 0)) return;
  const to = legalSize(view, plan, update);
  if (to !== update.size) plan.addSteady(scaleAction(view, update, to, 'ScaleReplicaSet'));
}

/** P2, P5: what the new ReplicaSet has from its Deployment; and that it was complete, so that abort can go back to it. */
function annotate(view: DeploymentView, plan: PlanBuilder, update: OwnedReplicaSet): void {
  const { workload } = view;
  const { metadata, spec } = update.replicaSet;
  const wanted = {
    ...carriedAnnotations(workload),
    // Of no pod nothing is proven.
    ...completeMark(isCompleteDeployment(view) && workload.replicas > 0),
  };
  if (!update.owned || update.deleting || plan.writes('replicasets', update.name)) return;
  const annotations = Object.fromEntries(
    Object.entries(wanted).filter(([name, value]) => metadata.annotations?.[name] !== value),
  );
  const isLate = (spec.minReadySeconds ?? 0) !== workload.minReadySeconds;
  if (Object.keys(annotations).length === 0 && !isLate) return;
  plan.addSteady({
    verb: 'patch',
    resource: 'replicasets',
    name: update.name,
    uid: metadata.uid,
    resourceVersion: metadata.resourceVersion,
    body: {
      metadata: { annotations },
      ...(isLate && { spec: { minReadySeconds: workload.minReadySeconds } }),
    },
    purpose: 'AnnotateReplicaSet',
    message: `give ReplicaSet ${update.name} the annotations and minReadySeconds of Deployment ${workload.ref.name}`,
  });
}

/**
 * P14: of the old ones that are beyond the limit, the lowest numbers first, those without pods go; others in their place do
 * not. The last one whose rollout was finished outlives the limit as long as the new one's is not: abort goes back to it.
 */
function trimReplicaSets(view: DeploymentView, plan: PlanBuilder): void {
  const { workload, old, revisions } = view;
  const byName = new Map(old.map((one) => [one.name, one]));
  const sorted = revisions.flatMap(({ metadata: { name } }) => byName.get(name) ?? []);
  const alive = sorted.filter(({ deleting }) => !deleting);
  const isOld = ({ metadata }: (typeof revisions)[number]) => byName.has(metadata.name);
  const kept = isCompleteDeployment(view) ? undefined : lastCompleteOf(revisions.filter(isOld));
  const surplus = alive.slice(0, Math.max(0, alive.length - workload.revisionHistoryLimit));
  for (const { replicaSet, name, size, observed, owned, active, leaving } of surplus) {
    // Without their ReplicaSet pods that are still being deleted would not count, and others start beside them (P12, KEP-5882).
    const hasPods = active.length > 0 || leaving > 0 || (replicaSet.status?.replicas ?? 0) > 0;
    const isEmpty = size === 0 && !hasPods && observed;
    if (!owned || !isEmpty || name === kept?.metadata.name || plan.writes('replicasets', name)) continue;
    const { uid, resourceVersion } = replicaSet.metadata;
    plan.addSteady({
      verb: 'delete',
      resource: 'replicasets',
      name,
      uid,
      resourceVersion,
      purpose: 'TrimHistory',
      message: `delete ReplicaSet ${name} of Deployment ${workload.ref.name}: beyond revisionHistoryLimit ${String(workload.revisionHistoryLimit)}`,
    });
  }
}
