/** The inventory as the activities of commits keep it: while the worker may not, they are tried again. */

import type { Inventory } from '../git/inventory.ts';
import { InventoryStore } from '../git/inventory.ts';
import { untilGranted } from './failures.ts';

export class OwnInventory extends InventoryStore {
  /** @throws as {@link InventoryStore.read}, {@link untilGranted} */
  override async read(signal?: AbortSignal): Promise<Inventory | undefined> {
    return await untilGranted(async () => await super.read(signal));
  }

  /** @throws as {@link InventoryStore.update}, {@link untilGranted} */
  override async update(
    change: Parameters<InventoryStore['update']>[0],
    signal?: AbortSignal,
  ): Promise<Inventory | undefined> {
    return await untilGranted(async () => await super.update(change, signal));
  }
}
