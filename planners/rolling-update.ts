/**
 * Rolling update of a ReplicationController: from what is there to the one next step (seed 001; K4–K9). Nothing else is
 * remembered: an update that anybody began, and that was stopped anywhere, goes on from its objects.
 *
 * | old | next | record | then |
 * |---|---|---|---|
 * | there | there | any | mark, label, roll; at its end clean up or rename |
 * | there | gone | active | create the next, for the pods it left; or, renamed already, finish |
 * | made anew since | gone | `Rolling`, and no pods that it left | it is another one: given up |
 * | there | gone | none | marked: refuse, `foo` says how many are wanted; turned round: back to that size |
 * | gone | there | any | it is called so: finish; else rename, also when it is being deleted: the record is written again before it is let go |
 * | gone | gone | `Renaming` | create the old name again |
 * | gone | gone | `Rolling`, and pods without a controller | the same, for those pods |
 * | gone | gone | any, and all pods are of another controller | refuse: somebody has moved them |
 *
 * In a namespace that is being deleted nothing of this can be done: a next controller that is held for a rename is let go.
 */

import { controllerOf } from './controller-ref.ts';
import { ANNOTATION } from './names.ts';
import type { JsonObject } from './objects.ts';
import type { ReplicationController } from './replication-controller.ts';
import { partnerOf, sizeOf, strippedMarks } from './replication-controller.ts';
import {
  ABANDONED,
  describeNothingLeft,
  describeTaken,
  isNothingLeft,
  leftPods,
  ownPods,
  takenBy,
} from './rolling-update-abandoned.ts';
import { finalManifest, nextManifest, selectsAsReplaced, selectsSame } from './rolling-update-definition.ts';
import { closeEarlier, finish } from './rolling-update-finish.ts';
import { handOver, hold, releaseInEnding, uncounted, waitUntilGone } from './rolling-update-handover.ts';
import { awaitRival } from './rolling-update-rivals.ts';
import { labelStep } from './rolling-update-labels.ts';
import { isOwnNext } from './rolling-update-leftover.ts';
import { isNextLost, isRolledOut } from './rolling-update-lost.ts';
import { contradiction, markBack, moveMarks, sayVainTurn, setMarks } from './rolling-update-marks.ts';
import { nextOwners } from './rolling-update-owners.ts';
import type { UpdateRecord } from './rolling-update-record.ts';
import { readTurned } from './rolling-update-record.ts';
import { POD_CODES, resize } from './rolling-update-pods.ts';
import { putSelectorBack } from './rolling-update-selector.ts';
import type { UpdatePhase, UpdateProgress, UpdateStep } from './rolling-update-steps.ts';
import { paused, annotate, patch, refuse, remove, setState, wait, write } from './rolling-update-steps.ts';
import type { RollingUpdateSnapshot, UpdateView } from './rolling-update-view.ts';
import { describeProgress, replacedBy, viewUpdate } from './rolling-update-view.ts';
import { awaitEdited, deleteEdited, isEdited, patchTowards, putBack } from './rolling-update-template.ts';
import { trusted } from './values.ts';
import { recordStep } from './rolling-update-recording.ts';
import { roll } from './rolling-update-roll.ts';

export interface RollingUpdatePlan {
  readonly step: UpdateStep;
  readonly progress: UpdateProgress;
  readonly view: UpdateView;
}

type Decision = readonly [UpdatePhase, UpdateStep];

/** The next step. `now` in milliseconds since the epoch. @throws {RangeError} for a budget that is none (a record spoilt by hand) */
export function planRollingUpdate(snapshot: RollingUpdateSnapshot, now: number): RollingUpdatePlan {
  const view = viewUpdate(snapshot);
  const [phase, decided] = decide(view, now);
  const step = sayVainTurn(view, decided);
  return { step, progress: describeProgress(view, now, phase), view };
}

function decide(view: UpdateView, now: number): Decision {
  const { old, nextController: next } = view;
  if (view.isEnding === true) {
    const ends = `namespace ${view.namespace} is being deleted, and the update of ${view.name} with it`;
    return ['CleaningUp', releaseInEnding(view) ?? refuse('NotFound', ends)];
  }
  const replaced = replacedBy(view);
  if (replaced !== undefined) {
    return [
      'Initialising',
      refuse(
        'OtherUpdate',
        `${view.name} is to take the place of ${replaced}: the update is one of ${replaced}`,
      ),
    ];
  }
  if (old !== undefined && next !== undefined) return withBoth(view, old, next, now);
  if (next !== undefined) return withoutOld(view, next, now);
  if (old !== undefined) return withoutNext(view, old, now);
  return withNeither(view, now);
}

