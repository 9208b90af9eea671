/**
 * The account that a repository is applied as: the default one of a namespace. The worker itself has none of these rights, and a test
 * gives the account those that its commits need.
 */

import type { KubernetesClient } from '../../kubernetes/client.ts';
import { found } from './eventually.ts';

const RBAC = { group: 'rbac.authorization.k8s.io', version: 'v1' } as const;
const API_VERSION = 'rbac.authorization.k8s.io/v1';

/** Grants what an administrator of the namespace may; answers what to put into the repositories file. */
export async function grantSyncAccount(client: KubernetesClient, namespace: string): Promise<string> {
  await grantInNamespace(client, namespace, namespace);
  return `${namespace}/default`;
}

/** Lets the account of `namespace` do in another one too what an administrator of that may. */
export async function grantInNamespace(
  client: KubernetesClient,
  namespace: string,
  there: string,
): Promise<void> {
  await client.create(
    { ...RBAC, resource: 'rolebindings', namespace: there },
    bindingOf('RoleBinding', namespace, 'admin'),
  );
  await untilAllowed(client, { ...accountOf(namespace), resource: 'configmaps', group: '', there });
}

/**
 * Lets the account of `namespace` do with these what sync does, in the whole cluster: with namespaces and definitions, and with what is in
 * a namespace that comes with the commit. Each as `resource.group`.
 */
export async function grantInCluster(
  client: KubernetesClient,
  namespace: string,
  resources: readonly [string, ...string[]],
): Promise<void> {
  const rules = resources.map((one) => {
    const [resource, group] = parts(one);
    return {
      apiGroups: [group],
      resources: [resource],
      verbs: ['get', 'list', 'watch', 'create', 'patch', 'delete'],
    };
  });
  const metadata = { name: nameOf(namespace) };
  await client.create(
    { ...RBAC, resource: 'clusterroles' },
    { apiVersion: API_VERSION, kind: 'ClusterRole', metadata, rules },
  );
  await client.create(
    { ...RBAC, resource: 'clusterrolebindings' },
    bindingOf('ClusterRoleBinding', namespace, metadata.name),
  );
  const [resource, group] = parts(resources[0]);
  await untilAllowed(client, { ...accountOf(namespace), resource, group });
}

function nameOf(namespace: string): string {
  return `sync-${namespace}`;
}

/** Of `resource.group`. */
function parts(one: string): readonly [resource: string, group: string] {
  const [resource = '', ...group] = one.split('.');
  return [resource, group.join('.')];
}

function bindingOf(kind: 'RoleBinding' | 'ClusterRoleBinding', namespace: string, role: string) {
  return {
    apiVersion: API_VERSION,
    kind,
    metadata: { name: nameOf(namespace) },
    roleRef: { apiGroup: RBAC.group, kind: 'ClusterRole', name: role },
    subjects: [{ kind: 'ServiceAccount', name: 'default', namespace }],
  };
}

function accountOf(namespace: string) {
  return { user: `system:serviceaccount:${namespace}:default`, verb: 'delete' };
}

/** What somebody is to be allowed: in the namespace `there`, or in all of them. */
interface Wanted {
  readonly user: string;
  readonly verb: string;
  readonly resource: string;
  readonly group: string;
  readonly there?: string;
}

/** The apiserver hears of a binding as everybody does, by a watch: a commit that is faster would be refused. */
export async function untilAllowed(
  client: KubernetesClient,
  { user, verb, resource, group, there }: Wanted,
): Promise<void> {
  const review = {
    apiVersion: 'authorization.k8s.io/v1',
    kind: 'SubjectAccessReview',
    spec: {
      user,
      resourceAttributes: { verb, group, resource, ...(there && { namespace: there }) },
    },
  };
  const path = '/apis/authorization.k8s.io/v1/subjectaccessreviews';
  await found(`${user} may ${verb} ${resource}`, async () => {
    const { status } = await client.request<{ readonly status: { readonly allowed: boolean } }>({
      method: 'POST',
      path,
      body: review,
    });
    return status.allowed ? true : undefined;
  });
}
