/** What the status of a pod says about it (C1, C2). Times are milliseconds since the epoch. */

import type { Condition, Pod } from './objects.ts';

/** What has conditions: a pod, a node. */
interface Conditioned {
  readonly status?: { readonly conditions?: readonly Condition[] };
}

/** The condition of that type, if the pod or node has it. */
export function conditionOf(object: Conditioned, type: string): Condition | undefined {
  const conditions = object.status?.conditions;
  if (conditions !== undefined) {
    for (const condition of conditions) {
      if (condition.type === type) return condition;
    }
  }
  return undefined;
}

/** Condition Ready of the pod or node is True; the phase is not looked at (C1). */
export function isReady(object: Conditioned): boolean {
  return conditionOf(object, 'Ready')?.status === 'True';
}

/** Phase Running and Ready: what StatefulSets count as ready (S17). */
export function isRunningAndReady(pod: Pod): boolean {
  return pod.status?.phase === 'Running' && isReady(pod);
}

/** Phase Succeeded or Failed (C2). */
export function isFinished(pod: Pod): boolean {
  return pod.status?.phase === 'Succeeded' || pod.status?.phase === 'Failed';
}

/** A deletion timestamp is set, whatever the phase (S16). */
export function isTerminating(pod: Pod): boolean {
  return pod.metadata.deletionTimestamp !== undefined;
}

/** Neither finished nor being deleted (C2). */
export function isActive(pod: Pod): boolean {
  return !isFinished(pod) && !isTerminating(pod);
}

/**
 * When the pod has been Ready for `minReadySeconds` (C1): `-Infinity` if nothing is to be waited for, undefined while it is
 * not Ready, and `Infinity` if it is Ready since an unknown time and a wait is asked for.
 */
export function availableAt(pod: Pod, minReadySeconds: number): number | undefined {
  const ready = conditionOf(pod, 'Ready');
  if (ready?.status !== 'True') return undefined;
  if (minReadySeconds === 0) return -Infinity;
  const since = Date.parse(ready.lastTransitionTime ?? '');
  return Number.isNaN(since) ? Infinity : since + minReadySeconds * 1000;
}

/** Ready for at least `minReadySeconds`, the bound included (C1). */
export function isAvailable(pod: Pod, minReadySeconds: number, now: number): boolean {
  const at = availableAt(pod, minReadySeconds);
  return at !== undefined && at <= now;
}

/** RFC 3339 with whole seconds, as the apiserver writes times. */
export function timestamp(milliseconds: number): string {
  return new Date(milliseconds).toISOString().replace(/\.\d{3}Z$/, 'Z');
}
