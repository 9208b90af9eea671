/**
 * A Namespace takes all that is in it with it when it is deleted, and a CustomResourceDefinition all objects of its kind: what is to
 * outlive its commit keeps the container too.
 */

import { ApiError, isForbidden, isNotFound, toMessage } from '../kubernetes/api-error.ts';
import type { ResourcePath } from '../kubernetes/client.ts';
import { Discovery } from '../kubernetes/discovery.ts';
import { trusted } from '../kubernetes/values.ts';
import { ANNOTATION } from '../planners/names.ts';
import type { KubernetesObject } from '../planners/objects.ts';
import type { CommitContext } from './commit.ts';
import { PARALLEL, forEachLimited } from './commit.ts';
import type { Heirs } from './heirs.ts';
import { chooseHeir } from './heirs.ts';
import {
  DETACH_ANNOTATION,
  INVENTORY_LABEL,
  PRUNE_ANNOTATION,
  counterpartKey,
  entryKey,
  groupOf,
  inventoryOf,
  isCareful,
  judgeHandOver,
  judgePrune,
} from './inventory-content.ts';
import type { InventoryEntry, PruneVerdict } from './inventory-content.ts';
import { objectLabel } from './manifests.ts';
import type { Claim } from './other-commits.ts';
import { accountOf } from './own-rights.ts';
import { withSignal } from './resources.ts';

/** What is in a container, as the cluster has it. */
export interface Inhabitant extends Pick<KubernetesObject, 'metadata'> {
  readonly group: string;
  readonly kind: string;
  /** The repository's account may not list it: no name of it is told. */
  readonly isHidden?: boolean;
}

type Hold = 'inventory' | 'wanted' | 'other' | 'detached' | 'unconfirmed';

/**
 * Why an object must not go with its container; undefined: it may. What is being deleted goes anyway, and what a controller made goes
 * with its owner. `wanted` are the keys of the commit's objects, `others` those that other repositories want and may have.
 */
export function holdOf(
  { group, kind, metadata }: Inhabitant,
  repository: string,
  wanted: ReadonlySet<string>,
  others: ReadonlySet<string>,
): Hold | undefined {
  const { annotations, ownerReferences, deletionTimestamp } = metadata;
  if (deletionTimestamp !== undefined) return undefined;
  if (inventoryOf(group, kind, metadata) !== undefined) return 'inventory';
  const key = keyOf({ group, kind, metadata });
  if (wanted.has(key)) return 'wanted';
  if (ownerReferences?.some(({ controller }) => controller === true) === true) return undefined;
  const owner = annotations?.[ANNOTATION.repository];
  if ((owner !== undefined && owner !== repository) || others.has(key)) return 'other';
  if (annotations?.[DETACH_ANNOTATION] === 'detach') return 'detached';
  if (isCareful(group, kind) && annotations?.[PRUNE_ANNOTATION] !== 'confirmed') return 'unconfirmed';
  return undefined;
}

function keyOf({ group, kind, metadata: { namespace, name } }: Inhabitant): string {
  return entryKey({ apiVersion: `${group}/`, kind, namespace, name });
}

const REASONS: Readonly<Record<Hold, string>> = {
  inventory: 'an inventory of Fairlead',
  wanted: 'in the commit',
  other: 'of another repository',
  detached: 'detached',
  unconfirmed: 'not confirmed',
};

const REMEDIES: Readonly<Record<Hold, string>> = {
  inventory: 'delete an inventory by hand if nobody follows its repository any more',
  wanted: 'take what is in the commit out of it too',
  other: 'take what is of another repository out of that one',
  detached: `move what is detached, delete it by hand, or take its annotation ${DETACH_ANNOTATION} off`,
  unconfirmed: `move what is not confirmed, delete it by hand, or annotate it with ${PRUNE_ANNOTATION}=confirmed too`,
};

/** Objects that a note names. */
const MOST_NAMED = 5;

/**
 * Why a container stays, and what to do; undefined: nothing in it holds it. `unseen` is what could not be looked at, in words: who
 * cannot see whether something would be lost does not delete. The same, whatever the order.
 */
