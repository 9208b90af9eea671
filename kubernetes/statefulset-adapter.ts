/** StatefulSet of either workload API → the planner's view. */

import type { JsonObject, KubernetesObject } from '../planners/objects.ts';
import type { StatefulSet, StatefulSetStatus } from '../planners/workload.ts';
import { trusted } from './values.ts';
import type { WorkloadApi } from './workload-api.ts';
import type { CommonSpec } from './workload-fields.ts';
import { readCommon } from './workload-fields.ts';

/** The served object, as far as it is read here. */
export interface StatefulSetObject extends KubernetesObject {
  readonly spec: CommonSpec & {
    readonly replicas?: number;
    readonly ordinals?: { readonly start?: number };
    readonly serviceName?: string;
    readonly podManagementPolicy?: 'OrderedReady' | 'Parallel';
    readonly volumeClaimTemplates?: readonly JsonObject[];
    readonly persistentVolumeClaimRetentionPolicy?: {
      readonly whenDeleted?: 'Retain' | 'Delete';
      readonly whenScaled?: 'Retain' | 'Delete';
    };
  };
  readonly status?: Partial<StatefulSetStatus>;
}

/** Makes one view of both APIs; apps/v1 drops maxUnavailable (S14), so it comes from an annotation there. */
export function readStatefulSet(object: KubernetesObject, api: WorkloadApi): StatefulSet {
  const { spec, status } = trusted<StatefulSetObject>(object);
  const { common, own } = readCommon('StatefulSet', object, api);
  const strategy = spec.updateStrategy;
  return {
    ...common,
    replicas: spec.replicas ?? 1,
    start: spec.ordinals?.start ?? 0,
    serviceName: spec.serviceName ?? '',
    podManagementPolicy: spec.podManagementPolicy ?? 'OrderedReady',
    updateStrategy: strategy?.type ?? 'RollingUpdate',
    partition: strategy?.rollingUpdate?.partition ?? 0,
    maxUnavailable: own.maxUnavailable ?? 1,
    podUpdatePolicy: own.podUpdatePolicy ?? 'ReCreate',
    gracePeriodSeconds: own.gracePeriodSeconds ?? 0,
    volumeClaimTemplates: spec.volumeClaimTemplates ?? [],
    whenDeleted: spec.persistentVolumeClaimRetentionPolicy?.whenDeleted ?? 'Retain',
    whenScaled: spec.persistentVolumeClaimRetentionPolicy?.whenScaled ?? 'Retain',
    status: { ...status, replicas: status?.replicas ?? 0 },
  };
}
