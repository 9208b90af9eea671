/** A workload as planners see it: the same for `fairlead.dev` and `apps/v1` (the adapters in kubernetes/ make it). */

import type {
  Condition,
  ControllerRevision,
  JsonObject,
  LabelSelector,
  Node,
  ObjectMeta,
  PersistentVolumeClaim,
  Pod,
  PodTemplate,
  ReplicaSet,
} from './objects.ts';
import type { NodeFault } from './down-nodes.ts';
import type { Refusal } from './plan.ts';

export type WorkloadKind = 'StatefulSet' | 'DaemonSet' | 'Deployment';

/** `group` is `fairlead.dev` or `apps`. */
export interface WorkloadRef {
  readonly group: string;
  readonly version: string;
  readonly kind: WorkloadKind;
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
}

/** An operator's wish on the object (annotations `fairlead.dev/paused`, `fairlead.dev/retried`). */
export interface Wish {
  readonly by?: string;
  readonly reason?: string;
  /** RFC 3339. */
  readonly at?: string;
}

/** Annotation `fairlead.dev/pinned`: the manifest with this hash was rejected; sync leaves the object alone until it changes. */
export interface Pin extends Wish {
  /** Hash of the rejected manifest in git; absent when the object did not come from git. */
  readonly rejected?: string;
  /** Name of the rejected revision. */
  readonly revision?: string;
  /** Name of the revision gone back to. */
  readonly to?: string;
  readonly verb?: 'undo' | 'abort' | 'deadline';
}

export type OnDeadline = 'Report' | 'Pause' | 'Rollback';

/** What all kinds have. */
export interface Workload {
  readonly ref: WorkloadRef;
  readonly metadata: ObjectMeta;
  readonly generation: number;
  readonly deleting: boolean;
  readonly selector: LabelSelector;
  /** Defaulted and normalised as the apiserver would do for apps/v1, so that both APIs give the same revision bytes. */
  readonly template: PodTemplate;
  readonly minReadySeconds: number;
  readonly revisionHistoryLimit: number;
  /** `spec.paused` or the annotation; absent when not paused. */
  readonly paused?: Wish;
  /** The annotation is left over from a pause that was ended by taking back `spec.paused`. */
  readonly hasEndedPause?: boolean;
  readonly pinned?: Pin;
  /** The pin is not about a manifest in git, and another template has come since: it says nothing any more. */
  readonly isPinSpent?: boolean;
  readonly retried?: Wish;
  /** Seconds without progress after which `onDeadline` happens; absent = no deadline. */
  readonly progressDeadlineSeconds?: number;
  readonly onDeadline: OnDeadline;
  /** Number of a revision that an annotation asks to go back to, 0 = the one before (P6); Deployments alone have it. */
  readonly rollbackTo?: string;
}

export type PodUpdatePolicy = 'ReCreate' | 'InPlaceIfPossible' | 'InPlaceOnly';

export interface StatefulSet extends Workload {
  readonly replicas: number;
  /** First ordinal (spec.ordinals.start). */
  readonly start: number;
  readonly serviceName: string;
  readonly podManagementPolicy: 'OrderedReady' | 'Parallel';
  readonly updateStrategy: 'RollingUpdate' | 'OnDelete';
  /** Offset from `start` (S10). */
  readonly partition: number;
  /** As written: a number, or a percentage of replicas. */
  readonly maxUnavailable: number | string;
  readonly podUpdatePolicy: PodUpdatePolicy;
  readonly gracePeriodSeconds: number;
  readonly volumeClaimTemplates: readonly JsonObject[];
  readonly whenDeleted: 'Retain' | 'Delete';
  readonly whenScaled: 'Retain' | 'Delete';
  readonly status: StatefulSetStatus;
}

export interface StatefulSetStatus {
  readonly observedGeneration?: number;
  readonly replicas: number;
  readonly readyReplicas?: number;
  readonly availableReplicas?: number;
  readonly currentReplicas?: number;
  readonly updatedReplicas?: number;
  readonly currentRevision?: string;
  readonly updateRevision?: string;
  readonly collisionCount?: number;
  readonly conditions?: readonly Condition[];
  /** fairlead.dev only: serialised selector for the scale subresource. */
  readonly labelSelector?: string;
}

export type NotReadyNodes = 'Ignore' | 'Count';

