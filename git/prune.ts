/** Deletes what a commit no longer holds: from the inventory, one by one, only the very objects that were applied. */

import { isConflict, isForbidden, isNotFound, toMessage } from '../kubernetes/api-error.ts';
import { parseApiVersion } from '../kubernetes/discovery.ts';
import { ANNOTATION } from '../planners/names.ts';
import { isUpdating } from './apply-controller.ts';
import type { CommitContext } from './commit.ts';
import { APPLYSET } from './inventory.ts';
import { counterpartKey, entryKey, groupOf } from './inventory-content.ts';
import type { InventoryEntry, PruneVerdict } from './inventory-content.ts';
import { objectLabel } from './manifests.ts';
import { NotYetError } from './refusals.ts';
import { compareObjects } from './order.ts';
import type { Problem } from './problems.ts';
import { bindingCommand, problem } from './problems.ts';
import { judgeWithContent } from './prune-containers.ts';
import { getOrUndefined, objectPath, servedVersions, withSignal } from './resources.ts';

export interface Pruned {
  /** Labels of what was deleted. */
  readonly deleted: readonly string[];
  /** Keys that leave the inventory: deleted, or not ours any more. */
  readonly forgotten: ReadonlySet<string>;
  /**
   * What is still there and why, in sentences: what may not be deleted without a confirmation, and stays in the inventory; what was
   * detached, or handed over; and of which repositories it is not known whether they wanted what was deleted.
   */
  readonly kept: readonly string[];
  /** Names of the repositories to which something was handed over. */
  readonly heirs: ReadonlySet<string>;
  readonly problems: readonly Problem[];
}

/** Last applied, first pruned. */
export function pruneOrder(entries: readonly InventoryEntry[]): readonly InventoryEntry[] {
  return entries
    .map((entry) => ({
      entry,
      group: groupOf(entry.apiVersion),
      kind: entry.kind,
      namespace: entry.namespace,
      name: entry.name,
    }))
    .toSorted((a, b) => compareObjects(b, a))
    .map(({ entry }) => entry);
}

/**
 * Deletes the entries given, each with its uid and resourceVersion as precondition. What may not be deleted is kept or becomes
 * a problem, and stays in the inventory. `wanted` are the keys of the commit's objects. `isRepeated`: an earlier attempt may have
 * deleted some and been killed before it could answer, so what was applied and is gone counts as deleted.
 * @throws ApiError when the apiserver cannot be asked (try again)
 */
export async function pruneObjects(
  context: CommitContext,
  entries: readonly InventoryEntry[],
  wanted: ReadonlySet<string>,
  isRepeated = false,
): Promise<Pruned> {
  const deleted: string[] = [];
  const forgotten = new Set<string>();
  const kept: string[] = [];
  const heirs = new Set<string>();
  const problems: Problem[] = [];
  for (const entry of entries) {
    context.signal?.throwIfAborted();
    const label = objectLabel({ ...entry, group: groupOf(entry.apiVersion) });
    try {
      const result = await pruneOne(context, entry, wanted);
      if (result.verdict === 'keep') kept.push(`${label} was not pruned: ${result.why}`);
      else forgotten.add(entryKey(entry));
      if (result.verdict === 'detach') kept.push(`${label} was detached, not deleted: ${result.why}`);
      if (result.to !== undefined) {
        kept.push(`${label} was handed over, not deleted: ${result.why}`);
        heirs.add(result.to);
      }
      const isGone = result.verdict === 'gone' && isRepeated && entry.uid !== undefined;
      if (result.verdict === 'delete' || isGone) deleted.push(label);
    } catch (error) {
      if (!isForbidden(error)) throw error;
      problems.push(
        problem('Forbidden', `it left the commit but may not be deleted or detached: ${toMessage(error)}.`, {
          object: label,
          next: `Grant the permission (${bindingCommand(entry.namespace)}), or set \`prune: false\` for the repository.`,
        }),
      );
    }
  }
  if (deleted.length > 0) {
    const unread = (await context.others?.wanted())?.unread ?? [];
    if (unread.length > 0) kept.push(describeUnread(unread));
  }
  return { deleted, forgotten, kept, heirs, problems };
}

