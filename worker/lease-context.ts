/** What all parts of one election share. */

import { toMessage } from '../kubernetes/api-error.ts';
import type { LeaseClock, Moment } from './lease-clock.ts';
import type { Lease, LeaseAnnotations, LeaseStore } from '../kubernetes/lease.ts';

export interface LeaseTiming {
  /** Others take over this long after they saw the last renewal. */
  readonly durationMs: number;
  /** The leader may write for this long after it sent the last successful renewal. */
  readonly renewDeadlineMs: number;
  readonly retryMs: number;
}

export const LEASE_TIMING: LeaseTiming = { durationMs: 6000, renewDeadlineMs: 4000, retryMs: 1000 };

export interface LeaseContext {
  readonly store: LeaseStore;
  readonly identity: string;
  /** Written with the name of the holder. */
  readonly annotations: LeaseAnnotations;
  readonly timing: LeaseTiming;
  readonly clock: LeaseClock;
  /** A try that failed. */
  readonly onError: (error: unknown) => void;
  /** A candidate has read the Lease, or that there is none. */
  readonly onRead: () => void;
  /** The holder that was seen last; may repeat. */
  readonly onHolder: (identity: string) => void;
}

/** The Lease as this process wrote it, and when that was sent. */
export interface Acquired {
  readonly lease: Lease;
  readonly sentAt: Moment;
}

/** One request may take so long: two tries fit into the time that the leader has. */
export function tryMs(timing: LeaseTiming): number {
  return timing.renewDeadlineMs / 2;
}

/** The error of a try, with where to look. */
export function explain(store: LeaseStore, error: unknown): Error {
  const { namespace, name } = store;
  return new Error(
    `Lease ${namespace}/${name}: ${toMessage(error)}. ` +
      `See 'kubectl get lease ${name} -n ${namespace}' and 'fairlead check'.`,
    { cause: error },
  );
}
