/** What is there of the objects of a commit, by a list for each kind and namespace: for most that is all that has to be known. */

import { isForbidden, isNotFound } from '../kubernetes/api-error.ts';
import { trusted } from '../kubernetes/values.ts';
import type { KubernetesObject } from '../planners/objects.ts';
import type { CommitContext } from './commit.ts';
import { decide } from './decision.ts';
import { APPLYSET } from './inventory.ts';
import type { PreparedObject } from './prepare.ts';
import { withSignal } from './resources.ts';

/** Objects of a kind and namespace from which on a list costs less than as many reads. */
const LIST_FROM = 20;

/**
 * Metadata of those that carry the label of the repository's set, as new as a read. One that is missing may exist all the same,
 * without the label, or where the account may not list. Nothing is listed for a commit that heals, which looks at each.
 * @throws ApiError
 */
export async function listMetadata(
  context: CommitContext,
  objects: readonly PreparedObject[],
): Promise<ReadonlyMap<PreparedObject, KubernetesObject>> {
  const { client, store, signal, heal } = context;
  if (heal !== undefined) return new Map();
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
  for (const members of collections.values()) {
    const [first] = members;
    if (first === undefined || members.length < LIST_FROM) continue;
    const listed = await client
      .list(
        { ...first.path, name: undefined },
        {
          labelSelector: `${APPLYSET.partOf}=${store.applySetId}`,
          metadataOnly: true,
          transform: withoutManagers,
          ...withSignal(signal),
        },
      )
      .catch((error: unknown) => {
        if (isForbidden(error) || isNotFound(error)) return { items: [] };
        throw error;
      });
    const byName = new Map(listed.items.map((item) => [item.metadata.name, item]));
    for (const member of members) {
      const item = byName.get(member.manifest.name);
      if (item !== undefined) found.set(member, item);
    }
  }
  return found;
}

/** Whether the manifest is applied already. Told by metadata alone; whether to heal also depends on what the object holds. */
export function isApplied(
  { repository, store, heal }: CommitContext,
  { manifest }: PreparedObject,
  listed: KubernetesObject | undefined,
): boolean {
  if (listed === undefined || heal !== undefined) return false;
  const decision = decide({
    manifest,
    live: listed,
    repository: repository.name,
    applySetId: store.applySetId,
  });
  return decision.do === 'nothing';
}

/** Most of the metadata of an applied object is who owns which field. */
function withoutManagers(object: KubernetesObject): KubernetesObject {
  const { managedFields: _, ...metadata } = trusted<
    KubernetesObject['metadata'] & { managedFields?: unknown }
  >(object.metadata);
  return { ...object, metadata };
}
