/** The inventory as somebody sees it who plans a commit: it may be forbidden, or that of another clone. */

import type { Inventory } from '../git/inventory.ts';
import { InventoryStore, foreignSource } from '../git/inventory.ts';
import { isForbidden } from '../kubernetes/api-error.ts';

/**
 * The inventory is in the workers' namespace, which not everybody may read: then deletions cannot be foreseen. And a plan is often
 * made of a clone: that its source is another one is only worth a note.
 */
export class VisibleInventory extends InventoryStore {
  readonly notes: string[] = [];
  planned: string | undefined;

  override async read(signal?: AbortSignal): Promise<Inventory | undefined> {
    try {
      const inventory = await super.read(signal);
      const { planned } = this;
      if (planned === undefined || foreignSource(inventory, planned, this) === undefined) return inventory;
      this.#note(
        `planned as if ${planned} were ${inventory?.source ?? ''}, where ${this.repository} comes from`,
      );
      return inventory && { ...inventory, source: planned };
    } catch (error) {
      if (!isForbidden(error)) throw error;
      this.#note(`what would be deleted is not known: ${error.message}`);
      return undefined;
    }
  }

  #note(text: string): void {
    if (!this.notes.includes(text)) this.notes.push(text);
  }
}
