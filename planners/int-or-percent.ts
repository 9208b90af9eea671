/** Amounts that are a number or a percentage (C3). */

/**
 * Resolves a number, or a percentage of `total` rounded down or up (C3).
 * @throws {RangeError} for a string other than `<digits>%`, and for a number that is not whole or is negative
 */
export function resolveIntOrPercent(value: number | string, total: number, rounding: 'down' | 'up'): number {
  if (typeof value === 'number') {
    if (!Number.isInteger(value) || value < 0) {
      throw new RangeError(
        `${String(value)} is not a whole number of pods: write 0, 1, 2, … or a percentage like "25%"`,
      );
    }
    return value;
  }
  const percent = /^(\d+)%$/.exec(value)?.[1];
  if (percent === undefined) {
    throw new RangeError(`"${value}" is neither a number nor a percentage: write 2 or "25%"`);
  }
  const exact = (Number(percent) * total) / 100;
  return rounding === 'down' ? Math.floor(exact) : Math.ceil(exact);
}
