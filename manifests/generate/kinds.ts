/** The table of kinds: one entry is all that a further CRD needs. */

import {
  COMMON_FIELDS,
  DEPLOYMENT_FIELDS,
  IN_PLACE_FIELDS,
  LABEL_SELECTOR,
  MAX_UNAVAILABLE,
  NODE_FIELDS,
} from './fields.ts';
import { NODE_SETTINGS } from './policy-view.ts';
import type { Setting, Variable } from './policy-view.ts';
import { daemonSetRules } from './rules/daemonset.ts';
import { deploymentRules } from './rules/deployment.ts';
import { statefulSetRules } from './rules/statefulset.ts';
import type { Schema } from './structural-schema.ts';

interface PrinterColumn {
  readonly name: string;
  readonly type: 'integer' | 'string' | 'date';
  readonly jsonPath: string;
  readonly description?: string;
  readonly priority?: number;
}

export interface WorkloadDefinition {
  readonly kind: string;
  readonly plural: string;
  readonly singular: string;
  readonly shortName: string;
  /** Name in the OpenAPI document of `apps/v1`. */
  readonly definition: string;
  /** Properties to add, by dotted path of the object they are added to. */
  readonly fields: Readonly<Record<string, Readonly<Record<string, Schema>>>>;
  /** Defaults, by dotted path. Scalars of the top level and the objects that hold them; nothing inside templates. */
  readonly defaults: Readonly<Record<string, unknown>>;
  readonly scalable: boolean;
  /** Settings of ours that apps/v1 keeps as annotations. */
  readonly settings: readonly Setting[];
  /** Of these, the ones that apps/v1 has a field for. */
  readonly nativeSettings?: readonly Setting[];
  /** What native objects are refused for by code of the apiserver. */
  readonly rules: readonly Variable[];
  readonly columns: readonly PrinterColumn[];
}

const READY_REASON: PrinterColumn = {
  name: 'Reason',
  type: 'string',
  jsonPath: '.status.conditions[?(@.type=="Ready")].reason',
  description: 'Why the workload is, or is not, ready',
};
const AGE: PrinterColumn = { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' };

const SHARED_SETTINGS: readonly Setting[] = [
  'podUpdatePolicy',
  'gracePeriodSeconds',
  'progressDeadlineSeconds',
  'onDeadline',
];

const IMAGES: PrinterColumn = {
  name: 'Images',
  type: 'string',
  jsonPath: '.spec.template.spec.containers[*].image',
  priority: 1,
};

/** Of every kind, after its counts. */
const COMMON_COLUMNS: readonly PrinterColumn[] = [READY_REASON, AGE, IMAGES];

/** Of kinds that have `replicas`. */
const REPLICA_COLUMNS: readonly PrinterColumn[] = [
  { name: 'Desired', type: 'integer', jsonPath: '.spec.replicas' },
  { name: 'Ready', type: 'integer', jsonPath: '.status.readyReplicas' },
  { name: 'Updated', type: 'integer', jsonPath: '.status.updatedReplicas' },
  { name: 'Available', type: 'integer', jsonPath: '.status.availableReplicas' },
  ...COMMON_COLUMNS,
];

export const WORKLOADS: readonly WorkloadDefinition[] = [
  {
    kind: 'StatefulSet',
    plural: 'statefulsets',
    singular: 'statefulset',
    shortName: 'fsts',
    definition: 'io.k8s.api.apps.v1.StatefulSet',
    fields: {
      spec: COMMON_FIELDS,
      'spec.updateStrategy.rollingUpdate': { maxUnavailable: MAX_UNAVAILABLE, ...IN_PLACE_FIELDS },
      status: { labelSelector: LABEL_SELECTOR },
    },
    defaults: {
      'spec.replicas': 1,
      'spec.podManagementPolicy': 'OrderedReady',
      'spec.revisionHistoryLimit': 10,
      'spec.updateStrategy': { type: 'RollingUpdate', rollingUpdate: { partition: 0 } },
      'spec.updateStrategy.type': 'RollingUpdate',
      'spec.updateStrategy.rollingUpdate.partition': 0,
      'spec.persistentVolumeClaimRetentionPolicy': { whenDeleted: 'Retain', whenScaled: 'Retain' },
      'spec.persistentVolumeClaimRetentionPolicy.whenDeleted': 'Retain',
      'spec.persistentVolumeClaimRetentionPolicy.whenScaled': 'Retain',
    },
    scalable: true,
    settings: ['maxUnavailable', ...SHARED_SETTINGS],
    rules: statefulSetRules(),
    columns: [
      ...REPLICA_COLUMNS,
      { name: 'Revision', type: 'string', jsonPath: '.status.updateRevision', priority: 1 },
    ],
  },
  {
    kind: 'DaemonSet',
    plural: 'daemonsets',
    singular: 'daemonset',
    shortName: 'fds',
    definition: 'io.k8s.api.apps.v1.DaemonSet',
    fields: {
      spec: COMMON_FIELDS,
      'spec.updateStrategy.rollingUpdate': { ...NODE_FIELDS, ...IN_PLACE_FIELDS },
    },
    defaults: {
      'spec.revisionHistoryLimit': 10,
      'spec.updateStrategy': { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 1, maxSurge: 0 } },
      'spec.updateStrategy.type': 'RollingUpdate',
    },
    scalable: false,
    settings: [...NODE_SETTINGS, ...SHARED_SETTINGS],
    rules: daemonSetRules(),
    columns: [
      { name: 'Desired', type: 'integer', jsonPath: '.status.desiredNumberScheduled' },
      { name: 'Current', type: 'integer', jsonPath: '.status.currentNumberScheduled' },
      { name: 'Ready', type: 'integer', jsonPath: '.status.numberReady' },
      { name: 'Updated', type: 'integer', jsonPath: '.status.updatedNumberScheduled' },
      { name: 'Available', type: 'integer', jsonPath: '.status.numberAvailable' },
      ...COMMON_COLUMNS,
    ],
  },
  {
    kind: 'Deployment',
    plural: 'deployments',
    singular: 'deployment',
    shortName: 'fdeploy',
    definition: 'io.k8s.api.apps.v1.Deployment',
    fields: { spec: DEPLOYMENT_FIELDS, status: { labelSelector: LABEL_SELECTOR } },
    defaults: {
      'spec.replicas': 1,
      'spec.revisionHistoryLimit': 10,
      'spec.progressDeadlineSeconds': 600,
      'spec.strategy': {
        type: 'RollingUpdate',
        rollingUpdate: { maxUnavailable: '25%', maxSurge: '25%' },
      },
      'spec.strategy.type': 'RollingUpdate',
      'spec.strategy.rollingUpdate.maxUnavailable': '25%',
      'spec.strategy.rollingUpdate.maxSurge': '25%',
    },
    scalable: true,
    settings: ['progressDeadlineSeconds', 'onDeadline', 'podReplacementPolicy'],
    nativeSettings: ['progressDeadlineSeconds'],
    rules: deploymentRules(),
    columns: REPLICA_COLUMNS,
  },
];
