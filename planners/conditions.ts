/**
 * Conditions that every workload carries: kstatus' Ready, Reconciling and Stalled beside Progressing. The time of the last
 * progress is Progressing's `lastTransitionTime`, so that a deadline outlives the worker (P17–P19); apps/v1 StatefulSets have
 * no other field that would keep it (`lastUpdateTime` and `observedGeneration` are dropped there).
 */

import type { Condition } from './objects.ts';
import type { Reason, ReasonCode } from './plan.ts';
import type { Wish } from './workload.ts';

export interface ConditionInput {
  readonly previous: readonly Condition[];
  /** Nothing more is to be done under the present strategy. */
  readonly finished: boolean;
  /** A rollout is due, or its run is open: not so when a finished workload is scaled or loses a pod. */
  readonly rolling: boolean;
  /** Every wanted pod is available. */
  readonly allAvailable: boolean;
  /** A counter grew or the revision changed since the stored status (P18). */
  readonly progressed: boolean;
  readonly paused: Wish | undefined;
  /** A run that ended badly and is not started again by itself, or a fault that only a change of the object can mend. */
  readonly blocked: { readonly reason: string; readonly message: string } | undefined;
  readonly waiting: readonly Reason[];
  /** Seconds; undefined = no deadline. */
  readonly deadlineSeconds: number | undefined;
  /** Milliseconds since the epoch: what was before counts for no deadline, a rollout could not have gone on. */
  readonly clockFrom: number;
  /** A rollout cannot go on now. */
  readonly clockStopped: boolean;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

export interface ConditionResult {
  readonly conditions: readonly Condition[];
  readonly timedOut: boolean;
  /** Milliseconds since the epoch at which the deadline passes, if one is running. */
  readonly deadlineAt?: number;
}

/** Reasons of Progressing that a rollout which has begun keeps until it is finished. */
const UNDER_WAY: ReadonlySet<string> = new Set([
  'RolloutProgressing',
  'RolloutPaused',
  'ProgressDeadlineExceeded',
]);
const OURS = new Set(['Ready', 'Reconciling', 'Stalled', 'Progressing']);

/** Computes the four conditions; foreign ones are kept as they are. Nothing changes when called again with its own result. */
export function computeConditions(input: ConditionInput): ConditionResult {
  const progress = progressing(input);
  const stalled = input.blocked ?? (progress.timedOut ? deadlineExceeded(input) : undefined);
  const why = whyNotReady(input);
  const wanted: Condition[] = [
    stalled === undefined
      ? { type: 'Stalled', status: 'False', reason: 'NotStalled' }
      : { type: 'Stalled', status: 'True', ...stalled },
    input.finished && input.allAvailable
      ? { type: 'Reconciling', status: 'False', reason: 'Reconciled' }
      : { type: 'Reconciling', status: 'True', ...why },
    input.finished && input.allAvailable && stalled === undefined
      ? {
          type: 'Ready',
          status: 'True',
          reason: 'RolloutComplete',
          message: 'all pods are at the wanted revision and available',
        }
      : { type: 'Ready', status: 'False', ...(stalled ?? why) },
  ];
  const kept = input.previous.filter((condition) => !OURS.has(condition.type));
  return {
    conditions: [...kept, progress.condition, ...wanted.map((condition) => transition(condition, input))],
    timedOut: progress.timedOut,
    ...(progress.deadlineAt !== undefined && { deadlineAt: progress.deadlineAt }),
  };
}

interface ProgressingResult {
  readonly condition: Condition;
  readonly timedOut: boolean;
  readonly deadlineAt?: number;
}

/**
 * P17–P19: sticky once timed out, until progress; a pause stops the clock, and so does what keeps every rollout from going on.
 * After a finished rollout progress is not estimated at all until another one begins: scaling and crashes never time out.
 */
function progressing(input: ConditionInput): ProgressingResult {
  const previous = input.previous.find((condition) => condition.type === 'Progressing');
  const nowText = timestamp(input.now);
  const since = previous?.lastTransitionTime;
  const isUnderWay = input.rolling || UNDER_WAY.has(previous?.reason ?? '');
  if (input.finished || !isUnderWay) {
    const done = { type: 'Progressing', status: 'True', reason: 'RolloutComplete' } as const;
    const lastTransitionTime =
      previous?.reason === 'RolloutComplete' && since !== undefined ? since : nowText;
    return { condition: { ...done, lastTransitionTime }, timedOut: false };
  }
  if (input.paused !== undefined) {
    const paused = { type: 'Progressing', status: 'Unknown', reason: 'RolloutPaused' } as const;
    const lastTransitionTime = previous?.reason === 'RolloutPaused' && since !== undefined ? since : nowText;
    return { condition: { ...paused, lastTransitionTime }, timedOut: false };
  }
  const timedOutBefore = previous?.reason === 'ProgressDeadlineExceeded';
  const running = previous?.reason === 'RolloutProgressing' || timedOutBefore;
  const last = input.progressed || !running || since === undefined ? nowText : since;
  const isTooEarly = Date.parse(last) < input.clockFrom && !timedOutBefore;
  const lastTransitionTime = isTooEarly ? timestamp(input.clockFrom) : last;
  const deadlineAt =
    input.deadlineSeconds === undefined || (input.clockStopped && !timedOutBefore)
      ? undefined
      : Date.parse(lastTransitionTime) + input.deadlineSeconds * 1000;
  const timedOut = deadlineAt !== undefined && deadlineAt <= input.now;
  const condition: Condition = timedOut
    ? { type: 'Progressing', status: 'False', ...deadlineExceeded(input) }
    : { type: 'Progressing', status: 'True', reason: 'RolloutProgressing' };
  return {
    condition: { ...condition, lastTransitionTime },
    timedOut,
    ...(deadlineAt !== undefined && !timedOut && { deadlineAt }),
  };
}

function deadlineExceeded(input: ConditionInput): { readonly reason: string; readonly message: string } {
  return {
    reason: 'ProgressDeadlineExceeded',
    message: `no progress for ${String(input.deadlineSeconds)} s: ${whyNotReady(input).message}`,
  };
}

/** What follows from something else that is waited for: an operator wants to read that. */
const CONSEQUENCES: ReadonlySet<ReasonCode> = new Set([
  'BudgetUsed',
  'ScalingFirst',
  'Partition',
  'OnDelete',
  'Pinned',
]);

/** The first reason. Its words do not change by the second: the time that is left is only told by who is asked. */
function whyNotReady(input: ConditionInput): { readonly reason: string; readonly message: string } {
  if (input.paused !== undefined) {
    const { by, reason } = input.paused;
    return {
      reason: 'Paused',
      message: `paused${by === undefined ? '' : ` by ${by}`}${reason === undefined ? '' : `: ${reason}`}`,
    };
  }
  const first = input.waiting.find(({ code }) => !CONSEQUENCES.has(code)) ?? input.waiting[0];
  if (first === undefined) {
    return { reason: 'Progressing', message: 'pods are being brought to the wanted state' };
  }
  return { reason: first.code, message: first.message };
}

function transition(condition: Condition, input: ConditionInput): Condition {
  const previous = input.previous.find((one) => one.type === condition.type);
  const same = previous?.status === condition.status && previous.lastTransitionTime !== undefined;
  return {
    ...condition,
    lastTransitionTime: same ? previous.lastTransitionTime : timestamp(input.now),
  };
}

function timestamp(milliseconds: number): string {
  return new Date(milliseconds).toISOString().replace(/\.\d{3}Z$/, 'Z');
}
