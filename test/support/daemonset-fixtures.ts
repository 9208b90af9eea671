/** Small builders of snapshots for tests of the DaemonSet's planner. */

import { daemonPodName, newDaemonPod } from '../../planners/daemonset-pods.ts';
import { LABEL } from '../../planners/names.ts';
import type { ControllerRevision, Node, Pod } from '../../planners/objects.ts';
import { planRevision } from '../../planners/revision-plan.ts';
import type { DaemonSet, Snapshot } from '../../planners/workload.ts';
import { NOW, asStored, setOf, templateOf } from './statefulset-fixtures.ts';

export function daemonSetOf(overrides: Partial<DaemonSet> = {}): DaemonSet {
  const { ref, metadata } = setOf();
  return {
    ref: { ...ref, kind: 'DaemonSet', name: 'agent' },
    metadata: { ...metadata, name: 'agent' },
    generation: 1,
    deleting: false,
    selector: { matchLabels: { app: 'web' } },
    template: templateOf('agent:1'),
    minReadySeconds: 0,
    revisionHistoryLimit: 10,
    onDeadline: 'Report',
    updateStrategy: 'RollingUpdate',
    maxUnavailable: 1,
    maxSurge: 0,
    partition: 0,
    nodeSelector: {},
    notReadyNodes: 'Ignore',
    podUpdatePolicy: 'ReCreate',
    gracePeriodSeconds: 0,
    status: { desiredNumberScheduled: 0, currentNumberScheduled: 0, numberMisscheduled: 0, numberReady: 0 },
    ...overrides,
  };
}

export function nodeOf(
  name: string,
  parts: {
    readonly labels?: Record<string, string>;
    readonly taints?: NonNullable<Node['spec']>['taints'];
    /** Milliseconds since the epoch; absent = it is Ready. */
    readonly notReadySince?: number;
  } = {},
): Node {
  return {
    metadata: { name, uid: `uid-${name}`, resourceVersion: '1', labels: parts.labels ?? {} },
    spec: { taints: parts.taints ?? [] },
    status: {
      conditions: [
        parts.notReadySince === undefined
          ? { type: 'Ready', status: 'True' }
          : {
              type: 'Ready',
              status: 'Unknown',
              lastTransitionTime: new Date(parts.notReadySince).toISOString(),
            },
      ],
    },
  };
}

/** The revision that the planner would create for the set's template. */
export function daemonRevisionFor(
  set: DaemonSet,
  existing: readonly ControllerRevision[] = [],
): ControllerRevision {
  const plan = planRevision(set, existing, LABEL.revisionHash);
  if (plan.outcome !== 'create') throw new Error(`expected a new revision, got ${plan.outcome}`);
  return asStored(plan.manifest);
}

export interface DaemonPodOptions {
  readonly ready?: boolean;
  /** Milliseconds since the epoch. */
  readonly readySince?: number;
  readonly phase?: 'Pending' | 'Running' | 'Succeeded' | 'Failed';
  readonly terminating?: boolean;
  /** Bound by the scheduler. @default true */
  readonly bound?: boolean;
  /** Told apart from another pod on the node. */
  readonly beside?: string;
  /** RFC 3339. */
  readonly created?: string;
}

/** A pod of the set on a node, as the planner would have made it; Ready unless told otherwise. */
export function daemonPodOn(
  set: DaemonSet,
  node: string,
  revision: ControllerRevision,
  options: DaemonPodOptions = {},
): Pod {
  const name = daemonPodName(set, node, revision, options.beside);
  const body = newDaemonPod(set, name, node, revision, true) as unknown as Pod;
  const since = new Date(options.readySince ?? NOW - 3_600_000).toISOString();
  return {
    ...body,
    metadata: {
      ...body.metadata,
      uid: `uid-${name}`,
      resourceVersion: '10',
      creationTimestamp: options.created ?? '2025-12-31T00:00:00Z',
      ...(options.terminating === true && { deletionTimestamp: new Date(NOW).toISOString() }),
    },
    spec: { ...body.spec, ...(options.bound !== false && { nodeName: node }) },
    status: {
      phase: options.phase ?? 'Running',
      conditions: [
        { type: 'InPlaceUpdateReady', status: 'True', lastTransitionTime: since },
        { type: 'Ready', status: (options.ready ?? true) ? 'True' : 'False', lastTransitionTime: since },
      ],
    },
  };
}

export function daemonSnapshotOf(
  workload: DaemonSet,
  parts: Partial<Omit<Snapshot<DaemonSet>, 'workload'>> = {},
): Snapshot<DaemonSet> {
  return {
    workload,
    revisions: [],
    pods: [],
    claims: [],
    nodes: [],
    downNodes: new Map(),
    refusals: new Map(),
    ...parts,
  };
}

/** A set in the middle of its life: `old` is what its pods are at, `set` has the new template. */
export function daemonRolloutOf(overrides: Partial<DaemonSet> = {}): {
  readonly set: DaemonSet;
  readonly old: ControllerRevision;
  readonly update: ControllerRevision;
  readonly revisions: readonly ControllerRevision[];
} {
  const old = daemonRevisionFor(daemonSetOf({ ...overrides, template: templateOf('agent:1') }));
  const set = daemonSetOf({ template: templateOf('agent:2'), generation: 2, ...overrides });
  const update = daemonRevisionFor(set, [old]);
  return { set, old, update, revisions: [old, update] };
}
