/** Who acts in the demo: `deployer`, as whom the repository is applied, and `alice`, an operator. Neither is an administrator. */

import type { KubernetesClient } from '../kubernetes/client.ts';
import type { Manifest } from '../local/manifests.ts';
import { ManifestApplier } from '../local/manifests.ts';

export const NAMESPACE = 'default';
export const DEPLOYER = 'deployer';
export const OPERATOR = 'alice';

const RBAC = 'rbac.authorization.k8s.io';

type Rule = Readonly<Record<'apiGroups' | 'resources' | 'verbs', readonly string[]>>;

interface Grant {
  readonly account: string;
  /** Of the role that is made, and of its binding. */
  readonly name: string;
  /** Absent: in the whole cluster. */
  readonly namespace?: string;
  readonly rules: readonly Rule[];
}

/** What a commit may hold is what its account may do (`manifests/install/worker/sync-account.yaml`). */
const GRANTS: readonly Grant[] = [
  {
    account: DEPLOYER,
    name: DEPLOYER,
    namespace: NAMESPACE,
    rules: [
      {
        // Both: a workload of the other group under this name would be taken over without a restart.
        apiGroups: ['fairlead.dev', 'apps'],
        resources: ['statefulsets', 'daemonsets', 'deployments'],
        verbs: ['get', 'list', 'watch', 'create', 'patch', 'delete'],
      },
      {
        apiGroups: [''],
        resources: ['services', 'configmaps', 'replicationcontrollers'],
        verbs: ['get', 'list', 'create', 'patch', 'delete'],
      },
    ],
  },
  // Beside the standard role `edit`: what makes `explain` complete.
  {
    account: OPERATOR,
    name: 'see-fairlead-leader',
    namespace: 'fairlead-system',
    rules: [{ apiGroups: ['coordination.k8s.io'], resources: ['leases'], verbs: ['get'] }],
  },
  {
    account: OPERATOR,
    name: 'see-nodes',
    rules: [{ apiGroups: [''], resources: ['nodes'], verbs: ['get', 'list', 'watch'] }],
  },
];

/** Makes both accounts. Rejects with the apiserver's own words. */
export async function createAccounts(client: KubernetesClient): Promise<void> {
  const applier = new ManifestApplier(client);
  const accounts = [DEPLOYER, OPERATOR].map((name) => ({
    apiVersion: 'v1',
    kind: 'ServiceAccount',
    metadata: { name, namespace: NAMESPACE },
  }));
  const edit = binding({
    account: OPERATOR,
    name: `${OPERATOR}-edits`,
    namespace: NAMESPACE,
    role: { kind: 'ClusterRole', name: 'edit' },
  });
  for (const manifest of [...accounts, ...GRANTS.flatMap(roleAndBinding), edit])
    await applier.apply(manifest);
}

function roleAndBinding({ account, name, namespace, rules }: Grant): readonly Manifest[] {
  const kind = namespace === undefined ? 'ClusterRole' : 'Role';
  const role = { apiVersion: `${RBAC}/v1`, kind, metadata: metadata(name, namespace), rules };
  return [role, binding({ account, name, namespace, role: { kind, name } })];
}

function binding(options: {
  readonly account: string;
  readonly name: string;
  readonly namespace: string | undefined;
  readonly role: { readonly kind: string; readonly name: string };
}): Manifest {
  const { account, name, namespace, role } = options;
  const object = {
    apiVersion: `${RBAC}/v1`,
    kind: namespace === undefined ? 'ClusterRoleBinding' : 'RoleBinding',
    metadata: metadata(name, namespace),
    roleRef: { apiGroup: RBAC, ...role },
    subjects: [{ kind: 'ServiceAccount', name: account, namespace: NAMESPACE }],
  };
  return object;
}

function metadata(name: string, namespace: string | undefined): Manifest['metadata'] {
  return { name, ...(namespace !== undefined && { namespace }) };
}
