/** Drift of all repositories that the leader follows: each is watched on its own. */

import type { Repository } from '../git/repositories.ts';
import type { DriftWatchOptions } from './drift-watch.ts';
import { DriftWatch } from './drift-watch.ts';

export class DriftMonitor {
  readonly #options: DriftWatchOptions;
  readonly #watches = new Map<Repository, DriftWatch>();
  readonly #ending = new Set<Promise<void>>();

  constructor(options: DriftWatchOptions) {
    this.#options = options;
  }

  /** Watches the objects of these repositories and of no others from now on. An entry that is the same object is not disturbed. */
  follow(repositories: readonly Repository[]): void {
    for (const [repository, watch] of this.#watches) {
      if (repositories.includes(repository)) continue;
      this.#watches.delete(repository);
      const ending = watch.stop().finally(() => this.#ending.delete(ending));
      this.#ending.add(ending);
    }
    for (const repository of repositories) {
      if (!this.#watches.has(repository))
        this.#watches.set(repository, new DriftWatch(repository, this.#options));
    }
  }

  /**
   * All of it is looked at anew: a commit has ended, which may want something else or have put something back; or the repository goes on
   * that was suspended, which held what was to be done.
   */
  lookAgain(name: string): void {
    for (const [repository, watch] of this.#watches) if (repository.name === name) watch.lookAtAll();
  }

  /** Somebody has asked for a look: what waits to be put back waits no longer. */
  healNow(name: string): void {
    for (const [repository, watch] of this.#watches) if (repository.name === name) watch.healNow();
  }

  /** Resolves when the last write is over. */
  async stop(): Promise<void> {
    this.follow([]);
    await Promise.all(this.#ending);
  }
}
