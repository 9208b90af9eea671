/** Status and progress of a StatefulSet (S17–S20). */

import { maxUnavailableOf } from './budget.ts';
import { isRunningAndReady } from './availability.ts';
import { GROUP } from './names.ts';
import type { Progress } from './plan.ts';
import { formatSelector } from './selector.ts';
import { collisionCountOf } from './revision-plan.ts';
import { isInfeasible } from './pod-updates.ts';
import { countUnavailable } from './statefulset-rollout.ts';
import { isTargetOrdinal } from './statefulset-view.ts';
import type { StatefulSetMember, StatefulSetView } from './statefulset-view.ts';
import type { StatefulSetStatus } from './workload.ts';

/**
 * The whole status of the snapshot (S17, S19), conditions untouched (S20). As long as the template has no revision,
 * observedGeneration stays behind: nobody may take the old rollout for the new one. Where it had one, which somebody has deleted, no pod
 * counts as updated until it is made again.
 */
export function statusOfSet(view: StatefulSetView): StatefulSetStatus {
  const { workload: set, update, current, latest } = view;
  const stored = set.status;
  const isLost = update === undefined && stored.observedGeneration === set.generation;
  const [currentName, updateName] = [current?.metadata.name, isLost ? undefined : latest?.metadata.name];
  const count = {
    replicas: 0,
    readyReplicas: 0,
    availableReplicas: 0,
    currentReplicas: 0,
    updatedReplicas: 0,
  };
  for (const member of view.slots) countMember(view, member, currentName, updateName, count);
  for (const member of view.condemned) countMember(view, member, currentName, updateName, count);
  const complete =
    set.updateStrategy === 'RollingUpdate' &&
    update !== undefined &&
    count.updatedReplicas === set.replicas &&
    count.readyReplicas === set.replicas &&
    count.replicas === set.replicas;
  const observedGeneration = update === undefined ? stored.observedGeneration : set.generation;
  const currentRevision = complete ? updateName : (currentName ?? stored.currentRevision);
  const updateRevision = updateName ?? stored.updateRevision;
  return {
    ...(observedGeneration !== undefined && { observedGeneration }),
    ...count,
    ...(complete && { currentReplicas: count.updatedReplicas }),
    ...(currentRevision !== undefined && { currentRevision }),
    ...(updateRevision !== undefined && { updateRevision }),
    collisionCount: update === undefined ? (stored.collisionCount ?? 0) : collisionCountOf(set, update),
    ...(set.ref.group === GROUP && { labelSelector: formatSelector(set.selector) }),
    ...(stored.conditions !== undefined && { conditions: stored.conditions }),
  };
}

interface Counts {
  replicas: number;
  readyReplicas: number;
  availableReplicas: number;
  currentReplicas: number;
  updatedReplicas: number;
}

/** S17: ready and available ones count while they terminate; current and updated ones do not. */
function countMember(
  view: StatefulSetView,
  member: StatefulSetMember | undefined,
  currentName: string | undefined,
  updateName: string | undefined,
  count: Counts,
): void {
  if (member === undefined || member.pod.status?.phase === undefined) return;
  count.replicas += 1;
  if (isRunningAndReady(member.pod)) {
    count.readyReplicas += 1;
    const at = member.availableAt;
    if (at !== undefined && at <= view.now && member.inPlace === undefined) count.availableReplicas += 1;
  }
  if (member.terminating) return;
  if (member.revision === currentName) count.currentReplicas += 1;
  if (updateName !== undefined && member.revision === updateName) count.updatedReplicas += 1;
}

/** What a rollout has done so far (P18). */
export function progressOfSet(view: StatefulSetView): Progress {
  const { workload: set, update } = view;
  const progress = { target: 0, updated: 0, updatedReady: 0, updatedAvailable: 0, ready: 0, available: 0 };
  for (const [offset, member] of view.slots.entries()) {
    const target = isTargetOrdinal(set, set.start + offset);
    if (target) progress.target += 1;
    if (member === undefined) continue;
    const ready = member.ready && !member.terminating && !member.finished;
    if (ready) progress.ready += 1;
    if (member.available) progress.available += 1;
    if (!target || member.terminating || update === undefined || member.revision !== update.metadata.name)
      continue;
    progress.updated += 1;
    if (ready) progress.updatedReady += 1;
    if (member.available) progress.updatedAvailable += 1;
  }
  return {
    ...progress,
    desired: set.replicas,
    unavailable: countUnavailable(view),
    maxUnavailable: maxUnavailableOf(set).value,
  };
}

/**
 * Whether nothing more is to be done under the present strategy (design "What a run is"): the first revision awaits all pods, but for
 * those that the strategy leaves at a revision which somebody has deleted: it is not the first then, only the last that is left.
 * OnDelete awaits only the revision; else every pod from the partition up is at the update revision and available.
 */
export function isFinishedRollout(view: StatefulSetView): boolean {
  const { workload: set, revisions, slots, byLabel } = view;
  const isFirst = revisions.length === 1;
  return areUpdated(view, (ordinal) => {
    if (isTargetOrdinal(set, ordinal)) return true;
    const member = slots[ordinal - set.start];
    return isFirst && (member === undefined || byLabel.has(member.revision));
  });
}

/** Whether every pod is at the update revision and available, those too that the present strategy leaves alone. */
export function isCompleteSet(view: StatefulSetView): boolean {
  return areUpdated(view, () => true);
}

function areUpdated(view: StatefulSetView, isMeant: (ordinal: number) => boolean): boolean {
  const { workload: set, update, revisionPlan } = view;
  if (set.deleting || update === undefined || revisionPlan.outcome !== 'exists') return false;
  return view.slots.every((member, offset) => {
    if (!isMeant(set.start + offset)) return true;
    return member?.available === true && member.revision === update.metadata.name;
  });
}

/** No revision for the template, or a pod that may be touched is not at it; never because of scaling or a takeover alone. */
export function needsRollout(view: StatefulSetView): boolean {
  const { workload: set, update, revisionPlan } = view;
  if (set.deleting) return false;
  if (update === undefined || revisionPlan.outcome !== 'exists') return true;
  return view.slots.some(
    (member) =>
      member !== undefined &&
      !member.terminating &&
      !member.finished &&
      view.isTarget(member) &&
      (member.revision !== update.metadata.name || isInfeasible(view, member)),
  );
}
