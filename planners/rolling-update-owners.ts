/**
 * With whom the controllers of an update are deleted (`metadata.ownerReferences`). The garbage collector takes a reference off what it leaves behind
 * (`--cascade=orphan`), and deletes what names an owner that is gone: so the next controller names the owners too, and
 * what gets the old name has those that stood there until the last.
 */

import type { OwnerReference } from './objects.ts';
import type { ReplicationController } from './replication-controller.ts';
import type { RecordData, RecordState, UpdateRecord } from './rolling-update-record.ts';
import type { UpdateView } from './rolling-update-view.ts';

type Owners = readonly OwnerReference[];

/**
 * Those of a controller. Without `blockOwnerDeletion`: that needs a permission for each kind of owner, and a rename that is
 * refused for want of it would leave the pods without a controller.
 */
export function ownersIn({ metadata }: Pick<ReplicationController, 'metadata'>): Owners {
  return (metadata.ownerReferences ?? []).map((reference) => {
    const { blockOwnerDeletion: _, ...owner } = reference;
    return owner;
  });
}

/** For the next controller: an owner that counts what it controls has one, not two. */
export function withoutController(owners: Owners): Owners {
  return owners.map((reference) => {
    const { controller: _, ...owner } = reference;
    return owner;
  });
}

/** What the next controller is made with: of the owners at the beginning those that the old controller still has. */
export function nextOwners(
  { ownerReferences }: RecordData,
  old: ReplicationController,
): { readonly ownerReferences?: Owners } {
  return ownerReferences === undefined
    ? {}
    : { ownerReferences: ownerReferences.filter(isIn(ownersIn(old))) };
}

/** What the old name is to have, from what is there: the old controller, or the next one, which has lost what the collector took off. */
export function ownersOfName(
  { old, keepsName, record }: Pick<UpdateView, 'old' | 'keepsName' | 'record'>,
  next: ReplicationController,
): Owners {
  if (keepsName) return [];
  if (old !== undefined) return ownersIn(old);
  const present = ownersIn(next);
  const made = record?.ownerReferences ?? present;
  return ((record && recorded(record)) ?? made).filter((one) => isIn(present)(one) || !isIn(made)(one));
}

/**
 * Of what is created under the old name. None where it was there already, or where both controllers were deleted before anything of a rename: were
 * an owner gone, the collector would delete it again, pods and all.
 */
export function finalOwners(record: Pick<UpdateRecord, 'controller' | 'state'>): Owners {
  return record.state.renamed === true ? [] : (recorded(record) ?? []);
}

/** Since the rename began; of an earlier version it is in the definition. */
function recorded({ controller, state }: Pick<UpdateRecord, 'controller' | 'state'>): Owners | undefined {
  return state.phase === 'Renaming'
    ? (state.ownerReferences ?? controller.metadata.ownerReferences)
    : undefined;
}

/** Whether two lists name the same owners. */
export function areSameOwners(one: RecordState['ownerReferences'], other: Owners): boolean {
  return one?.length === other.length && other.every(isIn(one));
}

function isIn(owners: Owners): (owner: OwnerReference) => boolean {
  return ({ uid }) => owners.some((one) => one.uid === uid);
}
