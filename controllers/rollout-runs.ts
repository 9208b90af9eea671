/**
 * Starts, supersedes and watches the rollout runs of the workloads (design "Rollover"). One workflow id for a workload makes
 * Temporal the guard against two rollouts at once; here is only what this leader knows of each, and it is asked again after a
 * change of leader.
 */

import { setMaxListeners } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';

import type { Client } from '@temporalio/client';
import { WorkflowNotFoundError } from '@temporalio/client';

import { isWorkloadKind } from '../kubernetes/workload-api.ts';
import { workloadKey } from '../kubernetes/workload-key.ts';
import { isAhead } from '../planners/plan.ts';
import type { Workload, WorkloadRef } from '../planners/workload.ts';
import type { RolloutInput } from '../workflows/messages.ts';
import { readRolloutWorkflowId, rolloutWorkflowId } from '../workflows/messages.ts';
import type { Observation } from './plan-feed.ts';
import { startRun, supersedeRun, wakeRun } from './run-calls.ts';
import type { BadEnding, RunEnd, ToldEnding } from './run-endings.ts';
import type { RunEntry } from './run-entry.ts';
import { LONGEST_RESTART_MS, NO_RESTARTS, countStart, newEntry, wasOfUse } from './run-entry.ts';
import { awaitRunEnd, describeBadEnding } from './run-endings.ts';
import type { RunningRun } from './run-state.ts';
import { learnRun, listOpenRuns, retryMark } from './run-state.ts';
import { refusalOf } from './temporal-failure.ts';

export interface RolloutRunsOptions {
  readonly client: Client;
  readonly cluster: string;
  readonly clusterUid: string;
  /** Which search attributes the Temporal namespace knows; asked for at each start. */
  readonly searchAttributes: () => Promise<RolloutInput['searchAttributes']>;
  readonly now: () => number;
  /** The state of a run has changed: reconcile its workload again, not before `at`. */
  readonly onChange: (key: string, at?: number) => void;
  /** For events, attempts and logs. */
  readonly onStarted: (workload: Workload, runId: string) => void;
  /** A run that an earlier leader started, or that was there before. */
  readonly onTakenOver: (workload: Workload, runId: string) => void;
  /** Seen by this leader. */
  readonly onBadEnding: (workload: Workload, revision: string | undefined, ending: BadEnding) => void;
  /** It was over when this leader asked for it: another may have told of it, or nobody was there. */
  readonly onFoundEnded: (workload: Workload, revision: string, ending: BadEnding) => void;
  /** A call failed. */
  readonly onError: (key: string, error: unknown) => void;
  /** Temporal will not start the run: its words, when they are new. */
  readonly onRefused: (workload: Workload, words: string) => void;
  readonly historyLimit?: number;
}

const RETRY_MS = 1_000;
/** A failure says nothing of Temporal any more after this, milliseconds: who has to ask, asks again at least every 5 s. */
const FAILURE_COUNTS_MS = 10_000;
/** One call to Temporal, milliseconds. */
const CALL_DEADLINE_MS = 4_000;
/** The list of all open runs, milliseconds, and how long after a failure it is asked for again. */
const LIST_DEADLINE_MS = 30_000;
const LIST_AGAIN_MS = 5_000;

export class RolloutRuns {
  readonly #options: RolloutRunsOptions;
  readonly #entries = new Map<string, RunEntry>();
  readonly #tasks = new Set<Promise<void>>();
  #unreachableSince: number | undefined;
  #lastFailure = 0;
  /** Ends the long polls: an open one would keep the process alive. */
  readonly #stopping = new AbortController();

