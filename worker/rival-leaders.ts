/** Whether workers of another FAIRLEAD_CLUSTER lead in the same Kubernetes cluster and keep the same workloads: the two would fight. */

import type { Logger } from 'pino';

import { toMessage } from '../kubernetes/api-error.ts';
import { pause } from '../kubernetes/backoff.ts';
import type { KubernetesClient } from '../kubernetes/client.ts';
import { holderOf, keptBy } from '../kubernetes/lease.ts';
import type { Keeper } from '../kubernetes/rival-leases.ts';
import { findRivals } from '../kubernetes/rival-leases.ts';

export interface RivalLeadersOptions {
  readonly client: KubernetesClient;
  readonly config: Keeper;
  readonly log: Pick<Logger, 'warn' | 'debug'>;
  readonly signal: AbortSignal;
  /** Milliseconds between two looks. @default 2500 */
  readonly waitMs?: number;
}

/** A leader renews each second. Clocks differ between machines: who has renewed between two looks is alive. */
const WAIT_MS = 2_500;

/** Warns of each, once. Resolves in any case: nothing hangs on it. */
export async function warnOfRivals(options: RivalLeadersOptions): Promise<void> {
  const { client, config, log, signal, waitMs = WAIT_MS } = options;
  try {
    const before = await findRivals(client, config, signal);
    if (before.size === 0) return;
    await pause(waitMs, signal);
    if (signal.aborted) return;
    for (const [name, lease] of await findRivals(client, config, signal)) {
      const known = before.get(name);
      if (known === undefined || known.spec?.renewTime === lease.spec?.renewTime) continue;
      log.warn(
        { lease: `${config.leaseNamespace}/${name}`, holder: holderOf(lease), ...keptBy(lease) },
        'a worker of another FAIRLEAD_CLUSTER leads in this Kubernetes cluster and keeps workloads that this one keeps as well: the two work against each other; give both the same FAIRLEAD_CLUSTER, or each other FAIRLEAD_NAMESPACES',
      );
    }
  } catch (error) {
    if (!signal.aborted) log.debug({ error: toMessage(error) }, 'other Leases cannot be looked at');
  }
}
