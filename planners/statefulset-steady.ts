/** The steady state of a StatefulSet: replicas, claims, scaling down (S1–S5, S9–S12). */

import { isRunningAndReady } from './availability.ts';
import { claimChildren } from './claim-children.ts';
import { controllerOf } from './controller-ref.ts';
import { deletePod } from './member.ts';
import type { ControllerRevision, Pod } from './objects.ts';
import type { PlanBuilder } from './plan-builder.ts';
import { hasReachedAll } from './revision.ts';
import { describeDeletion } from './pod-reasons.ts';
import { formatSelector } from './selector.ts';
import {
  claimName,
  createClaimAction,
  foreignController,
  isStaleClaim,
  retainClaimAction,
  takesClaimAlong,
} from './statefulset-claims.ts';
import { fixIdentityAction, missingClaims, newPod, podName } from './statefulset-identity.ts';
import { membersOf } from './statefulset-view.ts';
import type { StatefulSetMember, StatefulSetView } from './statefulset-view.ts';

/** Pods that one plan creates, and that one plan deletes, at most (C13): what is asked for may change meanwhile. */
const BURST = 500;

/** A missing pod comes back at the last known revision when the new one has been missing for so long, milliseconds. */
const REVISION_PATIENCE_MS = 5_000;

/**
 * Plans what keeps the set as it should be whether or not a rollout runs. Scaling up goes before scaling down; OrderedReady
 * takes one step at a time and stops at the first pod that is not well (S9, S11, S12).
 */
export function planReplicas(view: StatefulSetView, plan: PlanBuilder, revisionMissingSince?: number): void {
  claimChildren(view, membersOf(view), plan);
  if (view.condemned.length > 0) plan.unsettle();
  const monotonic = view.workload.podManagementPolicy === 'OrderedReady';
  if (keepReplicas(view, plan, monotonic, revisionMissingSince)) {
    scaleDown(view, plan, monotonic);
    return;
  }
  for (const { name, owned, terminating } of view.condemned)
    if (owned && !terminating) plan.wait('ScaleDownWaits', { pod: name });
}

/** S9, S11. False if OrderedReady stops at one of the replicas. */
function keepReplicas(
  view: StatefulSetView,
  plan: PlanBuilder,
  monotonic: boolean,
  revisionMissingSince: number | undefined,
): boolean {
  const reached = lowestUpdated(view);
  const isHeld = holdsRest(view);
  const highest = view.slots.findLastIndex((member) => member !== undefined);
  // Also above where OrderedReady stops: a pod that came back into range goes with its data until its claims have let go of it.
  for (const member of view.slots) {
    if (member?.owned === true) retainClaims(view, plan, member, true);
  }
  let missing = 0;
  for (let offset = 0; offset < view.slots.length; offset += 1) {
    const member = view.slots[offset];
    if (member === undefined) {
      missing += 1;
      if (missing > BURST) continue;
      createReplica(view, plan, { offset, reached, isHeld, isHole: offset < highest, revisionMissingSince });
      if (monotonic) return false;
    } else if (!keepReplica(view, plan, member) && monotonic) {
      awaitOrder(view, plan, offset + 1);
      return false;
    }
  }
  return true;
}

/** S11: says which pods OrderedReady does not make while one before them is not well. */
function awaitOrder({ workload: set, slots }: StatefulSetView, plan: PlanBuilder, from: number): void {
  for (let offset = from; offset < slots.length; offset += 1)
    if (slots[offset] === undefined) plan.wait('ScaleUpWaits', { pod: podName(set, set.start + offset) });
}

interface Missing {
  readonly offset: number;
  /** Lowest ordinal above the partition whose pod is at the update revision. */
  readonly reached: number;
  /** A pause holds back what the rollout has not reached. */
  readonly isHeld: boolean;
  readonly isHole: boolean;
  readonly revisionMissingSince: number | undefined;
}

