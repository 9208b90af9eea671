/** `fairlead rollout status`: kubectl's sentences on stdout, why it waits on stderr, and an exit code for pipelines. */

import type { WorkloadObject } from '../kubernetes/workload-edit.ts';
import type { ExitCode } from './exit-codes.ts';
import { EXIT } from './exit-codes.ts';
import { awaitWorkload } from './follow-workload.ts';
import type { Call, Io } from './io.ts';
import { notFound, readWorkload } from './read-workload.ts';
import { rolloutSentence } from './rollout-sentences.ts';
import { oneLine } from './safe-text.ts';
import type { Session } from './session.ts';
import { targetOf, withSession } from './session.ts';
import type { Document } from './structured.ts';
import { CLI_API_VERSION, printStructured } from './structured.ts';
import type { WorkloadArgument } from './workload-argument.ts';
import { formatWorkload } from './workload-argument.ts';
import { stateOfWorkload } from './workload-state.ts';
import type { WorkloadView } from './workload-view.ts';
import { viewWorkload } from './workload-view.ts';

export interface RolloutStatusOptions {
  readonly watch: boolean;
}

interface RolloutStatusDocument extends Document {
  readonly kind: 'RolloutStatus';
  readonly outcome: 'done' | 'progressing' | 'stalled' | 'timeout' | 'deleted';
  /** kubectl's. */
  readonly sentence: string;
  readonly workload?: WorkloadView;
}

/** What one state of the object says, and whether that ends the waiting. */
interface Verdict {
  readonly outcome: 'done' | 'progressing' | 'stalled';
  readonly sentence: string;
  readonly why: string;
  readonly object: WorkloadObject;
}

/** Runs the verb. Without --timeout it waits as long as it takes, as kubectl does. */
export async function runRolloutStatus(call: Call<RolloutStatusOptions>): Promise<ExitCode> {
  return await withSession(call, async (session) => {
    const { argument, target } = targetOf(session, call.operands[0] ?? '');
    const reader = new StatusReader(session, argument);
    const first = reader.read(await readWorkload(session, target));
    if (first.outcome !== 'progressing' || !call.options.watch) {
      return await reader.end(first.outcome, first);
    }
    let last = first;
    const timeoutMs = call.options.timeout ?? 0;
    const result = await awaitWorkload(session, target, timeoutMs, (object) => {
      if (object === undefined) return 'deleted' as const;
      last = reader.read(object);
      return last.outcome === 'progressing' ? undefined : last.outcome;
    });
    if (result.outcome === 'seen' && result.value === 'deleted') {
      session.io.err(`error: ${(await notFound(session, target, undefined)).message}\n`);
    }
    if (session.io.interrupted.aborted) return EXIT.interrupted;
    return await reader.end(result.outcome === 'seen' ? result.value : 'timeout', last);
  });
}

const EXIT_CODES: Readonly<Record<RolloutStatusDocument['outcome'], ExitCode>> = {
  done: EXIT.ok,
  progressing: EXIT.ok,
  stalled: EXIT.failed,
  deleted: EXIT.failed,
  timeout: EXIT.timeout,
};

/** Prints what is new in each state. */
class StatusReader {
  readonly #session: Session;
  readonly #argument: WorkloadArgument;
  readonly #quiet: boolean;
  #sentence = '';
  #why = '';

  constructor(session: Session, argument: WorkloadArgument) {
    this.#session = session;
    this.#argument = argument;
    this.#quiet = session.options.output === 'json' || session.options.output === 'yaml';
  }

  read(object: WorkloadObject): Verdict {
    const { sentence, done } = rolloutSentence(this.#argument.kind, object);
    const { state, reason, message } = stateOfWorkload(object);
    const stalled = !done && state === 'Stalled';
    const why = done ? '' : whyItWaits(state, reason, message);
    const { io } = this.#session;
    if (!this.#quiet) {
      if (sentence !== this.#sentence) io.out(`${oneLine(sentence)}\n`);
      if (why !== '' && why !== this.#why && !stalled) io.err(`  ${oneLine(why)}\n`);
    }
    this.#sentence = sentence;
    this.#why = why;
    return { outcome: done ? 'done' : stalled ? 'stalled' : 'progressing', sentence, why, object };
  }

  async end(outcome: RolloutStatusDocument['outcome'], last: Verdict): Promise<ExitCode> {
    const { io, options } = this.#session;
    const { kind, api } = this.#argument;
    const document: RolloutStatusDocument = {
      apiVersion: CLI_API_VERSION,
      kind: 'RolloutStatus',
      outcome,
      sentence: last.sentence,
      workload: viewWorkload(last.object, kind, api),
    };
    if (!(await printStructured(io, options, document))) {
      this.#complain(outcome, last.why, io);
    }
    return EXIT_CODES[outcome];
  }

  #complain(outcome: RolloutStatusDocument['outcome'], why: string, io: Io): void {
    const name = formatWorkload(this.#argument);
    const hint = `  \`fairlead explain ${name} -n ${this.#session.namespace}\` says more`;
    if (outcome === 'stalled') {
      io.err(`error: ${oneLine(`the rollout of ${name} is stalled: ${why}`)}\n${hint}\n`);
    }
    if (outcome === 'timeout') {
      io.err(
        `error: timed out waiting for the rollout of ${oneLine(`${name}${why === '' ? '' : `: ${why}`}`)}\n${hint}\n`,
      );
    }
  }
}

function whyItWaits(state: string, reason: string, message: string): string {
  if (state === 'Paused') return `paused${message === '' ? '' : ` ${message}`}`;
  if (message !== '') return message;
  return reason;
}
