/** Which nodes of a DaemonSet are held back from its new template, at which revision, and by whose template each is judged (D1). */

import type { DaemonMember, Place } from './daemonset-view.ts';
import { eligibilityOf } from './node-eligibility.ts';
import type { Eligibility } from './node-eligibility.ts';
import type { ControllerRevision, Node } from './objects.ts';
import { compareRevisions, hasReachedAll, isMarkedComplete } from './revision.ts';
import { templateOfRevision } from './template-revision.ts';
import type { DaemonSet, Snapshot } from './workload.ts';

/** What is known of the revisions before any node is looked at. */
export interface KnownRevisions {
  /** In order. */
  readonly revisions: readonly ControllerRevision[];
  readonly byLabel: ReadonlyMap<string, ControllerRevision>;
  readonly update: ControllerRevision | undefined;
  readonly current: ControllerRevision | undefined;
  /** Labels of those that are being gone back from. */
  readonly rejected: ReadonlySet<string>;
}

/**
 * The places as the strategy and a pause leave them, and the revision that those keep which are no targets. One that is held back is
 * judged by the template of what it has and would get: the new one must not take a pod away, or send one, before its turn.
 * @throws {Error} if a revision that a place is judged by holds no pod template
 */
export function holdPlaces(
  { workload, replaced }: Snapshot<DaemonSet>,
  all: readonly Place[],
  known: KnownRevisions,
): { readonly places: readonly Place[]; readonly kept: ControllerRevision | undefined } {
  const { revisions, update, current, rejected } = known;
  const stays = judgeOf(workload, known);
  // What is gone back to is what the others have kept. At the rejected one a pod would be taken again, for ever.
  const proven = rejected.size > 0 ? update : current;
  const before = (workload.partition > 0 && mostFrequent(all, known, ({ isNew }) => !isNew)) || proven;
  const targeted = withTargets(workload, all, rejected, (place) => stays(place, before));
  const keeping = targeted.filter(({ keptBy }) => keptBy !== undefined);
  const kept = mostFrequent(keeping, known, () => true) ?? proven;
  const isPaused =
    workload.paused !== undefined &&
    update !== undefined &&
    !hasReachedAll(update, revisions, {
      isAlone: targeted.every((place) => !place.isTarget || isThrough(place)),
      isPartial: keeping.length > 0,
    }) &&
    !isEverywhere(update, all);
  const heldAt = ({ name, isTarget }: Place): ControllerRevision | undefined => {
    if (workload.updateStrategy !== 'RollingUpdate') return undefined;
    if (!isTarget) return kept;
    // A rollout that is paused does not get ahead (A9), but on a node whose pod a batch has deleted for it.
    return isPaused && replaced?.get(name) !== update.metadata.name ? current : undefined;
  };
  const places = targeted.map((place) => {
    const held = heldAt(place);
    if (held !== undefined) return { ...place, ...stays(place, held), heldAt: held };
    // A template without a revision decides nothing yet: upstream goes no further without one, either (D19).
    return update === undefined ? { ...place, ...stays(place, revisions.at(-1)) } : place;
  });
  return { places, kept };
}

/** Nothing is left of its rollout to hold, though no run is on record: what was taken over from another controller has none. */
function isEverywhere(update: ControllerRevision, all: readonly Place[]): boolean {
  return isMarkedComplete(update) && all.every(isThrough);
}

/** Nothing is left of the rollout there to hold. Nobody has waited for a node that is ignored. */
function isThrough({ ignored, pods }: Place): boolean {
  return ignored || pods.filter(isLive).every(({ isNew }) => isNew);
}

