/** `rollout status`, `watch`, `explain`, `rollout history` of `rc/NAME`: from what the cluster holds, as for any workload. */

import { whyLastFailed } from '../kubernetes/attempts.ts';
import { pause } from '../kubernetes/backoff.ts';
import { stringifyJson } from '../kubernetes/json.ts';
import { escapeUnsafe, oneLine } from '../kubernetes/safe-text.ts';
import type { RollingUpdatePlan } from '../planners/rolling-update.ts';
import { isHeldByPeriod, periodReason } from '../planners/rolling-update-period.ts';
import { abandonedPods } from '../planners/rolling-update-abandoned.ts';
import { describeSize, leftovers } from '../planners/rolling-update-leftover.ts';
import { lostImage, lostPods } from '../planners/rolling-update-lost.ts';
import { hashInName } from '../planners/rolling-update-record.ts';
import { RIVAL } from '../planners/rolling-update-rivals.ts';
import { EDITED } from '../planners/rolling-update-template.ts';
import type { FailingStep } from '../planners/rolling-update-run.ts';
import { describeNoRun } from '../planners/rolling-update-run.ts';
import type { UpdateReason } from '../planners/rolling-update-steps.ts';
import { whyNamespaceEnds } from '../kubernetes/namespace-end.ts';
import { partnerOf } from '../planners/replication-controller.ts';
import { heldNext } from '../planners/rolling-update-handover.ts';
import { ChangingNote } from './changing-note.ts';
import type { AskedRun } from './controller-session.ts';
import { findUpdate, readControllerGit, readPlan, readRun } from './controller-session.ts';
import type { ExitCode } from './exit-codes.ts';
import { EXIT } from './exit-codes.ts';
import type { GitState } from './git-state.ts';
import { gitTrouble } from './git-state.ts';
import type { Call } from './io.ts';
import { leaseName, readLease, whyNamespaceNotKept } from './lease.ts';
import { LeaseWatch, whyNobodyActs } from './lease-watch.ts';
import { LivePrinter } from './live-printer.ts';
import { RunWatch } from './run-watch.ts';
import type { Session } from './session.ts';
import { withSession } from './session.ts';
import { CLI_API_VERSION, printStructured } from './structured.ts';
import { commandToDelete } from './update-refusal.ts';
import type { UpdateOutcome } from './update-state.ts';
import { viewUpdateTree } from './update-tree.ts';
import {
  afterPods,
  commandFor,
  describeProgress,
  isUnderWay,
  judgeUpdate,
  leftoverOf,
  podsWithoutController,
  reasonOf,
  whyNothingMoves,
} from './update-state.ts';

const LOOK_MS = 500;

/** Runs `rollout status`. */
export async function runControllerStatus(call: Call<{ readonly watch: boolean }>): Promise<ExitCode> {
  return await follow(call, { isOnce: !call.options.watch, untilDone: true, isWatch: false });
}

/** Runs `watch`: a tree on a terminal, else a line for each change. */
export async function runControllerWatch(call: Call<{ readonly untilDone?: boolean }>): Promise<ExitCode> {
  return await follow(call, { isOnce: false, untilDone: call.options.untilDone === true, isWatch: true });
}

type Outcome = UpdateOutcome | 'timeout';

const EXIT_CODES: Readonly<Record<Outcome, ExitCode>> = {
  done: EXIT.ok,
  progressing: EXIT.ok,
  // What was to be rolled out is not: a pipeline must not go on as if it were.
  rolledBack: EXIT.failed,
  stalled: EXIT.failed,
  timeout: EXIT.timeout,
};

