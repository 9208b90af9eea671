/** Why an update of a ReplicationController does not get on, and what to do about it; from what was read, asking nobody. */

import { MEND_REFUSAL } from '../git/own-rights.ts';
import { adviseAdmission, formatAdvice, readAdmission } from '../kubernetes/admission-refusal.ts';
import { whyLastFailed } from '../kubernetes/attempts.ts';
import { isReady } from '../planners/availability.ts';
import type { Pod } from '../planners/objects.ts';
import type { ReplicationController } from '../planners/replication-controller.ts';
import { partnerOf } from '../planners/replication-controller.ts';
import { abandonedPods } from '../planners/rolling-update-abandoned.ts';
import { foreignFinalizers, freedPods, heldNext } from '../planners/rolling-update-handover.ts';
import { describeSize, leftovers } from '../planners/rolling-update-leftover.ts';
import { lostImage, lostPods } from '../planners/rolling-update-lost.ts';
import { isHeldByPeriod, periodReason } from '../planners/rolling-update-period.ts';
import { hashInName } from '../planners/rolling-update-record.ts';
import { RIVAL } from '../planners/rolling-update-rivals.ts';
import type { FailingStep } from '../planners/rolling-update-run.ts';
import { describeNoRun, ownRun } from '../planners/rolling-update-run.ts';
import type { UpdateReason } from '../planners/rolling-update-steps.ts';
import { writeOf } from '../planners/rolling-update-steps.ts';
import { EDITED } from '../planners/rolling-update-template.ts';
import type { RollingUpdatePlan } from '../planners/rolling-update.ts';
import type { AskedRun } from './controller-session.ts';
import type { GitState } from './git-state.ts';
import { gitTrouble } from './git-state.ts';
import { commandToDelete } from './update-refusal.ts';
import type { UpdateOutcome } from './update-state.ts';
import {
  afterPods,
  besidePods,
  commandFor,
  isUnderWay,
  judgeUpdate,
  leftoverOf,
  podsWithoutController,
  reasonOf,
} from './update-state.ts';
import { TRIED_AGAIN } from './verdict.ts';

/** So many pods are named in a command; it is printed again for the others. */
const NAMED_PODS = 10;

/** What an explanation is made of, beside the plan. */
export interface UpdateEvidence {
  readonly run: AskedRun;
  /** Why nobody acts, in one clause. */
  readonly nobody: string | undefined;
  readonly git: GitState | undefined;
  /** That the namespace is being deleted, in one clause. */
  readonly ending?: string | undefined;
}

export interface UpdateExplanation {
  readonly verdict: string;
  /** Without a full stop. */
  readonly sentence: string;
  /** What to do about it; absent when waiting is right. */
  readonly next?: string;
}

/**
 * Pods without a controller come first: nothing heals them. Then what keeps the update from going on, then what it waits for. With each,
 * what the cluster answers where the step that is due fails.
 */
export function explain(plan: RollingUpdatePlan, evidence: UpdateEvidence): UpdateExplanation {
  const found = explainState(plan, evidence);
  const failing = evidence.nobody === undefined ? describeFailing(plan, failingOf(evidence.run)) : undefined;
  if (failing === undefined) return found;
  const sentence =
    found.verdict === 'Progressing' ? `it does not get on: ${failing}` : `${found.sentence}; ${failing}`;
  return { next: wayOutOfFailing(plan), ...found, sentence };
}

/** The step that fails, where a run is open and has one. */
export function failingOf(run: AskedRun | undefined): FailingStep | undefined {
  return run?.state === 'running' ? run.failing : undefined;
}

/** While the old controller is there the update can still be turned round. */
function wayOutOfFailing({
  view: { old, name, namespace, isRollback, isRenamed },
}: RollingUpdatePlan): string {
  const canTurn = old !== undefined && !isRollback && !isRenamed;
  const orElse = canTurn ? `, or give it up: fairlead rollout abort rc/${name} -n ${namespace}` : '';
  return `mend what it names (it is tried again by itself)${orElse}`;
}

/** What the cluster answers to the step that is due, where it fails again and again; undefined where it does not. */
export function describeFailing(
  { step }: RollingUpdatePlan,
  failing: FailingStep | undefined,
): string | undefined {
  const write = writeOf(step);
  if (failing === undefined || failing.attempts < 1 || write === undefined) return undefined;
  const times = failing.attempts === 1 ? 'once' : `${String(failing.attempts)} times`;
  return `what is due (${write.message}) has failed ${times}: ${failing.message}`;
}

