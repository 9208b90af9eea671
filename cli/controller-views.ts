/** `rollout status`, `watch`, `explain`, `rollout history` of `rc/NAME`: from what the cluster holds, as for any workload. */

import { pause } from '../kubernetes/backoff.ts';
import { stringifyJson } from '../kubernetes/json.ts';
import { whyNamespaceEnds } from '../kubernetes/namespace-end.ts';
import type { UpdateReference } from '../kubernetes/rolling-update-objects.ts';
import { escapeUnsafe, oneLine } from '../kubernetes/safe-text.ts';
import { fullStop } from '../kubernetes/sentence.ts';
import type { RollingUpdatePlan } from '../planners/rolling-update.ts';
import { ChangingNote } from './changing-note.ts';
import type { AskedRun } from './controller-session.ts';
import { findUpdate, readControllerGit, readPlan, readRunAndTrouble } from './controller-session.ts';
import type { ExitCode } from './exit-codes.ts';
import { EXIT } from './exit-codes.ts';
import type { UpdateExplanation } from './explain-update.ts';
import { aboutPeriod, controllerTarget, describeFailing, explain, failingOf } from './explain-update.ts';
import type { GitState } from './git-state.ts';
import { gitTrouble } from './git-state.ts';
import type { Call } from './io.ts';
import { leaseName, readLease, whyNamespaceNotKept } from './lease.ts';
import { ACTS_AGAIN, LeaseWatch, whyNobodyActs } from './lease-watch.ts';
import { LivePrinter } from './live-printer.ts';
import { Outage } from './outage.ts';
import { RunWatch } from './run-watch.ts';
import type { Session } from './session.ts';
import { withSession } from './session.ts';
import { CLI_API_VERSION, printStructured } from './structured.ts';
import type { UpdateOutcome, UpdateVerdict } from './update-state.ts';
import {
  afterPods,
  cameBack,
  describeProgress,
  isUnderWay,
  judgeUpdate,
  reasonOf,
  whyNothingMoves,
} from './update-state.ts';
import { viewUpdateTree } from './update-tree.ts';

const LOOK_MS = 500;
/** In which a commit that has turned an update round begins the next one, milliseconds. */
const UNKNOWN_MS = 60_000;

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

interface Following {
  readonly isOnce: boolean;
  readonly untilDone: boolean;
  readonly isWatch: boolean;
}

async function follow(call: Call, how: Following): Promise<ExitCode> {
  return await withSession(call, async (session) => {
    const reference = await findUpdate(session, call);
    return await new Follower(session, reference, how).follow();
  });
}

/** What one look has found. */
interface Look {
  readonly plan: RollingUpdatePlan;
  readonly git: GitState | undefined;
  readonly outcome: UpdateOutcome;
  readonly sentence: string;
  /** Why nobody acts, in one clause. */
  readonly nobody: string | undefined;
  /** The run is gone, and why. */
  readonly dead: UpdateExplanation | undefined;
  /** As {@link describeFailing}. */
  readonly failing: string | undefined;
}

/** Looks again and again, tells what has changed, and knows when to stop. */
class Follower {
  readonly #session: Session;
  readonly #reference: UpdateReference;
  readonly #how: Following;
  readonly #isQuiet: boolean;
  readonly #isStream: boolean;
  readonly #tree: LivePrinter | undefined;
  readonly #leader: LeaseWatch;
  readonly #runs: RunWatch;
  readonly #fails: ChangingNote;
  readonly #outage: Outage;
  #told: Look | undefined;
  /** Since when nothing is known of a commit that turned it round, milliseconds since the epoch. */
  #unknownSince: number | undefined;
  /** The sentence that was printed last. */
  #shown: string | undefined;

