/** What operators want of a rolling update, written on its controllers: shared by the command line and by runs that got a signal. */

import { ANNOTATION } from '../planners/names.ts';
import type { ReplicationController } from '../planners/replication-controller.ts';
import { sizeOf } from '../planners/replication-controller.ts';
import { describeDeletion } from '../planners/pod-reasons.ts';
import type { Refused } from '../planners/rolling-update-refusals.ts';
import { refuse } from '../planners/rolling-update-refusals.ts';
import { describeNothingLeft, isNothingLeft } from '../planners/rolling-update-abandoned.ts';
import { releaseInEnding } from '../planners/rolling-update-handover.ts';
import { decideRollback } from '../planners/rolling-update-rollback.ts';
import type { UpdateStep } from '../planners/rolling-update-steps.ts';
import { annotate, setState } from '../planners/rolling-update-steps.ts';
import type { UpdateView } from '../planners/rolling-update-view.ts';
import { viewUpdate } from '../planners/rolling-update-view.ts';
import type { Turned } from '../planners/rolling-update-record.ts';
import type { Wish } from '../planners/workload.ts';
import type { KubernetesClient } from './client.ts';
import { whyNamespaceEnds } from './namespace-end.ts';
import type { UpdateReference } from './rolling-update-objects.ts';
import { readUpdate, writeUpdate } from './rolling-update-objects.ts';
import { readPaused } from './wish-annotations.ts';
import type { Wisher } from './wish-edits.ts';
import { said, wish } from './wish-edits.ts';
import type { WishResult } from './workload-edit.ts';

const CONFLICT_LIMIT = 12;

type Decision<R extends WishResult = WishResult> = R & { readonly step?: UpdateStep };

/** What became of a pause, of its end, or of a turn. */
export interface UpdateWishResult extends WishResult {
  /** No update is under way, and no run has to be told: it is about the next one. */
  readonly isIdle?: true;
  /** Why it cannot be, where an update is under way that goes on all the same. */
  readonly refused?: Refused;
  /** It is on its way back, whoever has turned it round, and its run may still wait for its update period. */
  readonly isTurned?: true;
}

/**
 * Holds the update before its next step. A rename that has begun is finished: its pods have no controller, and the answer says `refused`.
 * @throws ApiError
 */
export async function pauseUpdate(
  client: KubernetesClient,
  reference: UpdateReference,
  wisher: Wisher,
  now: number,
  options: PauseOptions = {},
): Promise<UpdateWishResult> {
  const result = await edit(client, reference, (view) => decidePause(view, wish(wisher, now), options));
  // On both: on one alone it would go with that one.
  return result.changed ? { ...(await pauseUpdate(client, reference, wisher, now)), ...result } : result;
}

export interface PauseOptions {
  /** Where no update is under way, the next one is to wait. A run that is told to pause is not meant so: it may be over by then. */
  readonly orNext?: boolean;
}

/** What `pause` writes next, if anything. */
export function decidePause(
  view: UpdateView,
  paused: Wish,
  { orNext = false }: PauseOptions = {},
): Decision<UpdateWishResult> {
  const { name, old, nextController: next, record } = view;
  const text = JSON.stringify(paused);
  const why = whyNothingHoldsPause(view);
  if (why !== undefined) {
    const message = `the update of ${name} cannot be paused: ${why}, and a pause goes with its controller`;
    return { ...nothing(message), refused: refuse('Renaming', message) };
  }
  if (old !== undefined && orNext && hasNoUpdate(view)) {
    const held = readPaused(old.metadata.annotations, undefined);
    if (held !== undefined) return nothing(`${short(name)} is already paused${said(held)}`);
    const message = `${short(name)} paused: its next update will wait`;
    return {
      ...change(message, annotate(old, { [ANNOTATION.paused]: text }, 'Annotate', message)),
      isIdle: true,
    };
  }
  // What is being deleted does not hold it: whatever gets its name, or is made again, has no pause.
  const both = [old, next].flatMap((one) => (one === undefined || isLeaving(one) ? [] : one));
  if (both.length === 0 || (next === undefined && record === undefined)) {
    return nothing(`no update of ${name} is in progress`);
  }
  const free = both.find((one) => !isHeld(one));
  const held = both.find(isHeld);
  if (free === undefined) return nothing(`the update of ${name} is already paused${saidOf(held)}`);
  const message =
    held === undefined
      ? `the update of ${name} is paused`
      : `the update of ${name} is already paused${saidOf(held)}: that is on ${free.metadata.name} too now`;
  // One pause has one name: whoever wrote the first mark.
  const mark = held?.metadata.annotations?.[ANNOTATION.paused] ?? text;
  return change(message, annotate(free, { [ANNOTATION.paused]: mark }, 'Annotate', message));
}

