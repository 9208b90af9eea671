/** Deployments that are refused, in the same words in both workload APIs where the field is ours. */

import type { WorkloadApi } from '../../../kubernetes/workload-api.ts';
import { ANNOTATION } from '../../../planners/names.ts';
import { NATIVE, OURS } from './creation-case.ts';
import { BOTH } from './workload-manifest.ts';
import type { Json } from './workload-manifest.ts';

export interface DeploymentCase {
  readonly name: string;
  readonly apis: readonly WorkloadApi[];
  /** Merged over `spec`. */
  readonly spec?: Json;
  /** Settings of ours: fields of our spec, annotations of a native object. */
  readonly settings?: Partial<Record<'onDeadline' | 'podReplacementPolicy', string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly refused: readonly string[];
}

/** The manifest of a case, good but for what it says. */
export function deploymentManifestOf(
  api: WorkloadApi,
  { spec = {}, settings = {}, annotations = {} }: Omit<DeploymentCase, 'name' | 'apis' | 'refused'>,
): Json {
  const isNative = api === 'apps/v1';
  const asAnnotations = Object.fromEntries(
    Object.entries(settings).map(([name, value]) => [
      ANNOTATION[name as keyof NonNullable<DeploymentCase['settings']>],
      value,
    ]),
  );
  return {
    apiVersion: api,
    kind: 'Deployment',
    metadata: { name: 'api', annotations: { ...annotations, ...(isNative && asAnnotations) } },
    spec: {
      selector: { matchLabels: { app: 'api' } },
      ...(!isNative && settings),
      template: {
        metadata: { labels: { app: 'api' } },
        spec: { containers: [{ name: 'main', image: 'api:1' }] },
      },
      ...spec,
    },
  };
}

const rolling = (rollingUpdate: Json): Json => ({ strategy: { type: 'RollingUpdate', rollingUpdate } });

export const DEPLOYMENT_CASES: readonly DeploymentCase[] = [
  {
    name: 'neither maxUnavailable nor maxSurge',
    apis: BOTH,
    spec: rolling({ maxUnavailable: 0, maxSurge: 0 }),
    refused: [
      'spec.strategy.rollingUpdate.maxUnavailable: Invalid value',
      'may not be 0 when `maxSurge` is 0',
    ],
  },
  {
    name: 'rollingUpdate with Recreate',
    apis: BOTH,
    spec: { strategy: { type: 'Recreate', rollingUpdate: { maxSurge: 1 } } },
    refused: [
      "spec.strategy.rollingUpdate: Forbidden: may not be specified when strategy `type` is 'Recreate'",
    ],
  },
  {
    name: 'a strategy that is none',
    apis: BOTH,
    spec: { strategy: { type: 'OnDelete' } },
    refused: ['spec.strategy', 'Unsupported value: ', 'supported values: '],
  },
  {
    name: 'a per cent that is none',
    apis: OURS,
    spec: rolling({ maxUnavailable: '101%' }),
    refused: ['spec.strategy.rollingUpdate.maxUnavailable: Invalid value', 'a percentage from 0% to 100%'],
  },
  {
    name: 'a deadline that is not longer than minReadySeconds',
    apis: OURS,
    spec: { minReadySeconds: 30, progressDeadlineSeconds: 30 },
    refused: ['spec.progressDeadlineSeconds: Invalid value: 30: must be greater than minReadySeconds'],
  },
  {
    name: 'restartPolicy Never',
    apis: BOTH,
    spec: {
      template: {
        metadata: { labels: { app: 'api' } },
        spec: { restartPolicy: 'Never', containers: [{ name: 'main', image: 'api:1' }] },
      },
    },
    refused: ['spec.template.spec.restartPolicy: Unsupported value: "Never": supported values: "Always"'],
  },
  {
    name: 'an empty selector',
    apis: BOTH,
    spec: { selector: {} },
    refused: ['spec.selector: Invalid value: {}: empty selector is invalid for deployment'],
  },
  {
    name: 'a selector that does not match',
    apis: BOTH,
    spec: { selector: { matchLabels: { app: 'other' } } },
    refused: ['`selector` does not match template `labels`'],
  },
  {
    name: 'podReplacementPolicy not known',
    apis: BOTH,
    settings: { podReplacementPolicy: 'Later' },
    refused: ['Unsupported value: "Later": supported values: "TerminationStarted", "TerminationComplete"'],
  },
  {
    name: 'onDeadline not known',
    apis: BOTH,
    settings: { onDeadline: 'Explode' },
    refused: ['Unsupported value: "Explode": supported values: "Report", "Pause", "Rollback"'],
  },
  {
    name: 'a deadline in an annotation: there is a field for it',
    apis: NATIVE,
    annotations: { [ANNOTATION.progressDeadlineSeconds]: '60' },
    refused: ['Forbidden: Fairlead knows no such annotation'],
  },
  {
    name: 'a policy of updates in place: its pods are those of ReplicaSets',
    apis: NATIVE,
    annotations: { [ANNOTATION.podUpdatePolicy]: 'InPlaceOnly' },
    refused: ['Forbidden: Fairlead knows no such annotation'],
  },
];

export const DEPLOYMENT_ACCEPTED: readonly (readonly [
  string,
  Omit<DeploymentCase, 'name' | 'apis' | 'refused'>,
])[] = [
  ['nothing but what must be', {}],
  ['a surge beyond 100 %', { spec: rolling({ maxUnavailable: 0, maxSurge: '150%' }) }],
  ['one amount of two', { spec: rolling({ maxUnavailable: 0 }) }],
  ['Recreate', { spec: { strategy: { type: 'Recreate' } } }],
  ['no deadline', { spec: { progressDeadlineSeconds: 2_147_483_647 } }],
  [
    'every setting',
    {
      spec: { paused: true, progressDeadlineSeconds: 60, minReadySeconds: 5 },
      settings: { onDeadline: 'Rollback', podReplacementPolicy: 'TerminationComplete' },
    },
  ],
  [
    'what `kubectl rollout undo` brings from a ReplicaSet',
    { annotations: { [ANNOTATION.attempts]: '[]', [ANNOTATION.ofWorkload]: '{}' } },
  ],
];
