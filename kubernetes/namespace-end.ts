/** Whether a namespace is on its way out: nothing can be created in it then. */

import { isForbidden, isNotFound } from './api-error.ts';
import type { KubernetesClient } from './client.ts';

/** `namespace shop is being deleted`; undefined where nothing tells that. @throws ApiError */
export async function whyNamespaceEnds(
  client: KubernetesClient,
  namespace: string,
  signal?: AbortSignal,
): Promise<string | undefined> {
  try {
    const path = { group: '', version: 'v1', resource: 'namespaces', name: namespace };
    const { metadata } = await client.get(path, signal === undefined ? {} : { signal });
    return metadata.deletionTimestamp === undefined ? undefined : `namespace ${namespace} is being deleted`;
  } catch (error) {
    if (isNotFound(error)) return `there is no namespace ${namespace} any more`;
    // Not everybody may read it.
    if (isForbidden(error)) return undefined;
    throw error;
  }
}
