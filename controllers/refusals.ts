/** Writes that the apiserver refused, with back-off, so that the planner steps around them (a quota must not stop a rollout). */

import type { Action, Refusal } from '../planners/plan.ts';
import { actionKey } from '../planners/plan.ts';

const FIRST_RETRY_MS = 1_000;
const LAST_RETRY_MS = 60_000;

export class Refusals {
  readonly #byOwner = new Map<string, Map<string, Refusal & { readonly attempts: number }>>();

  /** Present refusals of one owner uid. */
  of(ownerUid: string): ReadonlyMap<string, Refusal> {
    return this.#byOwner.get(ownerUid) ?? new Map<string, Refusal>();
  }

  /** Records one more refusal in a row; the next try comes after 1, 2, 4 … 60 s. */
  refused(ownerUid: string, action: Action, message: string, now: number): void {
    const table = this.#byOwner.get(ownerUid) ?? new Map<string, Refusal & { readonly attempts: number }>();
    this.#byOwner.set(ownerUid, table);
    const { revision } = action;
    const before = table.get(actionKey(action));
    const previous = before?.revision === revision ? before : undefined;
    const attempts = (previous?.attempts ?? 0) + 1;
    const retryAt = now + Math.min(FIRST_RETRY_MS * 2 ** (attempts - 1), LAST_RETRY_MS);
    table.set(actionKey(action), {
      since: previous?.since ?? now,
      retryAt,
      message,
      attempts,
      ...(revision !== undefined && { revision }),
    });
  }

  succeeded(ownerUid: string, action: Action): void {
    this.#byOwner.get(ownerUid)?.delete(actionKey(action));
  }

  forget(ownerUid: string): void {
    this.#byOwner.delete(ownerUid);
  }
}
