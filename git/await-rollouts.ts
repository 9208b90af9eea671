/**
 * Waits until the workloads that a commit changed are rolled out or have failed, by watching the objects, not by asking; between
 * two waves, until everything of the earlier ones is as the commit wants it.
 */

import { ApiError, isForbidden } from '../kubernetes/api-error.ts';
import { whyLastFailed } from '../kubernetes/attempts.ts';
import { pause } from '../kubernetes/backoff.ts';
import type { ResourcePath, WatchEvent } from '../kubernetes/client.ts';
import { trusted } from '../kubernetes/values.ts';
import { readUpdate, readUpdateAtOnce } from '../kubernetes/rolling-update-objects.ts';
import { ANNOTATION } from '../planners/names.ts';
import type { RollingUpdatePlan } from '../planners/rolling-update.ts';
import { planRollingUpdate } from '../planners/rolling-update.ts';
import type { UpdateRun } from '../planners/rolling-update-run.ts';
import { RUN_GRACE_MS, describeNoRun } from '../planners/rolling-update-run.ts';
import { updateOf } from './apply-controller.ts';
import { isOther, lookAtJobs, lookAtOthers } from './await-others.ts';
import type { CommitContext } from './commit.ts';
import { controllerState, needsRun } from './controller-state.ts';
import { APPLYSET } from './inventory.ts';
import type { PreparedObject } from './prepare.ts';
import { isController, isWorkload } from './prepare.ts';
import { getOrUndefined } from '../kubernetes/get-or-undefined.ts';
import type { LiveWorkload, RolloutState } from './rollout-state.ts';
import { rolloutState } from './rollout-state.ts';

/** State of every awaited workload, by label. */
export type RolloutStates = ReadonlyMap<string, RolloutState>;

export interface AwaitedRollouts {
  readonly states: RolloutStates;
  /** Each object was looked at; otherwise the wait ended before it knew what there is to wait for. */
  readonly isComplete: boolean;
  /** Not awaited and not well: failed, rolled back or paused before this commit. `label: why`. */
  readonly unwell: readonly string[];
}

/**
 * Watches until no workload of the commit is in progress. Awaited is what this commit changed (annotation
 * `fairlead.dev/commit` is its sha), what an earlier one changed and is still under way, and what somebody has deleted since: a commit
 * makes again what is missing. What had failed or was held before is not.
 * @returns the last state of each; after `patienceMs` also while some are still in progress
 * @throws ApiError when a watch cannot be had (try again); the signal's reason
 */