async function follow(
  call: Call,
  {
    isOnce,
    untilDone,
    isWatch,
  }: { readonly isOnce: boolean; readonly untilDone: boolean; readonly isWatch: boolean },
): Promise<ExitCode> {
  return await withSession(call, async (session) => {
    const { io, options } = session;
    const reference = await findUpdate(session, call);
    const isQuiet = options.output === 'json' || options.output === 'yaml';
    const isStream = isWatch && options.output === 'json';
    const tree = isWatch && !isQuiet && io.live ? new LivePrinter(io) : undefined;
    const keeper = new LeaseWatch(session);
    const runs = new RunWatch(session, reference);
    const began = io.now();
    /** Each once, as it begins; a tree has a place for what is so now. */
    const note = (text: string) => {
      if (tree === undefined) io.err(`  ${oneLine(text)}\n`);
    };
    let shown = '';
    let nobody: string | undefined;
    let dead: UpdateExplanation | undefined;
    const fails = new ChangingNote(io, 'it goes on');
    try {
      while (!io.interrupted.aborted) {
        const plan = await readPlan(session, reference);
        const git = await readControllerGit(session, plan);
        const { outcome, sentence } = judgeUpdate(plan, git);
        tree?.show(viewUpdateTree(plan, { outcome, sentence }));
        if (sentence !== shown && !isQuiet && tree === undefined) io.out(`${oneLine(sentence)}\n`);
        if (sentence !== shown && isStream)
          io.out(`${escapeUnsafe(stringifyJson(documentOf(plan, outcome, sentence)))}\n`);
        shown = sentence;
        const before = nobody;
        nobody = isUnderWay(plan) ? await keeper.look() : undefined;
        if (nobody !== undefined && before === undefined) note(`${nobody}, so nobody acts`);
        const wasDead = dead !== undefined;
        dead = await whyDead(plan, async () => (isOnce ? await runs.closedAtLast() : runs.closed()));
        if (dead !== undefined && !wasDead && !untilDone) note(dead.sentence);
        const failing = nobody === undefined ? describeFailing(plan, failingOf(runs.open())) : undefined;
        if (tree === undefined) fails.now(failing);
        const trouble = nobody === undefined ? (dead?.sentence ?? failing) : `${nobody}, so nobody acts`;
        tree?.note(trouble ?? '');
        const isLate = (options.timeout ?? 0) > 0 && io.now() - began >= (options.timeout ?? 0);
        const state = dead === undefined ? outcome : 'stalled';
        const ended: Outcome | undefined =
          state !== 'progressing' && untilDone ? state : isOnce ? state : isLate ? 'timeout' : undefined;
        if (ended !== undefined) {
          // Before the moment has gone by in which another may be started.
          const soon =
            dead ?? (ended === 'timeout' ? await whyDead(plan, () => runs.lastClosed()) : undefined);
          const end = await explainEnd(session, plan, { ended, dead: soon, nobody, failing });
          if (!isStream) await printStructured(io, options, { ...documentOf(plan, ended, sentence), ...end });
          // What is done may not be that of the commit which somebody waits for.
          const ofGit = ended === 'done' ? gitTrouble(git, targetOf(plan), false) : undefined;
          if (ofGit !== undefined && !isQuiet) io.err(`note: ${oneLine(ofGit.text)}\n`);
          if (end.why !== undefined) io.err(`error: ${oneLine(end.why)}\n`);
          if (end.next !== undefined) io.err(`  ${oneLine(end.next)}\n`);
          return EXIT_CODES[ended];
        }
        await pause(LOOK_MS, io.interrupted);
      }
    } finally {
      tree?.end();
    }
    return EXIT.interrupted;
  });
}

/** No run is open, and none is about to be; while it is paused that is the first to be told. kubectl's updates have no run. */
async function whyDead(
  plan: RollingUpdatePlan,
  readClosed: () => AskedRun | undefined | Promise<AskedRun | undefined>,
): Promise<UpdateExplanation | undefined> {
  const { record, paused } = plan.view;
  if (record === undefined || paused !== undefined || plan.step.do === 'refuse') return undefined;
  const run = await readClosed();
  return run && explain(plan, { run, nobody: undefined, git: undefined });
}

interface Ending {
  readonly ended: Outcome;
  readonly dead: UpdateExplanation | undefined;
  readonly nobody: string | undefined;
  /** As {@link describeFailing}. */
  readonly failing: string | undefined;
}

