/** The children of a workload: revisions and pods, for some kinds with ReplicaSets between it and its pods. */

import type { KubernetesObject, Pod, ReplicaSet } from '../planners/objects.ts';
import type { Snapshot, Workload, WorkloadRef } from '../planners/workload.ts';
import { trusted } from './values.ts';
import type { AnyKind } from './workload-kinds.ts';
import { hasReplicaSets } from './workload-kinds.ts';

/** Finds children by their owner; the watch cache does. */
export interface ChildLookups {
  readonly ownedBy: (resource: string, uid: string) => readonly KubernetesObject[];
  readonly orphans: (resource: string, namespace: string) => readonly KubernetesObject[];
}

export type Children = Pick<Snapshot<Workload>, 'revisions' | 'replicaSets' | 'pods'>;

/**
 * What the uid owns, and orphans of the namespace: which of these are claimed is the planner's decision (C4). Pods of ReplicaSets
 * are theirs to claim.
 */
export function childrenOf(
  lookups: ChildLookups,
  definition: AnyKind,
  { namespace, uid }: Pick<WorkloadRef, 'namespace' | 'uid'>,
): Children {
  const { resource, read } = definition.history;
  const kept = [...lookups.ownedBy(resource, uid), ...lookups.orphans(resource, namespace)];
  const revisions = kept.map(read);
  if (!hasReplicaSets(definition)) {
    const pods = [...lookups.ownedBy('pods', uid), ...lookups.orphans('pods', namespace)];
    return { revisions, pods: trusted<readonly Pod[]>(pods) };
  }
  const pods = kept.flatMap(({ metadata }) => lookups.ownedBy('pods', metadata.uid));
  return {
    revisions,
    replicaSets: trusted<readonly ReplicaSet[]>(kept),
    pods: trusted<readonly Pod[]>(pods),
  };
}

/** The same over objects that are at hand, by their resource. */
export function lookupsOf(objects: Readonly<Record<string, readonly KubernetesObject[]>>): ChildLookups {
  const ownerOf = ({ metadata }: KubernetesObject) =>
    metadata.ownerReferences?.find(({ controller }) => controller === true)?.uid;
  return {
    ownedBy: (resource, uid) => (objects[resource] ?? []).filter((one) => ownerOf(one) === uid),
    orphans: (resource) => (objects[resource] ?? []).filter((one) => ownerOf(one) === undefined),
  };
}
