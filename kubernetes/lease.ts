/** The Lease object: reading and writing it, each write conditional on the version that was read. */

import { isAlreadyExists, isConflict, isNotFound } from './api-error.ts';
import type { KubernetesClient, ResourcePath } from './client.ts';
import { ANNOTATION } from '../planners/names.ts';
import type { KubernetesObject } from '../planners/objects.ts';

export interface LeaseSpec {
  readonly holderIdentity?: string | null;
  readonly leaseDurationSeconds?: number | null;
  /** RFC 3339 with microseconds. */
  readonly acquireTime?: string | null;
  readonly renewTime?: string | null;
  readonly leaseTransitions?: number | null;
}

export interface Lease extends KubernetesObject {
  readonly spec?: LeaseSpec;
}

/** By their names; undefined takes one away. */
export type LeaseAnnotations = Readonly<Record<string, string | undefined>>;

/** What a worker keeps. */
export interface Kept {
  readonly workloadApi: string;
  /** Undefined: all. */
  readonly namespaces: readonly string[] | undefined;
}

/** What the holder of a Lease writes on it, so that command lines can tell whether a workload is looked after. */
export function keptAnnotations({ workloadApi, namespaces }: Kept): LeaseAnnotations {
  return { [ANNOTATION.keptApi]: workloadApi, [ANNOTATION.keptNamespaces]: namespaces?.join(',') };
}

/** What the holder keeps; undefined where the Lease does not say so (a worker of before wrote it). */
export function keptBy({ metadata: { annotations } }: Lease): Kept | undefined {
  const workloadApi = annotations?.[ANNOTATION.keptApi];
  if (workloadApi === undefined) return undefined;
  return { workloadApi, namespaces: annotations?.[ANNOTATION.keptNamespaces]?.split(',') };
}

/** What the Lease of a cluster's workers is called. */
export function leaseNameOf(cluster: string): string {
  return `fairlead-${cluster}`;
}

/** The holder's identity; `''`: nobody. */
export function holderOf(lease: Lease | undefined): string {
  return lease?.spec?.holderIdentity ?? '';
}

export class LeaseStore {
  readonly #client: KubernetesClient;
  readonly #path: ResourcePath & { readonly name: string };
  readonly namespace: string;
  readonly name: string;

  /** @param client Without a write guard: the Lease is what the guard rests on. */
  constructor(client: KubernetesClient, namespace: string, name: string) {
    this.#client = client;
    this.namespace = namespace;
    this.name = name;
    this.#path = { group: 'coordination.k8s.io', version: 'v1', resource: 'leases', namespace, name };
  }

  /** Undefined if there is none. */
  async read(timeoutMs: number): Promise<Lease | undefined> {
    try {
      return await this.#client.get<Lease>(this.#path, { timeoutMs });
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }

  /**
   * Writes the Lease if it still is what was read; undefined if somebody else was faster.
   * @param previous What was read; undefined creates it.
   * @param annotations Set, or taken away where undefined; others stay.
   * @throws {ApiError} for everything else; the write may have been done all the same if it is transient
   */
  async write(
    previous: Lease | undefined,
    spec: LeaseSpec,
    timeoutMs: number,
    annotations: LeaseAnnotations = {},
  ): Promise<Lease | undefined> {
    const { name, ...collection } = this.#path;
    const kind = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease' };
    try {
      if (previous === undefined) {
        const body = { ...kind, metadata: { name, namespace: collection.namespace, annotations }, spec };
        return await this.#client.create<Lease>(collection, body, { timeoutMs });
      }
      const metadata = {
        ...previous.metadata,
        annotations: { ...previous.metadata.annotations, ...annotations },
      };
      return await this.#client.replace<Lease>(
        this.#path,
        { ...previous, ...kind, metadata, spec },
        { timeoutMs },
      );
    } catch (error) {
      if (isAlreadyExists(error) || isConflict(error)) return undefined;
      // Deleted under our feet: the next read tells.
      if (previous !== undefined && isNotFound(error)) return undefined;
      throw error;
    }
  }
}

/** A MicroTime: RFC 3339 with exactly six digits, which the apiserver insists on. */
export function microTime(epochMs: number): string {
  return new Date(epochMs).toISOString().replace(/(\.\d{3})Z$/, '$1000Z');
}