function createReplica(view: StatefulSetView, plan: PlanBuilder, missing: Missing): void {
  const { workload: set } = view;
  const ordinal = set.start + missing.offset;
  const name = podName(set, ordinal);
  const foreign = view.foreign.get(name);
  if (foreign !== undefined) {
    if (foreign.metadata.deletionTimestamp === undefined)
      plan.wait('NameTaken', { pod: name, ...lostLabels(view, foreign) });
    else plan.wait('NameLeaving', { pod: name, detail: `a pod of that name ${describeDeletion(foreign)}` });
    return;
  }
  const revision = revisionForNewPod(view, plan, ordinal, missing);
  if (revision === undefined) {
    plan.waitForRevisionOf(name);
    return;
  }
  for (const template of set.volumeClaimTemplates) {
    const claim = view.claims.get(claimName(set, template, ordinal));
    if (claim?.metadata.deletionTimestamp !== undefined) {
      plan.wait('ClaimTerminating', {
        pod: name,
        detail: `${claim.metadata.name} ${describeDeletion(claim)}`,
      });
      return;
    }
    if (claim !== undefined && isStaleClaim(set, claim, name)) {
      plan.wait('ClaimStale', { pod: name, detail: claim.metadata.name });
      return;
    }
  }
  if (!createClaims(view, plan, ordinal)) return;
  plan.addSteady({
    verb: 'create',
    resource: 'pods',
    name,
    body: newPod(set, ordinal, revision),
    purpose: 'ScaleUp',
    revision: revision.metadata.name,
    message: `create Pod ${name} in StatefulSet ${set.ref.name} at revision ${revision.metadata.name}`,
  });
}

/** Of a pod that nobody else controls: somebody changed its labels, and it need not be lost. */
function lostLabels({ workload }: StatefulSetView, pod: Pod): { readonly detail?: string } {
  const controller = controllerOf(pod);
  if (controller !== undefined && controller.uid !== workload.ref.uid) return {};
  const selector = formatSelector(workload.selector);
  return {
    detail: `${pod.metadata.name} does not match the selector ${selector}, and is adopted once it does`,
  };
}

/** Creates the claims that a pod lacks (S3). False if one of them cannot be created now. */
function createClaims(view: StatefulSetView, plan: PlanBuilder, ordinal: number): boolean {
  let complete = true;
  for (const template of view.workload.volumeClaimTemplates) {
    if (!view.claims.has(claimName(view.workload, template, ordinal))) {
      complete = plan.addSteady(createClaimAction(view.workload, template, ordinal)) && complete;
    }
  }
  return complete;
}

/**
 * S10: below the partition the current revision, else the update revision, also where the strategy has no struct `rollingUpdate`: upstream
 * then goes by `status.currentReplicas`, which tells what a rollout has reached only where it strictly goes from the highest ordinal down.
 * Pods that are not ready go first here (S15), and would come back at the old revision for ever. While the rollout is paused, a pod that it had not
 * reached does not get ahead of it (A9): rollouts go from the highest ordinal down, so a missing pod comes back at the update
 * revision only if a lower one is at it already, or if the last rollout of that revision was finished as far as the partition lets it now.
 * Where neither can be told it comes back at the current revision. What a batch deleted comes at the revision that it was deleted for.
 *
 * While the template has no revision, holes are filled at the last known revision, unless a batch has made them for another that somebody has
 * deleted since: at the last one it would be for nothing. So is everything else after 5 s.
 */
function revisionForNewPod(
  view: StatefulSetView,
  plan: PlanBuilder,
  ordinal: number,
  { reached, isHeld, isHole, revisionMissingSince }: Missing,
): ControllerRevision | undefined {
  const { workload: set, current, update, latest } = view;
  const deletedFor = view.replaced.get(podName(set, ordinal));
  if (set.updateStrategy === 'RollingUpdate') {
    if (ordinal < set.start + set.partition) return current;
    const isDeletedFor = deletedFor === update?.metadata.name;
    if (isHeld && !isDeletedFor && reached > ordinal) return current;
  }
  const isAwaited =
    deletedFor !== undefined && !view.revisions.some(({ metadata }) => metadata.name === deletedFor);
  if (update !== undefined || (isHole && !isAwaited)) return latest;
  if (revisionMissingSince === undefined) return undefined;
  const until = revisionMissingSince + REVISION_PATIENCE_MS;
  plan.requeue(until);
  return view.now >= until ? latest : undefined;
}

function holdsRest({ workload, update, revisions, slots, firstTarget }: StatefulSetView): boolean {
  if (workload.paused === undefined || update === undefined) return false;
  const isThrough = (member: StatefulSetMember) =>
    member.terminating || member.finished || member.revision === update.metadata.name;
  const isAlone = slots.every((one) => one === undefined || one.ordinal < firstTarget || isThrough(one));
  return !hasReachedAll(update, revisions, { isAlone, isPartial: workload.partition > 0 });
}