function explainState(
  plan: RollingUpdatePlan,
  { run, nobody, git, ending }: UpdateEvidence,
): UpdateExplanation {
  const { view, step } = plan;
  const { name } = view;
  if (ending !== undefined && isUnderWay(plan)) {
    const held = run.state === 'running' ? undefined : heldNext(view);
    return {
      verdict: 'NamespaceEnds',
      sentence: `${ending}, and the update of ${name} with it`,
      ...(held && {
        next: `let ${held.metadata.name} go: fairlead rollout abort rc/${name} -n ${view.namespace}`,
      }),
    };
  }
  const who = `rc/${name} -n ${plan.view.namespace}`;
  // One without a record kubectl began, and no run was ever open.
  const retry = view.record === undefined ? commandFor(plan.view) : `fairlead rollout retry ${who}`;
  const dead =
    nobody !== undefined
      ? { why: nobody, next: 'start a worker: fairlead worker (with the same --cluster)' }
      : run.state === 'unreachable'
        ? { why: run.message, next: 'check TEMPORAL_ADDRESS; `fairlead check`' }
        : run.state === 'running'
          ? run.trouble && { why: run.trouble.text, next: run.trouble.next, isHeld: true }
          : {
              why: describeNoRun(
                ownRun(run, view.record !== undefined),
                whyLastFailed(view.record?.revision),
              ),
              next: retry,
            };
  const next = dead === undefined ? {} : { next: dead.next };
  const leftover = leftoverOf(view);
  if (leftover !== undefined) {
    return { verdict: 'LeftBehind', sentence: leftover, next: commandToDelete(name, view.namespace) };
  }
  const pods = podsWithoutController(plan);
  if (pods !== undefined) {
    const why = dead === undefined || !isUnderWay(plan) ? pods : afterPods(plan, dead.why);
    const beside = besidePods(plan);
    const sentence = beside === undefined ? why : `${why}; ${beside}`;
    const verdict = 'PodsWithoutController';
    if (step.do === 'refuse' && step.code === 'NextLost') {
      return { verdict, sentence: `${pods}; ${String(view.state.desired)} wanted`, next: wayOutOfLoss(plan) };
    }
    // Another run would end as the last one did.
    if (step.do === 'refuse' && isUnderWay(plan)) {
      return { verdict, sentence: `${pods}; ${step.message}`, next: wayOutOfRefusal(plan) };
    }
    const letGo =
      dead === undefined && freedPods(view).length > 0 ? commandToLetGo(view.nextController) : undefined;
    if (letGo !== undefined) return { verdict, sentence, next: letGo };
    const left = [...new Set([...abandonedPods(view), ...lostPods(view)])];
    const isGone = view.old === undefined && view.nextController === undefined;
    const isStopped = dead !== undefined && isUnderWay(plan);
    if (isStopped || isGone || left.length === 0) return { verdict, sentence, ...next };
    return { verdict, sentence, next: leaveUntilReplaced(plan, left) ?? commandForLeft(plan, left) };
  }
  if (step.do === 'refuse' && step.code === 'NextLost') {
    return { verdict: step.code, sentence: step.message, next: wayOutOfLoss(plan) };
  }
  if (!isUnderWay(plan)) return explainIdle(plan, git);
  // Another run would end as the last one did.
  if (step.do === 'refuse') {
    return { verdict: step.code, sentence: step.message, next: wayOutOfRefusal(plan) };
  }
  if (isPaused(plan)) {
    return { verdict: 'Paused', next: commandToResume(plan), sentence: reasonOf(plan) ?? 'it is paused' };
  }
  if (dead !== undefined) {
    const verdict = 'isHeld' in dead ? 'RunHeld' : 'NoRun';
    return { verdict, sentence: `the update does not go on: ${dead.why}`, ...next };
  }
  const [reason] = step.do === 'await' ? step.waiting : [];
  if (reason === undefined) {
    const sentence =
      step.do === 'write' ? `it goes on: ${step.write.message}${aboutPeriod(plan)}` : 'it goes on';
    return { verdict: 'Progressing', sentence };
  }
  const what = stuckNext(plan, reason);
  return { verdict: reason.code, sentence: reason.message, ...(what !== undefined && { next: what }) };
}

