/** How many writes of a kind to start with, so that a quota or a broken webhook is met by one request (C13). */

/** What went well is trusted for so long, milliseconds. */
const TRUST_MS = 10_000;
/** Above this number of kinds the old ones are forgotten. */
const MOST = 200;

export class SlowStart {
  readonly #widths = new Map<string, { readonly width: number; readonly at: number }>();
  readonly #now: () => number;

  constructor(now: () => number) {
    this.#now = now;
  }

  /** One, or the width that was reached a moment ago. */
  first(kind: string): number {
    const known = this.#widths.get(kind);
    return known !== undefined && this.#now() - known.at < TRUST_MS ? known.width : 1;
  }

  /** All writes up to this width at once went well. */
  reached(kind: string, width: number): void {
    this.#widths.set(kind, { width, at: this.#now() });
    if (this.#widths.size > MOST) {
      for (const [one, { at }] of this.#widths) {
        if (this.#now() - at >= TRUST_MS) this.#widths.delete(one);
      }
    }
  }

  /** One was refused: the next is alone again. */
  failed(kind: string): void {
    this.#widths.delete(kind);
  }
}
