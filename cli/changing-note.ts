/** Something that is the matter while a verb waits: said when it begins, when it is another, and when it is over. */

import { oneLine } from '../kubernetes/safe-text.ts';
import type { Io } from './io.ts';

export class ChangingNote {
  readonly #io: Pick<Io, 'err'>;
  readonly #over: string;
  #said: string | undefined;

  constructor(io: Pick<Io, 'err'>, over: string) {
    this.#io = io;
    this.#over = over;
  }

  /** What is the matter now. Of the same, other figures (how long, which attempt) are no news. */
  now(what: string | undefined): void {
    const [before, after] = [this.#said, what].map((one) => one?.replaceAll(/\d+/g, ''));
    this.#said = what;
    if (before === after) return;
    this.#io.err(`note: ${oneLine(what ?? this.#over)}\n`);
  }
}
