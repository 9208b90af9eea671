/**
 * The table of kinds: everything that the engine (controllers, activities, verbs) needs to know of one kind. A new kind is
 * one planner, one adapter and an entry here.
 */

import type {
  ControllerRevision,
  JsonObject,
  KubernetesObject,
  PersistentVolumeClaim,
} from '../planners/objects.ts';
import { planReplicaSetRevision } from '../planners/deployment-revision.ts';
import { planDeployment } from '../planners/deployment.ts';
import { planDaemonSet } from '../planners/daemonset.ts';
import { LABEL } from '../planners/names.ts';
import type { Plan } from '../planners/plan.ts';
import { planRevision } from '../planners/revision-plan.ts';
import type { RevisionPlan } from '../planners/revision.ts';
import { claimBelongsTo } from '../planners/statefulset-claims.ts';
import { planStatefulSetRevision } from '../planners/statefulset-revision.ts';
import { planStatefulSet } from '../planners/statefulset.ts';
import type {
  DaemonSet,
  Deployment,
  Snapshot,
  StatefulSet,
  Workload,
  WorkloadKind,
} from '../planners/workload.ts';
import { readDaemonSet } from './daemonset-adapter.ts';
import { readDeployment } from './deployment-adapter.ts';
import { CONTROLLER_REVISIONS, REPLICA_SETS } from './revision-store.ts';
import type { RevisionStore } from './revision-store.ts';
import { readStatefulSet } from './statefulset-adapter.ts';
import { trusted } from './values.ts';
import type { WorkloadApi } from './workload-api.ts';

/** `.status` as far as the engine reads and writes it for any kind. */
export interface WorkloadStatus {
  readonly observedGeneration?: number;
  readonly currentRevision?: string;
  readonly updateRevision?: string;
  readonly conditions?: readonly JsonObject[];
}

/** What one kind is. `W` is its view; the engine only ever passes it back. */
export interface KindDefinition<W extends Workload> {
  readonly kind: WorkloadKind;
  readonly read: (object: KubernetesObject, api: WorkloadApi) => W;
  readonly plan: (snapshot: Snapshot<W>, now: number) => Plan<object>;
  readonly history: RevisionStore;
  /** What `createRevision` has to do for the present template. `taken` are names of revisions that belong to others. */
  readonly planRevision: (
    workload: W,
    revisions: readonly ControllerRevision[],
    taken?: ReadonlySet<string>,
  ) => RevisionPlan;
  /** Its pods are placed by node: the planner needs all nodes, and is asked again when one changes (D25). */
  readonly runsOnNodes: boolean;
  /** Other pods leave a node before its pod is replaced: the planner needs those, and is asked again when one goes. */
  readonly drains: (workload: W) => boolean;
  /** It has pods beside those that its selector matches. */
  readonly hasHelpers: (workload: W) => boolean;
  readonly hasClaims: (workload: W) => boolean;
  /** Claims are found by name. */
  readonly ownsClaim: (workload: W, claim: PersistentVolumeClaim) => boolean;
}

const STATEFULSET: KindDefinition<StatefulSet> = {
  kind: 'StatefulSet',
  read: readStatefulSet,
  plan: planStatefulSet,
  history: CONTROLLER_REVISIONS,
  planRevision: planStatefulSetRevision,
  runsOnNodes: false,
  drains: () => false,
  hasHelpers: () => false,
  hasClaims: (workload) => workload.volumeClaimTemplates.length > 0,
  ownsClaim: claimBelongsTo,
};

const DAEMONSET: KindDefinition<DaemonSet> = {
  kind: 'DaemonSet',
  read: readDaemonSet,
  plan: planDaemonSet,
  history: CONTROLLER_REVISIONS,
  planRevision: (workload, revisions, taken) => planRevision(workload, revisions, LABEL.revisionHash, taken),
  runsOnNodes: true,
  drains: ({ drain }) => drain !== undefined,
  hasHelpers: ({ prePull }) => prePull !== undefined,
  hasClaims: () => false,
  ownsClaim: () => false,
};

const DEPLOYMENT: KindDefinition<Deployment> = {
  kind: 'Deployment',
  read: readDeployment,
  plan: planDeployment,
  history: REPLICA_SETS,
  planRevision: planReplicaSetRevision,
  runsOnNodes: false,
  drains: () => false,
  hasHelpers: () => false,
  hasClaims: () => false,
  ownsClaim: () => false,
};

/** A definition whose view type is hidden, so that the engine treats all kinds alike. */
export type AnyKind = KindDefinition<Workload>;

export const WORKLOAD_KINDS: Readonly<Record<WorkloadKind, AnyKind>> = {
  StatefulSet: trusted<AnyKind>(STATEFULSET),
  DaemonSet: trusted<AnyKind>(DAEMONSET),
  Deployment: trusted<AnyKind>(DEPLOYMENT),
};

/** Whether ReplicaSets stand between the workload and its pods. */
export function hasReplicaSets({ history }: Pick<AnyKind, 'history'>): boolean {
  return history === REPLICA_SETS;
}
