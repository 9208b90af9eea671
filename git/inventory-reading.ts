/** Inventories as an activity sees them: each is read once for all of its objects, or once more where that decides. */

import { isForbidden } from '../kubernetes/api-error.ts';
import type { CommitContext } from './commit.ts';
import type { Inventory, InventoryStore } from './inventory.ts';
import { ProblemError } from './problems.ts';

/** `unknown`: it may not be read, or is not Fairlead's. Undefined: there is none. */
export type ReadInventory = Inventory | 'unknown' | undefined;

const READ = new WeakMap<CommitContext, Map<string, Promise<ReadInventory>>>();

/** One reading for all objects of an activity; `anew`: one more. @throws ApiError; Error when the content is damaged */
export async function readInventory(
  context: CommitContext,
  store: InventoryStore,
  when?: 'anew',
): Promise<ReadInventory> {
  const known = READ.get(context) ?? new Map<string, Promise<ReadInventory>>();
  READ.set(context, known);
  const kept = when === 'anew' ? undefined : known.get(store.repository);
  const reading = kept ?? read(store, context.signal);
  known.set(store.repository, reading);
  return await reading;
}

async function read(store: InventoryStore, signal?: AbortSignal): Promise<ReadInventory> {
  try {
    return await store.read(signal);
  } catch (error) {
    if (error instanceof ProblemError || isForbidden(error)) return 'unknown';
    throw error;
  }
}

/** Whether the cluster tells of any commit of the repository. Where its inventory is somebody else's, nothing is missing. @throws as {@link readInventory} */
export async function isRecorded(store: InventoryStore): Promise<boolean> {
  const inventory = await read(store);
  return inventory === 'unknown' || inventory?.status.commit !== undefined;
}
