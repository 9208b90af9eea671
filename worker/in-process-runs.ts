/**
 * Rollouts without Temporal, of workloads that Temporal itself needs (label `fairlead.dev/bootstrap`): the same sequence of the same
 * steps, driven by this process. What a run forgets when the leader changes, the next one sees on the objects.
 */

import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';

import { ApplicationFailure } from '@temporalio/common';

import { runInProcess } from '../activities/attempt.ts';
import { toActivityFailure } from '../activities/failures.ts';
import type { RolloutSteps } from '../activities/rollout.ts';
import type {
  AwaitReadyResult,
  CloseInput,
  CreateRevisionResult,
  RunReference,
  UpdateBatchResult,
  WishInput,
  WishResult,
} from '../activities/rollout-types.ts';
import type { Observation, PlanFeed } from '../controllers/plan-feed.ts';
import type { BadEnding } from '../controllers/run-endings.ts';
import { describeBadEnding } from '../controllers/run-endings.ts';
import { NO_RESTARTS, countStart } from '../controllers/run-entry.ts';
import type { Restarts } from '../controllers/run-entry.ts';
import { retryMark } from '../controllers/run-state.ts';
import type { Runs } from '../controllers/runs.ts';
import { rolloutCause } from '../kubernetes/template-change.ts';
import type { OnDeadline, Workload } from '../planners/workload.ts';
import { RolloutSequence } from '../workflows/rollout-sequence.ts';
import type { DeadlineWish, Ending, RolloutDriver } from '../workflows/rollout-sequence.ts';

export interface InProcessRunsOptions {
  readonly steps: () => RolloutSteps;
  readonly feed: PlanFeed;
  readonly clusterUid: string;
  readonly now: () => number;
  /** The state of a run has changed: reconcile its workload again, not before `at`. */
  readonly onChange: (key: string, at?: number) => void;
  readonly onStarted: (workload: Workload, runId: string) => void;
  /** A run cannot go on: nothing is tried again before the template changes or somebody says `retry`. */
  readonly onBadEnding: (workload: Workload, ending: BadEnding) => void;
  /** A step failed, and is tried again. */
  readonly onError: (key: string, error: unknown) => void;
}

/** Steps that write: as their activities have it (workflows/activity-options.ts), milliseconds. */
const WRITE_MS = 10_000;
/** Steps that wait, milliseconds. */
const WAIT_MS = 3_600_000;
/** After a step that failed, milliseconds: twice as long each time. */
const RETRY_FIRST_MS = 500;
const RETRY_MOST_MS = 30_000;
/** What a run is known by where others have the id of a workflow. */
const IN_PROCESS = 'in-process';

interface Entry {
  /** Of the run that is open. */
  run?:
    { readonly uid: string; readonly stopping: AbortController; readonly ended: Promise<void> } | undefined;
  failed?: {
    readonly uid: string;
    readonly target: string;
    readonly grantedRetry: string;
    readonly ending: BadEnding;
  };
  restarts: Restarts;
}

export class InProcessRuns implements Runs {
  /** Nobody has to be reached. */
  readonly unreachableSince = undefined;
  readonly #options: InProcessRunsOptions;
  readonly #entries = new Map<string, Entry>();
  #stopped = false;

  constructor(options: InProcessRunsOptions) {
    this.#options = options;
  }

  blocked(key: string, uid: string, target: string): BadEnding | undefined {
    const failed = this.#entries.get(key)?.failed;
    return failed?.uid === uid && failed.target === target ? failed.ending : undefined;
  }

  isOpen(key: string, uid: string): boolean {
    return this.#entries.get(key)?.run?.uid === uid;
  }

  knows(): boolean {
    return true;
  }

  refusal(): undefined {
    return undefined;
  }

