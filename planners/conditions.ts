/**
 * Conditions that every workload carries: kstatus' Ready, Reconciling and Stalled beside Progressing. The time of the last
 * progress is Progressing's `lastTransitionTime`, so that a deadline outlives the worker (P17–P19); apps/v1 StatefulSets have
 * no other field that would keep it (`lastUpdateTime` and `observedGeneration` are dropped there).
 */

import type { Condition } from './objects.ts';
import type { Reason, ReasonCode } from './plan.ts';
import type { Wish } from './workload.ts';

/** What a condition says beside its status. */
export interface Words {
  readonly reason: string;
  readonly message?: string;
}

/** What Progressing says. */
interface ProgressWords {
  /** The first name that these words hold in quotes. */
  readonly about?: string;
  /** Of a rollout that has begun and not come further yet. */
  readonly begun: Words;
  readonly progressing: Words;
  readonly complete: Words;
  readonly paused: Words;
  /** Until there is progress after a pause. */
  readonly resumed?: Words;
  /** Nothing can begin (P17: ReplicaSetCreateError). */
  readonly refused?: Words;
  /** What a deadline that has passed is told with, before why. */
  readonly timedOut?: string;
}

/**
 * Conditions of a kind that has its own (P16, P17, P20). Its Progressing follows upstream: without a deadline there is none, a
 * pause shows whether or not anything is to be rolled out, and the time of the last progress is `lastUpdateTime`.
 */
export interface OwnConditions {
  readonly words: ProgressWords;
  /** By type; undefined = it is not there. */
  readonly others: Readonly<Record<string, (Words & Pick<Condition, 'status'>) | undefined>>;
}

/** Why only somebody's action changes anything. */
export interface BlockedBy {
  readonly reason: string;
  readonly message: string;
  /** A run has ended so: another end is told with its own time, whatever Stalled said before. */
  readonly isEnd?: true;
}

