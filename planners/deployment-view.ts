/** A snapshot of a Deployment, read once: its ReplicaSets, their pods, and what can be relied on of what they say. */

import { isActive, isFinished, isReady, isTerminating } from './availability.ts';
import { claimOf } from './controller-ref.ts';
import { deploymentBudgetOf } from './deployment-budget.ts';
import type { DeploymentBudget } from './deployment-budget.ts';
import { planReplicaSetRevision } from './deployment-revision.ts';
import type { NodeFault } from './down-nodes.ts';
import type { ControllerRevision, Pod, ReplicaSet } from './objects.ts';
import { compareRevisions } from './revision.ts';
import type { RevisionPlan } from './revision.ts';
import { matchesSelector } from './selector.ts';
import type { Deployment, Snapshot } from './workload.ts';

/** One ReplicaSet of the Deployment. Its own status lags behind: `ready` and `available` are what is left of it at worst. */
export interface OwnedReplicaSet {
  readonly replicaSet: ReplicaSet;
  readonly name: string;
  /** Owned already; otherwise to be adopted, and not touched before. */
  readonly owned: boolean;
  /** spec.replicas. */
  readonly size: number;
  /** Its controller has seen the present size. What it counts is of another size until then. */
  readonly observed: boolean;
  /**
   * Pods that are Ready, were all that it is still to delete to be taken from these (R2: only where no others are left); more where
   * pods that it has not counted yet are.
   */
  readonly ready: number;
  /** The same of those that are available. */
  readonly available: number;
  /** Places that are taken: its size, or more pods as long as there are more. */
  readonly places: number;
  /** Not finished and not being deleted. */
  readonly active: readonly Pod[];
  /** Being deleted and not finished. */
  readonly terminating: readonly Pod[];
  /** How many these are: its status may know of some that the pods do not show yet. */
  readonly leaving: number;
  readonly deleting: boolean;
}

export interface DeploymentView {
  readonly workload: Deployment;
  /** Milliseconds since the epoch. */
  readonly now: number;
  readonly budget: DeploymentBudget;
  readonly revisionPlan: RevisionPlan;
  /** The ReplicaSet of the present template; undefined until it is created. */
  readonly update: OwnedReplicaSet | undefined;
  /** All others, the oldest first. */
  readonly old: readonly OwnedReplicaSet[];
  readonly all: readonly OwnedReplicaSet[];
  /** ReplicaSets to be released: owned, but they no longer match (C4). */
  readonly released: readonly ReplicaSet[];
  /** Of the ReplicaSets, in the order of their numbers. */
  readonly revisions: readonly ControllerRevision[];
  readonly downNodes: ReadonlyMap<string, NodeFault>;
  /** See {@link Snapshot.revisionRefused}. */
  readonly revisionRefused: string | undefined;
}

/** Reads a snapshot. Nothing is decided here but which ReplicaSets are the Deployment's (C4) and which is the new one (P1). */
export function viewDeployment(snapshot: Snapshot<Deployment>, now: number): DeploymentView {
  const { workload, replicaSets = [], downNodes } = snapshot;
  const released: ReplicaSet[] = [];
  const all: OwnedReplicaSet[] = [];
  const pods = podsByOwner(snapshot.pods);
  for (const replicaSet of [...replicaSets].sort(compareAge)) {
    const matches = matchesSelector(workload.selector, replicaSet.metadata.labels);
    const claim = claimOf(workload, replicaSet, matches);
    if (claim === 'release') released.push(replicaSet);
    else if (claim !== 'ignore')
      all.push(readReplicaSet(replicaSet, claim === 'owned', pods.get(replicaSet.metadata.uid) ?? []));
  }
  const revisionPlan = planReplicaSetRevision(workload, snapshot.revisions);
  const name = revisionPlan.outcome === 'create' ? undefined : revisionPlan.revision.metadata.name;
  const names = new Set(all.map((one) => one.name));
  return {
    workload,
    now,
    budget: deploymentBudgetOf(workload),
    revisionPlan,
    update: all.find((one) => one.name === name),
    old: all.filter((one) => one.name !== name),
    all,
    released,
    revisions: snapshot.revisions.filter((one) => names.has(one.metadata.name)).sort(compareRevisions),
    downNodes,
    revisionRefused: snapshot.revisionRefused,
  };
}

/**
 * What a ReplicaSet is. It deletes pods that are not Ready before others (R2), so of those that it has too many of only what is
 * left after these can be Ready ones; which of the Ready ones go is its own affair, so at worst they are available ones.
 */
function readReplicaSet(replicaSet: ReplicaSet, owned: boolean, pods: readonly Pod[]): OwnedReplicaSet {
  const { metadata, spec, status = {} } = replicaSet;
  const size = spec.replicas ?? 1;
  const { replicas = 0, readyReplicas = 0, availableReplicas = 0 } = status;
  const surplus = Math.max(0, replicas - size);
  const readySurplus = Math.max(0, surplus - Math.max(0, replicas - readyReplicas));
  const active = pods.filter(isActive);
  const terminating = pods.filter((pod) => isTerminating(pod) && !isFinished(pod));
  return {
    replicaSet,
    name: metadata.name,
    owned,
    size,
    observed: (status.observedGeneration ?? 0) >= (metadata.generation ?? 0),
    // One that has just got Ready, be it not available yet, is not sure to go before the others.
    ready: Math.max(readyReplicas - readySurplus, Math.min(size, active.filter(isReady).length)),
    available: Math.max(0, availableReplicas - readySurplus),
    places: Math.max(size, active.length),
    active,
    terminating,
    leaving: Math.max(terminating.length, status.terminatingReplicas ?? 0),
    deleting: metadata.deletionTimestamp !== undefined,
  };
}

function podsByOwner(pods: readonly Pod[]): ReadonlyMap<string, readonly Pod[]> {
  const byOwner = new Map<string, Pod[]>();
  for (const pod of pods) {
    const uid = pod.metadata.ownerReferences?.find(({ controller }) => controller === true)?.uid;
    if (uid === undefined) continue;
    const group = byOwner.get(uid);
    if (group === undefined) byOwner.set(uid, [pod]);
    else group.push(pod);
  }
  return byOwner;
}

/** By creation time, then name. */
function compareAge({ metadata: a }: ReplicaSet, { metadata: b }: ReplicaSet): number {
  const [aTime, bTime] = [a.creationTimestamp ?? '', b.creationTimestamp ?? ''];
  if (aTime !== bTime) return aTime < bTime ? -1 : 1;
  return a.name < b.name ? -1 : 1;
}

/** What the ReplicaSets are to have, all together. */
export function totalSize(sets: readonly OwnedReplicaSet[]): number {
  return sets.reduce((sum, { size }) => sum + size, 0);
}

/** Pods that are available, at worst. What has not seen its size cannot be relied on at all. */
export function totalAvailable(sets: readonly OwnedReplicaSet[]): number {
  return sets.reduce((sum, one) => sum + availableOf(one), 0);
}

/** See {@link totalAvailable}. */
export function availableOf({ observed, available, size }: OwnedReplicaSet): number {
  return observed ? Math.min(available, size) : 0;
}
