/** `fairlead sync REPOSITORY`: look now, try the newest commit, wait for its outcome; for people and pipelines. */

import type { InventoryStore } from '../git/inventory.ts';
import type { RepositoryStatus } from '../git/inventory-status.ts';
import { ProblemError, shortSha } from '../git/problems.ts';
import { describeSuspension } from '../git/suspension.ts';
import { ApiError } from '../kubernetes/api-error.ts';
import { pause } from '../kubernetes/backoff.ts';
import { oneLine } from '../kubernetes/safe-text.ts';
import type { LookResult } from '../activities/commit-types.ts';
import type { OperatorMessage } from '../workflows/messages.ts';
import type { CommitView, LastCommit } from '../workflows/sync-messages.ts';
import { formatAge } from './durations.ts';
import { CliError, EXIT } from './exit-codes.ts';
import type { ExitCode } from './exit-codes.ts';
import type { Call, Io } from './io.ts';
import { LeaseWatch } from './lease-watch.ts';
import { repositoryName } from './repository-argument.ts';
import type { KnownRepository } from './read-repositories.ts';
import { NotListedYet, readRepository, whyNotFollowed } from './read-repositories.ts';
import type { RepositoryView } from './repository-views.ts';
import { describeDrifts } from './repository-views.ts';
import type { Session } from './session.ts';
import { withSession } from './session.ts';
import type { Document } from './structured.ts';
import { CLI_API_VERSION, printStructured } from './structured.ts';
import { TemporalUnreachable, openTemporal, unreachableBy } from './temporal.ts';
import type { SyncCalls } from './temporal-sync.ts';
import { describeProgress, syncCalls } from './temporal-sync.ts';
import { whoAmI } from './who-am-i.ts';

export interface SyncOptions {
  readonly reason?: string;
  readonly by?: string;
  /** `--no-wait` makes it false. */
  readonly wait: boolean;
}

interface SyncResultDocument extends Document {
  readonly kind: 'SyncResult';
  readonly repository: string;
  readonly sha: string;
  /** `started`: not waited for. */
  readonly outcome: LastCommit['outcome'] | 'started' | 'timeout' | 'suspended';
  /** What is wrong, or what it waits for. */
  readonly message?: string;
  /** What is worth knowing of a commit that is over and no failure. */
  readonly notes?: readonly string[];
}

/** Between two looks at a run that sends nothing by itself, milliseconds. */
const LOOK_MS = 500;
/** Milliseconds after which the leader has seen what a commit has put right. */
const DRIFT_SEEN_MS = 3000;
/** Milliseconds after which it is said again for how long nobody has acted. */
const SAID_AGAIN_MS = 60_000;

/** Runs the verb. A newer commit that takes the place of the one that was found is waited for instead. */
export async function runSync(call: Call<SyncOptions>): Promise<ExitCode> {
  const asked = call.io.now();
  return await withSession(call, async (session) => {
    const repository = repositoryName(call.operands[0]);
    const { timeout = 0 } = call.options;
    const endsAt = timeout === 0 ? Number.POSITIVE_INFINITY : asked + timeout;
    const known = await whenListed(call, session, repository, endsAt);
    if ('exitCode' in known) return known.exitCode;
    const { view } = known;
    if (view.state === 'NotFollowed') throw new CliError(whyNotFollowed(known));
    // What comes of it could not be told, nor is anything applied.
    if (known.damage !== undefined) throw new CliError(known.damage);
    if (view.suspended !== undefined) {
      const message = `suspended${describeSuspension(view.suspended)}`;
      const document = resultDocument(repository, view.seen ?? '', 'suspended', message);
      if (await printStructured(session.io, session.options, document)) return EXIT.failed;
      throw new CliError(
        `repository ${repository} is suspended${describeSuspension(view.suspended)}\n  \`fairlead resume ${repository}\` lets it go on`,
      );
    }
    const by = call.options.by ?? (await whoAmI(session));
    const temporal = await opened(call.io);
    try {
      const calls = await syncCalls(temporal, session, repository);
      return await new SyncVerb(call, session, known, calls, endsAt).run(by, asked);
    } catch (error) {
      throw await asUnreachable(error, temporal.address);
    } finally {
      await temporal.close();
    }
  });
}

/**
 * What is known of the repository once the list of what is followed is there and of whoever leads: a leader writes it when it begins, and
 * anew when it is missing. Says once why it is not known, and does not wait for a worker with `--no-wait`.
 * @throws CliError with `--no-wait`, when nobody leads
 * @param endsAt milliseconds since the epoch
 */