/** Why a wait ends without what was waited for, and what to do about it; as `explain` finds it. */
async function explainEnd(
  session: Session,
  plan: RollingUpdatePlan,
  { ended, dead, nobody, failing }: Ending,
): Promise<{ readonly why?: string; readonly next?: string }> {
  const { name } = plan.view;
  if (ended === 'stalled') {
    // Of what stalls by itself the run tells nothing more.
    const run = { state: 'running', status: 'RUNNING', workflowId: '' } as const;
    const { sentence, next } = dead ?? explain(plan, { run, nobody: undefined, git: undefined });
    return { why: `rc/${name}: ${sentence}`, ...(next !== undefined && { next }) };
  }
  if (ended !== 'timeout') return {};
  // The silence of a worker that has just died takes a moment to be told from its last renewal.
  const late = isUnderWay(plan) ? (nobody ?? (await whyNobodyActs(session))) : undefined;
  const waits =
    late !== undefined
      ? afterPods(plan, late)
      : dead !== undefined
        ? dead.sentence
        : (failing ?? (isUnderWay(plan) ? whyNothingMoves(plan) : reasonOf(plan)));
  return { why: `timed out waiting for the update of ${name}${waits === undefined ? '' : `: ${waits}`}` };
}

function documentOf({ progress, view: { name } }: RollingUpdatePlan, outcome: Outcome, sentence: string) {
  return { apiVersion: CLI_API_VERSION, kind: 'RolloutStatus', outcome, sentence, name, progress } as const;
}

/** Runs `explain`: what an operator wants to hear first, in one sentence. */
export async function runControllerExplain(call: Call): Promise<ExitCode> {
  return await withSession(call, async (session) => {
    const { io, options } = call;
    const reference = await findUpdate(session, call);
    const [plan, run, lease, nobody, ending] = await Promise.all([
      readPlan(session, reference),
      readRun(session, reference),
      readLease(session),
      whyNobodyActs(session),
      whyNamespaceEnds(session.client, session.namespace, io.interrupted),
    ]);
    const git = await readControllerGit(session, plan);
    const notKept = whyNamespaceNotKept(lease, reference.namespace, leaseName(session));
    const { verdict, sentence, next } = explain(plan, { run, nobody: nobody ?? notKept, git, ending });
    const document = {
      apiVersion: CLI_API_VERSION,
      kind: 'Explanation',
      verdict,
      sentence,
      ...(next !== undefined && { next }),
      run,
      lease,
      progress: plan.progress,
      namespace: reference.namespace,
      name: reference.name,
      waiting: plan.step.do === 'await' ? plan.step.waiting : [],
      ...(git && { git }),
    } as const;
    if (await printStructured(io, options, document)) return EXIT.ok;
    io.out(`${oneLine(`replicationcontroller/${reference.name}: ${sentence}.`)}\n`);
    const isLost = plan.step.do === 'refuse' && plan.step.code === 'NextLost';
    if (isUnderWay(plan) || isLost) io.out(`${oneLine(`  progress: ${describeProgress(plan.progress)}`)}\n`);
    if (git?.drift !== undefined) io.out(`${oneLine(`  drift:    ${git.drift}`)}\n`);
    if (next !== undefined) io.out(`${oneLine(`  next:     ${next}`)}\n`);
    return EXIT.ok;
  });
}

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

