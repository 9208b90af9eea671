/** The order in which kinds are applied, so that nothing needs what comes after it. Pruning goes the other way. */

/** Stages in order; what is in none of them (custom resources, Ingress, autoscalers) comes last. */
export const STAGES = ['Foundations', 'Configuration', 'Network', 'Workloads', 'Rest'] as const;
export type Stage = (typeof STAGES)[number];

const KINDS: Readonly<Record<Exclude<Stage, 'Rest'>, ReadonlySet<string>>> = {
  Foundations: new Set([
    '/Namespace',
    'apiextensions.k8s.io/CustomResourceDefinition',
    'rbac.authorization.k8s.io/ClusterRole',
    'scheduling.k8s.io/PriorityClass',
    'storage.k8s.io/StorageClass',
    'node.k8s.io/RuntimeClass',
    'networking.k8s.io/IngressClass',
  ]),
  Configuration: new Set([
    '/ResourceQuota',
    '/LimitRange',
    '/ServiceAccount',
    'rbac.authorization.k8s.io/Role',
    'rbac.authorization.k8s.io/RoleBinding',
    'rbac.authorization.k8s.io/ClusterRoleBinding',
    'networking.k8s.io/NetworkPolicy',
    '/ConfigMap',
    '/Secret',
    '/PersistentVolume',
    '/PersistentVolumeClaim',
  ]),
  Network: new Set(['/Service', '/Endpoints', 'discovery.k8s.io/EndpointSlice']),
  Workloads: new Set([
    'fairlead.dev/DaemonSet',
    'fairlead.dev/StatefulSet',
    'fairlead.dev/Deployment',
    'apps/DaemonSet',
    'apps/StatefulSet',
    'apps/Deployment',
    'apps/ReplicaSet',
    '/ReplicationController',
    '/Pod',
    'batch/Job',
    'batch/CronJob',
  ]),
};

const BY_KIND: ReadonlyMap<string, number> = new Map(
  Object.values(KINDS).flatMap((kinds, stage) => [...kinds].map((kind) => [kind, stage] as const)),
);

/** Index into {@link STAGES}. */
export function stageOf(object: { readonly group: string; readonly kind: string }): number {
  return BY_KIND.get(`${object.group}/${object.kind}`) ?? STAGES.length - 1;
}

interface Ordered {
  readonly group: string;
  readonly kind: string;
  readonly namespace?: string | undefined;
  readonly name: string;
}

/** Stage, then the place of the kind within its stage, then namespace and name: the same commit always in the same order. */
export function compareObjects(a: Ordered, b: Ordered): number {
  return (
    stageOf(a) - stageOf(b) ||
    placeOf(a) - placeOf(b) ||
    compareText(a.group, b.group) ||
    compareText(a.kind, b.kind) ||
    compareText(a.namespace ?? '', b.namespace ?? '') ||
    compareText(a.name, b.name)
  );
}

const PLACES: ReadonlyMap<string, number> = new Map([...BY_KIND.keys()].map((kind, place) => [kind, place]));

function placeOf(object: Ordered): number {
  return PLACES.get(`${object.group}/${object.kind}`) ?? PLACES.size;
}

function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
