/** The inventory as somebody sees it who plans a commit: it may be forbidden, or that of another clone. */

import type { Inventory } from '../git/inventory.ts';
import { InventoryStore, foreignSource } from '../git/inventory.ts';
import { ownerElsewhere } from '../git/run-cluster.ts';
import { isForbidden } from '../kubernetes/api-error.ts';

/**
 * The inventory is in the workers' namespace, which not everybody may read: then deletions cannot be foreseen. And a plan is often
 * made of a clone: that its source is another one is only worth a note.
 */
export class VisibleInventory extends InventoryStore {
  readonly notes: string[] = [];
  /** Where the commit that is planned comes from, where that may be a clone. */
  planned: string | undefined;
  /** FAIRLEAD_CLUSTER of the workers that are planned for. */
  plannedFor: string | undefined;

  override async read(signal?: AbortSignal): Promise<Inventory | undefined> {
    try {
      const inventory = await super.read(signal);
      const { planned, plannedFor } = this;
      const elsewhere =
        plannedFor === undefined || inventory === undefined
          ? undefined
          : ownerElsewhere(inventory, plannedFor);
      if (elsewhere !== undefined)
        this.#note(
          `${this.repository} is applied by the workers with FAIRLEAD_CLUSTER=${elsewhere}, for whom this is planned: those with ${plannedFor ?? ''} would refuse it (InventoryOfOther)`,
        );
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