/** ` (waits for --update-period (60s after each growth))`, behind a step that a period holds; empty behind any other. */
export function aboutPeriod(plan: RollingUpdatePlan): string {
  return isHeldByPeriod(plan) ? ` (${periodReason(plan).message})` : '';
}

function isPaused({ step, view }: RollingUpdatePlan): boolean {
  return step.do === 'paused' || (step.do === 'await' && view.paused !== undefined);
}

function commandToResume({ view }: RollingUpdatePlan): string {
  return `fairlead rollout resume rc/${view.name} -n ${view.namespace}`;
}

/**
 * What comes before pods without a controller may go: while the others are fewer than wanted, those may be the only ones that serve.
 * Undefined where they may.
 */
function leaveUntilReplaced(plan: RollingUpdatePlan, left: readonly Pod[]): string | undefined {
  const { step, progress } = plan;
  const available = (progress.old?.available ?? 0) + (progress.next?.available ?? 0);
  if (available >= progress.desired || !left.some(isReady)) return undefined;
  const [reason] = step.do === 'await' ? step.waiting : [];
  const first = isPaused(plan) ? commandToResume(plan) : reason && stuckNext(plan, reason);
  const until = `leave these pods until ${String(progress.desired)} others are available (now ${String(available)})`;
  return first === undefined ? until : `${until}; ${first}`;
}

/** Last the command, so that all of it can be pasted. */
function commandForLeft({ view }: RollingUpdatePlan, left: readonly Pod[]): string {
  const names = left.slice(0, NAMED_PODS).map(({ metadata }) => metadata.name);
  return `give those that are to stay other labels, then: kubectl delete pods ${names.join(' ')} -n ${view.namespace}`;
}

/** What ends a wait that may not end by itself. */
function stuckNext(plan: RollingUpdatePlan, { code, message, pods = [] }: UpdateReason): string | undefined {
  const namespace = plan.view.namespace;
  const out = wayOut(plan, `fairlead rollout abort rc/${plan.view.name} -n ${namespace}`);
  const orElse = plan.view.isRollback ? '' : `, or ${out}`;
  const refusal = readAdmission(message);
  const steps: Readonly<Record<string, string | undefined>> = {
    PodNotReady: plan.view.isRollback ? wayOutOfRollback(plan) : `wait, or ${out}`,
    PodRefused: `${refusal === undefined ? MEND_REFUSAL : formatAdvice(adviseAdmission(refusal, namespace))}; ${TRIED_AGAIN}${orElse}`,
    Adoption:
      'wait: it is tried again; see that kube-controller-manager runs, and that nothing refuses it to patch these pods',
    PodsBound:
      "wait: the cluster's garbage collector lets them go; where it does not, see that kube-controller-manager runs, and its log",
    ControllerLeaving: commandToLetGo(plan.view.old) ?? commandToLetGo(plan.view.nextController),
    [RIVAL]: `give the other one a selector of its own, or delete it${plan.view.old === undefined ? '' : orElse}`,
    [EDITED]: `kubectl delete pods ${pods.join(' ')} -n ${namespace}`,
  };
  return steps[code];
}

/** What ends the deletion of one that is held by finalizers which nobody may take off any more: the others are taken off by themselves. */
function commandToLetGo(controller: ReplicationController | undefined): string | undefined {
  if (controller?.metadata.deletionTimestamp === undefined) return undefined;
  const foreign = foreignFinalizers(controller);
  if (foreign.length === 0) return undefined;
  const { name, namespace = '', finalizers = [] } = controller.metadata;
  const others = finalizers.filter((one) => !foreign.includes(one));
  const patch = JSON.stringify({ metadata: { finalizers: others.length === 0 ? null : others } });
  return `who has set it takes it off; if nobody does any more: kubectl patch rc ${name} -n ${namespace} --type=merge -p '${patch}'`;
}

/** What the old controller had is put back from the record, unless that was made when somebody may have edited it already. */
function wayOutOfRollback({ view: { name, namespace, record } }: RollingUpdatePlan): string | undefined {
  if (record?.replaced?.template !== undefined) return undefined;
  return `wait, or give ${name} an image that works: kubectl set image rc/${name} CONTAINER=IMAGE -n ${namespace}, and delete the pods that do not start`;
}