/** That each of the two controllers is gone or being deleted, in the middle of an update; undefined where a pause is kept. */
function whyNothingHoldsPause(view: UpdateView): string | undefined {
  const { name, old, nextController: next, record } = view;
  const partner = next?.metadata.name ?? record?.next;
  if (partner === undefined || isNothingLeft(view)) return undefined;
  if ([old, next].some((one) => one !== undefined && !isLeaving(one))) return undefined;
  const tell = (what: string, one: ReplicationController | undefined) =>
    `${what} ${one === undefined ? 'is gone' : describeDeletion(one)}`;
  return `${tell(name, old)}, ${tell(partner, next)}`;
}

/** Lets it go on. @throws ApiError */
export async function resumeUpdate(
  client: KubernetesClient,
  reference: UpdateReference,
): Promise<UpdateWishResult> {
  const result = await edit(client, reference, decideResume);
  // Both may have been held.
  return result.changed ? { ...(await resumeUpdate(client, reference)), ...result } : result;
}

/** What `resume` writes next, if anything. */
export function decideResume(view: UpdateView): Decision<UpdateWishResult> {
  const { name, old, nextController } = view;
  const held = [old, nextController].find((one) => one !== undefined && isHeld(one));
  const what = hasNoUpdate(view) ? short(name) : `the update of ${name}`;
  if (held === undefined) return nothing(`${what} is not paused`);
  const message = hasNoUpdate(view)
    ? `${short(name)} resumed: its next update will not wait`
    : `${what} goes on`;
  const end = change(message, annotate(held, { [ANNOTATION.paused]: null }, 'Annotate', message));
  return hasNoUpdate(view) ? { ...end, isIdle: true } : end;
}

function short(name: string): string {
  return `replicationcontroller/${name}`;
}

function hasNoUpdate({ nextController, record, isRollback }: UpdateView): boolean {
  return nextController === undefined && record === undefined && !isRollback;
}

function isLeaving({ metadata }: ReplicationController): boolean {
  return metadata.deletionTimestamp !== undefined;
}

/** ` by ann: disk alarm`; empty where nobody has said so. */
function saidOf(one: ReplicationController | undefined): string {
  return said(readPaused(one?.metadata.annotations, undefined) ?? {});
}

function isHeld({ metadata }: ReplicationController): boolean {
  return readPaused(metadata.annotations, undefined) !== undefined;
}

/**
 * Turns it round: the old controller gets its size back (seed, "Abort"). In a namespace that is being deleted it lets go what a rename holds.
 * @throws ApiError
 */
export async function abortUpdate(
  client: KubernetesClient,
  reference: UpdateReference,
  wisher: Wisher,
  now: number,
  verb: 'abort' | 'rollback' = 'abort',
): Promise<UpdateWishResult> {
  const isEnding = (await whyNamespaceEnds(client, reference.namespace)) !== undefined;
  return await edit(client, reference, (view) =>
    decideTurn({ ...view, isEnding }, { verb, ...wish(wisher, now) }),
  );
}

/**
 * The same for a newer commit, which takes the place of one that is under way: nobody has rejected that, so nothing is pinned.
 * @throws ApiError
 */
export async function turnUpdate(
  client: KubernetesClient,
  reference: UpdateReference,
  commit: string,
  now: number,
): Promise<UpdateWishResult> {
  const turned = turnedBy(commit, 'brings another manifest', now);
  return await edit(client, reference, (view) => decideTurn(view, turned));
}

