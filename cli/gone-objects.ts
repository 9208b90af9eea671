/** Whether what an inventory names is gone from the cluster. */

import type { InventoryEntry } from '../git/inventory-content.ts';
import { objectPath } from '../git/resources.ts';
import { ApiError, isNotFound } from '../kubernetes/api-error.ts';
import type { KubernetesClient } from '../kubernetes/client.ts';
import { Discovery, parseApiVersion } from '../kubernetes/discovery.ts';
import { REQUEST_TIMEOUT_MS } from './session.ts';

/** Of more it is not asked: a request each. */
const MOST_ASKED = 50;

/**
 * Whether none of them is there any more; one of another uid is another object. False too where that cannot be told: there are too many,
 * or the caller may not read them.
 */
export async function areGone(
  client: KubernetesClient,
  entries: readonly InventoryEntry[],
): Promise<boolean> {
  if (entries.length > MOST_ASKED) return false;
  const discovery = new Discovery(client);
  // One after the other: mostly the first one is there.
  for (const entry of entries) if (!(await isGone(client, discovery, entry))) return false;
  return true;
}

async function isGone(
  client: KubernetesClient,
  discovery: Discovery,
  { apiVersion, kind, namespace, name, uid }: InventoryEntry,
): Promise<boolean> {
  const options = { timeoutMs: REQUEST_TIMEOUT_MS };
  try {
    const served = await discovery.find(apiVersion, kind, options);
    if (served === undefined) return true;
    const path = objectPath(served, { ...parseApiVersion(apiVersion), namespace, name });
    const { metadata } = await client.get(path, { ...options, metadataOnly: true });
    return uid !== undefined && metadata.uid !== uid;
  } catch (error) {
    if (isNotFound(error)) return true;
    if (error instanceof ApiError) return false;
    throw error;
  }
}
