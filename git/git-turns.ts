/** How many git commands this process has under way: many repositories together need no more room than a few. */

import { trusted } from '../kubernetes/values.ts';

/** Of one kind of commands. */
export interface TurnLimits {
  /** At a time. */
  readonly most: number;
  /** At a time for one of those who share, such as a server. */
  readonly each: number;
}

interface Waiting {
  readonly sharer: string;
  readonly begin: () => void;
}

/** Turns that are taken in the order in which they were asked for, but for those whose sharer has its share under way. */
export class Turns {
  readonly #limits: TurnLimits;
  readonly #running = new Map<string, number>();
  readonly #waiting = new Set<Waiting>();
  #count = 0;

  constructor(limits: TurnLimits) {
    this.#limits = limits;
  }

  /** Resolves when it is the sharer's turn, with what ends it. @throws the signal's reason */
  async take(sharer: string, signal?: AbortSignal): Promise<() => void> {
    signal?.throwIfAborted();
    const taken = this.takeNow(sharer);
    if (taken !== undefined) return taken;
    return await new Promise((resolve, reject) => {
      const waiting: Waiting = {
        sharer,
        begin: () => {
          signal?.removeEventListener('abort', onAbort);
          resolve(this.#begin(sharer));
        },
      };
      const onAbort = (): void => {
        this.#waiting.delete(waiting);
        reject(trusted<Error>(signal?.reason));
      };
      signal?.addEventListener('abort', onAbort, { once: true });
      this.#waiting.add(waiting);
    });
  }

  /** As {@link take}; undefined when it would have to wait. */
  takeNow(sharer: string): (() => void) | undefined {
    return this.#isFree(sharer) ? this.#begin(sharer) : undefined;
  }

  #isFree(sharer: string): boolean {
    const { most, each } = this.#limits;
    return this.#count < most && (this.#running.get(sharer) ?? 0) < each;
  }

  #begin(sharer: string): () => void {
    this.#count += 1;
    this.#running.set(sharer, (this.#running.get(sharer) ?? 0) + 1);
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      this.#end(sharer);
    };
  }

  #end(sharer: string): void {
    this.#count -= 1;
    const left = (this.#running.get(sharer) ?? 0) - 1;
    if (left > 0) this.#running.set(sharer, left);
    else this.#running.delete(sharer);
    for (const waiting of this.#waiting) {
      if (!this.#isFree(waiting.sharer)) continue;
      this.#waiting.delete(waiting);
      waiting.begin();
    }
  }
}

/** What is asked of a server: for the names of its refs, or for a commit. */
export type RemoteCommand = 'look' | 'fetch';

/** Turns of what is quick, and of what is slow. */
export type Lanes = Readonly<Record<'quick' | 'slow', TurnLimits>>;

/** A fetch may take as much memory as it is let, a look hardly any. */
const LANES: Readonly<Record<RemoteCommand, Lanes>> = {
  look: { quick: { most: 24, each: 12 }, slow: { most: 12, each: 6 } },
  fetch: { quick: { most: 6, each: 4 }, slow: { most: 4, each: 2 } },
};

/** Milliseconds after which a command is called slow. */
const SLOW_MS = 5_000;

/** Who asks for a turn. */
export interface Asker {
  /** The repository. */
  readonly source: string;
  /** The server that it is on, which has a share of the turns. */
  readonly host: string;
}

/**
 * The turns of commands that talk to other machines. One that turns out to be slow goes on in a turn for slow ones, and begins in such a
 * turn the next time: servers that hang, however many, have the others wait once for a few seconds, and never again.
 */
export class RemoteTurns {
  readonly #turns: Readonly<Record<RemoteCommand, Readonly<Record<'quick' | 'slow', Turns>>>>;
  readonly #slowMs: number;
  /** What was slow the last time. */
  readonly #slow = new Set<string>();

  constructor(lanes: Readonly<Record<RemoteCommand, Lanes>> = LANES, slowMs = SLOW_MS) {
    const turnsOf = ({ quick, slow }: Lanes) => ({ quick: new Turns(quick), slow: new Turns(slow) });
    this.#turns = { look: turnsOf(lanes.look), fetch: turnsOf(lanes.fetch) };
    this.#slowMs = slowMs;
  }

  /** Does the work when it is its turn. @throws whatever `work` throws; the signal's reason */
  async run<T>(
    command: RemoteCommand,
    { source, host }: Asker,
    work: () => Promise<T>,
    signal?: AbortSignal,
  ): Promise<T> {
    const key = `${command} ${source}`;
    const { quick, slow } = this.#turns[command];
    const wasSlow = this.#slow.has(key);
    let end = await (wasSlow ? slow : quick).take(host, signal);
    const begun = performance.now();
    const over = new AbortController();
    // Not by the clock alone: a timer may be a little early, and who was moved has been slow.
    let isSlow = false;
    const move = async (): Promise<void> => {
      isSlow = true;
      const next = await slow.take(host, over.signal).catch(() => undefined);
      if (over.signal.aborted) return next?.();
      end();
      end = next ?? end;
      return undefined;
    };
    const timer = wasSlow ? undefined : setTimeout(() => void move(), this.#slowMs);
    try {
      return await work();
    } finally {
      clearTimeout(timer);
      over.abort();
      if (isSlow || performance.now() - begun >= this.#slowMs) this.#slow.add(key);
      else this.#slow.delete(key);
      end();
    }
  }
}