/** "Assume that we are in a partial rollout" (seed, "Initialization"). */
function withBoth(
  view: UpdateView,
  old: ReplicationController,
  next: ReplicationController,
  now: number,
): Decision {
  if (next.metadata.deletionTimestamp !== undefined) return ['CleaningUp', handOver(view, next)];
  if (old.metadata.deletionTimestamp !== undefined) return ['CleaningUp', waitUntilGone(old)];
  if (view.isRollback && (partnerOf(next) ?? view.name) !== view.name) {
    // Two began at once with the same next controller: this one gives up without it.
    return isOwnNext(view, next) ? ['RollingBack', markBack(view, next)] : backAlone(view, old, now);
  }
  const phase = view.isRollback ? 'RollingBack' : sizeOf(next) > 0 ? 'Rolling' : 'Initialising';
  const unlike = putSelectorBack(view, old, next);
  if (unlike !== undefined) return [phase, view.paused === undefined ? unlike : paused(view)];
  const wrong = contradiction(view, old, next) ?? recordStep(view, next, 'Rolling');
  if (wrong !== undefined) return [phase, wrong];
  const mark = view.isRollback ? moveMarks(view, old, next) : setMarks(view, old, next);
  if (mark !== undefined) return [phase, mark];
  const back = putBack(view, view.isRollback ? old : next);
  if (back !== undefined) return [phase, back];
  const label = view.isRollback ? undefined : labelStep(view, old, next);
  if (label !== undefined) return [phase, label];
  const [from, to] = view.isRollback ? [next, old] : [old, next];
  const rolling = roll(view, from, to, now);
  if (rolling !== undefined) return [view.isRollback ? 'RollingBack' : 'Rolling', rolling];
  if (view.isRollback) {
    const message = `delete ${next.metadata.name}: ${old.metadata.name} is back`;
    return ['CleaningUp', remove('replicationcontrollers', next, true, 'DeleteNext', message)];
  }
  if (view.paused !== undefined) return ['CleaningUp', paused(view)];
  if (view.keepsName) {
    const message = `delete ${old.metadata.name}: ${next.metadata.name} has taken its place`;
    return ['CleaningUp', remove('replicationcontrollers', old, true, 'DeleteOld', message)];
  }
  // While the old one is there the update can still be turned round.
  const recorded = awaitRival(view, next) ?? recordStep(view, next, 'Renaming') ?? uncounted(view, next);
  if (recorded !== undefined) return ['Renaming', recorded];
  const message = `delete ${old.metadata.name}: its name is for ${next.metadata.name}`;
  return ['Renaming', remove('replicationcontrollers', old, true, 'DeleteOld', message)];
}

/** "Assume that we are in the rename phase" (seed), unless the next controller keeps its name. */
function withoutOld(view: UpdateView, next: ReplicationController, now: number): Decision {
  if (view.keepsName) {
    if (next.metadata.deletionTimestamp !== undefined) return ['CleaningUp', waitUntilGone(next)];
    // Without its marks, and without a record, nothing would tell that it was an update.
    const isMarked = Object.keys(strippedMarks(next)).length > 0;
    const recorded = isMarked ? recordStep(view, next, 'Rolling') : undefined;
    if (recorded !== undefined) return ['CleaningUp', recorded];
    const restored = isMarked ? restoreTemplate(view, next, now) : undefined;
    if (restored !== undefined) return ['Rolling', restored];
    return (isMarked ? growAlone(view, next) : undefined) ?? succeed(view, next, now);
  }
  if (next.metadata.deletionTimestamp !== undefined) {
    return ['Renaming', recordStep(view, next, 'Renaming') ?? handOver(view, next)];
  }
  if (view.paused !== undefined) return ['Renaming', paused(view)];
  const restored = restoreTemplate(view, next, now);
  if (restored !== undefined) return ['Rolling', restored];
  const before =
    recordStep(view, next, 'Renaming') ?? awaitRival(view, next) ?? uncounted(view, next) ?? hold(next);
  if (before !== undefined) return ['Renaming', before];
  const message = `delete ${next.metadata.name}, its pods stay for ${view.name}`;
  return ['Renaming', remove('replicationcontrollers', next, true, 'DeleteNext', message)];
}

