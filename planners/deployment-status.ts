/** Status, conditions and progress of a Deployment (P13, P15–P20). */

import type { OwnConditions, Words } from './conditions.ts';
import { totalAvailable, totalSize } from './deployment-view.ts';
import type { DeploymentView, OwnedReplicaSet } from './deployment-view.ts';
import { DEPLOYMENT_ANNOTATION, GROUP } from './names.ts';
import type { Condition, ReplicaSet } from './objects.ts';
import type { Progress } from './plan.ts';
import { collisionCountOf } from './revision-plan.ts';
import { formatSelector } from './selector.ts';
import type { DeploymentStatus } from './workload.ts';

type Counter = 'replicas' | 'readyReplicas' | 'availableReplicas';

/**
 * P15: sums of what the ReplicaSets say of themselves; a counter that is 0 is absent. Unlike kinds whose status names
 * revisions, nothing is updated as long as the template has no ReplicaSet, so the generation counts as observed at once.
 */
export function statusOfDeployment(view: DeploymentView): DeploymentStatus {
  const { workload, update, all } = view;
  const stored = workload.status;
  const availableReplicas = sumOf(all, 'availableReplicas');
  const unavailable = Math.max(0, totalSize(all) - availableReplicas);
  const terminating = terminatingOf(all);
  const collisionCount =
    view.revisionPlan.outcome === 'create'
      ? stored.collisionCount
      : collisionCountOf(workload, view.revisionPlan.revision);
  return {
    observedGeneration: workload.generation,
    ...nonZero('replicas', sumOf(all, 'replicas')),
    ...nonZero('updatedReplicas', update?.replicaSet.status?.replicas ?? 0),
    ...nonZero('readyReplicas', sumOf(all, 'readyReplicas')),
    ...nonZero('availableReplicas', availableReplicas),
    ...nonZero('unavailableReplicas', unavailable),
    ...(terminating !== undefined && { terminatingReplicas: terminating }),
    ...(collisionCount !== undefined &&
      (collisionCount > 0 || stored.collisionCount !== undefined) && { collisionCount }),
    ...(workload.ref.group === GROUP && { labelSelector: formatSelector(workload.selector) }),
    ...(stored.conditions !== undefined && { conditions: stored.conditions }),
  };
}

function sumOf(sets: readonly OwnedReplicaSet[], counter: Counter): number {
  return sets.reduce((sum, { replicaSet }) => sum + (replicaSet.status?.[counter] ?? 0), 0);
}

/** Undefined if one that has been looked at does not count them: its apiserver does not know the field (P15). */
function terminatingOf(sets: readonly OwnedReplicaSet[]): number | undefined {
  let sum = 0;
  for (const { replicaSet } of sets) {
    const { observedGeneration, terminatingReplicas } = replicaSet.status ?? {};
    if (terminatingReplicas === undefined && observedGeneration !== undefined) return undefined;
    sum += terminatingReplicas ?? 0;
  }
  return sum;
}

function nonZero(name: keyof DeploymentStatus, count: number): Partial<DeploymentStatus> {
  return count === 0 ? {} : { [name]: count };
}

/** What a rollout has done so far (P18). */
export function progressOfDeployment(view: DeploymentView): Progress {
  const { workload, update, all, budget } = view;
  const status = update?.replicaSet.status ?? {};
  const most = (count: number | undefined) => Math.min(count ?? 0, workload.replicas);
  const available = totalAvailable(all);
  return {
    target: workload.replicas,
    updated: most(status.replicas),
    updatedReady: most(status.readyReplicas),
    updatedAvailable: most(status.availableReplicas),
    desired: workload.replicas,
    ready: sumOf(all, 'readyReplicas'),
    available,
    unavailable: Math.max(0, workload.replicas - available),
    maxUnavailable: budget.maxUnavailable,
  };
}

/** P13: every wanted pod is one of the new ReplicaSet and available, and there are no others. */
export function isCompleteDeployment({ workload, update, old, revisionPlan }: DeploymentView): boolean {
  if (workload.deleting || update === undefined || revisionPlan.outcome !== 'exists') return false;
  const { replicas, availableReplicas } = update.replicaSet.status ?? {};
  const isFull = [update.size, replicas ?? 0, availableReplicas ?? 0].every(
    (count) => count === workload.replicas,
  );
  return (
    isFull &&
    update.observed &&
    old.every(({ size, replicaSet }) => size === 0 && (replicaSet.status?.replicas ?? 0) === 0)
  );
}

