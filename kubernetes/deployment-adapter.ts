/** Deployment of either workload API → the planner's view. */

import { DEPLOYMENT_ANNOTATION } from '../planners/names.ts';
import type { KubernetesObject } from '../planners/objects.ts';
import type { Deployment, DeploymentStatus } from '../planners/workload.ts';
import { trusted } from './values.ts';
import type { WorkloadApi } from './workload-api.ts';
import type { CommonSpec } from './workload-fields.ts';
import { readCommon } from './workload-fields.ts';

/** The served object, as far as it is read here. */
export interface DeploymentObject extends KubernetesObject {
  readonly spec: CommonSpec & {
    readonly replicas?: number;
    readonly strategy?: {
      readonly type?: 'RollingUpdate' | 'Recreate';
      readonly rollingUpdate?: {
        readonly maxUnavailable?: number | string;
        readonly maxSurge?: number | string;
      };
    };
  };
  readonly status?: Partial<DeploymentStatus>;
}

/** Upstream's word for "no deadline" (P17). */
const NO_DEADLINE = 2_147_483_647;
const DEFAULT_DEADLINE_SECONDS = 600;
const DEFAULT_AMOUNT = '25%';

/** Makes one view of both APIs. Pause and deadline are fields of apps/v1 too. */
export function readDeployment(object: KubernetesObject, api: WorkloadApi): Deployment {
  const { metadata, spec, status } = trusted<DeploymentObject>(object);
  const { common, own } = readCommon('Deployment', object, api);
  const { progressDeadlineSeconds: _, ...rest } = common;
  const deadline = spec.progressDeadlineSeconds ?? DEFAULT_DEADLINE_SECONDS;
  const { type, rollingUpdate } = spec.strategy ?? {};
  const rollbackTo = metadata.annotations?.[DEPLOYMENT_ANNOTATION.rollbackTo];
  return {
    ...rest,
    ...(deadline !== NO_DEADLINE && { progressDeadlineSeconds: deadline }),
    ...(rollbackTo !== undefined && { rollbackTo }),
    replicas: spec.replicas ?? 1,
    strategy: type ?? 'RollingUpdate',
    maxUnavailable: rollingUpdate?.maxUnavailable ?? DEFAULT_AMOUNT,
    maxSurge: rollingUpdate?.maxSurge ?? DEFAULT_AMOUNT,
    podReplacementPolicy: own.podReplacementPolicy ?? 'TerminationStarted',
    status: { ...status },
  };
}
