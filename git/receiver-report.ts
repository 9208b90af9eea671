/** Makes it visible in the cluster who could not be told of commits: in the inventory's status and as an Event, once until it is over. */

import type { KubernetesClient } from '../kubernetes/client.ts';
import { recordEvent } from './commit-report.ts';
import type { InventoryStore } from './inventory.ts';
import type { RepositoryStatus } from './inventory-status.ts';

export interface ReceiverReport {
  /** Id of the receiver. */
  readonly receiver: string;
  /** Why it was given up, without secrets; absent: it was told. */
  readonly problem?: string;
  /** Nothing more is told of this repository. */
  readonly isLast?: boolean;
}

/**
 * Reports that a receiver was given up, or was told again; what is known already is not reported. May be repeated.
 * @throws ApiError; ProblemError InventoryForeign: there is nowhere to report it to
 */
export async function reportReceiver(
  client: KubernetesClient,
  store: InventoryStore,
  { receiver, problem, isLast }: ReceiverReport,
  now: number,
): Promise<void> {
  if (problem === undefined) {
    const inventory = await store.read();
    const before = inventory?.status.receivers?.[receiver];
    if (inventory === undefined || before === undefined || store.ownerElsewhere(inventory) !== undefined)
      return;
    const message = `${receiver} is told again what becomes of commits`;
    const event = { type: 'Normal', reason: 'ReceiverReady', message } as const;
    await recordEvent(client, store, inventory, event, { identity: `${receiver} ${before.since}` }, now);
    await store.update((present) => ({ ...present, status: without(present.status, receiver) }));
    return;
  }
  const inventory = await store.update((present) => {
    const since = present.status.receivers?.[receiver]?.since ?? new Date(now).toISOString();
    const receivers = { ...present.status.receivers, [receiver]: { problem, since } };
    return { ...present, status: { ...present.status, receivers } };
  });
  const since = inventory?.status.receivers?.[receiver]?.since ?? '';
  const next = isLast === true ? 'It keeps what it was told before' : 'It is told of the next one';
  const event = { type: 'Warning', reason: 'ReceiverFailed', message: `${problem}. ${next}.` } as const;
  const identity = `${receiver} ${since}${isLast === true ? ' last' : ''}`;
  if (inventory !== undefined) await recordEvent(client, store, inventory, event, { identity }, now);
}

function without(status: RepositoryStatus, receiver: string): RepositoryStatus {
  const { receivers, ...rest } = status;
  const { [receiver]: _over, ...others } = receivers ?? {};
  return Object.keys(others).length === 0 ? rest : { ...rest, receivers: others };
}