function failingOf(run: AskedRun | undefined): FailingStep | undefined {
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
  if (failing === undefined || failing.attempts < 1 || step.do !== 'write') return undefined;
  const times = failing.attempts === 1 ? 'once' : `${String(failing.attempts)} times`;
  return `what is due (${step.write.message}) has failed ${times}: ${failing.message}`;
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
          ? undefined
          : {
              why: describeNoRun(run, whyLastFailed(view.record?.revision)),
              next: retry,
            };
  const next = dead === undefined ? {} : { next: dead.next };
  const leftover = leftoverOf(view);
  if (leftover !== undefined) {
    return { verdict: 'LeftBehind', sentence: leftover, next: commandToDelete(name, view.namespace) };
  }
  const pods = podsWithoutController(plan);
  if (pods !== undefined) {
    const sentence = dead === undefined || !isUnderWay(plan) ? pods : afterPods(plan, dead.why);
    const verdict = 'PodsWithoutController';
    if (step.do === 'refuse' && step.code === 'NextLost') {
      return { verdict, sentence: `${pods}; ${String(view.state.desired)} wanted`, next: wayOutOfLoss(plan) };
    }
    // Another run would end as the last one did.
    if (step.do === 'refuse' && isUnderWay(plan)) {
      return { verdict, sentence: `${pods}; ${step.message}`, next: wayOutOfRefusal(plan) };
    }
    const left = [...new Set([...abandonedPods(view), ...lostPods(view)])];
    const isGone = view.old === undefined && view.nextController === undefined;
    const isStopped = dead !== undefined && isUnderWay(plan);
    if (isStopped || isGone || left.length === 0) return { verdict, sentence, ...next };
    const names = left.slice(0, NAMED_PODS).map(({ metadata }) => metadata.name);
    const command = `kubectl delete pods ${names.join(' ')} -n ${plan.view.namespace}`;
    return { verdict, sentence, next: `give those that are to stay other labels, then: ${command}` };
  }
  if (step.do === 'refuse' && step.code === 'NextLost') {
    return { verdict: step.code, sentence: step.message, next: wayOutOfLoss(plan) };
  }
  if (!isUnderWay(plan)) return explainIdle(plan, git);
  // Another run would end as the last one did.
  if (step.do === 'refuse') {
    return { verdict: step.code, sentence: step.message, next: wayOutOfRefusal(plan) };
  }
  const isPaused = step.do === 'paused' || (step.do === 'await' && view.paused !== undefined);
  if (isPaused) {
    const held = { verdict: 'Paused', next: `fairlead rollout resume ${who}` };
    return { ...held, sentence: reasonOf(plan) ?? 'it is paused' };
  }
  if (dead !== undefined) {
    return { verdict: 'NoRun', sentence: `the update does not go on: ${dead.why}`, ...next };
  }
  const [reason] = step.do === 'await' ? step.waiting : [];
  if (reason === undefined) {
    const rest = isHeldByPeriod(plan) ? ` (${periodReason(plan).message})` : '';
    const sentence = step.do === 'write' ? `it goes on: ${step.write.message}${rest}` : 'it goes on';
    return { verdict: 'Progressing', sentence };
  }
  const what = stuckNext(plan, reason);
  return { verdict: reason.code, sentence: reason.message, ...(what !== undefined && { next: what }) };
}

/** What ends a wait that may not end by itself. */
function stuckNext(plan: RollingUpdatePlan, { code, pods = [] }: UpdateReason): string | undefined {
  const namespace = plan.view.namespace;
  const out = wayOut(plan, `fairlead rollout abort rc/${plan.view.name} -n ${namespace}`);
  const orElse = plan.view.isRollback ? '' : `, or ${out}`;
  const steps: Readonly<Record<string, string | undefined>> = {
    PodNotReady: plan.view.isRollback ? wayOutOfRollback(plan) : `wait, or ${out}`,
    PodRefused: `make room (kubectl describe quota -n ${namespace})${orElse}`,
    ControllerLeaving: wayOutOfDeletion(plan),
    [RIVAL]: `give the other one a selector of its own, or delete it${plan.view.old === undefined ? '' : orElse}`,
    [EDITED]: `kubectl delete pods ${pods.join(' ')} -n ${namespace}`,
  };
  return steps[code];
}

/** One that is held by finalizers which nobody may take off any more. */
function wayOutOfDeletion({
  view: { old, nextController, namespace },
}: RollingUpdatePlan): string | undefined {
  const held = [old, nextController].find(
    (one) => one?.metadata.deletionTimestamp !== undefined && (one.metadata.finalizers ?? []).length > 0,
  );
  if (held === undefined) return undefined;
  const { name } = held.metadata;
  return `who has set it takes it off; if nobody does any more: kubectl patch rc ${name} -n ${namespace} --type=merge -p '{"metadata":{"finalizers":null}}'`;
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

function targetOf({ view: { namespace, name } }: RollingUpdatePlan) {
  return { kind: 'ReplicationController', namespace, name } as const;
}

function explainIdle(plan: RollingUpdatePlan, git: GitState | undefined): UpdateExplanation {
  const { outcome, sentence } = judgeUpdate(plan, git);
  const left = leftovers(plan.view).map((one) => ({
    text: `${describeSize(one)} is left of an update that was given up`,
    next: commandToDelete(one.metadata.name, plan.view.namespace),
  }));
  const ofGit = gitTrouble(git, targetOf(plan), outcome === 'rolledBack');
  const troubles = [...left, ...(ofGit === undefined ? [] : [ofGit])];
  const [first] = troubles;
  const all = troubles.map(({ text }) => text).join('; ');
  return {
    verdict: IDLE_VERDICTS[outcome],
    sentence: first === undefined ? sentence : `${sentence}; but ${all}`,
    ...(first !== undefined && { next: first.next }),
  };
}
