/** Whose an inventory is: of the workers of this FAIRLEAD_CLUSTER, or of others in the same Kubernetes cluster. */

import type { Inventory } from './inventory.ts';

/**
 * FAIRLEAD_CLUSTER of the workers whose run has applied the inventory's objects, unless that is `own`; undefined too where no run is
 * known. Where none has applied anything it is that of the last try. What the inventory says itself comes first, for people hand it
 * over so. The ids of runs are `commit/<FAIRLEAD_CLUSTER>/<repository>/<sha>` (workflows/sync-messages.ts). Pure.
 */
export function otherCluster(
  inventory: Pick<Inventory, 'cluster' | 'run' | 'status'>,
  own: string,
): string | undefined {
  const workflowId = inventory.run?.workflowId ?? inventory.status.commit?.workflowId ?? '';
  const [, ofRun] = /^commit\/([^/]+)\/[^/]+\/[^/]+$/.exec(workflowId) ?? [];
  const cluster = inventory.cluster ?? ofRun;
  return cluster === own ? undefined : cluster;
}

/**
 * The same of an inventory that has objects: the two may follow the same place, and each would prune what the other has applied. Nobody minds
 * who goes on with one that has none. Pure.
 */
export function ownerElsewhere(
  inventory: Pick<Inventory, 'cluster' | 'run'> & Partial<Pick<Inventory, 'entries'>>,
  own: string,
): string | undefined {
  const { entries, cluster, run } = inventory;
  if (entries === undefined || entries.size === 0) return undefined;
  return otherCluster({ cluster, run, status: {} }, own);
}
