/** Inputs, results, the query and a signal of the rolling update workflow; its other signals are those of a rollout. */

import { defineQuery, defineSignal } from '@temporalio/workflow';

import type { UpdatePeriod } from '../planners/rolling-update-period.ts';
import type { UpdateEnding, UpdateProgress, UpdateReason } from '../planners/rolling-update-steps.ts';
import type { OperatorMessage } from './messages.ts';
import { readOperatorMessage, rolloutWorkflowPrefix } from './messages.ts';
import type { SearchAttributeName } from './search-attributes.ts';

export const ROLLING_UPDATE_WORKFLOW = 'rollingUpdate';

/** Why there is a run: the commit that brought the template, or who else did. */
export interface UpdateCause {
  readonly commit?: string;
  readonly repository?: string;
  readonly by?: string;
  readonly reason?: string;
}

/** What whoever begins an update, or attaches to one, tells the run that is open. */
export interface UpdateCall extends UpdateCause {
  /** Name of the next controller, where it was given: another one may be asked for than by the update before. */
  readonly next?: string;
}

export interface RollingUpdateInput extends UpdateCall {
  readonly cluster: string;
  /** uid of the kube-system namespace: activities of another cluster refuse (design "Two clusters, one Temporal"). */
  readonly clusterUid: string;
  readonly namespace: string;
  /** Name of the controller that is replaced. */
  readonly name: string;
  readonly searchAttributes: readonly SearchAttributeName[];
  /** Continue-as-new after this many events. @default the server's suggestion */
  readonly historyLimit?: number;
  /** Set by continue-as-new only. */
  readonly carried?: {
    readonly startedAt: string;
    readonly steps: number;
    readonly record?: string;
    /** The update period that runs, if one was broken off by a wish. */
    readonly period?: UpdatePeriod;
    /** An update with another next controller, begun since. */
    readonly begun?: UpdateCall;
  };
}

export type RollingUpdateOutcome = UpdateEnding;

export interface RollingUpdateResult {
  readonly outcome: RollingUpdateOutcome;
  /** Writes of this run. */
  readonly steps: number;
}

export interface RollingUpdateView {
  readonly namespace: string;
  readonly name: string;
  readonly startedAt: string;
  /** Writes of this run. */
  readonly steps: number;
  /** The newest of them, in sentences. */
  readonly written: readonly string[];
  readonly progress: UpdateProgress | undefined;
  readonly waiting: readonly UpdateReason[];
  readonly paused?: OperatorMessage;
}

/**
 * Whoever has written an update down relies on the run that is open: also on one that is just closing, and has looked at the
 * objects for the last time.
 */
export const updateBegunSignal = defineSignal<[UpdateCall]>('updateBegun');

/** The payload of {@link updateBegunSignal}, as far as it is one. */
export function readUpdateCall(payload: unknown): UpdateCall {
  const call: { commit?: unknown; repository?: unknown; next?: unknown } =
    typeof payload === 'object' && payload !== null ? payload : {};
  const { by, reason } = readOperatorMessage(payload);
  const { commit, repository, next } = call;
  return {
    ...(typeof commit === 'string' && { commit }),
    ...(typeof repository === 'string' && { repository }),
    ...(by !== undefined && { by }),
    ...(reason !== undefined && { reason }),
    ...(typeof next === 'string' && { next }),
  };
}

export const rollingUpdateQuery = defineQuery<RollingUpdateView>('progress');

/** `rollout/<cluster>/<namespace>/ReplicationController.core/<name>`: Temporal lets only one update of a controller run. */
export function rollingUpdateWorkflowId(
  cluster: string,
  { namespace, name }: { readonly namespace: string; readonly name: string },
): string {
  return `${rolloutWorkflowPrefix(cluster)}${namespace}/ReplicationController.core/${name}`;
}
