/** Whether Temporal answers: told once when that changes, by one who asks, not by each call that fails. */

import { setTimeout as sleep } from 'node:timers/promises';

import type { Client } from '@temporalio/client';
import type { Logger } from 'pino';

import { toMessage } from '../kubernetes/api-error.ts';

export interface TemporalWatchOptions {
  readonly client: Client;
  /** host:port, for the log. */
  readonly address: string;
  readonly log: Logger;
  readonly signal: AbortSignal;
  readonly onReachable: (reachable: boolean) => void;
}

const EVERY_MS = 5_000;
const DEADLINE_MS = 3_000;

/** Asks at once and then every five seconds, until the signal. Costs no Temporal action. Never rejects. */
export async function watchTemporal(options: TemporalWatchOptions): Promise<void> {
  const { client, address, log, signal, onReachable } = options;
  let reachable = true;
  while (!signal.aborted) {
    const error = await ask(client);
    if (signal.aborted) return;
    const answers = error === undefined;
    onReachable(answers);
    if (answers !== reachable && answers) log.info({ address }, 'Temporal answers again');
    if (answers !== reachable && !answers) {
      log.warn(
        { address, error: toMessage(error) },
        'Temporal does not answer; steady state goes on, rollouts wait. Check TEMPORAL_ADDRESS',
      );
    }
    reachable = answers;
    await sleep(EVERY_MS, undefined, { signal }).catch(() => undefined);
  }
}

async function ask(client: Client): Promise<unknown> {
  try {
    await client.withDeadline(Date.now() + DEADLINE_MS, () => client.workflowService.getSystemInfo({}));
    return undefined;
  } catch (error) {
    return error ?? new Error('no answer');
  }
}
