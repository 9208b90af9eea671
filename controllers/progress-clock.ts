/** Which time counts for `progressDeadlineSeconds`: only that in which a rollout could have gone on. */

import type { ConditionInput } from '../planners/conditions.ts';

export interface ProgressClockOptions {
  /** Whether Temporal answered when it was asked last. */
  readonly temporalAnswers: () => boolean;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

/**
 * The clock of one leader. It begins with the leader (how long nobody led before, it cannot know), stands still while Temporal
 * is away, and begins anew when that is back: our own outage must never be what rolls a revision back.
 */
export class ProgressClock {
  readonly #options: ProgressClockOptions;
  #from: number;
  #stopped = false;

  constructor(options: ProgressClockOptions) {
    this.#options = options;
    this.#from = options.now();
  }

  /** To be asked for each plan; every workload is planned when Temporal goes and when it comes back. */
  read(): Pick<ConditionInput, 'clockFrom' | 'clockStopped'> {
    const { temporalAnswers, now } = this.#options;
    const stopped = !temporalAnswers();
    if (this.#stopped && !stopped) {
      this.#from = now();
    }
    this.#stopped = stopped;
    return { clockFrom: this.#from, clockStopped: stopped };
  }
}
