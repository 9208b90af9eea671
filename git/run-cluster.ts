/** Whose an inventory is: of the workers of this FAIRLEAD_CLUSTER, or of others in the same Kubernetes cluster. */

import type { Inventory } from './inventory.ts';

/**
 * FAIRLEAD_CLUSTER of the workers whose run has applied the inventory's objects, unless that is `own`; undefined too where no run is
 * known. Where none has applied anything it is that of the last try. The ids of runs are `commit/<FAIRLEAD_CLUSTER>/<repository>/<sha>`
 * (workflows/sync-messages.ts). Pure.
 */
export function otherCluster(
  { run, status }: Pick<Inventory, 'run' | 'status'>,
  own: string,
): string | undefined {
  const workflowId = run?.workflowId ?? status.commit?.workflowId ?? '';
  const [, cluster] = /^commit\/([^/]+)\/[^/]+\/[^/]+$/.exec(workflowId) ?? [];
  return cluster === own ? undefined : cluster;
}
