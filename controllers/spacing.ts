/** How far apart the reconciles of one workload are: close together for a moment, in the long run the dearer its plans, the further. */

const LEAST_MS = 5;
const MOST_MS = 1_000;
/** In the long run planning takes at most one part in so many of a core, however fast the pods of a workload change. */
const PARTS = 10;
/** Milliseconds of planning that a quiet time saves up: the pods of a batch, all changing at once, are answered without delay. */
const SAVINGS_MS = 300;

interface Account {
  /** Milliseconds of planning; below zero it is owed. */
  readonly balance: number;
  /** When the balance was so, milliseconds. */
  readonly at: number;
}

export class Spacing {
  readonly #accounts = new Map<string, Account>();
  readonly #now: () => number;

  /** @param now milliseconds, of a clock that never goes back */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** Learns what a plan of this workload took. */
  planned(key: string, milliseconds: number): void {
    const balance = Math.max(this.#balance(key) - milliseconds, -MOST_MS / PARTS);
    this.#accounts.set(key, { balance, at: this.#now() });
  }

  /**
   * Milliseconds between the last plan and the next: 5 as long as there are savings, else until what is owed has been saved, never
   * more than a second (design "Kubernetes client").
   */
  of(key: string): number {
    return Math.max(LEAST_MS, -(this.#accounts.get(key)?.balance ?? 0) * PARTS);
  }

  forget(key: string): void {
    this.#accounts.delete(key);
  }

  #balance(key: string): number {
    const account = this.#accounts.get(key);
    if (account === undefined) return SAVINGS_MS;
    return Math.min(SAVINGS_MS, account.balance + (this.#now() - account.at) / PARTS);
  }
}
