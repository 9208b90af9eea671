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
