/** Waits until the workloads that a commit changed are rolled out or have failed: by watching the objects, not by asking. */

import { ApiError, isForbidden } from '../kubernetes/api-error.ts';
import { pause } from '../kubernetes/backoff.ts';
import type { ResourcePath, WatchEvent } from '../kubernetes/client.ts';
import { readUpdate } from '../kubernetes/rolling-update-objects.ts';
import { ANNOTATION } from '../planners/names.ts';
import { planRollingUpdate } from '../planners/rolling-update.ts';
import { isController, updateOf } from './apply-controller.ts';
import type { CommitContext } from './commit.ts';
import { controllerState } from './controller-state.ts';
import { APPLYSET } from './inventory.ts';
import type { PreparedObject } from './prepare.ts';
import { isWorkload } from './prepare.ts';
import type { LiveWorkload, RolloutState } from './rollout-state.ts';
import { rolloutState } from './rollout-state.ts';

/** State of every awaited workload, by label. */
export type RolloutStates = ReadonlyMap<string, RolloutState>;

export interface AwaitedRollouts {
  readonly states: RolloutStates;
  /** Not awaited and not well: failed, rolled back or paused before this commit. `label: why`. */
  readonly unwell: readonly string[];
}

/**
 * Watches until no workload of the commit is in progress. Awaited is what this commit changed (annotation
 * `fairlead.dev/commit` is its sha), and what an earlier one changed and is still under way; what had failed or was held
 * before is not.
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
    readonly onChange?: (states: RolloutStates) => void;
  },
): Promise<AwaitedRollouts> {
  const workloads = objects.filter((object) => isWorkload(object.manifest));
  const controllers = objects.filter((object) => isController(object.manifest));
  const states = new Map<string, RolloutState>();
  const unwell = new Map<string, string>();
  if (workloads.length + controllers.length === 0) return { states, unwell: [] };
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
  const change = (): void => {
    options.onChange?.(states);
    const isOver = [...states.values()].every(({ state }) => state !== 'InProgress');
    if (isOver && listed === collections.size + controllers.length) stop.abort();
  };
  const look = (object: PreparedObject, live: LiveWorkload | undefined): void => {
    const isOurs = live?.metadata.annotations?.[ANNOTATION.commit] === context.sha;
    note(object, rolloutState(live, object.manifest.hash), isOurs);
  };
  const note = (object: PreparedObject, state: RolloutState, isOurs: boolean): void => {
    const isUnderWay = state.state === 'InProgress' && !state.paused && !seen.has(object.label);
    if (isOurs || isUnderWay || states.has(object.label)) states.set(object.label, state);
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
      note(object, state, isOurs);
      change();
    };
    watches.push(lookAtController(watching, object, looked));
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
  return { states, unwell: [...unwell].map(([label, why]) => `${label}: ${why}`) };
}

/** Between two looks at a ReplicationController, milliseconds: a rename makes it vanish from watches for a moment. */
const CONTROLLER_MS = 1_000;

async function lookAtController(
  { worker, sha, signal }: CommitContext,
  object: PreparedObject,
  looked: (state: RolloutState, isOurs: boolean) => void,
): Promise<void> {
  if (signal === undefined) return;
  while (!signal.aborted) {
    const plan = planRollingUpdate(await readUpdate(worker, updateOf(object), signal), Date.now());
    const { state, commit } = controllerState(plan, object.manifest.hash);
    looked(state, commit === sha);
    await pause(CONTROLLER_MS, signal);
  }
}

/** Milliseconds between two lists where the account may list and not watch. */
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
    for (const object of members) look(object, live.get(object.manifest.name));
    if (isFirst) listed();
    isFirst = false;
    change();
    if (signal.aborted) return;
    try {
      const options = {
        labelSelector,
        resourceVersion: list.resourceVersion,
        allowWatchBookmarks: true,
        timeoutSeconds: 270,
        signal,
      };
      for await (const event of client.watch<LiveWorkload>(path, options)) handle(event);
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
    look(object, event.type === 'DELETED' ? undefined : event.object);
    change();
  }
}
