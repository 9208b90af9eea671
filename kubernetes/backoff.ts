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

/** 24.8 days: what is longer `setTimeout` takes as 1 ms. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** Resolves after `ms`, or at once when the signal aborts: the caller asks the signal which. */
export function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) {
      resolve();
      return;
    }
    const end = (): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', end);
      resolve();
    };
    const timer = setTimeout(end, Math.min(ms, LONGEST_TIMER_MS));
    signal.addEventListener('abort', end, { once: true });
  });
}

/**
 * Aborts with any of `signals`, and `ms` after the call with a `TimeoutError`. A timer that does not keep the process alive.
 *
 * Not `AbortSignal.any([…, AbortSignal.timeout(ms)])`: in Node 20 such a timeout may be collected as garbage, and then never
 * comes, because only the combined signal has listeners.
 */
export function withTimeLimit(signals: readonly AbortSignal[], ms: number): AbortSignal {
  const limit = new AbortController();
  // The timer, which Node holds, holds the controller.
  const end = (): void => {
    limit.abort(new DOMException('the time is up', 'TimeoutError'));
  };
  setTimeout(end, Math.min(ms, LONGEST_TIMER_MS)).unref();
  return AbortSignal.any([...signals, limit.signal]);
}