  constructor(session: Session, reference: UpdateReference, how: Following) {
    const { io, options } = session;
    this.#session = session;
    this.#reference = reference;
    this.#how = how;
    this.#isQuiet = options.output === 'json' || options.output === 'yaml';
    this.#isStream = how.isWatch && options.output === 'json';
    this.#tree = how.isWatch && !this.#isQuiet && io.live ? new LivePrinter(io) : undefined;
    this.#leader = new LeaseWatch(session);
    this.#runs = new RunWatch(session, reference);
    this.#fails = new ChangingNote(io, 'it goes on');
    const away = new ChangingNote(io, 'the cluster can be looked at again');
    this.#outage = new Outage((why) => {
      if (this.#tree === undefined) away.now(why);
      else if (why !== undefined && this.#told !== undefined) {
        this.#tree.note(why);
        this.#tree.show(viewUpdateTree(this.#told.plan, this.#told));
      }
    });
  }

  async follow(): Promise<ExitCode> {
    const { io } = this.#session;
    const began = io.now();
    try {
      while (!io.interrupted.aborted) {
        const look = (await this.#outage.read(async () => await this.#look())) ?? this.#told;
        const ended = look && this.#endOf(look, io.now() - began);
        if (look !== undefined && ended !== undefined) return await this.#end(look, ended);
        await pause(this.#waitMs(io.now() - began), io.interrupted);
      }
    } finally {
      this.#tree?.end();
    }
    return EXIT.interrupted;
  }

  #waitMs(waitedMs: number): number {
    const { timeout = 0 } = this.#session.options;
    const most = timeout > 0 ? Math.max(timeout - waitedMs, 0) : Infinity;
    return Math.min(Math.max(LOOK_MS, this.#outage.waitMs), most);
  }

  /** Tells what is new as it is found: that nobody acts takes longer to find out than what the controllers hold. */
  async #look(): Promise<Look> {
    const plan = await readPlan(this.#session, this.#reference);
    const notes: string[] = [];
    const git = await readControllerGit(this.#session, plan, notes);
    const judged = this.#judge(plan, git, notes);
    this.#tree?.show(viewUpdateTree(plan, judged));
    this.#tellState(plan, judged);
    const nobody = isUnderWay(plan) ? await this.#leader.look() : undefined;
    if (nobody !== undefined && this.#told?.nobody === undefined) this.#note(`${nobody}, so nobody acts`);
    if (nobody === undefined && this.#told?.nobody !== undefined) this.#note(ACTS_AGAIN);
    const { isOnce, untilDone } = this.#how;
    const dead = await whyDead(plan, async () =>
      isOnce ? await this.#runs.closedAtLast() : this.#runs.closed(),
    );
    if (dead !== undefined && this.#told?.dead === undefined && !untilDone) this.#note(dead.sentence);
    const failing = nobody === undefined ? this.#failingOf(plan) : undefined;
    if (this.#tree === undefined) this.#fails.now(failing);
    const trouble = nobody === undefined ? (dead?.sentence ?? failing) : `${nobody}, so nobody acts`;
    this.#tree?.note(trouble ?? '');
    this.#told = { plan, git, ...judged, nobody, dead, failing };
    return this.#told;
  }

  /** Why its run gets nowhere, as far as that is known. */
  #failingOf(plan: RollingUpdatePlan): string | undefined {
    const lost = isUnderWay(plan) ? this.#runs.lost() : undefined;
    return lost ?? describeFailing(plan, failingOf(this.#runs.open()));
  }

  /** Where nothing is known of the commit that turned it round, only the update that it begins tells of that, and soon. */
  #judge(plan: RollingUpdatePlan, git: GitState | undefined, notes: readonly string[]): UpdateVerdict {
    const judged = judgeUpdate(plan, git);
    const isAwaited = judged.outcome === 'progressing' && !isUnderWay(plan) && cameBack(plan) !== undefined;
    if (git !== undefined || !isAwaited) {
      this.#unknownSince = undefined;
      return judged;
    }
    const now = this.#session.io.now();
    if (this.#unknownSince === undefined) for (const note of notes) this.#note(note);
    this.#unknownSince ??= now;
    return now - this.#unknownSince < UNKNOWN_MS ? judged : judgeUpdate(plan, git, true);
  }

  #tellState(plan: RollingUpdatePlan, { outcome, sentence }: Pick<Look, 'outcome' | 'sentence'>): void {
    const { io } = this.#session;
    if (sentence === this.#shown) return;
    this.#shown = sentence;
    if (this.#isStream) io.out(`${escapeUnsafe(stringifyJson(documentOf(plan, outcome, sentence)))}\n`);
    else if (!this.#isQuiet && this.#tree === undefined) io.out(`${oneLine(sentence)}\n`);
  }

  /** Each once, as it begins; a tree has a place for what is so now. */
  #note(text: string): void {
    if (this.#tree === undefined) this.#session.io.err(`  ${oneLine(text)}\n`);
  }

  /** Why to look no more; undefined: there is something to wait for. */
  #endOf({ outcome, dead }: Look, waitedMs: number): Outcome | undefined {
    const { isOnce, untilDone } = this.#how;
    const { timeout = 0 } = this.#session.options;
    const state = dead === undefined ? outcome : 'stalled';
    if (isOnce || (untilDone && state !== 'progressing')) return state;
    return timeout > 0 && waitedMs >= timeout ? 'timeout' : undefined;
  }

  async #end({ plan, git, sentence, dead, nobody, failing }: Look, ended: Outcome): Promise<ExitCode> {
    const { io, options } = this.#session;
    // Before the moment has gone by in which another may be started.
    const soon =
      dead ?? (ended === 'timeout' ? await whyDead(plan, () => this.#runs.lastClosed()) : undefined);
    const away = this.#outage.why;
    const end = await explainEnd(this.#session, plan, { ended, dead: soon, nobody, failing, away });
    if (!this.#isStream) await printStructured(io, options, { ...documentOf(plan, ended, sentence), ...end });
    // What is done may not be that of the commit which somebody waits for.
    const ofGit = ended === 'done' ? gitTrouble(git, controllerTarget(plan), false) : undefined;
    if (ofGit !== undefined && !this.#isQuiet) io.err(`note: ${oneLine(ofGit.text)}\n`);
    if (end.why !== undefined) io.err(`error: ${oneLine(end.why)}\n`);
    if (end.next !== undefined) io.err(`  ${oneLine(end.next)}\n`);
    return EXIT_CODES[ended];
  }
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
  /** As {@link Outage.why}. */
  readonly away: string | undefined;
}

/** Why a wait ends without what was waited for, and what to do about it; as `explain` finds it. */
async function explainEnd(
  session: Session,
  plan: RollingUpdatePlan,
  { ended, dead, nobody, failing, away }: Ending,
): Promise<{ readonly why?: string; readonly next?: string }> {
  const { name } = plan.view;
  if (ended === 'stalled') {
    // Of what stalls by itself the run tells nothing more.
    const run = { state: 'running', status: 'RUNNING', workflowId: '' } as const;
    const { sentence, next } = dead ?? explain(plan, { run, nobody: undefined, git: undefined });
    return { why: `rc/${name}: ${sentence}`, ...(next !== undefined && { next }) };
  }
  if (ended !== 'timeout') return {};
  if (away !== undefined) return { why: `timed out waiting for the update of ${name}: ${away}` };
  // The silence of a worker that has just died takes a moment to be told from its last renewal.
  const late = isUnderWay(plan) ? (nobody ?? (await whyNobodyActs(session))) : undefined;
  const waits =
    late !== undefined
      ? afterPods(plan, late)
      : dead !== undefined
        ? dead.sentence
        : (failing ?? (isUnderWay(plan) ? `${whyNothingMoves(plan)}${aboutPeriod(plan)}` : reasonOf(plan)));
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
      readRunAndTrouble(session, reference),
      readLease(session),
      whyNobodyActs(session),
      whyNamespaceEnds(session.client, session.namespace, io.interrupted),
    ]);
    const notes: string[] = [];
    const git = await readControllerGit(session, plan, notes);
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
      notes,
    } as const;
    if (await printStructured(io, options, document)) return EXIT.ok;
    io.out(`${oneLine(`replicationcontroller/${reference.name}: ${fullStop(sentence)}`)}\n`);
    const isLost = plan.step.do === 'refuse' && plan.step.code === 'NextLost';
    if (isUnderWay(plan) || isLost) io.out(`${oneLine(`  progress: ${describeProgress(plan.progress)}`)}\n`);
    if (git?.drift !== undefined) io.out(`${oneLine(`  drift:    ${git.drift}`)}\n`);
    if (next !== undefined) io.out(`${oneLine(`  next:     ${next}`)}\n`);
    for (const note of notes) io.err(`note: ${oneLine(note)}\n`);
    return EXIT.ok;
  });
}
