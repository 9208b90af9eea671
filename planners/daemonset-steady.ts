/** The steady state of a DaemonSet: a pod on each node that should have one, none elsewhere (D6–D10). */

import { claimChildren } from './claim-children.ts';
import type { DaemonBudget } from './daemonset-budget.ts';
import { daemonPodName, newDaemonPod } from './daemonset-pods.ts';
import { hashOf } from './daemonset-hash.ts';
import { membersOfView } from './daemonset-view.ts';
import type { DaemonMember, DaemonSetView, Place } from './daemonset-view.ts';
import { deletePod } from './member.ts';
import type { ControllerRevision } from './objects.ts';
import type { Action, Purpose } from './plan.ts';
import { isAhead } from './plan.ts';
import type { PlanBuilder } from './plan-builder.ts';
import { LONGEST_FAILURE_MS } from './workload.ts';

/** Pods that one plan creates, and that one plan deletes, at most (C13). */
const BURST = 250;
/** A missing pod comes at the last known revision when the new one has been missing for so long, milliseconds. */
const REVISION_PATIENCE_MS = 5_000;

/** Plans what keeps each node as it should be, whether or not a rollout runs. */
export function planPlaces(view: DaemonSetView, plan: PlanBuilder, budget: DaemonBudget): void {
  claimChildren(view, membersOfView(view), plan);
  const burst = { creates: BURST, deletes: BURST };
  for (const place of view.places) {
    if (place.shouldContinue) keepPlace(view, plan, place, budget, burst);
    else
      for (const member of place.pods) remove(view, plan, member, burst, `node ${place.name} is not for it`);
  }
  for (const member of view.lost) {
    // One that is bound is the garbage collector's; one that waits for the scheduler is seen by nobody else (D10).
    const isBound = member.pod.spec.nodeName !== undefined && member.pod.spec.nodeName !== '';
    if (!isBound) remove(view, plan, member, burst, `node ${member.node} does not exist`);
  }
}

interface Burst {
  creates: number;
  deletes: number;
}

function keepPlace(
  view: DaemonSetView,
  plan: PlanBuilder,
  place: Place,
  { maxSurge }: DaemonBudget,
  burst: Burst,
): void {
  const live: DaemonMember[] = [];
  const finished: DaemonMember[] = [];
  for (const member of place.pods) {
    if (member.terminating || !member.owned) continue;
    (member.finished ? finished : live).push(member);
  }
  const due = finished.filter((member) => isDue(view, plan, place, member));
  // D6: one that is terminating keeps its place, unless a surge allows two (D8).
  const others = place.pods.filter((member) => !due.includes(member));
  const isEmpty = maxSurge > 0 ? others.every(({ terminating }) => terminating) : others.length === 0;
  // Its successor is made before it goes, or would have its name: whoever waits for the end of a failed pod would wait for ever.
  if (!place.shouldRun || live.length > 0) {
    for (const member of due) {
      const why = `it is ${member.pod.status?.phase ?? 'finished'}`;
      remove(view, plan, member, burst, why, 'ReplaceFinished');
    }
  }
  if (place.shouldRun && isEmpty) createHere(view, plan, place, burst);
  else if (maxSurge > 0) settleSurge(view, plan, live, burst);
  else
    for (const member of live.slice(1)) remove(view, plan, member, burst, `node ${place.name} has another`);
}

/**
 * D7: a failed pod is replaced after a back-off that grows with each failure of its revision on the node; a succeeded one at once, and
 * so is one whose successor has another revision: that may be what mends it (D13).
 */
function isDue(
  view: DaemonSetView,
  plan: PlanBuilder,
  place: Place,
  { pod, node, revision }: DaemonMember,
): boolean {
  const failures = view.snapshot.failures?.get(node);
  if (pod.status?.phase !== 'Failed' || failures?.revision !== revision) return true;
  if (!isAhead(failures.until, view.now, LONGEST_FAILURE_MS)) return true;
  const next = revisionForNewPod(view, plan, place);
  if (next === undefined || hashOf(next) !== revision) return true;
  // Which pod it is, is told with all that are not available.
  plan.wait('PodNotReady', { detail: `it failed on node ${node}`, until: failures.until });
  return false;
}

