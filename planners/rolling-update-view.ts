/** Which of the objects of a namespace an update is about: found by name and partner, never by uid (a rename makes a new one). */

import { isActive, isAvailable } from './availability.ts';
import { controllerOf } from './controller-ref.ts';
import type { ControllerRevision, LabelSelector, ObjectMeta, Pod } from './objects.ts';
import type { ReplicationController } from './replication-controller.ts';
import {
  desiredOf,
  isPartlyReplaced,
  originalSizeOf,
  partnerOf,
  podsOf,
  sizeOf,
  strippedMarks,
} from './replication-controller.ts';
import { selectsAsReplaced, selectsSame } from './rolling-update-definition.ts';
import { leftBy } from './rolling-update-leftover.ts';
import { guessedSize } from './rolling-update-lost.ts';
import {
  formedFrom,
  isNameFormed,
  isNamedAfter,
  isNextOf,
  isReplacedBy,
  isTurned,
  livePartnerOf,
  otherHalf,
} from './rolling-update-roles.ts';
import type { RecordState, UpdateRecord } from './rolling-update-record.ts';
import { DEFAULT_STATE, isActiveRecord, readRecords } from './rolling-update-record.ts';
import type { ResolvedBudget, UpdateBudget } from './rolling-update-scale.ts';
import { BudgetError, budgetOf, resolveUpdateBudget } from './rolling-update-scale.ts';
import { matchesSelector } from './selector.ts';
import type { Wish } from './workload.ts';
import type { ControllerProgress, UpdatePhase, UpdateProgress } from './rolling-update-steps.ts';

/** One of another kind that takes the pods that its selector finds and nobody controls. */
export interface Adopter {
  readonly kind: 'ReplicaSet' | 'DaemonSet';
  readonly metadata: ObjectMeta;
  readonly spec: { readonly selector: LabelSelector };
}

