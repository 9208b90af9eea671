/**
 * One critical section per key: what keeps reconcile and activity of one workload apart, and two repositories at one object (design "One
 * writer").
 */

export class KeyedMutex {
  readonly #tails = new Map<string, Promise<void>>();

  /** Runs `section` after every earlier section of the same key has ended; its error is the caller's. */
  async run<T>(key: string, section: () => Promise<T>): Promise<T> {
    const previous = this.#tails.get(key) ?? Promise.resolve();
    let release!: () => void;
    const tail = new Promise<void>((resolve) => {
      release = resolve;
    });
    this.#tails.set(key, tail);
    await previous;
    try {
      return await section();
    } finally {
      if (this.#tails.get(key) === tail) {
        this.#tails.delete(key);
      }
      release();
    }
  }
}