/** What stays is what was to be rolled out, pods included: after the marks are gone nothing would tell. */
function restoreTemplate(view: UpdateView, next: ReplicationController, now: number): UpdateStep | undefined {
  return giveBack(view, next) ?? replaceEdited(view, next, now);
}

/** The template of the record, unless a pause holds it. */
function giveBack(view: UpdateView, one: ReplicationController): UpdateStep | undefined {
  return view.paused !== undefined && isEdited(view, one) ? paused(view) : putBack(view, one);
}

function replaceEdited(view: UpdateView, one: ReplicationController, now: number): UpdateStep | undefined {
  return deleteEdited(view, one, now) ?? awaitEdited(view, one);
}

/** Somebody has deleted the old controller in the middle: nothing shrinks any more, so the next one grows at once (K5). */
function growAlone(view: UpdateView, next: ReplicationController): Decision | undefined {
  const { desired } = view.state;
  if (sizeOf(next) === desired) return undefined;
  return ['Rolling', view.paused === undefined ? resize(next, desired) : paused(view)];
}

/** Made by hand in the gap of a rename, from another manifest: it becomes what was about to be created, and keeps the pods. */
function takeOver(
  { state }: UpdateView,
  old: ReplicationController,
  record: UpdateRecord,
): UpdateStep | undefined {
  if (selectsSame(old.spec, record.controller.spec)) return undefined;
  const { name } = old.metadata;
  const { metadata, spec } = finalManifest(record, state.desired);
  const podsOfSpec = ({ selector, template }: ReplicationController['spec']) =>
    trusted<JsonObject>({ selector, template });
  const change = patchTowards(podsOfSpec(old.spec), podsOfSpec(spec));
  const { labels, annotations } = metadata;
  return patch(
    'replicationcontrollers',
    old,
    { metadata: { labels, annotations }, spec: { ...change, replicas: state.desired } },
    'PutBack',
    `${name} was made by somebody while ${record.next} was renamed to it: it becomes what was rolled out, and keeps its pods`,
  );
}

/** Nothing but the pods is missing, where somebody has deleted the old controller before they were there. */
function succeed(view: UpdateView, final: ReplicationController, now: number): Decision {
  const restored = restoreTemplate(view, final, now);
  if (restored !== undefined) return ['Rolling', restored];
  const step = finish(view, final, 'Succeeded', now);
  const code = step.do === 'await' ? (step.waiting[0]?.code ?? '') : '';
  return [POD_CODES.includes(code) ? 'Rolling' : code === ABANDONED ? 'CleaningUp' : 'Finished', step];
}

/** `foo` alone: before the first step, after the last, or on the way back. */
function withoutNext(view: UpdateView, old: ReplicationController, now: number): Decision {
  const { record, last } = view;
  if (old.metadata.deletionTimestamp !== undefined) return ['CleaningUp', waitUntilGone(old)];
  if (view.isRenamed) {
    const taken = record && takeOver(view, old, record);
    if (taken !== undefined) return ['Renaming', taken];
    const [phase, step] = succeed(view, old, now);
    return [phase, (step.do === 'await' ? tellRenamed(view) : undefined) ?? step];
  }
  if (record !== undefined && selectsAsReplaced(record)) {
    if (view.isRollback) return backAlone(view, old, now);
    const message = `${record.next}, which is to replace ${view.name}, would have the selector of ${view.name}: each would count the pods of the other`;
    return ['Initialising', refuse('SelectorSame', message)];
  }
  if (record !== undefined && isNothingLeft(view))
    return ['CleaningUp', setState(record, { phase: 'Aborted' }, describeNothingLeft(view))];
  // Deleted without its pods: of a smaller size it would adopt them only to delete them.
  const left = leftPods(view).length;
  if (record !== undefined && left > 0)
    return [view.isRollback ? 'RollingBack' : 'Rolling', createNext(view, record, old, left)];
  if (view.isRollback) return backAlone(view, old, now);
  if (record !== undefined)
    return ['Initialising', closeEarlier(view, record) ?? createNext(view, record, old, 0)];
  if (isNextLost(view)) return ['Rolling', refuse('NextLost', whatIsLost(view, old))];
  const isNew = isRolledOut(old, last);
  if (isNew || last?.state.phase === 'Aborted') {
    const back = last?.state.turned?.verb === 'commit' ? 'Superseded' : 'Aborted';
    return ['Finished', finish(view, old, isNew ? 'Succeeded' : back, now)];
  }
  return ['Initialising', refuse('NothingToDo', `no update of ${view.name} is in progress`)];
}