/** Judges a place by the templates of the pods that are there, and of one that would be made at that revision. */
function judgeOf(
  { template }: DaemonSet,
  { update, byLabel }: KnownRevisions,
): (place: Place, revision: ControllerRevision | undefined) => Eligibility {
  const judges = new Map<ControllerRevision | undefined, (node: Node) => Eligibility>();
  const judge = (revision: ControllerRevision | undefined, node: Node): Eligibility => {
    let known = judges.get(revision);
    if (known === undefined) {
      const isPresent = revision === undefined || revision === update;
      known = eligibilityOf(isPresent ? template : templateOfRevision(revision));
      judges.set(revision, known);
    }
    return known(node);
  };
  return ({ node, pods }, revision) => {
    const own = pods.filter(isLive).flatMap((pod) => (pod.isNew ? update : byLabel.get(pod.revision)) ?? []);
    const found = [...new Set([revision, ...own])].map((one) => judge(one, node));
    return {
      shouldRun: found.some(({ shouldRun }) => shouldRun),
      shouldContinue: found.some(({ shouldContinue }) => shouldContinue),
    };
  };
}

/** What most of these pods have, but what is being gone back from; after a canary was taken back that is not the last complete one. */
function mostFrequent(
  places: readonly Place[],
  { byLabel, rejected }: KnownRevisions,
  counts: (member: DaemonMember) => boolean,
): ControllerRevision | undefined {
  const found = new Map<ControllerRevision, number>();
  for (const member of places.flatMap(({ pods }) => pods)) {
    const one = byLabel.get(member.revision);
    if (one !== undefined && !member.terminating && !rejected.has(member.revision) && counts(member))
      found.set(one, (found.get(one) ?? 0) + 1);
  }
  // Of equal ones the older, which has proved itself for longer.
  return [...found].sort(([a, most], [b, more]) => more - most || compareRevisions(a, b))[0]?.[0];
}

/**
 * Which nodes keep what they have: those that the nodeSelector does not select, and so many of the others as the partition says.
 * Of these, those are taken first whose revision is being gone back from, or a canary could never be taken back; then those that
 * are updated already, so that no node is taken instead of one that has the new revision; then those that have nothing to keep, as
 * only the new template wants a pod there; then the last names, and after all of them nodes that nobody waits for: as a canary they
 * would show nothing.
 */
function withTargets(
  { partition, nodeSelector }: DaemonSet,
  all: readonly Place[],
  rejected: ReadonlySet<string>,
  stays: (place: Place) => Eligibility,
): readonly Place[] {
  const wanted = Object.entries(nodeSelector);
  const isSelected = ({ node }: Place) =>
    wanted.every(([key, value]) => node.metadata.labels?.[key] === value);
  const places =
    wanted.length === 0
      ? all
      : all.map((place) =>
          isSelected(place) ? place : { ...place, isTarget: false, keptBy: 'NodeSelector' as const },
        );
  if (partition === 0) return places;
  const ranked: { readonly name: string; readonly rank: number }[] = [];
  const kept = new Set<string>();
  for (const place of places) {
    if (!place.isTarget) continue;
    const { shouldRun, shouldContinue } = stays(place);
    if (shouldRun || place.isWanted)
      ranked.push({ name: place.name, rank: rankOf(place, rejected, shouldRun) });
    // Its pod may stay and would not be made again (D14): it is taken with the last ones, or it would be lost to a canary.
    else if (shouldContinue && !isGoneBackFrom(place, rejected)) kept.add(place.name);
  }
  ranked.sort((a, b) => a.rank - b.rank || (a.name < b.name ? 1 : -1));
  for (const { name } of ranked.slice(Math.max(0, ranked.length - partition))) kept.add(name);
  return places.map((place) =>
    kept.has(place.name) ? { ...place, isTarget: false, keptBy: 'Partition' as const } : place,
  );
}

/** In which order nodes become targets. `keeps`: without the new template there would be a pod, too. */
function rankOf(place: Place, rejected: ReadonlySet<string>, keeps: boolean): number {
  const live = place.pods.filter(({ terminating }) => !terminating);
  if (isGoneBackFrom(place, rejected)) return 0;
  if (live.some(({ isNew }) => isNew)) return 1;
  if (!keeps && live.length === 0) return 2;
  return place.ignored ? 4 : 3;
}

/** A pod of it is at a revision that is being gone back from. */
function isGoneBackFrom({ pods }: Place, rejected: ReadonlySet<string>): boolean {
  return pods.some(({ terminating, isNew, revision }) => !terminating && !isNew && rejected.has(revision));
}

function isLive({ terminating, finished }: DaemonMember): boolean {
  return !terminating && !finished;
}
