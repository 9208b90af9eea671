/** Who leads: without a holder of the Lease nothing acts on the cluster. */

import { isForbidden, isNotFound } from '../kubernetes/api-error.ts';
import { pause } from '../kubernetes/backoff.ts';
import type { KubernetesObject } from '../planners/objects.ts';
import type { Session } from './session.ts';
import { REQUEST_TIMEOUT_MS } from './session.ts';

export type LeaseState =
  | { readonly state: 'held'; readonly holder: string }
  | { readonly state: 'free'; readonly lastHolder?: string; readonly renewedAt?: string }
  /** May not be read. */
  | { readonly state: 'unknown'; readonly message: string };

interface Lease extends KubernetesObject {
  readonly spec?: {
    readonly holderIdentity?: string;
    readonly leaseDurationSeconds?: number;
    readonly renewTime?: string;
  };
}

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
  return `${session.leaseNamespace}/fairlead-${session.cluster}`;
}

async function read(session: Session): Promise<Lease | LeaseState> {
  try {
    const lease = await session.client.get<Lease>(
      {
        group: 'coordination.k8s.io',
        version: 'v1',
        resource: 'leases',
        namespace: session.leaseNamespace,
        name: `fairlead-${session.cluster}`,
      },
      { timeoutMs: REQUEST_TIMEOUT_MS },
    );
    return (lease.spec?.holderIdentity ?? '') === '' ? free(lease) : lease;
  } catch (error) {
    if (isNotFound(error)) return { state: 'free' };
    if (isForbidden(error)) return { state: 'unknown', message: error.message };
    throw error;
  }
}

function isFresh({ spec }: Lease, now: number): boolean {
  const renewed = Date.parse(spec?.renewTime ?? '');
  return renewed + (spec?.leaseDurationSeconds ?? 0) * 1_000 > now;
}

function held({ spec }: Lease): LeaseState {
  return { state: 'held', holder: spec?.holderIdentity ?? '' };
}

function free({ spec }: Lease): LeaseState {
  const lastHolder = spec?.holderIdentity ?? '';
  return {
    state: 'free',
    ...(lastHolder !== '' && { lastHolder }),
    ...(spec?.renewTime !== undefined && { renewedAt: spec.renewTime }),
  };
}
