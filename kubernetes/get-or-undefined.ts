/** Reads that may find nothing. */

import type { KubernetesObject } from '../planners/objects.ts';
import { isNotFound } from './api-error.ts';
import type { KubernetesClient, ResourcePath } from './client.ts';

/** The object, or undefined where it is not there. @throws ApiError for everything else */
export async function getOrUndefined<T extends KubernetesObject = KubernetesObject>(
  client: KubernetesClient,
  path: ResourcePath,
  signal?: AbortSignal,
): Promise<T | undefined> {
  try {
    return await client.get<T>(path, signal === undefined ? {} : { signal });
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}
