/**
 * One rollout: createRevision → { updateBatch → awaitReady } → closeRun. It only sequences; what is to be done is decided by
 * the planner inside the activities, so that a mended planner needs no workflow versioning.
 */

import {
  ActivityFailure,
  ApplicationFailure,
  CancellationScope,
  condition,
  continueAsNew,
  isCancellation,
  patched,
  proxyActivities,
  setHandler,
  workflowInfo,
} from '@temporalio/workflow';

import type { RolloutActivities } from '../activities/rollout.ts';
import type {
  CloseInput,
  CloseResult,
  PausedBy,
  RunReference,
  WishInput,
  WishResult,
} from '../activities/rollout-types.ts';
import type { OnDeadline } from '../planners/workload.ts';
import { awaiting, mutating } from './activity-options.ts';
import type { RolloutInput, RolloutResult } from './messages.ts';
import { leaderTaskQueue, objectChangedSignal, progressQuery, rolloutSupersededSignal } from './messages.ts';
import { OperatorWishes, describeWish } from './operator-wishes.ts';
import { RolloutDisplay } from './rollout-display.ts';
import { failureReason, isHistoryLong, summaryOf } from './run.ts';

/** Why the loop ended. */
interface Ending {
  readonly ending: CloseInput['ending'];
  readonly by?: string;
  readonly reason?: string;
}

/** How long a superseded run waits for the controller's cancellation before it closes by itself. */
const CANCELLATION_GRACE = '10 seconds';

export async function rollout(input: RolloutInput): Promise<RolloutResult> {
  const run = new RolloutRun(input);
  return await run.execute();
}

class RolloutRun {
  readonly #input: RolloutInput;
  readonly #reference: RunReference;
  readonly #display: RolloutDisplay;
  readonly #wishes: OperatorWishes;
  readonly #taskQueue: string;
  /** The controller has said so; it stays so, however often the object changes back. */
  #superseded = false;
  #deadlineReported: boolean;

