/** Who owns what: claiming, adopting and releasing children (C4, C5). */

import type { KubernetesObject, OwnerReference } from './objects.ts';
import type { Action, WritableResource } from './plan.ts';
import type { Workload, WorkloadRef } from './workload.ts';

/** The owner reference that says `controller: true`. */
export function controllerOf(object: KubernetesObject): OwnerReference | undefined {
  const owners = object.metadata.ownerReferences;
  if (owners !== undefined) {
    for (const owner of owners) {
      if (owner.controller === true) return owner;
    }
  }
  return undefined;
}

/** The reference that makes a workload the controller of a child. */
export function controllerReference(ref: WorkloadRef): OwnerReference {
  return {
    apiVersion: `${ref.group}/${ref.version}`,
    kind: ref.kind,
    name: ref.name,
    uid: ref.uid,
    controller: true,
    blockOwnerDeletion: true,
  };
}

/**
 * C4, by uid and never by name: `owned` children are the workload's; `adopt` ones have no controller and match; `release`
 * ones no longer match; the rest is none of its business.
 */
export function claimOf(
  workload: Workload,
  object: KubernetesObject,
  matches: boolean,
): 'owned' | 'adopt' | 'release' | 'ignore' {
  const controller = controllerOf(object);
  if (controller === undefined) {
    const free = matches && !workload.deleting && object.metadata.deletionTimestamp === undefined;
    return free ? 'adopt' : 'ignore';
  }
  if (controller.uid !== workload.ref.uid) return 'ignore';
  if (matches) return 'owned';
  return workload.deleting ? 'ignore' : 'release';
}

/** C5: the strategic merge patch that makes the workload the controller. The executor asks for the live owner first (C4). */
export function adoptAction(
  workload: Workload,
  resource: WritableResource,
  object: KubernetesObject,
): Action {
  return {
    verb: 'patch',
    resource,
    name: object.metadata.name,
    uid: object.metadata.uid,
    patchType: 'strategic',
    body: {
      metadata: { uid: object.metadata.uid, ownerReferences: [controllerReference(workload.ref)] },
    },
    purpose: 'Adopt',
    message: `adopt ${describe(resource)} ${object.metadata.name} into ${workload.ref.kind} ${workload.ref.name}`,
  };
}

/** C5: the strategic merge patch that removes the workload from the owners. */
export function releaseAction(
  workload: Workload,
  resource: WritableResource,
  object: KubernetesObject,
): Action {
  return {
    verb: 'patch',
    resource,
    name: object.metadata.name,
    uid: object.metadata.uid,
    patchType: 'strategic',
    body: {
      metadata: { uid: object.metadata.uid, ownerReferences: [{ $patch: 'delete', uid: workload.ref.uid }] },
    },
    purpose: 'Release',
    message: `release ${describe(resource)} ${object.metadata.name} from ${workload.ref.kind} ${workload.ref.name}: it no longer matches`,
  };
}

function describe(resource: WritableResource): string {
  switch (resource) {
    case 'pods':
      return 'Pod';
    case 'persistentvolumeclaims':
      return 'PersistentVolumeClaim';
    case 'controllerrevisions':
      return 'ControllerRevision';
    case 'replicasets':
      return 'ReplicaSet';
    case 'nodes':
      return 'Node';
  }
}
