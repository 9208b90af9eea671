/** Deadlines of requests. */

import { LONGEST_TIMER_MS } from './backoff.ts';

/** The request's own time is up. */
export class DeadlineExceeded extends Error {
  override name = 'DeadlineExceeded';
}

export interface Deadline {
  readonly signal: AbortSignal;
  /** Starts the time anew. */
  extend(): void;
  /** Stops the time; the parent still aborts it. */
  disarm(): void;
  /** Frees timer and listener; the signal stays as it is. */
  clear(): void;
}

/**
 * A signal that aborts after `ms` milliseconds with DeadlineExceeded, or with `parent`'s reason when that aborts. The timer holds it:
 * an `AbortSignal.timeout` that only an `AbortSignal.any` knows is collected by Node, and then never comes.
 */
export function startDeadline(ms: number, parent: AbortSignal | undefined): Deadline {
  const controller = new AbortController();
  const timer = setTimeout(
    () => controller.abort(new DeadlineExceeded(`no answer within ${Math.round(ms)} ms`)),
    Math.min(ms, LONGEST_TIMER_MS),
  );
  const forward = (): void => controller.abort(parent?.reason);
  if (parent?.aborted === true) forward();
  else parent?.addEventListener('abort', forward, { once: true });
  return {
    signal: controller.signal,
    extend: () => void timer.refresh(),
    disarm: () => clearTimeout(timer),
    clear: () => {
      clearTimeout(timer);
      parent?.removeEventListener('abort', forward);
    },
  };
}

/** Resolves when the work is done, or rejects with the signal's reason when that comes first; the work goes on. */
export function orAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = (): void => reject(signal.reason);
    signal.addEventListener('abort', stop, { once: true });
    if (signal.aborted) stop();
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', stop));
  });
}
