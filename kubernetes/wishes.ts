/**
 * What operators want of a rollout, written on the workload object (design "Pause, abort, retry, undo live on the object").
 * Shared by the command line and by the runs that receive the same verbs as signals. Every function makes one patch with
 * preconditions, tries again on a conflict, and answers "nothing to do" when the object is so already.
 */

import { ANNOTATION, DEPLOYMENT_ANNOTATION } from '../planners/names.ts';
import type { ControllerRevision } from '../planners/objects.ts';
import { hasSucceeded } from '../planners/revision.ts';
import type { Pin } from '../planners/workload.ts';
import { readAttempts, whyEnded } from './attempts.ts';
import type { KubernetesClient } from './client.ts';
import { forbiddenChanges } from './in-place-only.ts';
import { isTemplateFromGit, templateChange } from './template-change.ts';
import { inSpellingOf } from './template-spelling.ts';
import { readPaused, readPinned } from './wish-annotations.ts';
import type { Wisher } from './wish-edits.ts';
import {
  hasEndedBadly,
  isIdle,
  isSpecPaused,
  label,
  nothing,
  pauseEdit,
  pausedHint,
  said,
  short,
  wish,
} from './wish-edits.ts';
import type { Edit, WishResult, WorkloadObject, WorkloadTarget } from './workload-edit.ts';
import { annotationOperations, editWorkload } from './workload-edit.ts';
import { WORKLOAD_KINDS } from './workload-kinds.ts';
import {
  currentRevision,
  listRevisions,
  presentRevision,
  revisionBefore,
  templateOfData,
  wayBackOf,
} from './workload-revisions.ts';
import { WishRefusedError } from './wish-refused-error.ts';

export interface UndoRequest extends Wisher {
  /** Number of a revision; only with `undo`. */
  readonly toRevision?: number | bigint | undefined;
  /** Only while {@link DEPLOYMENT_ANNOTATION.rollbackTo} of the object has this value: what was granted must not be again. */
  readonly asked?: string;
  readonly verb: 'undo' | 'abort' | 'deadline';
}

export interface UndoResult extends WishResult {
  /** The object is (now, or already was) on its way back; or only paused, for want of a revision to go back to; or neither. */
  readonly effect: 'rolledBack' | 'paused' | 'none';
  /** Name of the revision that it goes back to. */
  readonly revision?: string;
}

/**
 * Holds the workload before its next charged write. `now` in milliseconds since the epoch, as everywhere here.
 * @throws ApiError as the apiserver answers
 */
export async function pauseWorkload(
  client: KubernetesClient,
  target: WorkloadTarget,
  wisher: Wisher,
  now: number,
): Promise<WishResult> {
  return await editWorkload(client, target, (object) => pauseEdit(object, target, wisher, now));
}

/**
 * Lets a paused workload go on: removes the annotation, and sets `spec.paused` to false where the kind has it.
 * @throws ApiError as the apiserver answers
 */
export async function resumeWorkload(client: KubernetesClient, target: WorkloadTarget): Promise<WishResult> {
  return await editWorkload(client, target, (object) => {
    const { annotations } = object.metadata;
    const specPaused = isSpecPaused(object, target);
    if (readPaused(annotations, specPaused) === undefined) {
      return nothing(`${short(target)} is not paused`);
    }
    return {
      operations: [
        ...annotationOperations(annotations, { [ANNOTATION.paused]: undefined }),
        ...(specPaused ? ([{ op: 'replace', path: '/spec/paused', value: false }] as const) : []),
      ],
      result: { changed: true, message: `${short(target)} resumed` },
    };
  });
}

/**
 * Asks for another run after one that failed, timed out or was terminated. While none did there is nothing to ask for: the
 * wish would stand until one does. `hasEnded`: Temporal tells of such an end, which no controller may have seen yet.
 * @throws ApiError as the apiserver answers
 */
