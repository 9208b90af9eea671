/** Signals that abort by themselves after a time. */

/**
 * Aborts when one of `signals` does, or after `ms`; 0 = no limit. The timer does not keep the process alive.
 *
 * Not `AbortSignal.any([…, AbortSignal.timeout(ms)])`: Node holds the timeout of such a pair only weakly, and after a garbage
 * collection it never aborts (https://github.com/nodejs/node/issues/57736).
 */
export function timeLimit(ms: number, ...signals: readonly AbortSignal[]): AbortSignal {
  const limit = new AbortController();
  const signal = AbortSignal.any([limit.signal, ...signals]);
  if (ms === 0 || signal.aborted) return signal;
  const timer = setTimeout(() => {
    limit.abort(new DOMException(`not done within ${String(ms)} ms`, 'TimeoutError'));
  }, ms);
  timer.unref();
  signal.addEventListener(
    'abort',
    () => {
      clearTimeout(timer);
    },
    { once: true },
  );
  return signal;
}
