/**
 * What this leader remembers of its own writes to a workload's children. A new leader begins without: the planner then goes by what
 * it sees.
 *
 * - Writes that the apiserver refused, with back-off, so that the planner steps around them (a quota must not stop a rollout).
 * - Pods that a batch has deleted and that are not there again: each is to come at the revision that it was deleted for, although
 *   the rollout may be paused by then (A9).
 * - Places where pods failed again and again at one revision: the next is left there for a while, so that it can be looked at (D7).
 * - The revision that the apiserver has taken, in a pod that is there (its images and metadata) or as a new one: no other pod has to try it.
 */

import type { Action, Refusal } from '../planners/plan.ts';
import { LONGEST_REFUSAL_MS, actionKey } from '../planners/plan.ts';
import type { PlaceFailures, Snapshot, Workload } from '../planners/workload.ts';
import { LONGEST_FAILURE_MS } from '../planners/workload.ts';

const FIRST_RETRY_MS = 1_000;

/** In place, or by a new pod. */
export type TriedWay = 'patch' | 'create';

/** Another's object that has the name of one that is to be made. */
interface InTheWay {
  readonly resource: string;
  readonly name: string;
  readonly uid: string;
}

interface RememberedRefusal extends Refusal {
  readonly attempts: number;
  readonly inTheWay?: InTheWay;
}

interface Memory {
  readonly refusals: Map<string, RememberedRefusal>;
  readonly replaced: Map<string, string>;
  /** By place. */
  readonly failures: Map<string, PlaceFailures & { readonly count: number; readonly at: number }>;
  tried?: { readonly revision: string; readonly ways: Set<TriedWay> };
}

export class WriteMemory {
  readonly #byOwner = new Map<string, Memory>();

  /** The part of a snapshot that is remembered, of one owner uid. */
  of(ownerUid: string): Required<Pick<Snapshot<Workload>, 'refusals' | 'replaced' | 'failures'>> {
    const { refusals, replaced, failures } = this.#byOwner.get(ownerUid) ?? newMemory();
    return { refusals, replaced, failures };
  }

  /**
   * Records one more refusal in a row; the next try comes after 1, 2, 4 … 60 s. `now` in milliseconds since the epoch. `unresizable`:
   * the pod cannot be resized so, however often it is tried. `taken`: as in {@link Refusal}, by the object of that uid.
   */
  refused(
    ownerUid: string,
    action: Action,
    message: string,
    now: number,
    {
      unresizable = false,
      taken,
      takenBy,
    }: { readonly unresizable?: boolean; readonly takenBy?: string } & Pick<Refusal, 'taken'> = {},
  ): void {
    const { refusals } = this.#memoryOf(ownerUid);
    const { revision } = action;
    const before = refusals.get(actionKey(action));
    const previous = before?.revision === revision ? before : undefined;
    const attempts = (previous?.attempts ?? 0) + 1;
    const retryAt = now + Math.min(FIRST_RETRY_MS * 2 ** (attempts - 1), LONGEST_REFUSAL_MS);
    refusals.set(actionKey(action), {
      since: previous?.since ?? now,
      retryAt,
      message,
      attempts,
      ...(revision !== undefined && { revision }),
      ...(unresizable && action.uid !== undefined && { unresizable: action.uid }),
      ...(taken !== undefined && { taken }),
      ...(takenBy !== undefined && {
        inTheWay: { resource: action.resource, name: action.name, uid: takenBy },
      }),
    });
  }

  /**
   * Forgets refusals for a name that was taken, where what stood there is gone: that was all that was to be waited for.
   * `uidOf`: of what has the name now.
   */
  freed(ownerUid: string, uidOf: (resource: string, name: string) => string | undefined): void {
    const { refusals } = this.#byOwner.get(ownerUid) ?? newMemory();
    for (const [key, { inTheWay }] of refusals) {
      if (inTheWay !== undefined && uidOf(inTheWay.resource, inTheWay.name) !== inTheWay.uid) {
        refusals.delete(key);
      }
    }
  }

  /**
   * The apiserver took the write (`done`), or it was too old (`stale`): it is not refused any more. `now` in milliseconds since
   * the epoch.
   */
  taken(ownerUid: string, action: Action, outcome: 'done' | 'stale', now: number): void {
    const memory = this.#memoryOf(ownerUid);
    memory.refusals.delete(actionKey(action));
    const { purpose, verb, resource, name, place = name, revision, finishedRevision = '' } = action;
    if (verb === 'create' && resource === 'pods') memory.replaced.delete(place);
    if (outcome === 'stale') return;
    if (purpose === 'Recreate' && revision !== undefined) memory.replaced.set(place, revision);
    if (purpose === 'ReplaceFinished') countFailure(memory, place, finishedRevision, now);
  }

  /** Whether the apiserver is known to take the revision so. */
  isTried(ownerUid: string, revision: string | undefined, way: TriedWay): boolean {
    const tried = this.#byOwner.get(ownerUid)?.tried;
    return revision !== undefined && tried?.revision === revision && tried.ways.has(way);
  }

  /** It has taken it. */
  tried(ownerUid: string, revision: string | undefined, way: TriedWay): void {
    if (revision === undefined) return;
    const memory = this.#memoryOf(ownerUid);
    if (memory.tried?.revision !== revision) memory.tried = { revision, ways: new Set() };
    memory.tried.ways.add(way);
  }

  /** The workload is gone. */
  forget(ownerUid: string): void {
    this.#byOwner.delete(ownerUid);
  }

  #memoryOf(ownerUid: string): Memory {
    let memory = this.#byOwner.get(ownerUid);
    if (memory === undefined) {
      memory = newMemory();
      this.#byOwner.set(ownerUid, memory);
    }
    return memory;
  }
}

function newMemory(): Memory {
  return { refusals: new Map(), replaced: new Map(), failures: new Map() };
}

/** 1, 2, 4 … s to 15 min; forgotten with another revision, and after twice the longest without a failure. */
function countFailure({ failures }: Memory, place: string, revision: string, now: number): void {
  const before = failures.get(place);
  const isAgain = before?.revision === revision && now - before.at <= 2 * LONGEST_FAILURE_MS;
  const count = isAgain ? before.count + 1 : 1;
  const until = now + Math.min(FIRST_RETRY_MS * 2 ** (count - 1), LONGEST_FAILURE_MS);
  failures.set(place, { revision, until, count, at: now });
}
