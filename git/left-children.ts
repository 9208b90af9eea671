/** What a workload leaves without an owner when it goes without its pods, as in a move to the other workload API that is not finished. */

import { isForbidden } from '../kubernetes/api-error.ts';
import type { ResourcePath } from '../kubernetes/client.ts';
import { revisionPath } from '../kubernetes/revision-store.ts';
import { shellWord } from '../kubernetes/shell-word.ts';
import { asRecord, trusted } from '../kubernetes/values.ts';
import { WORKLOAD_KINDS, hasReplicaSets } from '../kubernetes/workload-kinds.ts';
import { LABEL } from '../planners/names.ts';
import type { KubernetesObject, LabelSelector } from '../planners/objects.ts';
import { formatSelector, isEmptySelector } from '../planners/selector.ts';
import type { WorkloadKind } from '../planners/workload.ts';
import type { CommitContext } from './commit.ts';
import type { InventoryEntry } from './inventory-content.ts';
import { counterpartKey, entryKey, groupOf } from './inventory-content.ts';
import { isWorkload } from './prepare.ts';
import { withSignal } from './resources.ts';

const ADOPTED = 'put the manifest back into git, which takes them over';
const PUT_BACK = `${ADOPTED}, and take it out again once that commit is applied`;

/** An object that left the commit and is deleted, or was not there any more. */
export interface Departed {
  readonly label: string;
  readonly entry: InventoryEntry;
  /** As it was found, being deleted already; undefined: it was not there. */
  readonly live: KubernetesObject | undefined;
}

/** In sentences, what is left of workloads that were on their way to the other workload API. @throws ApiError when the apiserver cannot be asked */
export async function describeLeftovers(
  context: CommitContext,
  departed: readonly Departed[],
): Promise<string[]> {
  const notes: string[] = [];
  const told = new Set<string | undefined>();
  for (const { label, entry, live } of departed) {
    const left = live && (await describeLeft(context, entry, live));
    if (left === undefined) continue;
    notes.push(`${label} ${left}`);
    told.add(counterpartKey(entry));
  }
  for (const { label, entry, live } of departed) {
    if (live !== undefined || told.has(entryKey(entry))) continue;
    const left = await describeCutOff(context, entry);
    if (left !== undefined) notes.push(`${label} ${left}`);
  }
  return notes;
}

/**
 * What a workload leaves that was being deleted before it left the commit, as `leaves 3 pods without an owner`, and what to do about them;
 * undefined: nothing is left, or it is no workload. Another delete does not take them along: the garbage collector that has begun
 * to free them goes on.
 * @throws ApiError when the apiserver cannot be asked
 */
export async function describeLeft(
  context: CommitContext,
  entry: InventoryEntry,
  live: KubernetesObject,
): Promise<string | undefined> {
  const kind = workloadKind(entry);
  const { uid, deletionTimestamp, finalizers } = live.metadata;
  if (kind === undefined || deletionTimestamp === undefined) return undefined;
  const spec = asRecord(asRecord(live)['spec']);
  const selector = trusted<LabelSelector>(spec['selector'] ?? {});
  if (isEmptySelector(selector)) return undefined;
  const deletesClaims = asRecord(spec['persistentVolumeClaimRetentionPolicy'])['whenDeleted'] === 'Delete';
  const paths = childPaths(kind, entry, deletesClaims);
  const found = await childrenAt(context, paths, formatSelector(selector));
  if (typeof found === 'string') return `may leave pods without an owner: ${found}`;
  const isOrphaning = finalizers?.includes('orphan') === true;
  const left = found.filter(({ owners }) =>
    isOrphaning ? owners.every((owner) => owner === uid) : owners.length === 0,
  );
  if (left.length === 0) return undefined;
  const isShared = found.some(({ owners }) => owners.some((owner) => owner !== uid));
  const resources = [...new Set(left.map(({ resource }) => resource))];
  const command = `kubectl delete ${resources.join(',')}${placeOf(entry)} -l ${shellWord(formatSelector(selector))}`;
  const next = isShared ? PUT_BACK : `to delete them, ${command}; to keep them, ${ADOPTED}`;
  return `${isOrphaning ? 'may leave' : 'leaves'} ${count(left)} without an owner, as its deletion was begun without them (a move to the other workload API, or --cascade=orphan): ${next}`;
}