export interface ConditionInput {
  readonly previous: readonly Condition[];
  /** Nothing more is to be done under the present strategy. */
  readonly finished: boolean;
  /** A rollout is due, or its run is open: not so when a finished workload is scaled or loses a pod. */
  readonly rolling: boolean;
  /** Every wanted pod is available. */
  readonly allAvailable: boolean;
  /** As the plan has it: a rollout that is over does not wait for it, what is Ready does. */
  readonly settled: boolean;
  /** A counter grew or the revision changed since the stored status (P18). */
  readonly progressed: boolean;
  readonly paused: Wish | undefined;
  /** A run that ended badly and is not started again by itself, or a fault that only a change of the object can mend. */
  readonly blocked: BlockedBy | undefined;
  readonly waiting: readonly Reason[];
  /** What the rollout writes next, while it has not: see {@link describeNext}. */
  readonly next: string | undefined;
  /** Of a kind that has its own; absent = those that every workload has. */
  readonly own?: OwnConditions | undefined;
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

const WORDS: ProgressWords = {
  begun: { reason: 'RolloutProgressing' },
  progressing: { reason: 'RolloutProgressing' },
  complete: { reason: 'RolloutComplete' },
  paused: { reason: 'RolloutPaused' },
};
const EXCEEDED = 'ProgressDeadlineExceeded';
const REFUSED = 'ReplicaSetCreateError';
const OURS = ['Ready', 'Reconciling', 'Stalled', 'Progressing'];

/** Reasons of Progressing when nothing more is to be done under the present strategy, of all kinds. */
const COMPLETE: ReadonlySet<string> = new Set(['RolloutComplete', 'NewReplicaSetAvailable']);
const PAUSED: ReadonlySet<string> = new Set(['RolloutPaused', 'DeploymentPaused']);
/** Reasons of a rollout that has begun and whose clock runs. */
const RUNNING: ReadonlySet<string> = new Set([
  'RolloutProgressing',
  'NewReplicaSetCreated',
  'FoundNewReplicaSet',
  'ReplicaSetUpdated',
  'DeploymentResumed',
  REFUSED,
]);

/** Those whose words name the ReplicaSet. */
const NAMING: ReadonlySet<string> = new Set([
  'NewReplicaSetCreated',
  'FoundNewReplicaSet',
  'ReplicaSetUpdated',
  EXCEEDED,
]);

/** Whether these conditions say that the last rollout is over. Where there is no Progressing (P17), that nothing is to be done. */
export function saysComplete(conditions: readonly Condition[]): boolean {
  const progress = conditions.find(({ type }) => type === 'Progressing');
  if (progress !== undefined) return COMPLETE.has(progress.reason ?? '');
  return conditions.some(({ type, status }) => type === 'Reconciling' && status === 'False');
}

/** Whether these conditions say that the rollout is paused. */
export function saysPaused(conditions: readonly Condition[]): boolean {
  const progress = conditions.find(({ type }) => type === 'Progressing');
  if (progress !== undefined) return PAUSED.has(progress.reason ?? '');
  return conditions.some(({ type, reason }) => type === 'Reconciling' && reason === 'Paused');
}

/** Whether these conditions say that a rollout is paused before its end; of a Deployment they do not tell (P17). */
export function saysPausedMidway(conditions: readonly Condition[]): boolean {
  const progress = conditions.find(({ type }) => type === 'Progressing');
  return progress?.reason === WORDS.paused.reason;
}

/** Whether these conditions say that replacing pods waits for Temporal. */
export function saysTemporalAway(conditions: readonly Condition[]): boolean {
  return conditions.some(
    ({ type, status, reason }) =>
      type === 'Reconciling' && status === 'True' && reason === 'TemporalUnreachable',
  );
}

/** Computes the four conditions; foreign ones are kept as they are. Nothing changes when called again with its own result. */
export function computeConditions(input: ConditionInput): ConditionResult {
  const progress = progressing(input);
  const stalled = whyStalled(input, progress.timedOut);
  const why = whyNotReady(input, progress.timedOut);
  const isDone = isRolledOut(input) && input.settled;
  const wanted: Condition[] = [
    stalled === undefined
      ? { type: 'Stalled', status: 'False', reason: 'NotStalled' }
      : { type: 'Stalled', status: 'True', ...stalled },
    isDone
      ? { type: 'Reconciling', status: 'False', reason: 'Reconciled' }
      : { type: 'Reconciling', status: 'True', ...why },
    isDone && stalled === undefined
      ? {
          type: 'Ready',
          status: 'True',
          reason: 'RolloutComplete',
          message: readyMessage(input),
        }
      : { type: 'Ready', status: 'False', ...(stalled ?? why) },
  ];
  const others = Object.entries(input.own?.others ?? {});
  for (const [type, condition] of others) {
    if (condition !== undefined) wanted.push({ type, ...condition });
  }
  const written = new Set([...OURS, ...others.map(([type]) => type)]);
  const kept = input.previous.filter((condition) => !written.has(condition.type));
  return {
    conditions: [
      ...kept,
      ...(progress.condition === undefined ? [] : [progress.condition]),
      ...wanted.map((condition) => transition(condition, input)),
    ],
    timedOut: progress.timedOut,
    ...(progress.deadlineAt !== undefined && { deadlineAt: progress.deadlineAt }),
  };
}

interface ProgressingResult {
  readonly condition?: Condition;
  readonly timedOut: boolean;
  readonly deadlineAt?: number;
}

/**
 * P17–P19: sticky once timed out, until progress; a pause stops the clock, and so does what keeps every rollout from going on.
 * After a finished rollout progress is not estimated at all until another one begins: scaling and crashes never time out.
 */
function progressing(input: ConditionInput): ProgressingResult {
  const { own, finished, rolling } = input;
  const words = own?.words ?? WORDS;
  const previous = input.previous.find((condition) => condition.type === 'Progressing');
  const reason = previous?.reason;
  if (own !== undefined && input.deadlineSeconds === undefined) return { timedOut: false };
  const isOfAnother = speaksOfAnother(previous, words);
  // What another template had no time left for is nothing to the one that mends it.
  const isTimedOut = reason === EXCEEDED && !isOfAnother;
  if (input.paused !== undefined && own !== undefined) {
    // P19: a pause does not hide that time had run out.
    if (previous !== undefined && isTimedOut && !finished) return { condition: previous, timedOut: true };
    return { condition: told('Unknown', words.paused, input), timedOut: false };
  }
  const isRunning = reason === EXCEEDED || RUNNING.has(reason ?? '');
  const isFound = own !== undefined && previous === undefined;
  const isUnderWay = rolling || isRunning || isFound || reason === words.paused.reason;
  if (finished || !isUnderWay) {
    return { condition: told('True', words.complete, input), timedOut: false };
  }
  if (input.paused !== undefined) {
    return { condition: told('Unknown', words.paused, input), timedOut: false };
  }
  const since = previous?.lastUpdateTime ?? previous?.lastTransitionTime;
  const goesOn = isRunning && !isOfAnother;
  const last = input.progressed || !goesOn || since === undefined ? timestamp(input.now) : since;
  const isTooEarly = Date.parse(last) < input.clockFrom && !isTimedOut;
  const progressedAt = isTooEarly ? timestamp(input.clockFrom) : last;
  const deadlineAt =
    input.deadlineSeconds === undefined || (input.clockStopped && !isTimedOut)
      ? undefined
      : Date.parse(progressedAt) + input.deadlineSeconds * 1000;
  const timedOut = deadlineAt !== undefined && deadlineAt <= input.now;
  const said: Condition = timedOut
    ? { type: 'Progressing', status: 'False', ...deadlineExceeded(input, words.timedOut) }
    : underWay(input, previous, goesOn);
  return {
    condition: withTimes(said, previous, progressedAt, input),
    timedOut,
    ...(deadlineAt !== undefined && !timedOut && { deadlineAt }),
  };
}

/**
 * Whether what is said is about another revision, or about none as long as there was none: a ReplicaSet that has been made since is
 * told anew, and the clock begins anew with it (P17, P18), also where the time of the one before had run out.
 */
function speaksOfAnother(previous: Condition | undefined, { about }: ProgressWords): boolean {
  if (about === undefined || !NAMING.has(previous?.reason ?? '')) return false;
  // What came after the name may quote others: the words of a refusal.
  const name = /"([^"]*)"/.exec(previous?.message ?? '')?.[1];
  return name !== undefined && name !== about;
}

