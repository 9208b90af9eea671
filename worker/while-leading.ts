/** Tells of a leadership, in the log and as `fairlead_leader`. */

import type { Logger } from 'pino';

import type { Metrics } from './metrics.ts';

export interface Leadership {
  readonly metrics: Pick<Metrics, 'leader'>;
  readonly log: Pick<Logger, 'info'>;
  /** Aborts when the Lease is lost, or the process stops. */
  readonly signal: AbortSignal;
}

/** Runs the leader's work, however far that comes. Rejects as it does. */
export async function whileLeading(
  { metrics, log, signal }: Leadership,
  work: () => Promise<void>,
): Promise<void> {
  // At once: another may lead long before the last of the work has ended.
  const lose = (): void => metrics.leader.set(0);
  signal.addEventListener('abort', lose, { once: true });
  log.info('this replica leads');
  metrics.leader.set(1);
  try {
    await work();
  } finally {
    signal.removeEventListener('abort', lose);
    lose();
    log.info('this replica does not lead any more');
  }
}