/** Repositories that could not be asked whether they want what is deleted. */
export function describeUnread(unread: readonly string[]): string {
  const more = unread.length > MOST_NAMED ? ` and ${unread.length - MOST_NAMED} more` : '';
  const named = unread.slice(0, MOST_NAMED).join(', ');
  return `whether what is deleted is wanted by another repository is not known of ${named}${more}`;
}

const MOST_NAMED = 3;

/** The same workload is in the commit under the other workload API: its pods must outlive this object. */
function isReplaced(entry: InventoryEntry, wanted: ReadonlySet<string>): boolean {
  const other = counterpartKey(entry);
  return other !== undefined && wanted.has(other);
}

type Outcome =
  | { readonly verdict: 'delete' | 'gone'; readonly to?: undefined }
  | {
      readonly verdict: 'forget' | 'keep' | 'detach' | 'handOver';
      readonly why: string;
      /** Who has it from now on. */
      readonly to?: string;
    };

/** What sync writes on every object. Null takes it away. */
const MARKS = {
  labels: { [APPLYSET.partOf]: null },
  annotations: {
    [ANNOTATION.repository]: null,
    [ANNOTATION.manifestHash]: null,
    [ANNOTATION.commit]: null,
  },
};

/** A workload that moves to the other API as well is taken over by the one that it names, pods and all. */
function marksAfter(judged: Extract<PruneVerdict, { verdict: 'detach' | 'handOver' }>): object {
  if (judged.verdict === 'detach' || !judged.isCounterpart) return MARKS;
  return { ...MARKS, annotations: { ...MARKS.annotations, [ANNOTATION.repository]: judged.to } };
}

const TRIES = 5;

/** Its rename would bring it back, and without it there is nothing to hold the next controller's pods. */
async function refuseDuringUpdate(context: CommitContext, entry: InventoryEntry): Promise<void> {
  const { apiVersion, kind, namespace = '', name } = entry;
  if (apiVersion !== 'v1' || kind !== 'ReplicationController') return;
  if (await isUpdating(context, { namespace, name })) {
    throw new NotYetError(
      `ReplicationController ${namespace}/${name} left the commit; its rolling update has to end first`,
    );
  }
}

async function pruneOne(
  context: CommitContext,
  entry: InventoryEntry,
  wanted: ReadonlySet<string>,
): Promise<Outcome> {
  const { group, version } = parseApiVersion(entry.apiVersion);
  const options = withSignal(context.signal);
  const versions = [version, ...(await servedVersions(context.discovery, group, options))];
  for (const candidate of new Set(versions)) {
    const apiVersion = group === '' ? candidate : `${group}/${candidate}`;
    const served = await context.discovery.find(apiVersion, entry.kind, options);
    if (served === undefined) continue;
    const path = objectPath(served, {
      group,
      version: candidate,
      namespace: entry.namespace,
      name: entry.name,
    });
    await refuseDuringUpdate(context, entry);
    for (let attempt = 1; ; attempt += 1) {
      const live = await getOrUndefined(context.client, path, context.signal);
      if (live === undefined) return { verdict: 'gone' };
      const judged = await judgeWithContent(context, entry, live, wanted);
      if (judged.verdict === 'forget' || judged.verdict === 'keep') return judged;
      const { uid, resourceVersion } = judged;
      try {
        if (judged.verdict !== 'delete') {
          const marks = marksAfter(judged);
          await context.client.patch(
            path,
            'merge',
            { metadata: { uid, resourceVersion, ...marks } },
            options,
          );
          return judged;
        }
        await context.client.delete(path, {
          uid,
          resourceVersion,
          propagationPolicy: isReplaced(entry, wanted) ? 'Orphan' : 'Background',
        });
        return { verdict: 'delete' };
      } catch (error) {
        if (isNotFound(error)) return { verdict: judged.verdict === 'delete' ? 'delete' : 'gone' };
        if (!isConflict(error) || attempt === TRIES) throw error;
      }
    }
  }
  // The kind is not served any more: its objects went with their CustomResourceDefinition.
  return { verdict: 'forget', why: 'its kind is not served' };
}
