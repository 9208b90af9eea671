/** Whether the run of an update that was cancelled in Temporal is to be followed by another. */

import { RUN_GRACE_MS } from '../planners/rolling-update-run.ts';
import type { UpdateView } from '../planners/rolling-update-view.ts';

/** Asked again and again by whoever follows the update. */
export class CancelledRun {
  /** Since when nothing holds the update and yet no run is open, milliseconds since the epoch. */
  #freeSince: number | undefined;

  /** Another run was seen. */
  reset(): void {
    this.#freeSince = undefined;
  }

  /**
   * A click on Cancel means a pause, and is no end of the update for as long as that is written. Who resumes it first takes the
   * pause away and then starts the next run: between the two nothing tells that one is coming.
   */
  isFollowed({ record, paused }: Pick<UpdateView, 'record' | 'paused'>, now: number): boolean {
    if (record === undefined) return false;
    if (paused !== undefined) {
      this.#freeSince = undefined;
      return true;
    }
    this.#freeSince ??= now;
    return now - this.#freeSince < RUN_GRACE_MS;
  }
}
