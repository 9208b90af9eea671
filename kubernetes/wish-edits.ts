/** The parts that the wishes on a workload are made of: the pause, what counts as idle, and the words of the answers. Pure. */

import { saysComplete } from '../planners/conditions.ts';
import { ANNOTATION, GROUP } from '../planners/names.ts';
import type { Condition, ControllerRevision } from '../planners/objects.ts';
import type { Wish } from '../planners/workload.ts';
import { trusted } from './values.ts';
import { noteOfField, readPaused } from './wish-annotations.ts';
import type { Edit, WishResult, WorkloadObject, WorkloadTarget } from './workload-edit.ts';
import { annotationOperations } from './workload-edit.ts';
import { hasPausedField } from './workload-api.ts';

/** Who wants it and why. */
export interface Wisher {
  readonly by?: string | undefined;
  readonly reason?: string | undefined;
}

const TEXT_LIMIT = 500;

/** Sets the pause, unless it is set. */
export function pauseEdit(
  object: WorkloadObject,
  target: WorkloadTarget,
  wisher: Wisher,
  now: number,
): Edit<WishResult> {
  const { annotations } = object.metadata;
  const paused = readPaused(annotations, isSpecPaused(object, target));
  if (paused !== undefined) {
    return nothing(`${short(target)} is already paused${said(paused)}`);
  }
  const own = wish(wisher, now);
  // Where kubectl has verbs for it, it is to see the pause, and to be able to end it.
  const setsField = hasPausedField(target) && target.group !== GROUP;
  const value = setsField ? noteOfField(own) : own;
  return {
    operations: [
      ...annotationOperations(annotations, { [ANNOTATION.paused]: JSON.stringify(value) }),
      ...(setsField ? ([{ op: 'add', path: '/spec/paused', value: true }] as const) : []),
    ],
    result: { changed: true, message: `${short(target)} paused` },
  };
}

/** `spec.paused`, where the kind has it: all of ours, and native Deployments. */
export function isSpecPaused({ spec }: WorkloadObject, target: WorkloadTarget): boolean {
  return hasPausedField(target) && spec.paused === true;
}

/** Whether the controller has seen the present spec and found nothing more to do. */
export function isIdle({ metadata, status }: WorkloadObject): boolean {
  const conditions = trusted<readonly Condition[]>(status?.['conditions'] ?? []);
  return status?.['observedGeneration'] === metadata.generation && saysComplete(conditions);
}

/** Whether the controller has seen the last run end in a way after which it starts no other by itself. */
export function hasEndedBadly({ status }: WorkloadObject): boolean {
  const conditions = trusted<readonly Condition[]>(status?.['conditions'] ?? []);
  const stalled = conditions.find(({ type }) => type === 'Stalled');
  return stalled?.status === 'True' && isBadEnding(stalled.reason);
}

/** Whether a reason of Stalled tells how a run ended; the others are of what goes on by itself once its cause is mended. */
export function isBadEnding(reason: string | undefined): boolean {
  return reason?.startsWith('Run') === true;
}

/** The annotation's value: texts are cut, so that ten of them stay far from the limit of annotations. */
export function wish({ by, reason }: Wisher, now: number): Wish {
  return {
    ...(by !== undefined && by !== '' && { by: by.slice(0, TEXT_LIMIT) }),
    ...(reason !== undefined && reason !== '' && { reason: reason.slice(0, TEXT_LIMIT) }),
    at: new Date(now).toISOString(),
  };
}

/** The answer when the object is as wanted already. */
export function nothing(why: string): Edit<WishResult> {
  return { operations: [], result: { changed: false, message: `nothing to do: ${why}` } };
}

/** What to add to an answer while a pause holds the object. */
export function pausedHint(object: WorkloadObject, target: WorkloadTarget): string {
  const paused = readPaused(object.metadata.annotations, isSpecPaused(object, target));
  return paused === undefined ? '' : `, once it is resumed (it is paused${said(paused)})`;
}

/** ` by ann: disk alarm` */
export function said({ by, reason }: Wish): string {
  return `${by === undefined ? '' : ` by ${by}`}${reason === undefined ? '' : `: ${reason}`}`;
}

/** `statefulset/web` */
export function short(target: WorkloadTarget): string {
  return `${target.kind.toLowerCase()}/${target.name}`;
}

/** `3 (web-6f9c4)` */
export function label(revision: ControllerRevision): string {
  return `${String(revision.revision)} (${revision.metadata.name})`;
}
