/** Fields of others that cannot be beside a manifest's own, or that git drops, become ours: the apply of the manifest takes them out. */

import type { KubernetesClient } from '../kubernetes/client.ts';
import type { OwnedPath } from '../kubernetes/managed-fields.ts';
import { handedOver } from '../kubernetes/managed-fields.ts';
import { FIELD_MANAGER } from '../planners/names.ts';
import type { KubernetesObject } from '../planners/objects.ts';
import type { PreparedObject } from './prepare.ts';

/**
 * Makes fields ours without changing them: the next apply takes away, in one write, what it does not name. (To remove them first could
 * be refused itself: a Service has at least one port.)
 * @returns the object, which is as before but for that
 * @throws ApiError Conflict when the object has changed since it was read
 */
export async function takeOverFields(
  client: KubernetesClient,
  { path, manifest }: PreparedObject,
  live: KubernetesObject,
  fields: readonly { readonly path: OwnedPath }[],
): Promise<KubernetesObject> {
  const paths = fields.map(({ path: place }) => place);
  const managedFields = handedOver(live, FIELD_MANAGER, manifest.apiVersion, paths);
  const { uid, resourceVersion } = live.metadata;
  return await client.patch(path, 'merge', { metadata: { uid, resourceVersion, managedFields } });
}
