/** Why is nothing happening? From what was read to one sentence, and what supports it. Pure. */

import { MEND_REFUSAL } from '../git/own-rights.ts';
import { adviseAdmission, formatAdvice, readAdmission } from '../kubernetes/admission-refusal.ts';
import { NAMESPACE_ENDS } from '../kubernetes/api-error.ts';
import { isReady } from '../planners/availability.ts';
import { forbiddenChanges } from '../kubernetes/in-place-only.ts';
import { trusted } from '../kubernetes/values.ts';
import type { WorkloadObject } from '../kubernetes/workload-edit.ts';
import { wayBackOf } from '../kubernetes/workload-revisions.ts';
import { hasEndedBadly, isIdle } from '../kubernetes/wish-edits.ts';
import { HOLDS_NO_POD, KEEPS_OLD } from '../planners/conditions.ts';
import { blamesRefusal } from '../planners/deadline-reason.ts';
import { isNote } from '../planners/complete-mark.ts';
import { controllerOf } from '../planners/controller-ref.ts';
import { DEADLINE_WISHER, LABEL } from '../planners/names.ts';
import type { Pod, PodTemplate } from '../planners/objects.ts';
import type { Plan, Reason } from '../planners/plan.ts';
import { describeDeletion } from '../planners/pod-reasons.ts';
import { describeNext, reasonMessage } from '../planners/reasons.ts';
import { isMarkedComplete, revisionsOf } from '../planners/revision.ts';
import { matchesSelector } from '../planners/selector.ts';
import { storedTemplate } from '../planners/template-revision.ts';
import type { Snapshot, Wish, Workload } from '../planners/workload.ts';
import { ownField } from '../planners/values.ts';
import { formatAge } from './durations.ts';
import type { GitTrouble } from './git-state.ts';
import type { LeaseState } from './lease.ts';
import { describeFree, whyNotKept } from './lease.ts';
import type { RunState } from './temporal.ts';
import { troubleOf } from './temporal.ts';
import { formatTarget } from './workload-argument.ts';
import { describeWish, reconcilingOf, stalledOf } from './workload-state.ts';