/** What is said stays until there is progress (P18: the same status and reason are not touched). */
function underWay(input: ConditionInput, previous: Condition | undefined, goesOn: boolean): Condition {
  const words = input.own?.words ?? WORDS;
  const isResumed = previous?.reason === words.paused.reason && words.resumed !== undefined;
  if (isResumed) return { type: 'Progressing', status: 'Unknown', ...words.resumed };
  const isOver =
    previous?.reason === EXCEEDED || (previous?.reason === REFUSED && words.refused === undefined);
  if (previous !== undefined && goesOn && !input.progressed && words.refused === undefined && !isOver) {
    const { status, reason, message } = previous;
    return {
      type: 'Progressing',
      status,
      ...(reason !== undefined && { reason }),
      ...(message !== undefined && { message }),
    };
  }
  if (words.refused !== undefined) return { type: 'Progressing', status: 'False', ...words.refused };
  return { type: 'Progressing', status: 'True', ...(goesOn ? words.progressing : words.begun) };
}

/** A condition that is not a clock: its time is when it was said first. */
function told(status: Condition['status'], words: Words, input: ConditionInput): Condition {
  const previous = input.previous.find(({ type }) => type === 'Progressing');
  const isSame = previous?.reason === words.reason;
  const since = isSame ? (previous?.lastUpdateTime ?? previous?.lastTransitionTime) : undefined;
  const condition: Condition = { type: 'Progressing', status, ...words };
  return withTimes(condition, previous, since ?? timestamp(input.now), input);
}

/** The time of Progressing: of the last progress, which only Deployments have a field of its own for. */
function withTimes(
  condition: Condition,
  previous: Condition | undefined,
  at: string,
  { own, now }: ConditionInput,
): Condition {
  if (own === undefined) return { ...condition, lastTransitionTime: at };
  const isSame = previous?.status === condition.status;
  return {
    ...condition,
    lastUpdateTime: at,
    lastTransitionTime: (isSame ? previous?.lastTransitionTime : undefined) ?? timestamp(now),
  };
}

function whyStalled(input: ConditionInput, timedOut: boolean): Words | undefined {
  if (input.blocked !== undefined) return wordsOf(input.blocked);
  return timedOut ? deadlineExceeded(input) : undefined;
}

