/** The rollout of a DaemonSet: which nodes may be brought to the update revision now (D12–D17, design "Budget"). */

import { Budget, describeUse } from './budget.ts';
import { countUnavailableNodes, desiredPlaces, isUnavailable } from './daemonset-budget.ts';
import type { DaemonBudget } from './daemonset-budget.ts';
import { drainFirst, isLeftForLater, pullFirst } from './daemonset-hooks.ts';
import { isSettled } from './daemonset-status.ts';
import { createAction } from './daemonset-steady.ts';
import type { DaemonMember, DaemonSetView, Place } from './daemonset-view.ts';
import { deletePod } from './member.ts';
import type { ControllerRevision } from './objects.ts';
import type { PlanBuilder } from './plan-builder.ts';
import { isInfeasible, updateAction } from './pod-updates.ts';
import { describeWish } from './reasons.ts';

/** A node whose pod is to be brought to the update revision. */
interface Candidate {
  readonly place: Place;
  readonly member: DaemonMember;
}

/**
 * The legal writes of this moment. Pods that are not ready come first, all of them: they cost nothing, and a broken revision
 * can always be left (D13). Then ready ones from the last node name to the first, each charged, while unavailable + 1 ≤
 * maxUnavailable, where every node that should run a pod counts (D12); with a surge the new pod comes beside the old one, on so
 * many nodes at a time (D16).
 */
export function planDaemonBatch(view: DaemonSetView, plan: PlanBuilder, budget: DaemonBudget): void {
  const { update, workload } = view;
  if (update === undefined) return;
  const candidates = candidatesOf(view, plan);
  if (candidates.length === 0) return;
  if (workload.paused !== undefined || plan.holdsBatch) {
    for (const { member } of candidates) {
      if (workload.paused === undefined) plan.wait('ScalingFirst', { pod: member.name });
      else plan.wait('Paused', { pod: member.name, detail: describeWish(workload.paused) });
    }
    return;
  }
  if (budget.maxSurge > 0) planSurge(view, plan, candidates, update, budget);
  else planReplacement(view, plan, candidates, update, budget);
}

/** Pods at another revision on nodes where one may stay, the last node name first. */
function candidatesOf(view: DaemonSetView, plan: PlanBuilder): readonly Candidate[] {
  const candidates: Candidate[] = [];
  const turn = turnOf(view);
  for (const place of view.places.toReversed()) {
    if (!place.shouldContinue) continue;
    for (const member of place.pods) {
      if (!member.owned || member.terminating || member.finished || plan.writesPod(member.name)) continue;
      const infeasible = member.inPlace !== undefined && isInfeasible(view, member);
      if (member.isNew && !infeasible) continue;
      if (view.workload.updateStrategy === 'OnDelete') plan.wait('OnDelete', { pod: member.name });
      else if (!place.isTarget) plan.wait(place.keptBy ?? 'Partition', { pod: member.name });
      else if (member.ready && turn !== undefined && place.topology !== turn)
        plan.wait('TopologyOrder', { pod: member.name, detail: `now ${describeTurn(view, turn)}` });
      else if (member.inPlace?.revision !== view.updateLabel || infeasible)
        candidates.push({ place, member });
    }
  }
  return candidates;
}

/**
 * The value of the topologyKey whose nodes are updated now: the first, in the order of their names, that is not through; nodes
 * without the label come last. Undefined: no order is asked for. Pods that are not ready do not wait for their turn (D13).
 */
function turnOf({ workload, places }: DaemonSetView): string | undefined {
  if (workload.topologyKey === undefined) return undefined;
  const open = places.filter((place) => place.isTarget && !isSettled(place)).map(({ topology }) => topology);
  return open.sort((a, b) => (a === '' ? 1 : b === '' ? -1 : a < b ? -1 : 1))[0] ?? '';
}

function describeTurn({ workload }: DaemonSetView, turn: string): string {
  return turn === ''
    ? `nodes without ${workload.topologyKey ?? ''}`
    : `${workload.topologyKey ?? ''}=${turn}`;
}

