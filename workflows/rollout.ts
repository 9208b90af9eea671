/**
 * One rollout as a run on Temporal: the sequence of its steps (rollout-sequence.ts), each an activity, with what people ask of it by
 * signals, its display, and its end. What is to be done is decided by the planner inside the activities, so that a mended planner
 * needs no workflow versioning.
 */

import {
  ActivityFailure,
  ApplicationFailure,
  CancellationScope,
  condition,
  continueAsNew,
  patched,
  proxyActivities,
  setHandler,
  workflowInfo,
} from '@temporalio/workflow';

import type { RolloutActivities } from '../activities/rollout.ts';
import type {
  AwaitReadyResult,
  CloseResult,
  CreateRevisionResult,
  PausedBy,
  RunReference,
  UpdateBatchResult,
  WishInput,
  WishResult,
} from '../activities/rollout-types.ts';
import type { OnDeadline } from '../planners/workload.ts';
import { awaiting, mutating } from './activity-options.ts';
import type { RolloutInput, RolloutResult } from './messages.ts';
import {
  leaderTaskQueue,
  objectChangedSignal,
  progressQuery,
  rolloutSupersededSignal,
  waitsTaskQueue,
} from './messages.ts';
import { OperatorWishes, describeWish } from './operator-wishes.ts';
import type { QueuedWish } from './operator-wishes.ts';
import { RolloutDisplay } from './rollout-display.ts';
import { RolloutSequence } from './rollout-sequence.ts';
import type { DeadlineWish, Ending, RolloutDriver } from './rollout-sequence.ts';
import { cancellationOf, failureReason, isHistoryLong, summaryOf } from './run.ts';

/** How long a superseded run waits for the controller's cancellation before it closes by itself. */
const CANCELLATION_GRACE = '10 seconds';

export async function rollout(input: RolloutInput): Promise<RolloutResult> {
  const run = new RolloutRun(input);
  return await run.execute();
}

class RolloutRun implements RolloutDriver {
  readonly #input: RolloutInput;
  readonly #reference: RunReference;
  readonly #display: RolloutDisplay;
  readonly #wishes: OperatorWishes;
  readonly #taskQueue: string;
  /** The controller has said so; it stays so, however often the object changes back. */
  #superseded = false;
  readonly #sequence: RolloutSequence;

