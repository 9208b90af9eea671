/** Whether this process may write: asked synchronously before each write, answered from the clock alone. */

import { WriteRefusedError } from '../kubernetes/write-guard.ts';
import type { LeaseClock } from './lease-clock.ts';
import { elapsedMs } from './lease-clock.ts';
import type { Moment } from './lease-clock.ts';

/** This process does not hold the Lease (any more): nothing has been sent. */
export class NotLeaderError extends WriteRefusedError {
  override name = 'NotLeaderError';
}

/**
 * Leadership for as long as the last successful renewal is young (design "One writer").
 *
 * A renewal counts from the moment it was *sent*: the apiserver cannot have stored it earlier, so no other candidate, which
 * waits for the full duration of the Lease after it saw the renewal, can have taken over before. Time is the larger of what
 * the monotonic and the wall clock saw pass: the monotonic one stands still while a machine is suspended, the wall clock may
 * be set back. A process that was stopped and woken therefore finds itself too late at its first write.
 */
export class Fence {
  readonly #clock: LeaseClock;
  readonly #validMs: number;
  #renewedAt: Moment;
  #lost: string | undefined;

  constructor(clock: LeaseClock, validMs: number, sentAt: Moment) {
    this.#clock = clock;
    this.#validMs = validMs;
    this.#renewedAt = sentAt;
  }

  /** A renewal that was sent at this moment succeeded. */
  renewed(sentAt: Moment): void {
    this.#renewedAt = sentAt;
  }

  /** Closes the fence for good. The first reason stays. */
  close(reason: string): void {
    this.#lost ??= reason;
  }

  /** Milliseconds that are left; 0 when closed. */
  remainingMs(): number {
    if (this.#lost !== undefined) return 0;
    return Math.max(0, this.#validMs - elapsedMs(this.#clock, this.#renewedAt));
  }

  /**
   * Call it synchronously right before a write.
   * @throws {NotLeaderError}
   */
  assertLeader(): void {
    if (this.#lost !== undefined) throw new NotLeaderError(`write refused: ${this.#lost}`);
    const age = elapsedMs(this.#clock, this.#renewedAt);
    if (age < this.#validMs) return;
    this.close(`the Lease was last renewed ${Math.round(age)} ms ago, more than ${this.#validMs} ms`);
    throw new NotLeaderError(`write refused: ${this.#lost}`);
  }
}
