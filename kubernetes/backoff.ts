/** Waiting between tries. */

/** The wait after `failures` failures in a row: doubles from `firstMs` to `lastMs`, with up to 30 % added at random. */
export function backoffMs(
  failures: number,
  firstMs: number,
  lastMs: number,
  random: () => number = Math.random,
): number {
  const base = Math.min(firstMs * 2 ** Math.max(0, failures - 1), lastMs);
  return base * (1 + 0.3 * random());
}

/** What is longer than 24.8 days, `setTimeout` takes as 1 ms. */
export const LONGEST_TIMER_MS = 2 ** 31 - 1;

/**
 * Resolves after `ms`, or at once when one of the signals aborts: the caller asks them which. For waits with a signal that lives long:
 * Node 20 keeps a trace of each `AbortSignal.any` in it until it aborts.
 */
export function pause(ms: number, ...signals: readonly AbortSignal[]): Promise<void> {
  return new Promise((resolve) => {
    if (signals.some((signal) => signal.aborted)) {
      resolve();
      return;
    }
    const end = (): void => {
      clearTimeout(timer);
      for (const signal of signals) signal.removeEventListener('abort', end);
      resolve();
    };
    const timer = setTimeout(end, Math.min(ms, LONGEST_TIMER_MS));
    for (const signal of signals) signal.addEventListener('abort', end, { once: true });
  });
}
