/** How many pods may be unavailable, and which writes are legal within that (design "Budget", C3, S14). */

import { resolveIntOrPercent } from './int-or-percent.ts';
import type { StatefulSet } from './workload.ts';

/**
 * StatefulSet: percent of spec.replicas rounded down, at least 1 (C3). OrderedReady takes one pod at a time, whatever is
 * written. `problem` says what is wrong with a value that cannot be read; 1 is used then.
 */
export function maxUnavailableOf(set: StatefulSet): { readonly value: number; readonly problem?: string } {
  if (set.podManagementPolicy === 'OrderedReady') return { value: 1 };
  try {
    return { value: Math.max(1, resolveIntOrPercent(set.maxUnavailable, set.replicas, 'down')) };
  } catch (error) {
    return { value: 1, problem: `maxUnavailable: ${error instanceof Error ? error.message : String(error)}` };
  }
}

/** Counts charged writes: each takes a Ready pod, and is legal if unavailable + 1 ≤ maxUnavailable at that moment. */
export class Budget {
  readonly max: number;
  readonly #found: number;
  #unavailable: number;

  constructor(max: number, unavailable: number) {
    this.max = max;
    this.#found = unavailable;
    this.#unavailable = unavailable;
  }

  /** Whether one more Ready pod may be taken; `own` is 1 if that pod is counted as unavailable already. */
  allowsChargeBeside(own: 0 | 1): boolean {
    return this.#unavailable - own + 1 <= this.max;
  }

  /**
   * Whether pods that are unavailable now leave no room for it. Those that this very plan takes are no reason to wait: they are next, and
   * nobody may have taken them yet.
   */
  isUsedUpBeside(own: 0 | 1): boolean {
    return this.#found - own + 1 > this.max;
  }

  charge(): void {
    this.#unavailable += 1;
  }
}

/** What a budget that is used up is used by. More than allowed is nobody's fault here: pods that are new since a scaling, or broke. */
export function describeUse(unavailable: number, max: number): string {
  if (unavailable === 0 && max === 0)
    return 'none may be unavailable, so a new one has to be available first';
  return unavailable > max
    ? `${String(unavailable)} unavailable, ${String(max)} allowed`
    : `${String(unavailable)} of ${String(max)} unavailable`;
}
