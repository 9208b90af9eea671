/**
 * Starts the run of a rolling update that is written down and has none: Temporal has lost its history, or whoever wrote the record has
 * died before it started the run. One that was terminated, cancelled or has failed is left to a person's retry, also when Temporal has
 * forgotten that.
 */

import { readAttempts } from '../kubernetes/attempts.ts';
import { pause } from '../kubernetes/backoff.ts';
import type { UpdateRecord } from '../planners/rolling-update-record.ts';
import { RUN_GRACE_MS, isOfOtherUpdate } from '../planners/rolling-update-run.ts';
import type { UpdateRun } from '../planners/rolling-update-run.ts';
import { isLeftToPerson } from './closed-run.ts';

/** An update without a run; by whom and why it was begun. */
export interface RunlessUpdate {
  readonly namespace: string;
  readonly name: string;
  readonly by?: string;
  readonly reason?: string;
}

export interface MissingRunsOptions {
  /** Those under way, oldest first. Asked at each look. */
  readonly records: () => readonly UpdateRecord[];
  readonly temporalAnswers: () => boolean;
  readonly readRun: (update: RunlessUpdate) => Promise<UpdateRun>;
  readonly start: (update: RunlessUpdate) => Promise<unknown>;
  /** Keeps on the record how its run ended, unless it is there: Temporal forgets it. */
  readonly noteEnd: (record: UpdateRecord, run: UpdateRun) => Promise<unknown>;
  readonly onStarted: (update: RunlessUpdate) => void;
  /** A call failed: that of the next look may not. */
  readonly onError: (update: RunlessUpdate, error: unknown) => void;
  /** Between two looks. @default ten seconds */
  readonly lookMs?: number;
  /** For which an update may be without a run. @default {@link RUN_GRACE_MS} */
  readonly graceMs?: number;
}

const LOOK_MS = 10_000;

export class MissingRuns {
  readonly #options: MissingRunsOptions;
  /** uids of records that had no run at the last look: whoever has just written one starts its run itself. */
  #suspected: ReadonlySet<string> = new Set();
  /** uids of records whose run was started by this leader. */
  readonly #started = new Set<string>();
  /** uids of records whose run was open at the last look: whatever ended before has been tried again. */
  readonly #open = new Set<string>();
  #wake = new AbortController();
  #isStopped = false;
  #running: Promise<void> | undefined;

  constructor(options: MissingRunsOptions) {
    this.#options = options;
  }

  start(): void {
    this.#running ??= this.#run();
  }

  /** Looks at once: Temporal is back, for one. */
  lookNow(): void {
    this.#wake.abort();
  }

  /** Resolves when the last call is over. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#wake.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { temporalAnswers, lookMs = LOOK_MS, graceMs = RUN_GRACE_MS } = this.#options;
    for (;;) {
      this.#wake = new AbortController();
      if (this.#isStopped) return;
      const before = this.#suspected;
      if (temporalAnswers()) await this.#look();
      const isNews = [...this.#suspected].some((uid) => !before.has(uid));
      await pause(isNews ? graceMs : lookMs, this.#wake.signal);
    }
  }

  async #look(): Promise<void> {
    const { records, readRun, start, noteEnd, onStarted, onError } = this.#options;
    // Of several with one workflow id the newest counts.
    const newest = new Map(
      records().map((record) => [`${record.revision.metadata.namespace ?? ''}/${record.from}`, record]),
    );
    const suspected = new Set<string>();
    for (const record of newest.values()) {
      if (this.#isStopped) return;
      const { from, state, revision } = record;
      const { uid, namespace = '', creationTimestamp } = revision.metadata;
      const { by, reason } = state.begun ?? {};
      const update = {
        namespace,
        name: from,
        ...(by !== undefined && { by }),
        ...(reason !== undefined && { reason }),
      };
      try {
        const run = await readRun(update);
        // One that this leader has started for it has ended since.
        const isOther = isOfOtherUpdate(run, creationTimestamp) && !this.#started.has(uid);
        if (run.state === 'running') this.#open.add(uid);
        if (run.state === 'closed') this.#open.delete(uid);
        if (run.state === 'closed' && !isOther) await noteEnd(record, run);
        if (run.state !== 'none' && !isOther) continue;
        if (run.state === 'none' && !this.#open.has(uid) && isLeftToPerson(readAttempts(revision))) continue;
        if (!this.#suspected.has(uid)) {
          suspected.add(uid);
          continue;
        }
        await start(update);
        this.#started.add(uid);
        onStarted(update);
      } catch (error) {
        if (this.#suspected.has(uid)) suspected.add(uid);
        onError(update, error);
      }
    }
    this.#suspected = suspected;
  }
}
