/** Small builders of snapshots for tests of the Deployment's planner. */

import { planReplicaSetRevision, revisionOfReplicaSet } from '../../planners/deployment-revision.ts';
import { ANNOTATION, DEPLOYMENT_ANNOTATION } from '../../planners/names.ts';
import type { Condition, Pod, ReplicaSet } from '../../planners/objects.ts';
import { normaliseTemplate } from '../../planners/template-defaults.ts';
import type { Deployment, Snapshot } from '../../planners/workload.ts';
import { setOf } from './statefulset-fixtures.ts';

const template = (image: string) =>
  normaliseTemplate({
    metadata: { labels: { app: 'web' } },
    spec: { containers: [{ name: 'main', image }] },
  });

export function deploymentOf({
  image = 'api:1',
  ...overrides
}: Partial<Deployment> & { readonly image?: string } = {}): Deployment {
  const { ref, metadata } = setOf();
  return {
    ref: { ...ref, kind: 'Deployment', name: 'api' },
    metadata: { ...metadata, name: 'api' },
    generation: 1,
    deleting: false,
    selector: { matchLabels: { app: 'web' } },
    template: template(image),
    minReadySeconds: 0,
    revisionHistoryLimit: 10,
    onDeadline: 'Report',
    replicas: 4,
    strategy: 'RollingUpdate',
    maxUnavailable: '25%',
    maxSurge: '25%',
    podReplacementPolicy: 'TerminationStarted',
    status: {},
    ...overrides,
  };
}

export interface ReplicaSetOptions {
  readonly image?: string;
  readonly revision?: number | string;
  /** spec.replicas */
  readonly size?: number;
  /** status.replicas @default size */
  readonly replicas?: number;
  /** @default replicas */
  readonly ready?: number;
  /** @default ready */
  readonly available?: number;
  /** Annotations desired-replicas and max-replicas; null = none. @default those of the Deployment */
  readonly desired?: number | null;
  readonly max?: number | null;
  /** Its controller has seen its present size. @default true */
  readonly observed?: boolean;
  readonly annotations?: Readonly<Record<string, string>>;
  /** RFC 3339. */
  readonly created?: string;
  readonly owner?: string | null;
  readonly name?: string;
  readonly conditions?: readonly Condition[];
  readonly terminating?: number;
  readonly labels?: Readonly<Record<string, string>>;
}

/** A ReplicaSet as the planner would have made it for that image; all of its pods are available unless told otherwise. */
export function replicaSetOf(deployment: Deployment, options: ReplicaSetOptions = {}): ReplicaSet {
  const { image = 'api:1', size = 0, revision = 1, replicas = size } = options;
  const { ready = replicas, available = ready, observed = true } = options;
  const plan = planReplicaSetRevision({ ...deployment, template: template(image) }, []);
  if (plan.outcome !== 'create') throw new Error(`expected a new ReplicaSet, got ${plan.outcome}`);
  const made = structuredClone(plan.manifest) as unknown as ReplicaSet;
  const name = options.name ?? made.metadata.name;
  const owner = options.owner === undefined ? deployment.ref.uid : options.owner;
  const {
    [DEPLOYMENT_ANNOTATION.desiredReplicas]: desired = '',
    [DEPLOYMENT_ANNOTATION.maxReplicas]: max = '',
  } = made.metadata.annotations ?? {};
  const { ownerReferences: _, ...metadata } = made.metadata;
  return {
    ...made,
    metadata: {
      ...metadata,
      name,
      uid: `uid-${name}`,
      resourceVersion: '5',
      generation: 2,
      creationTimestamp: options.created ?? '2025-12-01T00:00:00Z',
      labels: { ...made.metadata.labels, ...options.labels },
      annotations: {
        ...(options.desired !== null && {
          [DEPLOYMENT_ANNOTATION.desiredReplicas]: options.desired?.toString() ?? desired,
        }),
        ...(options.max !== null && { [DEPLOYMENT_ANNOTATION.maxReplicas]: options.max?.toString() ?? max }),
        [DEPLOYMENT_ANNOTATION.revision]: String(revision),
        [ANNOTATION.complete]: 'true',
        ...options.annotations,
      },
      ...(owner !== null && {
        ownerReferences: [
          { apiVersion: 'apps/v1', kind: 'Deployment', name: 'api', uid: owner, controller: true },
        ],
      }),
    },
    spec: { ...made.spec, replicas: size },
    status: {
      observedGeneration: observed ? 2 : 1,
      replicas,
      readyReplicas: ready,
      availableReplicas: available,
      ...(options.terminating !== undefined && { terminatingReplicas: options.terminating }),
      ...(options.conditions !== undefined && { conditions: options.conditions }),
    },
  };
}

export interface ReplicaPodOptions {
  readonly ready?: boolean;
  readonly terminating?: boolean;
  readonly phase?: 'Pending' | 'Running' | 'Succeeded' | 'Failed';
  /** RFC 3339. */
  readonly readySince?: string;
}

/** The pod of that number of a ReplicaSet. */
export function replicaPodOf(set: ReplicaSet, number: number, options: ReplicaPodOptions = {}): Pod {
  const name = `${set.metadata.name}-${String(number)}`;
  return {
    metadata: {
      name,
      namespace: 'default',
      uid: `uid-${name}`,
      resourceVersion: '7',
      labels: set.spec.template.metadata?.labels ?? {},
      ownerReferences: [
        {
          apiVersion: 'apps/v1',
          kind: 'ReplicaSet',
          name: set.metadata.name,
          uid: set.metadata.uid,
          controller: true,
        },
      ],
      ...(options.terminating === true && { deletionTimestamp: '2026-01-01T00:00:00Z' }),
    },
    spec: { ...set.spec.template.spec, nodeName: 'node-0' },
    status: {
      phase: options.phase ?? 'Running',
      conditions: [
        {
          type: 'Ready',
          status: (options.ready ?? true) ? 'True' : 'False',
          lastTransitionTime: options.readySince ?? '2025-12-31T00:00:00Z',
        },
      ],
    },
  };
}

export function deploymentSnapshotOf(
  workload: Deployment,
  replicaSets: readonly ReplicaSet[] = [],
  parts: Partial<Omit<Snapshot<Deployment>, 'workload' | 'replicaSets'>> = {},
): Snapshot<Deployment> {
  return {
    workload,
    replicaSets,
    revisions: replicaSets.map(revisionOfReplicaSet),
    pods: [],
    claims: [],
    downNodes: new Map(),
    refusals: new Map(),
    ...parts,
  };
}