/** D13, D14: the old pod goes, the new one comes when it is gone (D15). */
function planReplacement(
  view: DaemonSetView,
  plan: PlanBuilder,
  candidates: readonly Candidate[],
  update: ControllerRevision,
  { maxUnavailable }: DaemonBudget,
): void {
  const unavailable = countUnavailableNodes(desiredPlaces(view));
  const budget = new Budget(maxUnavailable, unavailable);
  const write = ({ member }: Candidate): boolean => {
    const action = updateAction(view, plan, member, update);
    return action !== undefined && plan.addBatch({ ...action, place: member.node });
  };
  for (const candidate of candidates) {
    if (!candidate.member.ready) write(candidate);
  }
  const pulls = pullsOf(view, maxUnavailable - unavailable);
  for (const candidate of candidates.toSorted(byDrain)) {
    const { member, place } = candidate;
    if (!member.ready || isLeftForLater(view, plan, place, member.name)) continue;
    // A node whose only pod is ready and not yet available is counted already; its pod costs no more.
    const own = isUnavailable(place) ? 1 : 0;
    if (!budget.allowsChargeBeside(own)) {
      if (budget.isUsedUpBeside(own)) {
        plan.wait('BudgetUsed', { pod: member.name, detail: describeUse(unavailable, maxUnavailable) });
      }
      pulls.begin(plan, candidate, update);
      continue;
    }
    if (!pulls.begin(plan, candidate, update)) continue;
    const drained = drainFirst(view, plan, place, member.name);
    const isTaken = drained === 'wait' || (drained === 'go' && write(candidate));
    if (isTaken && own === 0) budget.charge();
  }
}

/** What has been begun is brought to its end first; what was given up comes after all that were never tried, the longest ago first. */
function byDrain({ place: a }: Candidate, { place: b }: Candidate): number {
  if (a.draining !== b.draining) return a.draining ? -1 : 1;
  return (a.gaveUpAt ?? 0) - (b.gaveUpAt ?? 0);
}

/** Pulls that may be under way: one for each free slot, and as many ahead as the setting says. */
function pullsOf(view: DaemonSetView, free: number) {
  let left = Math.max(0, free) + (view.workload.prePull?.nodes ?? 0);
  return {
    /** Whether the images are there, or are not waited for. */
    begin(plan: PlanBuilder, candidate: Candidate, update: ControllerRevision): boolean {
      const pulled = pullFirst(view, plan, candidate, update, left > 0);
      if (pulled === 'wait') left -= 1;
      return pulled === 'go';
    },
  };
}

/** D16, D17. */
function planSurge(
  view: DaemonSetView,
  plan: PlanBuilder,
  candidates: readonly Candidate[],
  update: ControllerRevision,
  { maxSurge }: DaemonBudget,
): void {
  const desired = desiredPlaces(view);
  const found = desired.filter(isSurging).length;
  let surged = found;
  const pulls = pullsOf(view, maxSurge - found);
  const isServed = ({ pods }: Place) => pods.some(({ available }) => available);
  // Of a node that nobody waits for no pod is wanted either: its absence would hold these for ever.
  const wanted = desired.filter((place) => !place.ignored || isServed(place));
  let surplus = view.places.filter(isServed).length - wanted.length;
  for (const { place, member } of candidates) {
    if (!place.shouldRun) {
      // A pod that will have no successor: it goes at once when it serves nobody, else when there are more pods than wanted.
      if (member.available && surplus <= 0) {
        plan.wait('BudgetUsed', { pod: member.name, detail: 'as many pods are available as are wanted' });
        continue;
      }
      if (member.available) surplus -= 1;
      const why = `it is to be at revision ${update.metadata.name}`;
      plan.addBatch({
        ...deletePod(view.workload, member.pod, 'Recreate', why),
        revision: update.metadata.name,
        place: place.name,
        ...(member.ready && { charged: true }),
      });
    } else if (!place.pods.some(({ isNew, terminating }) => isNew && !terminating)) {
      if (member.available && surged >= maxSurge) {
        if (found >= maxSurge) {
          const detail = `${String(found)} of ${String(maxSurge)} nodes have a pod more`;
          plan.wait('BudgetUsed', { pod: member.name, detail });
        }
        pulls.begin(plan, { place, member }, update);
      } else if (member.available && !pulls.begin(plan, { place, member }, update)) {
        continue;
      } else if (plan.addBatch(createAction(view, place, update, 'Surge')) && member.available) {
        surged += 1;
      }
    }
  }
}

/** A new pod is beside the old one and not available yet, or there is more than one of either (D16). */
function isSurging({ pods }: Place): boolean {
  const live = pods.filter(({ terminating, finished }) => !terminating && !finished);
  const fresh = live.filter(({ isNew }) => isNew);
  return (
    (fresh.length > 0 && fresh.length < live.length && !fresh.some(({ available }) => available)) ||
    live.length > 2
  );
}