  constructor(options: RolloutRunsOptions) {
    this.#options = options;
    // The wait for each open run listens to it; while Temporal is away, its pause before the next try too.
    setMaxListeners(0, this.#stopping.signal);
  }

  /** Since when Temporal has not answered (milliseconds since the epoch); undefined while it does. */
  get unreachableSince(): number | undefined {
    // One that is still to come is none: the clock was set back.
    const sinceFailure = Math.abs(this.#options.now() - this.#lastFailure);
    return sinceFailure < FAILURE_COUNTS_MS ? this.#unreachableSince : undefined;
  }

  /** A run that ended badly and stands in the way of the present template, for conditions and `explain`. */
  blocked(key: string, uid: string, target: string): ToldEnding | undefined {
    const run = this.#entries.get(key)?.run;
    const hasEnded = run?.state === 'ended badly' || run?.state === 'forgotten';
    return hasEnded && run.uid === uid && run.target === target ? run.ending : undefined;
  }

  /** Why Temporal does not start the run of a workload, in its own words; undefined while it does not refuse. */
  refusal(key: string): string | undefined {
    return this.#entries.get(key)?.refusal;
  }

  /** Whether a run of the workload is open, as far as this leader knows. */
  isOpen(key: string, uid: string): boolean {
    const run = this.#entries.get(key)?.run;
    return run?.state === 'running' && run.uid === uid;
  }

  /** Whether this leader has asked Temporal what became of the workload's newest run, or knows it because it started it. */
  knows(key: string): boolean {
    return (this.#entries.get(key)?.run.state ?? 'unknown') !== 'unknown';
  }

  /** Brings the runs in line with the newest plan. Never waits for Temporal: steady state goes on without it. */
  ensure(key: string, observation: Observation): void {
    const id = rolloutWorkflowId(this.#options.cluster, observation.workload.ref);
    const entry = this.#entry(key, id);
    const paused = observation.workload.paused !== undefined;
    const resumed = entry.wasPaused && !paused;
    entry.wasPaused = paused;
    const isHeldUp = paused || observation.plan.finished;
    entry.resumedMidway = !isHeldUp && (entry.resumedMidway || observation.resumedMidway === true);
    entry.wanted = observation;
    entry.gone = false;
    if (resumed && entry.run.state === 'running') {
      entry.run = { ...entry.run, wakeDue: true };
    }
    this.#step(key, entry);
  }

  /** The workload is gone: whatever runs for it is cancelled. To be called again after each change until nothing is. */
  workloadGone(key: string): void {
    const entry = this.#entries.get(key);
    if (entry !== undefined) {
      entry.gone = true;
      this.#step(key, entry);
    }
  }

  /**
   * Looks once at every open run that earlier leaders have left: its workload may be gone by now, which no watch tells. Asks
   * until Temporal answers; resolves when it has, or when this leader stops.
   */
  async takeOver(owns: (ref: Pick<WorkloadRef, 'namespace' | 'group'>) => boolean): Promise<void> {
    const { client, cluster, clusterUid, now, onChange, onError } = this.#options;
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      try {
        const list = () => listOpenRuns(client, cluster, clusterUid);
        for (const id of await client.withDeadline(now() + LIST_DEADLINE_MS, list)) {
          const ref = readRolloutWorkflowId(cluster, id);
          const kind = ref?.kind ?? '';
          if (ref !== undefined && isWorkloadKind(kind) && owns(ref)) {
            const key = workloadKey(kind, ref.namespace, ref.name);
            this.#entry(key, id).leftOpen = true;
            onChange(key);
          }
        }
        return;
      } catch (error) {
        onError('(runs of earlier leaders)', error);
        await sleep(LIST_AGAIN_MS, undefined, { signal, ref: false }).catch(() => undefined);
      }
    }
  }

  /** Stops acting; runs go on under the next leader. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await Promise.race([
      Promise.allSettled(this.#tasks),
      new Promise((resolve) => setTimeout(resolve, 2_000).unref()),
    ]);
  }

  #entry(key: string, workflowId: string): RunEntry {
    let entry = this.#entries.get(key);
    if (entry === undefined) {
      entry = newEntry(workflowId);
      this.#entries.set(key, entry);
    }
    return entry;
  }

  #step(key: string, entry: RunEntry): void {
    const { wanted, run } = entry;
    if (entry.busy || this.#stopping.signal.aborted) {
      return;
    }
    if (entry.gone) {
      this.#stepGone(key, entry);
      return;
    }
    if (wanted === undefined) {
      return;
    }
    const { workload, target } = wanted;
    switch (run.state) {
      case 'unknown':
        if (wanted.plan.needsRollout || !wanted.plan.finished || entry.leftOpen) {
          this.#do(key, entry, () => this.#learn(entry));
        }
        return;
      case 'running':
        if (run.uid !== workload.ref.uid || run.target !== target || workload.deleting) {
          this.#cancel(key, entry, run);
        } else if (run.wakeDue) {
          this.#do(key, entry, () => this.#wake(entry, run));
        }
        return;
      case 'ended badly':
      case 'forgotten': {
        const mark = retryMark(workload);
        const retried = mark !== '' && mark !== run.grantedRetry;
        if (run.uid === workload.ref.uid && run.target === target && !retried) {
          return;
        }
        entry.run = { state: 'none' };
        entry.retried = retried ? workload.retried : undefined;
        this.#step(key, entry);
        return;
      }
      case 'none':
        if ((wanted.plan.needsRollout || entry.resumedMidway) && !workload.deleting) {
          this.#startWhenDue(key, entry, wanted);
        }
    }
  }

  /** Nothing is forgotten before the run has closed: nobody else would ever look at it. */
  #stepGone(key: string, entry: RunEntry): void {
    switch (entry.run.state) {
      case 'unknown':
        this.#do(key, entry, () => this.#learn(entry));
        return;
      case 'running':
        this.#cancel(key, entry, entry.run);
        return;
      case 'none':
      case 'ended badly':
      case 'forgotten':
        this.#entries.delete(key);
    }
  }

  /** Once for each run: it closes by itself, however long its write in flight takes. */
  #cancel(key: string, entry: RunEntry, run: RunningRun): void {
    if (run.cancelRequested) {
      return;
    }
    this.#do(key, entry, async () => {
      await supersedeRun(this.#options.client, entry.workflowId, run.runId);
      if (entry.run.state === 'running' && entry.run.runId === run.runId) {
        entry.run = { ...entry.run, cancelRequested: true };
      }
    });
  }