export async function awaitRollouts(
  context: CommitContext,
  objects: readonly PreparedObject[],
  options: {
    readonly patienceMs: number;
    /** Ends the wait sooner, as `patienceMs` does. */
    readonly stop?: AbortSignal;
    /** Whether it is known to have been applied: then it was deleted if it is not there, and not left out. @default none is */
    readonly wasApplied?: (object: PreparedObject) => boolean;
    /** For a wave: all of the objects are awaited, whoever changed them and of whatever kind. */
    readonly everything?: {
      /** Milliseconds since the epoch after which an object that is no workload of ours has failed; those have deadlines of their own. */
      readonly untilMs: number;
    };
    /**
     * For the end of a commit: of what is no workload of ours, what the commit has written in waves is awaited, and any Job that has failed
     * is told.
     */
    readonly end?: {
      /** As of `everything`. */
      readonly untilMs: number;
      readonly isInWaves: (object: PreparedObject) => boolean;
    };
    readonly onChange?: (states: RolloutStates) => void;
  },
): Promise<AwaitedRollouts> {
  const workloads = objects.filter((object) => isWorkload(object.manifest));
  const controllers = objects.filter((object) => isController(object.manifest));
  const states = new Map<string, RolloutState>();
  const unwell = new Map<string, string>();
  const { everything, end } = options;
  const mayWait = everything === undefined ? (end?.isInWaves ?? (() => false)) : () => true;
  const others = objects.filter((object) => isOther(object) && mayWait(object));
  const stop = new AbortController();
  const signal = context.signal === undefined ? stop.signal : AbortSignal.any([context.signal, stop.signal]);
  const timer = setTimeout(() => stop.abort(), options.patienceMs);
  options.stop?.addEventListener('abort', () => stop.abort(), { once: true });
  const collections = new Map<string, PreparedObject[]>();
  for (const object of workloads) {
    const key = `${object.path.group}/${object.path.resource}/${object.path.namespace ?? ''}`;
    collections.set(key, [...(collections.get(key) ?? []), object]);
  }
  const seen = new Set<string>();
  let listed = 0;
  const isComplete = (): boolean =>
    listed === collections.size + controllers.length + (others.length > 0 ? 1 : 0);
  const isOver = (): boolean =>
    isComplete() && [...states.values()].every(({ state }) => state !== 'InProgress');
  const change = (): void => {
    options.onChange?.(states);
    if (isOver()) stop.abort();
  };
  const look = (object: PreparedObject, live: LiveWorkload | undefined): void => {
    const isOurs =
      live === undefined
        ? options.wasApplied?.(object) === true
        : live.metadata.annotations?.[ANNOTATION.commit] === context.sha;
    note(object, rolloutState(live, object.manifest.hash), isOurs);
  };
  const note = (object: PreparedObject, state: RolloutState, isOurs: boolean): void => {
    const isUnderWay = state.state === 'InProgress' && !state.paused && !seen.has(object.label);
    if (everything !== undefined || isOurs || isUnderWay || states.has(object.label))
      states.set(object.label, state);
    else if (state.state === 'Done') unwell.delete(object.label);
    else unwell.set(object.label, state.message);
    seen.add(object.label);
  };
  const firstList = (): void => {
    listed += 1;
  };
  const watching = { ...context, signal };
  const watches = [...collections.values()].map((members) =>
    watchCollection(watching, members, look, firstList, change),
  );
  for (const object of controllers) {
    const looked = (state: RolloutState, isOurs: boolean): void => {
      if (!seen.has(object.label)) listed += 1;
      const isGone = state.state === 'Failed' && state.isGone === true;
      note(object, state, isOurs || (isGone && options.wasApplied?.(object) === true));
      change();
    };
    watches.push(lookAtController(watching, object, looked));
  }
  const noteOther = (object: PreparedObject, state: RolloutState, isOurs: boolean): void => {
    if (everything !== undefined || (isOurs && state.state !== 'Done')) states.set(object.label, state);
    else if (isOurs) states.delete(object.label);
    else if (state.state !== 'Done') unwell.set(object.label, state.message);
  };
  const { untilMs } = everything ?? end ?? {};
  if (untilMs !== undefined && others.length > 0) {
    let isFirst = true;
    const looked = (): void => {
      if (isFirst) listed += 1;
      isFirst = false;
      change();
    };
    const isAwaited = (isOurs: boolean): boolean => everything !== undefined || isOurs;
    const { wasApplied } = options;
    watches.push(
      lookAtOthers(watching, others, { untilMs, wasApplied, isAwaited, judged: noteOther, looked }),
    );
  }
  try {
    await Promise.all(watches);
  } catch (error) {
    if (!stop.signal.aborted) throw error;
  } finally {
    clearTimeout(timer);
    stop.abort();
    await Promise.allSettled(watches);
  }
  context.signal?.throwIfAborted();
  if (end !== undefined && isOver()) {
    const awaited = new Set(others);
    const rest = objects.filter((object) => !awaited.has(object));
    await lookAtJobs(context, rest, noteOther);
  }
  return { states, isComplete: isComplete(), unwell: [...unwell].map(([label, why]) => `${label}: ${why}`) };
}

/** Between two looks at a ReplicationController, milliseconds: a rename makes it vanish from watches for a moment. */
const CONTROLLER_MS = 1_000;

