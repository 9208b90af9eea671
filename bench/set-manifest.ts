/** The workload that is rolled: one description for both sides and all kinds. */

import type { WorkloadApi } from '../kubernetes/workload-api.ts';
import type { WorkloadKind } from '../planners/workload.ts';

export interface SetDescription {
  readonly kind: WorkloadKind;
  readonly api: WorkloadApi;
  readonly namespace: string;
  /** Pods; of a DaemonSet as many as there are nodes. */
  readonly replicas: number;
  readonly maxUnavailable: number;
  readonly image: string;
  readonly inPlace: boolean;
  /** What simulated kubelets do with the pods, without the prefix `sim.fairlead.dev/`. */
  readonly simulation: Readonly<Record<string, string>>;
}

/** In both namespaces: delays that follow from a pod's name are the same on both sides. */
export const SET_NAME = 'web';

/** StatefulSets are Parallel, so that maxUnavailable counts; no delays but those of `simulation`. */
export function setManifest(set: SetDescription): Record<string, unknown> {
  const simulation = { 'start-delay': '0s', 'stop-delay': '0s', ...set.simulation };
  const annotations: Record<string, string> = {};
  for (const [key, value] of Object.entries(simulation)) annotations[`sim.fairlead.dev/${key}`] = value;
  const { kind, maxUnavailable } = set;
  const ofKind: Readonly<Record<WorkloadKind, object>> = {
    StatefulSet: { replicas: set.replicas, serviceName: SET_NAME, podManagementPolicy: 'Parallel' },
    DaemonSet: {},
    Deployment: { replicas: set.replicas },
  };
  const strategy = {
    type: 'RollingUpdate',
    rollingUpdate: {
      maxUnavailable,
      ...(kind === 'Deployment' && { maxSurge: 0 }),
      ...(set.inPlace && { podUpdatePolicy: 'InPlaceOnly' }),
    },
  };
  return {
    apiVersion: set.api,
    kind,
    metadata: { name: SET_NAME, namespace: set.namespace },
    spec: {
      ...ofKind[kind],
      selector: { matchLabels: { app: SET_NAME } },
      ...(kind === 'Deployment' ? { strategy } : { updateStrategy: strategy }),
      template: {
        metadata: { labels: { app: SET_NAME }, annotations },
        spec: {
          terminationGracePeriodSeconds: 1,
          ...(set.inPlace && { readinessGates: [{ conditionType: 'InPlaceUpdateReady' }] }),
          containers: [{ name: 'main', image: set.image }],
        },
      },
    },
  };
}
