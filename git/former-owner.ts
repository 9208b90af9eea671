/** Whether the repository that an object's annotation names still has a claim to it: names change, and annotations outlive claims. */

import { readSuspended } from '../kubernetes/wish-annotations.ts';
import { ANNOTATION } from '../planners/names.ts';
import type { KubernetesObject } from '../planners/objects.ts';
import { isUpdating, rolledManifest, updateOf } from './apply-controller.ts';
import type { CommitContext } from './commit.ts';
import type { DecisionInput, FormerOwner } from './decision.ts';
import { isGrant, mayInheritGrants } from './heirs.ts';
import type { Inventory } from './inventory.ts';
import { APPLYSET, InventoryStore, handOver, repositoryOfInventory } from './inventory.ts';
import { counterpartKey, entryKey } from './inventory-content.ts';
import { readInventory } from './inventory-reading.ts';
import type { PreparedObject } from './prepare.ts';
import { inventoryEntry, isController } from './prepare.ts';
import { DNS_LABEL } from './repositories.ts';
import { otherCluster } from './run-cluster.ts';
import { sourceIdentity } from './source-url.ts';

/** Everything that a decision about an object of a commit is made of. @throws ApiError */
export async function decisionInput(
  context: CommitContext,
  object: PreparedObject,
  live: KubernetesObject | undefined,
): Promise<DecisionInput> {
  const { repository, store, heal } = context;
  const owner = live?.metadata.annotations?.[ANNOTATION.repository];
  const former =
    live === undefined || owner === undefined || owner === repository.name
      ? undefined
      : await formerOwner(context, object, live, owner);
  return {
    manifest: object.manifest,
    live,
    repository: repository.name,
    applySetId: store.applySetId,
    heal: heal !== undefined,
    isListed: heal !== undefined && live !== undefined && (await listing(context, object)) !== undefined,
    former,
    reservedFor: live === undefined ? reservedFor(context, object) : undefined,
    rolled: await rolledManifest(context, object),
  };
}

/** Were the ConfigMap made, its repository could not make its inventory any more. */
function reservedFor(
  { repository, store, accounts }: CommitContext,
  { manifest, namespace }: PreparedObject,
): string | undefined {
  const { group, kind, name } = manifest;
  if (group !== '' || kind !== 'ConfigMap' || namespace !== store.namespace) return undefined;
  const followed = repositoryOfInventory(name);
  return followed === repository.name || accounts?.has(followed ?? '') === true ? followed : undefined;
}

/**
 * The inventory of the commit's own repository, where it tells that git has applied the object before: not only that it is about to be,
 * which has no uid yet. Undefined: it does not. @throws ApiError
 */
export async function listing(
  context: CommitContext,
  object: PreparedObject,
): Promise<Inventory | undefined> {
  const inventory = await readInventory(context, context.store);
  if (inventory === undefined || inventory === 'unknown') return undefined;
  const uid = inventory.entries.get(entryKey(inventoryEntry(object)))?.uid;
  return uid === undefined ? undefined : inventory;
}

async function formerOwner(
  context: CommitContext,
  object: PreparedObject,
  live: KubernetesObject,
  owner: string,
): Promise<FormerOwner> {
  const foreign = { claim: 'holds', isFollowed: false } as const;
  // The annotation is anybody's: what cannot be a repository's name has no inventory.
  if (!DNS_LABEL.test(owner)) return foreign;
  const { worker, store: own, repository } = context;
  const store = new InventoryStore(worker, own.namespace, owner);
  // Its inventory is somewhere else (that of other workers), or nothing tells where.
  if (live.metadata.labels?.[APPLYSET.partOf] !== store.applySetId) return foreign;
  const isFollowed = context.isFollowed(owner);
  const inventory = await readInventory(context, store);
  if (inventory === 'unknown') return foreign;
  if (inventory === undefined) return isFollowed ? { claim: 'holds', isFollowed } : { claim: 'none' };
  const key = entryKey(inventoryEntry(object));
  if (!inventory.entries.has(key)) {
    // A commit of it may have claimed the object since: what was read is of some moment before.
    const latest = isFollowed ? await readInventory(context, store, 'anew') : inventory;
    const holds = latest === 'unknown' || latest?.entries.has(key) === true;
    return holds ? { claim: 'holds', isFollowed } : { claim: 'none' };
  }
  if (isFollowed) {
    if (isGrant(object.manifest.group) && !mayInherit(context, owner))
      return { claim: 'holds', isFollowed, isDeleted: true };
    const isLeft = await hasLeft(context, object, owner, inventory);
    return isLeft ? { claim: 'none' } : { claim: 'holds', isFollowed };
  }
  const cluster = context.cluster === undefined ? undefined : otherCluster(inventory, context.cluster);
  if (cluster !== undefined) {
    const next = `Leave it to one of both. If nobody follows ${owner} there any more: kubectl delete configmap ${store.name} -n ${store.namespace}`;
    return { claim: 'elsewhere', cluster, next };
  }
  const source = await sourceIdentity(repository.url);
  if (inventory.source === source) return { claim: 'none' };
  return { claim: 'left', next: handOver(store, source) };
}

/** Whether grants of a followed repository may become this one's as they are; else that one deletes them first. */
function mayInherit({ others, repository }: CommitContext, owner: string): boolean {
  const owning = others?.repository(owner);
  return owning === undefined || mayInheritGrants(repository, owning);
}

/**
 * Whether a followed repository wants the object no more and only has not come to prune it yet. Were it waited for, two that exchange
 * objects would wait for each other. Who puts back what was applied before takes nothing: that may be what has left since.
 */
async function hasLeft(
  context: CommitContext,
  object: PreparedObject,
  owner: string,
  { annotations }: Inventory,
): Promise<boolean> {
  const { others, heal } = context;
  if (others === undefined || heal !== undefined || readSuspended(annotations) !== undefined) return false;
  const wanted = await others.newest(owner);
  const entry = inventoryEntry(object);
  const keys = [entryKey(entry), counterpartKey(entry)];
  if (wanted === undefined || keys.some((key) => key !== undefined && wanted.has(key))) return false;
  // The rename at its end would bring back whose it was.
  return !(isController(object.manifest) && (await isUpdating(context, updateOf(object))));
}
