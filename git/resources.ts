/** Where a commit's objects are served, and what is there. */

import type { RequestOptions, ResourcePath } from '../kubernetes/client.ts';
import { isUnreached } from '../kubernetes/api-error.ts';
import type { Discovery, ResourceType } from '../kubernetes/discovery.ts';
import { parseApiVersion } from '../kubernetes/discovery.ts';

export interface ServedKind {
  /** Plural, lower case. */
  readonly resource: string;
  readonly namespaced: boolean;
  /** What may be done with it; absent: not known yet. */
  readonly verbs?: readonly string[];
}

/** Versions in which the cluster serves a group; empty when the group is unknown. @throws ApiError */
export async function servedVersions(
  discovery: Discovery,
  group: string,
  options: RequestOptions = {},
): Promise<readonly string[]> {
  const all = (await discovery.groupVersions(options)).map((apiVersion) => parseApiVersion(apiVersion));
  return all.filter((item) => item.group === group).map((item) => item.version);
}

/** The resource of a kind; undefined if the cluster does not serve it, or its API is away: what is asked of it next tells. @throws ApiError */
export async function findIfReached(
  discovery: Discovery,
  apiVersion: string,
  kind: string,
  options: RequestOptions = {},
): Promise<ResourceType | undefined> {
  return await discovery.find(apiVersion, kind, options).catch((error: unknown) => {
    if (isUnreached(error)) return undefined;
    throw error;
  });
}

/** Where an object of a kind is served. */
export function objectPath(
  kind: ServedKind,
  object: {
    readonly group: string;
    readonly version: string;
    readonly namespace?: string | undefined;
    readonly name: string;
  },
): ResourcePath {
  return {
    group: object.group,
    version: object.version,
    resource: kind.resource,
    namespace: kind.namespaced ? object.namespace : undefined,
    name: object.name,
  };
}

/** For calls that may have no signal (exactOptionalPropertyTypes). */
export function withSignal(signal: AbortSignal | undefined): { readonly signal?: AbortSignal } {
  return signal === undefined ? {} : { signal };
}
