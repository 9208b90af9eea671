/** `fairlead rollout status`: kubectl's sentences on stdout, why it waits on stderr, and an exit code for pipelines. */

import { describePinned, readPinned } from '../kubernetes/wish-annotations.ts';
import type { WorkloadObject } from '../kubernetes/workload-edit.ts';
import { isBootstrap } from '../planners/bootstrap.ts';
import type { ExitCode } from './exit-codes.ts';
import { EXIT } from './exit-codes.ts';
import { awaitWorkload } from './follow-workload.ts';
import { gitTrouble, readGitState, wasRolledOutSince } from './git-state.ts';
import type { Call } from './io.ts';
import { readLease } from './lease.ts';
import { notFound, readWorkload } from './read-workload.ts';
import { rolloutSentence } from './rollout-sentences.ts';
import { oneLine } from '../kubernetes/safe-text.ts';
import type { Session } from './session.ts';
import { targetOf, withSession } from './session.ts';
import type { Document } from './structured.ts';
import { CLI_API_VERSION, printStructured } from './structured.ts';
import { describeRun, troubleOf } from './temporal.ts';
import type { WorkloadArgument } from './workload-argument.ts';
import { formatWorkload } from './workload-argument.ts';
import { isStuck, rollbackSince, stateOfWorkload } from './workload-state.ts';
import type { WorkloadView } from './workload-view.ts';
import { viewWorkload } from './workload-view.ts';
import { WhyItWaits } from './why-it-waits.ts';

export interface RolloutStatusOptions {
  readonly watch: boolean;
}

interface RolloutStatusDocument extends Document {
  readonly kind: 'RolloutStatus';
  /** `rolledBack`: it is well, at the revision before the one whose deadline passed, or that was turned round while it was awaited. */
  readonly outcome: 'done' | 'rolledBack' | 'progressing' | 'stalled' | 'timeout' | 'deleted';
  /** kubectl's. */
  readonly sentence: string;
  /** What it waits for, or why it is stalled. */
  readonly why?: string;
  readonly workload: WorkloadView;
}

/** What one state of the object says, and whether that ends the waiting. */
interface Verdict {
  readonly outcome: 'done' | 'rolledBack' | 'progressing' | 'stalled';
  readonly sentence: string;
  readonly object: WorkloadObject;
}

/** Runs the verb. Without --timeout it waits as long as it takes, as kubectl does. */
export async function runRolloutStatus(call: Call<RolloutStatusOptions>): Promise<ExitCode> {
  return await withSession(call, async (session) => {
    const { argument, target } = targetOf(session, call.operands[0] ?? '');
    const print = call.options.output !== 'json' && call.options.output !== 'yaml';
    const why = new WhyItWaits(session, target, print);
    let last: Verdict | undefined;
    let begun: WorkloadObject | undefined;
    const read = (object: WorkloadObject): Verdict => {
      begun ??= object;
      const verdict = judge(begun, object, argument);
      // Complete is then the revision before: whoever reads stdout alone would take it for what was to be rolled out.
      const isNews = verdict.sentence !== last?.sentence && verdict.outcome !== 'rolledBack';
      if (print && isNews) call.io.out(`${oneLine(verdict.sentence)}\n`);
      last = verdict;
      why.note(object, verdict.sentence);
      return verdict;
    };
    const first = read(await readWorkload(session, target));
    if (first.outcome !== 'progressing') return await report(session, argument, first.outcome, first, why);
    if (!call.options.watch) {
      await why.once();
      return await report(session, argument, 'progressing', first, why);
    }
    const ended = new AbortController();
    const looking = why.run(ended.signal);
    const result = await awaitWorkload(session, target, call.options.timeout ?? 0, (object) => {
      if (object === undefined) return 'deleted' as const;
      const { outcome } = read(object);
      return outcome === 'progressing' ? undefined : outcome;
    }).finally(() => {
      ended.abort();
    });
    await looking;
    if (call.io.interrupted.aborted) return EXIT.interrupted;
    if (result.outcome === 'seen' && result.value === 'deleted') {
      const { hasNamesake, message } = await notFound(session, target, undefined);
      const what = `${argument.kind.toLowerCase()}/${target.name}`;
      const told = hasNamesake ? message : `${what} was deleted from namespace ${target.namespace}`;
      call.io.err(`error: ${told}\n`);
    }
    return await report(
      session,
      argument,
      result.outcome === 'seen' ? result.value : 'timeout',
      last ?? first,
      why,
    );
  });
}

