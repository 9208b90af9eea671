/** Deletes what a commit no longer holds: from the inventory, one by one, only the very objects that were applied. */

import {
  isConflict,
  isForbidden,
  isNotFound,
  isRefusal,
  isUnreached,
  toMessage,
} from '../kubernetes/api-error.ts';
import type { ResourcePath } from '../kubernetes/client.ts';
import { parseApiVersion } from '../kubernetes/discovery.ts';
import { asRecord, trusted } from '../kubernetes/values.ts';
import { ANNOTATION } from '../planners/names.ts';
import type { KubernetesObject } from '../planners/objects.ts';
import { endUpdate, updateUnderWay } from './apply-controller.ts';
import type { UpdateUnderWay } from './apply-controller.ts';
import type { CommitContext } from './commit.ts';
import { PARALLEL, forEachLimited } from './commit.ts';
import { APPLYSET } from './inventory.ts';
import { counterpartKey, entryKey, groupOf } from './inventory-content.ts';
import type { InventoryEntry, PruneVerdict } from './inventory-content.ts';
import { describeLeftovers } from './left-children.ts';
import type { Departed } from './left-children.ts';
import { objectLabel } from './manifests.ts';
import { NotYetError, policyFor } from './refusals.ts';
import { compareObjects } from './order.ts';
import type { Problem } from './problems.ts';
import { bindingCommand, problem } from './problems.ts';
import type { PruneSetting } from './prune-containers.ts';
import { judgeWithContent } from './prune-containers.ts';
import { getOrUndefined } from '../kubernetes/get-or-undefined.ts';
import { objectPath, servedVersions, withSignal } from './resources.ts';
import { unreachedProblem } from './unreached.ts';
import { firstOf } from '../planners/first-of.ts';

