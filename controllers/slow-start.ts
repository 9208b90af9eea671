/**
 * How many writes of a kind are under way at once: few at first, so that a quota or a broken webhook is met by one request (C13),
 * and no more than the apiserver answers quickly, so that a rollout does not slow down the cluster that it waits for.
 */

/** What went well is trusted for so long, milliseconds. */
const TRUST_MS = 10_000;
/** Above this number of kinds the old ones are forgotten. */
const MOST = 200;

/** Writes under way at once, at most. */
export const MOST_AT_ONCE = 32;
/** Answers that take longer, milliseconds, say that the apiserver has enough to do. */
const BUSY_MS = 50;
/** Answers that take longer say that it has too much to do. */
const OVERLOADED_MS = 100;

/**
 * The width after a window of writes that went well. Twice as many; but where pods are taken out of service (`slowest`, the
 * milliseconds of the slowest answer, is given) not while the apiserver is busy, and half as many when it is overloaded: what is
 * written then only waits in other queues. Measured: docs/decisions/pace.md.
 */
export function widthAfter(width: number, slowest: number | undefined): number {
  if (slowest !== undefined && slowest > OVERLOADED_MS) return Math.max(1, Math.floor(width / 2));
  if (slowest !== undefined && slowest > BUSY_MS) return width;
  return Math.min(width * 2, MOST_AT_ONCE);
}

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
