/** Who leads, and of what: without a holder of the Lease nothing acts on the cluster. */

import { isForbidden } from '../kubernetes/api-error.ts';
import { pause } from '../kubernetes/backoff.ts';
import type { WorkloadTarget } from '../kubernetes/workload-edit.ts';
import type { Kept, Lease } from '../kubernetes/lease.ts';
import { LeaseStore, holderOf, keptBy, leaseNameOf } from '../kubernetes/lease.ts';
import type { Session } from './session.ts';
import { REQUEST_TIMEOUT_MS } from './session.ts';

export type LeaseState =
  | {
      readonly state: 'held';
      readonly holder: string;
      /** Undefined: not known. */
      readonly keeps?: Kept;
      /** RFC 3339, by the clock of its machine. */
      readonly renewedAt?: string;
    }
  | {
      readonly state: 'free';
      readonly lastHolder?: string;
      readonly renewedAt?: string;
      /** There is no such Lease: under this name no worker has ever run. */
      readonly missing?: true;
    }
  /** May not be read. */
  | { readonly state: 'unknown'; readonly message: string };

type Free = LeaseState & { readonly state: 'free' };

/** A leader renews each second. */
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

/** One look, for hints that are worth no wait: whoever wrote the Lease last counts as its holder. */
export async function glanceAtLease(session: Session): Promise<LeaseState> {
  const lease = await read(session);
  return 'state' in lease ? lease : held(lease);
}

/** `fairlead-<cluster>` in the workers' namespace: what the Lease is called. */
export function leaseName(session: Pick<Session, 'cluster' | 'leaseNamespace'>): string {
  return `${session.leaseNamespace}/${leaseNameOf(session.cluster)}`;
}

/** Nobody leads: in one clause, with what is known of why. @param name {@link leaseName} */
export function describeFree({ missing, lastHolder, renewedAt }: Free, name: string): string {
  if (missing === true) return `there is no Lease ${name}: no Fairlead worker has run under this --cluster`;
  const last = lastHolder === undefined ? '' : ` (last ${lastHolder}, ${renewedAt ?? 'long ago'})`;
  return `no Fairlead worker holds the Lease ${name}${last}`;
}

/**
 * Why the leader has no eyes for a workload, in one clause: it keeps another API or other namespaces. Undefined where it has, where
 * nobody leads, or where it is not known.
 * @param name {@link leaseName}
 */
export function whyNotKept(
  lease: LeaseState,
  { group, version, namespace }: Pick<WorkloadTarget, 'group' | 'version' | 'namespace'>,
  name: string,
): string | undefined {
  if (lease.state !== 'held' || lease.keeps === undefined) return undefined;
  const { workloadApi } = lease.keeps;
  return workloadApi === `${group}/${version}`
    ? whyNamespaceNotKept(lease, namespace, name)
    : `the worker that holds the Lease ${name} keeps the workloads of ${workloadApi}, not those of ${group}/${version}`;
}

/** The same for what is there in one API only, as ReplicationControllers are. @param name {@link leaseName} */
export function whyNamespaceNotKept(lease: LeaseState, namespace: string, name: string): string | undefined {
  const namespaces = lease.state === 'held' ? lease.keeps?.namespaces : undefined;
  return namespaces === undefined || namespaces.includes(namespace)
    ? undefined
    : `the worker that holds the Lease ${name} keeps the workloads of ${namespaces.join(', ')}, not those of namespace ${namespace}`;
}

/** Who leads, and why it has no eyes for something. */
export interface Keeper {
  readonly lease: LeaseState;
  readonly notKept: string | undefined;
}

/** A worker that has died keeps nothing: only one that leads now may stand in the way of a wish. */
export async function findKeeper(
  session: Session,
  why: (lease: LeaseState) => string | undefined,
): Promise<Keeper> {
  const glance = await glanceAtLease(session);
  const lease = why(glance) === undefined ? glance : await readLease(session);
  return { lease, notKept: why(lease) };
}

/** `, for fairlead.dev/v1beta1 in shop, tools`; empty where it is not known. */
export function describeKept({ keeps }: LeaseState & { readonly state: 'held' }): string {
  if (keeps === undefined) return '';
  const { workloadApi, namespaces } = keeps;
  return `, for ${workloadApi}${namespaces === undefined ? '' : ` in ${namespaces.join(', ')}`}`;
}

async function read(session: Session): Promise<Lease | LeaseState> {
  const { client, leaseNamespace, cluster } = session;
  try {
    const lease = await new LeaseStore(client, leaseNamespace, leaseNameOf(cluster)).read(REQUEST_TIMEOUT_MS);
    if (lease === undefined) return { state: 'free', missing: true };
    return holderOf(lease) === '' ? free(lease) : lease;
  } catch (error) {
    if (isForbidden(error)) return { state: 'unknown', message: error.message };
    throw error;
  }
}

export function isFresh({ spec }: Lease, now: number): boolean {
  const renewed = Date.parse(spec?.renewTime ?? '');
  return renewed + (spec?.leaseDurationSeconds ?? 0) * 1_000 > now;
}

function held(lease: Lease): LeaseState {
  const keeps = keptBy(lease);
  const renewedAt = lease.spec?.renewTime ?? undefined;
  return {
    state: 'held',
    holder: holderOf(lease),
    ...(keeps && { keeps }),
    ...(renewedAt !== undefined && { renewedAt }),
  };
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
