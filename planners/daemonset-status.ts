/** Status and progress of a DaemonSet (D23, D24). */

import { countUnavailableNodes, desiredPlaces } from './daemonset-budget.ts';
import type { DaemonBudget } from './daemonset-budget.ts';
import type { DaemonMember, DaemonSetView, Place } from './daemonset-view.ts';
import type { Progress } from './plan.ts';
import { isInfeasible } from './pod-updates.ts';
import { collisionCountOf } from './revision-plan.ts';
import type { DaemonSetStatus } from './workload.ts';

/**
 * The whole status of the snapshot (D23): of several pods on a node the first is judged, so that during a surge a node counts
 * as updated once the old pod is gone. As long as the template has no revision, observedGeneration stays behind.
 */
export function statusOfDaemonSet(view: DaemonSetView): DaemonSetStatus {
  const { workload, update, places } = view;
  const stored = workload.status;
  const desired = desiredPlaces(view);
  const first = desired.flatMap(({ pods }) => pods.slice(0, 1));
  const available = first.filter(({ availableAt, inPlace }) =>
    availableAt === undefined ? false : availableAt <= view.now && inPlace === undefined,
  ).length;
  const observedGeneration = update === undefined ? stored.observedGeneration : workload.generation;
  return {
    ...(observedGeneration !== undefined && { observedGeneration }),
    desiredNumberScheduled: desired.length,
    currentNumberScheduled: first.length,
    numberMisscheduled: places.filter(({ shouldRun, pods }) => !shouldRun && pods.length > 0).length,
    numberReady: first.filter(({ ready }) => ready).length,
    updatedNumberScheduled: first.filter(({ isNew }) => isNew).length,
    numberAvailable: available,
    numberUnavailable: desired.length - available,
    collisionCount: update === undefined ? (stored.collisionCount ?? 0) : collisionCountOf(workload, update),
    ...(stored.conditions !== undefined && { conditions: stored.conditions }),
  };
}

/** What a rollout has done so far (P18), by nodes. */
export function progressOfDaemonSet(view: DaemonSetView, { maxUnavailable }: DaemonBudget): Progress {
  const desired = desiredPlaces(view);
  const progress = { target: 0, updated: 0, updatedReady: 0, updatedAvailable: 0, ready: 0, available: 0 };
  for (const place of desired) {
    const live = place.pods.filter(isLive);
    if (live.some(({ ready }) => ready)) progress.ready += 1;
    if (live.some(({ available }) => available)) progress.available += 1;
    if (!isTarget(view, place)) continue;
    progress.target += 1;
    if (!isUpdated(place)) continue;
    progress.updated += 1;
    if (live.some(({ ready }) => ready)) progress.updatedReady += 1;
    if (live.some(({ available }) => available)) progress.updatedAvailable += 1;
  }
  return {
    ...progress,
    desired: desired.length,
    unavailable: countUnavailableNodes(desired),
    maxUnavailable,
  };
}

/**
 * Whether nothing more is to be done under the present strategy (design "What a run is"): the first revision awaits a pod on
 * every node, OnDelete only the revision; else every node that may be updated has an available pod at the update revision.
 */
export function isFinishedDaemonRollout(view: DaemonSetView): boolean {
  const isMeant = meantBy(view);
  return areSettled(view, isMeant) && !isUnproven(view, isMeant);
}

/** Whether every node has an available pod at the update revision, those too that the present strategy leaves alone. */
export function isCompleteDaemonSet(view: DaemonSetView): boolean {
  const isMeant = () => true;
  return areSettled(view, isMeant) && !isUnproven(view, isMeant);
}

/** Nothing is left but nodes that were not Ready before the rollout began, and none has shown that the revision works. */
export function isAwaitingIgnored(view: DaemonSetView): boolean {
  const isMeant = meantBy(view);
  return areSettled(view, isMeant) && isUnproven(view, isMeant);
}

/** The nodes whose rollout this is. */
function meantBy(view: DaemonSetView): (place: Place) => boolean {
  return view.revisions.length === 1 ? () => true : (place) => isTarget(view, place);
}

function areSettled(view: DaemonSetView, isMeant: (place: Place) => boolean): boolean {
  const { workload, update, revisionPlan, places } = view;
  if (workload.deleting || update === undefined || revisionPlan.outcome !== 'exists') return false;
  return places.every((place) => !isMeant(place) || isSettled(place));
}

/** Nodes that nobody waits for prove nothing: where one of these is behind, another must have an available pod at the update revision. */
function isUnproven({ places }: DaemonSetView, isMeant: (place: Place) => boolean): boolean {
  const isBehind = (place: Place) =>
    place.ignored && (place.shouldRun || place.isWanted) && isMeant(place) && !isProven(place);
  return places.some(isBehind) && !places.some(isProven);
}

/** Nothing more is to be done there: an available pod at the update revision where one is to run, else no old one. */
export function isSettled(place: Place): boolean {
  const { ignored, shouldRun, shouldContinue, isWanted, pods } = place;
  if (ignored) return true;
  // The new template is to have a pod there, for which it is held back.
  if (!shouldRun && isWanted) return false;
  if (!shouldRun) return !shouldContinue || pods.filter(isLive).every(({ isNew }) => isNew);
  return isProven(place);
}

function isProven(place: Place): boolean {
  return place.shouldRun && isUpdated(place) && place.pods.some(({ available }) => available);
}

/** No revision for the template, or a pod that may be touched is not at it; never because a node joined. */
export function needsDaemonRollout(view: DaemonSetView): boolean {
  const { workload, update, revisionPlan, places } = view;
  if (workload.deleting) return false;
  if (update === undefined || revisionPlan.outcome !== 'exists') return true;
  return places.some(
    (place) =>
      place.shouldContinue &&
      isTarget(view, place) &&
      place.pods.some((member) => isLive(member) && (!member.isNew || isInfeasible(view, member))),
  );
}

function isTarget({ workload }: DaemonSetView, place: Place): boolean {
  return workload.updateStrategy === 'RollingUpdate' && place.isTarget;
}

/** A new pod is there, and no old one any more. */
function isUpdated({ pods }: Place): boolean {
  const live = pods.filter(isLive);
  return live.length > 0 && live.every(({ isNew }) => isNew);
}

function isLive({ terminating, finished }: DaemonMember): boolean {
  return !terminating && !finished;
}
