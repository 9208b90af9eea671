/** Whether what left a commit may be deleted: better known before the first write than after the last. */

import { mayDo } from './access-review.ts';
import type { CommitContext } from './commit.ts';
import { PARALLEL, forEachLimited } from './commit.ts';
import { groupOf } from './inventory-content.ts';
import type { InventoryEntry } from './inventory-content.ts';
import type { Problem } from './problems.ts';
import { problem } from './problems.ts';
import { findIfReached, withSignal } from './resources.ts';

/** One question for each kind and namespace. @throws ApiError */
export async function checkDeletes(
  context: CommitContext,
  candidates: readonly InventoryEntry[],
): Promise<Problem[]> {
  const problems: Problem[] = [];
  const asked = new Map<string, InventoryEntry>();
  for (const entry of candidates)
    asked.set(`${entry.apiVersion} ${entry.kind} ${entry.namespace ?? ''}`, entry);
  await forEachLimited([...asked.values()], PARALLEL, async (entry) => {
    const group = groupOf(entry.apiVersion);
    const { discovery, signal } = context;
    const served = await findIfReached(discovery, entry.apiVersion, entry.kind, withSignal(signal));
    if (served === undefined) return;
    const question = { verb: 'delete', group, resource: served.resource, namespace: entry.namespace };
    // Where it is not known the deletion itself tells: a commit that takes away what stands in between must get there.
    if ((await mayDo(context.client, question, context.signal)) !== false) return;
    const example = `${entry.namespace === undefined ? '' : `${entry.namespace}/`}${entry.name}`;
    problems.push(
      problem(
        'Forbidden',
        `the commit no longer holds ${example}, but ${context.repository.impersonate ?? 'the worker'} may not delete ${served.resource}.`,
        {
          object: `${entry.kind} ${example}`,
          next: 'Grant the permission to delete, or set `prune: false` for the repository.',
        },
      ),
    );
  });
  return problems;
}
