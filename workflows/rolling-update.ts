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
  isCancellation,
  proxyActivities,
  setHandler,
  workflowInfo,
} from '@temporalio/workflow';

import type { RollingUpdateActivities } from '../activities/rolling-update.ts';
import type { CloseUpdateInput, UpdateRunReference } from '../activities/rolling-update-types.ts';
import { awaiting, mutating } from './activity-options.ts';
import type { OperatorMessage } from './messages.ts';
import { abortSignal, leaderTaskQueue, pauseSignal, readOperatorMessage, resumeSignal } from './messages.ts';
import { RollingUpdateDisplay } from './rolling-update-display.ts';
import type {
  RollingUpdateInput,
  RollingUpdateOutcome,
  RollingUpdateResult,
} from './rolling-update-messages.ts';
import { rollingUpdateQuery } from './rolling-update-messages.ts';

interface QueuedWish extends OperatorMessage {
  readonly verb: 'pause' | 'resume' | 'abort';
}

/** Characters; the server takes 400 bytes. */
const SUMMARY_LIMIT = 120;

export async function rollingUpdate(input: RollingUpdateInput): Promise<RollingUpdateResult> {
  return await new RollingUpdateRun(input).execute();
}

class RollingUpdateRun {
  readonly #input: RollingUpdateInput;
  readonly #reference: UpdateRunReference;
  readonly #display: RollingUpdateDisplay;
  readonly #wishes: QueuedWish[] = [];
  readonly #taskQueue: string;
  /** A verb has written on the controllers: look again. */
  #changed = false;

  constructor(input: RollingUpdateInput) {
    this.#input = input;
    const { namespace, name, next, clusterUid } = input;
    this.#reference = { clusterUid, update: { namespace, name, ...(next !== undefined && { next }) } };
    this.#taskQueue = leaderTaskQueue(input.cluster);
    this.#display = new RollingUpdateDisplay(input, workflowInfo().startTime.toISOString());
    setHandler(pauseSignal, (message) => this.#wish('pause', message), {
      description: 'Stop before the next step. Optional payload: {"by": "…", "reason": "…"}',
    });
    setHandler(resumeSignal, (message) => this.#wish('resume', message), {
      description: 'Go on after a pause. Optional payload as of pause.',
    });
    setHandler(abortSignal, (message) => this.#wish('abort', message), {
      description:
        'Turn the update round: the old controller gets its size back. Optional payload as of pause.',
    });
    setHandler(rollingUpdateQuery, () => this.#display.view(), {
      description: 'Phase, sizes, what was written last and what the update waits for.',
    });
  }

  #wish(verb: QueuedWish['verb'], payload: unknown): void {
    const { onObject, ...who } = readOperatorMessage(payload);
    if (onObject === true) {
      this.#changed = true;
    } else {
      this.#wishes.push({ verb, ...who });
    }
  }

  async execute(): Promise<RollingUpdateResult> {
    try {
      const outcome = await this.#loop();
      await CancellationScope.nonCancellable(() => this.#close(outcome));
      return { outcome, steps: this.#display.steps };
    } catch (error) {
      if (isCancellation(error)) {
        return await CancellationScope.nonCancellable(() => this.#closeCancelled(error));
      }
      if (error instanceof ActivityFailure || error instanceof ApplicationFailure) {
        const reason = (error.cause instanceof Error ? error.cause.message : error.message).slice(0, 500);
        await this.#close('Failed', { reason });
      }
      throw error;
    }
  }

  async #loop(): Promise<RollingUpdateOutcome> {
    for (;;) {
      await this.#applyWishes();
      this.#changed = false;
      const result = await this.#mutate(this.#display.writing()).advanceRollingUpdate(this.#reference);
      this.#display.updated(result);
      switch (result.outcome) {
        case 'done':
          return result.ending;
        case 'refused':
          throw ApplicationFailure.create({ type: result.code, message: result.message, nonRetryable: true });
        case 'grown':
          await condition(() => this.#isCalled(), result.updatePeriodMs);
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

  /** Until there is something to do; a wish ends it at once. */
  async #awaitNews(paused: boolean): Promise<void> {
    while (!this.#isCalled() && !this.#isLong()) {
      const { awaitRollingUpdate } = proxyActivities<RollingUpdateActivities>({
        ...awaiting(this.#taskQueue),
        summary: this.#display.waitingFor(),
      });
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
    return this.#changed || this.#wishes.length > 0;
  }

  async #applyWishes(): Promise<void> {
    for (let wish = this.#wishes.shift(); wish !== undefined; wish = this.#wishes.shift()) {
      const { verb, by = 'Temporal UI', reason } = wish;
      const summary = `${verb} by ${by}${reason === undefined ? '' : `: ${reason}`}`;
      const { recordUpdateWish } = this.#mutate(summary);
      const who = { by, ...(reason !== undefined && { reason }) };
      await CancellationScope.nonCancellable(() => recordUpdateWish({ ...this.#reference, verb, ...who }));
    }
  }

  #mutate(summary: string): RollingUpdateActivities {
    return proxyActivities<RollingUpdateActivities>({
      ...mutating(this.#taskQueue),
      summary: summary.slice(0, SUMMARY_LIMIT),
    });
  }

  #isLong(): boolean {
    const { historyLimit } = this.#input;
    const { continueAsNewSuggested, historyLength } = workflowInfo();
    return historyLimit === undefined ? continueAsNewSuggested : historyLength > historyLimit;
  }

  async #continueAsNewWhenLong(): Promise<void> {
    if (this.#isLong() && !this.#isCalled()) {
      await continueAsNew<typeof rollingUpdate>({ ...this.#input, carried: this.#display.carry() });
    }
  }

  /**
   * A click in the UI: nothing else cancels an update, and it means pause (design "Rollover"). Only a rename that has begun is
   * finished all the same: its pods have no controller.
   */
  async #closeCancelled(cancellation: unknown): Promise<RollingUpdateResult> {
    const who = { by: 'Temporal UI', reason: 'the run was cancelled' };
    await this.#mutate('pause: cancelled').recordUpdateWish({ ...this.#reference, verb: 'pause', ...who });
    const result = await this.#mutate('what cannot wait').advanceRollingUpdate(this.#reference);
    this.#display.updated(result);
    if (result.outcome !== 'done') {
      await this.#close('Canceled', who);
      throw cancellation;
    }
    await this.#close(result.ending);
    return { outcome: result.ending, steps: this.#display.steps };
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
    this.#display.closed(outcome);
  }
}

function cause({ by, reason }: RollingUpdateInput): { readonly by?: string; readonly reason?: string } {
  return { ...(by !== undefined && { by }), ...(reason !== undefined && { reason }) };
}