async function whenListed(
  call: Call<SyncOptions>,
  session: Session,
  repository: string,
  endsAt: number,
): Promise<KnownRepository | { readonly exitCode: ExitCode }> {
  const { io, options } = call;
  let said = '';
  for (;;) {
    const known = await readRepository(session, repository).catch((error: unknown) => {
      if (error instanceof NotListedYet) return error;
      throw error;
    });
    const { unsure } = known;
    if (!(known instanceof NotListedYet) && (unsure === undefined || known.damage !== undefined))
      return known;
    const why =
      known instanceof NotListedYet
        ? known.message
        : `whether a worker follows ${repository} is not known: ${unsure?.why ?? ''}`;
    if (!options.wait && unsure?.isNobody === true) throw new CliError(why);
    if (options.output === 'table' && why !== said) io.out(`◎ ${oneLine(why)}\n`);
    said = why;
    if (io.now() >= endsAt) {
      const document = resultDocument(repository, '', 'timeout', why);
      if (!(await printStructured(io, options, document)))
        io.err(`error: timed out waiting for ${oneLine(`${repository}: ${why}`)}\n`);
      return { exitCode: EXIT.timeout };
    }
    await pause(Math.min(LOOK_MS, endsAt - io.now()), io.interrupted);
    if (io.interrupted.aborted) return { exitCode: EXIT.interrupted };
  }
}

async function opened(io: Io) {
  try {
    return await openTemporal(io.environment);
  } catch (error) {
    if (!(error instanceof TemporalUnreachable)) throw error;
    throw new CliError(error.message, EXIT.temporalUnreachable, { cause: error });
  }
}

/** Temporal went away in the middle. */
async function asUnreachable(error: unknown, address: string): Promise<unknown> {
  const unreachable = await unreachableBy(error, address);
  return unreachable === undefined
    ? error
    : new CliError(unreachable.message, EXIT.temporalUnreachable, { cause: error });
}

class SyncVerb {
  readonly #call: Call<SyncOptions>;
  readonly #session: Session;
  readonly #repository: string;
  /** As it was known before. */
  readonly #view: RepositoryView;
  readonly #store: InventoryStore;
  readonly #calls: SyncCalls;
  readonly #endsAt: number;
  readonly #print: boolean;
  readonly #lease: LeaseWatch;
  #printed = '';
  /** What was said last of a worker that does not act, and when. */
  #absence: { readonly kind: string; readonly at: number } | undefined;

  constructor(
    call: Call<SyncOptions>,
    session: Session,
    { view, store }: Pick<KnownRepository, 'view' | 'store'>,
    calls: SyncCalls,
    /** Milliseconds since the epoch. */
    endsAt: number,
  ) {
    this.#call = call;
    this.#session = session;
    this.#repository = view.name;
    this.#view = view;
    this.#store = store;
    this.#calls = calls;
    this.#endsAt = endsAt;
    this.#print = call.options.output === 'table';
    this.#lease = new LeaseWatch(session);
  }

  /** @param asked milliseconds since the epoch when somebody typed it */
  async run(by: string | undefined, asked: number): Promise<ExitCode> {
    const { reason, wait } = this.#call.options;
    const begun = this.#call.io.now();
    const message = { ...(by !== undefined && { by }), ...(reason !== undefined && { reason }) };
    // Once more and no longer: some ends cannot be recorded.
    for (let isFirst = true; ; isFirst = false) {
      const found = await this.#lookInTime(message, isFirst ? asked : this.#call.io.now());
      if (found === 'interrupted') return EXIT.interrupted;
      if ('late' in found) return await this.#report('', 'timeout', found.late);
      if ('problem' in found) throw new CliError(found.problem);
      this.#line(`► ${this.#repository} at ${shortSha(found.sha)}`);
      if (!wait) return await this.#report(found.sha, 'started');
      const ended = await this.#wait(found.sha, begun, isFirst);
      if (ended !== 'known') return ended;
    }
  }