async function lookAtController(
  context: CommitContext,
  object: PreparedObject,
  looked: (state: RolloutState, isOurs: boolean) => void,
): Promise<void> {
  const { worker, sha, signal } = context;
  if (signal === undefined) return;
  const update = updateOf(object);
  const { hash } = object.manifest;
  let runlessSince: number | undefined;
  while (!signal.aborted) {
    let plan = planRollingUpdate(await readUpdate(worker, update, signal), Date.now());
    let judged = controllerState(plan, hash);
    if (judged.state.state === 'Failed') {
      // What was read while a rename went on may never have been so.
      plan = planRollingUpdate(await readUpdateAtOnce(worker, update, signal), Date.now());
      judged = controllerState(plan, hash);
    }
    const run = needsRun(plan, judged) ? await context.rollingUpdateRun?.(update) : undefined;
    if (run?.state === 'running') judged = { ...judged, state: whileFailing(judged.state, plan, run) };
    const isRunless = run !== undefined && run.state !== 'running';
    runlessSince = isRunless ? (runlessSince ?? Date.now()) : undefined;
    if (isRunless && Date.now() - (runlessSince ?? Date.now()) >= RUN_GRACE_MS) {
      judged = controllerState(plan, hash, describeNoRun(run, whyLastFailed(plan.view.record?.revision)));
    }
    looked(judged.state, judged.commit === sha);
    await pause(CONTROLLER_MS, signal);
  }
}

/** What the cluster answers to the step that is due, where it fails again and again. */
function whileFailing(
  state: RolloutState,
  { step }: RollingUpdatePlan,
  { failing }: UpdateRun & { readonly state: 'running' | 'closed' },
): RolloutState {
  if (state.state !== 'InProgress' || step.do !== 'write' || (failing?.attempts ?? 0) < 1) return state;
  return {
    ...state,
    message: `${step.write.message}: it is tried again and again: ${failing?.message ?? ''}`,
  };
}

/** Milliseconds between two lists where a watch would not do: the account may not, or an object that is awaited is not in it. */
const LIST_MS = 2_000;

/** List, then watch, again and again until the signal; `listed` after the first list, `change` after everything new. */
async function watchCollection(
  context: CommitContext,
  members: readonly PreparedObject[],
  look: (object: PreparedObject, live: LiveWorkload | undefined) => void,
  listed: () => void,
  change: () => void,
): Promise<void> {
  const { client, store, signal } = context;
  const first = members[0];
  if (first === undefined || signal === undefined) return;
  const byName = new Map(members.map((object) => [object.manifest.name, object]));
  const path: ResourcePath = { ...first.path, name: undefined };
  const labelSelector = `${APPLYSET.partOf}=${store.applySetId}`;
  let isFirst = true;
  while (!signal.aborted) {
    const list = await client.list<LiveWorkload>(path, { labelSelector, signal });
    const live = new Map(list.items.map((item) => [item.metadata.name, item]));
    let isUnwatched = false;
    for (const object of members) {
      const item = live.get(object.manifest.name);
      // Without its label, as when somebody has applied it by hand, it is in no list and there all the same.
      const unlisted =
        item ?? trusted<LiveWorkload | undefined>(await getOrUndefined(client, object.path, signal));
      look(object, unlisted);
      if (item === undefined && unlisted !== undefined)
        isUnwatched ||= rolloutState(unlisted, object.manifest.hash).state === 'InProgress';
    }
    if (isFirst) listed();
    isFirst = false;
    change();
    if (signal.aborted) return;
    if (isUnwatched) {
      await pause(LIST_MS, signal);
      continue;
    }
    try {
      const options = {
        labelSelector,
        resourceVersion: list.resourceVersion,
        allowWatchBookmarks: true,
        timeoutSeconds: 270,
        signal,
      };
      for await (const event of client.watch<LiveWorkload>(path, options)) {
        // It may only have lost its label: a fresh list tells.
        if (event.type === 'DELETED' && byName.has(event.object.metadata.name)) break;
        handle(event);
      }
    } catch (error) {
      // Too old a version, or a dropped connection: a fresh list tells all.
      const isPassing = error instanceof ApiError && (error.status === 0 || error.status === 410);
      if (signal.aborted || !(isPassing || isForbidden(error))) throw error;
      if (isForbidden(error)) await pause(LIST_MS, signal);
    }
  }

  function handle(event: WatchEvent<LiveWorkload>): void {
    if (event.type === 'BOOKMARK') return;
    const object = byName.get(event.object.metadata.name);
    if (object === undefined) return;
    look(object, event.object);
    change();
  }
}