export interface Evidence {
  readonly object: WorkloadObject;
  readonly workload: Workload;
  readonly plan: Plan<object>;
  readonly snapshot: Pick<Snapshot<Workload>, 'revisions' | 'pods' | 'downNodes'>;
  readonly lease: LeaseState;
  readonly leaseName: string;
  /** Why nobody acts although the Lease is held, in one clause; where it was looked at. */
  readonly silent?: string;
  readonly run: RunState;
  /** What is wrong with its repository, or became of the last commit of it. */
  readonly gitTrouble?: GitTrouble;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

type VerdictCode =
  | 'Done'
  | 'Deleting'
  | 'NoLeader'
  | 'NotKept'
  | 'Stalled'
  | 'Paused'
  | 'TemporalUnreachable'
  | 'RunHeld'
  | 'Waiting'
  | 'Working';

export interface Verdict {
  readonly verdict: VerdictCode;
  /** One sentence, without a full stop. */
  readonly sentence: string;
  /** What to do about it; absent when waiting is right. */
  readonly next?: string;
}

/** What becomes of a write that is refused. */
export const TRIED_AGAIN = 'it is tried again by itself';
const REFUSED = `${MEND_REFUSAL}; ${TRIED_AGAIN}`;
const UNDRAINED = 'roll out without draining: take `drain` out of the manifest';

/** What to do about faults that only the worker sees: answers to its writes and of Temporal, and pods that no selector finds. */
const WORKER_ONLY: Readonly<Record<string, string>> = {
  TemporalUnreachable:
    'see that Temporal runs and that the worker reaches it (its TEMPORAL_ADDRESS, its log); it goes on by itself then',
  TemporalRefused:
    'correct what it names (TEMPORAL_NAMESPACE of the worker, or what logs in); it is tried again by itself',
  NameTaken:
    'delete the pod that has the name, if nobody needs it, or, where its labels are to blame, give it those of the selector: kubectl label pod POD -n NAMESPACE KEY=VALUE --overwrite; it goes on by itself then',
  NameLeaving: `wait until it is gone; a finalizer that nobody takes off any more: ${takeOffFinalizers('pod POD -n NAMESPACE')}`,
  CreateRefused: REFUSED,
  WriteRefused: REFUSED,
  ResizeRefused:
    'set podUpdatePolicy to InPlaceIfPossible, so that such a pod is replaced, or commit the resources that it has; if what it names is mended instead (a policy, an old kubelet), it is tried again by itself',
  DrainBlocked: `loosen the PodDisruptionBudget that it names (kubectl get pdb -A), grant a permission that it names (\`fairlead check --worker\`), or ${UNDRAINED}; it is tried again by itself until the time limit`,
};

/** The verdict, in the order in which causes hide each other: who should act, who forbade it, what it waits for. */
export function judge(evidence: Evidence): Verdict {
  const { workload, plan, lease } = evidence;
  if (workload.deleting) {
    return deleting(evidence);
  }
  const done = isDone(plan);
  if (lease.state === 'free' && !done) {
    return noLeader(evidence, lease);
  }
  if (done) {
    return finished(evidence);
  }
  return (
    notKept(evidence) ??
    withTrouble(evidence, stalled(evidence)) ??
    withTrouble(evidence, paused(evidence)) ??
    silentLeader(evidence) ??
    // Whether it can be reached from here says little: the worker's own words, and what pods wait for, go before.
    (saysTemporalAway(evidence) ? temporalAway(evidence) : undefined) ??
    withTrouble(evidence, waiting(evidence)) ??
    temporalAway(evidence) ??
    withTrouble(evidence, working(evidence))
  );
}

/** So long the garbage collector may take to free the pods of a workload, milliseconds: it needs a second. */
const ORPHANING_MS = 30_000;

/** Its pods go with it, or stay: the garbage collector frees the revisions as it does the pods. */
function deleting({ object, workload, snapshot, now }: Evidence): Verdict {
  const { finalizers = [], deletionTimestamp = '' } = object.metadata;
  const { ref, selector } = workload;
  const isOrphaning = finalizers.includes('orphan');
  const owners = snapshot.revisions
    .filter(({ metadata }) => matchesSelector(selector, metadata.labels))
    .map((revision) => controllerOf(revision)?.uid);
  const isFreed = isOrphaning || (owners.includes(undefined) && !owners.includes(ref.uid));
  const fate = isFreed
    ? 'its pods stay, and go over to the next workload that selects them, as when it moves to the other workload API'
    : 'its pods are left to the garbage collector';
  const sentence = `it ${describeDeletion(object)}; ${fate}`;
  // What the garbage collector has put there it takes off itself, when it is through with the pods.
  const isHeld = finalizers.length > 0 && !isOrphaning && !finalizers.includes('foregroundDeletion');
  const isOwner = [...owners, ...snapshot.pods.map((pod) => controllerOf(pod)?.uid)].includes(ref.uid);
  if (isOrphaning && !isOwner && now - Date.parse(deletionTimestamp) >= ORPHANING_MS)
    return {
      verdict: 'Deleting',
      sentence: `${sentence}; nobody keeps them until it is gone`,
      next:
        'no pod has it as its owner any more, and the garbage collector takes off `orphan` when it is through; where it has lost its way ' +
        `(the apiserver was away while pods were replaced): restart kube-controller-manager, or ${takeOffFinalizers(formatTarget(ref))}`,
    };
  if (!isHeld) return { verdict: 'Deleting', sentence };
  return {
    verdict: 'Deleting',
    sentence,
    next: `who has set what holds it takes it off; if nobody does any more: ${takeOffFinalizers(formatTarget(ref))}`,
  };
}

/** The same verdict, of a run that cannot go on: whatever else is waited for, that is to be mended first. */
function withTrouble<V extends Verdict | undefined>(evidence: Evidence, found: V): V | Verdict {
  const trouble = troubleOf(evidence.run);
  if (found === undefined || trouble === undefined) return found;
  const { verdict, sentence, next } = found;
  const back = trouble.kind === 'paused' ? orAbort(howToGoBack(evidence)) : '';
  const mend = `${trouble.next}${back}`;
  if (verdict === 'Working') {
    return { verdict: 'RunHeld', sentence: `nothing is happening: ${trouble.text}`, next: mend };
  }
  // A pause holds it all the same when it can go on.
  const then = verdict === 'Paused' && next !== undefined ? `; then ${next}` : '';
  return { verdict, sentence: `${sentence}; ${trouble.text}`, next: `${mend}${then}` };
}

/** Nothing is to be done under the present strategy, every pod is available, and there are no others. */
export function isDone(plan: Plan<object>): boolean {
  return isRolledOut(plan) && plan.settled && plan.steady.every(isNote);
}

/** Every pod that is wanted is there as it is to be: what is left, a pause does not hold. */
function isRolledOut(plan: Plan<object>): boolean {
  const { available, desired } = plan.progress;
  return plan.finished && !plan.needsRollout && available >= desired;
}

/** A reason with the time that it has left. */
export function describeReason({ message, until }: Reason, now: number): string {
  return until === undefined || until <= now ? message : `${message} (${formatAge(until - now + 999)} left)`;
}

function finished(evidence: Evidence): Verdict {
  const { workload, plan, lease, leaseName, gitTrouble } = evidence;
  const { desired } = plan.progress;
  const left = plan.waiting.find(({ code }) => code === 'LeftoverHeld' || code === 'TerminationHeld');
  const onGone = onGoneNodes(evidence);
  const [first] = [left, onGone].flatMap((one) => one ?? []);
  const next = first && nextStep(first, evidence);
  const gone = onGone === undefined ? '' : `; but ${onGone.message}`;
  const held =
    workload.paused === undefined
      ? ''
      : `; the next change will wait: paused${by(describeWish(workload.paused))}`;
  const pin = plan.waiting.find(({ code }) => code === 'Pinned');
  const pinned = pin === undefined ? '' : `; it is ${pin.message}`;
  const unkept =
    lease.state === 'free' ? describeFree(lease, leaseName) : whyNotKept(lease, workload.ref, leaseName);
  const alone = unkept === undefined ? '' : `; but ${unkept}`;
  const strategy = plan.waiting.find(({ code }) => KEEPS_OLD.has(code));
  const what =
    strategy === undefined
      ? `${allAvailable(desired)}${desired === 0 ? '' : ` at revision ${plan.updateRevision ?? '<none>'}`}`
      : `${strategy.message}; ${allAvailable(desired)}`;
  return {
    verdict: 'Done',
    sentence: `nothing is to be done: ${what}${gone}${pinned}${held}${alone}${gitTrouble === undefined ? '' : `; but ${gitTrouble.text}`}`,
    ...(next !== undefined && { next }),
    ...(gitTrouble !== undefined && { next: gitTrouble.next }),
    ...(lease.state === 'free' && { next: howToLead(lease) }),
  };
}

/** Pods that count as available until the control plane takes them away: their status is what it was when their node was there. */
function onGoneNodes({ snapshot: { pods, downNodes } }: Evidence): Reason | undefined {
  const names = pods
    .filter(({ spec }) => downNodes.get(spec.nodeName ?? '') === 'Gone')
    .map(({ metadata }) => metadata.name)
    .toSorted();
  if (names.length === 0) return undefined;
  const shown = names.slice(0, 3);
  return {
    code: 'NodeGone',
    message: reasonMessage('NodeGone', shown, names.length, undefined),
    pods: shown,
  };
}

/** Of a workload that has every pod that it wants. */
function allAvailable(desired: number): string {
  if (desired === 0) return 'no pods are wanted';
  return desired === 1 ? 'its only pod is available' : `all ${String(desired)} pods are available`;
}

function noLeader({ leaseName }: Evidence, lease: LeaseState & { state: 'free' }): Verdict {
  return {
    verdict: 'NoLeader',
    sentence: `${describeFree(lease, leaseName)}, so nobody acts`,
    next: howToLead(lease),
  };
}

/** One holds the Lease still, and does nothing any more. */
function silentLeader({ silent }: Evidence): Verdict | undefined {
  if (silent === undefined) return undefined;
  return {
    verdict: 'NoLeader',
    sentence: `${silent}, so nobody acts`,
    next: 'another worker takes over within seconds; if there is none, start one: fairlead worker (with the same --cluster and --workload-api)',
  };
}

function howToLead({ missing }: LeaseState & { state: 'free' }): string {
  return missing === true
    ? 'name the cluster that the worker was started with: --cluster (FAIRLEAD_CLUSTER); or start one: fairlead worker'
    : 'start a worker: fairlead worker (with the same --cluster and --workload-api)';
}

/** Somebody leads, and has no eyes for it. */
function notKept({ lease, leaseName, workload: { ref } }: Evidence): Verdict | undefined {
  const why = whyNotKept(lease, ref, leaseName);
  if (why === undefined) return undefined;
  return {
    verdict: 'NotKept',
    sentence: `${why}, so Fairlead does nothing about it`,
    next:
      `start a worker for it: fairlead worker --workload-api ${ref.group}/${ref.version} with a --cluster of its own; ` +
      'or commit it under the API that is kept: its pods stay',
  };
}

function stalled(evidence: Evidence): Verdict | undefined {
  const { object, workload } = evidence;
  const condition = stalledOf(object);
  if (condition === undefined) return undefined;
  const way = howToGoBack(evidence);
  const { paused: wish } = workload;
  const held = wish === undefined ? '' : `; it is paused too${by(describeWish(wish))}`;
  const first = hasEndedBadly(object)
    ? `fairlead rollout retry ${whoOf(workload)}${orAbort(way)}`
    : (mendRefusal(evidence) ?? (way.isAbort && way.forbidden === undefined ? way.command : commitOr(way)));
  return {
    verdict: 'Stalled',
    sentence: `it is stalled: ${condition.message ?? condition.reason ?? 'no cause given'}${held}`,
    // Neither goes on while it is held.
    next: wish === undefined ? first : `${first}; then fairlead rollout resume ${whoOf(workload)}`,
  };
}

function paused(evidence: Evidence): Verdict | undefined {
  const { workload, plan } = evidence;
  if (workload.paused === undefined || isRolledOut(plan)) return undefined;
  const back = howToGoBack(evidence);
  // The same pods would only run into the same deadline again, or fail as they do now, unless it has been gone back already.
  const isInVain =
    (workload.paused.by === DEADLINE_WISHER || isBroken(plan)) &&
    !back.isThere &&
    isTried(evidence, workload.paused);
  const instead = isInVain ? `${mendRefusal(evidence) ?? commitOr(back)}; then ` : '';
  return {
    verdict: 'Paused',
    sentence: `it is paused${by(describeWish(workload.paused))}${workload.paused.at === undefined ? '' : ` since ${workload.paused.at}`}`,
    next: `${instead}fairlead rollout resume ${whoOf(workload)}`,
  };
}

/** What comes before anything else where the apiserver refuses the rollout's writes, or did when its deadline passed: the template may well work. */
function mendRefusal(evidence: Evidence): string | undefined {
  const {
    object,
    workload: { paused: wish },
    plan,
  } = evidence;
  if (isBroken(plan)) return undefined;
  if (wish !== undefined) return blamesRefusal(wish) ? MEND_REFUSAL : undefined;
  const refusal = refusalOf(object);
  if (refusal === undefined) return undefined;
  const isOfWrites = refusal.next === REFUSED || NAMESPACE_ENDS.test(refusal.message);
  return isOfWrites ? nextOfRefusal(refusal, evidence) : undefined;
}

/** Pods fail by themselves. */
function isBroken({ waiting: reasons }: Pick<Plan<object>, 'waiting'>): boolean {
  return reasons.some(({ message }) => BROKEN.test(message));
}

/**
 * Whether the present template is what was being rolled out when the pause began: one that came later may well work, and one that was
 * complete before, of which no pod fails, is where somebody has gone back to (`kubectl rollout undo`).
 */
function isTried(
  { plan: { updateRevision }, snapshot: { revisions, pods } }: Evidence,
  { at }: Wish,
): boolean {
  const present = revisions.find(({ metadata }) => metadata.name === updateRevision);
  if (present === undefined) return false;
  const isOfPresent = ({ metadata: { labels, ownerReferences = [] } }: Pod) =>
    labels?.[LABEL.revisionHash] === updateRevision ||
    ownerReferences.some(({ controller, name }) => controller === true && name === updateRevision);
  const own = pods.filter(isOfPresent);
  if (isMarkedComplete(present) && own.every(isReady)) return false;
  if (at === undefined || own.length > 0) return true;
  return Date.parse(present.metadata.creationTimestamp ?? '') <= Date.parse(at);
}

function saysTemporalAway({ object }: Evidence): boolean {
  return reconcilingOf(object)?.reason === 'TemporalUnreachable';
}

function temporalAway({ run, plan }: Evidence): Verdict | undefined {
  if (run.state !== 'unreachable' || !(plan.needsRollout || plan.batch.length > 0)) return undefined;
  return {
    verdict: 'TemporalUnreachable',
    sentence: `${run.message}: pods are healed, but replacing them waits for it (seen from here; the worker may reach it)`,
    next: 'check TEMPORAL_ADDRESS; `fairlead check`',
  };
}

/** The first pod whose name is taken, in the words of that reason. */
const POD_IN_WORDS = /(?:^|\bin the place of )([a-z0-9](?:[a-z0-9.-]*[a-z0-9])?)(?= is not made|[:;,]|$)/;

interface Refusal {
  readonly message: string;
  readonly next: string;
}

/** What the worker's writes were answered, and what Temporal answers it, which no plan that is made here knows of; undefined where all is well. */
export function refusalOf(object: WorkloadObject): Refusal | undefined {
  const condition = reconcilingOf(object);
  const next = ownField(WORKER_ONLY, condition?.reason ?? '');
  if (next === undefined) return undefined;
  const message = condition?.message ?? '';
  const namespace = object.metadata.namespace ?? '';
  if (NAMESPACE_ENDS.test(message)) {
    const why = 'nothing is made in a namespace that is being deleted, and its deletion is not taken back';
    return { message, next: `${why}; what holds it: kubectl describe namespace ${namespace}` };
  }
  const { 1: pod = 'POD' } = POD_IN_WORDS.exec(message) ?? [];
  const named = next.replace('NAMESPACE', namespace).replace(/\bPOD\b/, pod);
  return { message, next: named };
}

/** The apiserver's words for an object whose fields are wrong, whatever is allowed. */
const INVALID = /\b(?:Pod|Deployment|ReplicaSet) "[^"]*" is invalid: /;