  constructor(input: RolloutInput) {
    this.#input = input;
    this.#reference = { clusterUid: input.clusterUid, workload: input.workload, target: input.target };
    this.#taskQueue = leaderTaskQueue(input.cluster);
    this.#display = new RolloutDisplay(input, workflowInfo().startTime.toISOString());
    this.#deadlineReported = input.carried?.deadlineReported ?? false;
    this.#wishes = new OperatorWishes({
      pause: 'Stop before the next pod is touched. Optional payload: {"by": "…", "reason": "…"}',
      resume: 'Go on after a pause. Optional payload as of pause.',
      abort:
        'Go back to the last complete revision, once resumed if it is paused, and pin it until the manifest changes. ' +
        'Optional payload as of pause.',
    });
    setHandler(objectChangedSignal, () => this.#wishes.tellObjectChanged(), {
      description: 'Internal, from the controller: the object of a paused run has changed.',
    });
    setHandler(rolloutSupersededSignal, () => void (this.#superseded = true), {
      description:
        'Internal, from the controller: another run is to take the place of this one, which it cancels now.',
    });
    setHandler(progressQuery, () => this.#display.view(), {
      description: 'Phase, counters and what the run waits for.',
    });
  }

  async execute(): Promise<RolloutResult> {
    let ending: Ending;
    try {
      ending = await this.#loop();
      if (ending.ending === 'superseded') {
        // The controller cancels a superseded run; closing as Canceled is what operators expect to see.
        await condition(() => false, CANCELLATION_GRACE);
      }
    } catch (error) {
      if (isCancellation(error)) {
        return await this.#closeCancelled(error);
      }
      if (error instanceof ActivityFailure || error instanceof ApplicationFailure) {
        await this.#closeFailed(error);
      }
      throw error;
    }
    // The way back to an earlier revision is a new template, for which the controller cancels this run: too late to matter.
    const closed = await CancellationScope.nonCancellable(() => this.#close(ending));
    return this.#result(closed);
  }

  async #loop(): Promise<Ending> {
    if (this.#input.carried === undefined) {
      const { createRevision } = this.#mutate('create the revision');
      const created = await createRevision(this.#reference);
      if (created.outcome === 'superseded') {
        return { ending: 'superseded', reason: created.message };
      }
      this.#display.created(created);
    }
    for (;;) {
      const ending = (await this.#applyWishes()) ?? this.#supersession() ?? (await this.#batch());
      if (ending !== undefined) {
        return ending;
      }
      await this.#continueAsNewWhenLong();
    }
  }

  /** One turn: write what is legal, then wait until there is something to do again. */
  async #batch(): Promise<Ending | undefined> {
    const number = this.#display.batches + 1;
    const { updateBatch } = this.#mutate(`batch ${String(number)} of ${this.#display.revision ?? ''}`);
    const writing = updateBatch(this.#reference);
    const ending = await this.#applyWishesDuring(writing);
    const written = await writing;
    if (ending !== undefined) {
      return ending;
    }
    this.#display.updated(written);
    switch (written.outcome) {
      case 'superseded':
        return { ending: 'superseded', reason: written.message };
      case 'finished':
        return { ending: 'finished' };
      case 'paused':
        return await this.#whilePaused(written.paused);
      case 'written':
      case 'nothing':
        return await this.#awaitReady();
    }
  }

  async #awaitReady(): Promise<Ending | undefined> {
    const { awaitReady } = proxyActivities<RolloutActivities>({
      ...awaiting(this.#taskQueue),
      summary: this.#display.waitingFor(),
    });
    for (;;) {
      const scope = new CancellationScope();
      const waiting = scope.run(() =>
        awaitReady({
          ...this.#reference,
          deadlineReported: this.#deadlineReported,
          shown: this.#display.shown,
        }),
      );
      const ending = await this.#applyWishesDuring(waiting);
      if (ending !== undefined) {
        scope.cancel();
        return ending;
      }
      const answer = await waiting;
      this.#display.updated(answer);
      switch (answer.outcome) {
        case 'superseded':
          return { ending: 'superseded', reason: answer.message };
        case 'finished':
          return { ending: 'finished' };
        case 'paused':
          return await this.#whilePaused(answer.paused);
        case 'deadline': {
          const end = await this.#reachDeadline(answer.onDeadline ?? this.#input.onDeadline);
          if (end !== undefined) {
            return end;
          }
          break;
        }
        case 'news':
          // Told every ten seconds for days it would fill the history; the next execution waits on.
          if (this.#isLong() && patched('news-continue-as-new')) {
            return undefined;
          }
          break;
        case 'batch':
          this.#deadlineReported = false;
          return undefined;
        case 'later':
          return undefined;
      }
    }
  }

  /** Costs nothing: the controller's signal ends it when the object changes. */
  async #whilePaused(paused: PausedBy): Promise<Ending | undefined> {
    this.#display.paused(paused);
    await condition(() => this.#wishes.arePending || this.#wishes.objectChanged || this.#superseded);
    this.#wishes.lookAgain();
    this.#display.resumed();
    return undefined;
  }

  async #reachDeadline(onDeadline: OnDeadline): Promise<Ending | undefined> {
    this.#deadlineReported = true;
    const reason = 'no progress before the deadline';
    switch (onDeadline) {
      case 'Report':
        return undefined;
      case 'Pause':
        await this.#record('pause', { by: 'progressDeadlineSeconds', reason });
        return undefined;
      case 'Rollback': {
        this.#display.rollingBack();
        const wish = { by: 'progressDeadlineSeconds', reason };
        const { rolledBack } = await CancellationScope.nonCancellable(() => this.#record('rollback', wish));
        return rolledBack ? { ending: 'rolledBack', ...wish } : undefined;
      }
    }
  }

  /**
   * Until the activity has answered, or a wish or the controller ends the run. A wish is written to the object at once; the
   * activity sees the object change and answers by itself.
   */
  async #applyWishesDuring(activity: Promise<unknown>): Promise<Ending | undefined> {
    const answered = { yet: false };
    const settle = () => {
      answered.yet = true;
    };
    activity.then(settle, settle);
    while (!answered.yet) {
      // A cancellation ends the activity in its own time: the next run must not race a write that is in flight.
      await CancellationScope.nonCancellable(() =>
        condition(() => answered.yet || this.#wishes.arePending || this.#superseded),
      );
      const ending = (await this.#applyWishes()) ?? this.#supersession();
      if (ending !== undefined) {
        return ending;
      }
    }
    return undefined;
  }

  /** The end of a run that the controller does not want any more: also when its cancellation never comes. */
  #supersession(): Ending | undefined {
    return this.#superseded ? { ending: 'superseded' } : undefined;
  }

  /** Wishes that came as signals, in their order. An abort that went back to an earlier revision ends the run. */
  async #applyWishes(): Promise<Ending | undefined> {
    return await this.#wishes.writeAll(async ({ verb, by, reason }): Promise<Ending | undefined> => {
      const who = { by, ...(reason !== undefined && { reason }) };
      const { rolledBack } = await this.#record(verb, who);
      return rolledBack && verb === 'abort' ? { ending: 'aborted', ...who } : undefined;
    });
  }

  /** Writes a wish onto the object. */
  async #record(verb: WishInput['verb'], who: Pick<WishInput, 'by' | 'reason'>): Promise<WishResult> {
    const { recordWish } = this.#mutate(summaryOf(describeWish(verb, who)));
    return await recordWish({ ...this.#reference, verb, ...who });
  }

  #mutate(summary: string): RolloutActivities {
    return proxyActivities<RolloutActivities>({ ...mutating(this.#taskQueue), summary });
  }

  #isLong(): boolean {
    return isHistoryLong(this.#input.historyLimit);
  }

  async #continueAsNewWhenLong(): Promise<void> {
    if (!this.#isLong() || this.#wishes.arePending || this.#superseded) {
      return;
    }
    await continueAsNew<typeof rollout>({
      ...this.#input,
      carried: { ...this.#display.carry(), deadlineReported: this.#deadlineReported },
    });
  }

  async #closeCancelled(cancellation: unknown): Promise<RolloutResult> {
    // Without a word of the controller it was a click, which means pause.
    const ending = this.#superseded ? 'superseded' : 'cancelled';
    const closed = await CancellationScope.nonCancellable(() => this.#close({ ending }));
    if (closed.outcome === 'Superseded' || closed.outcome === 'Canceled') {
      throw cancellation;
    }
    return this.#result(closed);
  }

  async #closeFailed(error: Error): Promise<void> {
    await this.#close({ ending: 'failed', reason: failureReason(error) });
  }

  async #close(ending: Ending): Promise<CloseResult> {
    const { firstExecutionRunId, workflowId } = workflowInfo();
    const { closeRun } = this.#mutate(`close: ${ending.ending}`);
    const { commit, by, reason } = this.#input;
    const cause = { ...(by !== undefined && { by }), ...(reason !== undefined && { reason }) };
    const closed = await closeRun({
      ...this.#reference,
      ...ending,
      revision: this.#display.revision,
      workflowId,
      runId: firstExecutionRunId,
      startedAt: this.#display.startedAt,
      ...(commit !== undefined && { commit }),
      ...(reason !== undefined && { cause }),
    });
    this.#display.closed(closed);
    return closed;
  }

  #result(closed: CloseResult): RolloutResult {
    return {
      outcome: closed.outcome,
      revision: this.#display.revision,
      batches: this.#display.batches,
      ...(closed.by !== undefined && { by: closed.by }),
      ...(closed.reason !== undefined && { reason: closed.reason }),
    };
  }
}
