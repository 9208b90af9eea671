/** The account that a repository is applied as: the default one of a namespace, which may do there what an administrator may. */

import type { KubernetesClient } from '../../kubernetes/client.ts';

/** Grants it; answers what to put into the repositories file. */
export async function grantSyncAccount(client: KubernetesClient, namespace: string): Promise<string> {
  const path = { group: 'rbac.authorization.k8s.io', version: 'v1', resource: 'rolebindings', namespace };
  await client.create(path, {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'RoleBinding',
    metadata: { name: 'sync' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'admin' },
    subjects: [{ kind: 'ServiceAccount', name: 'default', namespace }],
  });
  return `${namespace}/default`;
}
