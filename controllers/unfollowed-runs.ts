/** Ends the runs of repositories that the leader follows no more; what they applied stays as it is. */

import { pause } from '../kubernetes/backoff.ts';
import type { SyncRuns } from './sync-runs.ts';

export interface UnfollowedRunsOptions {
  readonly runs: Pick<SyncRuns, 'open' | 'unfollow'>;
  readonly isFollowed: (repository: string) => boolean;
  /** Ids of those who were told of its commits, as far as this leader knows. */
  readonly receivers: (repository: string) => readonly string[];
  readonly onEnded: (repository: string) => void;
  /** Temporal did not answer, or a run of this repository did not; it is tried again. */
  readonly onError: (error: unknown, repository?: string) => void;
  /** @default two minutes */
  readonly patienceMs?: number;
  /** @default ten seconds */
  readonly retryMs?: number;
}

/**
 * Milliseconds for which a leader leaves runs alone that it finds and does not know: a file that was changed for the one before it
 * may reach this replica later (a mounted ConfigMap takes a minute and more).
 */
const PATIENCE_MS = 2 * 60_000;
const RETRY_MS = 10_000;
const REASON =
  'no worker follows the repository any more: its entry was removed; what it applied is left as it is';

export class UnfollowedRuns {
  readonly #options: UnfollowedRunsOptions;
  readonly #leaving = new Set<string>();
  readonly #stopping = new AbortController();
  #wake = new AbortController();
  #running: Promise<void> | undefined;

  constructor(options: UnfollowedRunsOptions) {
    this.#options = options;
  }

  start(): void {
    this.#running ??= this.#run();
  }

  /** These were followed by this leader until now: their runs are ended at once. */
  left(repositories: readonly string[]): void {
    for (const name of repositories) this.#leaving.add(name);
    this.#wake.abort();
  }

  /** Resolves when the last call is over. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { onError, patienceMs = PATIENCE_MS, retryMs = RETRY_MS } = this.#options;
    const { signal } = this.#stopping;
    let lookAt = Date.now() + patienceMs;
    while (!signal.aborted) {
      this.#wake = new AbortController();
      let waitMs = lookAt - Date.now();
      try {
        if (waitMs <= 0) {
          for (const name of await this.#options.runs.open()) this.#leaving.add(name);
          lookAt = Number.POSITIVE_INFINITY;
          waitMs = lookAt;
        }
      } catch (error) {
        onError(error);
        waitMs = retryMs;
      }
      if (!(await this.#endAll())) waitMs = Math.min(waitMs, retryMs);
      // Longer ones would overflow a timer; nothing is lost by looking whether there is something to do.
      await pause(Math.min(waitMs, 3_600_000), signal, this.#wake.signal);
    }
  }

  /** A run that answers nothing keeps no other repository waiting. False: not all are ended. */
  async #endAll(): Promise<boolean> {
    const { runs, isFollowed, receivers, onEnded, onError } = this.#options;
    for (const name of this.#leaving) {
      if (this.#stopping.signal.aborted) return true;
      try {
        if (!isFollowed(name) && (await runs.unfollow(name, REASON, receivers(name)))) onEnded(name);
        this.#leaving.delete(name);
      } catch (error) {
        onError(error, name);
      }
    }
    return this.#leaving.size === 0;
  }
}
