/** What operators ask of a run by signals: one queue for every kind of rollout, written onto the objects in its order. */

import { CancellationScope, condition, patched, setHandler } from '@temporalio/workflow';

import type { OperatorMessage } from './messages.ts';
import { abortSignal, pauseSignal, readOperatorMessage, resumeSignal } from './messages.ts';

export type WishVerb = 'pause' | 'resume' | 'abort';

export interface QueuedWish {
  readonly verb: WishVerb;
  readonly by: string;
  readonly reason?: string;
}

const SIGNALS = { pause: pauseSignal, resume: resumeSignal, abort: abortSignal } as const;

export class OperatorWishes {
  readonly #queue: QueuedWish[] = [];
  #objectChanged = false;

  /** Listens to the signals. @param descriptions what each does, for the Temporal UI */
  constructor(descriptions: Readonly<Record<WishVerb, string>>) {
    for (const verb of ['pause', 'resume', 'abort'] as const) {
      setHandler(SIGNALS[verb], (payload) => this.#take(verb, payload), { description: descriptions[verb] });
    }
  }

  /** Some are still to be written. */
  get arePending(): boolean {
    return this.#queue.length > 0;
  }

  /** Whoever told so has written the object: it is worth a look. */
  get objectChanged(): boolean {
    return this.#objectChanged;
  }

  tellObjectChanged(): void {
    this.#objectChanged = true;
  }

  /** What was told so far is about to be seen. */
  lookAgain(): void {
    this.#objectChanged = false;
  }

  /**
   * Has each wish written, in their order and also when the run is being cancelled, until one of them ends the run.
   * @returns what the last one answered, if anything
   */
  async writeAll<T>(record: (wish: QueuedWish) => Promise<T | undefined>): Promise<T | undefined> {
    for (let wish = this.#queue.shift(); wish !== undefined; wish = this.#queue.shift()) {
      const one = wish;
      const end = await CancellationScope.nonCancellable(() => record(one));
      if (end !== undefined) return end;
    }
    return undefined;
  }

  /** The same of a run that has closed: whoever signalled it meanwhile was told that the wish is taken. */
  async writeLate(record: (wish: QueuedWish) => Promise<unknown>): Promise<void> {
    // Runs of before left them.
    while (this.arePending && patched('wishes while closing')) {
      await this.writeAll(async (wish) => {
        await record(wish);
      });
    }
  }

  /**
   * Has them written as they come until `activity` has answered, which sees the object change; with `ended` until that tells an end.
   * @returns the end, if one came before the answer
   */
  async writeDuring<T>(
    activity: Promise<unknown>,
    record: (wish: QueuedWish) => Promise<T | undefined>,
    ended: () => T | undefined = () => undefined,
  ): Promise<T | undefined> {
    const answered = { yet: false };
    const settle = () => {
      answered.yet = true;
    };
    activity.then(settle, settle);
    while (!answered.yet) {
      // A cancellation ends the activity in its own time: the next run must not race a write that is in flight.
      await CancellationScope.nonCancellable(() =>
        condition(() => answered.yet || this.arePending || ended() !== undefined),
      );
      const end = (await this.writeAll(record)) ?? ended();
      if (end !== undefined) return end;
    }
    return undefined;
  }

  /** A wish that is on the object already is not written again: a signal that was held up must not bring back an old pause. */
  #take(verb: WishVerb, payload: unknown): void {
    const { onObject, by = 'Temporal UI', reason } = readOperatorMessage(payload);
    if (onObject === true) this.#objectChanged = true;
    else this.#queue.push({ verb, by, ...(reason !== undefined && { reason }) });
  }
}

/** `pause by ann: disk alarm`: what the activity that writes it is called. */
export function describeWish(verb: string, { by, reason }: OperatorMessage): string {
  return `${verb}${by === undefined ? '' : ` by ${by}`}${reason === undefined ? '' : `: ${reason}`}`;
}
