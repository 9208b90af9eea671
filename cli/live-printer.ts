/** Shows a rollout as it goes: a tree that is redrawn in place on a terminal, else a line for each transition. */

import { colorsOf } from './colors.ts';
import type { Io } from './io.ts';
import { oneLine } from '../kubernetes/safe-text.ts';
import { wrapToWidth } from './table.ts';
import { describeTransitions } from './transitions.ts';
import { renderTree } from './tree.ts';
import type { WatchView } from './watch-view.ts';

const HIDE_CURSOR = '\u001b[?25l';
const SHOW_CURSOR = '\u001b[?25h';
const CLEAR_LINE = '\u001b[K';
const CLEAR_BELOW = '\u001b[J';
/** Redraws a second at most: five. */
export const FRAME_MS = 200;

/** What `watch` shows a rollout with. */
export interface RolloutPrinter {
  show(view: WatchView): void;
  /** Something beside the rollout: a lost connection, found again (`''`). Said once. */
  note(text: string): void;
  end(): void;
}

export class LivePrinter implements RolloutPrinter {
  readonly #io: Io;
  #drawn = 0;
  #last: WatchView | undefined;
  #note = '';
  #frame = '';

  constructor(io: Io) {
    this.#io = io;
  }

  /** Shows the view. On a terminal the caller keeps to one call in {@link FRAME_MS}. */
  show(view: WatchView): void {
    if (this.#io.live) {
      this.#redraw(view);
    } else {
      for (const line of describeTransitions(this.#last, view)) this.#line(line);
    }
    this.#last = view;
  }

  /** Something beside the rollout: a lost connection, found again. Said once. */
  note(text: string): void {
    if (text === this.#note) return;
    this.#note = text;
    if (!this.#io.live && text !== '') this.#line(text);
  }

  /** A line that stays: above the picture, or between the transitions. On a terminal it may hold colours. */
  above(text: string): void {
    if (!this.#io.live) {
      this.#line(text);
      return;
    }
    const erase = this.#drawn === 0 ? '' : `\u001b[${String(this.#drawn)}A\r${CLEAR_BELOW}`;
    this.#io.out(`${erase}${text}\n`);
    this.#drawn = 0;
    this.#frame = '';
    if (this.#last !== undefined) this.#redraw(this.#last);
  }

  /** Leaves the last picture standing and gives the cursor back. */
  end(): void {
    if (this.#io.live && this.#drawn > 0) this.#io.out(SHOW_CURSOR);
  }

  #redraw(view: WatchView): void {
    const { columns, rows } = this.#io.size();
    const colors = colorsOf(this.#io);
    const note = this.#note === '' ? [] : wrapToWidth(colors.held(oneLine(this.#note)), columns);
    // One row stays free for the cursor.
    const room = Math.max(1, rows - 1 - note.length);
    const lines = [...note, ...renderTree(view, { colors, now: this.#io.now(), columns, rows: room })];
    const frame = lines.join('\n');
    if (frame === this.#frame) return;
    const up = this.#drawn === 0 ? HIDE_CURSOR : `\u001b[${String(this.#drawn)}A\r`;
    // Each line is written over the old one: clearing first would flicker.
    this.#io.out(`${up}${lines.map((line) => `${line}${CLEAR_LINE}\n`).join('')}${CLEAR_BELOW}`);
    this.#frame = frame;
    this.#drawn = lines.length;
  }

  #line(text: string): void {
    this.#io.out(`${new Date(this.#io.now()).toISOString().slice(0, 19)}Z  ${oneLine(text)}\n`);
  }
}