function judge(begun: WorkloadObject, object: WorkloadObject, { kind }: WorkloadArgument): Verdict {
  const { sentence, done, failed } = rolloutSentence(kind, object);
  const stalled = !done && (failed === true || isStuck(object));
  const back = rollbackSince(begun, object) !== undefined;
  return {
    outcome: done ? (back ? 'rolledBack' : 'done') : stalled ? 'stalled' : 'progressing',
    sentence,
    object,
  };
}

const EXIT_CODES: Readonly<Record<RolloutStatusDocument['outcome'], ExitCode>> = {
  done: EXIT.ok,
  // What was to be rolled out is not: a pipeline must not go on as if it were.
  rolledBack: EXIT.failed,
  progressing: EXIT.ok,
  stalled: EXIT.failed,
  deleted: EXIT.failed,
  timeout: EXIT.timeout,
};

/** The rollout that is done may not be that of the commit which somebody waits for. */
async function noteFailedCommit(
  session: Session,
  object: WorkloadObject,
  argument: WorkloadArgument,
): Promise<void> {
  const { namespace = session.namespace } = object.metadata;
  const git = await readGitState(session, object);
  const isOver = readPinned(object.metadata.annotations) !== undefined || wasRolledOutSince(git, object);
  const trouble = gitTrouble(git, { ...argument, namespace }, isOver);
  if (trouble !== undefined) session.io.err(`note: ${oneLine(trouble.text)}\n`);
}

/** Outcomes that are told as an error. */
const FAILED: Partial<
  Record<RolloutStatusDocument['outcome'], (workload: string, object: WorkloadObject) => string>
> = {
  stalled: (workload) => `the rollout of ${workload} is stalled`,
  rolledBack: (workload, { metadata }) => {
    const { verb, by } = readPinned(metadata.annotations) ?? {};
    const who = verb === 'deadline' ? 'its deadline' : by;
    return `the rollout of ${workload} was rolled back${who === undefined ? '' : ` by ${who}`}`;
  },
  timeout: (workload) => `timed out waiting for the rollout of ${workload}`,
};

function causeOf(outcome: RolloutStatusDocument['outcome'], object: WorkloadObject, why: WhyItWaits): string {
  switch (outcome) {
    case 'done':
    case 'deleted':
      return '';
    case 'rolledBack': {
      const pin = readPinned(object.metadata.annotations) ?? {};
      return `${describePinned(pin)}${pin.reason === undefined ? '' : `: ${pin.reason}`}`;
    }
    case 'stalled': {
      const { state, message } = stateOfWorkload(object);
      return state === 'Paused' ? `paused ${message}` : message;
    }
    case 'progressing':
      return why.last;
    case 'timeout':
      return why.lastTold;
  }
}

/** What keeps the run from going on, where that is known: neither the object nor a plan tells of it. */
async function heldBy(
  session: Session,
  argument: WorkloadArgument,
  object: WorkloadObject,
): Promise<string | undefined> {
  if (isBootstrap(object)) return undefined;
  const { target } = targetOf(session, formatWorkload(argument));
  const [run, lease] = await Promise.all([describeRun(session, target), readLease(session)]);
  return troubleOf(run, lease.state !== 'free')?.text;
}

async function report(
  session: Session,
  argument: WorkloadArgument,
  outcome: RolloutStatusDocument['outcome'],
  last: Verdict,
  why: WhyItWaits,
): Promise<ExitCode> {
  const { io, options, namespace } = session;
  const { kind, api } = argument;
  const isUnfinished = outcome === 'stalled' || outcome === 'timeout';
  const held = isUnfinished ? await heldBy(session, argument, last.object) : undefined;
  const cause = [causeOf(outcome, last.object, why), held ?? ''].filter((part) => part !== '').join('; ');
  const document: RolloutStatusDocument = {
    apiVersion: CLI_API_VERSION,
    kind: 'RolloutStatus',
    outcome,
    sentence: last.sentence,
    ...(cause !== '' && { why: cause }),
    workload: viewWorkload(last.object, kind, api),
  };
  const printed = await printStructured(io, options, document);
  if (!printed && outcome === 'done') await noteFailedCommit(session, last.object, argument);
  const failed = FAILED[outcome];
  if (!printed && failed !== undefined) {
    const name = formatWorkload(argument);
    const what = failed(name, last.object);
    io.err(`error: ${oneLine(cause === '' ? what : `${what}: ${cause}`)}\n`);
    io.err(`  \`fairlead explain ${name} -n ${namespace}\` says more\n`);
  }
  return EXIT_CODES[outcome];
}
