/** Becoming the holder of the Lease. */

import type { Acquired, LeaseContext } from './lease-context.ts';
import { explain, tryMs } from './lease-context.ts';
import type { Moment } from './lease-clock.ts';
import { elapsedMs } from './lease-clock.ts';
import { holderOf, microTime } from '../kubernetes/lease.ts';
import type { Lease } from '../kubernetes/lease.ts';

export class LeaseCandidate {
  readonly #context: LeaseContext;
  /** The last version of the Lease that was seen, and when first. What other machines' clocks say does not count. */
  #seen: { readonly version: string; readonly at: Moment } | undefined;

  constructor(context: LeaseContext) {
    this.#context = context;
  }

  /** Tries every second until this process holds the Lease; undefined when the signal aborts. */
  async acquire(signal: AbortSignal): Promise<Acquired | undefined> {
    const { store, timing, clock, onError } = this.#context;
    while (!signal.aborted) {
      try {
        const acquired = await this.#tryAcquire();
        if (acquired !== undefined) return acquired;
      } catch (error) {
        if (!signal.aborted) onError(explain(store, error));
      }
      await clock.sleep(timing.retryMs, signal);
    }
    return undefined;
  }

  async #tryAcquire(): Promise<Acquired | undefined> {
    const { store, identity, annotations, timing, clock, onHolder, onRead } = this.#context;
    const lease = await store.read(tryMs(timing));
    onRead();
    const holder = holderOf(lease);
    onHolder(holder);
    const free = lease === undefined || holder === '' || holder === identity || this.#expired(lease);
    if (!free) return undefined;
    const sentAt = clock.now();
    const now = microTime(sentAt.wall);
    const spec = {
      holderIdentity: identity,
      leaseDurationSeconds: Math.ceil(timing.durationMs / 1000),
      acquireTime: now,
      renewTime: now,
      leaseTransitions:
        lease === undefined ? 0 : (lease.spec?.leaseTransitions ?? 0) + Number(holder !== identity),
    };
    const written = await store.write(lease, spec, tryMs(timing), annotations);
    // An answer that took too long is no leadership to start with.
    if (written === undefined || elapsedMs(clock, sentAt) >= timing.renewDeadlineMs) return undefined;
    onHolder(identity);
    return { lease: written, sentAt };
  }

  /** Not renewed for its whole duration since we first saw this version. */
  #expired(lease: Lease): boolean {
    const { clock, timing } = this.#context;
    const version = lease.metadata.resourceVersion;
    const now = clock.now();
    if (this.#seen?.version !== version) this.#seen = { version, at: now };
    const durationMs = (lease.spec?.leaseDurationSeconds ?? timing.durationMs / 1000) * 1000;
    // The monotonic clock alone: a wall clock that is set forward must not shorten the wait.
    return now.monotonic - this.#seen.at.monotonic >= durationMs;
  }
}
