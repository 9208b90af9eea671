/** From an action of a plan to the request that it makes. */

import type { ResourcePath } from '../kubernetes/client.ts';
import { asRecord } from '../kubernetes/values.ts';
import type { JsonObject } from '../planners/objects.ts';
import type { Action, WritableResource } from '../planners/plan.ts';
import type { Workload } from '../planners/workload.ts';

interface Served {
  readonly group: string;
  readonly version: string;
  readonly clusterScoped?: true;
}

const SERVED: Readonly<Record<WritableResource, Served>> = {
  pods: { group: '', version: 'v1' },
  persistentvolumeclaims: { group: '', version: 'v1' },
  controllerrevisions: { group: 'apps', version: 'v1' },
  replicasets: { group: 'apps', version: 'v1' },
  nodes: { group: '', version: 'v1', clusterScoped: true },
};

/** Where the action's object is served. */
export function pathOf(workload: Workload, action: Action): ResourcePath {
  const { clusterScoped, ...served } = SERVED[action.resource];
  return {
    ...served,
    resource: action.resource,
    namespace: clusterScoped === true ? undefined : (action.namespace ?? workload.ref.namespace),
    name: action.name,
    subresource: action.subresource,
  };
}

/** Strategic for pods, merge otherwise. */
export function patchType(action: Action): 'strategic' | 'merge' | 'json' {
  return action.patchType ?? (action.resource === 'pods' ? 'strategic' : 'merge');
}

/** uid and resourceVersion inside a merge patch are preconditions: another value is answered with a conflict. */
export function withPreconditions(action: Action): JsonObject {
  const metadata = asRecord(action.body?.['metadata']);
  return {
    ...action.body,
    metadata: {
      ...metadata,
      ...(action.uid !== undefined && { uid: action.uid }),
      ...(action.resourceVersion !== undefined && { resourceVersion: action.resourceVersion }),
    },
  };
}

/** Preconditions of a delete. */
export function preconditions(action: Action): { readonly uid?: string; readonly resourceVersion?: string } {
  return {
    ...(action.uid !== undefined && { uid: action.uid }),
    ...(action.resourceVersion !== undefined && { resourceVersion: action.resourceVersion }),
  };
}
