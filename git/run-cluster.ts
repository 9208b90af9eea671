/** Whose run an inventory names: that of the workers of this FAIRLEAD_CLUSTER, or of others in the same Kubernetes cluster. */

/**
 * FAIRLEAD_CLUSTER of the workers whose run of a commit it is, unless that is `own`; undefined too for another id than
 * `commit/<FAIRLEAD_CLUSTER>/<repository>/<sha>` (workflows/sync-messages.ts). Pure.
 */
export function otherCluster(workflowId: string, own: string): string | undefined {
  const [, cluster] = /^commit\/([^/]+)\/[^/]+\/[^/]+$/.exec(workflowId) ?? [];
  return cluster === own ? undefined : cluster;
}
