/** How many nodes may be without an available pod, and how many may have a pod more (C3, D12). */

import type { DaemonSetView, Place } from './daemonset-view.ts';
import { resolveIntOrPercent } from './int-or-percent.ts';
import type { DaemonSet } from './workload.ts';

export interface DaemonBudget {
  readonly maxUnavailable: number;
  readonly maxSurge: number;
  /** What is wrong with a value that cannot be read; the default is used then. */
  readonly problem?: string;
}

/** Percentages of the nodes that should run a pod now, rounded up; both 0 counts as one unavailable (C3). */
export function daemonBudgetOf(set: DaemonSet, desired: number): DaemonBudget {
  try {
    const maxUnavailable = resolveIntOrPercent(set.maxUnavailable, desired, 'up');
    const maxSurge = resolveIntOrPercent(set.maxSurge, desired, 'up');
    return { maxUnavailable: maxSurge === 0 ? Math.max(1, maxUnavailable) : maxUnavailable, maxSurge };
  } catch (error) {
    const problem = `maxUnavailable or maxSurge: ${error instanceof Error ? error.message : String(error)}`;
    return { maxUnavailable: 1, maxSurge: 0, problem };
  }
}

/** Nodes that should run a pod. */
export function desiredPlaces({ places }: Pick<DaemonSetView, 'places'>): readonly Place[] {
  return places.filter(({ shouldRun }) => shouldRun);
}

/** Whether the node should run a pod and has none that is available: missing, not ready, terminating, being updated (D12). */
export function isUnavailable({ shouldRun, ignored, pods }: Place): boolean {
  return shouldRun && !ignored && !pods.some(({ available }) => available);
}

/** Nodes that use up the budget. */
export function countUnavailableNodes(desired: readonly Place[]): number {
  return desired.filter(isUnavailable).length;
}
