/** What a repository has in the cluster, as text in a ConfigMap, and the rules of what may be pruned. Pure. */

import { gunzipSync, gzipSync } from 'node:zlib';
import { ANNOTATION, GROUP } from '../planners/names.ts';
import type { KubernetesObject } from '../planners/objects.ts';

/** One object that the repository applied, or was about to apply. */
export interface InventoryEntry {
  readonly apiVersion: string;
  readonly kind: string;
  readonly namespace?: string | undefined;
  readonly name: string;
  /** Absent until the first apply has answered. */
  readonly uid?: string | undefined;
}

export type Entries = ReadonlyMap<string, InventoryEntry>;

/** The same object under two versions is one object. */
export function entryKey(entry: Pick<InventoryEntry, 'apiVersion' | 'kind' | 'namespace' | 'name'>): string {
  return `${groupOf(entry.apiVersion)}/${entry.kind}/${entry.namespace ?? ''}/${entry.name}`;
}

export function groupOf(apiVersion: string): string {
  const slash = apiVersion.indexOf('/');
  return slash < 0 ? '' : apiVersion.slice(0, slash);
}

/** Key of the same workload under the other workload API; undefined for what is of neither. */
export function counterpartKey(entry: InventoryEntry): string | undefined {
  const group = groupOf(entry.apiVersion);
  const other = group === 'apps' ? GROUP : group === GROUP ? 'apps' : undefined;
  return other === undefined ? undefined : entryKey({ ...entry, apiVersion: `${other}/any` });
}

/** One line an object, sorted, so that two states can be compared with `diff`. */
export function writeEntries(entries: Entries): string {
  return [...entries.values()]
    .map(
      (entry) =>
        `${entry.apiVersion} ${entry.kind} ${entry.namespace ?? '-'} ${entry.name} ${entry.uid ?? '-'}`,
    )
    .sort()
    .join('\n');
}

/** @throws Error naming the line: an inventory that cannot be read must not look empty */
export function readEntries(text: string): Map<string, InventoryEntry> {
  const entries = new Map<string, InventoryEntry>();
  for (const [index, line] of text.split('\n').entries()) {
    if (line.trim() === '') continue;
    const [apiVersion, kind, namespace, name, uid, ...rest] = line.split(' ');
    if (
      apiVersion === undefined ||
      kind === undefined ||
      namespace === undefined ||
      name === undefined ||
      uid === undefined ||
      rest.length > 0
    ) {
      throw new Error(`line ${index + 1} of the inventory cannot be read`);
    }
    const entry = {
      apiVersion,
      kind,
      name,
      ...(namespace === '-' ? {} : { namespace }),
      ...(uid === '-' ? {} : { uid }),
    };
    entries.set(entryKey(entry), entry);
  }
  return entries;
}

/** Characters of plain text in the ConfigMap; longer lists are compressed (an object of etcd has 1.5 MiB). */
const PLAIN_LIMIT = 200_000;

export function packEntries(entries: Entries): {
  readonly data: Readonly<Record<string, string>>;
  readonly binaryData: Readonly<Record<string, string>>;
} {
  const text = writeEntries(entries);
  if (text.length <= PLAIN_LIMIT) return { data: { objects: text }, binaryData: {} };
  return { data: {}, binaryData: { 'objects.gz': gzipSync(text).toString('base64') } };
}

/** @throws Error when the content is damaged */
export function unpackEntries(
  data: Readonly<Record<string, string>> | undefined,
  binaryData: Readonly<Record<string, string>> | undefined,
): Map<string, InventoryEntry> {
  const packed = binaryData?.['objects.gz'];
  if (packed !== undefined)
    return readEntries(
      gunzipSync(Buffer.from(packed, 'base64'), { maxOutputLength: 64 * 1024 * 1024 }).toString('utf8'),
    );
  return readEntries(data?.['objects'] ?? '');
}

/**
 * The inventory before the first write of a commit: what was there, and all that is about to be applied. A crash between
 * this and the last write then forgets nothing.
 */
