/** Leases of other workers of the same Kubernetes cluster that keep the same workloads. */

import type { KubernetesClient } from './client.ts';
import type { Kept, Lease } from './lease.ts';
import { holderOf, keptBy, leaseNameOf } from './lease.ts';

/** What a worker is called and keeps. */
export interface Keeper extends Kept {
  /** FAIRLEAD_CLUSTER */
  readonly cluster: string;
  readonly leaseNamespace: string;
}

/** Held Leases of other clusters' workers that keep something which this one keeps, by name. @throws ApiError */
export async function findRivals(
  client: KubernetesClient,
  keeper: Keeper,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, Lease>> {
  const { leaseNamespace: namespace, cluster } = keeper;
  const path = { group: 'coordination.k8s.io', version: 'v1', resource: 'leases', namespace };
  const { items } = await client.list<Lease>(path, { signal });
  const found = items.filter((lease) => {
    const kept = keptBy(lease);
    const isOther = lease.metadata.name !== leaseNameOf(cluster) && holderOf(lease) !== '';
    return isOther && kept !== undefined && overlap(kept, keeper);
  });
  return new Map(found.map((lease) => [lease.metadata.name, lease]));
}

function overlap(one: Kept, other: Kept): boolean {
  if (one.workloadApi !== other.workloadApi) return false;
  const { namespaces } = one;
  return (
    namespaces === undefined ||
    other.namespaces === undefined ||
    other.namespaces.some((name) => namespaces.includes(name))
  );
}