export interface DaemonSet extends Workload {
  readonly updateStrategy: 'RollingUpdate' | 'OnDelete';
  /** As written: a number, or a percentage of the nodes that should run a pod. */
  readonly maxUnavailable: number | string;
  /** As written: a number, or a percentage of the nodes that should run a pod. */
  readonly maxSurge: number | string;
  /** Of the nodes that {@link nodeSelector} selects: so many keep the revision that they have. */
  readonly partition: number;
  /** Labels of the nodes that are updated; the others keep the revision that they have. Empty = all. */
  readonly nodeSelector: Readonly<Record<string, string>>;
  /** Label of nodes: those of one value are updated before those of the next begin. Absent = in one go. */
  readonly topologyKey?: string;
  /** Whether nodes that were not Ready before the rollout began use up the budget. */
  readonly notReadyNodes: NotReadyNodes;
  /** Other pods leave a node before its pod is replaced. Absent = they stay. */
  readonly drain?: { readonly timeoutSeconds: number };
  /** Images are pulled before pods are replaced, on so many nodes more than may be updated now. Absent = not before. */
  readonly prePull?: { readonly nodes: number; readonly timeoutSeconds: number };
  readonly podUpdatePolicy: PodUpdatePolicy;
  readonly gracePeriodSeconds: number;
  /** apps/v1 only: annotation `deprecated.daemonset.template.generation` (D4). */
  readonly templateGeneration?: string;
  readonly status: DaemonSetStatus;
}

export interface DaemonSetStatus {
  readonly observedGeneration?: number;
  readonly desiredNumberScheduled: number;
  readonly currentNumberScheduled: number;
  readonly numberMisscheduled: number;
  readonly numberReady: number;
  readonly updatedNumberScheduled?: number;
  readonly numberAvailable?: number;
  readonly numberUnavailable?: number;
  readonly collisionCount?: number;
  readonly conditions?: readonly Condition[];
}

/**
 * Whether a pod that is being deleted keeps its place until it is gone. Upstream has it planned (KEP-5882); as it is there now,
 * the place is free at once.
 */
export type PodReplacementPolicy = 'TerminationStarted' | 'TerminationComplete';

export interface Deployment extends Workload {
  readonly replicas: number;
  readonly strategy: 'RollingUpdate' | 'Recreate';
  /** As written: a number, or a percentage of replicas. */
  readonly maxUnavailable: number | string;
  /** As written: a number, or a percentage of replicas. */
  readonly maxSurge: number | string;
  readonly podReplacementPolicy: PodReplacementPolicy;
  readonly status: DeploymentStatus;
}

/** Counters that are 0 are absent, as apps/v1 serves them. */
export interface DeploymentStatus {
  readonly observedGeneration?: number;
  readonly replicas?: number;
  readonly updatedReplicas?: number;
  readonly readyReplicas?: number;
  readonly availableReplicas?: number;
  readonly unavailableReplicas?: number;
  readonly terminatingReplicas?: number;
  readonly collisionCount?: number;
  readonly conditions?: readonly Condition[];
  /** fairlead.dev only: serialised selector for the scale subresource. */
  readonly labelSelector?: string;
}

/** Pods of a place have failed again and again at one revision, known by their label: the next of that revision is left there for a while. */
export interface PlaceFailures {
  readonly revision: string;
  /** Milliseconds since the epoch. */
  readonly until: number;
}

/** The longest of {@link PlaceFailures}, milliseconds. */
export const LONGEST_FAILURE_MS = 15 * 60_000;

/** Everything a planner looks at. Children are those owned by the workload's uid plus orphans that match its selector. */
export interface Snapshot<W extends Workload> {
  readonly workload: W;
  readonly revisions: readonly ControllerRevision[];
  /** Of kinds whose pods are kept by ReplicaSets; the same objects as `revisions`, which show their templates. */
  readonly replicaSets?: readonly ReplicaSet[];
  /** Of a kind with ReplicaSets the pods of these. */
  readonly pods: readonly Pod[];
  /** Claims in the workload's namespace that belong to its volume claim templates (by name). */
  readonly claims: readonly PersistentVolumeClaim[];
  /** All nodes, for kinds that run on nodes. */
  readonly nodes?: readonly Node[];
  /**
   * Node → all pods on it, for nodes that are being drained for this workload; without an entry = not looked at. Undefined = pods of
   * other namespaces cannot be seen.
   */
  readonly neighbours?: ReadonlyMap<string, readonly Pod[]>;
  /** Of the nodes of its pods those that are gone or not Ready, for reasons. */
  readonly downNodes: ReadonlyMap<string, NodeFault>;
  readonly refusals: ReadonlyMap<string, Refusal>;
  /** Pods that a batch has deleted and that are not there again, by name: the name of the revision that they were deleted for. */
  readonly replaced?: ReadonlyMap<string, string>;
  /** Places (see {@link Action.place}) whose pods have failed (D7). */
  readonly failures?: ReadonlyMap<string, PlaceFailures>;
  /**
   * Milliseconds since the epoch since when the present template is known to have no revision. After 5 s missing pods come
   * back at the last revision that exists, so that pods are healed while Temporal is away.
   */
  readonly revisionMissingSince?: number;
  /** Why the apiserver does not take a revision for the present template, in its words. */
  readonly revisionRefused?: string;
}
