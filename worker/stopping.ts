/** When a worker process is to stop, and its end when the work does not end in time. */

import type { Logger } from 'pino';

/** Milliseconds that a replica gets to end its work. */
const SHUTDOWN_MS = 15_000;

export type StopSignal = 'SIGTERM' | 'SIGHUP' | 'SIGINT';

export interface Stopping {
  readonly signal: AbortSignal;
  /** What it aborted at. */
  readonly by: () => StopSignal | undefined;
  /** Takes the handlers and the time limit away. */
  done(): void;
}

/**
 * Aborts at SIGTERM, at SIGHUP (the terminal was closed) and with `interrupted` (Ctrl-C), also when that came before. A second Ctrl-C or
 * SIGTERM ends the process at once, as without a handler.
 */
export function listenForStop(log: Logger, interrupted: AbortSignal): Stopping {
  const stopping = new AbortController();
  let limit: NodeJS.Timeout | undefined;
  let by: StopSignal | undefined;
  const stop = (signal: StopSignal) => {
    if (stopping.signal.aborted) return;
    by = signal;
    log.info({ signal }, 'stopping');
    stopping.abort();
    limit = setTimeout(() => {
      log.error('work did not end in time; leaving');
      process.exit(1);
    }, SHUTDOWN_MS).unref();
  };
  const onInterrupt = () => stop('SIGINT');
  const onTerm = () => stop('SIGTERM');
  const onHangUp = () => stop('SIGHUP');
  process.once('SIGTERM', onTerm);
  // Not once: a closed terminal sends it twice, by the shell and by the kernel.
  process.on('SIGHUP', onHangUp);
  interrupted.addEventListener('abort', onInterrupt, { once: true });
  if (interrupted.aborted) onInterrupt();
  return {
    signal: stopping.signal,
    by: () => by,
    done() {
      clearTimeout(limit);
      process.off('SIGTERM', onTerm);
      process.off('SIGHUP', onHangUp);
      interrupted.removeEventListener('abort', onInterrupt);
    },
  };
}