function wordsOf({ reason, message }: BlockedBy): Required<Words> {
  return { reason, message };
}

/** `who`: of a kind whose words name what they are about. */
function deadlineExceeded(
  input: ConditionInput,
  who?: string,
): { readonly reason: string; readonly message: string } {
  const why = `no progress for ${String(input.deadlineSeconds)} s: ${whyNotReady(input, true).message}`;
  return { reason: EXCEEDED, message: who === undefined ? why : `${who}: ${why}` };
}

/** What follows from something else that is waited for: an operator wants to read that. */
const CONSEQUENCES: ReadonlySet<ReasonCode> = new Set([
  'BudgetUsed',
  'ScalingFirst',
  'ScaleUpWaits',
  'ScaleDownWaits',
  'Partition',
  'OnDelete',
  'ClaimConflict',
  'ClaimMissing',
  'LeftoverHeld',
  'RevisionAltered',
  'Pinned',
]);

/**
 * A pin holds git up, another's claim the retention policy, pods come as their ReplicaSet has them or stay with the volumes that they were
 * made with, and what has ended has a successor: not why anything waits.
 */
export const HOLDS_NO_POD: ReadonlySet<ReasonCode> = new Set([
  'ClaimConflict',
  'ClaimMissing',
  'LeftoverHeld',
  'RevisionAltered',
  'Pinned',
]);

/** The strategy leaves pods at an older revision, as asked. */
export const KEEPS_OLD: ReadonlySet<ReasonCode> = new Set(['Partition', 'NodeSelector', 'OnDelete']);

/** Every pod that is wanted is as it is to be. */
function isRolledOut({ finished, allAvailable }: ConditionInput): boolean {
  return finished && allAvailable;
}

function readyMessage({ waiting }: ConditionInput): string {
  const kept = waiting.find(({ code }) => KEEPS_OLD.has(code) || code === 'RevisionAltered');
  if (kept === undefined) return 'all pods are at the wanted revision and available';
  return `all pods are available; ${kept.message}`;
}

/**
 * The first reason. Its words do not change by the second: the time that is left is only told by who is asked, and what is next, which
 * changes with each batch, only of a rollout that is `late`.
 */
function whyNotReady(
  input: ConditionInput,
  isLate: boolean,
): { readonly reason: string; readonly message: string } {
  // A pause holds no pod that is not wanted, and no write of the steady state.
  if (input.paused !== undefined && !isRolledOut(input)) {
    const { by, reason } = input.paused;
    return {
      reason: 'Paused',
      message: `paused${by === undefined ? '' : ` by ${by}`}${reason === undefined ? '' : `: ${reason}`}`,
    };
  }
  const cause = input.waiting.find(({ code }) => !CONSEQUENCES.has(code));
  // What would follow from a plan that nobody carries out says nothing.
  if (cause === undefined && input.blocked !== undefined) return wordsOf(input.blocked);
  if (cause === undefined && input.next !== undefined && isLate) {
    return { reason: 'Progressing', message: `${input.next}; the rollout has not done it yet` };
  }
  const first = cause ?? input.waiting.find(({ code }) => !HOLDS_NO_POD.has(code));
  if (first === undefined) {
    return { reason: 'Progressing', message: 'pods are being brought to the wanted state' };
  }
  return { reason: first.code, message: first.message };
}

function transition(condition: Condition, input: ConditionInput): Condition {
  const previous = input.previous.find((one) => one.type === condition.type);
  const same = previous?.status === condition.status && previous.lastTransitionTime !== undefined;
  const isUntouched = same && previous.reason === condition.reason && previous.message === condition.message;
  // A wish to try again that is older than the end has been granted, also where Stalled was true when it came.
  const isNewEnd = condition.type === 'Stalled' && input.blocked?.isEnd === true && !isUntouched;
  return {
    ...condition,
    ...(input.own !== undefined && {
      lastUpdateTime: (isUntouched ? previous.lastUpdateTime : undefined) ?? timestamp(input.now),
    }),
    lastTransitionTime: same && !isNewEnd ? previous.lastTransitionTime : timestamp(input.now),
  };
}

function timestamp(milliseconds: number): string {
  return new Date(milliseconds).toISOString().replace(/\.\d{3}Z$/, 'Z');
}
