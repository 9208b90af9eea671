/** Claims of a StatefulSet's pods and their retention policy (S3–S5). */

import { controllerReference } from './controller-ref.ts';
import type { JsonObject, OwnerReference, PersistentVolumeClaim, Pod } from './objects.ts';
import type { Action } from './plan.ts';
import { trusted } from './values.ts';
import type { StatefulSet } from './workload.ts';

interface ClaimTemplateMeta {
  readonly name: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
}

/** `<template>-<set>-<ordinal>` (S3). */
export function claimName(set: StatefulSet, template: JsonObject, ordinal: number): string {
  return `${metaOf(template).name}-${set.ref.name}-${String(ordinal)}`;
}

/** Whether a claim belongs to one of the set's templates, by its name alone: claims have no owner by default (S3). */
export function claimBelongsTo(set: StatefulSet, claim: PersistentVolumeClaim): boolean {
  return set.volumeClaimTemplates.some((template) => {
    const prefix = `${metaOf(template).name}-${set.ref.name}-`;
    const { name } = claim.metadata;
    return name.startsWith(prefix) && /^\d+$/.test(name.slice(prefix.length));
  });
}

/** The action that creates a pod's claim (S3), owned by the set from the start if it is to go with it (S4). */
export function createClaimAction(set: StatefulSet, template: JsonObject, ordinal: number): Action {
  const { labels, annotations } = metaOf(template);
  const name = claimName(set, template, ordinal);
  return {
    verb: 'create',
    resource: 'persistentvolumeclaims',
    name,
    body: {
      apiVersion: 'v1',
      kind: 'PersistentVolumeClaim',
      metadata: {
        name,
        namespace: set.ref.namespace,
        labels: { ...labels, ...set.selector.matchLabels },
        ...(annotations !== undefined && { annotations }),
        ...(set.whenDeleted === 'Delete' && { ownerReferences: [controllerReference(set.ref)] }),
      },
      spec: template['spec'],
    },
    purpose: 'CreateClaim',
    message: `create Claim ${name} Pod ${set.ref.name}-${String(ordinal)} in StatefulSet ${set.ref.name}`,
  };
}

/** S5: with whenScaled=Delete, the claim of an earlier pod of that name is about to be deleted with it. */
export function isStaleClaim(set: StatefulSet, claim: PersistentVolumeClaim, podName: string): boolean {
  return set.whenScaled === 'Delete' && ownersOf(claim).some((owner) => isPodReference(owner, podName));
}

/** The patch that brings a claim's owners in line with the retention policy (S4), or undefined if nothing is to be done. */
export function retainClaimAction(
  set: StatefulSet,
  claim: PersistentVolumeClaim,
  pod: Pod,
  inRange: boolean,
): Action | undefined {
  const owners = ownersOf(claim);
  const ours = (owner: OwnerReference) =>
    isSetReference(set, owner) || isPodReference(owner, pod.metadata.name);
  if (isStale(set, owners, pod)) return undefined;
  const others = owners.filter((owner) => !ours(owner));
  const conflicting = foreignController(set, claim, pod) !== undefined;
  const wanted = conflicting ? others : [...others, ...wantedOwners(set, pod, inRange)];
  if (sameOwners(owners, wanted)) return undefined;
  const { name, uid, resourceVersion } = claim.metadata;
  return {
    verb: 'patch',
    resource: 'persistentvolumeclaims',
    name,
    uid,
    resourceVersion,
    patchType: 'merge',
    body: { metadata: { ownerReferences: wanted } },
    purpose: 'RetainClaim',
    message: conflicting
      ? `update Claim ${name}: another controller manages it, so the retention policy of StatefulSet ${set.ref.name} is ignored`
      : `update Claim ${name}: owners follow the retention policy of StatefulSet ${set.ref.name}`,
  };
}

/** S4: whether the garbage collector takes a claim of the pod along when that goes: whenScaled asked for it while the pod was out of range. */
export function takesClaimAlong(
  set: StatefulSet,
  claims: ReadonlyMap<string, PersistentVolumeClaim>,
  pod: Pod,
  ordinal: number,
): boolean {
  return set.volumeClaimTemplates.some((template) => {
    const claim = claims.get(claimName(set, template, ordinal));
    return claim !== undefined && ownersOf(claim).some(({ uid }) => uid === pod.metadata.uid);
  });
}

/** S4: who else controls the claim, so that the retention policy does not hold there; undefined where nobody does, or none is asked for. */
export function foreignController(
  set: StatefulSet,
  claim: PersistentVolumeClaim,
  pod: Pod,
): OwnerReference | undefined {
  if (set.whenDeleted === 'Retain' && set.whenScaled === 'Retain') return undefined;
  const owners = ownersOf(claim);
  if (isStale(set, owners, pod)) return undefined;
  return owners.find(
    (owner) =>
      owner.controller === true && !isSetReference(set, owner) && !isPodReference(owner, pod.metadata.name),
  );
}

function wantedOwners(set: StatefulSet, pod: Pod, inRange: boolean): readonly OwnerReference[] {
  if (set.whenScaled === 'Delete' && !inRange) {
    return [
      {
        apiVersion: 'v1',
        kind: 'Pod',
        name: pod.metadata.name,
        uid: pod.metadata.uid,
        controller: true,
        blockOwnerDeletion: true,
      },
    ];
  }
  return set.whenDeleted === 'Delete' ? [controllerReference(set.ref)] : [];
}

/** A reference to our name with another uid: left by a predecessor, the garbage collector's to decide on. */
function isStale(set: StatefulSet, owners: readonly OwnerReference[], pod: Pod): boolean {
  return owners.some(
    (owner) =>
      (isSetReference(set, owner) && owner.uid !== set.ref.uid) ||
      (isPodReference(owner, pod.metadata.name) && owner.uid !== pod.metadata.uid),
  );
}

function isSetReference(set: StatefulSet, owner: OwnerReference): boolean {
  return (
    owner.kind === set.ref.kind &&
    owner.name === set.ref.name &&
    owner.apiVersion === `${set.ref.group}/${set.ref.version}`
  );
}

function isPodReference(owner: OwnerReference, podName: string): boolean {
  return owner.kind === 'Pod' && owner.apiVersion === 'v1' && owner.name === podName;
}

function sameOwners(a: readonly OwnerReference[], b: readonly OwnerReference[]): boolean {
  const controls = (owner: OwnerReference, uid: string) => owner.uid === uid && owner.controller === true;
  return (
    a.length === b.length &&
    b.every((wanted) =>
      wanted.controller === true
        ? a.some((owner) => controls(owner, wanted.uid))
        : a.some((owner) => owner.uid === wanted.uid),
    )
  );
}

function ownersOf(claim: PersistentVolumeClaim): readonly OwnerReference[] {
  return claim.metadata.ownerReferences ?? [];
}

function metaOf(template: JsonObject): ClaimTemplateMeta {
  // Without a name the apiserver refuses the claim, and says so.
  return trusted(template['metadata'] ?? { name: '' });
}