export function whyContainerStays(
  inhabitants: readonly Inhabitant[],
  unseen: readonly string[],
  repository: string,
  wanted: ReadonlySet<string>,
  others: ReadonlySet<string>,
): string | undefined {
  const held = inhabitants.flatMap((one) => {
    const hold = holdOf(one, repository, wanted, others);
    const { namespace, name } = one.metadata;
    const label = one.isHidden === true ? undefined : objectLabel({ ...one, namespace, name });
    return hold === undefined ? [] : [{ hold, label }];
  });
  if (held.length === 0) {
    const [first] = unseen.toSorted();
    return first && `whether something in it has to stay is not known: ${first}`;
  }
  const named = held
    .flatMap(({ hold, label }) => (label === undefined ? [] : [`${label} (${REASONS[hold]})`]))
    .toSorted();
  const more = named.length > MOST_NAMED ? [`${named.length - MOST_NAMED} more`] : [];
  const hidden = Object.entries(REASONS).flatMap(([hold, reason]) => {
    const { length } = held.filter((one) => one.hold === hold && one.label === undefined);
    const what = length === 1 ? 'one object' : `${length} objects`;
    return length === 0 ? [] : [`${what} that its account may not list (${reason})`];
  });
  const most = [named.slice(0, MOST_NAMED).join(', '), ...more, ...hidden]
    .filter((part) => part !== '')
    .join(' and ');
  const remedies = Object.entries(REMEDIES).flatMap(([hold, text]) =>
    held.some((one) => one.hold === hold) ? [text] : [],
  );
  return `it would take ${most} with it: ${remedies.join('; ')}. Or put the container back into git`;
}

/** How an object that left the commit is judged, beside itself. */
export interface PruneSetting {
  /** Keys of the commit's objects. */
  readonly wanted: ReadonlySet<string>;
  /** As of {@link HeirSetting}. */
  readonly rightsLeave?: boolean;
  /** Why something of the commit needs it still. Absent: that is not asked, as by a plan, which tells how it will end. */
  readonly whyNeeded?: (entry: InventoryEntry) => Promise<string | undefined>;
}

/**
 * {@link judgePrune}, with who else wants it and may have it, and for what may be deleted and holds others a look at what is in it now.
 * The same for a prune and for a plan: what has left the commit as well and may be deleted makes no difference, whether it is gone yet or
 * not.
 * @throws ApiError when the apiserver cannot be asked
 */
export async function judgeWithContent(
  context: CommitContext,
  entry: InventoryEntry,
  path: ResourcePath,
  live: KubernetesObject | undefined,
  setting: PruneSetting,
): Promise<PruneVerdict> {
  const { name } = context.repository;
  const own = judgePrune(entry, live, name);
  if (live === undefined) return own;
  const claims = (await context.others?.wanted())?.by ?? new Map<string, readonly Claim[]>();
  const judged = await judgeForOthers(context, own, { entry, path, live, claims }, setting);
  if (judged.verdict !== 'delete') return judged;
  // It takes nothing more with it than what goes already.
  if (live.metadata.deletionTimestamp !== undefined) return judged;
  const use = await setting.whyNeeded?.(entry);
  if (use !== undefined) return { verdict: 'keep', why: use, isInUse: true };
  const needed = isNamespace(entry) ? whyNamespaceIsNeeded(context, entry.name) : undefined;
  if (needed !== undefined) return { verdict: 'keep', why: needed };
  const look = lookOf(context, entry, live);
  if (look === undefined) return judged;
  const { inhabitants, unseen } = await look;
  const others = await claimedOf(context, inhabitants, claims);
  const why = whyContainerStays(inhabitants, unseen, name, setting.wanted, others);
  return why === undefined ? judged : { verdict: 'keep', why };
}

function isNamespace({ apiVersion, kind }: InventoryEntry): boolean {
  return groupOf(apiVersion) === '' && kind === 'Namespace';
}

