/** One word for how a workload is, from its object alone: conditions (kstatus) first, counters where there are none. */

import { isPinOver, isPinSpent } from '../kubernetes/template-change.ts';
import { readPaused, readPinned } from '../kubernetes/wish-annotations.ts';
import type { WorkloadObject } from '../kubernetes/workload-edit.ts';
import { trusted } from '../kubernetes/values.ts';
import { DEADLINE_WISHER } from '../planners/names.ts';
import type { Condition } from '../planners/objects.ts';
import type { ReasonCode } from '../planners/plan.ts';
import { describeDeletion } from '../planners/pod-reasons.ts';
import { describePin } from '../planners/reasons.ts';
import { normaliseTemplate } from '../planners/template-defaults.ts';
import type { Pin, Wish } from '../planners/workload.ts';

/** Ready: nothing more is to be done. Stalled: only somebody's action changes anything. Pending: no controller has seen it. */
export type WorkloadState = 'Ready' | 'Progressing' | 'Paused' | 'Stalled' | 'Pending' | 'Terminating';

export interface StateOfWorkload {
  readonly state: WorkloadState;
  /** CamelCase; empty when there is nothing to add. */
  readonly reason: string;
  /** A sentence, or empty. */
  readonly message: string;
}

/** Counters of `.status` and the wanted number, with what absent fields mean. */
export interface Counters {
  readonly desired: number;
  readonly current: number;
  readonly ready: number;
  readonly updated: number;
  readonly available: number;
}

/** The state, in the order in which an operator wants to know: a stall before a pause before progress. */
export function stateOfWorkload(object: WorkloadObject): StateOfWorkload {
  const { metadata } = object;
  if (metadata.deletionTimestamp !== undefined) {
    return {
      state: 'Terminating',
      reason: 'Deleting',
      message: `the workload ${describeDeletion({ metadata })}`,
    };
  }
  const stalled = stalledOf(object);
  if (stalled !== undefined) {
    return { state: 'Stalled', ...words(stalled) };
  }
  const paused = pausedOf(object);
  if (paused !== undefined) {
    return { state: 'Paused', reason: 'Paused', message: describeWish(paused) };
  }
  if (!isObserved(object)) {
    const waiting = reconcilingOf(object);
    if (waiting !== undefined) return { state: 'Progressing', ...words(waiting) };
    return object.status?.['observedGeneration'] === undefined
      ? { state: 'Pending', reason: 'NotObserved', message: 'no controller has looked at it yet' }
      : {
          state: 'Progressing',
          reason: 'SpecNotObserved',
          message: 'the last change has not been observed yet',
        };
  }
  const ready = conditionOf(object, 'Ready');
  if (ready !== undefined) {
    return ready.status === 'True'
      ? { state: 'Ready', ...pinOf(object) }
      : { state: 'Progressing', ...words(conditionOf(object, 'Reconciling') ?? ready) };
  }
  return byCounters(object);
}

/** It is well, and not as git has it. */
function pinOf(object: WorkloadObject): { readonly reason: string; readonly message: string } {
  const pin = pinnedOf(object);
  return pin === undefined ? { reason: '', message: '' } : { reason: 'Pinned', message: describePin(pin) };
}

/** The pin, while it says anything: what does not come from git is pinned until it gets another template. */
export function pinnedOf(object: WorkloadObject): Pin | undefined {
  return pinUnless(isPinSpent, object);
}

/**
 * The pin of the rollback that brought the present template, if one did: of a deadline, or of somebody who has turned round what a verb
 * waits for since it has begun.
 * @param begun {@link WorkloadObject} as the verb found it
 */
export function rollbackSince(begun: WorkloadObject, object: WorkloadObject): Pin | undefined {
  const pin = pinUnless(isPinOver, object);
  if (pin === undefined || pin.verb === 'deadline') return pin;
  // Whoever waits for the way back has seen its pin at the beginning.
  const before = begun.metadata.uid === object.metadata.uid ? begun : undefined;
  return readPinned(before?.metadata.annotations)?.at === pin.at ? undefined : pin;
}

function pinUnless(isPast: typeof isPinOver, { metadata, spec }: WorkloadObject): Pin | undefined {
  const { annotations = {} } = metadata;
  const pin = readPinned(annotations);
  return pin !== undefined && isPast(annotations, pin, normaliseTemplate(spec.template)) ? undefined : pin;
}

