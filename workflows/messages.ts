/** Inputs, results, signals and queries of the rollout workflow; imported by clients without pulling in workflow code. */

import { defineQuery, defineSignal } from '@temporalio/workflow';

import type { RolloutOutcome } from '../activities/rollout-types.ts';
import type { Progress, Reason } from '../planners/plan.ts';
import type { OnDeadline, WorkloadRef } from '../planners/workload.ts';
import type { SearchAttributeName } from './search-attributes.ts';

export const ROLLOUT_WORKFLOW = 'rollout';

export interface RolloutInput {
  readonly cluster: string;
  /** uid of the kube-system namespace: activities of another cluster refuse (design "Two clusters, one Temporal"). */
  readonly clusterUid: string;
  readonly workload: WorkloadRef;
  /** Hash of the template that this run brings about. */
  readonly target: string;
  /** As it was at the start; what the object says when the deadline passes holds. */
  readonly onDeadline: OnDeadline;
  /** Why there is this run: the commit that brought the template, */
  readonly commit?: string;
  readonly repository?: string;
  /** or who else did, and how. */
  readonly by?: string;
  readonly reason?: string;
  /** Time of the pin that the object had at the start: who has set it then had another run in mind. */
  readonly pinnedBefore?: string;
  readonly searchAttributes: readonly SearchAttributeName[];
  /** Continue-as-new after this many events. @default the server's suggestion */
  readonly historyLimit?: number;
  /** What an earlier execution of this run had reached; set by continue-as-new only. */
  readonly carried?: CarriedState;
}

export interface CarriedState {
  readonly revision: string;
  readonly batches: number;
  readonly startedAt: string;
  readonly deadlineReported: boolean;
}

/** Values of the search attribute RolloutPhase. */
export type RolloutPhase = 'Progressing' | 'Paused' | 'RollingBack' | RolloutOutcome;

export interface RolloutResult {
  readonly outcome: RolloutOutcome;
  readonly revision: string | undefined;
  readonly batches: number;
  readonly by?: string;
  readonly reason?: string;
}

/** Optional payload of the operators' signals, so that a click in the Temporal UI is enough. */
export interface OperatorMessage {
  readonly by?: string;
  readonly reason?: string;
  /** The verb has written the object already: there is nothing to write, only something to see. */
  readonly onObject?: boolean;
}

/** Characters: who it was is part of summaries, which the server takes up to 400 bytes. */
const BY_LIMIT = 80;
const REASON_LIMIT = 500;

/**
 * The payload of an operator's signal as far as it is one: a click may send anything, and what a workflow does not expect would
 * wedge it. A mere text is the reason.
 */
export function readOperatorMessage(payload: unknown): OperatorMessage {
  if (typeof payload === 'string') return payload === '' ? {} : { reason: payload.slice(0, REASON_LIMIT) };
  if (typeof payload !== 'object' || payload === null) return {};
  const { by, reason, onObject }: { by?: unknown; reason?: unknown; onObject?: unknown } = payload;
  return {
    ...(typeof by === 'string' && { by: by.slice(0, BY_LIMIT) }),
    ...(typeof reason === 'string' && { reason: reason.slice(0, REASON_LIMIT) }),
    ...(onObject === true && { onObject }),
  };
}

export const pauseSignal = defineSignal<[OperatorMessage?]>('pause');
export const resumeSignal = defineSignal<[OperatorMessage?]>('resume');
export const abortSignal = defineSignal<[OperatorMessage?]>('abort');
/** From the controller to a paused run: the object has changed, look again. */
export const objectChangedSignal = defineSignal('objectChanged');

/** From the controller to a run that it is about to cancel: a cancellation without it is a click, which means pause. */
export const rolloutSupersededSignal = defineSignal('superseded');

export interface RolloutView {
  readonly workload: WorkloadRef;
  readonly phase: RolloutPhase;
  readonly revision: string | undefined;
  readonly batches: number;
  readonly startedAt: string;
  readonly progress: Progress | undefined;
  readonly waiting: readonly Reason[];
  readonly paused?: OperatorMessage;
}

export const progressQuery = defineQuery<RolloutView>('progress');

/** `rollout/<cluster>/<namespace>/<Kind>.<group>/<name>` */
export function rolloutWorkflowId(
  cluster: string,
  ref: Pick<WorkloadRef, 'namespace' | 'kind' | 'group' | 'name'>,
): string {
  return `${rolloutWorkflowPrefix(cluster)}${ref.namespace}/${ref.kind}.${ref.group}/${ref.name}`;
}

/** Takes such an id apart; undefined when it is not one of this cluster. */
export function readRolloutWorkflowId(
  cluster: string,
  workflowId: string,
): (Pick<WorkloadRef, 'namespace' | 'group' | 'name'> & { readonly kind: string }) | undefined {
  const prefix = rolloutWorkflowPrefix(cluster);
  const rest = workflowId.startsWith(prefix) ? workflowId.slice(prefix.length) : '';
  const [, namespace, kind, group, name] = /^([^/]+)\/([^/.]+)\.([^/]+)\/([^/]+)$/.exec(rest) ?? [];
  if (namespace === undefined || kind === undefined || group === undefined || name === undefined) {
    return undefined;
  }
  return { namespace, kind, group, name };
}

/** What the ids of all rollouts of a cluster begin with. */
export function rolloutWorkflowPrefix(cluster: string): string {
  return `rollout/${cluster}/`;
}

/** Workflow tasks: every replica. */
export function workflowTaskQueue(cluster: string): string {
  return `fairlead-${cluster}`;
}

/**
 * After how long Temporal gives a step of a workflow, which takes milliseconds, to another worker: what a killed one had in its hands goes
 * on when its Lease is free, too. Temporal's own default, ten seconds, would be the longest of all that is waited for.
 */
export const WORKFLOW_TASK_TIMEOUT_MS = 5_000;

/** Activities that plan or write: polled only by the holder of the Lease. */
export function leaderTaskQueue(cluster: string): string {
  return `fairlead-${cluster}-leader`;
}

/** Activities that only wait, hours long: polled by the same, beside the others, so that no number of them holds up one that plans or writes. */
export function waitsTaskQueue(cluster: string): string {
  return `fairlead-${cluster}-leader-waits`;
}
