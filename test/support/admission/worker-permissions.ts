/** What the worker's ServiceAccount must and must not be able to do, as `verb group/resource[/subresource] [namespace[/name]]`. */

import { WORKLOAD_RESOURCES } from '../../../kubernetes/workload-api.ts';

const WORKLOADS = ['fairlead.dev', 'apps'].flatMap((group) =>
  Object.values(WORKLOAD_RESOURCES).flatMap((resource) => [
    ...['get', 'list', 'watch', 'patch'].map((verb) => `${verb} ${group}/${resource} default`),
    ...['get', 'patch', 'update'].map((verb) => `${verb} ${group}/${resource}/status default`),
    `update ${group}/${resource}/finalizers default`,
  ]),
);

export const MAY: readonly string[] = [
  ...WORKLOADS,
  ...['controllerrevisions', 'replicasets'].flatMap((resource) =>
    ['get', 'list', 'watch', 'create', 'patch', 'delete'].map((verb) => `${verb} apps/${resource} default`),
  ),
  ...['get', 'list', 'watch', 'create', 'patch', 'delete'].map((verb) => `${verb} /pods default`),
  'patch /pods/status default',
  'patch /pods/resize default',
  'update /pods/finalizers default',
  ...['get', 'list', 'watch', 'create', 'patch', 'delete'].map(
    (verb) => `${verb} /persistentvolumeclaims default`,
  ),
  ...['get', 'list', 'watch', 'patch'].map((verb) => `${verb} /nodes`),
  'create /pods/eviction default',
  ...['create', 'patch'].flatMap((verb) => [
    `${verb} /events default`,
    `${verb} events.k8s.io/events default`,
  ]),
  'get /namespaces /kube-system',
  'get apiextensions.k8s.io/customresourcedefinitions',
  ...['get', 'create', 'update'].map((verb) => `${verb} coordination.k8s.io/leases fairlead-system`),
  ...['get', 'create', 'update'].map((verb) => `${verb} /configmaps fairlead-system`),
  ...Object.values(WORKLOAD_RESOURCES).flatMap((resource) => [
    `create apps/${resource} fairlead-system`,
    `delete apps/${resource} fairlead-system/fairlead-canary`,
  ]),
  'impersonate /serviceaccounts web/deployer',
];

export const MAY_NOT: readonly string[] = [
  'create fairlead.dev/statefulsets default',
  'delete fairlead.dev/statefulsets default',
  'delete apps/statefulsets default',
  'update apps/statefulsets default',
  'create apps/deployments default',
  'delete apps/deployments fairlead-system/fairlead-worker',
  'delete apps/statefulsets default/fairlead-canary',
  'create fairlead.dev/deployments fairlead-system',
  'get /secrets default',
  'get /configmaps default',
  'delete /configmaps fairlead-system',
  'deletecollection /persistentvolumeclaims default',
  'create /pods/exec default',
  'delete /nodes',
  'patch /nodes/status',
  'get /namespaces /default',
  'update coordination.k8s.io/leases kube-system',
  'impersonate /users',
  'impersonate /groups',
  'create rbac.authorization.k8s.io/clusterrolebindings',
  'patch apiextensions.k8s.io/customresourcedefinitions',
  'patch admissionregistration.k8s.io/validatingadmissionpolicies',
];

/** The attributes of an access review. */
export function attributesOf(permission: string): Readonly<Record<string, string>> {
  const [verb = '', what = '', where = ''] = permission.split(' ');
  const [group = '', resource = '', subresource = ''] = what.split('/');
  const [namespace = '', name = ''] = where.split('/');
  return { verb, group, resource, subresource, namespace, name };
}
