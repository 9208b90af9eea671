/**
 * Keys waiting to be reconciled. Requests for one key coalesce: the first after a quiet time runs at once, those that follow
 * wait until `spacing` has passed since the last run began. One key never runs twice at the same time; a key that failed comes
 * back with back-off.
 */

/** Times are of a clock that never goes back: after a step of the wall clock nothing would run before it has caught up. */
interface Entry {
  timer: NodeJS.Timeout | undefined;
  dueAt: number;
  running: boolean;
  /** Asked for again while running: earliest such time. */
  again: number | undefined;
  lastStart: number;
  failures: number;
}

export interface WorkQueueOptions {
  readonly reconcile: (key: string) => Promise<void>;
  /** Milliseconds between two runs of this key. */
  readonly spacing: (key: string) => number;
  readonly onError: (key: string, error: unknown) => void;
}

const FIRST_BACKOFF_MS = 200;
const LAST_BACKOFF_MS = 30_000;

export class WorkQueue {
  readonly #entries = new Map<string, Entry>();
  readonly #options: WorkQueueOptions;
  readonly #active = new Set<Promise<void>>();
  #stopped = false;

  constructor(options: WorkQueueOptions) {
    this.#options = options;
  }

  /** Reconcile soon (as `spacing` allows), or not before `at` (milliseconds since the epoch). An earlier date wins. */
  add(key: string, at = 0): void {
    if (this.#stopped) {
      return;
    }
    const entry = this.#entry(key);
    const now = performance.now();
    const dueAt = Math.max(now + at - Date.now(), now, entry.lastStart + this.#options.spacing(key));
    if (entry.running) {
      entry.again = Math.min(entry.again ?? Infinity, dueAt);
    } else {
      this.#schedule(key, entry, dueAt);
    }
  }

  /** Starts nothing more and resolves when what runs has ended. */
  async stop(): Promise<void> {
    this.#stopped = true;
    for (const entry of this.#entries.values()) {
      clearTimeout(entry.timer);
    }
    await Promise.allSettled(this.#active);
  }

  #entry(key: string): Entry {
    let entry = this.#entries.get(key);
    if (entry === undefined) {
      entry = {
        timer: undefined,
        dueAt: Infinity,
        running: false,
        again: undefined,
        lastStart: -Infinity,
        failures: 0,
      };
      this.#entries.set(key, entry);
    }
    return entry;
  }

  #schedule(key: string, entry: Entry, dueAt: number): void {
    if (entry.timer !== undefined && entry.dueAt <= dueAt) {
      return;
    }
    clearTimeout(entry.timer);
    entry.dueAt = dueAt;
    // Timers above 2^31 ms fire at once; an hour is soon enough to look again.
    const delay = Math.min(Math.max(0, Math.ceil(dueAt - performance.now())), 3_600_000);
    entry.timer = setTimeout(() => {
      const run = this.#run(key, entry);
      this.#active.add(run);
      void run.finally(() => this.#active.delete(run));
    }, delay);
  }

  async #run(key: string, entry: Entry): Promise<void> {
    entry.timer = undefined;
    entry.dueAt = Infinity;
    entry.running = true;
    entry.lastStart = performance.now();
    try {
      await this.#options.reconcile(key);
      entry.failures = 0;
    } catch (error) {
      const backoff = Math.min(FIRST_BACKOFF_MS * 2 ** entry.failures, LAST_BACKOFF_MS);
      entry.failures += 1;
      entry.again = Math.min(entry.again ?? Infinity, performance.now() + backoff);
      this.#options.onError(key, error);
    }
    entry.running = false;
    const again = entry.again;
    entry.again = undefined;
    if (this.#stopped) {
      return;
    }
    if (again !== undefined) {
      this.#schedule(key, entry, again);
    } else if (entry.timer === undefined && entry.failures === 0) {
      this.#forgetWhenQuiet(key, entry);
    }
  }

  /** `lastStart` matters only while the spacing lasts. */
  #forgetWhenQuiet(key: string, entry: Entry): void {
    const timer = setTimeout(
      () => {
        if (this.#entries.get(key) === entry && !entry.running && entry.timer === undefined) {
          this.#entries.delete(key);
        }
      },
      this.#options.spacing(key) + 1,
    );
    timer.unref();
  }
}
