/** What several runs of one thing amount to. */

export interface Spread {
  readonly median: number;
  readonly min: number;
  readonly max: number;
  readonly runs: number;
}

/** Median and extremes. @throws Error for no values at all */
export function spreadOf(values: readonly number[]): Spread {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length / 2;
  const [low, high] = [sorted[Math.ceil(middle) - 1], sorted[Math.floor(middle)]];
  const [min, max] = [sorted[0], sorted.at(-1)];
  if (low === undefined || high === undefined || min === undefined || max === undefined) {
    throw new Error('no run gave this figure');
  }
  return { median: (low + high) / 2, min, max, runs: sorted.length };
}

/** `20.8 (20.5–21.3)`; one run has no spread. */
export function formatSpread(spread: Spread, digits: number): string {
  const median = spread.median.toFixed(digits);
  return spread.runs === 1
    ? median
    : `${median} (${spread.min.toFixed(digits)}–${spread.max.toFixed(digits)})`;
}
