/** Something that is the matter while a verb waits: said when it begins, once a minute, when it is another, and when it is over. */

import { oneLine } from '../kubernetes/safe-text.ts';
import type { Io } from './io.ts';

/** Milliseconds until the same is said again, with its figures of then. */
const AGAIN_MS = 60_000;
/** Times, ages, and other figures: `2m`, `2m1s`, `4s`. */
const FIGURES = /\d+(?:(?:ms|[smhdy])(?:\d+[smhd])?\b)?/g;

export class ChangingNote {
  readonly #io: Pick<Io, 'err' | 'now'>;
  readonly #over: string;
  #said: string | undefined;
  /** Milliseconds since the epoch. */
  #saidAt = 0;

  constructor(io: Pick<Io, 'err' | 'now'>, over: string) {
    this.#io = io;
    this.#over = over;
  }

  /** What is the matter now. Of the same, other figures (how long, which attempt) are no news for a minute. */
  now(what: string | undefined): void {
    const [before, after] = [this.#said, what].map((one) => one?.replaceAll(FIGURES, ''));
    const now = this.#io.now();
    if (before === after && (what === undefined || now - this.#saidAt < AGAIN_MS)) return;
    this.#said = what;
    this.#saidAt = now;
    this.#io.err(`note: ${oneLine(what ?? this.#over)}\n`);
  }
}