export interface Pruned {
  /** Entries dealt with, from the front. */
  readonly count: number;
  /** Labels of what was deleted. */
  readonly deleted: readonly string[];
  /** Keys that leave the inventory: deleted, or not ours any more. */
  readonly forgotten: ReadonlySet<string>;
  /**
   * What is still there and why, in sentences: what may not be deleted without a confirmation, and stays in the inventory; what was
   * detached, or handed over; what nothing marks as ours any more; what was deleted and waits for a finalizer; what workloads leave that
   * were on their way to the other workload API. And what was deleted that
   * others name who may not have it, and of which repositories it is not known whether they wanted what was deleted.
   */
  readonly kept: readonly string[];
  /** The same of what is to be asked again once the rollouts of the commit are done. */
  readonly inUse: readonly string[];
  /** Names of the repositories that something was let go for: handed over, or to be made anew. */
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

/** What one attempt may do, and has to know. */
interface PruneAttempt {
  /** Milliseconds since the epoch after which no further entry is begun. @default never */
  readonly untilMs?: number;
  /**
   * An earlier attempt may have deleted some and been killed before it could answer, so what was applied and is gone counts as deleted.
   * @default false
   */
  readonly isRepeated?: boolean;
  /** What earlier attempts have let go: it is not found as it was any more, so only they could tell of it. */
  readonly told?: readonly string[];
  /** All that has been let go so far, for the attempts to come. */
  readonly onTold?: (told: readonly string[]) => void;
}

/**
 * Deletes the entries given, in order until all are done or the time is up, one at least; each with its uid and resourceVersion as
 * precondition. What may not be deleted is kept or becomes a problem, and stays in the inventory.
 * @throws ApiError when the apiserver cannot be asked (try again)
 */
export async function pruneObjects(
  context: CommitContext,
  entries: readonly InventoryEntry[],
  setting: PruneSetting,
  { untilMs = Infinity, isRepeated = false, told: before = [], onTold }: PruneAttempt = {},
): Promise<Pruned> {
  const deleted: string[] = [];
  const forgotten = new Set<string>();
  const told = [...before];
  const kept = [...before];
  const inUse: string[] = [];
  const heirs = new Set<string>();
  const problems: Problem[] = [];
  const leaving: Leaving[] = [];
  const departed: Departed[] = [];
  const tell = (note: string) => {
    // Where its write was not the last of it, the next attempt finds it once more.
    if (told.includes(note)) return;
    kept.push(note);
    told.push(note);
    onTold?.(told);
  };
  let count = 0;
  for (const entry of entries) {
    if (count > 0 && Date.now() >= untilMs) break;
    count += 1;
    context.signal?.throwIfAborted();
    const label = objectLabel({ ...entry, group: groupOf(entry.apiVersion) });
    try {
      const result = await pruneOne(context, entry, setting);
      const stays = result.verdict === 'keep' || (result.verdict === 'forget' && result.stays === true);
      const isInUse = result.verdict === 'keep' && result.isInUse === true;
      if (stays) (isInUse ? inUse : kept).push(`${label} was not pruned: ${result.why}`);
      if (result.verdict !== 'keep') forgotten.add(entryKey(entry));
      if (result.verdict === 'detach') tell(`${label} was detached, not deleted: ${result.why}`);
      if (result.to !== undefined) {
        tell(`${label} was handed over, not deleted: ${result.why}`);
        heirs.add(result.to);
      }
      if (result.verdict === 'delete' && result.refused !== undefined) {
        tell(`${label} was deleted, not handed over: ${result.refused}`);
        for (const maker of result.makers ?? []) heirs.add(maker);
      }
      // What is in the commit under the other workload API has left by its move, and takes over what is left.
      const isMoved = isReplaced(entry, setting.wanted);
      const isGone = result.verdict === 'gone' && isRepeated && entry.uid !== undefined && !isMoved;
      if (result.verdict === 'delete' || isGone) deleted.push(label);
      if (result.verdict === 'delete' && result.last !== undefined && finalizersOf(result.last).length > 0)
        leaving.push({ label, path: result.path, last: result.last });
      const live = result.verdict === 'delete' ? result.before : undefined;
      if ((live !== undefined || result.verdict === 'gone') && !isMoved)
        departed.push({ label, entry, live });
    } catch (error) {
      const found = whyNotPruned(error, entry, label);
      if (found === undefined) throw error;
      problems.push(found);
    }
  }
  kept.push(...(await describeLeaving(context, leaving)), ...(await describeLeftovers(context, departed)));
  if (deleted.length > 0) {
    const unread = (await context.others?.wanted())?.unread ?? [];
    if (unread.length > 0) kept.push(describeUnread(unread, 'deleted'));
  }
  return { count, deleted, forgotten, kept, inUse, heirs, problems };
}

/** A refusal that is about one object alone, the others go on; undefined: the apiserver could not be asked. */
function whyNotPruned(error: unknown, { namespace }: InventoryEntry, object: string): Problem | undefined {
  if (isUnreached(error)) {
    const message = `it left the commit but is not deleted or detached: ${error.message}.`;
    return unreachedProblem(error.unreached, message, { object });
  }
  if (isForbidden(error)) {
    const message = `it left the commit but may not be deleted or detached: ${toMessage(error)}.`;
    const next = `Grant the permission (${bindingCommand(namespace)}), or set \`prune: false\` for the repository.`;
    return problem('Forbidden', message, { object, next });
  }
  if (!isRefusal(error)) return undefined;
  // A policy, or a webhook that has answered: what it keeps it may let go later.
  const message = `it left the commit but is not deleted or detached: ${toMessage(error)}.`;
  const next = 'Have it let go by what refuses; the commit is tried again by itself.';
  return problem('Refused', message, { object, next, ...policyFor(toMessage(error)) });
}

/** What was deleted and had finalizers then. */
interface Leaving {
  readonly label: string;
  readonly path: ResourcePath;
  /** As the apiserver answered the delete. */
  readonly last: KubernetesObject;
}

/**
 * Most finalizers are taken off in a moment, so one more look tells what waits: whoever was to take them off may be gone as well, and
 * then it stays for ever. @throws ApiError
 */
async function describeLeaving(context: CommitContext, leaving: readonly Leaving[]): Promise<string[]> {
  const held = new Map<Leaving, readonly string[]>();
  await forEachLimited(
    leaving,
    PARALLEL,
    async (one) => {
      const live = await getOrUndefined(context.client, one.path, context.signal).catch((error: unknown) => {
        // The permission may have been pruned with it.
        if (isForbidden(error)) return one.last;
        throw error;
      });
      if (live?.metadata.uid === one.last.metadata.uid) held.set(one, finalizersOf(live));
    },
    context.signal,
  );
  return leaving.flatMap((one) => {
    const finalizers = held.get(one) ?? [];
    const named = firstOf(finalizers, MOST_NAMED);
    const word = finalizers.length === 1 ? 'finalizer' : 'finalizers';
    return finalizers.length === 0
      ? []
      : [`${one.label} is being deleted, and waits for its ${word} ${named}`];
  });
}

/** Those that keep an object that is being deleted; without the one by which our own delete leaves a workload's pods alone. */
function finalizersOf({ metadata }: KubernetesObject): readonly string[] {
  const { deletionTimestamp, finalizers = [] } = metadata;
  return deletionTimestamp === undefined ? [] : finalizers.filter((name) => name !== 'orphan');
}

/** Repositories that could not be asked whether they want what is deleted, or would create the same. */
export function describeUnread(unread: readonly string[], what: 'deleted' | 'created'): string {
  return `whether what is ${what} is wanted by another repository is not known of ${firstOf(unread, MOST_NAMED)}`;
}

const MOST_NAMED = 3;

/** The same workload is in the commit under the other workload API: its pods must outlive this object. */
function isReplaced(entry: InventoryEntry, wanted: ReadonlySet<string>): boolean {
  const other = counterpartKey(entry);
  return other !== undefined && wanted.has(other);
}

type Outcome =
  | { readonly verdict: 'gone'; readonly to?: undefined }
  | {
      readonly verdict: 'delete';
      readonly path: ResourcePath;
      /** What the apiserver answered, where that is an object. */
      readonly last?: KubernetesObject;
      /** As it was found, where somebody was deleting it already. */
      readonly before?: KubernetesObject;
      /** As of a {@link PruneVerdict}. */
      readonly refused?: string | undefined;
      readonly makers?: readonly string[] | undefined;
      readonly to?: undefined;
    }
  | {
      readonly verdict: 'forget' | 'keep' | 'detach' | 'handOver';
      readonly why: string;
      /** Who has it from now on. */
      readonly to?: string;
      /** As of a {@link PruneVerdict}. */
      readonly stays?: true;
      readonly isInUse?: true;
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
const GONE = { verdict: 'gone' } as const;

/** The rolling update that the entry is under; undefined: it is under none, or of a kind that has none. @throws ApiError */
async function updateOf(
  context: CommitContext,
  { apiVersion, kind, namespace = '', name }: InventoryEntry,
): Promise<UpdateUnderWay | undefined> {
  if (apiVersion !== 'v1' || kind !== 'ReplicationController') return undefined;
  return await updateUnderWay(context, { namespace, name });
}

/**
 * Its rename would bring it back, and without it there is nothing to hold the next controller's pods.
 * @throws NotYetError while the update has to end first; ApiError
 */
async function awaitUpdate(context: CommitContext, { namespace = '', name }: InventoryEntry): Promise<void> {
  const ending = await endUpdate(context, { namespace, name });
  if (ending === undefined) return;
  throw new NotYetError(
    `ReplicationController ${namespace}/${name} left the commit; its rolling update has to end first (${ending})`,
  );
}

/** As {@link getOrUndefined}; `unserved`: its version is not served any more, and another one may have the object. @throws ApiError */
async function getServed(
  { client, signal }: CommitContext,
  path: ResourcePath,
): Promise<KubernetesObject | 'unserved' | undefined> {
  try {
    return await client.get(path, withSignal(signal));
  } catch (error) {
    if (!isNotFound(error)) throw error;
    // Only of an object that is gone the answer names it.
    return error.details?.name === undefined ? 'unserved' : undefined;
  }
}

async function pruneOne(
  context: CommitContext,
  entry: InventoryEntry,
  setting: PruneSetting,
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
    for (let attempt = 1; ; attempt += 1) {
      const live = await getServed(context, path);
      if (live === 'unserved') break;
      const judged = live === undefined ? GONE : await judgeWithContent(context, entry, path, live, setting);
      if (judged.verdict === 'forget' || judged.verdict === 'keep') return judged;
      // It is there, or is on its way back, as whoever's update it is: another repository may have taken it since.
      const update = await updateOf(context, entry);
      const roller = update?.repository ?? context.repository.name;
      if (roller !== context.repository.name)
        return { verdict: 'forget', why: `repository ${roller} rolls it out now` };
      if (update !== undefined && (judged.verdict === 'gone' || judged.verdict === 'delete')) {
        await awaitUpdate(context, entry);
        // It has ended meanwhile, and what was read is of before.
        if (attempt < TRIES) continue;
        throw new NotYetError(
          `${entry.kind} ${entry.name} left the commit, and is rolled out again and again`,
        );
      }
      if (judged.verdict === 'gone') return judged;
      const { uid, resourceVersion } = judged;
      const before = live?.metadata.deletionTimestamp === undefined ? {} : { before: live };
      try {
        if (judged.verdict !== 'delete') {
          const marks = marksAfter(judged);
          await context.client.patch(path, 'merge', { metadata: { uid, resourceVersion, ...marks } });
          return judged;
        }
        const answer = await context.client.delete(path, {
          uid,
          resourceVersion,
          propagationPolicy: isReplaced(entry, setting.wanted) ? 'Orphan' : 'Background',
        });
        // Of one that is gone at once it is a Status.
        const isObject = asRecord(answer['metadata'])['uid'] === uid;
        const { refused, makers } = judged;
        const last = isObject ? { last: trusted<KubernetesObject>(answer) } : {};
        return { verdict: 'delete', path, refused, makers, ...last, ...before };
      } catch (error) {
        if (isNotFound(error))
          return judged.verdict === 'delete' ? { verdict: 'delete', path, ...before } : { verdict: 'gone' };
        if (!isConflict(error) || attempt === TRIES) throw error;
      }
    }
  }
  // The kind is not served any more: its objects went with their CustomResourceDefinition.
  return { verdict: 'forget', why: 'its kind is not served' };
}
