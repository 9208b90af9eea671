/** Waiting for the cache to know something. */

/** The cache did not learn of it in time. */
export class NotObserved extends Error {
  override name = 'NotObserved';
}

export interface ObservedOptions {
  readonly signal?: AbortSignal;
  /** @default 30_000 */
  readonly timeoutMs?: number;
}

/**
 * Resolves when `condition` holds. `checks` is called by the cache after each change.
 * @param onTimeout Called before the rejection.
 * @throws {NotObserved} after `timeoutMs`; the signal's reason when that aborts
 */
export function waitUntil(
  checks: Set<() => void>,
  condition: () => boolean,
  what: string,
  options: ObservedOptions,
  onTimeout: () => void,
): Promise<void> {
  const { signal, timeoutMs = 30_000 } = options;
  return new Promise((resolve, reject) => {
    if (signal?.aborted === true) {
      reject(signal.reason);
      return;
    }
    if (condition()) {
      resolve();
      return;
    }
    const end = (): void => {
      clearTimeout(timer);
      checks.delete(check);
      signal?.removeEventListener('abort', abort);
    };
    const check = (): void => {
      if (!condition()) return;
      end();
      resolve();
    };
    const abort = (): void => {
      end();
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      end();
      onTimeout();
      reject(new NotObserved(`the watch cache did not see ${what} within ${timeoutMs} ms`));
    }, timeoutMs);
    checks.add(check);
    signal?.addEventListener('abort', abort, { once: true });
  });
}