export function widen(entries: Entries, wanted: readonly InventoryEntry[]): Map<string, InventoryEntry> {
  const result = new Map(entries);
  for (const entry of wanted) {
    const key = entryKey(entry);
    const before = result.get(key);
    result.set(key, before?.uid === undefined ? entry : { ...entry, uid: entry.uid ?? before.uid });
  }
  return result;
}

/**
 * What is in the inventory and not in the commit. A commit without objects gives nothing: pruning everything is never what
 * a vanished path or an emptied folder means.
 */
export function pruneCandidates(
  entries: Entries,
  wanted: readonly InventoryEntry[],
): readonly InventoryEntry[] {
  if (wanted.length === 0) return [];
  const keep = new Set(wanted.map((entry) => entryKey(entry)));
  return [...entries].filter(([key]) => !keep.has(key)).map(([, entry]) => entry);
}

/**
 * Which inventories, by the name of their repository, have the objects of this one, as after a rename: the very objects, applied since;
 * and what is in none of them.
 */
export function takenBy(
  entries: Entries,
  others: ReadonlyMap<string, Entries>,
): { readonly by: readonly string[]; readonly left: readonly InventoryEntry[] } {
  const takerOf = (key: string, uid: string | undefined) =>
    [...others].find(([, other]) => {
      const taken = other.get(key)?.uid;
      return taken !== undefined && (uid === undefined || uid === taken);
    })?.[0];
  const takers = [...entries].map(([key, entry]) => ({ entry, taker: takerOf(key, entry.uid) }));
  return {
    by: [...new Set(takers.flatMap(({ taker }) => taker ?? []))].toSorted(),
    left: takers.filter(({ taker }) => taker === undefined).map(({ entry }) => entry),
  };
}

export type PruneVerdict =
  | {
      readonly verdict: 'delete';
      readonly uid: string;
      readonly resourceVersion: string;
      /** Who names it and does not get it, in words. */
      readonly refused?: string;
      /** Repositories that are to make it anew, if they may. */
      readonly makers?: readonly string[];
    }
  /** It stays, without what marks it as ours. */
  | {
      readonly verdict: 'detach';
      readonly uid: string;
      readonly resourceVersion: string;
      readonly why: string;
    }
  /** As `detach`, for another repository that wants it. */
  | {
      readonly verdict: 'handOver';
      readonly uid: string;
      readonly resourceVersion: string;
      readonly to: string;
      /** Of the other workload API: its successor takes it over by this repository's name on it. */
      readonly isCounterpart: boolean;
      readonly why: string;
    }
  /**
   * Not in the cluster, or not ours any more: it leaves the inventory, without a word where somebody else answers for it. `to`: it has
   * been handed over. `stays`: nobody's, so it is reported.
   */
  | { readonly verdict: 'forget'; readonly why: string; readonly to?: string; readonly stays?: true }
  /** Stays in the inventory and is reported. `isInUse`: until the rollouts of the commit have come to their end. */
  | { readonly verdict: 'keep'; readonly why: string; readonly isInUse?: true };

/** Kinds whose deletion takes more with it than the object: only with {@link PRUNE_ANNOTATION} on the object. */
const CAREFUL = new Set([
  '/Namespace',
  '/PersistentVolumeClaim',
  '/PersistentVolume',
  'apiextensions.k8s.io/CustomResourceDefinition',
]);

/** `confirmed`: it may be deleted, whatever goes with it. */
export const PRUNE_ANNOTATION = 'fairlead.dev/prune';
/** `detach`: it is let go, not deleted. As cli-utils and other tools write it. */
export const DETACH_ANNOTATION = 'client.lifecycle.config.k8s.io/deletion';

/** Whether deleting an object of the kind asks for a confirmation: it may lose data. */
export function isCareful(group: string, kind: string): boolean {
  return CAREFUL.has(`${group}/${kind}`);
}

/** On the ConfigMap that is an inventory: the name of its repository. */
export const INVENTORY_LABEL = 'fairlead.dev/inventory';

