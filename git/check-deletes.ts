/** Whether what left a commit may be deleted: better known before the first write than after the last. */

import type { AccessQuestion } from './access-review.ts';
import { mayDo } from './access-review.ts';
import type { CommitContext } from './commit.ts';
import { PARALLEL, forEachLimited } from './commit.ts';
import { groupOf } from './inventory-content.ts';
import type { InventoryEntry } from './inventory-content.ts';
import type { Problem } from './problems.ts';
import { problem } from './problems.ts';
import { findIfReached, withSignal } from './resources.ts';

/** Rights may be of single objects (`resourceNames`); so many are asked for by name. */
const MOST_NAMED = 50;

/** One question for each kind and namespace; where not all may be deleted, one for each object. @throws ApiError */
export async function checkDeletes(
  context: CommitContext,
  candidates: readonly InventoryEntry[],
): Promise<Problem[]> {
  const problems: Problem[] = [];
  const asked = new Map<string, InventoryEntry[]>();
  for (const entry of candidates) {
    const key = `${entry.apiVersion} ${entry.kind} ${entry.namespace ?? ''}`;
    asked.set(key, [...(asked.get(key) ?? []), entry]);
  }
  await forEachLimited([...asked.values()], PARALLEL, async (entries) => {
    const [any] = entries;
    if (any === undefined) return;
    const group = groupOf(any.apiVersion);
    const { client, discovery, signal } = context;
    const served = await findIfReached(discovery, any.apiVersion, any.kind, withSignal(signal));
    if (served === undefined) return;
    const question = { verb: 'delete', group, resource: served.resource, namespace: any.namespace };
    // Where it is not known the deletion itself tells: a commit that takes away what stands in between must get there.
    if ((await mayDo(client, question, signal)) !== false) return;
    const entry = await firstRefused(context, question, entries.slice(0, MOST_NAMED));
    if (entry === undefined) return;
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

/** One is enough to refuse the commit. */
async function firstRefused(
  { client, signal }: CommitContext,
  question: AccessQuestion,
  entries: readonly InventoryEntry[],
): Promise<InventoryEntry | undefined> {
  for (const entry of entries)
    if ((await mayDo(client, { ...question, name: entry.name }, signal)) === false) return entry;
  return undefined;
}
