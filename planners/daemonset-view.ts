/** A snapshot of a DaemonSet, read once: which node is to run a pod, which pods it has, at which revision. */

import { conditionOf } from './availability.ts';
import { claimOf } from './controller-ref.ts';
import { readMember } from './member.ts';
import { readDrainMark } from './node-drain.ts';
import type { Member } from './member.ts';
import { ANNOTATION, LABEL } from './names.ts';
import { eligibilityOf } from './node-eligibility.ts';
import type { Eligibility } from './node-eligibility.ts';
import type { ControllerRevision, Node, Pod } from './objects.ts';
import type { UpdateView } from './pod-updates.ts';
import { isPullerOf } from './pre-pull.ts';
import { planRevision } from './revision-plan.ts';
import type { RevisionPlan } from './revision.ts';
import { compareRevisions, lastCompleteOf, revisionsOf } from './revision.ts';
import { matchesSelector } from './selector.ts';
import { targetNodeOf } from './target-node.ts';
import type { DaemonSet, Snapshot } from './workload.ts';

/** One pod of the set. */
export interface DaemonMember extends Member {
  /** Name of the node that it runs on or is aimed at (D3). */
  readonly node: string;
  /** At the update revision (D5). */
  readonly isNew: boolean;
}

/** One node with the pods of the set on it. */
export interface Place extends Eligibility {
  readonly name: string;
  readonly node: Node;
  /** Oldest first: scheduled ones, then by creation, then by name (D7). */
  readonly pods: readonly DaemonMember[];
  /** uids of pods that are finished and terminating: they count no more, but keep their names (D6). */
  readonly ghosts: readonly string[];
  /** The strategy may bring it to the update revision; the others keep what they have. */
  readonly isTarget: boolean;
  /** Partition or nodeSelector: why it is no target. */
  readonly keptBy?: 'Partition' | 'NodeSelector';
  /** Its value of the topologyKey; '' when it has none. */
  readonly topology: string;
  /** The node was not Ready before the rollout began: it takes nothing from the budget, and nobody waits for it. */
  readonly ignored: boolean;
  /** It is cordoned for this workload: its pod is the next to go. */
  readonly draining: boolean;
  /** When its drain was given up last, milliseconds since the epoch; absent = never. */
  readonly gaveUpAt?: number;
}

export interface DaemonSetView extends UpdateView<DaemonMember> {
  readonly workload: DaemonSet;
  readonly revisions: readonly ControllerRevision[];
  readonly revisionPlan: RevisionPlan;
  /** The newest revision that rollouts know of. */
  readonly latest: ControllerRevision | undefined;
  /** The last complete revision but {@link update}: what a rollout that is paused does not get beyond. */
  readonly current: ControllerRevision | undefined;
  /** The revision that nodes keep which are no targets, for those of them that need a new pod. */
  readonly kept: ControllerRevision | undefined;
  /** By name. */
  readonly places: readonly Place[];
  /** Pods that are aimed at a node that is gone (D10), or on one. */
  readonly lost: readonly DaemonMember[];
  readonly released: readonly Pod[];
  /** uids by name of pods that are not, or not any more, the set's: their names are taken (C4). */
  readonly strangers: ReadonlyMap<string, string>;
  /** Pods that pull images for the set, by name: of a large set each node looks for its own. */
  readonly pullers: ReadonlyMap<string, Pod>;
  readonly snapshot: Snapshot<DaemonSet>;
}

/** Reads a snapshot. `now` in milliseconds since the epoch. */
export function viewDaemonSet(snapshot: Snapshot<DaemonSet>, now: number): DaemonSetView {
  const { workload } = snapshot;
  const revisions = revisionsOf(workload, snapshot.revisions);
  const revisionPlan = planRevision(workload, snapshot.revisions, LABEL.revisionHash);
  const update = revisionPlan.outcome === 'create' ? undefined : revisionPlan.revision;
  const updateLabel = update && hashOf(update);
  const others = revisions.filter((revision) => revision !== update);
  const byLabel = new Map(revisions.map((revision) => [hashOf(revision), revision]));
  const { members, released, strangers, pullers } = membersOf(snapshot, updateLabel, byLabel, now);
  const rejected = madeAfter(update, byLabel);
  const { places, lost } = placesOf(snapshot, members, wantedSince(update), rejected);
  const current = lastCompleteOf(others) ?? others.at(-1) ?? update;
  const targets = new Set(places.filter(({ isTarget }) => isTarget).map(({ name }) => name));
  return {
    workload,
    now,
    revisions,
    byLabel,
    revisionPlan,
    update,
    updateLabel,
    refusals: snapshot.refusals,
    latest: update ?? revisions.at(-1),
    current,
    // What is gone back to is what the others have kept. At the rejected one a pod would be taken again, for ever.
    kept: keptRevision(places, byLabel, rejected) ?? (rejected.size > 0 ? update : current),
    downNodes: snapshot.downNodes,
    isTarget: ({ node }) => workload.updateStrategy === 'RollingUpdate' && targets.has(node),
    places,
    lost,
    released,
    strangers,
    pullers,
    snapshot,
  };
}