/** With what the plan knows beside it: where an abort leads, and which pod holds a namespace that is being deleted. */
function nextOfRefusal({ message, next }: Refusal, evidence: Evidence): string {
  if (next === REFUSED) {
    const refusal = readAdmission(message);
    const namespace = evidence.workload.ref.namespace;
    const mend = INVALID.test(message)
      ? 'commit a template that the apiserver takes'
      : refusal && `${formatAdvice(adviseAdmission(refusal, namespace))}; ${TRIED_AGAIN}`;
    return `${mend ?? next}${orAbort(howToGoBack(evidence))}`;
  }
  if (!NAMESPACE_ENDS.test(message)) return next;
  const held = evidence.plan.waiting.find(
    ({ code }) => code === 'TerminationHeld' || code === 'LeftoverHeld',
  );
  const step = held && nextStep(held, evidence);
  return held === undefined || step === undefined ? next : `${next}; ${held.message}: ${step}`;
}

function waiting(evidence: Evidence): Verdict | undefined {
  const { object, plan, now } = evidence;
  const refusal = refusalOf(object);
  if (refusal !== undefined) {
    const next = nextOfRefusal(refusal, evidence);
    return { verdict: 'Waiting', sentence: `it waits: ${refusal.message}`, next };
  }
  const reasonsOfPods = causesFirst(plan.waiting).filter(({ code }) => !HOLDS_NO_POD.has(code));
  const [cause, ...others] = plan.batch.length > 0 ? [] : reasonsOfPods;
  if (cause === undefined) return undefined;
  // The pod that is to blame, and what it holds up.
  const effect = others.find(({ code }) => EFFECTS.has(code));
  const reasons = effect === undefined ? [cause] : [cause, effect];
  const next = nextStep(cause, evidence);
  return {
    verdict: 'Waiting',
    sentence: `it waits: ${reasons.map((one) => describeReason(one, now)).join('; ')}`,
    ...(next !== undefined && { next }),
  };
}

