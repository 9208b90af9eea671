/** What the demo prints: narration that stays, and below it the live tree; plain lines with their time without a terminal. */

import type { Colors } from '../cli/colors.ts';
import { colorsOf } from '../cli/colors.ts';
import type { Io } from '../cli/io.ts';
import { LivePrinter } from '../cli/live-printer.ts';
import { manyLines } from '../kubernetes/safe-text.ts';
import type { WatchView } from '../cli/watch-view.ts';

export class Screen {
  readonly colors: Colors;
  readonly #io: Io;
  readonly #printer: LivePrinter;

  constructor(io: Io) {
    this.#io = io;
    this.#printer = new LivePrinter(io);
    this.colors = colorsOf(io);
  }

  /** Our own words; colours are kept. */
  say(text: string): void {
    this.#printer.above(text);
  }

  /** A heading with an empty line before it. */
  head(text: string): void {
    if (this.#io.live) this.#printer.above('');
    this.#printer.above(this.colors.bold(text));
  }

  /** What a program printed, indented. */
  quote(text: string): void {
    for (const line of manyLines(text).trimEnd().split('\n')) this.#printer.above(`    ${line}`);
  }

  /** The rollout as it is now; at most five times a second. */
  show(view: WatchView): void {
    this.#printer.show(view);
  }

  /** Leaves the last picture standing; nothing is shown after this, only printed. */
  endTree(): void {
    this.#printer.end();
  }

  /** Text as it is, without a time: tables. Only after {@link endTree}. */
  print(text: string): void {
    this.#io.out(text);
  }
}
