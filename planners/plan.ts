/** What a planner answers. One shape for every kind: a controller and a rollout execute it without knowing the kind. */

import type { OwnConditions } from './conditions.ts';
import type { JsonObject } from './objects.ts';

/** The plural resources that plans write to. */
export type WritableResource =
  'pods' | 'persistentvolumeclaims' | 'controllerrevisions' | 'replicasets' | 'nodes';

/**
 * One API write with its preconditions. Creates are idempotent by name: AlreadyExists counts as done only for an object
 * that is controlled by the same owner uid and at the same revision.
 */
export interface Action {
  readonly verb: 'create' | 'delete' | 'patch';
  readonly resource: WritableResource;
  readonly subresource?: 'status' | 'resize' | 'eviction';
  /** @default the workload's */
  readonly namespace?: string;
  readonly name: string;
  /** Precondition of every delete and patch. */
  readonly uid?: string;
  /** Second precondition where the object's state decided (a stale read must not act). */
  readonly resourceVersion?: string;
  /** The object to create, or the patch. */
  readonly body?: JsonObject;
  /** @default 'strategic' for pods, 'merge' otherwise */
  readonly patchType?: 'strategic' | 'merge' | 'json';
  /**
   * Patch of the pod's resize subresource that a later write of the same update needs: tried first without effect (dry run). What the
   * apiserver refuses then, it has refused before the pod is out of service.
   */
  readonly rehearsal?: JsonObject;
  /** Patch of the pod that is the next write of the same update: tried likewise, once for each {@link revision}, for no pod differs in that. */
  readonly trial?: JsonObject;
  /**
   * The pod that comes in the place of the one that is deleted. Its creation is tried likewise, once for each {@link revision}: no pod goes for
   * one that could never come.
   */
  readonly successor?: JsonObject;
  readonly purpose: Purpose;
  /** What the pod is there for, where its name does not tell it: the node of a daemon pod. @default the name */
  readonly place?: string;
  /** Name of the revision that the write brings a pod to. */
  readonly revision?: string;
  /** What the label of a pod that goes because it has finished gives as its revision: see {@link PlaceFailures}. */
  readonly finishedRevision?: string;
  /** One sentence for events and logs: what this write does and why. Never holds a value from a Secret. */
  readonly message: string;
  /** Bookkeeping alone: no event tells that it was done. */
  readonly untold?: boolean;
  /** The pod was Ready in the snapshot, so the write takes one from the budget (design "Budget"). */
  readonly charged?: boolean;
  /** How many pods it makes or takes: more than one where a ReplicaSet gets another size. @default 1 */
  readonly pods?: number;
  /** How a run names it. @default the name */
  readonly label?: string;
}

/** Why a write happens; also the label of metrics. `as const` so that switches are checked. */
export const PURPOSES = [
  'ScaleUp',
  'ScaleDown',
  'ReplaceFinished',
  'FixIdentity',
  'Adopt',
  'Release',
  'CreateClaim',
  'RetainClaim',
  'TrimHistory',
  'OpenGate',
  'InPlaceBegin',
  'InPlaceApply',
  'InPlaceFinish',
  'InPlaceWithdraw',
  'Recreate',
  'Surge',
  'Cordon',
  'Evict',
  'Uncordon',
  'PrePull',
  'PrePullDone',
  'ScaleReplicaSet',
  'GrowReplicaSet',
  'ShrinkReplicaSet',
  'AnnotateReplicaSet',
  'MarkComplete',
] as const;
export type Purpose = (typeof PURPOSES)[number];

/** Why nothing (more) happens, as data: feeds conditions, events, the query and `fairlead explain`. */
export interface Reason {
  readonly code: ReasonCode;
  /** One sentence in English, naming objects and amounts. */
  readonly message: string;
  /** Pods concerned, at most 10 names. */
  readonly pods?: readonly string[];
  /** Milliseconds since the epoch at which this reason ends by itself. */
  readonly until?: number;
}

