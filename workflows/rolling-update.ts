/**
 * Rolling update of one ReplicationController: { advance → await } until it is over. It only sequences: the activities plan on
 * the objects, which hold all that there is to know, so that a run that is lost is made up for by another.
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

import type { RollingUpdateActivities } from '../activities/rolling-update.ts';
import type {
  AdvanceResult,
  CloseUpdateInput,
  UpdateRunReference,
} from '../activities/rolling-update-types.ts';
import type { UpdatePeriod } from '../planners/rolling-update-period.ts';
import type { UpdatePhase } from '../planners/rolling-update-steps.ts';
import { awaiting, mutating } from './activity-options.ts';
import { leaderTaskQueue, waitsTaskQueue } from './messages.ts';
import { OperatorWishes, describeWish } from './operator-wishes.ts';
import type { QueuedWish } from './operator-wishes.ts';
import { RollingUpdateDisplay } from './rolling-update-display.ts';
import type {
  RollingUpdateInput,
  RollingUpdateOutcome,
  RollingUpdateResult,
  UpdateCall,
} from './rolling-update-messages.ts';
import { readUpdateCall, rollingUpdateQuery, updateBegunSignal } from './rolling-update-messages.ts';
import { cancellationOf, failureReason, isHistoryLong, summaryOf } from './run.ts';

/** Phases in which pods have no controller, or are still to be adopted. */
const RENAMING: readonly UpdatePhase[] = ['Renaming', 'Finished'];

export async function rollingUpdate(input: RollingUpdateInput): Promise<RollingUpdateResult> {
  return await new RollingUpdateRun(input).execute();
}

class RollingUpdateRun {
  readonly #input: RollingUpdateInput;
  readonly #reference: UpdateRunReference;
  readonly #display: RollingUpdateDisplay;
  readonly #wishes: OperatorWishes;
  readonly #taskQueue: string;
  /** An update was written down since the objects were looked at last. */
  #begun: UpdateCall | undefined;
  /** The same, with another next controller than this run looks for: it is seen only when this one is over. */
  #begunAnew: UpdateCall | undefined;

  /** The update period, until it is over. */
  #period: UpdatePeriod | undefined;
  /** This run, or the one that it goes on for, knows when a controller has grown last. */
  #hasGrown: boolean;

