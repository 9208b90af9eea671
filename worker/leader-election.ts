/**
 * One writer (design "One writer"): the holder of a Lease leads. It renews every second, stops to write 4 s after the last
 * renewal it sent, and another candidate takes over 6 s after it saw the last one; the 2 s between are for writes in flight.
 */

import type { KubernetesClient } from '../kubernetes/client.ts';
import { WriteRefusedError } from '../kubernetes/write-guard.ts';
import { Fence } from './fence.ts';
import { LeaseCandidate } from './lease-candidate.ts';
import { SYSTEM_CLOCK } from './lease-clock.ts';
import type { LeaseClock } from './lease-clock.ts';
import { LEASE_TIMING } from './lease-context.ts';
import type { Acquired, LeaseContext, LeaseTiming } from './lease-context.ts';
import { keepRenewing, release } from './lease-renewal.ts';
import type { LeaseAnnotations } from '../kubernetes/lease.ts';
import { LeaseStore } from '../kubernetes/lease.ts';

export interface LeaderElectionOptions {
  /** Without a write guard of this election, which has connections of its own: nothing else may keep a renewal waiting. */
  readonly client: KubernetesClient;
  /** Of this process alone: a restarted one must have another. */
  readonly identity: string;
  /** Written on the Lease by this process when it becomes the holder. */
  readonly annotations?: LeaseAnnotations;
  readonly namespace: string;
  /** `fairlead-<cluster>` */
  readonly name: string;
  /**
   * The leader's work. `signal` aborts when the Lease is lost or this process is to stop. Until the promise settles the
   * Lease is kept and renewed (or, if it was lost, not fought for again). A promise that settles although the signal has
   * not aborted ends the election, and its rejection rejects it.
   */
  readonly onLeading: (fence: Fence, signal: AbortSignal) => Promise<void>;
  /** A try that failed (the next follows in a second), or what the work rejected with after its signal. */
  readonly onError: (error: unknown) => void;
  /** A try of one who does not lead has come so far as to read the Lease. */
  readonly onRead?: () => void;
  /** Another holder was seen; also this process. */
  readonly onLeader?: (identity: string) => void;
  readonly signal: AbortSignal;
  /** @default 6 s, 4 s, 1 s */
  readonly timing?: LeaseTiming;
  readonly clock?: LeaseClock;
}

/** Why the leader's signal aborts. */
class LeadershipEnded extends Error {
  override name = 'LeadershipEnded';
}

/**
 * Takes part in the election until `signal` aborts; resolves when the leader's work has ended and the Lease is released
 * (the next candidate then takes over within a second). Rejects with what `onLeading` rejected with while it led.
 */
export async function runLeaderElection(options: LeaderElectionOptions): Promise<void> {
  const client = options.client.apart();
  try {
    await takePart(options, contextOf(options, client));
  } finally {
    client.close();
  }
}

async function takePart(options: LeaderElectionOptions, context: LeaseContext): Promise<void> {
  const { signal } = options;
  const candidate = new LeaseCandidate(context);
  while (!signal.aborted) {
    const acquired = await candidate.acquire(signal);
    if (acquired === undefined) return;
    if (signal.aborted) {
      await release(context, acquired.lease);
      return;
    }
    if ((await lead(options, context, acquired)) === 'finished') return;
  }
}

function contextOf(options: LeaderElectionOptions, client: KubernetesClient): LeaseContext {
  let leader = '';
  return {
    store: new LeaseStore(client, options.namespace, options.name),
    identity: options.identity,
    annotations: options.annotations ?? {},
    timing: options.timing ?? LEASE_TIMING,
    clock: options.clock ?? SYSTEM_CLOCK,
    onError: options.onError,
    onRead: () => options.onRead?.(),
    onHolder: (identity) => {
      if (identity === '' || identity === leader) return;
      leader = identity;
      options.onLeader?.(identity);
    },
  };
}

/** Runs the leader's work until it settles, renewing meanwhile. `finished` = it settled by itself. */
async function lead(
  options: LeaderElectionOptions,
  context: LeaseContext,
  acquired: Acquired,
): Promise<'finished' | 'again'> {
  const { signal, onLeading, onError } = options;
  const fence = new Fence(context.clock, context.timing.renewDeadlineMs, acquired.sentAt);
  const leading = new AbortController();
  const stop = (): void => leading.abort(new LeadershipEnded('this process stops'));
  signal.addEventListener('abort', stop, { once: true });
  const done = new AbortController();
  const renewing = keepRenewing(context, acquired, fence, done.signal).then((lease) => {
    if (lease === undefined) leading.abort(new LeadershipEnded('the Lease is lost'));
    return lease;
  });
  try {
    await onLeading(fence, leading.signal);
    // Work that met the closed fence may end before the renewal has noticed that the Lease is lost.
    return leading.signal.aborted || fence.remainingMs() <= 0 ? 'again' : 'finished';
  } catch (error) {
    // What was interrupted may say so in its own way.
    const expected = error instanceof LeadershipEnded || error instanceof WriteRefusedError;
    if (!leading.signal.aborted && fence.remainingMs() > 0) throw error;
    if (!expected) onError(error);
    return 'again';
  } finally {
    signal.removeEventListener('abort', stop);
    fence.close('the work of the leader has ended');
    done.abort();
    const last = await renewing;
    if (last !== undefined) await release(context, last);
  }
}
