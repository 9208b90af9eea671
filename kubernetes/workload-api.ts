/** The two workload APIs that Fairlead can own: a setting, not a fork of the code (design "Which objects it owns"). */

import { GROUP, VERSION } from '../planners/names.ts';
import type { WorkloadKind, WorkloadRef } from '../planners/workload.ts';
import type { ResourcePath } from './client.ts';

export const WORKLOAD_APIS = [`${GROUP}/${VERSION}`, 'apps/v1'] as const;
export type WorkloadApi = (typeof WORKLOAD_APIS)[number];

/** Lower-case plural of each kind; the same in both APIs. */
export const WORKLOAD_RESOURCES: Readonly<Record<WorkloadKind, string>> = {
  StatefulSet: 'statefulsets',
  DaemonSet: 'daemonsets',
  Deployment: 'deployments',
};

/** Whether a text, from outside, names a kind that we know. */
export function isWorkloadKind(kind: string): kind is WorkloadKind {
  return Object.hasOwn(WORKLOAD_RESOURCES, kind);
}

/** Whether `spec.paused` is a field of the kind in that API: apps/v1 has it for Deployments alone. */
export function hasPausedField({ group, kind }: Pick<WorkloadRef, 'group' | 'kind'>): boolean {
  return group === GROUP || kind === 'Deployment';
}

/** Group and version of a workload API. */
export function groupVersion(api: WorkloadApi): { readonly group: string; readonly version: string } {
  const [group = '', version = ''] = api.split('/');
  return { group, version };
}

/**
 * Reads `FAIRLEAD_WORKLOAD_API`.
 * @throws Error naming the two accepted values
 */
export function parseWorkloadApi(value: string): WorkloadApi {
  const found = WORKLOAD_APIS.find((api) => api === value);
  if (found === undefined) {
    throw new Error(`workload API "${value}" is not known: use one of ${WORKLOAD_APIS.join(', ')}`);
  }
  return found;
}

/** Where the workload itself is served. */
export function workloadPath(
  ref: Pick<WorkloadRef, 'group' | 'version' | 'kind' | 'namespace' | 'name'>,
  subresource?: string,
): ResourcePath {
  return {
    group: ref.group,
    version: ref.version,
    resource: WORKLOAD_RESOURCES[ref.kind],
    namespace: ref.namespace,
    name: ref.name,
    subresource,
  };
}

/** Where all workloads of a kind are served. */
export function workloadCollection(api: WorkloadApi, kind: WorkloadKind, namespace?: string): ResourcePath {
  return { ...groupVersion(api), resource: WORKLOAD_RESOURCES[kind], namespace };
}

/** `StatefulSet.fairlead.dev/web`: how a workload is named in messages. */
export function describeWorkload(ref: Pick<WorkloadRef, 'kind' | 'group' | 'namespace' | 'name'>): string {
  return `${ref.kind}.${ref.group} ${ref.namespace}/${ref.name}`;
}