function lowestUpdated(view: StatefulSetView): number {
  const name = view.update?.metadata.name;
  const member = view.slots.find(
    (one) => one?.revision === name && one !== undefined && one.ordinal >= view.firstTarget,
  );
  return member?.ordinal ?? Infinity;
}

/** S11. False if OrderedReady has to wait for this pod. */
function keepReplica(view: StatefulSetView, plan: PlanBuilder, member: StatefulSetMember): boolean {
  const { pod, ordinal } = member;
  if (!member.owned) return false;
  if (member.finished) {
    if (!member.terminating && takesClaimAlong(view.workload, view.claims, pod, ordinal)) {
      plan.wait('ClaimOwners', { pod: member.name });
    } else if (!member.terminating) {
      plan.addSteady(
        deletePod(view.workload, pod, 'ReplaceFinished', `it is ${pod.status?.phase ?? 'finished'}`),
      );
    }
    return false;
  }
  if (pod.status?.phase === 'Pending' && !member.terminating) createClaims(view, plan, ordinal);
  const identity = member.terminating ? undefined : fixIdentityAction(view.workload, pod, ordinal);
  if (identity !== undefined) plan.addSteady(identity);
  const missing = member.terminating ? [] : missingClaims(view.workload, pod, ordinal);
  if (missing.length > 0) plan.wait('ClaimMissing', { pod: member.name, detail: missing.join(', ') });
  const at = member.availableAt;
  return !member.terminating && isRunningAndReady(pod) && at !== undefined && at <= view.now;
}

/** S4. False while a claim's owners have yet to be changed. */
function retainClaims(
  view: StatefulSetView,
  plan: PlanBuilder,
  member: StatefulSetMember,
  inRange: boolean,
): boolean {
  let settled = true;
  for (const template of view.workload.volumeClaimTemplates) {
    const claim = view.claims.get(claimName(view.workload, template, member.ordinal));
    if (claim === undefined) continue;
    const other = foreignController(view.workload, claim, member.pod);
    if (other !== undefined)
      plan.wait('ClaimConflict', { pod: claim.metadata.name, detail: `${other.kind} ${other.name}` });
    const action = retainClaimAction(view.workload, claim, member.pod, inRange);
    if (action !== undefined) {
      plan.addSteady(action);
      settled = false;
    }
  }
  return settled;
}

/**
 * S12: descending; OrderedReady deletes one at a time and stops at a pod that is not well, unless it is the first such pod.
 * A pod that cannot get well by waiting does not stop it: one that is finished, or broken at a revision that was left (S15).
 * Such a step that is waited for holds the rollout back as its write did (S9): what the rollout breaks would stop the next one.
 */
function scaleDown(view: StatefulSetView, plan: PlanBuilder, monotonic: boolean): void {
  const firstUnwell =
    view.slots.find((member) => member?.available === false) ?? view.condemned.findLast(isUnwell);
  let settled = true;
  for (const member of view.condemned) {
    if (member.owned) settled = retainClaims(view, plan, member, false) && settled;
  }
  if (monotonic && !settled) {
    for (const { name } of view.condemned) plan.wait('ClaimOwners', { pod: name });
    return;
  }
  let deleted = 0;
  for (const member of view.condemned) {
    if (!member.owned || member.terminating) {
      if (!monotonic) continue;
      if (member.terminating) plan.holdBatch();
      return;
    }
    if (deleted === BURST) return;
    const mayRecover = !member.finished && member.revision === view.latest?.metadata.name;
    if (monotonic && isUnwell(member) && mayRecover && member !== firstUnwell) {
      plan.wait('PodNotReady', {
        pod: firstUnwell?.name ?? member.name,
        detail: 'scaling down waits for it',
      });
      plan.holdBatch();
      return;
    }
    if (monotonic || claimsSettled(view, member)) {
      plan.addSteady(deletePod(view.workload, member.pod, 'ScaleDown', 'it is not among the replicas'));
      deleted += 1;
    } else {
      plan.wait('ClaimOwners', { pod: member.name });
    }
    if (monotonic) return;
  }
}

/** The claim must know its pod before the pod goes, or it would outlive it (S4, crash-safe). */
function claimsSettled(view: StatefulSetView, member: StatefulSetMember): boolean {
  return view.workload.volumeClaimTemplates.every((template) => {
    const claim = view.claims.get(claimName(view.workload, template, member.ordinal));
    return claim === undefined || retainClaimAction(view.workload, claim, member.pod, false) === undefined;
  });
}

function isUnwell(member: StatefulSetMember): boolean {
  return !member.available;
}
