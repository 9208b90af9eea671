/** StatefulSet objects as the apiserver serves them, for tests of what reads objects. */

import type { WorkloadObject } from '../../kubernetes/workload-edit.ts';
import type { Condition, JsonObject } from '../../planners/objects.ts';

export interface ObjectOptions {
  readonly annotations?: Readonly<Record<string, string>>;
  readonly spec?: JsonObject;
  readonly status?: JsonObject;
  readonly generation?: number;
  readonly deleting?: boolean;
  readonly finalizers?: readonly string[];
  readonly conditions?: readonly Pick<Condition, 'type' | 'status' | 'reason' | 'message'>[];
}

/** `web`, three replicas, generation 2, observed, all ready, unless said otherwise. */
export function workloadObject(options: ObjectOptions = {}): WorkloadObject {
  const counts = {
    replicas: 3,
    readyReplicas: 3,
    availableReplicas: 3,
    updatedReplicas: 3,
    currentReplicas: 3,
  };
  return {
    apiVersion: 'fairlead.dev/v1beta1',
    kind: 'StatefulSet',
    metadata: {
      name: 'web',
      namespace: 'default',
      uid: 'set-uid',
      resourceVersion: '1',
      generation: options.generation ?? 2,
      creationTimestamp: '2026-01-01T00:00:00Z',
      ...(options.annotations && { annotations: options.annotations }),
      ...(options.finalizers && { finalizers: options.finalizers }),
      ...(options.deleting === true && { deletionTimestamp: '2026-01-01T00:00:00Z' }),
    },
    spec: {
      replicas: 3,
      selector: { matchLabels: { app: 'web' } },
      template: {
        metadata: { labels: { app: 'web' } },
        spec: { containers: [{ name: 'main', image: 'web:1' }] },
      },
      updateStrategy: { type: 'RollingUpdate', rollingUpdate: { partition: 0 } },
      ...options.spec,
    },
    status: {
      observedGeneration: 2,
      ...counts,
      currentRevision: 'web-a',
      updateRevision: 'web-a',
      ...(options.conditions && { conditions: options.conditions }),
      ...options.status,
    },
  };
}
