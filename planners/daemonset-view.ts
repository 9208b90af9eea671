/** A snapshot of a DaemonSet, read once: which node is to run a pod, which pods it has, at which revision. */

import { conditionOf } from './availability.ts';
import { claimOf } from './controller-ref.ts';
import { hashOf } from './daemonset-hash.ts';
import { daemonPodName, newDaemonPod } from './daemonset-pods.ts';
import { holdPlaces } from './daemonset-targets.ts';
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
import { lastCompleteOf, revisionsOf } from './revision.ts';
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
  /** Pods that are finished and terminating: they count no more, but keep their names (D6). */
  readonly ghosts: readonly DaemonMember[];
  /** The strategy may bring it to the update revision; the others keep what they have. */
  readonly isTarget: boolean;
  /** Partition or nodeSelector: why it is no target. */
  readonly keptBy?: 'Partition' | 'NodeSelector';
  /** What a new pod there is at, while the strategy or a pause holds it back from the update revision. */
  readonly heldAt?: ControllerRevision;
  /** The present template has a pod to run there, be it held back or not. */
  readonly isWanted: boolean;
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

/**
 * Reads a snapshot. `now` in milliseconds since the epoch.
 * @throws {Error} if a revision that a node is held at has no pod template
 */
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
  const current = lastCompleteOf(others) ?? others.at(-1) ?? update;
  const { all, lost } = placesOf(snapshot, members, wantedSince(update));
  const { places, kept } = holdPlaces(snapshot, all, { revisions, byLabel, update, current, rejected });
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
    kept,
    downNodes: snapshot.downNodes,
    isTarget: ({ node }) => workload.updateStrategy === 'RollingUpdate' && targets.has(node),
    successor: ({ node }, revision) =>
      newDaemonPod(workload, daemonPodName(workload, node, revision), node, revision, true),
    places,
    lost,
    released,
    strangers,
    pullers,
    snapshot,
  };
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

function placesOf(
  snapshot: Snapshot<DaemonSet>,
  members: readonly DaemonMember[],
  begun: number,
): { readonly all: readonly Place[]; readonly lost: readonly DaemonMember[] } {
  const { workload, nodes = [] } = snapshot;
  const byNode = new Map<string, DaemonMember[]>();
  for (const member of members) {
    const there = byNode.get(member.node);
    if (there === undefined) byNode.set(member.node, [member]);
    else there.push(member);
  }
  const judge = eligibilityOf(workload.template);
  const all = [...nodes].sort(byName).map((node) => {
    const { name } = node.metadata;
    const eligibility = judge(node);
    const there = byNode.get(name) ?? [];
    byNode.delete(name);
    return {
      name,
      node,
      pods: there.filter((member) => !isGhost(member)).sort(byAge),
      ghosts: there.filter(isGhost),
      ...eligibility,
      isWanted: eligibility.shouldRun,
      isTarget: true,
      topology: (workload.topologyKey !== undefined && node.metadata.labels?.[workload.topologyKey]) || '',
      ignored: workload.notReadyNodes === 'Ignore' && wasNotReady(node, begun),
      ...drainOf(workload, node),
    };
  });
  return { all, lost: [...byNode.values()].flat() };
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
