/** Fields of others that cannot be beside a manifest's own become ours, so that the apply of the manifest takes them out. */

import type { KubernetesClient } from '../kubernetes/client.ts';
import { handedOver } from '../kubernetes/managed-fields.ts';
import { FIELD_MANAGER } from '../planners/names.ts';
import type { KubernetesObject } from '../planners/objects.ts';
import type { Foreign } from './collisions.ts';
import type { PreparedObject } from './prepare.ts';

/**
 * Makes fields ours without changing them: the next apply takes away, in one write, what it does not name. (To remove them first could
 * be refused itself: a Service has at least one port.)
 * @throws ApiError Conflict when the object has changed since it was read
 */
export async function takeOverFields(
  client: KubernetesClient,
  { path, manifest }: PreparedObject,
  live: KubernetesObject,
  foreign: readonly Foreign[],
): Promise<void> {
  const paths = foreign.map((one) => one.path);
  const managedFields = handedOver(live, FIELD_MANAGER, manifest.apiVersion, paths);
  const { uid, resourceVersion } = live.metadata;
  await client.patch(path, 'merge', { metadata: { uid, resourceVersion, managedFields } });
}