/** `by alice: db alarm`; what is not known is left out. */
export function describeWish({ by, reason }: Wish): string {
  return [by === undefined ? '' : `by ${by}`, reason ?? ''].filter((part) => part !== '').join(': ');
}

/** The pause on the object, if any. */
export function pausedOf(object: WorkloadObject): Wish | undefined {
  return readPaused(object.metadata.annotations, object.spec.paused);
}

/** Whether only somebody's action changes anything: a stall, or the pause that its deadline has set. One who waits for its end gives up. */
export function isStuck(object: WorkloadObject): boolean {
  const { state } = stateOfWorkload(object);
  return state === 'Stalled' || (state === 'Paused' && pausedOf(object)?.by === DEADLINE_WISHER);
}

/** Whether the controller has seen the present spec. */
export function isObserved({ metadata, status }: WorkloadObject): boolean {
  const observed = status?.['observedGeneration'];
  return typeof observed === 'number' && observed >= (metadata.generation ?? 0);
}

const REVISION_MISSING = 'RevisionMissing' satisfies ReasonCode;
/**
 * What a template without a revision waits for: until it has one, `observedGeneration` stays behind, so that nobody takes the rollout
 * before for this one.
 */
const BEFORE_REVISION: ReadonlySet<string> = new Set<ReasonCode>([
  'TemporalUnreachable',
  'TemporalRefused',
  REVISION_MISSING,
  'CreateRefused',
]);

/** What the controller says that the present spec waits for; undefined where that is of an earlier one, or nothing. */
export function reconcilingOf(object: WorkloadObject): Condition | undefined {
  const condition = conditionOf(object, 'Reconciling');
  if (condition?.status !== 'True') return undefined;
  return isObserved(object) || BEFORE_REVISION.has(condition.reason ?? '') ? condition : undefined;
}

/**
 * The stall of the present spec, if any. Of a template without a revision it counts too, as long as the controller says that its run is
 * to create one: no run does any more.
 */
export function stalledOf(object: WorkloadObject): Condition | undefined {
  const condition = conditionOf(object, 'Stalled');
  if (condition?.status !== 'True') return undefined;
  return isObserved(object) || reconcilingOf(object)?.reason === REVISION_MISSING ? condition : undefined;
}

/** A condition by its type. */
export function conditionOf(object: WorkloadObject, type: string): Condition | undefined {
  return conditionsOf(object).find((condition) => condition.type === type);
}

/** All conditions of the object. */
export function conditionsOf({ status }: WorkloadObject): readonly Condition[] {
  return trusted<readonly Condition[]>(status?.['conditions'] ?? []);
}

/** What the object itself counts. */
export function countersOf({ spec, status }: WorkloadObject): Counters {
  // What runs on nodes has no `replicas`: the nodes that should run a pod are counted by the status alone.
  if (spec['replicas'] === undefined && status?.['desiredNumberScheduled'] !== undefined) {
    return {
      desired: number(status['desiredNumberScheduled'], 0),
      current: number(status['currentNumberScheduled'], 0),
      ready: number(status['numberReady'], 0),
      updated: number(status['updatedNumberScheduled'], 0),
      available: number(status['numberAvailable'], 0),
    };
  }
  return {
    desired: number(spec['replicas'], 1),
    current: number(status?.['replicas'], 0),
    ready: number(status?.['readyReplicas'], 0),
    updated: number(status?.['updatedReplicas'], 0),
    available: number(status?.['availableReplicas'], 0),
  };
}

/** For objects that another controller keeps, which writes no such conditions. */
function byCounters(object: WorkloadObject): StateOfWorkload {
  const { desired, current, ready, updated } = countersOf(object);
  const partition = partitionOf(object);
  if (current === desired && ready >= desired && updated >= desired - partition) {
    return { state: 'Ready', reason: '', message: '' };
  }
  const message = `${String(updated)} of ${String(desired)} updated, ${String(ready)} ready`;
  return { state: 'Progressing', reason: 'Progressing', message };
}

/** `spec.updateStrategy.rollingUpdate.partition`; 0 when absent. */
function partitionOf({ spec }: WorkloadObject): number {
  const strategy = trusted<{ readonly rollingUpdate?: { readonly partition?: unknown } } | undefined>(
    spec['updateStrategy'],
  );
  return number(strategy?.rollingUpdate?.partition, 0);
}

function words({ reason, message }: Condition): { readonly reason: string; readonly message: string } {
  return { reason: reason ?? '', message: message ?? '' };
}

function number(value: unknown, absent: number): number {
  return typeof value === 'number' ? value : absent;
}
