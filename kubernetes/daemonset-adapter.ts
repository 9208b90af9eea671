/** DaemonSet of either workload API → the planner's view. */

import { TEMPLATE_GENERATION } from '../planners/names.ts';
import type { KubernetesObject } from '../planners/objects.ts';
import type { DaemonSet, DaemonSetStatus } from '../planners/workload.ts';
import { trusted } from './values.ts';
import type { WorkloadApi } from './workload-api.ts';
import type { CommonSpec, OwnRollingUpdate } from './workload-fields.ts';
import { HOOK_TIMEOUT_SECONDS, readCommon } from './workload-fields.ts';

/** The served object, as far as it is read here. */
export interface DaemonSetObject extends KubernetesObject {
  readonly spec: Omit<CommonSpec, 'updateStrategy'> & {
    readonly updateStrategy?: {
      readonly type?: 'RollingUpdate' | 'OnDelete';
      readonly rollingUpdate?: OwnRollingUpdate & { readonly maxSurge?: number | string };
    };
  };
  readonly status?: Partial<DaemonSetStatus>;
}

/** Makes one view of both APIs. maxUnavailable and maxSurge are fields of apps/v1 too. */
export function readDaemonSet(object: KubernetesObject, api: WorkloadApi): DaemonSet {
  const { metadata, spec, status } = trusted<DaemonSetObject>(object);
  const { common, own } = readCommon('DaemonSet', object, api);
  const { type, rollingUpdate } = spec.updateStrategy ?? {};
  const generation = metadata.annotations?.[TEMPLATE_GENERATION];
  return {
    ...common,
    updateStrategy: type ?? 'RollingUpdate',
    maxUnavailable: rollingUpdate?.maxUnavailable ?? 1,
    maxSurge: rollingUpdate?.maxSurge ?? 0,
    partition: own.partition ?? 0,
    nodeSelector: own.nodeSelector ?? {},
    ...(own.topologyKey !== undefined && own.topologyKey !== '' && { topologyKey: own.topologyKey }),
    notReadyNodes: own.notReadyNodes ?? 'Ignore',
    ...(own.drainTimeoutSeconds !== undefined && { drain: { timeoutSeconds: own.drainTimeoutSeconds } }),
    ...(own.prePullNodes !== undefined && {
      prePull: {
        nodes: own.prePullNodes,
        timeoutSeconds: own.prePullTimeoutSeconds ?? HOOK_TIMEOUT_SECONDS,
      },
    }),
    podUpdatePolicy: own.podUpdatePolicy ?? 'ReCreate',
    gracePeriodSeconds: own.gracePeriodSeconds ?? 0,
    ...(common.ref.group === 'apps' && generation !== undefined && { templateGeneration: generation }),
    status: {
      ...status,
      desiredNumberScheduled: status?.desiredNumberScheduled ?? 0,
      currentNumberScheduled: status?.currentNumberScheduled ?? 0,
      numberMisscheduled: status?.numberMisscheduled ?? 0,
      numberReady: status?.numberReady ?? 0,
    },
  };
}
