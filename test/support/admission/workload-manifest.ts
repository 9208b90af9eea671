/** StatefulSets for admission tests: one description, written for either workload API. */

import { WORKLOAD_APIS } from '../../../kubernetes/workload-api.ts';
import type { WorkloadApi } from '../../../kubernetes/workload-api.ts';
import { asRecord } from '../../../kubernetes/values.ts';
import { ANNOTATION } from '../../../planners/names.ts';

export type Json = Readonly<Record<string, unknown>>;

/** Our settings by the names of their fields. */
export interface Settings {
  readonly maxUnavailable?: number | string;
  readonly podUpdatePolicy?: string;
  readonly gracePeriodSeconds?: number;
  readonly progressDeadlineSeconds?: number;
  readonly onDeadline?: string;
}

export interface Description {
  readonly settings?: Settings;
  readonly annotations?: Json;
  /** Merged over the usual spec, at its top level. */
  readonly spec?: Json;
  /** Merged over the usual pod spec, at its top level. */
  readonly pod?: Json;
  /** Merged over the only container. */
  readonly container?: Json;
  readonly volumes?: readonly Json[];
  readonly templateMetadata?: Json;
  readonly metadata?: Json;
}

/** Where each API has a setting; messages name exactly these. */
export const PLACES: Readonly<Record<WorkloadApi, Readonly<Record<keyof Settings, string>>>> = {
  'fairlead.dev/v1beta1': {
    maxUnavailable: 'spec.updateStrategy.rollingUpdate.maxUnavailable',
    podUpdatePolicy: 'spec.updateStrategy.rollingUpdate.podUpdatePolicy',
    gracePeriodSeconds: 'spec.updateStrategy.rollingUpdate.inPlaceUpdateStrategy.gracePeriodSeconds',
    progressDeadlineSeconds: 'spec.progressDeadlineSeconds',
    onDeadline: 'spec.onDeadline',
  },
  'apps/v1': {
    maxUnavailable: `metadata.annotations[${ANNOTATION.maxUnavailable}]`,
    podUpdatePolicy: `metadata.annotations[${ANNOTATION.podUpdatePolicy}]`,
    gracePeriodSeconds: `metadata.annotations[${ANNOTATION.gracePeriodSeconds}]`,
    progressDeadlineSeconds: `metadata.annotations[${ANNOTATION.progressDeadlineSeconds}]`,
    onDeadline: `metadata.annotations[${ANNOTATION.onDeadline}]`,
  },
};

export const BOTH: readonly WorkloadApi[] = WORKLOAD_APIS;
export const GATES = [{ conditionType: 'InPlaceUpdateReady' }];

/** The manifest of `web`, good unless the description makes it bad. */
export function manifestOf(api: WorkloadApi, description: Description = {}): Json {
  const { settings = {}, annotations = {}, spec = {}, pod = {}, container = {} } = description;
  const native = api === 'apps/v1';
  return {
    apiVersion: api,
    kind: 'StatefulSet',
    metadata: {
      name: 'web',
      namespace: 'default',
      annotations: { ...annotations, ...(native ? settingsAsAnnotations(settings) : {}) },
      ...description.metadata,
    },
    spec: {
      replicas: 2,
      serviceName: 'web',
      podManagementPolicy: 'Parallel',
      selector: { matchLabels: { app: 'web' } },
      template: {
        metadata: { labels: { app: 'web' }, ...description.templateMetadata },
        spec: {
          readinessGates: GATES,
          containers: [{ name: 'main', image: 'registry.example/web:1', ...container }],
          ...(description.volumes && { volumes: description.volumes }),
          ...pod,
        },
      },
      ...(native ? {} : settingsAsFields(settings, spec)),
      ...withoutStrategy(spec, native),
    },
  };
}

function settingsAsAnnotations(settings: Settings): Json {
  const entries: [string, number | string | undefined][] = [
    [ANNOTATION.maxUnavailable, settings.maxUnavailable],
    [ANNOTATION.podUpdatePolicy, settings.podUpdatePolicy],
    [ANNOTATION.gracePeriodSeconds, settings.gracePeriodSeconds],
    [ANNOTATION.progressDeadlineSeconds, settings.progressDeadlineSeconds],
    [ANNOTATION.onDeadline, settings.onDeadline],
  ];
  return Object.fromEntries(
    entries.flatMap(([key, value]) => (value === undefined ? [] : [[key, String(value)]])),
  );
}

function settingsAsFields(settings: Settings, spec: Json): Json {
  const { gracePeriodSeconds, progressDeadlineSeconds, onDeadline, ...rollingUpdate } = settings;
  const ours = {
    ...rollingUpdate,
    ...(gracePeriodSeconds !== undefined && { inPlaceUpdateStrategy: { gracePeriodSeconds } }),
  };
  const given = asRecord(spec['updateStrategy']);
  const strategy = {
    ...given,
    ...(Object.keys(ours).length > 0 && {
      rollingUpdate: { ...asRecord(given['rollingUpdate']), ...ours },
    }),
  };
  return {
    ...(Object.keys(strategy).length > 0 && { updateStrategy: strategy }),
    ...(progressDeadlineSeconds !== undefined && { progressDeadlineSeconds }),
    ...(onDeadline !== undefined && { onDeadline }),
  };
}

function withoutStrategy(spec: Json, native: boolean): Json {
  if (native) return spec;
  const { updateStrategy: _merged, ...rest } = spec;
  return rest;
}
