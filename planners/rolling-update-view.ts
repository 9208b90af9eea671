/** Which of the objects of a namespace an update is about: found by name and partner, never by uid (a rename makes a new one). */

import { isActive, isAvailable } from './availability.ts';
import type { ControllerRevision, Pod } from './objects.ts';
import type { ReplicationController } from './replication-controller.ts';
import { desiredOf, isNextOf, originalSizeOf, partnerOf, podsOf, sizeOf } from './replication-controller.ts';
import { selectsSame } from './rolling-update-definition.ts';
import type { RecordState, UpdateRecord } from './rolling-update-record.ts';
import { DEFAULT_STATE, isActiveRecord, readRecords } from './rolling-update-record.ts';
import type { ResolvedBudget } from './rolling-update-scale.ts';
import { resolveUpdateBudget } from './rolling-update-scale.ts';
import { matchesSelector } from './selector.ts';
import type { Wish } from './workload.ts';
import type { ControllerProgress, UpdatePhase, UpdateProgress } from './rolling-update-steps.ts';

/** Everything that the planner looks at: one namespace, as it is now. */
export interface RollingUpdateSnapshot {
  /** Name of the controller that is replaced. */
  readonly name: string;
  /** Name of the other one, where it was given. */
  readonly next?: string | undefined;
  readonly controllers: readonly ReplicationController[];
  readonly revisions: readonly ControllerRevision[];
  readonly pods: readonly Pod[];
  /** Annotation of either controller. */
  readonly paused?: Wish | undefined;
}

/** The snapshot, sorted out. */
export interface UpdateView extends RollingUpdateSnapshot {
  readonly old: ReplicationController | undefined;
  readonly nextController: ReplicationController | undefined;
  /** All that can be read, oldest first. */
  readonly records: readonly UpdateRecord[];
  /** Of this update; undefined where nobody wrote one (kubectl, or by hand). */
  readonly record: UpdateRecord | undefined;
  /** The newest of this controller that is over. */
  readonly last: UpdateRecord | undefined;
  readonly state: RecordState;
  readonly budget: ResolvedBudget;
  /** Somebody wants the old controller back: it, not the next, has a desired size. */
  readonly isRollback: boolean;
  /** The next controller stays under its own name. */
  readonly keepsName: boolean;
  /** The controller under the old name is what was rolled out: nothing is left of the one before, and nothing to go back to. */
  readonly isRenamed: boolean;
}

/** Finds the two controllers and the record. */
export function viewUpdate(snapshot: RollingUpdateSnapshot): UpdateView {
  const { name, controllers } = snapshot;
  const records = readRecords(snapshot.revisions);
  const own = records.filter((record) => record.from === name);
  const isAskedFor = ({ next }: UpdateRecord) => snapshot.next === undefined || next === snapshot.next;
  const active = own.findLast((record) => isActiveRecord(record) && isAskedFor(record));
  const old = controllers.find(({ metadata }) => metadata.name === name);
  const nextName =
    snapshot.next ??
    active?.next ??
    (old === undefined ? undefined : partnerOf(old)) ??
    controllers.find((one) => isNextOf(one, name))?.metadata.name;
  const nextController = controllers.find(({ metadata }) => metadata.name === nextName);
  const record = active?.next === nextName ? active : undefined;
  const desired = desiredSize(old, nextController, record);
  const state: RecordState = { ...DEFAULT_STATE, ...record?.state, desired };
  return {
    ...snapshot,
    old,
    nextController,
    records,
    record,
    last: own.findLast((one) => !isActiveRecord(one) && isAskedFor(one)),
    state,
    budget: resolveUpdateBudget(state, desired),
    isRollback: old !== undefined && (desiredOf(old) ?? 0) > 0,
    keepsName: record === undefined ? snapshot.next !== undefined : record.to !== name,
    isRenamed:
      old !== undefined &&
      nextController === undefined &&
      record !== undefined &&
      selectsSame(old.spec, record.controller.spec),
  };
}

/**
 * Name of the old controller of the update that `name` is part of, by which updates are known: another one where `name` is the next
 * controller of it. Its record tells; where nobody wrote one (kubectl), its marks.
 */
export function updateNameOf(
  { controllers, revisions }: Pick<RollingUpdateSnapshot, 'controllers' | 'revisions'>,
  name: string,
): string {
  const active = readRecords(revisions).filter(isActiveRecord);
  if (active.some(({ from }) => from === name)) return name;
  const recorded = active.findLast(({ next }) => next === name);
  if (recorded !== undefined) return recorded.from;
  const controller = controllers.find(({ metadata }) => metadata.name === name);
  if (controller === undefined || (desiredOf(controller) ?? 0) === 0) return name;
  const partner = partnerOf(controller);
  return partner !== undefined && isNextOf(controller, partner) ? partner : name;
}

/**
 * The old controller of the update that this one is the next of, and marked so: seen from the wrong side it would be rolled
 * backwards. Undefined where it is no next one.
 */
export function replacedBy(view: UpdateView): string | undefined {
  const { old, name } = view;
  const whole = updateNameOf(view, name);
  return whole !== name && old !== undefined && partnerOf(old) === whole ? whole : undefined;
}

/**
 * Where both marks stand, somebody was stopped while moving one to the old controller (seed, "Abort"): that of the old counts.
 * Without any, "the current size of foo" (seed, "Initialization"), unless the record or kubectl knows the size of before.
 */
function desiredSize(
  old: ReplicationController | undefined,
  next: ReplicationController | undefined,
  record: UpdateRecord | undefined,
): number {
  const oldDesired = old === undefined ? 0 : (desiredOf(old) ?? 0);
  if (oldDesired > 0) return oldDesired;
  const marked = next === undefined ? undefined : desiredOf(next);
  // Without the old one that of the next is 0 only because somebody was going back to one that is gone.
  if (marked !== undefined && (marked > 0 || old !== undefined)) return marked;
  const known = record?.state.desired ?? (old === undefined ? undefined : originalSizeOf(old));
  const present = old ?? next;
  return known ?? (present === undefined ? 0 : sizeOf(present));
}

/** What is there of one controller: its pods that are not terminating, and those that are available (K5). */
export function countPods(
  controller: ReplicationController | undefined,
  pods: readonly Pod[],
  now: number,
): { readonly active: readonly Pod[]; readonly available: number; readonly lacking: readonly Pod[] } {
  if (controller === undefined) return { active: [], available: 0, lacking: [] };
  const active = podsOf(controller, pods).filter(isActive);
  const minReadySeconds = controller.spec.minReadySeconds ?? 0;
  const lacking = active.filter((pod) => !isAvailable(pod, minReadySeconds, now));
  return { active, available: active.length - lacking.length, lacking };
}

/** For displays: sizes now, and where the update is. */
export function describeProgress(view: UpdateView, now: number, phase: UpdatePhase): UpdateProgress {
  const about = (controller: ReplicationController | undefined): ControllerProgress | undefined =>
    controller && {
      name: controller.metadata.name,
      replicas: sizeOf(controller),
      available: countPods(controller, view.pods, now).available,
    };
  return {
    phase,
    desired: view.state.desired,
    old: about(view.old),
    next: about(view.nextController),
    ...view.budget,
  };
}

/** How many pods are there for what a record rolls out, whoever controls them. */
export function podCount({ pods }: Pick<UpdateView, 'pods'>, { controller }: UpdateRecord): number {
  const selector = { matchLabels: controller.spec.selector ?? {} };
  return pods.filter((pod) => isActive(pod) && matchesSelector(selector, pod.metadata.labels)).length;
}