/** What Fairlead itself would lose with a namespace, known without a look into it; undefined: nothing. */
function whyNamespaceIsNeeded(
  { repository, store, accounts }: CommitContext,
  namespace: string,
): string | undefined {
  const putBack = 'put the Namespace back into git';
  if (namespace === store.namespace)
    return `it would take what Fairlead works by with it, its Lease and the inventories of all repositories: ${putBack}, or let it go with the annotation ${DETACH_ANNOTATION}=detach`;
  const all = new Map([[repository.name, accountOf(repository)], ...(accounts ?? [])]);
  const [lost] = [...all]
    .flatMap(([name, account]) =>
      account.startsWith(`${namespace}/`)
        ? [`ServiceAccount ${account} with it, as which the commits of repository ${name} are applied`]
        : [],
    )
    .toSorted();
  return lost && `it would take ${lost}: set another \`serviceAccount\` in its entry, or ${putBack}`;
}

async function judgeForOthers(
  context: CommitContext,
  judged: PruneVerdict,
  {
    entry,
    path,
    live,
    claims,
  }: {
    readonly entry: InventoryEntry;
    readonly path: ResourcePath;
    readonly live: KubernetesObject;
    readonly claims: ReadonlyMap<string, readonly Claim[]>;
  },
  { wanted, rightsLeave = false }: PruneSetting,
): Promise<PruneVerdict> {
  const other = counterpartKey(entry);
  // This commit goes before another repository's.
  const moved = other === undefined || wanted.has(other) ? undefined : claims.get(other);
  const { group, resource, namespace } = path;
  const object = { group, resource, namespace, name: entry.name };
  const unheard: Heirs[] = [];
  for (const [isCounterpart, wanting] of [
    [false, claims.get(entryKey(entry))],
    [true, moved],
  ] as const) {
    if (wanting === undefined) continue;
    const heirs = await chooseHeir(context, object, wanting, { isCounterpart, rightsLeave });
    unheard.push(heirs);
    if (heirs.heir === undefined) continue;
    const { repository, account } = heirs.heir;
    const isSure = account !== undefined || repository.impersonate === undefined;
    return judgeHandOver(judged, live, { to: repository.name, isCounterpart, isSure, uid: entry.uid });
  }
  if (judged.verdict !== 'delete' || unheard.length === 0) return judged;
  const undecided = unheard.find((one) => one.undecided !== undefined)?.undecided;
  if (undecided !== undefined) return { verdict: 'keep', why: undecided };
  const refused = unheard.flatMap((one) => one.refused).join('; ');
  return { ...judged, refused, makers: unheard.flatMap((one) => one.makers) };
}

/** Keys of those that other repositories want and may have, or of which that is not known. @throws ApiError */
async function claimedOf(
  context: CommitContext,
  inhabitants: readonly Resident[],
  claims: ReadonlyMap<string, readonly Claim[]>,
): Promise<ReadonlySet<string>> {
  const claimed = new Set<string>();
  await forEachLimited(
    inhabitants,
    PARALLEL,
    async (one) => {
      const wanting = claims.get(keyOf(one));
      if (wanting === undefined) return;
      const { group, resource, metadata } = one;
      const { namespace, name } = metadata;
      const { heir, undecided } = await chooseHeir(context, { group, resource, namespace, name }, wanting);
      if (heir !== undefined || undecided !== undefined) claimed.add(keyOf(one));
    },
    context.signal,
  );
  return claimed;
}

/** With what it is asked for by. */
interface Resident extends Inhabitant {
  readonly resource: string;
}

interface Content {
  readonly inhabitants: readonly Resident[];
  readonly unseen: readonly string[];
}

function lookOf(
  context: CommitContext,
  entry: InventoryEntry,
  live: KubernetesObject,
): Promise<Content> | undefined {
  if (isNamespace(entry)) return contentOfNamespace(context, entry.name);
  const isDefinition =
    groupOf(entry.apiVersion) === 'apiextensions.k8s.io' && entry.kind === 'CustomResourceDefinition';
  return isDefinition ? contentOfDefinition(context, live) : undefined;
}

/** A kind, and the path of its objects. */
interface Collection {
  readonly kind: string;
  readonly path: ResourcePath;
  /** Not to be allowed to list it is no answer. */
  readonly isVital: boolean;
}