/** Kubelet's words for a container that will hardly get ready by itself. */
const BROKEN =
  /\b(?:\w*BackOff|ErrImage\w*|ImageInspectError|InvalidImageName|CreateContainer\w*Error|RunContainerError|OOMKilled)\b/;

/** The scheduler's words for a pod that finds no node. */
const NO_NODE = /\bnodes are available\b/;

/** What lets a pod be scheduled. @param message the scheduler's */
function howToSchedule(message: string, pod: string, namespace: string): string {
  return /PersistentVolumeClaim/i.test(message)
    ? `kubectl get pvc -n ${namespace}; kubectl get storageclass   # bind its claims; where the class does not exist, make it`
    : `kubectl describe pod ${pod} -n ${namespace}; kubectl get nodes   # make room, or uncordon a node`;
}

/** What ends a wait that hardly ends by itself. */
function nextStep({ code, message, pods = [] }: Reason, evidence: Evidence): string | undefined {
  const { namespace, kind } = evidence.workload.ref;
  const [pod = ''] = pods;
  const node = evidence.snapshot.pods.find(({ metadata }) => metadata.name === pod)?.spec.nodeName ?? '';
  // Of a StatefulSet the name stands for the data: only one pod may write them.
  const danger = kind === 'StatefulSet' ? ' (else two pods of one name may write to one volume)' : '';
  const back = commitOr(howToGoBack(evidence));
  const held = `who has set it takes it off; if nobody does any more: ${takeOffFinalizers(`pod ${pod} -n ${namespace}`)}`;
  const steps: Partial<Record<Reason['code'], string>> = {
    ...(BROKEN.test(message) && { PodNotReady: back, InPlaceRestarting: back }),
    ...(NO_NODE.test(message) && { PodNotReady: `${howToSchedule(message, pod, namespace)}; or ${back}` }),
    DrainTimedOut: `loosen what keeps its pods (kubectl get pdb -A; \`kubectl get events -n ${namespace}\` names them), give it more time (timeoutSeconds), or ${UNDRAINED}`,
    OnDelete: `kubectl delete pod ${pod} -n ${namespace}`,
    NodeDown:
      'kubectl get nodes   # delete the Node of one that does not come back: its pods are then made elsewhere',
    NodeGone: `wait: the control plane deletes the pods of a node that is gone, within about a minute; sooner: kubectl delete pod ${pod} -n ${namespace} --force --grace-period=0`,
    NodesAwaited:
      'kubectl get nodes   # mend one of them; or let the update reach other nodes: lower partition, or change its nodeSelector',
    TerminationHeld: held,
    LeftoverHeld: held,
    NameLeaving: `wait until it is gone; a finalizer that nobody takes off any more: ${takeOffFinalizers(`pod ${pod} -n ${namespace}`)}`,
    TerminationOverdue: `kubectl get node ${node}   # the pod goes when it is back, or when a Node that does not come back is deleted; where its containers surely run no more${danger}: kubectl delete pod ${pod} -n ${namespace} --force --grace-period=0`,
    ClaimTerminating: `kubectl get pvc -n ${namespace}   # kubernetes.io/pvc-protection goes with the last pod that uses the claim; who has set another finalizer takes it off`,
    ResizePending: `kubectl describe pod ${pod} -n ${namespace}   # has its node room for it?`,
  };
  return steps[code];
}

