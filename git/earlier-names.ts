/** Under which name a repository was followed before it was given another one in the repositories file. Pure. */

import { z } from 'zod';

import { DNS_LABEL } from './repositories.ts';

/** What of a repositories entry tells that it is the same one under another name. */
export interface NamedEntry {
  readonly name: string;
  readonly url: string;
  readonly ref?: string | undefined;
  readonly path: string;
  /** Names that it had before, the last one first, from which not all has come over yet. */
  readonly earlierNames?: readonly string[] | undefined;
}

const name = z.string().regex(DNS_LABEL);
const NAMED = z.array(
  z.looseObject({
    name,
    url: z.string(),
    ref: z.string().optional(),
    path: z.string(),
    earlierNames: z.array(name).optional(),
  }),
);

/** The entries of a list that anybody may have written; none where it is no such list. */
export function readNamed(rows: unknown): readonly NamedEntry[] {
  return NAMED.safeParse(rows).data ?? [];
}

/**
 * The earlier names of what is followed now, the last one first. A name that is new goes on for one that has left, of the same url, ref
 * and path; where several could be meant, for none.
 */
export function earlierNames(
  before: readonly NamedEntry[],
  now: readonly NamedEntry[],
): ReadonlyMap<string, readonly string[]> {
  const isIn = (entries: readonly NamedEntry[]) => {
    const names = new Set(entries.map((entry) => entry.name));
    return (named: string) => names.has(named);
  };
  const [wasFollowed, isFollowed] = [isIn(before), isIn(now)];
  const left = before.filter((entry) => !isFollowed(entry.name));
  const added = now.filter((entry) => !wasFollowed(entry.name));
  const found = now.map((entry) => {
    const known = before.find((one) => one.name === entry.name);
    if (known !== undefined) return [entry.name, known.earlierNames ?? []] as const;
    const [last, ...others] = left.filter((one) => isSame(one, entry));
    const isClear = others.length === 0 && added.filter((one) => isSame(one, entry)).length === 1;
    const names = last === undefined || !isClear ? [] : [last.name, ...(last.earlierNames ?? [])];
    return [entry.name, names] as const;
  });
  return new Map(
    found
      .map(([named, names]) => [named, names.filter((one) => !isFollowed(one))] as const)
      .filter(([, names]) => names.length > 0),
  );
}

function isSame(one: NamedEntry, other: NamedEntry): boolean {
  return one.url === other.url && one.ref === other.ref && one.path === other.path;
}
