/** What has to end before something else may begin, but not at any price. */

import { pause } from '../kubernetes/backoff.ts';

/**
 * Resolves when all parts have ended, or after `limitMs` milliseconds: then `onLate` is told the names of those that have not.
 * Rejects with what the first of them rejects with before.
 */
export async function endWithin(
  parts: Readonly<Record<string, Promise<void>>>,
  limitMs: number,
  onLate: (names: readonly string[]) => void,
): Promise<void> {
  const left = new Set(Object.keys(parts));
  const all = Object.entries(parts).map(async ([name, end]) => {
    await end;
    left.delete(name);
  });
  const over = new AbortController();
  const late = pause(limitMs, over.signal).then(() => {
    if (!over.signal.aborted) onLate([...left]);
  });
  try {
    await Promise.race([Promise.all(all), late]);
  } finally {
    over.abort();
  }
}