export type ReasonCode =
  | 'TemporalUnreachable'
  | 'TemporalRefused'
  | 'RevisionMissing'
  | 'Paused'
  | 'Pinned'
  | 'BudgetUsed'
  | 'PodNotReady'
  | 'PodTerminating'
  | 'TerminationHeld'
  | 'LeftoverHeld'
  | 'TerminationOverdue'
  | 'MinReadySeconds'
  | 'Partition'
  | 'NodeSelector'
  | 'TopologyOrder'
  | 'NodesIgnored'
  | 'NodesAwaited'
  | 'Draining'
  | 'DrainTaken'
  | 'DrainTimedOut'
  | 'DrainBlind'
  | 'PrePulling'
  | 'PrePullLate'
  | 'OnDelete'
  | 'ScalingFirst'
  | 'CreateRefused'
  | 'WriteRefused'
  | 'DrainBlocked'
  | 'NameTaken'
  | 'NameLeaving'
  | 'InvalidField'
  | 'ClaimTerminating'
  | 'ClaimStale'
  | 'ClaimOwners'
  | 'ClaimConflict'
  | 'ClaimMissing'
  | 'RevisionAltered'
  | 'ScaleUpWaits'
  | 'ScaleDownWaits'
  | 'InPlaceGrace'
  | 'InPlaceRestarting'
  | 'InPlaceImpossible'
  | 'ResizePending'
  | 'ResizeRefused'
  | 'NodeDown'
  | 'NodeGone'
  | 'SelectorEmpty'
  | 'Deleting';

/** Counters of a rollout: what "progress" means for deadlines (P18) and what the Temporal UI shows. */
export interface Progress {
  /** Pods that the present strategy wants at the update revision. */
  readonly target: number;
  /** Of those: at the update revision. */
  readonly updated: number;
  /** Of those: Ready. */
  readonly updatedReady: number;
  /** Of those: available (minReadySeconds past, no in-place update pending). */
  readonly updatedAvailable: number;
  /** All pods wanted, any revision. */
  readonly desired: number;
  readonly ready: number;
  readonly available: number;
  readonly unavailable: number;
  readonly maxUnavailable: number;
}

export interface Plan<Status> {
  /** Writes of the steady state: due now, at any time, whether or not a rollout runs. */
  readonly steady: readonly Action[];
  /**
   * Writes of the rollout that are legal at this moment. Empty while `steady` holds a write that can run now
   * ("scaling before updating", D11, S9), while paused, and while no revision exists for the template.
   */
  readonly batch: readonly Action[];
  /** The complete new `.status` (without what only the controller knows, such as the deadline). */
  readonly status: Status;
  readonly progress: Progress;
  readonly waiting: readonly Reason[];
  /** Milliseconds since the epoch at which the plan changes by time alone. */
  readonly requeueAt?: number;
  /** No revision exists for the template, or a pod that may be touched under the present strategy is not at it. */
  readonly needsRollout: boolean;
  /** Nothing more is to be done under the present strategy: a run may close as Succeeded. */
  readonly finished: boolean;
  /** No pod is left over from a larger size, and the apiserver refuses no write of the steady state, but for a note. */
  readonly settled: boolean;
  /** Name of the revision of the present template; absent until it is created. */
  readonly updateRevision?: string;
  /** Conditions and words of a kind that has its own. */
  readonly conditions?: OwnConditions;
  /** Annotations that the workload itself is to have, written with its status (P4); null = it is to be removed. */
  readonly annotations?: Readonly<Record<string, string | null>>;
}

/** A write that the apiserver refused, kept by the executor so that the planner can step around it. */
export interface Refusal {
  /** Milliseconds since the epoch of the first refusal in a row. */
  readonly since: number;
  /** Not to be tried before. */
  readonly retryAt: number;
  readonly message: string;
  /** {@link Action.revision} of the write: what was refused at one revision may pass at another. */
  readonly revision?: string;
  /** uid of the pod that the apiserver does not resize so, however often it is tried. */
  readonly unresizable?: string;
  /** The name is that of somebody else's pod, which stays or is being deleted. */
  readonly taken?: 'stays' | 'leaves';
}

/** Key of an action in the table of refusals. */
export function actionKey({
  verb,
  resource,
  subresource,
  namespace,
  name,
}: Pick<Action, 'verb' | 'resource' | 'subresource' | 'namespace' | 'name'>): string {
  const path = [resource, namespace, name].filter((part) => part !== undefined).join('/');
  return subresource === 'eviction' ? `evict ${path}` : `${verb} ${path}`;
}

/** The longest back-off of a refused write, milliseconds. */
export const LONGEST_REFUSAL_MS = 60_000;

/** Whether `at` is still to come. What is further off than the longest wait, milliseconds, is of a clock that was set back: it holds nothing. */
export function isAhead(at: number, now: number, longest: number): boolean {
  return at > now && at - now <= longest;
}
