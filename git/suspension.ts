/** Suspending a repository: a wish on its inventory, so that it outlives workers, runs and Temporal. */

import { readSuspended } from '../kubernetes/wish-annotations.ts';
import { nothing, wish } from '../kubernetes/wish-edits.ts';
import type { Wisher } from '../kubernetes/wish-edits.ts';
import type { WishResult } from '../kubernetes/workload-edit.ts';
import { SUSPENDED } from '../planners/names.ts';
import type { Wish } from '../planners/workload.ts';
import type { InventoryStore } from './inventory.ts';
import type { RepositoryStatus } from './inventory-status.ts';
import { shortSha } from './problems.ts';

/** Who suspended the repository and why; undefined: it is not suspended. @throws ApiError; ProblemError InventoryForeign */
export async function readSuspension(store: InventoryStore): Promise<Wish | undefined> {
  const inventory = await store.read();
  return store.ownerElsewhere(inventory) === undefined ? readSuspended(inventory?.annotations) : undefined;
}

/**
 * No further commit is begun from now on. A commit that is under way goes to its end.
 * @param now milliseconds since the epoch
 * @throws ApiError; ProblemError InventoryForeign
 */
export async function suspendRepository(
  store: InventoryStore,
  wisher: Wisher,
  now: number,
): Promise<WishResult> {
  let result: WishResult | undefined;
  await store.update((present) => {
    const known = readSuspended(present.annotations);
    const goingOn = describeGoingOn(present.status.commit);
    if (known !== undefined) {
      result = nothing(
        `repository ${store.repository} is already suspended${describeSuspension(known)}${goingOn}`,
      ).result;
      return undefined;
    }
    result = { changed: true, message: `repository ${store.repository} suspended${goingOn}` };
    const value = JSON.stringify(wish(wisher, now));
    return { ...present, annotations: { ...present.annotations, [SUSPENDED]: value } };
  });
  return result ?? nothing('').result;
}

/** Commits are applied again, the newest first of all. @throws as {@link suspendRepository} */
export async function resumeRepository(store: InventoryStore): Promise<WishResult> {
  if ((await readSuspension(store)) === undefined)
    return nothing(`repository ${store.repository} is not suspended`).result;
  await store.update((present) => {
    const { [SUSPENDED]: _, ...annotations } = present.annotations ?? {};
    return { ...present, annotations };
  });
  return { changed: true, message: `repository ${store.repository} resumed` };
}

/**
 * A suspension of a repository's earlier name becomes that of its new one, unless the new one has one of its own. First it is written,
 * then taken off: who ends in between goes on with the second.
 * @returns what has come over; undefined: nothing
 * @throws as {@link suspendRepository}
 */
export async function moveSuspension(from: InventoryStore, to: InventoryStore): Promise<Wish | undefined> {
  const inventory = await from.read();
  const suspension = readSuspended(inventory?.annotations);
  const value = inventory?.annotations?.[SUSPENDED];
  if (suspension === undefined || value === undefined || from.ownerElsewhere(inventory) !== undefined)
    return undefined;
  const moved = await to.update((present) =>
    readSuspended(present.annotations) === undefined
      ? { ...present, annotations: { ...present.annotations, [SUSPENDED]: value } }
      : undefined,
  );
  if (moved?.annotations?.[SUSPENDED] !== value) return undefined;
  await from.update((present) => {
    const { [SUSPENDED]: last, ...annotations } = present.annotations ?? {};
    return last === value ? { ...present, annotations } : undefined;
  });
  return suspension;
}

/** `; 56124dbb, which is under way, goes to its end`; empty where nothing is. */
export function describeGoingOn(commit: RepositoryStatus['commit'] | undefined): string {
  return commit?.outcome === 'Progressing'
    ? `; ${shortSha(commit.sha)}, which is under way, goes to its end`
    : '';
}

/** ` by ada: disk alarm`; what is not known is left out. */
export function describeSuspension({ by, reason }: Wish): string {
  return `${by === undefined ? '' : ` by ${by}`}${reason === undefined ? '' : `: ${reason}`}`;
}