/** Everything that the planner looks at: one namespace, as it is now. */
export interface RollingUpdateSnapshot {
  readonly namespace: string;
  /** Name of the controller that is replaced. */
  readonly name: string;
  /** Name of the other one, where it was given. */
  readonly next?: string | undefined;
  readonly controllers: readonly ReplicationController[];
  readonly revisions: readonly ControllerRevision[];
  readonly pods: readonly Pod[];
  /** ReplicaSets and DaemonSets of the namespace, where pods are about to lose their controller. */
  readonly adopters?: readonly Adopter[] | undefined;
  /** Annotation of either controller. */
  readonly paused?: Wish | undefined;
  /** The namespace is being deleted: nothing can be created in it. Absent where it is not, or that is not known. */
  readonly isEnding?: boolean | undefined;
  /** What is asked for of an update that has no record yet. */
  readonly settings?: Partial<RecordState> | undefined;
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
    (old === undefined
      ? controllers.find((one) => isNextOf(one, name))?.metadata.name
      : (livePartnerOf(old, controllers) ?? otherHalf(old, controllers)?.metadata.name));
  const nextController = controllers.find(({ metadata }) => metadata.name === nextName);
  const record = active?.next === nextName ? active : undefined;
  const desired = desiredSize({ old, nextController, record, pods: snapshot.pods });
  const unrecorded = { ...DEFAULT_STATE, ...annotatedBudget(nextController ?? old), ...snapshot.settings };
  const state: RecordState = { ...(record?.state ?? unrecorded), desired };
  return {
    ...snapshot,
    old,
    nextController,
    records,
    record,
    last: own.findLast((one) => !isActiveRecord(one) && isAskedFor(one)),
    state,
    budget: resolveUpdateBudget(state, desired),
    isRollback: old !== undefined && isGoingBack(old, nextController),
    keepsName:
      record === undefined
        ? snapshot.next !== undefined || (nextController !== undefined && !isNameFormed(nextController, name))
        : record.to !== name,
    isRenamed:
      old !== undefined &&
      nextController === undefined &&
      record !== undefined &&
      !selectsAsReplaced(record) &&
      (selectsSame(old.spec, record.controller.spec) || isMadeInGap(old, record, snapshot.pods)),
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
  const records = readRecords(revisions);
  const active = records.filter(isActiveRecord);
  if (active.some(({ from }) => from === name)) return name;
  const recorded = active.findLast(({ next }) => next === name);
  if (recorded !== undefined) return recorded.from;
  const controller = controllers.find(({ metadata }) => metadata.name === name);
  if (controller === undefined) return name;
  const other = otherHalf(controller, controllers);
  if (other !== undefined) return isReplacedBy(other, controller) === true ? other.metadata.name : name;
  const formed = formedFrom(controller);
  const isThere = controllers.some(({ metadata }) => metadata.name === formed);
  const gone = partnerOf(controller) ?? (isThere ? undefined : formed);
  if (leftBy({ controllers, records }, controller) !== undefined) return name;
  if (gone === undefined || !isNextOf(controller, gone)) return name;
  if (records.some(({ from, next }) => from === name && next === gone)) return name;
  // The old one points at its partner too.
  return isNamedAfter(name, gone) || (desiredOf(controller) ?? 0) > 0 ? gone : name;
}

/**
 * The old controller of the update that this one is the next of: seen from the wrong side it would be rolled backwards. Undefined
 * where it is no next one, and where nothing but its pods is awaited any more.
 */
export function replacedBy(view: UpdateView): string | undefined {
  const { old, name, controllers } = view;
  const whole = updateNameOf(view, name);
  if (whole === name || old === undefined) return undefined;
  const isThere = controllers.some(({ metadata }) => metadata.name === whole);
  return isThere || [partnerOf(old), formedFrom(old)].includes(whole) ? whole : undefined;
}

/** As the controller says itself; of annotations that are no budget nothing counts, for nobody is there to be told. */
function annotatedBudget(one: ReplicationController | undefined): Partial<UpdateBudget> {
  try {
    return budgetOf({}, one?.metadata.annotations);
  } catch (error) {
    if (error instanceof BudgetError) return {};
    throw error;
  }
}

/**
 * Somebody wants the old controller back (seed, "Abort"): it has a desired size, or at least the next one is to have none and nothing
 * says that the old one is.
 */
function isGoingBack(old: ReplicationController, next: ReplicationController | undefined): boolean {
  const desired = desiredOf(old);
  if ((desired ?? 0) > 0 || isTurned(old)) return true;
  return desired === undefined && next !== undefined && desiredOf(next) === 0;
}

/**
 * Where both marks stand, somebody was stopped while moving one to the old controller (seed, "Abort"): that of the old counts.
 * Without any, "the current size of foo" (seed, "Initialization"), unless the record or the old controller knows the size of before. In the
 * middle that is of both together: at most one too many by the steps of 1 that are shipped, but never one that is lost.
 */
function desiredSize(halves: Pick<UpdateView, 'old' | 'nextController' | 'record' | 'pods'>): number {
  const { old, nextController: next, record } = halves;
  const isSize = (size: number | undefined) => (size ?? 0) > 0;
  // No update wants nothing: a 0 says which one goes.
  const marks = [old && desiredOf(old), next && desiredOf(next), record?.state.desired];
  // What kubectl left there after a rollback says nothing of a later update.
  const isBegun = next !== undefined || (old !== undefined && isPartlyReplaced(old));
  const known = [...marks, isBegun ? old && originalSizeOf(old) : undefined].find(isSize);
  if (known !== undefined) return known;
  if (old !== undefined && next === undefined && isBegun) return guessedSize({ ...halves, old });
  if (old === undefined && next === undefined && record !== undefined) return podCount(halves, record);
  return [old, next].reduce((sum, one) => sum + (one === undefined ? 0 : sizeOf(one)), 0);
}

/**
 * Whether somebody has made the old name again while a rename had none: it has the pods of the next controller, or is about to adopt
 * them, and no other. What was there before the rename would have its marks, and none of them.
 */
function isMadeInGap(
  old: ReplicationController,
  { state, to, controller }: UpdateRecord,
  pods: readonly Pod[],
): boolean {
  if (state.phase !== 'Renaming' || to !== old.metadata.name) return false;
  // It has been there since, as it was rolled out: another in its place is no part of a gap.
  if (state.renamed === true) return false;
  if (Object.keys(strippedMarks(old)).length > 0) return false;
  const coming = { matchLabels: controller.spec.selector ?? {} };
  const uids = [undefined, old.metadata.uid];
  const own = pods.filter((pod) => {
    const uid = controllerOf(pod)?.uid;
    const matches = matchesSelector(coming, pod.metadata.labels);
    return isActive(pod) && uids.includes(uid) && (uid !== undefined || matches);
  });
  return own.length > 0 && own.every(({ metadata }) => matchesSelector(coming, metadata.labels));
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
      available: countAvailable(view, controller, now, phase),
    };
  return {
    phase,
    desired: view.state.desired,
    old: about(view.old),
    next: about(view.nextController),
    ...view.budget,
  };
}

/** How many available pods a controller of an update has, or is about to have. `now` in milliseconds since the epoch. */
export function countAvailable(
  { pods, isRenamed }: Pick<UpdateView, 'pods' | 'isRenamed'>,
  controller: ReplicationController,
  now: number,
  phase: UpdatePhase,
): number {
  // In a rename pods have no controller for a moment: they are as available as they were.
  const isHandedOver = isRenamed || phase === 'Renaming';
  return countPods(controller, isHandedOver ? adopted(pods, controller) : pods, now).available;
}

/** Pods as they are when the controller has taken up those that are nobody's. */
function adopted(
  pods: readonly Pod[],
  { metadata: { name, uid }, spec }: ReplicationController,
): readonly Pod[] {
  const selector = { matchLabels: spec.selector ?? {} };
  const owner = { apiVersion: 'v1', kind: 'ReplicationController', name, uid, controller: true };
  return pods.map((pod) =>
    controllerOf(pod) === undefined && matchesSelector(selector, pod.metadata.labels)
      ? { ...pod, metadata: { ...pod.metadata, ownerReferences: [owner] } }
      : pod,
  );
}

/** How many pods are there for what a record rolls out, whoever controls them. */
function podCount({ pods }: Pick<UpdateView, 'pods'>, { controller }: UpdateRecord): number {
  const selector = { matchLabels: controller.spec.selector ?? {} };
  return pods.filter((pod) => isActive(pod) && matchesSelector(selector, pod.metadata.labels)).length;
}
