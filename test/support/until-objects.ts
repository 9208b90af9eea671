/** Waiting on a whole collection: list and watch until all of its objects together are as wanted. */

import { setTimeout as delay } from 'node:timers/promises';

import type { KubernetesClient, ResourcePath } from '../../kubernetes/client.ts';
import type { KubernetesObject } from '../../planners/objects.ts';
import { patient } from './patience.ts';

const RETRY_MS = 100;

/**
 * The objects, sorted by name, as soon as the predicate holds of them. An apiserver that goes away is asked again.
 * Rejects after the deadline with what they were.
 */
export async function untilObjects<T extends Pick<KubernetesObject, 'metadata'>>(
  client: KubernetesClient,
  path: ResourcePath,
  what: string,
  predicate: (objects: readonly T[]) => boolean,
  timeoutMs: number,
): Promise<readonly T[]> {
  const signal = AbortSignal.timeout(patient(timeoutMs));
  let known = new Map<string, T>();
  let lastError: unknown;
  while (!signal.aborted) {
    try {
      const { items, resourceVersion } = await client.list<T & KubernetesObject>(path, { signal });
      known = new Map(items.map((item) => [item.metadata.uid, item]));
      if (predicate(sorted(known))) {
        return sorted(known);
      }
      for await (const { type, object } of client.watch<T & KubernetesObject>(path, {
        resourceVersion,
        signal,
      })) {
        if (type === 'DELETED') {
          known.delete(object.metadata.uid);
        } else if (type !== 'BOOKMARK') {
          known.set(object.metadata.uid, object);
        }
        if (predicate(sorted(known))) {
          return sorted(known);
        }
      }
    } catch (error) {
      lastError = error;
      await delay(RETRY_MS);
    }
  }
  const error = new Error(
    `${path.resource} in ${path.namespace ?? 'all namespaces'}: not "${what}" within ${String(patient(timeoutMs))} ms:\n` +
      JSON.stringify(sorted(known).map(summary), null, 1),
  );
  error.cause = lastError;
  throw error;
}

function sorted<T extends Pick<KubernetesObject, 'metadata'>>(objects: ReadonlyMap<string, T>): readonly T[] {
  return [...objects.values()].sort((a, b) =>
    a.metadata.name.localeCompare(b.metadata.name, 'en', { numeric: true }),
  );
}

/** What tells most of an object in little. */
export function summary(object: object): unknown {
  const { metadata, spec, status, reason, message } = object as {
    readonly metadata: KubernetesObject['metadata'];
    readonly spec?: {
      readonly containers?: readonly { readonly image?: string }[];
      readonly nodeName?: string;
    };
    readonly status?: {
      readonly phase?: string;
      readonly conditions?: readonly { readonly type: string; readonly status: string }[];
    };
    readonly reason?: string;
    readonly message?: string;
  };
  return {
    name: metadata.name,
    uid: metadata.uid,
    deleting: metadata.deletionTimestamp,
    images: spec?.containers?.map(({ image }) => image),
    node: spec?.nodeName,
    phase: status?.phase,
    conditions: status?.conditions?.map(({ type, status: value }) => `${type}=${value}`).join(' '),
    reason,
    message,
  };
}