/** @param what `pod web-0 -n shop` */
function takeOffFinalizers(what: string): string {
  return `kubectl patch ${what} --type=merge -p '{"metadata":{"finalizers":null}}'`;
}

/** How to leave a revision that does not work. */
interface GoBack {
  /** It has been gone back to the present one, and there is none better. */
  readonly isThere: boolean;
  readonly isAbort: boolean;
  /** Empty where there is no other revision. */
  readonly command: string;
  /** What to do instead where podUpdatePolicy lets the template not be changed to that revision's: the command would be refused. */
  readonly forbidden?: string;
}

/**
 * An abort, where it leads to a revision that was complete, or where nothing is left to be aborted an undo to that one; else which
 * revision is better, only people can say.
 */
function howToGoBack({ object, workload, plan, snapshot }: Evidence): GoBack {
  const revisions = revisionsOf(workload, snapshot.revisions);
  const present = revisions.find(({ metadata }) => metadata.name === plan.updateRevision);
  const who = whoOf(workload);
  const way = wayBackOf(object, present, revisions);
  if (way.outcome === 'to') {
    const undo = `fairlead rollout undo ${who} --to-revision ${String(way.revision.revision)}`;
    const isAbort = !isIdle(object);
    const template = storedTemplate(way.revision);
    const fields = template === undefined ? [] : forbiddenChanges(object, trusted<PodTemplate>(template));
    const forbidden =
      `set podUpdatePolicy to InPlaceIfPossible, which replaces the pods; to go back instead, change it together with the template ` +
      `(InPlaceOnly lets nobody change ${fields.join(', ')})`;
    return {
      isThere: false,
      isAbort,
      command: isAbort ? `fairlead rollout abort ${who}` : undo,
      ...(fields.length > 0 && { forbidden }),
    };
  }
  const isThere = way.outcome === 'there';
  const isAlone = revisions.every((one) => one === present);
  const command = `fairlead rollout undo ${who} --to-revision N (one of \`fairlead rollout history ${who}\`)`;
  return { isThere, isAbort: false, command: isAlone ? '' : command };
}

