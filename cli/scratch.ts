/** A folder for the time of one verb, which is gone when that ends, however it ends. */

import { rmSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Whoever was writing there has just been killed: a file that it still made is found by another try. */
const REMOVAL = { recursive: true, force: true, maxRetries: 10, retryDelay: 50 } as const;
const SIGNALS = ['SIGTERM', 'SIGHUP'] as const;

/**
 * Runs `work` with a new folder, and with a signal that aborts with `interrupted`, at SIGTERM, at SIGHUP and at the exit of the process
 * (whoever read the output has closed it): what writes into the folder must end then. A signal ends the process after that, as it would
 * have without a handler.
 * @throws Error when the folder cannot be made; whatever `work` throws
 */
export async function withScratch<T>(
  prefix: string,
  interrupted: AbortSignal,
  work: (folder: string, signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const ending = new AbortController();
  let by: NodeJS.Signals | undefined;
  let folder: string | undefined;
  const onSignal = (signal: NodeJS.Signals): void => {
    by ??= signal;
    ending.abort(new Error(signal));
  };
  const onInterrupt = (): void => ending.abort(interrupted.reason);
  const onExit = (): void => {
    // In the same moment what was started is killed.
    ending.abort(new Error('exit'));
    if (folder !== undefined) rmSync(folder, REMOVAL);
  };
  for (const signal of SIGNALS) process.on(signal, onSignal);
  process.on('exit', onExit);
  interrupted.addEventListener('abort', onInterrupt, { once: true });
  if (interrupted.aborted) onInterrupt();
  try {
    folder = await mkdtemp(join(tmpdir(), prefix));
    return await work(folder, ending.signal);
  } finally {
    if (folder !== undefined) await rm(folder, REMOVAL);
    interrupted.removeEventListener('abort', onInterrupt);
    process.off('exit', onExit);
    for (const signal of SIGNALS) process.off(signal, onSignal);
    if (by !== undefined) process.kill(process.pid, by);
  }
}
