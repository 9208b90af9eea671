/** The account as whom the bench's repositories are applied. */

import type { KubernetesClient } from '../kubernetes/client.ts';
import { ManifestApplier } from '../local/manifests.ts';

export const DEPLOYER = 'deployer';

export interface DeployerRule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
}

/** Makes the account in a namespace that exists, with all that a sync needs of those kinds. @throws ApiError */
export async function grantDeployer(
  client: KubernetesClient,
  namespace: string,
  rule: DeployerRule,
): Promise<void> {
  const applier = new ManifestApplier(client);
  const metadata = { name: DEPLOYER, namespace };
  const apiVersion = 'rbac.authorization.k8s.io/v1';
  const verbs = ['get', 'list', 'watch', 'create', 'patch', 'delete'];
  const rules = [{ ...rule, verbs }];
  const subjects = [{ kind: 'ServiceAccount', ...metadata }];
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: DEPLOYER };
  const account = { apiVersion: 'v1', kind: 'ServiceAccount', metadata };
  const role = { apiVersion, kind: 'Role', metadata, rules };
  const binding = { apiVersion, kind: 'RoleBinding', metadata, roleRef, subjects };
  for (const manifest of [account, role, binding]) await applier.apply(manifest);
}
