/** When an object that was changed in the cluster is put back: two owners that both insist must not fight for ever. Pure. */

/** How often in a row a change was put back, and when last (milliseconds since the epoch). */
export interface Healing {
  readonly count: number;
  readonly at: number;
}

const FIRST_MS = 10_000;
const LONGEST_MS = 10 * 60_000;
/** From this time on it is a fight, which is told. */
const FIGHT_COUNT = 3;

/** Milliseconds between the last time and the next: 10 s, doubled each time, at most ten minutes. */
function delayAfter(count: number): number {
  return Math.min(FIRST_MS * 2 ** (count - 1), LONGEST_MS);
}

/** Of one object, by the field manager whose changes were put back; the empty name is nobody known. */
export type Healings = ReadonlyMap<string, Healing>;

const UNKNOWN = [''];

/**
 * The earliest time at which changes of these managers may be put back (again); of those that never were, now. Who has not fought has
 * nothing to wait for, unless the change is also of one who has.
 */
export function healAllAt(past: Healings | undefined, by: readonly string[], now: number): number {
  return Math.max(...managers(by).map((manager) => healAt(past?.get(manager), now)));
}

/** After changes of these managers have been put back once more. What is over is forgotten. */
export function healedAll(past: Healings | undefined, by: readonly string[], now: number): Healings {
  const rest = [...(past ?? [])].filter(([, healing]) => !isOver(healing, now));
  return new Map([
    ...rest,
    ...managers(by).map((manager) => [manager, healed(past?.get(manager), now)] as const),
  ]);
}

/** Those of the managers who insist, and what was put back the most often; undefined: nobody does. */
export function fightOf(
  past: Healings | undefined,
  by: readonly string[],
  now: number,
): { readonly by: readonly string[]; readonly healing: Healing } | undefined {
  const found = managers(by).flatMap((manager) => {
    const healing = past?.get(manager);
    const isFight = healing !== undefined && healing.count >= FIGHT_COUNT && !isOver(healing, now);
    return isFight ? [{ manager, healing }] : [];
  });
  const [most] = found.toSorted((a, b) => b.healing.count - a.healing.count);
  if (most === undefined) return undefined;
  return { by: found.map(({ manager }) => manager).filter((name) => name !== ''), healing: most.healing };
}

/** Whether all of it is long ago. */
export function areOver(past: Healings, now: number): boolean {
  return [...past.values()].every((healing) => isOver(healing, now));
}

function managers(by: readonly string[]): readonly string[] {
  return by.length === 0 ? UNKNOWN : by;
}

/** The earliest time at which the object may be put back (again); of one that never was, now. */
function healAt(past: Healing | undefined, now: number): number {
  if (past === undefined || isOver(past, now)) return now;
  return Math.max(now, past.at + delayAfter(past.count));
}

/** After it has been put back once more. */
function healed(past: Healing | undefined, now: number): Healing {
  return { count: past === undefined || isOver(past, now) ? 1 : past.count + 1, at: now };
}

/** Long after the last time it is another matter: whoever changes it now gets an answer at once. */
function isOver(past: Healing, now: number): boolean {
  return now - past.at > 2 * delayAfter(past.count) + FIRST_MS;
}