  constructor(input: RolloutInput) {
    this.#input = input;
    this.#reference = { clusterUid: input.clusterUid, workload: input.workload, target: input.target };
    this.#taskQueue = leaderTaskQueue(input.cluster);
    this.#display = new RolloutDisplay(input, workflowInfo().startTime.toISOString());
    this.#sequence = new RolloutSequence(this, input.carried?.deadlineReported);
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

  get onDeadline(): OnDeadline {
    return this.#input.onDeadline;
  }

  async execute(): Promise<RolloutResult> {
    let ending: Ending;
    try {
      ending = await this.#sequence.run(this.#input.carried !== undefined);
      if (ending.ending === 'superseded') {
        // The controller cancels a superseded run; closing as Canceled is what operators expect to see.
        await condition(() => false, CANCELLATION_GRACE);
      }
    } catch (error) {
      const cancellation = cancellationOf(error);
      if (cancellation !== undefined) {
        return await this.#closeCancelled(cancellation);
      }
      if (error instanceof ActivityFailure || error instanceof ApplicationFailure) {
        const close = () => this.#closeFailed(error);
        // Runs of before may stand right here, and have given it up when they were cancelled.
        await (patched('close a failed run to its end') ? CancellationScope.nonCancellable(close) : close());
      }
      throw error;
    }
    // The way back to an earlier revision is a new template, for which the controller cancels this run: too late to matter.
    const closed = await CancellationScope.nonCancellable(() => this.#close(ending));
    return this.#result(closed);
  }

  async createRevision(): Promise<CreateRevisionResult> {
    const { createRevision } = this.#mutate('create the revision');
    const created = await createRevision(this.#reference);
    if (created.outcome === 'ready') {
      this.#display.created(created);
    }
    return created;
  }

  async interruption(): Promise<Ending | undefined> {
    return (await this.#applyWishes()) ?? this.#supersession();
  }

  async updateBatch(): Promise<UpdateBatchResult | Ending> {
    const number = this.#display.batches + 1;
    const { updateBatch } = this.#mutate(`batch ${String(number)} of ${this.#display.revision ?? ''}`);
    const writing = updateBatch(this.#reference);
    const ending = await this.#applyWishesDuring(writing);
    const written = await writing;
    if (ending !== undefined) {
      return ending;
    }
    this.#display.updated(written);
    return written;
  }

  async awaitReady(deadlineReported: boolean): Promise<AwaitReadyResult | Ending> {
    const { awaitReady } = proxyActivities<RolloutActivities>({
      ...awaiting(waitsTaskQueue(this.#input.cluster)),
      summary: this.#display.waitingFor(),
    });
    const scope = new CancellationScope();
    const waiting = scope.run(() =>
      awaitReady({ ...this.#reference, deadlineReported, shown: this.#display.shown }),
    );
    const ending = await this.#applyWishesDuring(waiting);
    if (ending !== undefined) {
      scope.cancel();
      return ending;
    }
    const answer = await waiting;
    this.#display.updated(answer);
    return answer;
  }

  /** Costs nothing: the controller's signal ends it when the object changes. */
  async whilePaused(paused: PausedBy): Promise<void> {
    this.#display.paused(paused);
    await condition(() => this.#wishes.arePending || this.#wishes.objectChanged || this.#superseded);
    this.#wishes.lookAgain();
    this.#display.resumed();
  }

  async pause(wish: DeadlineWish): Promise<void> {
    await this.#record('pause', wish);
  }

  async rollBack(wish: DeadlineWish): Promise<boolean> {
    this.#display.rollingBack();
    const { rolledBack } = await CancellationScope.nonCancellable(() => this.#record('rollback', wish));
    return rolledBack;
  }

  renewsOnNews(): boolean {
    return this.#isLong() && patched('news-continue-as-new');
  }

  /** Until the activity has answered, or a wish or the controller ends the run. */
  async #applyWishesDuring(activity: Promise<unknown>): Promise<Ending | undefined> {
    return await this.#wishes.writeDuring(activity, this.#write, () => this.#supersession());
  }

  /** The end of a run that the controller does not want any more: also when its cancellation never comes. */
  #supersession(): Ending | undefined {
    return this.#superseded ? { ending: 'superseded' } : undefined;
  }

  /** Wishes that came as signals, in their order. */
  async #applyWishes(): Promise<Ending | undefined> {
    return await this.#wishes.writeAll(this.#write);
  }

  /** An abort that went back to an earlier revision ends the run. */
  readonly #write = async ({ verb, by, reason }: QueuedWish): Promise<Ending | undefined> => {
    const who = { by, ...(reason !== undefined && { reason }) };
    const { rolledBack } = await this.#record(verb, who);
    return rolledBack && verb === 'abort' ? { ending: 'aborted', ...who } : undefined;
  };

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

  /** Continues as new when the history has become long. */
  async renew(): Promise<void> {
    if (!this.#isLong() || this.#wishes.arePending || this.#superseded) {
      return;
    }
    await continueAsNew<typeof rollout>({
      ...this.#input,
      carried: { ...this.#display.carry(), deadlineReported: this.#sequence.deadlineReported },
    });
  }

  async #closeCancelled(cancellation: Error): Promise<RolloutResult> {
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
    const { commit, by, reason, pinnedBefore } = this.#input;
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
      ...(pinnedBefore !== undefined && { pinnedBefore }),
    });
    await this.#wishes.writeLate(this.#write);
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