/** The next controller and the record are gone: what was left of them, or what is asked for again, or back. */
function wayOutOfLoss({ view }: RollingUpdatePlan): string {
  const { name, namespace, old } = view;
  const command = `fairlead rolling-update ${name}`;
  const partner = old && partnerOf(old);
  const kept = partner === undefined || hashInName(partner, name) !== undefined ? '' : ` ${partner}`;
  const image = lostImage(view);
  const which = image === undefined ? '…' : image;
  const takes = image === undefined ? '' : ', which takes them up';
  const again = `roll it out again${takes}: ${command}${kept} --image=${which} -n ${namespace}`;
  const isNamed = old === undefined || partnerOf(old) !== undefined;
  const byName = isNamed ? '' : `; or, if it is there, name it: ${command} NEXT -n ${namespace}`;
  return `${again}${byName}; or go back: fairlead rollout abort rc/${name} -n ${namespace}`;
}

/** `retry` would not help: the next run would end as the last one did. */
export function wayOutOfRefusal(plan: RollingUpdatePlan): string {
  const { old, nextController, record, name, namespace } = plan.view;
  const isThere = old !== undefined || nextController !== undefined;
  if (leftoverOf(plan.view) !== undefined) return commandToDelete(name, namespace);
  if (plan.step.do === 'refuse' && plan.step.code === 'NextLost') return wayOutOfLoss(plan);
  const isSame = plan.step.do === 'refuse' && plan.step.code === 'SelectorSame';
  if (isSame && old !== undefined && nextController !== undefined) {
    // As long as both are there, the way back is refused for the same reason.
    const next = nextController.metadata.name;
    const why = record === undefined ? 'no record says which selector it had; ' : '';
    return `${why}${commandToDelete(next, namespace)}; then give it up: fairlead rollout abort rc/${name} -n ${namespace}`;
  }
  if (record === undefined && !isThere) return `\`fairlead get rc -n ${namespace}\` shows what there is`;
  if (record === undefined || isThere) return `give it up: fairlead rollout abort rc/${name} -n ${namespace}`;
  const revision = `controllerrevision ${record.revision.metadata.name} -n ${namespace}`;
  return (
    `give it up: fairlead rollout abort rc/${name} -n ${namespace}; then, if it is wanted again, create it: ` +
    `kubectl get ${revision} -o jsonpath='{.data.controller}' | kubectl create -f -`
  );
}

/** What to do about pods that do not become available. Nothing to go back to is left once the old controller is gone. */
function wayOut(plan: RollingUpdatePlan, abort: string): string {
  const { old, nextController, isRenamed } = plan.view;
  if (old !== undefined && !isRenamed) return `go back: ${abort}`;
  const name = (old ?? nextController)?.metadata.name ?? '';
  return `roll out another image: fairlead rolling-update ${name} --image=… -n ${plan.view.namespace}`;
}

const IDLE_VERDICTS: Readonly<Record<UpdateOutcome, string>> = {
  done: 'Complete',
  rolledBack: 'RolledBack',
  progressing: 'NoUpdate',
  stalled: 'NoUpdate',
};

/** The controller, as the states of git are asked for. */
export function controllerTarget({ view: { namespace, name } }: RollingUpdatePlan) {
  return { kind: 'ReplicationController', namespace, name } as const;
}

function explainIdle(plan: RollingUpdatePlan, git: GitState | undefined): UpdateExplanation {
  const { outcome, sentence } = judgeUpdate(plan, git);
  const left = leftovers(plan.view).map((one) => ({
    text: `${describeSize(one)} is left of an update that was given up`,
    next: commandToDelete(one.metadata.name, plan.view.namespace),
  }));
  const ofGit = gitTrouble(git, controllerTarget(plan), outcome === 'rolledBack');
  const troubles = [...left, ...(ofGit === undefined ? [] : [ofGit])];
  const [first] = troubles;
  const all = troubles.map(({ text }) => text).join('; ');
  return {
    verdict: IDLE_VERDICTS[outcome],
    sentence: first === undefined ? sentence : `${sentence}; but ${all}`,
    ...(first !== undefined && { next: first.next }),
  };
}
