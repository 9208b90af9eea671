/** Waits for objects that have no rollout of ours, by kstatus' rules: those of waves, and the Jobs of a commit. */

import { pause } from '../kubernetes/backoff.ts';
import { trusted } from '../kubernetes/values.ts';
import { ANNOTATION } from '../planners/names.ts';
import type { CommitContext } from './commit.ts';
import { PARALLEL, forEachLimited } from './commit.ts';
import type { PreparedObject } from './prepare.ts';
import { isController, isWorkload } from './prepare.ts';
import type { LiveObject } from './readiness.ts';
import type { JobEnd } from './job-end.ts';
import { readJobEnd } from './job-end.ts';
import { hasReadiness, isJob, isRemovedAtEnd, readiness } from './readiness.ts';
import { getOrUndefined } from '../kubernetes/get-or-undefined.ts';
import type { RolloutState } from './rollout-state.ts';

/** In which the Events of a Job that is gone must say how it ended: they are written beside it. Milliseconds. */
const EVENTS_MS = 10_000;
/** Between two looks at objects of kinds that are not watched, milliseconds. */
const OTHERS_MS = 1_000;

/** What a look has found of an object; `isOurs`: the commit has written it, or made it and it is gone. */
export type Judged = (object: PreparedObject, state: RolloutState, isOurs: boolean) => void;

/** What there is to know of an object at a look. */
interface Look {
  readonly object: PreparedObject;
  readonly state: RolloutState;
  readonly isOurs: boolean;
}

/** Whether an object that is no workload of ours has a state that may be awaited. */
export function isOther({ manifest }: PreparedObject): boolean {
  return !isWorkload(manifest) && !isController(manifest) && hasReadiness(manifest);
}

/**
 * Asks for each object that is not ready yet; to `get` is all that the account needs, and it has it, or it could not have applied.
 * `untilMs`: milliseconds since the epoch after which what is not ready has failed. `judged` hears of each object at each look, `looked` after it;
 * of what `isAwaited` refuses the first look is the last.
 */
export async function lookAtOthers(
  context: CommitContext,
  objects: readonly PreparedObject[],
  options: {
    readonly untilMs: number;
    readonly wasApplied?: ((object: PreparedObject) => boolean) | undefined;
    readonly isAwaited: (isOurs: boolean) => boolean;
    readonly judged: Judged;
    readonly looked: () => void;
  },
): Promise<void> {
  const { signal } = context;
  if (signal === undefined) return;
  let waiting = objects;
  const goneSince = new Map<PreparedObject, number>();
  const ended = async (job: PreparedObject): Promise<RolloutState> => {
    const since = goneSince.get(job) ?? Date.now();
    goneSince.set(job, since);
    return endState(await readJobEnd(context, job), Date.now() - since >= EVENTS_MS);
  };
  while (!signal.aborted && waiting.length > 0) {
    const isLate = Date.now() >= options.untilMs;
    const next: PreparedObject[] = [];
    await eachState(
      context,
      waiting,
      { wasApplied: options.wasApplied, ended },
      ({ object, state, isOurs }) => {
        const isUnderWay = state.state === 'InProgress';
        if (isUnderWay && !isLate && options.isAwaited(isOurs)) next.push(object);
        options.judged(object, isUnderWay && isLate ? late(state) : state, isOurs);
      },
    );
    waiting = next;
    options.looked();
    if (waiting.length > 0) await pause(OTHERS_MS, signal);
  }
}

/**
 * Looks once at the Jobs among the objects, and says which have failed. One that still runs may do so for hours, and one that is gone may
 * have been removed by whoever has seen its end: neither is anybody's failure.
 * @throws ApiError (try again); the signal's reason
 */
export async function lookAtJobs(
  context: CommitContext,
  objects: readonly PreparedObject[],
  failed: Judged,
): Promise<void> {
  const jobs = objects.filter(({ manifest }) => isJob(manifest));
  const ended = async (): Promise<RolloutState> => await Promise.resolve({ state: 'Done' });
  await eachState(context, jobs, { ended }, ({ object, state, isOurs }, live) => {
    if (live !== undefined && state.state === 'Failed') failed(object, state, isOurs);
  });
}

async function eachState(
  { client, sha, signal }: CommitContext,
  objects: readonly PreparedObject[],
  {
    wasApplied,
    ended,
  }: {
    readonly wasApplied?: ((object: PreparedObject) => boolean) | undefined;
    /** Of a Job that is gone, and that the cluster removes after its end. */
    readonly ended: (job: PreparedObject) => Promise<RolloutState>;
  },
  each: (look: Look, live: LiveObject | undefined) => void,
): Promise<void> {
  await forEachLimited(
    objects,
    PARALLEL,
    async (object) => {
      const live = trusted<LiveObject | undefined>(await getOrUndefined(client, object.path, signal));
      const isOurs =
        live === undefined
          ? wasApplied?.(object) === true
          : live.metadata.annotations?.[ANNOTATION.commit] === sha;
      const isOver = live === undefined && isRemovedAtEnd(object.manifest);
      each({ object, state: isOver ? await ended(object) : stateOf(object, live), isOurs }, live);
    },
    signal,
  );
}

function stateOf(object: PreparedObject, live: LiveObject | undefined): RolloutState {
  const state = readiness(object.manifest, live);
  if (state.state === 'Done') return state;
  if (state.state === 'InProgress') return { ...state, paused: false };
  return { ...state, rolledBack: false, ...(live !== undefined && nextOf(object)) };
}

/** Where nobody may read Events it is believed that it did its work. @param isLate Nothing more will be told */
function endState(end: JobEnd | undefined, isLate: boolean): RolloutState {
  if (end === undefined || end.end === 'Completed') return { state: 'Done' };
  if (end.end === 'Failed') return goneJob(`it has failed, and is gone: ${end.message}`);
  const why = 'it is gone, and no Event tells that it has completed';
  return isLate ? goneJob(why) : { state: 'InProgress', message: why, paused: false };
}

function goneJob(message: string): RolloutState {
  const next =
    'The next try of the commit runs it anew; a `ttlSecondsAfterFinished` that is longer keeps it to be looked at.';
  return { state: 'Failed', message, rolledBack: false, next };
}

/** A Job that has failed stays so: its like must be made anew. */
function nextOf({ manifest, path }: PreparedObject): { readonly next?: string } {
  if (!isJob(manifest)) return {};
  const where = `job ${manifest.name} -n ${path.namespace ?? ''}`;
  return {
    next: `See \`kubectl describe ${where}\`; \`kubectl delete ${where}\` has the next try of the commit run it anew, and a corrected manifest needs that, or another name.`,
  };
}

function late({ message }: RolloutState & { readonly state: 'InProgress' }): RolloutState {
  return { state: 'Failed', message: `it was not ready in time: ${message}`, rolledBack: false };
}
