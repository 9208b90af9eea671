/**
 * Pods that change their controller without one too many being made. The controller manager plans on caches, of pods and of
 * controllers, that are fed apart: what it has seen of pods is told by the status of the controller that had them.
 */

import { isActive } from './availability.ts';
import { controllerOf } from './controller-ref.ts';
import { RENAME_FINALIZER } from './names.ts';
import type { Pod } from './objects.ts';
import { describeDeletion } from './pod-reasons.ts';
import type { ReplicationController } from './replication-controller.ts';
import { isHeldForRename, podsOf } from './replication-controller.ts';
import type { UpdatePurpose, UpdateStep } from './rolling-update-steps.ts';
import { patch, remove, wait } from './rolling-update-steps.ts';
import type { UpdateView } from './rolling-update-view.ts';
import { matchesSelector } from './selector.ts';

/** Pods that the controller manager has not counted yet: that it counts none would not tell that it has let go of them. */
export function uncounted(view: UpdateView, next: ReplicationController): UpdateStep | undefined {
  const { name } = next.metadata;
  const active = podsOf(next, view.pods).filter(isActive).length;
  if ((next.status?.replicas ?? 0) >= active) return undefined;
  return wait(
    'ControllerBehind',
    `the controller of the cluster has not counted all pods of ${name} yet`,
    [],
    true,
  );
}

/** Before it is deleted; undefined when it is held. */
export function hold(next: ReplicationController): UpdateStep | undefined {
  if (isHeldForRename(next)) return undefined;
  const finalizers = [...(next.metadata.finalizers ?? []), RENAME_FINALIZER];
  const message = `hold ${next.metadata.name} until its pods are handed over`;
  return patch('replicationcontrollers', next, { metadata: { finalizers } }, 'HoldNext', message);
}

/** With either the garbage collector does something about the pods: it frees them, or deletes them because somebody asked for that. */
const OF_THE_COLLECTOR: readonly string[] = ['orphan', 'foregroundDeletion'];

/**
 * The next controller is being deleted without its pods, whoever began that: a plain delete beside ours takes the wish back that they stay, and
 * they would be waited for for ever, or go with it as soon as somebody takes our finalizer off. It is let go only when the controller manager counts none of them any
 * more: its caches of pods and of controllers are fed apart, and one that saw the renamed controller before the pods were free
 * would make as many again.
 */
export function handOver(view: UpdateView, next: ReplicationController): UpdateStep {
  const { name, finalizers = [] } = next.metadata;
  if (!isHeldForRename(next)) return waitUntilGone(next);
  const bound = podsOf(next, view.pods).filter(isActive);
  if (bound.length > 0 && !finalizers.some((one) => OF_THE_COLLECTOR.includes(one))) {
    const message = `${name} was deleted by somebody, who would have its pods deleted too: they stay for ${view.name}`;
    return remove('replicationcontrollers', next, true, 'DeleteNext', message);
  }
  if (bound.length > 0) {
    const names = bound.map(({ metadata }) => metadata.name);
    return wait('PodsBound', `pods still belong to ${name}, which is being deleted`, names, true);
  }
  if ((next.status?.replicas ?? 0) > 0) {
    const message = `the controller of the cluster has not seen yet that the pods of ${name} are free`;
    return wait('ControllerBehind', message, [], true);
  }
  return release(next, 'its pods are free');
}

/** In a namespace that is being deleted nothing has the pods after it, and as long as it is held the namespace stays. Undefined elsewhere. */
export function releaseInEnding(view: UpdateView): UpdateStep | undefined {
  const held = heldNext(view);
  return view.isEnding === true && held !== undefined
    ? release(held, `namespace ${view.namespace} is being deleted`)
    : undefined;
}

/** The next controller, if a rename holds it: its namespace stays as long. */
export function heldNext({ nextController: next }: UpdateView): ReplicationController | undefined {
  return next !== undefined && isHeldForRename(next) ? next : undefined;
}

/** Finalizers of a controller that neither a rename nor the garbage collector takes off. */
export function foreignFinalizers({
  metadata: { finalizers = [] },
}: ReplicationController): readonly string[] {
  return finalizers.filter((one) => one !== RENAME_FINALIZER && !OF_THE_COLLECTOR.includes(one));
}

function release(next: ReplicationController, why: string): UpdateStep {
  const { name, finalizers = [] } = next.metadata;
  const change = { metadata: { finalizers: finalizers.filter((one) => one !== RENAME_FINALIZER) } };
  return patch('replicationcontrollers', next, change, 'ReleaseNext', `let ${name} go: ${why}`);
}

/** Of one that is being deleted. */
export function waitUntilGone(controller: ReplicationController): UpdateStep {
  return wait('ControllerLeaving', `${controller.metadata.name} ${describeDeletion(controller)}`, [], true);
}

/** Pods that a next controller has let go of while it is being deleted: it is still there, and no controller of theirs. */
export function freedPods({ nextController: next, pods }: UpdateView): readonly Pod[] {
  if (next?.metadata.deletionTimestamp === undefined) return [];
  const selector = { matchLabels: next.spec.selector ?? {} };
  return pods.filter(
    (pod) =>
      isActive(pod) && controllerOf(pod) === undefined && matchesSelector(selector, pod.metadata.labels),
  );
}

const NEARER: readonly UpdatePurpose[] = ['DeleteOld', 'HoldNext', 'DeleteNext'];

/** Whether the step brings a rename nearer to the gap in which its pods have no controller, and can still be left. */
export function isTowardsGap(
  { keepsName, isRollback, nextController: next }: UpdateView,
  step: UpdateStep,
): boolean {
  if (step.do !== 'write' || keepsName || isRollback || !NEARER.includes(step.write.purpose)) return false;
  return next !== undefined && next.metadata.deletionTimestamp === undefined;
}

/** The gap: the old controller is gone, and the next one too, or on its way out. */
export function isInGap({ old, nextController: next, record, keepsName }: UpdateView): boolean {
  if (old !== undefined || keepsName || record === undefined) return false;
  return next === undefined || next.metadata.deletionTimestamp !== undefined;
}
