/** The clocks of leader election. */

import { pause } from '../kubernetes/backoff.ts';

/** One point in time on both clocks, milliseconds. */
export interface Moment {
  readonly monotonic: number;
  readonly wall: number;
}

export interface LeaseClock {
  now(): Moment;
  /** Resolves after `ms`, or at once when the signal aborts. */
  sleep(ms: number, signal: AbortSignal): Promise<void>;
}

export const SYSTEM_CLOCK: LeaseClock = {
  now: () => ({ monotonic: performance.now(), wall: Date.now() }),
  sleep: pause,
};

/**
 * Milliseconds since `moment`, by whichever clock saw more pass: suspension stops the monotonic clock, an operator may set
 * back the other. Too large an answer (the wall clock was set forward) only costs a renewed election.
 */
export function elapsedMs(clock: LeaseClock, moment: Moment): number {
  const { monotonic, wall } = clock.now();
  return Math.max(monotonic - moment.monotonic, wall - moment.wall);
}
