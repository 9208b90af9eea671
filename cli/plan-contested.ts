/** What several repositories of a file would make: the first that is applied gets it, the others are refused, and nothing tells which. */

import { entryKey } from '../git/inventory-content.ts';
import type { Claim, Wanted } from '../git/other-commits.ts';
import type { PreparedObject } from '../git/prepare.ts';
import { inventoryEntry, problemOf } from '../git/prepare.ts';
import type { Problem } from '../git/problems.ts';

/** Problems of those among the objects that are to be created which others would create too. `repository`: the name of the planned one. Pure. */
export function contestedProblems(
  repository: string,
  created: readonly PreparedObject[],
  { by }: Pick<Wanted, 'by'>,
): readonly Problem[] {
  return created.flatMap((object) => {
    const rivals = (by.get(entryKey(inventoryEntry(object))) ?? []).filter(isApplied);
    if (rivals.length === 0) return [];
    const names = rivals.map((rival) => rival.repository.name);
    const [who, first, rest] =
      names.length === 1
        ? [`repository ${names[0] ?? ''} creates`, 'the first of the two', 'the other is refused']
        : [`repositories ${names.join(', ')} create`, 'the first of them', 'the others are refused'];
    const message = `${who} this object too: ${first} that is applied gets it, and ${rest}.`;
    const others =
      names.length === 1
        ? `${repository} or ${names[0] ?? ''}`
        : `the others of ${[repository, ...names].join(', ')}`;
    const next = `Leave it to one: take it out of ${others}.`;
    return [{ ...problemOf(object, 'OwnedByOther', message), next }];
  });
}

/** A commit whose signature is not accepted creates nothing. */
function isApplied({ unsigned }: Claim): boolean {
  return unsigned === undefined;
}