export async function retryWorkload(
  client: KubernetesClient,
  target: WorkloadTarget,
  wisher: Wisher,
  now: number,
  hasEnded = false,
): Promise<WishResult> {
  return await editWorkload(client, target, (object) => {
    if (isIdle(object)) {
      return nothing(`the rollout of ${short(target)} is complete`);
    }
    if (!hasEnded && !hasEndedBadly(object)) {
      return nothing(whyNoRetry(short(target), target.namespace));
    }
    return {
      operations: annotationOperations(object.metadata.annotations, {
        [ANNOTATION.retried]: JSON.stringify(wish(wisher, now)),
      }),
      result: {
        changed: true,
        message: `${short(target)} is to be tried again${pausedHint(object, target)}`,
      },
    };
  });
}

/** What `retry` says where nothing has failed. @param what `sts/web` */
function whyNoRetry(what: string, namespace: string): string {
  return `no run of ${what} has failed or was terminated; ${howItWaits(what, namespace)}`;
}

/** Where to look further. @param what `sts/web` */
export function howItWaits(what: string, namespace: string): string {
  return `\`fairlead explain ${what} -n ${namespace}\` says what it waits for`;
}

/**
 * Goes back to an earlier revision: its complete template, in the spelling of the present one, replaces `spec.template`, and the pin
 * keeps sync from bringing the rejected manifest again, both in one patch. `undo` goes to `toRevision`, else to the newest revision
 * but the present one (kubectl), unless that was just left for the present one and the way back is not over; `abort` and `deadline` go
 * to the last complete one, and where there is none, or InPlaceOnly does not let them, they pause.
 *
 * @throws ApiError as the apiserver answers; WishRefusedError naming the known revisions when `toRevision` is not among them, or the
 * fields that keep `undo` from going back in place
 */
export async function undoWorkload(
  client: KubernetesClient,
  target: WorkloadTarget,
  request: UndoRequest,
  now: number,
): Promise<UndoResult> {
  return await editWorkload<UndoResult>(client, target, async (object) => {
    if (request.asked !== undefined && rollbackRequest(object) !== request.asked) {
      const message = `${short(target)} does not ask for revision ${request.asked} any more`;
      return { operations: [], result: { ...nothing(message).result, effect: 'none' } };
    }
    const revisions = await listRevisions(client, object, target);
    const present = presentRevision(object, target, revisions);
    const way = wayBackOf(object, present, revisions);
    if (request.verb !== 'undo') {
      if (present !== undefined && way.outcome === 'there') {
        const message = whereItIs(object, target, present);
        return {
          operations: [],
          result: { ...nothing(message).result, effect: 'rolledBack', revision: present.metadata.name },
        };
      }
      if (isIdle(object)) {
        const hint = `no rollout of ${short(target)} is in progress; \`fairlead rollout undo\` goes back a revision`;
        return { operations: [], result: { ...nothing(hint).result, effect: 'none' } };
      }
    }
    const back =
      request.verb === 'undo'
        ? undoTarget(target, request.toRevision, present, revisions)
        : way.outcome === 'to'
          ? way.revision
          : undefined;
    if (back === undefined) {
      // Whoever aborts is told so here; a deadline has nobody to tell but who reads of the pause.
      const why = [request.reason ?? [], NOTHING_TO_GO_BACK_TO].flat().join('; ');
      const held = request.verb === 'deadline' ? { ...request, reason: why } : request;
      const { operations, result } = pauseEdit(object, target, held, now);
      const message = `no complete revision of ${short(target)} to go back to, so it is held: ${result.message}`;
      return { operations, result: { changed: result.changed, message, effect: 'paused' } };
    }
    if (back.metadata.name === present?.metadata.name) {
      const { result } = nothing(whereItIs(object, target, back));
      return { operations: [], result: { ...result, effect: 'none', revision: back.metadata.name } };
    }
    const rejected = request.verb === 'undo' ? rejectedJustNow(object, request, present) : undefined;
    if (present !== undefined && back.metadata.name === rejected?.revision) {
      const message =
        `${whereItIs(object, target, present)}; ` +
        `\`--to-revision ${String(back.revision)}\` goes to what it comes from`;
      const { result } = nothing(message);
      return { operations: [], result: { ...result, effect: 'rolledBack', revision: present.metadata.name } };
    }
    const forbidden = forbiddenChanges(object, templateOfData(back));
    if (forbidden.length > 0) return notInPlace(object, target, request, { back, forbidden, now });
    const lost = request.verb === 'undo' ? '' : lostRevision(object, revisions);
    return rollbackEdit(object, target, request, { present, back, lost, now });
  });
}