  #startWhenDue(key: string, entry: RunEntry, wanted: Observation): void {
    const { restarts } = entry;
    const now = this.#options.now();
    if (restarts.target === wanted.target && isAhead(restarts.notBefore, now, LONGEST_RESTART_MS)) {
      this.#options.onChange(key, restarts.notBefore);
      return;
    }
    this.#do(key, entry, () => this.#start(entry, wanted));
  }

  async #start(entry: RunEntry, wanted: Observation): Promise<void> {
    const { client, cluster, clusterUid, historyLimit, now, onStarted } = this.#options;
    const { workflowId, retried } = entry;
    const searchAttributes = await this.#options.searchAttributes();
    const limit = historyLimit === undefined ? {} : { historyLimit };
    const known = { client, cluster, clusterUid, searchAttributes, now, ...limit };
    const started = await startRun({ ...known, workflowId, wanted, retried });
    if (started === undefined) {
      await this.#learn(entry);
      // It met a run that is none any more, or in a state that is not known here: trying again at once would not help.
      if (entry.run.state === 'none') {
        const { count } = entry.restarts;
        entry.restarts = { target: wanted.target, count, notBefore: now() + RETRY_MS };
      }
      return;
    }
    entry.run = started;
    entry.retried = undefined;
    entry.resumedMidway = false;
    // Only runs that did start count: Temporal's absence is no reason to come late when it is back.
    entry.restarts = countStart(entry.restarts, wanted.target, now());
    onStarted(wanted.workload, started.runId);
  }

  async #learn(entry: RunEntry): Promise<void> {
    const { client, clusterUid, now, onTakenOver, onBadEnding, onFoundEnded } = this.#options;
    const { workflowId, wanted } = entry;
    const run = await learnRun({ client, workflowId, clusterUid, wanted, now: now() });
    entry.run = run;
    entry.leftOpen = false;
    if (wanted === undefined) {
      return;
    }
    const { workload, target, plan } = wanted;
    if (run.state === 'running') {
      onTakenOver(workload, run.runId);
    } else if (run.state === 'ended badly' && run.ending.reason === 'RunOfAnotherCluster') {
      onBadEnding(workload, undefined, run.ending);
    } else if (run.state === 'ended badly' && run.uid === workload.ref.uid && run.target === target) {
      if (plan.updateRevision !== undefined) onFoundEnded(workload, plan.updateRevision, run.ending);
    }
  }

  #noteRefusal(entry: RunEntry, words: string | undefined): void {
    if (words !== undefined && words !== entry.refusal && entry.wanted !== undefined) {
      this.#options.onRefused(entry.wanted.workload, words);
    }
    entry.refusal = words;
  }

  #watch(key: string, entry: RunEntry, run: RunningRun): void {
    const watching = awaitRunEnd({
      client: this.#options.client,
      workflowId: entry.workflowId,
      executionId: run.awaitedId,
      signal: this.#stopping.signal,
    }).then((end) => this.#ended(key, entry, run, end));
    void watching.catch((error: unknown) => {
      this.#options.onError(key, error);
    });
  }

  #ended(key: string, entry: RunEntry, run: RunningRun, end: RunEnd): void {
    if (this.#stopping.signal.aborted || entry.run.state !== 'running' || entry.run.runId !== run.runId) {
      return;
    }
    if (end.end === 'badly') {
      const { target, uid, grantedRetry, runId, startedAt } = run;
      const { wanted } = entry;
      const isWanted = !entry.gone && wanted?.workload.ref.uid === uid && wanted.target === target;
      const times = { runId, startedAt, closedAt: this.#options.now() };
      const ending = describeBadEnding(end.status, target, times, end.cause, { isWanted });
      if (wanted !== undefined) {
        // Of another template: no attempt of the revision that is wanted now.
        const revision = isWanted ? wanted.plan.updateRevision : undefined;
        this.#options.onBadEnding(wanted.workload, revision, ending);
      }
      entry.run = { state: 'ended badly', target, uid, ending, grantedRetry };
    } else {
      entry.run = { state: 'none' };
    }
    if (wasOfUse(run, end, this.#options.now())) {
      entry.restarts = NO_RESTARTS;
    }
    this.#options.onChange(key);
  }

  /** Due until a call has succeeded: a run that missed a resume would sleep for ever. */
  async #wake(entry: RunEntry, run: RunningRun): Promise<void> {
    await wakeRun(this.#options.client, entry.workflowId);
    // Another change while it was told makes another state: due again.
    if (entry.run === run) {
      entry.run = { ...run, wakeDue: false };
    }
  }

  /** One call to Temporal for an entry at a time; afterwards its workload is reconciled again. */
  #do(key: string, entry: RunEntry, call: () => Promise<void>): void {
    const before = entry.run;
    const begun = this.#options.now();
    entry.busy = true;
    const task = this.#options.client.withDeadline(begun + CALL_DEADLINE_MS, call).then(
      () => {
        this.#unreachableSince = undefined;
        entry.refusal = undefined;
        entry.busy = false;
        if (
          entry.run.state === 'running' &&
          (before.state !== 'running' || before.runId !== entry.run.runId)
        ) {
          // Here, not inside the call: a long poll must not inherit its deadline.
          this.#watch(key, entry, entry.run);
        }
        this.#options.onChange(key);
      },
      (error: unknown) => {
        entry.busy = false;
        if (error instanceof WorkflowNotFoundError) {
          entry.run = { state: 'unknown' };
        } else {
          this.#unreachableSince = this.unreachableSince ?? begun;
          this.#lastFailure = this.#options.now();
          this.#options.onError(key, error);
          this.#noteRefusal(entry, refusalOf(error));
        }
        this.#options.onChange(key, this.#options.now() + RETRY_MS);
      },
    );
    this.#tasks.add(task);
    void task.finally(() => this.#tasks.delete(task));
  }
}