/**
 * The same for a commit that leaves the controller out, which is to be deleted: where nothing but its pods is awaited there is no way back,
 * and the update is over as it is.
 * @throws ApiError
 */
export async function dropUpdate(
  client: KubernetesClient,
  reference: UpdateReference,
  commit: string,
  now: number,
): Promise<UpdateWishResult> {
  const turned = turnedBy(commit, 'leaves it out', now);
  return await edit<UpdateWishResult>(client, reference, (view) => {
    if (!view.isRenamed || view.record === undefined) return decideTurn(view, turned);
    const message = `the update of ${view.name} ends before all its pods are there`;
    return {
      ...change(message, setState(view.record, { phase: 'Aborted', turned }, message)),
      isTurned: true,
    };
  });
}

function turnedBy(commit: string, what: string, now: number): Turned {
  const reason = `commit ${commit.slice(0, 8)} ${what}`;
  return { verb: 'commit', commit, reason, at: new Date(now).toISOString() };
}

/** What turns an update round; where it is so already, whether its run has to be told again: whoever wrote it may have told nobody. */
export function decideTurn(view: UpdateView, turned: Turned): Decision<UpdateWishResult> {
  const letGo = releaseInEnding(view);
  if (letGo?.do === 'write') return { ...change(letGo.write.message, letGo), isIdle: true };
  const decision = decideRollback(view, turned);
  switch (decision.do) {
    case 'refuse': {
      const isIdle = decision.code === 'NotInProgress' && view.record === undefined;
      return { ...nothing(decision.message), ...(!isIdle && { refused: decision }) };
    }
    case 'turn': {
      const message = isNothingLeft(view)
        ? describeNothingLeft(view)
        : describeTurn(view, 'is being rolled back', 'is to be rolled back');
      return { ...change(message, { do: 'write', write: decision.write }), isTurned: true };
    }
    case 'attach':
      // Marks that somebody has left: nothing carries the way back out yet.
      if (view.nextController === undefined && view.record === undefined) {
        const message = describeTurn(view, 'is being rolled back', 'is to be rolled back');
        return { ...change(message), isTurned: true };
      }
      return {
        ...nothing(describeTurn(view, 'is being rolled back already', 'is to be rolled back already')),
        // What a pause holds, or has no period, has nothing that telling it again could end, and would be woken at each try.
        ...(view.paused === undefined && view.state.updatePeriodMs > 0 && { isTurned: true }),
      };
  }
}

/** That an update goes back. A pause holds the way back too, but for an update that has not begun to replace pods. @param later Said where it is held */
export function describeTurn(view: UpdateView, now: string, later: string): string {
  const { name, paused, old, nextController: next, state } = view;
  const isUntouched =
    (next === undefined || sizeOf(next) === 0) && old !== undefined && sizeOf(old) >= state.desired;
  if (paused === undefined || isUntouched) return `the update of ${name} ${now}`;
  const where = `-n ${old?.metadata.namespace ?? ''}`;
  return `the update of ${name} ${later}, but it is paused: fairlead rollout resume rc/${name} ${where}`;
}

async function edit<R extends WishResult>(
  client: KubernetesClient,
  reference: UpdateReference,
  decide: (view: UpdateView) => Decision<R>,
): Promise<Omit<Decision<R>, 'step'>> {
  for (let tries = 1; ; tries += 1) {
    const { step, ...result } = decide(viewUpdate(await readUpdate(client, reference)));
    if (step?.do !== 'write') return result;
    if ((await writeUpdate(client, reference.namespace, step.write)) === 'done') return result;
    if (tries === CONFLICT_LIMIT) {
      throw new Error(`the controllers of the update of ${reference.name} change too fast: try again`);
    }
  }
}

function nothing(why: string): Decision {
  return { changed: false, message: `nothing to do: ${why}` };
}

function change(message: string, step?: UpdateStep): Decision {
  return { changed: true, message, ...(step && { step }) };
}
