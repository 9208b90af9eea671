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
import {
  DETACH_ANNOTATION,
  PRUNE_ANNOTATION,
  counterpartKey,
  entryKey,
  groupOf,
  isCareful,
  judgeHandOver,
  judgePrune,
} from './inventory-content.ts';
import type { InventoryEntry, PruneVerdict } from './inventory-content.ts';
import { objectLabel } from './manifests.ts';
import { withSignal } from './resources.ts';

/** What is in a container, as the cluster has it. */
export interface Inhabitant extends Pick<KubernetesObject, 'metadata'> {
  readonly group: string;
  readonly kind: string;
}

type Hold = 'wanted' | 'other' | 'detached' | 'unconfirmed';

/**
 * Why an object must not go with its container; undefined: it may. What is being deleted goes anyway, and what a controller made goes
 * with its owner. `wanted` are the keys of the commit's objects, `others` those that other repositories want.
 */
export function holdOf(
  { group, kind, metadata }: Inhabitant,
  repository: string,
  wanted: ReadonlySet<string>,
  others: ReadonlyMap<string, string>,
): Hold | undefined {
  const { namespace, name, annotations, ownerReferences, deletionTimestamp } = metadata;
  if (deletionTimestamp !== undefined) return undefined;
  const key = entryKey({ apiVersion: `${group}/`, kind, namespace, name });
  if (wanted.has(key)) return 'wanted';
  if (ownerReferences?.some(({ controller }) => controller === true) === true) return undefined;
  const owner = annotations?.[ANNOTATION.repository];
  if ((owner !== undefined && owner !== repository) || others.has(key)) return 'other';
  if (annotations?.[DETACH_ANNOTATION] === 'detach') return 'detached';
  if (isCareful(group, kind) && annotations?.[PRUNE_ANNOTATION] !== 'confirmed') return 'unconfirmed';
  return undefined;
}

const REASONS: Readonly<Record<Hold, string>> = {
  wanted: 'in the commit',
  other: 'of another repository',
  detached: 'detached',
  unconfirmed: 'not confirmed',
};

const REMEDIES: Readonly<Record<Hold, string>> = {
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
  others: ReadonlyMap<string, string>,
): string | undefined {
  const held = inhabitants.flatMap((one) => {
    const hold = holdOf(one, repository, wanted, others);
    const { namespace, name } = one.metadata;
    return hold === undefined ? [] : [{ hold, label: objectLabel({ ...one, namespace, name }) }];
  });
  if (held.length === 0) {
    const [first] = unseen.toSorted();
    return first && `whether something in it has to stay is not known: ${first}`;
  }
  const named = held.map(({ hold, label }) => `${label} (${REASONS[hold]})`).toSorted();
  const more = named.length > MOST_NAMED ? ` and ${named.length - MOST_NAMED} more` : '';
  const remedies = Object.entries(REMEDIES).flatMap(([hold, text]) =>
    held.some((one) => one.hold === hold) ? [text] : [],
  );
  return `it would take ${named.slice(0, MOST_NAMED).join(', ')}${more} with it: ${remedies.join('; ')}. Or put the container back into git`;
}

/**
 * {@link judgePrune}, with who else wants it, and for what may be deleted and holds others a look at what is in it now. The same for a prune and for a plan:
 * what has left the commit as well and may be deleted makes no difference, whether it is gone yet or not.
 * @throws ApiError when the apiserver cannot be asked
 */
export async function judgeWithContent(
  context: CommitContext,
  entry: InventoryEntry,
  live: KubernetesObject | undefined,
  wanted: ReadonlySet<string>,
): Promise<PruneVerdict> {
  const { name } = context.repository;
  if (live === undefined) return judgePrune(entry, live, name);
  const others = (await context.others?.wanted())?.by ?? new Map<string, string>();
  const judged = judgeForOthers(judgePrune(entry, live, name), entry, live, { wanted, others });
  if (judged.verdict !== 'delete') return judged;
  // It takes nothing more with it than what goes already.
  if (live.metadata.deletionTimestamp !== undefined) return judged;
  const look = lookOf(context, entry, live);
  if (look === undefined) return judged;
  const { inhabitants, unseen } = await look;
  const why = whyContainerStays(inhabitants, unseen, name, wanted, others);
  return why === undefined ? judged : { verdict: 'keep', why };
}

function judgeForOthers(
  judged: PruneVerdict,
  entry: InventoryEntry,
  live: KubernetesObject,
  { wanted, others }: { readonly wanted: ReadonlySet<string>; readonly others: ReadonlyMap<string, string> },
): PruneVerdict {
  const { uid } = entry;
  const to = others.get(entryKey(entry));
  if (to !== undefined) return judgeHandOver(judged, live, { to, isCounterpart: false, uid });
  const other = counterpartKey(entry);
  // This commit goes before another repository's.
  const heir = other === undefined || wanted.has(other) ? undefined : others.get(other);
  return heir === undefined ? judged : judgeHandOver(judged, live, { to: heir, isCounterpart: true, uid });
}

interface Content {
  readonly inhabitants: readonly Inhabitant[];
  readonly unseen: readonly string[];
}

function lookOf(
  context: CommitContext,
  entry: InventoryEntry,
  live: KubernetesObject,
): Promise<Content> | undefined {
  switch (`${groupOf(entry.apiVersion)}/${entry.kind}`) {
    case '/Namespace':
      return contentOfNamespace(context, entry.name);
    case 'apiextensions.k8s.io/CustomResourceDefinition':
      return contentOfDefinition(context, live);
    default:
      return undefined;
  }
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
  const inhabitants: Inhabitant[] = [];
  const unseen: string[] = [];
  await forEachLimited(
    collections,
    PARALLEL,
    async ({ kind, path, isVital }) => {
      try {
        const items = await listOne(context, path);
        if (items === undefined && isVital) unseen.push(`${path.resource} may not be listed: grant \`list\``);
        for (const { metadata } of items ?? []) inhabitants.push({ group: path.group, kind, metadata });
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

/** Undefined: neither the repository's account nor the worker may list them. @throws ApiError */
async function listOne(
  { client, worker, signal }: CommitContext,
  path: ResourcePath,
): Promise<readonly KubernetesObject[] | undefined> {
  for (const asker of [client, worker]) {
    try {
      const { items } = await asker.list(path, {
        metadataOnly: true,
        transform: withoutManagers,
        ...withSignal(signal),
      });
      return items;
    } catch (error) {
      if (isNotFound(error)) return [];
      if (!isForbidden(error)) throw error;
    }
  }
  return undefined;
}

function withoutManagers({ metadata }: KubernetesObject): KubernetesObject {
  const { name, namespace, uid, resourceVersion, annotations, ownerReferences, deletionTimestamp } = metadata;
  return {
    metadata: {
      name,
      uid,
      resourceVersion,
      ...(namespace !== undefined && { namespace }),
      ...(annotations !== undefined && { annotations }),
      ...(ownerReferences !== undefined && { ownerReferences }),
      ...(deletionTimestamp !== undefined && { deletionTimestamp }),
    },
  };
}