/** Of a template that is wanted already: whether the pods are at it, or on their way, and who has sent them there. */
function whereItIs(object: WorkloadObject, target: WorkloadTarget, revision: ControllerRevision): string {
  const what = short(target);
  const pin = readPinned(object.metadata.annotations);
  const isBack = pin?.to === revision.metadata.name;
  if (isIdle(object)) return `${what} is ${isBack ? 'back ' : ''}at revision ${label(revision)} already`;
  const who = isBack ? ` (${pin.verb ?? 'undo'}${said(pin)})` : '';
  return `${what} is on its way ${isBack ? 'back ' : ''}to revision ${label(revision)} already${who}${pausedHint(object, target)}`;
}

/**
 * The pin of a way back that is under way, for an `undo` that names no revision. Of two people who go back from the same template at one
 * time the second would bring it again; who has seen the first one's end means just that, as with kubectl.
 */
function rejectedJustNow(
  object: WorkloadObject,
  { toRevision = 0 }: UndoRequest,
  present: ControllerRevision | undefined,
): Pin | undefined {
  const pin = readPinned(object.metadata.annotations);
  const isUnderWay = pin?.to !== undefined && pin.to === present?.metadata.name && !isIdle(object);
  return isUnderWay && BigInt(toRevision) === 0n ? pin : undefined;
}

const NOTHING_TO_GO_BACK_TO = 'there is no complete revision to go back to';

/** Whoever gives a rollout up expects what ran before it: where somebody has deleted that revision, it is another. */
function lostRevision(object: WorkloadObject, revisions: readonly ControllerRevision[]): string {
  const current = currentRevision(object) ?? '';
  const isLost = current !== '' && revisions.every(({ metadata }) => metadata.name !== current);
  return isLost ? `, for the ControllerRevision ${current}, which was rolled out last, was deleted` : '';
}

/** The apiserver would refuse the way back: `undo` says so, who acts for safety's sake holds the rollout where it is. */
function notInPlace(
  object: WorkloadObject,
  target: WorkloadTarget,
  request: UndoRequest,
  { back, forbidden, now }: { back: ControllerRevision; forbidden: readonly string[]; now: number },
): Edit<UndoResult> {
  const why =
    `${short(target)} cannot go back to revision ${label(back)}: its podUpdatePolicy is InPlaceOnly, and ${forbidden.join(', ')} ` +
    `${forbidden.length === 1 ? 'differs' : 'differ'}, which no running pod takes over`;
  const remedy = 'set podUpdatePolicy to InPlaceIfPossible, which replaces the pods, and say it again';
  if (request.verb === 'undo') throw new WishRefusedError('InPlaceOnly', `${why}; ${remedy}`);
  const { operations, result } = pauseEdit(object, target, request, now);
  const message = `${why}, so it is held: ${result.message}; ${remedy}`;
  return { operations, result: { changed: result.changed, message, effect: 'paused' } };
}

/**
 * Takes away the wish of {@link DEPLOYMENT_ANNOTATION.rollbackTo}, when it cannot be granted; another than `asked` stays.
 * @throws ApiError as the apiserver answers
 */