/** What the label of the revision's pods says: the hash, not the name (D4); one without a label is known by its name (D19). */
export function hashOf({ metadata }: ControllerRevision): string {
  return metadata.labels?.[LABEL.revisionHash] ?? metadata.name;
}

/** Every pod of the set. */
export function membersOfView({ places, lost }: DaemonSetView): readonly DaemonMember[] {
  return [...places.flatMap(({ pods }) => pods), ...lost];
}

function membersOf(
  { workload, pods }: Snapshot<DaemonSet>,
  updateLabel: string | undefined,
  byLabel: ReadonlyMap<string, ControllerRevision>,
  now: number,
): Pick<DaemonSetView, 'released' | 'strangers' | 'pullers'> & { readonly members: readonly DaemonMember[] } {
  const members: DaemonMember[] = [];
  const released: Pod[] = [];
  const strangers = new Map<string, string>();
  const pullers = new Map<string, Pod>();
  for (const pod of pods) {
    if (pod.metadata.labels?.[LABEL.prePull] !== undefined) {
      if (isPullerOf(workload, pod)) pullers.set(pod.metadata.name, pod);
      continue;
    }
    const claim = claimOf(workload, pod, matchesSelector(workload.selector, pod.metadata.labels));
    const node = targetNodeOf(pod);
    if (claim === 'release') released.push(pod);
    if (claim === 'release' || claim === 'ignore') strangers.set(pod.metadata.name, pod.metadata.uid);
    if (claim === 'ignore' || claim === 'release' || node === undefined) continue;
    const member = readMember(workload, pod, claim === 'owned', now);
    const generation = pod.metadata.labels?.[LABEL.templateGeneration];
    // A set that is made again counts from 1 again: the generation says nothing of a pod whose revision is known to be another.
    const isOfGeneration =
      workload.templateGeneration !== undefined &&
      generation === workload.templateGeneration &&
      !byLabel.has(member.revision);
    const isNew = member.revision === updateLabel || isOfGeneration;
    members.push({ ...member, node, isNew: isNew && updateLabel !== undefined });
  }
  released.sort((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));
  return { members, released, strangers, pullers };
}

/** Labels of the revisions that were made after this one: it is being gone back to, and their pods must not outlive that. */
function madeAfter(
  update: ControllerRevision | undefined,
  byLabel: ReadonlyMap<string, ControllerRevision>,
): ReadonlySet<string> {
  const { annotations, creationTimestamp: madeAt = '' } = update?.metadata ?? {};
  // One that was never left has none after it. The times are whole seconds: what was made in the same one came after it, too.
  if (annotations?.[ANNOTATION.wantedSince] === undefined) return new Set();
  const newer = [...byLabel].filter(
    ([, one]) => one !== update && (one.metadata.creationTimestamp ?? '') >= madeAt,
  );
  return new Set(newer.map(([label]) => label));
}

/** What most of the pods on nodes that are no targets have, but what is being gone back from; after a canary was taken back that is not the last complete one. */
function keptRevision(
  places: readonly Place[],
  byLabel: ReadonlyMap<string, ControllerRevision>,
  rejected: ReadonlySet<string>,
): ControllerRevision | undefined {
  const counts = new Map<ControllerRevision, number>();
  for (const { keptBy, pods } of places) {
    for (const { revision, terminating } of keptBy === undefined ? [] : pods) {
      const one = byLabel.get(revision);
      if (one !== undefined && !terminating && !rejected.has(revision))
        counts.set(one, (counts.get(one) ?? 0) + 1);
    }
  }
  // Of equal ones the older, which has proved itself for longer.
  return [...counts].sort(([a, most], [b, more]) => more - most || compareRevisions(a, b))[0]?.[0];
}

