/**
 * The order of a rollout: createRevision → { updateBatch → awaitReady } → its end. The same for a run on Temporal and for one in
 * process; what drives it (histories, signals, the UI, or nothing of it) is behind {@link RolloutDriver}.
 */

import type {
  AwaitReadyResult,
  CloseInput,
  CreateRevisionResult,
  PausedBy,
  UpdateBatchResult,
} from '../activities/rollout-types.ts';
import type { DEADLINE_WISHER } from '../planners/names.ts';
import type { OnDeadline } from '../planners/workload.ts';

/** Why the loop ended. */
export interface Ending {
  readonly ending: CloseInput['ending'];
  readonly by?: string;
  readonly reason?: string;
}

/** Who asks for something, in the name of a deadline. */
export interface DeadlineWish {
  readonly by: string;
  readonly reason: string;
}

/** The steps, and what happens around them. An `Ending` instead of a result: somebody has ended the run meanwhile. */
export interface RolloutDriver {
  /** What the object said when the run began, for answers that do not tell. */
  readonly onDeadline: OnDeadline;
  createRevision(): Promise<CreateRevisionResult>;
  /** Asked before each batch. */
  interruption(): Promise<Ending | undefined>;
  updateBatch(): Promise<UpdateBatchResult | Ending>;
  awaitReady(deadlineReported: boolean): Promise<AwaitReadyResult | Ending>;
  /** Resolves when the object is worth another look. */
  whilePaused(paused: PausedBy): Promise<void>;
  pause(wish: DeadlineWish): Promise<void>;
  /** Whether the workload has gone back to an earlier revision. */
  rollBack(wish: DeadlineWish): Promise<boolean>;
  /** Whether news alone are a reason to {@link renew}. */
  renewsOnNews(): boolean;
  /** Between two batches: a history that has become long goes on in another execution. */
  renew(): Promise<void>;
}

export class RolloutSequence {
  readonly #driver: RolloutDriver;
  #deadlineReported: boolean;

  constructor(driver: RolloutDriver, deadlineReported = false) {
    this.#driver = driver;
    this.#deadlineReported = deadlineReported;
  }

  /** The deadline has been dealt with, and its clock has not begun anew since. */
  get deadlineReported(): boolean {
    return this.#deadlineReported;
  }

  /** Until nothing is left to do, or somebody ends it. @param begun the revision is there: an earlier execution has seen to it */
  async run(begun: boolean): Promise<Ending> {
    if (!begun) {
      const created = await this.#driver.createRevision();
      if (created.outcome === 'superseded') {
        return { ending: 'superseded', reason: created.message };
      }
    }
    for (;;) {
      const ending = (await this.#driver.interruption()) ?? (await this.#batch());
      if (ending !== undefined) {
        return ending;
      }
      await this.#driver.renew();
    }
  }

  /** One turn: write what is legal, then wait until there is something to do again. */
  async #batch(): Promise<Ending | undefined> {
    const written = await this.#driver.updateBatch();
    if ('ending' in written) {
      return written;
    }
    this.#readClock(written);
    switch (written.outcome) {
      case 'superseded':
        return { ending: 'superseded', reason: written.message };
      case 'finished':
        return { ending: 'finished' };
      case 'paused':
        await this.#driver.whilePaused(written.paused);
        return undefined;
      case 'written':
      case 'nothing':
        return await this.#awaitReady();
    }
  }

  async #awaitReady(): Promise<Ending | undefined> {
    for (;;) {
      const answer = await this.#driver.awaitReady(this.#deadlineReported);
      if ('ending' in answer) {
        return answer;
      }
      this.#readClock(answer);
      switch (answer.outcome) {
        case 'superseded':
          return { ending: 'superseded', reason: answer.message };
        case 'finished':
          return { ending: 'finished' };
        case 'paused':
          await this.#driver.whilePaused(answer.paused);
          return undefined;
        case 'deadline': {
          const end = await this.#reachDeadline(answer.onDeadline ?? this.#driver.onDeadline);
          if (end !== undefined) {
            return end;
          }
          break;
        }
        case 'news':
          // Told every ten seconds for days it would fill the history; the next execution waits on.
          if (this.#driver.renewsOnNews()) {
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

  /** P18: a deadline is measured from the last progress, or from the end of a pause; so it may pass once more. */
  #readClock(answer: UpdateBatchResult | AwaitReadyResult): void {
    if ('timedOut' in answer && !answer.timedOut) this.#deadlineReported = false;
  }

  async #reachDeadline(onDeadline: OnDeadline): Promise<Ending | undefined> {
    this.#deadlineReported = true;
    const by = 'progressDeadlineSeconds' satisfies typeof DEADLINE_WISHER;
    const wish = { by, reason: 'no progress before the deadline' };
    switch (onDeadline) {
      case 'Report':
        return undefined;
      case 'Pause':
        await this.#driver.pause(wish);
        return undefined;
      case 'Rollback':
        return (await this.#driver.rollBack(wish)) ? { ending: 'rolledBack', ...wish } : undefined;
    }
  }
}