export async function dropRollbackRequest(
  client: KubernetesClient,
  target: WorkloadTarget,
  asked: string,
): Promise<WishResult> {
  return await editWorkload(client, target, (object) => {
    if (rollbackRequest(object) !== asked) {
      return nothing(`${short(target)} does not ask for revision ${asked} any more`);
    }
    return {
      operations: annotationOperations(object.metadata.annotations, {
        [DEPLOYMENT_ANNOTATION.rollbackTo]: undefined,
      }),
      result: { changed: true, message: `the request to roll ${short(target)} back was dropped` },
    };
  });
}

function rollbackRequest({ metadata }: WorkloadObject): string | undefined {
  return metadata.annotations?.[DEPLOYMENT_ANNOTATION.rollbackTo];
}

/**
 * Ends the rollout in progress by going back to the last complete revision; without one it pauses. See {@link undoWorkload}.
 * @throws ApiError as the apiserver answers
 */
export async function abortWorkload(
  client: KubernetesClient,
  target: WorkloadTarget,
  wisher: Wisher,
  now: number,
): Promise<UndoResult> {
  return await undoWorkload(client, target, { ...wisher, verb: 'abort' }, now);
}

function rollbackEdit(
  object: WorkloadObject,
  target: WorkloadTarget,
  request: UndoRequest,
  {
    present,
    back,
    lost,
    now,
  }: {
    readonly present: ControllerRevision | undefined;
    readonly back: ControllerRevision;
    /** Why it is this one, if that needs to be said. */
    readonly lost: string;
    readonly now: number;
  },
): Edit<UndoResult> {
  const { annotations } = object.metadata;
  const template = inSpellingOf(object.spec.template, templateOfData(back));
  // An undo of an undo, or of a restart, leads to what the manifest gives: then git is not held back.
  const rejected = isTemplateFromGit(object, template) ? undefined : annotations?.[ANNOTATION.manifestHash];
  const pin: Pin = {
    ...(rejected !== undefined && { rejected }),
    ...(present && { revision: present.metadata.name }),
    to: back.metadata.name,
    verb: request.verb,
    ...wish(request, now),
  };
  return {
    operations: [
      { op: 'replace', path: '/spec/template', value: template },
      ...annotationOperations(annotations, {
        ...WORKLOAD_KINDS[target.kind].history.annotationsBack(back),
        [ANNOTATION.pinned]: JSON.stringify(pin),
        [DEPLOYMENT_ANNOTATION.rollbackTo]: undefined,
        ...templateChange(object, template, request.verb, request, now),
      }),
    ],
    result: {
      changed: true,
      message: `${short(target)} goes back to revision ${label(back)}${neverDone(back)}${lost}${pausedHint(object, target)}`,
      effect: 'rolledBack',
      revision: back.metadata.name,
    },
  };
}

/** A second undo goes to where the first came from, as kubectl's does: whoever asks for it should know what it leads to. */
function neverDone(revision: ControllerRevision): string {
  const last = readAttempts(revision).at(-1);
  if (hasSucceeded(revision) || last === undefined) return '';
  const why = whyEnded(last);
  return `, whose rollout was never finished (${last.outcome}${why === undefined ? '' : `: ${why}`})`;
}

function undoTarget(
  target: WorkloadTarget,
  toRevision: number | bigint | undefined,
  present: ControllerRevision | undefined,
  revisions: readonly ControllerRevision[],
): ControllerRevision {
  const known = revisions.map((one) => String(one.revision)).join(', ');
  if (toRevision !== undefined && BigInt(toRevision) !== 0n) {
    const found = revisions.findLast((one) => BigInt(one.revision) === BigInt(toRevision));
    if (found === undefined) {
      throw new WishRefusedError(
        'RevisionNotFound',
        `revision ${String(toRevision)} of ${short(target)} does not exist: ` +
          (known === '' ? 'it has none yet' : `known are ${known} (\`fairlead rollout history\` shows them)`),
      );
    }
    return found;
  }
  const before = revisionBefore(present, revisions);
  if (before === undefined) {
    throw new WishRefusedError(
      'NoEarlierRevision',
      `no revision of ${short(target)} to go back to: its history holds ${known || 'none'}`,
    );
  }
  return before;
}
