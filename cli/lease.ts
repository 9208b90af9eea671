/** Who leads: without a holder of the Lease nothing acts on the cluster. */

import { isForbidden } from '../kubernetes/api-error.ts';
import { pause } from '../kubernetes/backoff.ts';
import type { Lease } from '../worker/lease.ts';
import { LeaseStore, holderOf, leaseNameOf } from '../worker/lease.ts';
import type { Session } from './session.ts';
import { REQUEST_TIMEOUT_MS } from './session.ts';

export type LeaseState =
  | { readonly state: 'held'; readonly holder: string }
  | { readonly state: 'free'; readonly lastHolder?: string; readonly renewedAt?: string }
  /** May not be read. */
  | { readonly state: 'unknown'; readonly message: string };

/** A leader renews each second or two. */
const SECOND_LOOK_MS = 2_500;

/**
 * The state of the Lease. Clocks differ between machines, so a Lease that seems expired is looked at again: one that was
 * renewed meanwhile is held.
 */
export async function readLease(session: Session): Promise<LeaseState> {
  const first = await read(session);
  if ('state' in first || isFresh(first, session.io.now())) {
    return 'state' in first ? first : held(first);
  }
  await pause(SECOND_LOOK_MS, session.io.interrupted);
  const second = await read(session);
  if ('state' in second) return second;
  return second.spec?.renewTime === first.spec?.renewTime ? free(second) : held(second);
}

/** `fairlead-<cluster>` in the workers' namespace: what the Lease is called. */
export function leaseName(session: Pick<Session, 'cluster' | 'leaseNamespace'>): string {
  return `${session.leaseNamespace}/${leaseNameOf(session.cluster)}`;
}

async function read(session: Session): Promise<Lease | LeaseState> {
  const { client, leaseNamespace, cluster } = session;
  try {
    const lease = await new LeaseStore(client, leaseNamespace, leaseNameOf(cluster)).read(REQUEST_TIMEOUT_MS);
    if (lease === undefined) return { state: 'free' };
    return holderOf(lease) === '' ? free(lease) : lease;
  } catch (error) {
    if (isForbidden(error)) return { state: 'unknown', message: error.message };
    throw error;
  }
}

function isFresh({ spec }: Lease, now: number): boolean {
  const renewed = Date.parse(spec?.renewTime ?? '');
  return renewed + (spec?.leaseDurationSeconds ?? 0) * 1_000 > now;
}

function held(lease: Lease): LeaseState {
  return { state: 'held', holder: holderOf(lease) };
}

function free(lease: Lease): LeaseState {
  const lastHolder = holderOf(lease);
  const renewedAt = lease.spec?.renewTime ?? undefined;
  return {
    state: 'free',
    ...(lastHolder !== '' && { lastHolder }),
    ...(renewedAt !== undefined && { renewedAt }),
  };
}
