/** The line below a sentence of `rollout status`: the pod to blame, from a plan made here; else the controller's own words. */

import { ApiError, isForbidden } from '../kubernetes/api-error.ts';
import { pause } from '../kubernetes/backoff.ts';
import type { WorkloadObject, WorkloadTarget } from '../kubernetes/workload-edit.ts';
import { CliError } from './exit-codes.ts';
import { describeFree, leaseName, readLease, whyNotKept } from './lease.ts';
import { LeaseWatch } from './lease-watch.ts';
import { oneLine } from '../kubernetes/safe-text.ts';
import type { Session } from './session.ts';
import { readPlan } from './snapshot.ts';
import { causesFirst, refusalOf } from './verdict.ts';
import { describeWish, pausedOf, stateOfWorkload } from './workload-state.ts';

/** A look costs a few reads: at once after a change, then ever more seldom while nothing moves. */
const FIRST_WAIT_MS = 1_000;
const LAST_WAIT_MS = 30_000;

export class WhyItWaits {
  readonly #session: Session;
  readonly #target: WorkloadTarget;
  readonly #print: boolean;
  readonly #keeper: LeaseWatch;
  #silent: string | undefined;
  #printed = '';
  #last = '';
  /** The last answer that there was since the rollout came further. */
  #told = '';
  #sentence = '';
  #object: WorkloadObject | undefined;
  #wake = new AbortController();

  /** @param print Say each new answer on stderr. */
  constructor(session: Session, target: WorkloadTarget, print: boolean) {
    this.#session = session;
    this.#target = target;
    this.#print = print;
    this.#keeper = new LeaseWatch(session);
  }

  /** The newest answer; empty when there is none. */
  get last(): string {
    return this.#last;
  }

  /** The same when nothing more is waited for: what is tried again at this very moment has been in the way since the rollout came this far. */
  get lastTold(): string {
    return this.#last === '' ? this.#told : this.#last;
  }

  /** A new state of the workload, and how far its rollout is, in words. */
  note(object: WorkloadObject, sentence: string): void {
    if (sentence !== this.#sentence) this.#told = '';
    this.#sentence = sentence;
    this.#object = object;
    const { reason, message } = stateOfWorkload(object);
    if (pausedOf(object) !== undefined || this.#last === '') {
      this.#last = wordsOf(object) ?? (message === '' ? reason : message);
    }
    this.#wake.abort();
  }

  /** Looks until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    let wait = FIRST_WAIT_MS;
    while (!signal.aborted) {
      const why = await this.#look();
      if (why !== undefined && !signal.aborted) this.#say(why);
      this.#wake = new AbortController();
      if (this.#keeper.isOverdue) wait = FIRST_WAIT_MS;
      await pause(FIRST_WAIT_MS, signal);
      await pause(wait - FIRST_WAIT_MS, signal, this.#wake.signal);
      wait = this.#wake.signal.aborted ? FIRST_WAIT_MS : Math.min(wait * 2, LAST_WAIT_MS);
    }
  }

  /** One look, for those who do not wait. */
  async once(): Promise<void> {
    const why = await this.#look();
    if (why !== undefined) this.#say(why);
  }

  async #look(): Promise<string | undefined> {
    try {
      const lease = await readLease(this.#session);
      const name = leaseName(this.#session);
      const notKept = whyNotKept(lease, this.#target, name);
      if (notKept !== undefined) return `${notKept}, so Fairlead does nothing about it`;
      const paused = this.#object && wordsOf(this.#object);
      if (paused !== undefined) return paused;
      if (lease.state === 'free') return `${describeFree(lease, name)}, so nobody acts`;
      const silent = await this.#keeper.look();
      // Said once: it only gets longer.
      this.#silent = silent === undefined ? undefined : (this.#silent ?? `${silent}, so nobody acts`);
      if (this.#silent !== undefined) return this.#silent;
      const refusal = this.#object && refusalOf(this.#object);
      if (refusal !== undefined) return refusal.message;
      if (this.#object?.metadata.deletionTimestamp !== undefined)
        return stateOfWorkload(this.#object).message;
      const { plan } = await readPlan(this.#session, this.#target);
      // What is about to be written waits for nobody.
      if (plan.batch.length > 0) return '';
      return causesFirst(plan.waiting)[0]?.message ?? this.#last;
    } catch (error) {
      // Without the permission to list pods the controller's words must do.
      if (isForbidden(error)) return this.#last;
      // Gone, or the apiserver is away: whoever waits for the workload meets the same and reports it.
      if (error instanceof ApiError || error instanceof CliError || this.#session.io.interrupted.aborted)
        return undefined;
      throw error;
    }
  }

  #say(why: string): void {
    this.#last = why;
    if (why !== '') this.#told = why;
    if (!this.#print || why === '' || why === this.#printed) return;
    this.#printed = why;
    this.#session.io.err(`  ${oneLine(why)}\n`);
  }
}

/** `paused by alice: db alarm`; undefined when it is not paused. */
function wordsOf(object: WorkloadObject): string | undefined {
  const paused = pausedOf(object);
  return paused && `paused ${describeWish(paused)}`.trimEnd();
}