/** In the gap the controller is made again; once it is there, its deletion is somebody's wish. */
function tellRenamed({ record, name }: UpdateView): UpdateStep | undefined {
  if (record?.state.phase !== 'Renaming' || record.state.renamed === true) return undefined;
  return setState(
    record,
    { renamed: true },
    `${name} is what was rolled out; its pods are awaited`,
    'Renamed',
  );
}

function whatIsLost({ name, state }: UpdateView, old: ReplicationController): string {
  const next = partnerOf(old);
  const what =
    next === undefined
      ? `${name} is marked as one that is replaced, but nothing tells by which controller`
      : `${next}, which was to replace ${name}, is gone, and no record says what it was`;
  return `${what}; ${String(state.desired)} wanted`;
}

/** The way back is over, or the next controller was deleted by hand in the middle of it. */
function backAlone(view: UpdateView, old: ReplicationController, now: number): Decision {
  const { desired } = view.state;
  // First, for pods that are missing are made of it.
  const restored = giveBack(view, old);
  if (restored !== undefined) return ['RollingBack', restored];
  if (sizeOf(old) < desired) return ['RollingBack', resize(old, desired)];
  const edited = replaceEdited(view, old, now);
  if (edited !== undefined) return ['RollingBack', edited];
  // The record first: without the marks nothing else would tell an update given up from one that is to begin.
  const turned = readTurned(old.metadata.annotations?.[ANNOTATION.turned]);
  const closing =
    view.record &&
    setState(
      view.record,
      { phase: 'Aborted', ...(turned && { turned }) },
      `the update of ${view.name} was given up`,
    );
  return [
    'CleaningUp',
    closing ?? annotate(old, strippedMarks(old), 'Strip', `${view.name} is as it was before the update`),
  ];
}

/** @param replicas How many pods it finds. */
function createNext(
  view: UpdateView,
  record: UpdateRecord,
  old: ReplicationController,
  replicas: number,
): UpdateStep {
  const { from, next } = record;
  // A pause of before the update stands on the old one alone, and would go with that.
  const mark = view.paused === undefined ? undefined : old.metadata.annotations?.[ANNOTATION.paused];
  const message =
    replicas === 0
      ? `create ${next}, which is to replace ${from}`
      : `create ${next} again: it was deleted without its pods, of which there are ${String(replicas)}`;
  return write({
    verb: 'create',
    resource: 'replicationcontrollers',
    name: next,
    body: trusted<JsonObject>(
      nextManifest({ ...record, ...nextOwners(record, old) }, view.state.desired, replicas, mark),
    ),
    purpose: 'CreateNext',
    message,
  });
}

/**
 * In the middle of a rename the pods have no controller: nothing holds this up. So it is where somebody deleted both controllers without
 * their pods; whoever deleted the pods too wants none of it back.
 */
function withNeither(view: UpdateView, now: number): Decision {
  const { record, last, name, controllers, pods, state } = view;
  const final = controllers.find(({ metadata }) => metadata.name === last?.to);
  if (record === undefined && last?.state.phase === 'Done' && final !== undefined) {
    return ['Finished', finish(view, final, 'Succeeded', now)];
  }
  if (record === undefined && last?.state.phase === 'Aborted') {
    const message = `nothing is left of ${name}, and its update was given up`;
    return ['Finished', { do: 'done', outcome: 'Aborted', message }];
  }
  if (record === undefined || isNothingLeft(view)) {
    const taken = takenBy(view);
    const rest = taken === undefined ? '' : `: ${describeTaken(taken)}`;
    return [
      record === undefined ? 'Initialising' : 'Rolling',
      refuse('NotFound', `there is no ReplicationController ${name}, nor one that is to replace it${rest}`),
    ];
  }
  const bound = ownPods(pods, record).filter((pod) => controllerOf(pod) !== undefined);
  if (bound.length > 0) {
    const names = bound.map(({ metadata }) => metadata.name);
    return ['Renaming', wait('PodsBound', `pods still belong to ${record.next}, which is gone`, names, true)];
  }
  return [
    'Renaming',
    write({
      verb: 'create',
      resource: 'replicationcontrollers',
      name: record.to,
      body: trusted<JsonObject>(finalManifest(record, state.desired)),
      purpose: 'Create',
      message: `create ${record.to} as ${record.next} was, for its ${String(ownPods(pods, record).length)} pods`,
    }),
  ];
}
