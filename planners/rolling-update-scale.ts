/** How far one step of a rolling update may go: the arithmetic of surge and unavailability (C3, K5, K6). */

import { resolveIntOrPercent } from './int-or-percent.ts';

/** As asked for: numbers of pods, or percentages of the desired size. */
export interface UpdateBudget {
  readonly surge: number | string;
  readonly unavailable: number | string;
}

/** What kubectl shipped, and never let anyone change (K5). */
export const SHIPPED_BUDGET: UpdateBudget = { surge: 1, unavailable: 0 };

/** In pods. */
export interface ResolvedBudget {
  readonly surge: number;
  readonly unavailable: number;
}

/** What a step is decided on. Pods that terminate count nowhere: kubectl does not wait for them either (K5). */
export interface Sizes {
  readonly desired: number;
  /** `spec.replicas` of the controller that shrinks, and its pods that are not terminating. */
  readonly from: number;
  readonly fromActive: number;
  /** The same of the one that grows. */
  readonly to: number;
  readonly toActive: number;
  readonly toAvailable: number;
}

/** One change of one size; undefined: nothing is legal now. */
export type ScaleStep = { readonly scale: 'up' | 'down'; readonly replicas: number } | undefined;

/**
 * C3: surge is rounded up, unavailability down; where both come to 0 one pod may be unavailable, or nothing could ever move.
 * @throws {RangeError} for amounts that are neither numbers nor percentages
 */
export function resolveUpdateBudget({ surge, unavailable }: UpdateBudget, desired: number): ResolvedBudget {
  const up = resolveIntOrPercent(surge, desired, 'up');
  const down = resolveIntOrPercent(unavailable, desired, 'down');
  return { surge: up, unavailable: up === 0 && down === 0 ? 1 : Math.min(down, desired) };
}

/**
 * K5: grow as far as desired + surge leaves room, else shrink as far as desired − unavailable pods stay available. Where the
 * controllers of the cluster lag behind, pods that are still there count, not only the sizes that were asked for.
 */
export function scaleStep(sizes: Sizes, budget: ResolvedBudget): ScaleStep {
  const { desired, from, to } = sizes;
  if (to > desired) return { scale: 'up', replicas: desired };
  if (to < desired) {
    const replicas = roomFor(sizes, budget);
    if (replicas > to) return { scale: 'up', replicas };
  }
  if (from === 0) return undefined;
  const available = Math.min(sizes.toAvailable, to);
  if (to === desired && available >= desired) return { scale: 'down', replicas: 0 };
  const atLeast = Math.max(0, desired - budget.unavailable);
  const spare = from + available - atLeast;
  return spare > 0 ? { scale: 'down', replicas: Math.max(0, from - spare) } : undefined;
}

function roomFor({ desired, from, fromActive, to, toActive }: Sizes, { surge }: ResolvedBudget): number {
  if (from === 0 && fromActive === 0) return desired;
  const taken = Math.max(from, fromActive) + Math.max(to, toActive);
  return Math.min(desired, to + Math.max(0, desired + surge - taken));
}