  /** Starts a run where one is due. One that is open finds out by itself that it is not wanted any more. */
  ensure(key: string, observation: Observation): void {
    const { workload, plan, target } = observation;
    if (this.#stopped || !plan.needsRollout || workload.deleting) return;
    const entry = this.#entries.get(key) ?? { restarts: NO_RESTARTS };
    this.#entries.set(key, entry);
    if (entry.run !== undefined || this.#isHeldUp(entry, observation)) return;
    const { restarts } = entry;
    const now = this.#options.now();
    if (restarts.target === target && restarts.notBefore > now) {
      this.#options.onChange(key, restarts.notBefore);
      return;
    }
    entry.restarts = countStart(restarts, target, now);
    delete entry.failed;
    const stopping = new AbortController();
    const ended = this.#run(key, entry, observation, stopping.signal).finally(() => {
      entry.run = undefined;
      if (!this.#stopped) this.#options.onChange(key);
    });
    entry.run = { uid: workload.ref.uid, stopping, ended };
  }

  /** Also of a workload that is rolled on Temporal from now on. */
  workloadGone(key: string): void {
    this.#entries.get(key)?.run?.stopping.abort(new Error('the workload is not rolled in process any more'));
    this.#entries.delete(key);
  }

  /** Ends all runs; the next leader begins them anew. Resolves when the last write is over. */
  async stop(): Promise<void> {
    this.#stopped = true;
    const open = [...this.#entries.values()].flatMap(({ run }) => (run === undefined ? [] : [run]));
    for (const { stopping } of open) stopping.abort(new Error('this process does not lead any more'));
    await Promise.all(open.map(async ({ ended }) => await ended));
  }

  #isHeldUp({ failed }: Entry, { workload, target }: Observation): boolean {
    if (failed === undefined || failed.uid !== workload.ref.uid || failed.target !== target) return false;
    const mark = retryMark(workload);
    return mark === '' || mark === failed.grantedRetry;
  }

  async #run(key: string, entry: Entry, observation: Observation, signal: AbortSignal): Promise<void> {
    const { workload, target } = observation;
    const runId = randomUUID();
    const startedAt = this.#options.now();
    this.#options.onStarted(workload, runId);
    const run = new InProcessRun(this.#options, key, observation, signal);
    const close = async (ending: Ending) =>
      await run.close({ ...ending, runId, startedAt: new Date(startedAt).toISOString() });
    try {
      const ending = await new RolloutSequence(run).run(false);
      const { outcome } = await close(ending);
      if (outcome === 'Succeeded' && run.hasWritten) entry.restarts = NO_RESTARTS;
    } catch (error) {
      if (signal.aborted) return;
      const message = error instanceof Error ? error.message : String(error);
      const ending = describeBadEnding(
        'FAILED',
        target,
        { runId, startedAt, closedAt: this.#options.now() },
        message,
      );
      entry.failed = { uid: workload.ref.uid, target, grantedRetry: retryMark(workload), ending };
      this.#options.onBadEnding(workload, ending);
      await close({ ending: 'failed', reason: message }).catch((late: unknown) =>
        this.#options.onError(key, late),
      );
    }
  }
}

/** One run: every step in this process, tried again as Temporal would. */
class InProcessRun implements RolloutDriver {
  readonly #options: InProcessRunsOptions;
  readonly #key: string;
  readonly #workload: Workload;
  readonly #reference: RunReference;
  readonly #signal: AbortSignal;
  #revision: string | undefined;
  hasWritten = false;

  constructor(
    options: InProcessRunsOptions,
    key: string,
    { workload, target }: Observation,
    signal: AbortSignal,
  ) {
    this.#options = options;
    this.#key = key;
    this.#workload = workload;
    this.#reference = { clusterUid: options.clusterUid, workload: workload.ref, target };
    this.#signal = signal;
  }

  get onDeadline(): OnDeadline {
    return this.#workload.onDeadline;
  }

  async createRevision(): Promise<CreateRevisionResult> {
    const created = await this.#step(WRITE_MS, async (steps) => await steps.createRevision(this.#reference));
    if (created.outcome === 'ready') this.#revision = created.revision;
    return created;
  }

  /** Wishes are on the object, where the steps see them: there is no run that could be told. */
  async interruption(): Promise<undefined> {
    this.#signal.throwIfAborted();
  }

  async updateBatch(): Promise<UpdateBatchResult> {
    const result = await this.#step(WRITE_MS, async (steps) => await steps.updateBatch(this.#reference));
    this.hasWritten ||= result.outcome === 'written';
    return result;
  }

  async awaitReady(deadlineReported: boolean): Promise<AwaitReadyResult> {
    const input = { ...this.#reference, deadlineReported };
    return await this.#step(WAIT_MS, async (steps) => await steps.awaitReady(input));
  }

  /** Until the next observation of a workload that is not paused, or is another one. */
  async whilePaused(): Promise<void> {
    const { feed } = this.#options;
    const isPaused = (observation: Observation | undefined) =>
      observation?.workload.paused !== undefined && observation.target === this.#reference.target;
    await new Promise<void>((resolve, reject) => {
      const end = (act: () => void) => {
        unsubscribe();
        this.#signal.removeEventListener('abort', stop);
        act();
      };
      const stop = () => end(() => reject(this.#signal.reason));
      const look = (observation: Observation | undefined) => {
        if (!isPaused(observation)) end(resolve);
      };
      const unsubscribe = feed.subscribe(this.#key, look);
      this.#signal.addEventListener('abort', stop, { once: true });
      if (this.#signal.aborted) stop();
      else look(feed.latest(this.#key));
    });
  }

  async pause(wish: DeadlineWish): Promise<void> {
    await this.#record('pause', wish);
  }

  async rollBack(wish: DeadlineWish): Promise<boolean> {
    const { rolledBack } = await this.#record('rollback', wish);
    return rolledBack;
  }

  renewsOnNews(): boolean {
    return false;
  }

  async renew(): Promise<void> {
    // There is no history.
  }

  async close(end: Ending & Pick<CloseInput, 'runId' | 'startedAt'>) {
    const { commit, by, reason } = rolloutCause(this.#workload);
    const pinnedBefore = this.#workload.pinned?.at;
    const cause = { ...(by !== undefined && { by }), ...(reason !== undefined && { reason }) };
    const input: CloseInput = {
      ...this.#reference,
      ...end,
      revision: this.#revision,
      workflowId: IN_PROCESS,
      ...(commit !== undefined && { commit }),
      ...(reason !== undefined && { cause }),
      ...(pinnedBefore !== undefined && { pinnedBefore }),
    };
    return await this.#step(WRITE_MS, async (steps) => await steps.closeRun(input));
  }

  async #record(verb: WishInput['verb'], wish: DeadlineWish): Promise<WishResult> {
    const input = { ...this.#reference, verb, ...wish };
    return await this.#step(WRITE_MS, async (steps) => await steps.recordWish(input));
  }

  /** Without end, but for what a retry cannot mend. */
  async #step<T>(startToCloseMs: number, step: (steps: RolloutSteps) => Promise<T>): Promise<T> {
    for (let attempt = 1; ; attempt += 1) {
      this.#signal.throwIfAborted();
      try {
        return await runInProcess(
          startToCloseMs,
          this.#signal,
          async () => await step(this.#options.steps()),
        );
      } catch (error) {
        this.#signal.throwIfAborted();
        const failure = toActivityFailure(error, attempt);
        if (failure instanceof ApplicationFailure && failure.nonRetryable === true) throw failure;
        this.#options.onError(this.#key, error);
        const pause = Math.min(RETRY_FIRST_MS * 2 ** (attempt - 1), RETRY_MOST_MS);
        await sleep(pause, undefined, { signal: this.#signal });
      }
    }
  }
}
