/** What operators and workers must be allowed to do, and asking the apiserver whether one is. */

import { WORKLOAD_RESOURCES } from '../kubernetes/workload-api.ts';
import type { Session } from './session.ts';
import { REQUEST_TIMEOUT_MS } from './session.ts';

export interface AccessRule {
  readonly group: string;
  /** With its subresource: `pods/status`. */
  readonly resource: string;
  readonly verb: string;
  /** Absent: in all namespaces, or not namespaced. */
  readonly namespace?: string;
  readonly name?: string;
  /** Verbs work without, but say less; or it is needed for ReplicationControllers, or for repositories, alone. */
  readonly optional?: boolean;
}

const WORKLOADS = Object.values(WORKLOAD_RESOURCES);

/** For the verbs of this command line, in one namespace. */
export function operatorRules(
  group: string,
  namespace: string,
  leaseNamespace: string,
): readonly AccessRule[] {
  return [
    ...WORKLOADS.flatMap((resource) =>
      each(group, resource, ['get', 'list', 'watch', 'patch'], { namespace }),
    ),
    ...each('apps', 'controllerrevisions', ['list', 'watch'], { namespace }),
    ...each('apps', 'replicasets', ['list', 'watch'], { namespace }),
    ...each('', 'pods', ['list', 'watch'], { namespace }),
    ...each('', 'persistentvolumeclaims', ['list'], { namespace, optional: true }),
    ...each('', 'nodes', ['list'], { optional: true }),
    ...each('', 'replicationcontrollers', ['list', 'create', 'patch'], { namespace, optional: true }),
    ...each('apps', 'controllerrevisions', ['create'], { namespace, optional: true }),
    ...each('', 'namespaces', ['get'], { name: 'kube-system', optional: true }),
    ...each('coordination.k8s.io', 'leases', ['get'], { namespace: leaseNamespace, optional: true }),
    ...each('', 'configmaps', ['get', 'list', 'create', 'update'], {
      namespace: leaseNamespace,
      optional: true,
    }),
  ];
}

/** manifests/install/rbac.yaml, as questions. */
export function workerRules(group: string, leaseNamespace: string): readonly AccessRule[] {
  return [
    ...WORKLOADS.flatMap((resource) => [
      ...each(group, resource, ['get', 'list', 'watch', 'patch']),
      ...each(group, `${resource}/status`, ['patch']),
      ...each(group, `${resource}/finalizers`, ['update']),
    ]),
    ...each('apps', 'controllerrevisions', ['get', 'list', 'watch', 'create', 'patch', 'delete']),
    ...each('apps', 'replicasets', ['get', 'list', 'watch', 'create', 'patch', 'delete']),
    ...each('', 'pods', ['get', 'list', 'watch', 'create', 'patch', 'delete']),
    ...each('', 'replicationcontrollers', ['get', 'list', 'watch', 'create', 'patch', 'delete']),
    ...each('', 'pods/status', ['patch']),
    ...each('', 'pods/resize', ['patch']),
    ...each('', 'pods/finalizers', ['update']),
    ...each('', 'persistentvolumeclaims', ['get', 'list', 'watch', 'create', 'patch', 'delete']),
    ...each('', 'nodes', ['get', 'list', 'watch']),
    // manifests/install/node-drain.yaml, which may be left away.
    ...each('', 'nodes', ['patch'], { optional: true }),
    ...each('', 'pods/eviction', ['create'], { optional: true }),
    ...each('', 'events', ['list', 'create', 'patch']),
    ...each('', 'namespaces', ['get'], { name: 'kube-system' }),
    ...each('coordination.k8s.io', 'leases', ['get', 'create', 'update', 'patch'], {
      namespace: leaseNamespace,
    }),
    ...each('', 'configmaps', ['get', 'list', 'create', 'update', 'patch'], {
      namespace: leaseNamespace,
    }),
    // Canaries, which tell whether another controller keeps the workloads.
    ...(group === 'apps' ? WORKLOADS : []).flatMap((resource) => [
      ...each(group, resource, ['create'], { namespace: leaseNamespace }),
      ...each(group, resource, ['delete'], { namespace: leaseNamespace, name: 'fairlead-canary' }),
    ]),
  ];
}

/** `patch statefulsets.fairlead.dev in default`, `get namespaces kube-system`. */
export function describeRule({ verb, resource, group, namespace, name }: AccessRule): string {
  const full = group === '' ? resource : `${resource}.${group}`;
  return `${verb} ${full}${name === undefined ? '' : ` ${name}`}${namespace === undefined ? '' : ` in ${namespace}`}`;
}

interface AccessReview {
  readonly status?: { readonly allowed?: boolean };
}

/** The rules that the apiserver would refuse us. @throws ApiError when it does not answer */
export async function reviewAccess(
  session: Session,
  rules: readonly AccessRule[],
): Promise<readonly AccessRule[]> {
  const answers = await Promise.all(
    rules.map(async (rule) => {
      const [resource, subresource] = rule.resource.split('/');
      const { group, verb, namespace, name } = rule;
      const review = await session.client.request<AccessReview>({
        method: 'POST',
        path: { group: 'authorization.k8s.io', version: 'v1', resource: 'selfsubjectaccessreviews' },
        body: {
          apiVersion: 'authorization.k8s.io/v1',
          kind: 'SelfSubjectAccessReview',
          spec: { resourceAttributes: { group, resource, subresource, verb, namespace, name } },
        },
        timeoutMs: REQUEST_TIMEOUT_MS,
      });
      return review.status?.allowed === true;
    }),
  );
  return rules.filter((_, index) => answers[index] !== true);
}

function each(
  group: string,
  resource: string,
  verbs: readonly string[],
  rest: Pick<AccessRule, 'namespace' | 'name' | 'optional'> = {},
): readonly AccessRule[] {
  return verbs.map((verb) => ({ group, resource, verb, ...rest }));
}
