/** What later stages of a commit stand on: its CustomResourceDefinitions, their kinds, and its Namespaces. */

import { pause } from '../kubernetes/backoff.ts';
import type { Condition, KubernetesObject } from '../planners/objects.ts';
import type { CommitContext } from './commit.ts';
import { isDefinition } from './definitions.ts';
import type { PreparedObject } from './prepare.ts';
import { problemOf } from './prepare.ts';
import type { Problem } from './problems.ts';
import { getOrUndefined } from '../kubernetes/get-or-undefined.ts';

/** A CustomResourceDefinition, or any other object. */
export interface LiveFoundation extends KubernetesObject {
  readonly status?: { readonly conditions?: readonly Condition[] };
}

export type FoundationState =
  | { readonly state: 'usable' }
  | { readonly state: 'waiting'; readonly why: string }
  /** Nothing that this commit does will change it. */
  | { readonly state: 'hopeless'; readonly why: string; readonly next?: string };

export interface FoundationWait {
  /** What is waited for, at each look. */
  readonly onWait?: (reasons: readonly string[]) => void;
  /** Milliseconds until what is not usable is a problem. @default two minutes; an apiserver takes about a second */
  readonly limitMs?: number;
  /** Milliseconds for which a state must have been hopeless: conditions may be a moment older than the object. @default 3 s */
  readonly graceMs?: number;
}

const LIMIT_MS = 120_000;
const GRACE_MS = 3_000;
const POLL_MS = 200;

/**
 * Waits until every CustomResourceDefinition of the commit is established, its kinds are served, and every Namespace is there.
 * @returns what is not usable, each at its line: because it never will be, or because the time is up
 * @throws ApiError (try again); the signal's reason
 */
export async function awaitFoundations(
  context: CommitContext,
  objects: readonly PreparedObject[],
  options: FoundationWait = {},
): Promise<readonly Problem[]> {
  const { client, discovery } = context;
  const signal = context.signal ?? new AbortController().signal;
  const kinds = new Map(
    objects
      .filter((object) => object.deferred)
      .map((object) => [`${object.manifest.apiVersion} ${object.manifest.kind}`, object]),
  );
  const foundations = await awaitUsable(
    objects.filter(({ manifest }) => isFoundation(manifest)),
    async (object) => foundationState(object, await getOrUndefined(client, object.path, signal)),
  );
  if (foundations.length > 0) return foundations;
  return await awaitUsable([...kinds.values()], async ({ path, manifest: { apiVersion, kind } }) => {
    const served = await discovery.find(apiVersion, kind, { signal });
    if (served?.resource === path.resource) return { state: 'usable' };
    discovery.forget(apiVersion);
    const other = served === undefined ? '' : `, but as ${served.resource}`;
    return { state: 'waiting', why: `${apiVersion} ${kind} is not served${other}` };
  });

  async function awaitUsable(
    wanted: readonly PreparedObject[],
    look: (object: PreparedObject) => Promise<FoundationState>,
  ): Promise<readonly Problem[]> {
    const { onWait, limitMs = LIMIT_MS, graceMs = GRACE_MS } = options;
    const begun = Date.now();
    const hopelessSince = new Map<PreparedObject, number>();
    let waiting = wanted;
    for (;;) {
      const states = new Map<PreparedObject, Exclude<FoundationState, { state: 'usable' }>>();
      for (const object of waiting) {
        const state = await look(object);
        if (state.state !== 'usable') states.set(object, state);
        if (state.state !== 'hopeless') hopelessSince.delete(object);
        else if (!hopelessSince.has(object)) hopelessSince.set(object, Date.now());
      }
      if (states.size === 0) return [];
      onWait?.([...states].slice(0, 20).map(([object, { why }]) => `${object.label}: ${why}`));
      const now = Date.now();
      const isLate = now - begun >= limitMs;
      const given = [...states].filter(
        ([object]) => isLate || now - (hopelessSince.get(object) ?? now) >= graceMs,
      );
      if (given.length > 0) return given.map(([object, state]) => problemWith(object, state, now - begun));
      waiting = [...states.keys()];
      await pause(POLL_MS, signal);
      signal.throwIfAborted();
    }
  }
}

function problemWith(
  object: PreparedObject,
  state: Exclude<FoundationState, { state: 'usable' }>,
  waitedMs: number,
): Problem {
  const waited = state.state === 'hopeless' ? '' : ` after ${Math.round(waitedMs / 1000)} s`;
  const found = problemOf(object, 'NotEstablished', `${state.why}${waited}.`);
  return state.state === 'hopeless' && state.next !== undefined ? { ...found, next: state.next } : found;
}

function isFoundation(manifest: PreparedObject['manifest']): boolean {
  return isDefinition(manifest) || (manifest.kind === 'Namespace' && manifest.group === '');
}

/** Whether objects of the commit may use it. Pure. */
export function foundationState(
  { manifest }: Pick<PreparedObject, 'manifest'>,
  live: LiveFoundation | undefined,
): FoundationState {
  if (live === undefined) return { state: 'hopeless', why: 'it is not there' };
  const { deletionTimestamp } = live.metadata;
  if (deletionTimestamp !== undefined)
    return { state: 'waiting', why: `it is being deleted since ${deletionTimestamp}` };
  if (manifest.kind === 'Namespace') return { state: 'usable' };
  const conditions = new Map((live.status?.conditions ?? []).map((condition) => [condition.type, condition]));
  const established = conditions.get('Established');
  if (established?.status === 'True') return { state: 'usable' };
  const names = conditions.get('NamesAccepted');
  if (names?.status === 'False') {
    return {
      state: 'hopeless',
      why: `its names are not accepted: ${words(names)}`,
      next: 'Choose other names in `spec.names`, or have the CustomResourceDefinition that has them deleted first: what leaves git is deleted last.',
    };
  }
  const why = established === undefined ? 'no condition yet' : words(established);
  return { state: 'waiting', why: `it is not established (${why})` };
}

function words({ reason, message }: Condition): string {
  return [reason, message].filter((part) => part !== undefined && part !== '').join(': ');
}
