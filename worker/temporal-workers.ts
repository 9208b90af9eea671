/** Temporal workers that outlive the server: connected again and again until they are told to stop. */

import { setTimeout as sleep } from 'node:timers/promises';

import type { Client } from '@temporalio/client';
import type { WorkerOptions } from '@temporalio/worker';
import { Worker } from '@temporalio/worker';
import type { Logger } from 'pino';

import { isTemporalAway } from '../controllers/temporal-failure.ts';
import { toMessage } from '../kubernetes/api-error.ts';
import { shellWord } from '../kubernetes/shell-word.ts';
import type { TemporalSettings } from './temporal-connection.ts';
import { connectWorker } from './temporal-connection.ts';

export interface TemporalWorkerOptions {
  readonly settings: TemporalSettings;
  /** Asked what is wrong when the worker cannot run: the worker's own errors do not tell a server that is away from one that refuses. */
  readonly client: Client;
  readonly log: Logger;
  readonly signal: AbortSignal;
  /** What the worker is for, in logs. */
  readonly name: string;
  /** Why it cannot run although Temporal answers, when that changes; undefined when it runs. */
  readonly onProblem: (problem: string | undefined) => void;
  readonly options: Omit<WorkerOptions, 'connection' | 'namespace'>;
}

/**
 * Polls that are open at a time. Each of a process that is frozen takes one more task with it before the server gives up on it, so few
 * while little is to be done; the server asks for more when tasks wait (one that cannot leaves it at two).
 */
const POLLERS = { type: 'autoscaling', minimum: 1, initial: 2, maximum: 10 } as const;

const RETRY_MS = 1_000;
const DEADLINE_MS = 1_000;

/**
 * Runs one worker until the signal fires; resolves when its last task is over. Never rejects: what keeps it from running is tried again
 * every second, and told once, unless Temporal is away, which is told by who watches that.
 */
export async function runTemporalWorker(run: TemporalWorkerOptions): Promise<void> {
  const { settings, log, signal, name, onProblem } = run;
  let last: string | undefined;
  let told: string | undefined;
  while (!signal.aborted) {
    try {
      const connection = await connectWorker(settings, signal);
      try {
        const worker = await Worker.create({
          workflowTaskPollerBehavior: POLLERS,
          activityTaskPollerBehavior: POLLERS,
          ...run.options,
          connection,
          namespace: settings.namespace,
        });
        log.info({ worker: name, address: settings.address }, 'Temporal worker started');
        last = told = undefined;
        onProblem(undefined);
        await runUntilAborted(worker, signal);
      } finally {
        await connection.close();
      }
    } catch (error) {
      log.debug({ worker: name, error: toMessage(error) }, 'Temporal worker ended, will be started again');
      const [problem] = await Promise.all([
        whyNot(run, error),
        sleep(RETRY_MS, undefined, { signal }).catch(() => undefined),
      ]);
      if (signal.aborted) return;
      // Twice in a row: a server that is just coming back may answer the question, but not the worker before.
      if (problem !== undefined && problem === last && problem !== told) {
        log.warn({ worker: name }, `${problem} Until then rollouts wait; it is tried again every second`);
        told = problem;
        onProblem(problem);
      }
      last = problem;
    }
  }
}

/** What is wrong and what to do, a sentence each; undefined while Temporal is away. */
async function whyNot(
  { settings, client, name }: TemporalWorkerOptions,
  error: unknown,
): Promise<string | undefined> {
  const { namespace, address } = settings;
  try {
    await client.withDeadline(Date.now() + DEADLINE_MS, () =>
      client.workflowService.describeNamespace({ namespace }),
    );
  } catch (refusal) {
    return isTemporalAway(refusal)
      ? undefined
      : `Temporal at ${address} does not let the worker of ${name} into namespace ${namespace}: ${toMessage(refusal)}. ` +
          `Set TEMPORAL_NAMESPACE and what logs in (TEMPORAL_API_KEY, TEMPORAL_TLS_…), or make it: temporal operator namespace create --namespace ${shellWord(namespace)}.`;
  }
  return `Temporal answers, but the worker of ${name} cannot run: ${toMessage(error)}. If that is about the bundle of the workflows: npm run build.`;
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