/**
 * The template has no ReplicaSet, or not the newest, or an old one has pods; never because of scaling or a takeover alone.
 * While paused no ReplicaSet is made or renumbered (P9), so that several changes are one rollout when it is resumed.
 */
export function needsDeploymentRollout({ workload, update, old, revisionPlan }: DeploymentView): boolean {
  if (workload.deleting) return false;
  if (update === undefined || revisionPlan.outcome !== 'exists') return workload.paused === undefined;
  return old.some(({ size }) => size > 0);
}

/** The conditions that only a Deployment has (P16, P20), and its words for Progressing (P17). */
export function conditionsOfDeployment(view: DeploymentView): OwnConditions {
  const { workload, update, old, budget, all } = view;
  // Recreate may take all pods away, and has none to miss: whoever waits for this condition is told of its gap (P16).
  const mayBeMissing = workload.strategy === 'Recreate' ? 0 : budget.maxUnavailable;
  const isAvailable = sumOf(all, 'availableReplicas') >= workload.replicas - mayBeMissing;
  const failure = [...(update === undefined ? [] : [update]), ...old]
    .map(({ replicaSet }) => failureOf(replicaSet))
    .find((condition) => condition !== undefined);
  return {
    others: {
      Available: isAvailable
        ? {
            status: 'True',
            reason: 'MinimumReplicasAvailable',
            message: 'Deployment has minimum availability.',
          }
        : {
            status: 'False',
            reason: 'MinimumReplicasUnavailable',
            message: 'Deployment does not have minimum availability.',
          },
      ReplicaFailure: failure && {
        status: failure.status,
        reason: failure.reason ?? '',
        message: failure.message ?? '',
      },
    },
    words: wordsOf(view),
  };
}

/** The condition that a ReplicaSet has when its pods cannot be made or deleted (R3). */
export function failureOf({ status }: ReplicaSet): Condition | undefined {
  return status?.conditions?.find(({ type }) => type === 'ReplicaFailure');
}

function wordsOf(view: DeploymentView): OwnConditions['words'] {
  const { workload, update } = view;
  const set = update === undefined ? `Deployment "${workload.ref.name}"` : `ReplicaSet "${update.name}"`;
  return {
    about: update?.name ?? workload.ref.name,
    begun: beginningOf(view) ?? { reason: 'ReplicaSetUpdated', message: `${set} is progressing.` },
    progressing: { reason: 'ReplicaSetUpdated', message: `${set} is progressing.` },
    complete: { reason: 'NewReplicaSetAvailable', message: `${set} has successfully progressed.` },
    paused: { reason: 'DeploymentPaused', message: 'Deployment is paused' },
    resumed: { reason: 'DeploymentResumed', message: 'Deployment is resumed' },
    timedOut: `${set} has timed out progressing`,
    ...(update === undefined &&
      view.revisionRefused !== undefined && {
        refused: {
          reason: 'ReplicaSetCreateError',
          message: `Failed to create new replica set: ${view.revisionRefused}`,
        },
      }),
  };
}

/** Whether the new ReplicaSet has just been made, or was there when the Deployment was looked at first (P17). */
function beginningOf({ workload, update }: DeploymentView): Words | undefined {
  if (update === undefined) return undefined;
  const { replicaSet, name } = update;
  if ((replicaSet.status?.replicas ?? 0) === 0 && !isRenumbered(replicaSet)) {
    return { reason: 'NewReplicaSetCreated', message: `Created new replica set "${name}"` };
  }
  const isKnown = workload.status.conditions?.some(({ type }) => type === 'Progressing') === true;
  return isKnown ? undefined : { reason: 'FoundNewReplicaSet', message: `Found new replica set "${name}"` };
}

/** It was there before, and has been gone back to (P4). */
function isRenumbered({ metadata }: ReplicaSet): boolean {
  return metadata.annotations?.[DEPLOYMENT_ANNOTATION.revisionHistory] !== undefined;
}
