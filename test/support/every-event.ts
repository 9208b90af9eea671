/** All events of a collection, however often the apiserver ends the watch. */

import { isTransient } from '../../kubernetes/api-error.ts';
import type { KubernetesClient, ResourcePath } from '../../kubernetes/client.ts';
import type { KubernetesObject } from '../../planners/objects.ts';
import { found } from './eventually.ts';

export interface SeenEvent<T> {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly object: T;
}

/**
 * Until `signal` aborts. A watch of a client that was busy for too long is ended by the apiserver, at times by cutting the connection:
 * it goes on from what was told last. Rejects when that is not to be had any more.
 * @param from resourceVersion to begin after; absent: with what there is
 */
export async function* everyEvent<T extends KubernetesObject>(
  client: KubernetesClient,
  path: ResourcePath,
  signal: AbortSignal,
  from?: string,
): AsyncGenerator<SeenEvent<T>> {
  let resourceVersion = from;
  while (!signal.aborted) {
    const options = {
      timeoutSeconds: 600,
      signal,
      ...(resourceVersion !== undefined && { resourceVersion }),
    };
    try {
      for await (const { type, object } of client.watch<T>(path, options)) {
        resourceVersion = object.metadata.resourceVersion;
        if (type !== 'BOOKMARK') yield { type, object };
      }
    } catch (error) {
      // Without a place to go on from, something might be missed.
      if (signal.aborted || resourceVersion === undefined || !isTransient(error)) throw error;
      await found('the apiserver answers again', async () => await answers(client, signal));
    }
  }
}

/** Whether the apiserver is ready, or nobody waits for it any more; undefined: not yet. */
async function answers(client: KubernetesClient, signal: AbortSignal): Promise<true | undefined> {
  try {
    if (!signal.aborted) await client.request<unknown>({ method: 'GET', path: '/readyz' });
    return true;
  } catch (error) {
    if (isTransient(error)) return undefined;
    throw error;
  }
}
