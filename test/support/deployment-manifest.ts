/** Deployments as tests describe them, and as the apiserver takes them. */

import type { WorkloadApi } from '../../kubernetes/workload-api.ts';
import { ANNOTATION } from '../../planners/names.ts';

export interface DeploymentDescription {
  readonly name: string;
  readonly namespace: string;
  readonly image: string;
  readonly replicas?: number;
  readonly strategy?: object;
  readonly minReadySeconds?: number;
  readonly progressDeadlineSeconds?: number;
  readonly revisionHistoryLimit?: number;
  readonly onDeadline?: 'Report' | 'Pause' | 'Rollback';
  readonly podReplacementPolicy?: 'TerminationStarted' | 'TerminationComplete';
  readonly annotations?: Readonly<Record<string, string>>;
  readonly templateAnnotations?: Readonly<Record<string, string>>;
}

/** The manifest as a user of that API would write it. */
export function deploymentManifest(api: WorkloadApi, wanted: DeploymentDescription): Record<string, unknown> {
  const { name, namespace, onDeadline, podReplacementPolicy } = wanted;
  const { replicas, strategy, minReadySeconds, progressDeadlineSeconds, revisionHistoryLimit } = wanted;
  const native = api === 'apps/v1';
  const own = {
    [ANNOTATION.onDeadline]: onDeadline,
    [ANNOTATION.podReplacementPolicy]: podReplacementPolicy,
  };
  const manifest = {
    apiVersion: api,
    kind: 'Deployment',
    metadata: { name, namespace, annotations: { ...wanted.annotations, ...(native && own) } },
    spec: {
      replicas,
      strategy,
      minReadySeconds,
      progressDeadlineSeconds,
      revisionHistoryLimit,
      ...(!native && { onDeadline, podReplacementPolicy }),
      selector: { matchLabels: { app: name } },
      template: {
        metadata: { labels: { app: name }, annotations: wanted.templateAnnotations },
        spec: { terminationGracePeriodSeconds: 1, containers: [{ name: 'main', image: wanted.image }] },
      },
    },
  };
  // Without what is undefined.
  return JSON.parse(JSON.stringify(manifest)) as Record<string, unknown>;
}
