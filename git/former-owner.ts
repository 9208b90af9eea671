/** Whether the repository that an object's annotation names still has a claim to it: names change, and annotations outlive claims. */

import { isForbidden } from '../kubernetes/api-error.ts';
import { ANNOTATION } from '../planners/names.ts';
import type { KubernetesObject } from '../planners/objects.ts';
import { rolledManifest } from './apply-controller.ts';
import type { CommitContext } from './commit.ts';
import type { DecisionInput, FormerOwner } from './decision.ts';
import type { Inventory } from './inventory.ts';
import { APPLYSET, InventoryStore, handOver } from './inventory.ts';
import { entryKey } from './inventory-content.ts';
import type { PreparedObject } from './prepare.ts';
import { inventoryEntry } from './prepare.ts';
import { ProblemError } from './problems.ts';
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
    former,
    rolled: await rolledManifest(context, object),
  };
}

async function formerOwner(
  context: CommitContext,
  object: PreparedObject,
  live: KubernetesObject,
  owner: string,
): Promise<FormerOwner> {
  // The annotation is anybody's: what cannot be a repository's name has no inventory.
  if (!DNS_LABEL.test(owner)) return { claim: 'holds' };
  const { worker, store: own, repository } = context;
  const store = new InventoryStore(worker, own.namespace, owner);
  // Its inventory is somewhere else (that of other workers), or nothing tells where.
  if (live.metadata.labels?.[APPLYSET.partOf] !== store.applySetId) return { claim: 'holds' };
  const isFollowed = context.isFollowed(owner);
  const inventory = await inventoryOf(context, store);
  if (inventory === 'unknown') return { claim: 'holds' };
  if (inventory === undefined) return { claim: isFollowed ? 'holds' : 'none' };
  const key = entryKey(inventoryEntry(object));
  if (!inventory.entries.has(key)) {
    // A commit of it may have claimed the object since: what was read is of some moment before.
    const latest = isFollowed ? await inventoryOf(context, store, 'anew') : inventory;
    const holds = latest === 'unknown' || latest?.entries.has(key) === true;
    return { claim: holds ? 'holds' : 'none' };
  }
  if (isFollowed) return { claim: 'holds' };
  const cluster = context.cluster === undefined ? undefined : otherCluster(inventory, context.cluster);
  if (cluster !== undefined) {
    const next = `Leave it to one of both. If nobody follows ${owner} there any more: kubectl delete configmap ${store.name} -n ${store.namespace}`;
    return { claim: 'elsewhere', cluster, next };
  }
  const source = await sourceIdentity(repository.url);
  if (inventory.source === source) return { claim: 'none' };
  return { claim: 'left', source: inventory.source, next: handOver(store, source) };
}

/** One reading for all objects of an activity, or one more. */
const READ = new WeakMap<CommitContext, Map<string, Promise<Inventory | 'unknown' | undefined>>>();

async function inventoryOf(
  context: CommitContext,
  store: InventoryStore,
  when?: 'anew',
): Promise<Inventory | 'unknown' | undefined> {
  const known = READ.get(context) ?? new Map<string, Promise<Inventory | 'unknown' | undefined>>();
  READ.set(context, known);
  const kept = when === 'anew' ? undefined : known.get(store.repository);
  const reading = kept ?? read(store, context.signal);
  known.set(store.repository, reading);
  return await reading;
}

async function read(store: InventoryStore, signal?: AbortSignal): Promise<Inventory | 'unknown' | undefined> {
  try {
    return await store.read(signal);
  } catch (error) {
    if (error instanceof ProblemError || isForbidden(error)) return 'unknown';
    throw error;
  }
}
