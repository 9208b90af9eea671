/** Whether a run carries an update out, asked while a verb waits: the cluster does not show that one was terminated. */

import { pause } from '../kubernetes/backoff.ts';
import type { UpdateReference } from '../kubernetes/rolling-update-objects.ts';
import { RUN_GRACE_MS } from '../planners/rolling-update-run.ts';
import type { AskedRun } from './controller-session.ts';
import { readRun } from './controller-session.ts';
import type { Session } from './session.ts';

const LOOK_MS = 1_000;
/** More than clocks differ. */
const LONG_AGO_MS = 60_000;

export class RunWatch {
  readonly #session: Session;
  readonly #reference: UpdateReference;
  #lookedAt = Number.NEGATIVE_INFINITY;
  #isLooking = false;
  /** Milliseconds since the epoch. */
  #noneSince: number | undefined;
  #run: AskedRun | undefined;
  #hasAnswered = false;

  constructor(session: Session, reference: UpdateReference) {
    this.#session = session;
    this.#reference = reference;
  }

  /** The last run, once none has been open for a moment; undefined while one is, and where Temporal does not answer. Never waits for it. */
  closed(): AskedRun | undefined {
    const { io } = this.#session;
    // Not asked for a while: whatever ran then, another update may be under way now.
    if (io.now() - this.#lookedAt > RUN_GRACE_MS) this.#noneSince = undefined;
    if (!this.#isLooking && io.now() - this.#lookedAt >= LOOK_MS) void this.#look();
    const isOver = this.#noneSince !== undefined && io.now() - this.#noneSince >= RUN_GRACE_MS;
    return isOver ? this.#run : undefined;
  }

  /** The last run, if none was open when it was asked for last. Asks nobody. */
  lastClosed(): AskedRun | undefined {
    return this.#noneSince === undefined ? undefined : this.#run;
  }

  /** The run that was open when it was asked for last. Asks nobody. */
  open(): AskedRun | undefined {
    return this.#run?.state === 'running' ? this.#run : undefined;
  }

  /** Why Temporal could not be asked the last time. Asks nobody. */
  unreachable(): string | undefined {
    return this.#run?.state === 'unreachable' ? this.#run.message : undefined;
  }

  /** Why Temporal cannot be asked any more: it has answered before, so it is not that it cannot be reached from here. Asks nobody. */
  lost(): string | undefined {
    return this.#hasAnswered ? this.unreachable() : undefined;
  }

  /** As {@link closed}, for a verb that looks once: it waits as long as that is not known. */
  async closedAtLast(): Promise<AskedRun | undefined> {
    const { io } = this.#session;
    for (;;) {
      await this.#look();
      const closed = this.closed();
      if (closed !== undefined || this.#noneSince === undefined || io.interrupted.aborted) return closed;
      await pause(LOOK_MS, io.interrupted);
    }
  }

  async #look(): Promise<void> {
    this.#isLooking = true;
    const run = await readRun(this.#session, this.#reference);
    const now = this.#session.io.now();
    this.#isLooking = false;
    this.#lookedAt = now;
    this.#run = run;
    this.#hasAnswered ||= run.state !== 'unreachable';
    const isNone = run.state === 'none' || run.state === 'closed';
    this.#noneSince = isNone ? (this.#noneSince ?? noneSince(run, now)) : undefined;
  }
}

/** Of a run that has closed long ago, whatever the clocks, no other one is about to begin in its place. Milliseconds since the epoch. */
function noneSince(run: AskedRun, now: number): number {
  const endedAt = run.state === 'closed' ? Date.parse(run.endedAt ?? '') : Number.NaN;
  return now - endedAt > LONG_AGO_MS ? endedAt : now;
}
