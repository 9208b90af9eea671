/** StatefulSet manifests for tests: one description, written for either workload API. */

import type { WorkloadApi } from '../../kubernetes/workload-api.ts';
import { ANNOTATION } from '../../planners/names.ts';

export interface StatefulSetDescription {
  readonly name: string;
  readonly namespace: string;
  readonly replicas: number;
  /** Image of the container `main`. */
  readonly image: string;
  /** Images of further containers by name. */
  readonly sidecars?: Readonly<Record<string, string>>;
  /** What containers request of CPU, by name. */
  readonly cpu?: Readonly<Record<string, string>>;
  /** Limits of containers, by name. */
  readonly limits?: Readonly<Record<string, Readonly<Record<string, string>>>>;
  readonly parallel?: boolean;
  readonly maxUnavailable?: number | string;
  readonly partition?: number;
  readonly podUpdatePolicy?: 'ReCreate' | 'InPlaceIfPossible' | 'InPlaceOnly';
  readonly gracePeriodSeconds?: number;
  readonly onDelete?: boolean;
  readonly minReadySeconds?: number;
  readonly progressDeadlineSeconds?: number;
  readonly onDeadline?: 'Report' | 'Pause' | 'Rollback';
  readonly revisionHistoryLimit?: number;
  readonly start?: number;
  readonly templateLabels?: Readonly<Record<string, string>>;
  readonly templateAnnotations?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly environment?: Readonly<Record<string, string>>;
  /** Name of a volume claim template of 1 Gi. */
  readonly claim?: string;
  /** persistentVolumeClaimRetentionPolicy.whenScaled */
  readonly whenScaled?: 'Retain' | 'Delete';
  /** persistentVolumeClaimRetentionPolicy.whenDeleted */
  readonly whenDeleted?: 'Retain' | 'Delete';
  /** Further fields of the pods' spec. */
  readonly podSpec?: Readonly<Record<string, unknown>>;
}

/** The manifest as a user of that API would write it. */
export function statefulSetManifest(
  api: WorkloadApi,
  description: StatefulSetDescription,
): Record<string, unknown> {
  const native = api === 'apps/v1';
  const { name, namespace, replicas, maxUnavailable, partition, podUpdatePolicy, gracePeriodSeconds } =
    description;
  const { progressDeadlineSeconds, onDeadline } = description;
  const resources = (container: string) => {
    const [cpu, limits] = [description.cpu?.[container], description.limits?.[container]];
    if (cpu === undefined && limits === undefined) return {};
    return { resources: { ...(cpu !== undefined && { requests: { cpu } }), ...(limits && { limits }) } };
  };
  const inPlace = podUpdatePolicy !== undefined && podUpdatePolicy !== 'ReCreate';
  const ours = {
    [ANNOTATION.maxUnavailable]: maxUnavailable,
    [ANNOTATION.podUpdatePolicy]: podUpdatePolicy,
    [ANNOTATION.gracePeriodSeconds]: gracePeriodSeconds,
    [ANNOTATION.progressDeadlineSeconds]: progressDeadlineSeconds,
    [ANNOTATION.onDeadline]: onDeadline,
  };
  const rollingUpdate = {
    partition,
    ...(!native && {
      maxUnavailable,
      podUpdatePolicy,
      ...(gracePeriodSeconds !== undefined && { inPlaceUpdateStrategy: { gracePeriodSeconds } }),
    }),
  };
  return clean({
    apiVersion: api,
    kind: 'StatefulSet',
    metadata: {
      name,
      namespace,
      annotations: {
        ...description.annotations,
        ...(native &&
          Object.fromEntries(Object.entries(ours).map(([key, value]) => [key, value?.toString()]))),
      },
    },
    spec: {
      replicas,
      serviceName: name,
      selector: { matchLabels: { app: name } },
      podManagementPolicy: description.parallel === true ? 'Parallel' : 'OrderedReady',
      updateStrategy:
        description.onDelete === true ? { type: 'OnDelete' } : { type: 'RollingUpdate', rollingUpdate },
      minReadySeconds: description.minReadySeconds,
      revisionHistoryLimit: description.revisionHistoryLimit,
      ...(description.start !== undefined && { ordinals: { start: description.start } }),
      ...(!native && { progressDeadlineSeconds, onDeadline }),
      template: {
        metadata: {
          labels: { app: name, ...description.templateLabels },
          annotations: description.templateAnnotations,
        },
        spec: {
          terminationGracePeriodSeconds: 1,
          ...description.podSpec,
          ...(inPlace && { readinessGates: [{ conditionType: 'InPlaceUpdateReady' }] }),
          containers: [
            {
              name: 'main',
              image: description.image,
              ...resources('main'),
              ...(description.environment && {
                env: Object.entries(description.environment).map(([key, value]) => ({ name: key, value })),
              }),
              ...(description.claim !== undefined && {
                volumeMounts: [{ name: description.claim, mountPath: '/data' }],
              }),
            },
            ...Object.entries(description.sidecars ?? {}).map(([sidecar, image]) => ({
              name: sidecar,
              image,
              ...resources(sidecar),
            })),
          ],
        },
      },
      ...((description.whenScaled ?? description.whenDeleted) !== undefined && {
        persistentVolumeClaimRetentionPolicy: {
          whenScaled: description.whenScaled ?? 'Retain',
          whenDeleted: description.whenDeleted ?? 'Retain',
        },
      }),
      ...(description.claim !== undefined && {
        volumeClaimTemplates: [
          {
            metadata: { name: description.claim },
            spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
          },
        ],
      }),
    },
  });
}

/** Without undefined fields. */
function clean(manifest: object): Record<string, unknown> {
  return JSON.parse(JSON.stringify(manifest)) as Record<string, unknown>;
}