/** Beside what goes on; empty where an abort leads nowhere. */
function orAbort({ isAbort, command, forbidden }: GoBack): string {
  return isAbort && forbidden === undefined ? `; or go back: ${command}` : '';
}

function commitOr({ command, forbidden }: GoBack): string {
  if (forbidden !== undefined) return forbidden;
  return `commit a template that works${command === '' ? '' : `, or go back: ${command}`}`;
}

function whoOf({ ref }: Workload): string {
  return formatTarget(ref);
}

/** Reasons that follow from others: "the budget is used up" helps nobody without the pod that uses it. */
const EFFECTS: ReadonlySet<Reason['code']> = new Set([
  'BudgetUsed',
  'ScalingFirst',
  'ScaleUpWaits',
  'ScaleDownWaits',
]);
/** Reasons that are said elsewhere, or that say nothing of why. */
const ASIDE: ReadonlySet<Reason['code']> = new Set(['Paused', 'Pinned', 'RevisionMissing']);

/** The planner's reasons with causes before effects, without those that are told apart. */
export function causesFirst(reasons: readonly Reason[]): readonly Reason[] {
  const told = reasons.filter(({ code }) => !ASIDE.has(code));
  return [...told.filter(({ code }) => !EFFECTS.has(code)), ...told.filter(({ code }) => EFFECTS.has(code))];
}

function working({ plan, run }: Evidence): Verdict {
  const what =
    describeNext(plan.batch) ??
    plan.steady[0]?.message ??
    plan.waiting[0]?.message ??
    'the last step has just been taken';
  const who =
    run.state === 'running'
      ? `run ${run.runId} is at it`
      : plan.needsRollout
        ? 'the leader starts a run for it within seconds'
        : 'the leader does it within seconds';
  return { verdict: 'Working', sentence: `something is happening: ${what}; ${who}` };
}

function by(text: string): string {
  return text === '' ? '' : ` ${text.startsWith('by ') ? text : `(${text})`}`;
}
