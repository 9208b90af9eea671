/** The table of kinds for tests: how a workload is described, and what follows from that. A further kind is one entry. */

import type { DaemonSetObject } from '../../kubernetes/daemonset-adapter.ts';
import type { DeploymentObject } from '../../kubernetes/deployment-adapter.ts';
import type { StatefulSetObject } from '../../kubernetes/statefulset-adapter.ts';
import type { WorkloadApi } from '../../kubernetes/workload-api.ts';
import type { Node } from '../../planners/objects.ts';
import type { DaemonSetDescription } from './daemonset-manifest.ts';
import { daemonSetManifest } from './daemonset-manifest.ts';
import type { DeploymentDescription } from './deployment-manifest.ts';
import { deploymentManifest } from './deployment-manifest.ts';
import type { StatefulSetDescription } from './statefulset-manifest.ts';
import { statefulSetManifest } from './statefulset-manifest.ts';

/** What a test says of a workload, by kind. */
export interface Descriptions {
  readonly StatefulSet: StatefulSetDescription;
  readonly DaemonSet: DaemonSetDescription;
  readonly Deployment: DeploymentDescription;
}

/** What the apiserver serves, by kind. */
export interface ServedObjects {
  readonly StatefulSet: StatefulSetObject;
  readonly DaemonSet: DaemonSetObject;
  readonly Deployment: DeploymentObject;
}

/** Kinds that scenes and the crash matrix play with. */
export type DescribedKindName = keyof Descriptions;

interface DescribedKind<K extends DescribedKindName> {
  /** The manifest as a user of that API would write it. */
  readonly manifest: (api: WorkloadApi, description: Descriptions[K]) => Record<string, unknown>;
  /** Unless a scene says otherwise. */
  readonly defaults: Omit<Descriptions[K], 'namespace'>;
  /** Pods that there are when all is well. */
  readonly wantedPods: (description: Descriptions[K], nodes: readonly Node[]) => number;
  /** Pods at the update revision, as the status counts them. */
  readonly updated: (object: ServedObjects[K]) => number | undefined;
}

export const DESCRIBED_KINDS: { readonly [K in DescribedKindName]: DescribedKind<K> } = {
  StatefulSet: {
    manifest: statefulSetManifest,
    defaults: { name: 'web', replicas: 6, image: 'app:1', parallel: true, maxUnavailable: 2 },
    wantedPods: ({ replicas }) => replicas,
    updated: ({ status }) => status?.updatedReplicas,
  },
  DaemonSet: {
    manifest: daemonSetManifest,
    defaults: { name: 'agent', image: 'app:1', maxUnavailable: 2 },
    wantedPods: ({ nodeSelector = {} }, nodes) =>
      nodes.filter(({ metadata }) =>
        Object.entries(nodeSelector).every(([key, value]) => metadata.labels?.[key] === value),
      ).length,
    updated: ({ status }) => status?.updatedNumberScheduled,
  },
  Deployment: {
    manifest: deploymentManifest,
    defaults: { name: 'api', replicas: 4, image: 'app:1' },
    wantedPods: ({ replicas = 1 }) => replicas,
    updated: ({ status }) => status?.updatedReplicas,
  },
};
