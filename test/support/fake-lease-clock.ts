/** A clock for leader election that stands still until it is told to go on. */

import type { LeaseClock, Moment } from '../../worker/lease-clock.ts';

interface Sleeper {
  readonly until: number;
  readonly wake: () => void;
}

export class FakeLeaseClock implements LeaseClock {
  #monotonic = 1000;
  #wall = Date.parse('2026-01-01T00:00:00Z');
  readonly #sleepers = new Set<Sleeper>();

  get sleeping(): number {
    return this.#sleepers.size;
  }

  now(): Moment {
    return { monotonic: this.#monotonic, wall: this.#wall };
  }

  sleep(ms: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const sleeper = {
        until: this.#monotonic + ms,
        wake: (): void => {
          this.#sleepers.delete(sleeper);
          signal.removeEventListener('abort', sleeper.wake);
          resolve();
        },
      };
      if (signal.aborted) {
        resolve();
        return;
      }
      this.#sleepers.add(sleeper);
      signal.addEventListener('abort', sleeper.wake);
    });
  }

  /** Both clocks go on; who slept long enough wakes. */
  advance(ms: number): void {
    this.#monotonic += ms;
    this.#wall += ms;
    for (const sleeper of this.#sleepers) {
      if (sleeper.until <= this.#monotonic) sleeper.wake();
    }
  }

  /** The machine is suspended: only the wall clock goes on, and nobody wakes. */
  suspend(ms: number): void {
    this.#wall += ms;
  }
}