/** The repository whose inventory the object is; undefined: it is none. */
export function inventoryOf(
  group: string,
  kind: string,
  { labels }: Pick<KubernetesObject['metadata'], 'labels'>,
): string | undefined {
  return group === '' && kind === 'ConfigMap' ? labels?.[INVENTORY_LABEL] : undefined;
}

/** Whether an object that left the commit may be deleted: only the very object that this repository applied. */
export function judgePrune(
  entry: InventoryEntry,
  live: KubernetesObject | undefined,
  repository: string,
): PruneVerdict {
  if (live === undefined) return { verdict: 'forget', why: 'it does not exist' };
  const { uid, resourceVersion, annotations, ownerReferences } = live.metadata;
  const inventory = inventoryOf(groupOf(entry.apiVersion), entry.kind, live.metadata);
  if (inventory !== undefined)
    return { verdict: 'forget', why: `it is the inventory of repository ${inventory}`, stays: true };
  const owner = annotations?.[ANNOTATION.repository];
  const controller = ownerReferences?.find((reference) => reference.controller === true);
  if (owner === undefined) {
    // An attempt that was killed has let go what is detached.
    if (controller !== undefined || annotations?.[DETACH_ANNOTATION] === 'detach')
      return { verdict: 'forget', why: 'it is not from git any more' };
    return {
      verdict: 'forget',
      why: `nothing on it says that git has applied it (annotation ${ANNOTATION.repository}): delete it by hand if nobody needs it`,
      stays: true,
    };
  }
  if (owner !== repository) return { verdict: 'forget', why: `repository ${owner} holds it now` };
  // The rename at the end of a rolling update makes a ReplicationController anew, with what git has written on it.
  const isRenamed = entry.apiVersion === 'v1' && entry.kind === 'ReplicationController';
  if (entry.uid !== undefined && entry.uid !== uid && !isRenamed)
    return { verdict: 'forget', why: 'it was deleted and made again by somebody else' };
  if (controller !== undefined)
    return { verdict: 'forget', why: `${controller.kind} ${controller.name} controls it` };
  if (annotations?.[DETACH_ANNOTATION] === 'detach')
    return { verdict: 'detach', uid, resourceVersion, why: `its annotation ${DETACH_ANNOTATION} says so` };
  const confirmed = annotations?.[PRUNE_ANNOTATION] === 'confirmed';
  if (isCareful(groupOf(entry.apiVersion), entry.kind) && !confirmed) {
    return {
      verdict: 'keep',
      why: `deleting a ${entry.kind} may lose data: annotate it with ${PRUNE_ANNOTATION}=confirmed, or delete it by hand`,
    };
  }
  return { verdict: 'delete', uid, resourceVersion };
}

/** Of an object that another repository wants and may have: it is kept for that one, whatever it is, unless it is not ours or is to be detached. */
export function judgeHandOver(
  judged: PruneVerdict,
  live: KubernetesObject,
  {
    to,
    isCounterpart,
    isSure,
    uid,
  }: Pick<Extract<PruneVerdict, { verdict: 'handOver' }>, 'to' | 'isCounterpart'> & {
    /** That it may have it. */
    readonly isSure: boolean;
    /** That was applied. */
    readonly uid: string | undefined;
  },
): PruneVerdict {
  const { metadata } = live;
  const owner = metadata.annotations?.[ANNOTATION.repository];
  const why = `repository ${to} wants it${isSure ? '' : ', and gets it if its account may have it'}`;
  // An earlier attempt has done it, or the other was quicker.
  if (judged.verdict === 'forget')
    return uid === metadata.uid && (owner === undefined || owner === to)
      ? { verdict: 'forget', why, to }
      : judged;
  if (judged.verdict !== 'delete' && judged.verdict !== 'keep') return judged;
  const { resourceVersion } = metadata;
  return { verdict: 'handOver', uid: metadata.uid, resourceVersion, to, isCounterpart, why };
}