/**
 * The same of a workload that a commit was to make, and that is not there: its move from the other workload API was cut off when the old
 * object was gone. @throws ApiError when the apiserver cannot be asked
 */
async function describeCutOff(context: CommitContext, entry: InventoryEntry): Promise<string | undefined> {
  const kind = workloadKind(entry);
  if (kind === undefined || entry.uid !== undefined) return undefined;
  const { history } = WORKLOAD_KINDS[kind];
  const all = await childrenAt(context, [revisionPath(history, entry.namespace)]);
  if (typeof all === 'string') return undefined;
  const revisions = all.filter(
    ({ owners, hash, name }) => owners.length === 0 && name === `${entry.name}-${hash}`,
  );
  const [first, ...others] = revisions;
  if (first === undefined) return undefined;
  // Every template has the labels of the selector, so all of them have.
  const shared = Object.entries(first.labels).filter(([key, value]) =>
    others.every(({ labels }) => labels[key] === value),
  );
  const selector = formatSelector({ matchLabels: Object.fromEntries(shared) });
  const found = await childrenAt(context, childPaths(kind, entry, false), selector);
  const left = typeof found === 'string' ? revisions : found.filter(({ owners }) => owners.length === 0);
  return `was never made, and ${count(left)} of a workload of that name have no owner, as when its move from the other workload API is cut off: ${PUT_BACK}`;
}

function workloadKind({ apiVersion, kind }: InventoryEntry): WorkloadKind | undefined {
  return isWorkload({ group: groupOf(apiVersion), kind }) ? trusted<WorkloadKind>(kind) : undefined;
}

function placeOf({ namespace }: InventoryEntry): string {
  return namespace === undefined ? '' : ` -n ${namespace}`;
}

function childPaths(
  kind: WorkloadKind,
  { namespace }: InventoryEntry,
  withClaims: boolean,
): readonly ResourcePath[] {
  const definition = WORKLOAD_KINDS[kind];
  const core = (resource: string) => ({ group: '', version: 'v1', resource, namespace });
  const revisions = revisionPath(definition.history, namespace);
  // The pods of ReplicaSets go with them.
  if (hasReplicaSets(definition)) return [revisions];
  return [core('pods'), ...(withClaims ? [core('persistentvolumeclaims')] : []), revisions];
}

interface Child {
  readonly resource: string;
  readonly name: string;
  /** Uids. */
  readonly owners: readonly string[];
  /** Of its revision; empty where it has none. */
  readonly hash: string;
  /** Without those of the revision. */
  readonly labels: Readonly<Record<string, string>>;
}

/** What is not being deleted; as the worker, for the account needs no right to pods. A text: what may not be listed. @throws ApiError */
async function childrenAt(
  { worker, signal }: CommitContext,
  paths: readonly ResourcePath[],
  labelSelector?: string,
): Promise<readonly Child[] | string> {
  const options = { metadataOnly: true, ...(labelSelector !== undefined && { labelSelector }) };
  try {
    const lists = await Promise.all(
      paths.map(async (path) => {
        const { items } = await worker.list(path, { ...options, ...withSignal(signal) });
        return items
          .filter(({ metadata }) => metadata.deletionTimestamp === undefined)
          .map((item) => childOf(item, path.resource));
      }),
    );
    return lists.flat();
  } catch (error) {
    if (!isForbidden(error)) throw error;
    return error.message;
  }
}

function childOf({ metadata }: KubernetesObject, resource: string): Child {
  const { name, ownerReferences = [], labels: all = {} } = metadata;
  const {
    [LABEL.controllerHash]: ours,
    [LABEL.revisionHash]: theirs,
    [LABEL.podTemplateHash]: pods,
    ...labels
  } = all;
  const owners = ownerReferences.map(({ uid }) => uid);
  return { resource, name, owners, hash: ours ?? theirs ?? pods ?? '', labels };
}

/** `3 pods and 1 controllerrevision` */
function count(children: readonly Child[]): string {
  const numbers = new Map<string, number>();
  for (const { resource } of children) numbers.set(resource, (numbers.get(resource) ?? 0) + 1);
  const parts = [...numbers].map(
    ([resource, many]) => `${many} ${many === 1 ? resource.slice(0, -1) : resource}`,
  );
  return [parts.slice(0, -1).join(', '), ...parts.slice(-1)].filter((part) => part !== '').join(' and ');
}