  constructor(input: RollingUpdateInput) {
    this.#input = input;
    this.#begunAnew = input.carried?.begun;
    this.#period = input.carried?.period;
    this.#hasGrown = input.carried !== undefined;
    const { namespace, name, next, clusterUid } = input;
    this.#reference = { clusterUid, update: { namespace, name, ...(next !== undefined && { next }) } };
    this.#taskQueue = leaderTaskQueue(input.cluster);
    this.#display = new RollingUpdateDisplay(input, workflowInfo().startTime.toISOString());
    this.#wishes = new OperatorWishes({
      pause: 'Stop before the next step. Optional payload: {"by": "…", "reason": "…"}',
      resume: 'Go on after a pause. Optional payload as of pause.',
      abort: 'Turn the update round: the old controller gets its size back. Optional payload as of pause.',
    });
    setHandler(updateBegunSignal, (begun) => this.#hear(readUpdateCall(begun)), {
      description: 'Internal, from whoever begins an update: there is one to be rolled.',
    });
    setHandler(rollingUpdateQuery, () => this.#display.view(), {
      description: 'Phase, sizes, what was written last and what the update waits for.',
    });
  }

  async execute(): Promise<RollingUpdateResult> {
    try {
      const outcome = await this.#loop();
      await CancellationScope.nonCancellable(() => this.#close(outcome));
      await this.#goOnWithNext();
      return { outcome, steps: this.#display.steps };
    } catch (error) {
      const cancellation = cancellationOf(error);
      if (cancellation !== undefined) {
        return await CancellationScope.nonCancellable(() => this.#closeCancelled(cancellation));
      }
      if (error instanceof ActivityFailure || error instanceof ApplicationFailure) {
        const close = () => this.#close('Failed', { reason: failureReason(error) });
        // Runs of before may stand right here, and have given it up when they were cancelled.
        await (patched('close a failed run to its end') ? CancellationScope.nonCancellable(close) : close());
        const isBegun = (this.#begun ?? this.#begunAnew) !== undefined;
        if (isBegun && patched('go on after a failure')) await this.#goOnWithNext(true);
      }
      throw error;
    }
  }

  #hear(begun: UpdateCall): void {
    this.#begun = begun;
    if (begun.next !== this.#input.next) this.#begunAnew = begun;
  }

  /**
   * An update that was begun while this one closed is rolled by the next execution: nobody else starts a run for it.
   * @param isFailed What is refused again has ended already.
   */
  async #goOnWithNext(isFailed = false): Promise<void> {
    for (;;) {
      const isAnew = this.#begunAnew !== undefined && patched('another next controller');
      const begun = isAnew ? this.#begunAnew : this.#begun;
      if (begun === undefined) return;
      this.#begun = undefined;
      this.#begunAnew = undefined;
      const { namespace, name } = this.#input;
      const update = { namespace, name, ...(begun.next !== undefined && { next: begun.next }) };
      const result = await this.#mutate('look whether another update was begun').advanceRollingUpdate({
        ...this.#reference,
        update,
      });
      await this.#wishes.writeLate(this.#write);
      if (isOver(result) || (isFailed && result.outcome === 'refused')) continue;
      this.#display.goesOn();
      const { carried: _1, commit: _2, repository: _3, by: _4, reason: _5, next: _6, ...same } = this.#input;
      await continueAsNew<typeof rollingUpdate>({ ...same, ...begun });
    }
  }

  async #loop(): Promise<RollingUpdateOutcome> {
    for (;;) {
      await this.#applyWishes();
      this.#wishes.lookAgain();
      this.#begun = undefined;
      const result = await this.#advance();
      this.#display.updated(result);
      switch (result.outcome) {
        case 'done':
          return result.ending;
        case 'refused':
          throw ApplicationFailure.create({ type: result.code, message: result.message, nonRetryable: true });
        case 'grown':
          this.#hasGrown = true;
          // A wish may end it; what is left of it is waited for after that.
          this.#period = (await condition(() => this.#isCalled(), result.updatePeriodMs))
            ? result.period
            : undefined;
          break;
        case 'paused':
          this.#display.paused(result.paused);
          await this.#awaitNews(true);
          this.#display.resumed();
          break;
        case 'waiting':
          await this.#awaitNews(false);
          break;
        case 'more':
          break;
      }
      await this.#continueAsNewWhenLong();
    }
  }

  /** Wishes are written beside it: what is refused is tried again until somebody mends it, or wishes something else. */
  async #advance(): Promise<AdvanceResult> {
    const advancing = this.#mutate(this.#display.writing()).advanceRollingUpdate({
      ...this.#reference,
      ...(this.#period !== undefined && { period: this.#period }),
      ...(!this.#hasGrown && { hasGrown: false }),
    });
    // Runs of before wrote them when it had answered.
    if (patched('wishes beside a step')) await this.#wishes.writeDuring(advancing, this.#write);
    return await advancing;
  }

  /** Until there is something to do; a wish ends it at once. */
  async #awaitNews(paused: boolean): Promise<void> {
    while (!this.#isCalled() && !this.#isLong()) {
      const { awaitRollingUpdate } = this.#await();
      const looking = new CancellationScope();
      const listening = new CancellationScope();
      const answered = looking.run(() =>
        awaitRollingUpdate({ ...this.#reference, shown: this.#display.shown, paused }),
      );
      const called = listening.run(async () => {
        await condition(() => this.#isCalled());
      });
      // Whichever comes second is given up: the activity only looks.
      answered.catch(() => undefined);
      called.catch(() => undefined);
      try {
        const answer = await Promise.race([answered, called]);
        if (answer === undefined) return;
        this.#display.updated(answer);
        if (answer.outcome === 'step') return;
      } finally {
        looking.cancel();
        listening.cancel();
      }
    }
  }

  #isCalled(): boolean {
    return this.#wishes.objectChanged || this.#wishes.arePending;
  }

  async #applyWishes(): Promise<void> {
    await this.#wishes.writeAll(this.#write);
  }

  readonly #write = async ({ verb, ...who }: QueuedWish): Promise<undefined> => {
    const { recordUpdateWish } = this.#mutate(describeWish(verb, who));
    await recordUpdateWish({ ...this.#reference, verb, ...who });
  };

  #mutate(summary: string): RollingUpdateActivities {
    return proxyActivities<RollingUpdateActivities>({
      ...mutating(this.#taskQueue),
      summary: summaryOf(summary),
    });
  }

  #await(): RollingUpdateActivities {
    return proxyActivities<RollingUpdateActivities>({
      ...awaiting(waitsTaskQueue(this.#input.cluster)),
      summary: summaryOf(this.#display.waitingFor()),
    });
  }

  #isLong(): boolean {
    return isHistoryLong(this.#input.historyLimit);
  }

  async #continueAsNewWhenLong(): Promise<void> {
    if (this.#isLong() && !this.#isCalled()) {
      const [begun, period] = [this.#begunAnew, this.#period];
      const carried = {
        ...this.#display.carry(),
        ...(begun !== undefined && { begun }),
        ...(period !== undefined && { period }),
      };
      await continueAsNew<typeof rollingUpdate>({ ...this.#input, carried });
    }
  }

  /**
   * A click in the UI: nothing else cancels an update, and it means pause (design "Rollover"). Only a rename that has begun is
   * finished all the same: its pods have no controller.
   */
  async #closeCancelled(cancellation: Error): Promise<RollingUpdateResult> {
    const who = { by: 'Temporal UI', reason: 'the run was cancelled' };
    await this.#mutate('pause: cancelled').recordUpdateWish({ ...this.#reference, verb: 'pause', ...who });
    const result = await this.#finishRename();
    if (result.outcome !== 'done') {
      await this.#close('Canceled', who);
      throw cancellation;
    }
    await this.#close(result.ending);
    return { outcome: result.ending, steps: this.#display.steps };
  }

  /** One call writes for a few seconds; what a rename waits for (finalizers, the garbage collection) may take longer. */
  async #finishRename(): Promise<AdvanceResult> {
    for (;;) {
      const result = await this.#mutate('what cannot wait').advanceRollingUpdate(this.#reference);
      this.#display.updated(result);
      const isUnderWay = result.outcome === 'more' || result.outcome === 'waiting';
      const isRenaming = isUnderWay && RENAMING.includes(result.progress.phase);
      // Runs of before left it to whoever resumed the update.
      if (!isRenaming || !patched('finish the rename of a cancelled run')) return result;
      if (result.outcome === 'waiting') {
        await this.#await().awaitRollingUpdate({
          ...this.#reference,
          shown: this.#display.shown,
          paused: false,
        });
      }
    }
  }

  async #close(
    outcome: CloseUpdateInput['outcome'],
    who: { readonly by?: string; readonly reason?: string } = {},
  ): Promise<void> {
    const { firstExecutionRunId, workflowId } = workflowInfo();
    const { commit } = this.#input;
    const { record, startedAt } = this.#display;
    await this.#mutate(`close: ${outcome}`).closeRollingUpdate({
      ...this.#reference,
      outcome,
      workflowId,
      runId: firstExecutionRunId,
      startedAt,
      ...(record !== undefined && { record }),
      ...(commit !== undefined && { commit }),
      ...cause(this.#input),
      ...who,
    });
    await this.#wishes.writeLate(this.#write);
    this.#display.closed(outcome);
  }
}

/** Somebody has attached to an update that was just ending: nothing else is to be done. */
function isOver(result: AdvanceResult): boolean {
  if (result.outcome === 'refused') return result.code === 'NothingToDo' || result.code === 'NotFound';
  return result.outcome === 'done';
}

function cause({ by, reason }: RollingUpdateInput): { readonly by?: string; readonly reason?: string } {
  return { ...(by !== undefined && { by }), ...(reason !== undefined && { reason }) };
}