function placesOf(
  snapshot: Snapshot<DaemonSet>,
  members: readonly DaemonMember[],
  begun: number,
  rejected: ReadonlySet<string>,
): { readonly places: readonly Place[]; readonly lost: readonly DaemonMember[] } {
  const { workload, nodes = [] } = snapshot;
  const byNode = new Map<string, DaemonMember[]>();
  for (const member of members) {
    const there = byNode.get(member.node);
    if (there === undefined) byNode.set(member.node, [member]);
    else there.push(member);
  }
  const eligibility = eligibilityOf(workload.template);
  const places = [...nodes].sort(byName).map((node) => {
    const { name } = node.metadata;
    const there = byNode.get(name) ?? [];
    byNode.delete(name);
    return {
      name,
      node,
      pods: there.filter((member) => !isGhost(member)).sort(byAge),
      ghosts: there.filter(isGhost).map(({ pod }) => pod.metadata.uid),
      ...eligibility(node),
      isTarget: true,
      topology: (workload.topologyKey !== undefined && node.metadata.labels?.[workload.topologyKey]) || '',
      ignored: workload.notReadyNodes === 'Ignore' && wasNotReady(node, begun),
      ...drainOf(workload, node),
    };
  });
  return { places: withTargets(snapshot, places, rejected), lost: [...byNode.values()].flat() };
}

/** Since when the workload wants the revision, milliseconds since the epoch: when its rollout began. */
function wantedSince(update: ControllerRevision | undefined): number {
  const { annotations, creationTimestamp = '' } = update?.metadata ?? {};
  return Date.parse(annotations?.[ANNOTATION.wantedSince] ?? creationTimestamp);
}

function drainOf({ ref, drain }: DaemonSet, node: Node): Pick<Place, 'draining' | 'gaveUpAt'> {
  const mark = drain && readDrainMark(node);
  if (mark === undefined || mark.uid !== ref.uid) return { draining: false };
  return mark.gaveUp ? { draining: false, gaveUpAt: mark.at } : { draining: true };
}

/** A node that breaks while a rollout is under way must stop it, not be forgotten (k/k #117204); both times are whole seconds. */
function wasNotReady(node: Node, begun: number): boolean {
  const ready = conditionOf(node, 'Ready');
  return ready?.status !== 'True' && Date.parse(ready?.lastTransitionTime ?? '') < begun;
}

/**
 * Which nodes keep what they have: those that the nodeSelector does not select, and so many of the others as the partition says.
 * Of these, those are taken first whose revision is being gone back from, or a canary could never be taken back; then those that
 * are updated already, so that no node is taken instead of one that has the new revision; then the last names.
 */
function withTargets(
  { workload: { partition, nodeSelector }, nodes = [] }: Snapshot<DaemonSet>,
  all: readonly Place[],
  rejected: ReadonlySet<string>,
): readonly Place[] {
  const labels = new Map(nodes.map(({ metadata }) => [metadata.name, metadata.labels ?? {}]));
  const wanted = Object.entries(nodeSelector);
  const isSelected = ({ name }: Place) => wanted.every(([key, value]) => labels.get(name)?.[key] === value);
  const places =
    wanted.length === 0
      ? all
      : all.map((place) =>
          isSelected(place) ? place : { ...place, isTarget: false, keptBy: 'NodeSelector' as const },
        );
  if (partition === 0) return places;
  const desired = places.filter(({ shouldRun, isTarget }) => shouldRun && isTarget);
  const rank = ({ pods }: Place): number => {
    const live = pods.filter(({ terminating }) => !terminating);
    if (live.some(({ isNew, revision }) => !isNew && rejected.has(revision))) return 0;
    return live.some(({ isNew }) => isNew) ? 1 : 2;
  };
  const ordered = [...desired].sort((a, b) => rank(a) - rank(b) || (a.name < b.name ? 1 : -1));
  const kept = new Set(ordered.slice(Math.max(0, ordered.length - partition)).map(({ name }) => name));
  return places.map((place) =>
    kept.has(place.name) ? { ...place, isTarget: false, keptBy: 'Partition' as const } : place,
  );
}

function isGhost({ finished, terminating }: DaemonMember): boolean {
  return finished && terminating;
}

function byName(a: Node, b: Node): number {
  return a.metadata.name < b.metadata.name ? -1 : 1;
}

/** Scheduled ones first, then the older, then by name (D7). */
function byAge(a: DaemonMember, b: DaemonMember): number {
  const [aScheduled, bScheduled] = [isScheduled(a), isScheduled(b)];
  if (aScheduled !== bScheduled) return aScheduled ? -1 : 1;
  const [aCreated, bCreated] = [
    a.pod.metadata.creationTimestamp ?? '',
    b.pod.metadata.creationTimestamp ?? '',
  ];
  if (aCreated !== bCreated) return aCreated < bCreated ? -1 : 1;
  return a.name < b.name ? -1 : 1;
}

function isScheduled({ pod }: DaemonMember): boolean {
  return pod.spec.nodeName !== undefined && pod.spec.nodeName !== '';
}
