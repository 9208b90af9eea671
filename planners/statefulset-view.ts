/** A snapshot of a StatefulSet, read once: who is who, what is at which revision, what is available. */

import { claimOf } from './controller-ref.ts';
import { readMember } from './member.ts';
import type { Member } from './member.ts';
import type { ControllerRevision, PersistentVolumeClaim, Pod } from './objects.ts';
import type { RevisionPlan } from './revision.ts';
import { revisionsOf } from './revision.ts';
import { matchesSelector } from './selector.ts';
import type { UpdateView } from './pod-updates.ts';
import { missingClaims, newPod, ordinalOf } from './statefulset-identity.ts';
import { planStatefulSetRevision } from './statefulset-revision.ts';
import type { Snapshot, StatefulSet } from './workload.ts';

/** More pods than any cluster holds: of a set that asks for more (a typing error) so many are kept, or memory would end first. */
export const MOST_REPLICAS = 100_000;

/** One pod of the set. */
export interface StatefulSetMember extends Member {
  readonly ordinal: number;
}

export interface StatefulSetView extends UpdateView<StatefulSetMember> {
  readonly workload: StatefulSet;
  /** In order, the set's own and orphans that match. */
  readonly revisions: readonly ControllerRevision[];
  readonly revisionPlan: RevisionPlan;
  /** The revision that pods below the partition have (S8); see {@link currentOf} where the status does not tell. */
  readonly current: ControllerRevision | undefined;
  /** The newest revision that rollouts know of: `update`, or what was it before the template changed. */
  readonly latest: ControllerRevision | undefined;
  /** Pods in range, by offset from the first ordinal (S2). */
  readonly slots: readonly (StatefulSetMember | undefined)[];
  /** Pods out of range, highest ordinal first (S2). */
  readonly condemned: readonly StatefulSetMember[];
  /** Pods to be released: owned, but they no longer match (C4, C6). */
  readonly released: readonly Pod[];
  /** Names that are taken by pods which are not the set's. */
  readonly foreign: ReadonlyMap<string, Pod>;
  readonly claims: ReadonlyMap<string, PersistentVolumeClaim>;
  /** First ordinal that the present strategy may update: start + partition (S10). */
  readonly firstTarget: number;
  /** See {@link Snapshot.replaced}. */
  readonly replaced: ReadonlyMap<string, string>;
}

/** Reads a snapshot. Nothing is decided here but which pods are the set's (C4, C6). */
export function viewStatefulSet(snapshot: Snapshot<StatefulSet>, now: number): StatefulSetView {
  const asked = snapshot.workload;
  const set = asked.replicas > MOST_REPLICAS ? { ...asked, replicas: MOST_REPLICAS } : asked;
  const revisions = revisionsOf(set, snapshot.revisions);
  const byLabel = new Map(revisions.map((revision) => [revision.metadata.name, revision]));
  const revisionPlan = planStatefulSetRevision(set, snapshot.revisions);
  const update = revisionPlan.outcome === 'create' ? undefined : revisionPlan.revision;
  const latest = update ?? byLabel.get(set.status.updateRevision ?? '') ?? revisions.at(-1);
  const sorted = sortPods(set, snapshot.pods, now);
  return {
    workload: set,
    now,
    revisions,
    byLabel,
    revisionPlan,
    update,
    updateLabel: update?.metadata.name,
    refusals: snapshot.refusals,
    isTarget: ({ ordinal }) => isTargetOrdinal(set, ordinal),
    successor: ({ ordinal }, revision) => newPod(set, ordinal, revision),
    lacks: ({ pod, ordinal }) => missingClaims(set, pod, ordinal).map((name) => `a claim of ${name}`),
    current: byLabel.get(set.status.currentRevision ?? '') ?? currentOf(set, sorted.slots, revisions, latest),
    latest,
    ...sorted,
    claims: new Map(snapshot.claims.map((claim) => [claim.metadata.name, claim])),
    firstTarget: set.start + set.partition,
    downNodes: snapshot.downNodes,
    replaced: snapshot.replaced ?? new Map<string, string>(),
  };
}

function sortPods(
  set: StatefulSet,
  pods: readonly Pod[],
  now: number,
): Pick<StatefulSetView, 'slots' | 'condemned' | 'released' | 'foreign'> {
  const slots: (StatefulSetMember | undefined)[] = Array.from({ length: set.replicas });
  const condemned: StatefulSetMember[] = [];
  const released: Pod[] = [];
  const foreign = new Map<string, Pod>();
  for (const pod of pods) {
    const ordinal = ordinalOf(set, pod.metadata.name);
    const matches = ordinal !== undefined && matchesSelector(set.selector, pod.metadata.labels);
    const claim = claimOf(set, pod, matches);
    if (claim === 'release') released.push(pod);
    if (claim === 'ignore' || claim === 'release') {
      foreign.set(pod.metadata.name, pod);
    } else if (ordinal !== undefined) {
      const member = { ...readMember(set, pod, claim === 'owned', now), ordinal };
      const offset = ordinal - set.start;
      if (offset >= 0 && offset < set.replicas) slots[offset] = member;
      else condemned.push(member);
    }
  }
  condemned.sort((a, b) => b.ordinal - a.ordinal);
  released.sort((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));
  return { slots, condemned, released, foreign };
}

/**
 * The current revision where the status names none that exists: the object was made anew (a change of workload API, a deletion that left
 * the pods) in the middle of a rollout, perhaps one that a partition or a pause holds. The pods know it: the newest revision but `latest`
 * that one below the partition has; where these tell nothing, that any pod has. Pods that are still to be adopted count, as the status
 * is written before they are. Only where none has another is it `latest`, as with the first revision.
 */
function currentOf(
  set: StatefulSet,
  slots: readonly (StatefulSetMember | undefined)[],
  revisions: readonly ControllerRevision[],
  latest: ControllerRevision | undefined,
): ControllerRevision | undefined {
  const knownOf = (members: typeof slots) => {
    const labels = new Set(members.map((member) => member?.revision));
    return revisions.filter(({ metadata }) => labels.has(metadata.name));
  };
  const below = knownOf(slots.slice(0, set.partition));
  const known = below.length > 0 ? below : knownOf(slots);
  return known.findLast((revision) => revision !== latest) ?? latest;
}

/** Whether the present strategy may bring the pod of this ordinal to the update revision: above start + partition (S10). */
export function isTargetOrdinal(set: StatefulSet, ordinal: number): boolean {
  return set.updateStrategy === 'RollingUpdate' && ordinal >= set.start + set.partition;
}

/** Every pod of the set. */
export function membersOf({ slots, condemned }: StatefulSetView): readonly StatefulSetMember[] {
  return [...slots.filter((member) => member !== undefined), ...condemned];
}
