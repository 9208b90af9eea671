/** Resource versions, compared as the integers they are (KEP-5504). */

/** Smaller than every version that a server gives. */
export const BEFORE_ALL = '0';

/** Negative, zero or positive, as `a` is older than, the same as, or newer than `b`. Exact for any length. */
export function compareVersions(a: string, b: string): number {
  if (a.length !== b.length) return a.length - b.length;
  return a < b ? -1 : Number(a > b);
}
