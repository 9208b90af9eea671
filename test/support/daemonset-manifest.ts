/** DaemonSet manifests for tests: one description, written for either workload API. */

import type { WorkloadApi } from '../../kubernetes/workload-api.ts';
import { ANNOTATION } from '../../planners/names.ts';

export interface DaemonSetDescription {
  readonly name: string;
  readonly namespace: string;
  readonly image: string;
  readonly nodeSelector?: Readonly<Record<string, string>>;
  readonly tolerations?: readonly object[];
  readonly maxUnavailable?: number | string;
  readonly maxSurge?: number | string;
  readonly partition?: number;
  readonly updateNodes?: Readonly<Record<string, string>>;
  readonly topologyKey?: string;
  readonly notReadyNodes?: 'Ignore' | 'Count';
  readonly drainTimeoutSeconds?: number;
  readonly prePullNodes?: number;
  readonly prePullTimeoutSeconds?: number;
  readonly onDelete?: boolean;
  readonly podUpdatePolicy?: 'ReCreate' | 'InPlaceIfPossible' | 'InPlaceOnly';
  readonly minReadySeconds?: number;
  readonly revisionHistoryLimit?: number;
  readonly templateAnnotations?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  /** Requested by the container. */
  readonly requests?: Readonly<Record<string, string>>;
  /** Further fields of the pods' spec. */
  readonly podSpec?: Readonly<Record<string, unknown>>;
}

/** The manifest as a user of that API would write it. */
export function daemonSetManifest(
  api: WorkloadApi,
  description: DaemonSetDescription,
): Record<string, unknown> {
  const native = api === 'apps/v1';
  const { name, namespace, partition, podUpdatePolicy, maxUnavailable, maxSurge, nodeSelector, tolerations } =
    description;
  const {
    updateNodes,
    topologyKey,
    notReadyNodes,
    drainTimeoutSeconds,
    prePullNodes,
    prePullTimeoutSeconds,
  } = description;
  const hooks = {
    ...(drainTimeoutSeconds !== undefined && { drain: { timeoutSeconds: drainTimeoutSeconds } }),
    ...(prePullNodes !== undefined && {
      prePull: { nodes: prePullNodes, timeoutSeconds: prePullTimeoutSeconds },
    }),
  };
  const inPlace = podUpdatePolicy !== undefined && podUpdatePolicy !== 'ReCreate';
  const rollingUpdate = {
    maxUnavailable,
    maxSurge,
    ...(!native && {
      partition,
      podUpdatePolicy,
      nodeSelector: updateNodes,
      topologyKey,
      notReadyNodes,
      ...hooks,
    }),
  };
  const own = {
    [ANNOTATION.partition]: partition?.toString(),
    [ANNOTATION.podUpdatePolicy]: podUpdatePolicy,
    [ANNOTATION.nodeSelector]:
      updateNodes &&
      Object.entries(updateNodes)
        .map(([key, value]) => `${key}=${value}`)
        .join(','),
    [ANNOTATION.topologyKey]: topologyKey,
    [ANNOTATION.notReadyNodes]: notReadyNodes,
    [ANNOTATION.drainTimeoutSeconds]: drainTimeoutSeconds?.toString(),
    [ANNOTATION.prePullNodes]: prePullNodes?.toString(),
    [ANNOTATION.prePullTimeoutSeconds]: prePullTimeoutSeconds?.toString(),
  };
  const manifest = {
    apiVersion: api,
    kind: 'DaemonSet',
    metadata: { name, namespace, annotations: { ...description.annotations, ...(native && own) } },
    spec: {
      selector: { matchLabels: { app: name } },
      minReadySeconds: description.minReadySeconds,
      revisionHistoryLimit: description.revisionHistoryLimit,
      updateStrategy:
        description.onDelete === true ? { type: 'OnDelete' } : { type: 'RollingUpdate', rollingUpdate },
      template: {
        metadata: { labels: { app: name }, annotations: description.templateAnnotations },
        spec: {
          terminationGracePeriodSeconds: 1,
          ...description.podSpec,
          nodeSelector,
          tolerations,
          ...(inPlace && { readinessGates: [{ conditionType: 'InPlaceUpdateReady' }] }),
          containers: [
            {
              name: 'main',
              image: description.image,
              ...(description.requests && { resources: { requests: description.requests } }),
            },
          ],
        },
      },
    },
  };
  // Without what is undefined.
  return JSON.parse(JSON.stringify(manifest)) as Record<string, unknown>;
}