/**
 * D8: of several one new and one old one stay; the old one goes when it is not ready, or the new one is available. Upstream keeps the
 * oldest of each; here one that serves comes before, or a node could lose the only one that does.
 */
function settleSurge(
  view: DaemonSetView,
  plan: PlanBuilder,
  live: readonly DaemonMember[],
  burst: Burst,
): void {
  const ranked = live.toSorted(byService);
  const [fresh, ...moreFresh] = ranked.filter(({ isNew }) => isNew);
  const [old, ...moreOld] = ranked.filter(({ isNew }) => !isNew);
  for (const member of [...moreFresh, ...moreOld]) {
    remove(view, plan, member, burst, `node ${member.node} has another`);
  }
  if (fresh === undefined || old === undefined) return;
  if (!old.ready) remove(view, plan, old, burst, 'it is not ready, and its successor is there');
  else if (fresh.available) remove(view, plan, old, burst, 'its successor is available');
}

/** Available ones first, then those that are Ready; equal ones stay in their order. */
function byService(a: DaemonMember, b: DaemonMember): number {
  return Number(b.available) - Number(a.available) || Number(b.ready) - Number(a.ready);
}

function createHere(view: DaemonSetView, plan: PlanBuilder, place: Place, burst: Burst): void {
  const revision = revisionForNewPod(view, plan, place);
  if (revision === undefined) {
    plan.waitForRevisionOf(place.name);
    return;
  }
  if (burst.creates === 0) return;
  burst.creates -= 1;
  plan.addSteady(createAction(view, place, revision, 'ScaleUp'));
}

/** The create of a pod on a node. */
export function createAction(
  view: DaemonSetView,
  { name: node, pods, ghosts }: Place,
  revision: ControllerRevision,
  purpose: Purpose,
): Action {
  const { workload } = view;
  const beside = [...pods, ...ghosts].map(({ pod }) => pod.metadata.uid);
  const name = freeName(view, node, revision, beside);
  return {
    verb: 'create',
    resource: 'pods',
    name,
    place: node,
    body: newDaemonPod(workload, name, node, revision, revision === view.update),
    purpose,
    revision: revision.metadata.name,
    message: `create Pod ${name} on node ${node} in DaemonSet ${workload.ref.name} at revision ${revision.metadata.name}`,
  };
}

/** A pod that was released keeps the name that its successor would have: then that one's name follows from it, too. */
function freeName(
  view: DaemonSetView,
  node: string,
  revision: ControllerRevision,
  beside: readonly string[],
): string {
  const name = daemonPodName(view.workload, node, revision, [...beside].sort().join(' '));
  const stranger = view.strangers.get(name);
  return stranger === undefined ? name : freeName(view, node, revision, [...beside, stranger]);
}

/**
 * D18: the newest revision; nodes that are held back from it get what they are held at. Without a revision for the template: after 5 s
 * the last known one.
 */
function revisionForNewPod(
  { update, latest, snapshot, now }: DaemonSetView,
  plan: PlanBuilder,
  { heldAt }: Place,
): ControllerRevision | undefined {
  const revision = heldAt ?? update;
  if (revision !== undefined) return revision;
  const since = snapshot.revisionMissingSince;
  if (since === undefined) return undefined;
  const until = since + REVISION_PATIENCE_MS;
  plan.requeue(until);
  return now >= until ? latest : undefined;
}

function remove(
  { workload }: DaemonSetView,
  plan: PlanBuilder,
  member: DaemonMember,
  burst: Burst,
  why: string,
  purpose: Purpose = 'ScaleDown',
): void {
  if (member.terminating || !member.owned || burst.deletes === 0) return;
  burst.deletes -= 1;
  plan.addSteady({
    ...deletePod(workload, member.pod, purpose, why),
    place: member.node,
    ...(purpose === 'ReplaceFinished' && { finishedRevision: member.revision }),
  });
}
