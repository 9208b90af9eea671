/** What is there of the objects of a commit, by a list for each kind and namespace: for most that is all that has to be known. */

import { isForbidden, isNotFound, isUnreached, toMessage } from '../kubernetes/api-error.ts';
import { startDeadline } from '../kubernetes/deadline.ts';
import { appliedFields, isAsApplied } from '../kubernetes/managed-fields.ts';
import { trusted } from '../kubernetes/values.ts';
import { ANNOTATION, FIELD_MANAGER } from '../planners/names.ts';
import type { KubernetesObject } from '../planners/objects.ts';
import type { CommitContext } from './commit.ts';
import { PARALLEL, forEachLimited } from './commit.ts';
import { decide } from './decision.ts';
import { APPLYSET } from './inventory.ts';
import type { PreparedObject } from './prepare.ts';
import { applyBody, isController, namedFields } from './prepare.ts';

/** Objects of a kind and namespace from which on a list costs less than as many reads. */
const LIST_FROM = 20;

/**
 * Metadata of those that carry the label of the repository's set, as new as a read. One that is missing may exist all the same,
 * without the label, where the account may not list, or where the list was not there within `limitMs` milliseconds. Nothing is listed
 * for a commit that heals, which looks at each.
 * @throws ApiError
 */
export async function listMetadata(
  context: CommitContext,
  objects: readonly PreparedObject[],
  limitMs = Infinity,
): Promise<ReadonlyMap<PreparedObject, KubernetesObject>> {
  if (context.heal !== undefined) return new Map();
  return await listMembers(context, objects, { metadataOnly: true, limitMs }, (_, item) =>
    withoutManagers(item),
  );
}

/**
 * Those of which a dry run would tell that applying them again changes nothing: the manifest is applied, and what it names is as it
 * was left. One that is missing may be unchanged all the same, see {@link isAsApplied}.
 * @throws ApiError
 */
export async function listUnchanged(
  context: CommitContext,
  objects: readonly PreparedObject[],
): Promise<ReadonlySet<PreparedObject>> {
  const unchanged = new Set<PreparedObject>();
  await listMembers(context, objects, { metadataOnly: false, limitMs: Infinity }, (object, item) => {
    // A list that is read again starts anew.
    if (isApplied(context, object, item) && isAsLeft(context, object, item)) unchanged.add(object);
    else unchanged.delete(object);
    const { name, uid, resourceVersion } = item.metadata;
    return { metadata: { name, uid, resourceVersion } };
  });
  return unchanged;
}

/** By object, what `keep` leaves of it as its page arrives. Small collections are not listed. @throws ApiError */
async function listMembers(
  { client, store, signal }: CommitContext,
  objects: readonly PreparedObject[],
  { metadataOnly, limitMs }: { readonly metadataOnly: boolean; readonly limitMs: number },
  keep: (object: PreparedObject, item: KubernetesObject) => KubernetesObject,
): Promise<ReadonlyMap<PreparedObject, KubernetesObject>> {
  const collections = new Map<string, PreparedObject[]>();
  for (const object of objects) {
    if (object.deferred) continue;
    const { group, version, resource, namespace = '' } = object.path;
    const key = [group, version, resource, namespace].join('/');
    const members = collections.get(key);
    if (members === undefined) collections.set(key, [object]);
    else members.push(object);
  }
  const found = new Map<PreparedObject, KubernetesObject>();
  const deadline = startDeadline(limitMs, signal);
  const isLate = () => deadline.signal.aborted && signal?.aborted !== true;
  const list = async (members: readonly PreparedObject[]): Promise<void> => {
    const [first] = members;
    if (first === undefined || members.length < LIST_FROM || isLate()) return;
    const byName = new Map(members.map((member) => [member.manifest.name, member]));
    const listed = await client
      .list(
        { ...first.path, name: undefined },
        {
          labelSelector: `${APPLYSET.partOf}=${store.applySetId}`,
          metadataOnly,
          transform: (item) => {
            const member = byName.get(item.metadata.name);
            return member === undefined ? withoutManagers(item) : keep(member, item);
          },
          signal: deadline.signal,
        },
      )
      .catch((error: unknown) => {
        if (isLate() || isForbidden(error) || isNotFound(error) || isUnlisted(error)) return { items: [] };
        throw error;
      });
    for (const item of listed.items) {
      const member = byName.get(item.metadata.name);
      if (member !== undefined) found.set(member, item);
    }
  };
  try {
    await forEachLimited([...collections.values()], PARALLEL, list, signal);
  } finally {
    deadline.clear();
  }
  return found;
}

/** What is listed cannot be reached, or is not read in yet (of a kind whose conversion fails it never is): each read tells for itself. */
function isUnlisted(error: unknown): boolean {
  return isUnreached(error) || /storage is \(re\)initializing/.test(toMessage(error));
}

/** Whether the manifest is applied already. Told by metadata alone; whether to heal also depends on what the object holds. */
export function isApplied(
  { repository, store, heal }: CommitContext,
  { manifest }: PreparedObject,
  listed: KubernetesObject | undefined,
): boolean {
  // Whether an update rolls out another manifest a ReplicationController does not tell.
  if (listed === undefined || heal !== undefined || isController(manifest)) return false;
  const decision = decide({
    manifest,
    live: listed,
    repository: repository.name,
    applySetId: store.applySetId,
  });
  return decision.do === 'nothing';
}

/** Of a ReplicationController not all is applied by the manifest's own apply. */
function isAsLeft(
  { repository, sha, store }: CommitContext,
  object: PreparedObject,
  live: KubernetesObject,
): boolean {
  if (isController(object.manifest)) return false;
  const { annotations } = live.metadata;
  // It names the commit that changed the manifest last.
  const origin = {
    repository: repository.name,
    sha: annotations?.[ANNOTATION.commit] ?? sha,
    applySetId: store.applySetId,
  };
  return isAsApplied(namedFields(applyBody(object, origin)), live, appliedFields(live, FIELD_MANAGER));
}

/** Most of the metadata of an applied object is who owns which field. */
function withoutManagers(object: KubernetesObject): KubernetesObject {
  const { managedFields: _, ...metadata } = trusted<
    KubernetesObject['metadata'] & { managedFields?: unknown }
  >(object.metadata);
  return { ...object, metadata };
}
