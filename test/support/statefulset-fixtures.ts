/** Small builders of snapshots for tests of the StatefulSet's planner. */

import { LABEL } from '../../planners/names.ts';
import type { Condition, ControllerRevision, JsonObject, Pod, PodTemplate } from '../../planners/objects.ts';
import type { Refusal } from '../../planners/plan.ts';
import { completeMark } from '../../planners/complete-mark.ts';
import { claimName } from '../../planners/statefulset-claims.ts';
import { planStatefulSetRevision } from '../../planners/statefulset-revision.ts';
import { normaliseTemplate } from '../../planners/template-defaults.ts';
import type { Snapshot, StatefulSet } from '../../planners/workload.ts';

/** The time of most tests. */
export const NOW = Date.parse('2026-01-01T00:00:00Z');

const SET_UID = 'set-uid';

/** A template with one container and the readiness gate that updates in place need. */
export function templateOf(image: string, extra: Partial<PodTemplate['spec']> = {}): PodTemplate {
  return normaliseTemplate({
    metadata: { labels: { app: 'web' } },
    spec: {
      readinessGates: [{ conditionType: 'InPlaceUpdateReady' }],
      containers: [{ name: 'main', image }],
      ...extra,
    },
  });
}

export function setOf(overrides: Partial<StatefulSet> = {}): StatefulSet {
  return {
    ref: {
      group: 'fairlead.dev',
      version: 'v1beta1',
      kind: 'StatefulSet',
      namespace: 'default',
      name: 'web',
      uid: SET_UID,
    },
    metadata: { name: 'web', namespace: 'default', uid: SET_UID, resourceVersion: '1', generation: 1 },
    generation: 1,
    deleting: false,
    selector: { matchLabels: { app: 'web' } },
    template: templateOf('web:1'),
    minReadySeconds: 0,
    revisionHistoryLimit: 10,
    onDeadline: 'Report',
    replicas: 3,
    start: 0,
    serviceName: 'web',
    podManagementPolicy: 'Parallel',
    updateStrategy: 'RollingUpdate',
    partition: 0,
    maxUnavailable: 1,
    podUpdatePolicy: 'ReCreate',
    gracePeriodSeconds: 0,
    volumeClaimTemplates: [],
    whenDeleted: 'Retain',
    whenScaled: 'Retain',
    status: { replicas: 0 },
    ...overrides,
  };
}

/** The revision that the planner would create for the set's template. */
export function revisionFor(
  set: StatefulSet,
  existing: readonly ControllerRevision[] = [],
): ControllerRevision {
  const plan = planStatefulSetRevision(set, existing);
  if (plan.outcome !== 'create') throw new Error(`expected a new revision, got ${plan.outcome}`);
  return asStored(plan.manifest);
}

/** A manifest as the apiserver would store it. */
export function asStored(manifest: JsonObject): ControllerRevision {
  const revision = structuredClone(manifest) as unknown as ControllerRevision;
  const metadata = { ...revision.metadata, uid: `uid-${revision.metadata.name}`, resourceVersion: '1' };
  return { ...revision, metadata };
}

export interface PodOptions {
  readonly ready?: boolean;
  readonly readySince?: number;
  readonly phase?: 'Pending' | 'Running' | 'Succeeded' | 'Failed';
  readonly terminating?: boolean;
  readonly labels?: Record<string, string>;
  readonly annotations?: Record<string, string>;
  readonly conditions?: readonly Condition[];
  readonly owner?: string | null;
  readonly image?: string;
  readonly nodeName?: string;
  /** What the set was when the pod was made. @default what it is */
  readonly claimsOf?: Pick<StatefulSet, 'volumeClaimTemplates'>;
}

/** The revision of a rollout that was finished before. */
export function completed(revision: ControllerRevision): ControllerRevision {
  const annotations = { ...revision.metadata.annotations, ...completeMark(true) };
  return { ...revision, metadata: { ...revision.metadata, annotations } };
}

/** A pod of the set at a revision, Ready and with its gate open unless told otherwise. */
export function podOf(set: StatefulSet, ordinal: number, revision: string, options: PodOptions = {}): Pod {
  const name = `${set.ref.name}-${String(ordinal)}`;
  const since = new Date(options.readySince ?? NOW - 3_600_000).toISOString();
  const owner = options.owner === undefined ? set.ref.uid : options.owner;
  const ready = options.ready ?? true;
  const image = options.image ?? set.template.spec.containers[0]?.image ?? '';
  const claims = (options.claimsOf ?? set).volumeClaimTemplates.map((one) => claimName(set, one, ordinal));
  const volumes = claims.map((claim) => ({ name: claim, persistentVolumeClaim: { claimName: claim } }));
  return {
    metadata: {
      name,
      namespace: set.ref.namespace,
      uid: `uid-${name}`,
      resourceVersion: '10',
      generation: 1,
      labels: {
        app: 'web',
        [LABEL.podName]: name,
        [LABEL.podIndex]: String(ordinal),
        [LABEL.revisionHash]: revision,
        ...options.labels,
      },
      ...(options.annotations && { annotations: options.annotations }),
      ...(owner !== null && {
        ownerReferences: [
          {
            apiVersion: 'fairlead.dev/v1beta1',
            kind: 'StatefulSet',
            name: set.ref.name,
            uid: owner,
            controller: true,
          },
        ],
      }),
      ...(options.terminating === true && { deletionTimestamp: new Date(NOW).toISOString() }),
    },
    spec: {
      ...set.template.spec,
      containers: set.template.spec.containers.map((container) => ({ ...container, image })),
      ...(volumes.length > 0 && { volumes }),
      nodeName: options.nodeName ?? 'node-0',
    },
    status: {
      phase: options.phase ?? 'Running',
      observedGeneration: 1,
      conditions: options.conditions ?? [
        { type: 'InPlaceUpdateReady', status: 'True', lastTransitionTime: since },
        { type: 'Ready', status: ready ? 'True' : 'False', lastTransitionTime: since },
      ],
      containerStatuses: [
        {
          name: 'main',
          image,
          imageID: `sha256:${image}`,
          containerID: `containerd://${name}-1`,
          restartCount: 0,
          ready,
          state: { running: { startedAt: since } },
        },
      ],
    },
  };
}

export function snapshotOf(
  workload: StatefulSet,
  parts: Partial<Omit<Snapshot<StatefulSet>, 'workload'>> = {},
): Snapshot<StatefulSet> {
  return {
    workload,
    revisions: [],
    pods: [],
    claims: [],
    downNodes: new Map(),
    refusals: new Map<string, Refusal>(),
    ...parts,
  };
}

/** A set in the middle of its life: `old` is what its pods are at, `set` has the new template. */
export function rolloutOf(overrides: Partial<StatefulSet> = {}): {
  readonly set: StatefulSet;
  readonly old: ControllerRevision;
  readonly update: ControllerRevision;
  readonly revisions: readonly ControllerRevision[];
} {
  const before = setOf({ ...overrides, template: templateOf('web:1') });
  const old = revisionFor(before);
  const status = {
    replicas: before.replicas,
    currentRevision: old.metadata.name,
    updateRevision: old.metadata.name,
  };
  const set = setOf({ template: templateOf('web:2'), status, generation: 2, ...overrides });
  const update = revisionFor(set, [old]);
  return { set, old, update, revisions: [old, update] };
}
