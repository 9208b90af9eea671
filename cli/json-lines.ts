/** `watch -o json`: one JSON document a line, at the beginning and for each change. */

import { stringifyJson } from '../kubernetes/json.ts';
import { escapeUnsafe, oneLine } from '../kubernetes/safe-text.ts';
import type { Io } from './io.ts';
import type { RolloutPrinter } from './live-printer.ts';
import type { Document } from './structured.ts';
import { CLI_API_VERSION } from './structured.ts';
import type { WatchView } from './watch-view.ts';

/** One line; also the moment it was printed at. */
interface RolloutDocument extends Document, Omit<WatchView, 'causes'> {
  readonly kind: 'Rollout';
  /** RFC 3339. */
  readonly at: string;
}

export class JsonLines implements RolloutPrinter {
  readonly #io: Pick<Io, 'out' | 'err' | 'now'>;
  #last = '';
  #note = '';

  constructor(io: Pick<Io, 'out' | 'err' | 'now'>) {
    this.#io = io;
  }

  /** Prints the view unless it says the same as the last: a countdown is no news. */
  show(view: WatchView): void {
    const { waiting, causes, ...rest } = view;
    const content = stringifyJson({ ...rest, causes });
    if (content === this.#last) return;
    this.#last = content;
    const at = new Date(this.#io.now()).toISOString();
    const document: RolloutDocument = { apiVersion: CLI_API_VERSION, kind: 'Rollout', at, ...rest, waiting };
    this.#io.out(`${escapeUnsafe(stringifyJson(document))}\n`);
  }

  note(text: string): void {
    if (text === this.#note) return;
    this.#note = text;
    if (text !== '') this.#io.err(`note: ${oneLine(text)}\n`);
  }

  end(): void {}
}