async function contentOfNamespace(context: CommitContext, namespace: string): Promise<Content> {
  // A kind that came after the others were read must not be missed.
  const discovery = new Discovery(context.worker);
  const options = withSignal(context.signal);
  const collections = new Map<string, Collection>();
  const unseen: string[] = [];
  for (const apiVersion of await discovery.groupVersions(options)) {
    try {
      for (const served of await discovery.resources(apiVersion, options)) {
        const { group, version, kind, resource, namespaced, verbs } = served;
        const key = `${group}/${kind}`;
        // Served in several versions it is the same objects. Events are no one's to keep.
        if (!namespaced || !verbs.includes('list') || kind === 'Event' || collections.has(key)) continue;
        const isVital = isCareful(group, kind);
        collections.set(key, { kind, path: { group, version, resource, namespace }, isVital });
      }
    } catch (error) {
      context.signal?.throwIfAborted();
      // A server behind the apiserver that is away: the others are asked all the same.
      if (!(error instanceof ApiError)) throw error;
      unseen.push(`${apiVersion} is not available now (${toMessage(error)})`);
    }
  }
  const content = await listAll(context, [...collections.values()]);
  return { inhabitants: content.inhabitants, unseen: [...unseen, ...content.unseen] };
}

async function contentOfDefinition(context: CommitContext, live: KubernetesObject): Promise<Content> {
  const { spec } = trusted<{
    readonly spec: {
      readonly group: string;
      readonly names: { readonly plural: string; readonly kind: string };
      readonly versions: readonly { readonly name: string; readonly served: boolean }[];
    };
  }>(live);
  const version = spec.versions.find(({ served }) => served)?.name;
  if (version === undefined) return { inhabitants: [], unseen: ['none of its versions is served'] };
  const path = { group: spec.group, version, resource: spec.names.plural };
  return await listAll(context, [{ kind: spec.names.kind, path, isVital: true }]);
}

async function listAll(context: CommitContext, collections: readonly Collection[]): Promise<Content> {
  const inhabitants: Resident[] = [];
  const unseen: string[] = [];
  await forEachLimited(
    collections,
    PARALLEL,
    async ({ kind, path, isVital }) => {
      try {
        const { group, resource } = path;
        const listed = await listOne(context, path);
        if (listed === undefined && isVital) unseen.push(`${resource} may not be listed: grant \`list\``);
        for (const { metadata } of listed?.items ?? [])
          inhabitants.push({ group, kind, resource, metadata, ...(listed?.isHidden && { isHidden: true }) });
      } catch (error) {
        context.signal?.throwIfAborted();
        if (isVital || !(error instanceof ApiError)) throw error;
        unseen.push(`${path.resource} cannot be listed now (${toMessage(error)})`);
      }
    },
    context.signal,
  );
  return { inhabitants, unseen };
}

/** `isHidden`: from the repository's account. */
interface Listed {
  readonly items: readonly KubernetesObject[];
  readonly isHidden: boolean;
}

/** Undefined: neither the repository's account nor the worker may list them. @throws ApiError */
async function listOne(
  { client, worker, signal }: CommitContext,
  path: ResourcePath,
): Promise<Listed | undefined> {
  for (const asker of [client, worker]) {
    try {
      const { items } = await asker.list(path, {
        metadataOnly: true,
        transform: withoutManagers,
        ...withSignal(signal),
      });
      return { items, isHidden: asker !== client };
    } catch (error) {
      if (isNotFound(error)) return { items: [], isHidden: false };
      if (!isForbidden(error)) throw error;
    }
  }
  return undefined;
}

function withoutManagers({ metadata }: KubernetesObject): KubernetesObject {
  const { name, namespace, uid, resourceVersion, labels, annotations, ownerReferences, deletionTimestamp } =
    metadata;
  const inventory = labels?.[INVENTORY_LABEL];
  return {
    metadata: {
      name,
      uid,
      resourceVersion,
      ...(namespace !== undefined && { namespace }),
      ...(inventory !== undefined && { labels: { [INVENTORY_LABEL]: inventory } }),
      ...(annotations !== undefined && { annotations }),
      ...(ownerReferences !== undefined && { ownerReferences }),
      ...(deletionTimestamp !== undefined && { deletionTimestamp }),
    },
  };
}