  /**
   * Whether this failure had been told before the command was typed: its run was closing when the request arrived, and stood for an answer.
   */
  #wasKnown({ outcome }: LastCommit, status: RepositoryStatus | undefined): boolean {
    const before = this.#view.commit;
    const hasFailed = outcome === 'Refused' || outcome === 'Failed';
    if (!hasFailed || before === undefined || before.outcome === 'Progressing') return false;
    return status?.commit?.runId === before.runId;
  }

  /** A repository that could never be read has no sync yet; a look is worth it all the same. */
  async #look(message: OperatorMessage, asked: number, signal: AbortSignal): Promise<LookResult> {
    const { WorkflowUpdateFailedError } = await import('@temporalio/client');
    // As a duration: the clocks of two machines differ.
    const sync = async () =>
      await this.#calls.sync(() => ({ ...message, wayMs: this.#session.io.now() - asked }), signal);
    try {
      let found = await sync();
      if (found === undefined) {
        await this.#calls.start();
        found = await sync();
      }
      return found ?? { problem: this.#known('its sync has ended') };
    } catch (error) {
      if (!(error instanceof WorkflowUpdateFailedError)) throw error;
      return { problem: this.#known(failureOf(error)) };
    }
  }

  /** Why the repository cannot be read, as the worker saw it last; else what is known here. */
  #known(otherwise: string): string {
    const { state, message } = this.#view;
    return state === 'Unreadable'
      ? message
      : `repository ${this.#repository} was not looked at: ${otherwise}`;
  }

  /** `known`: nothing was tried, and it is to be asked for again. */
  async #wait(first: string, begun: number, mayAskAgain: boolean): Promise<ExitCode | 'known'> {
    const { io } = this.#session;
    let sha = first;
    let why = 'it has not begun yet';
    while (io.now() < this.#endsAt) {
      const status = await this.#calls.status();
      if (status === undefined) {
        const nobody = await this.#lease.lookForLeader();
        why =
          nobody === undefined
            ? (this.#calls.slow() ?? 'no worker answers')
            : `${nobody}, so nobody goes on with it`;
        this.#sayAbsence(why, nobody === undefined ? why : undefined);
        await pause(LOOK_MS, io.interrupted);
        if (io.interrupted.aborted) return EXIT.interrupted;
        continue;
      }
      this.#absence = undefined;
      const { running, wanted, last, suspended } = status;
      if (running === undefined && wanted === undefined && last !== undefined) {
        const { status: recorded, notes } = await this.#recorded(last);
        if (mayAskAgain && this.#wasKnown(last, recorded)) return 'known';
        const tookMs = io.now() - begun;
        const drifted = last.outcome === 'Succeeded' ? await this.#driftLeft(recorded?.drift) : [];
        return await this.#report(last.sha, last.outcome, last.message, tookMs, [...notes, ...drifted]);
      }
      if (running === undefined && suspended !== undefined)
        return await this.#report(sha, 'suspended', `suspended${describeSuspension(suspended)}`);
      const now = wanted ?? running ?? sha;
      if (now !== sha) this.#line(`◎ ${shortSha(sha)} is superseded by ${shortSha(now)}`);
      sha = now;
      if (running !== undefined && running !== sha) {
        why = whyNotBegun(running, await this.#calls.progress(running));
        this.#line(`◎ ${shortSha(sha)}: ${why}`);
      } else {
        const view = running === undefined ? undefined : await this.#calls.progress(running);
        if (view !== undefined) why = this.#progress(view);
      }
      await pause(LOOK_MS, io.interrupted);
      if (io.interrupted.aborted) return EXIT.interrupted;
    }
    return await this.#report(sha, 'timeout', why);
  }

  /** As its run has left them in the inventory; beside the outcome, which is known whatever they are. */
  async #recorded(
    last: LastCommit,
  ): Promise<{ readonly status?: RepositoryStatus | undefined; readonly notes: readonly string[] }> {
    try {
      const status = (await this.#store.read())?.status;
      return { status, notes: notesOf(status, last) };
    } catch (error) {
      if (error instanceof ApiError || error instanceof ProblemError)
        return { notes: [`not looked at: ${error.message}`] };
      throw error;
    }
  }

  /** What is not as the commit wants it although that is applied; what it has just put right is drift only until that is seen. */
  async #driftLeft(found: RepositoryStatus['drift']): Promise<readonly string[]> {
    const { io } = this.#session;
    const until = Math.min(io.now() + DRIFT_SEEN_MS, this.#endsAt);
    let drift = found;
    while (drift !== undefined && drift.count > 0) {
      if (io.now() >= until || io.interrupted.aborted) return [describeDrifts(drift)];
      await pause(LOOK_MS, io.interrupted);
      try {
        drift = (await this.#store.read())?.status.drift;
      } catch (error) {
        if (error instanceof ApiError || error instanceof ProblemError)
          return [`drift was not looked at: ${error.message}`];
        throw error;
      }
    }
    return [];
  }

  /** Says what has changed, and answers what it waits for. */
  #progress(view: CommitView): string {
    const line = describeProgress(view);
    this.#line(`◎ ${line}`);
    return line;
  }

  /** Why nobody acts. For how long nobody has is a new sentence at each look: it is said once, and then each minute. */
  #sayAbsence(why: string, kind = this.#lease.isOverdue ? 'silent' : why): void {
    const at = this.#session.io.now();
    if (kind === this.#absence?.kind && at - this.#absence.at < SAID_AGAIN_MS) return;
    this.#absence = { kind, at };
    this.#line(`◎ ${why}`);
  }

  #line(text: string): void {
    if (!this.#print || text === this.#printed) return;
    this.#printed = text;
    this.#session.io.out(`${oneLine(text)}\n`);
  }

  /**
   * The look, as long as it takes; says once that there is nobody to make it, and does not wait then with `--no-wait`.
   * @throws CliError with `--no-wait`, when nobody acts
   */
  async #lookInTime(
    message: OperatorMessage,
    asked: number,
  ): Promise<LookResult | 'interrupted' | { readonly late: string }> {
    const { io } = this.#session;
    const givenUp = new AbortController();
    const looked = this.#look(message, asked, givenUp.signal);
    // Nobody waits for it any more when the time is up first.
    looked.catch(() => undefined);
    let late = whyLate(this.#view);
    try {
      while (io.now() < this.#endsAt) {
        const left = Math.min(LOOK_MS, this.#endsAt - io.now());
        const found = await orPause(looked, left, io.interrupted);
        if (found !== undefined) return found;
        if (io.interrupted.aborted) return 'interrupted';
        const why = await this.#lease.lookForLeader();
        const slow = this.#calls.slow();
        if (why === undefined && slow !== undefined) this.#sayAbsence((late = slow), slow);
        if (why === undefined) continue;
        late = `${why}, so nobody looks at the repository`;
        if (!this.#call.options.wait) throw new CliError(late);
        this.#sayAbsence(late);
      }
      return { late };
    } finally {
      givenUp.abort();
    }
  }

  async #report(
    sha: string,
    outcome: SyncResultDocument['outcome'],
    message = '',
    tookMs = 0,
    notes: readonly string[] = [],
  ): Promise<ExitCode> {
    const { io, options } = this.#session;
    const document = {
      ...resultDocument(this.#repository, sha, outcome, message),
      ...(notes.length > 0 && { notes }),
    };
    const isWell = outcome === 'Succeeded' || outcome === 'started';
    if (!(await printStructured(io, options, document))) {
      const what = sha === '' ? this.#repository : `${this.#repository} at ${shortSha(sha)}`;
      if (outcome === 'Succeeded') this.#line(`✔ ${what} is applied (${formatAge(tookMs)})`);
      else if (outcome === 'timeout')
        io.err(`error: timed out waiting for ${oneLine(`${what}: ${message}`)}\n`);
      else if (!isWell) {
        for (const [index, line] of message.split('\n').entries())
          io.err(`${index === 0 ? `✗ ${what}: ${outcome}: ` : '  '}${oneLine(line)}\n`);
      }
      const told = notes.map((note) => `  note: ${oneLine(note)}\n`).join('');
      if (isWell) io.out(told);
      else io.err(told);
    }
    return isWell ? EXIT.ok : outcome === 'timeout' ? EXIT.timeout : EXIT.failed;
  }
}

/** What the inventory tells of this end of a commit beside its problems; nothing of another commit, or of another end. */
export function notesOf(
  status: Pick<RepositoryStatus, 'commit'> | undefined,
  { sha, outcome }: Pick<LastCommit, 'sha' | 'outcome'>,
): readonly string[] {
  const commit = status?.commit;
  return commit?.sha === sha && commit.outcome === outcome ? (commit.notes ?? []) : [];
}

/** Why a commit has not begun although it is the newest: the run of another is on its way out, and may not get there. */
export function whyNotBegun(running: string, view: CommitView | undefined): string {
  const what = `it begins when the run of ${shortSha(running)} has ended`;
  // What it was waiting for is nothing to it any more.
  const isWaiting = view?.phase === 'AwaitingWave' || view?.phase === 'AwaitingRollouts';
  return view === undefined || isWaiting || view.waiting.length === 0
    ? what
    : `${what}; ${describeProgress(view)}`;
}

/** Why there is no answer in time although somebody leads, from what was known of the repository before. */
export function whyLate({
  state,
  lookedAt,
  message,
}: Pick<RepositoryView, 'state' | 'lookedAt' | 'message'>): string {
  if (state === 'Unreadable') return `the look has not come back; the one before said: ${message}`;
  return lookedAt === undefined ? 'no worker has looked at the repository yet' : 'the look has not come back';
}

/** Undefined when `ms` are over, or the signal aborts, before the work is done; the work goes on. */
async function orPause<T>(work: Promise<T>, ms: number, signal: AbortSignal): Promise<T | undefined> {
  const done = new AbortController();
  const waited = pause(ms, signal, done.signal).then(() => undefined);
  return await Promise.race([work, waited]).finally(() => {
    done.abort();
  });
}

function resultDocument(
  repository: string,
  sha: string,
  outcome: SyncResultDocument['outcome'],
  message: string,
): SyncResultDocument {
  return {
    apiVersion: CLI_API_VERSION,
    kind: 'SyncResult',
    repository,
    sha,
    outcome,
    ...(message !== '' && { message }),
  };
}

/** The innermost cause: an update's failure says nothing itself. */
function failureOf(error: Error): string {
  return error.cause instanceof Error ? failureOf(error.cause) : error.message;
}
