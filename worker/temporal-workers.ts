/** Temporal workers that outlive the server: connected again and again until they are told to stop. */

import { setTimeout as sleep } from 'node:timers/promises';

import type { WorkerOptions } from '@temporalio/worker';
import { Worker } from '@temporalio/worker';
import type { Logger } from 'pino';

import { toMessage } from '../kubernetes/api-error.ts';
import type { TemporalSettings } from './temporal-connection.ts';
import { connectWorker } from './temporal-connection.ts';

export interface TemporalWorkerOptions {
  readonly settings: TemporalSettings;
  readonly log: Logger;
  readonly signal: AbortSignal;
  /** What the worker is for, in logs. */
  readonly name: string;
  readonly options: Omit<WorkerOptions, 'connection' | 'namespace'>;
}

const RETRY_MS = 1_000;

/** Runs one worker until the signal fires; resolves when its last task is over. Never rejects for want of a server. */
export async function runTemporalWorker(run: TemporalWorkerOptions): Promise<void> {
  const { settings, log, signal, name } = run;
  while (!signal.aborted) {
    try {
      const connection = await connectWorker(settings);
      try {
        const worker = await Worker.create({ ...run.options, connection, namespace: settings.namespace });
        log.info({ worker: name, address: settings.address }, 'Temporal worker started');
        await runUntilAborted(worker, signal);
      } finally {
        await connection.close();
      }
    } catch (error) {
      // Who watches Temporal has said so, or will.
      log.debug({ worker: name, error: toMessage(error) }, 'Temporal worker ended, will be started again');
      await sleep(RETRY_MS, undefined, { signal }).catch(() => undefined);
    }
  }
}

async function runUntilAborted(worker: Worker, signal: AbortSignal): Promise<void> {
  const stop = () => {
    if (worker.getState() === 'RUNNING') {
      worker.shutdown();
    }
  };
  const running = worker.run();
  signal.addEventListener('abort', stop, { once: true });
  if (signal.aborted) {
    stop();
  }
  try {
    await running;
  } finally {
    signal.removeEventListener('abort', stop);
  }
}
