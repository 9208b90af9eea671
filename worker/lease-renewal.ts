/** Staying the holder of the Lease, and giving it back. */

import type { Fence } from './fence.ts';
import type { Acquired, LeaseContext } from './lease-context.ts';
import { explain, tryMs } from './lease-context.ts';
import { holderOf, microTime } from '../kubernetes/lease.ts';
import type { Lease } from '../kubernetes/lease.ts';

/**
 * Renews every second until `done` aborts, and keeps the fence informed. Answers the Lease as last written, or undefined,
 * with the fence closed, if it is lost: not renewed in time, taken by another, or this process was suspended.
 */
export async function keepRenewing(
  context: LeaseContext,
  acquired: Acquired,
  fence: Fence,
  done: AbortSignal,
): Promise<Lease | undefined> {
  let lease: Lease | undefined = acquired.lease;
  while (lease !== undefined) {
    await context.clock.sleep(context.timing.retryMs, done);
    if (done.aborted) return lease;
    lease = await renew(context, lease, fence, done);
  }
  return undefined;
}

/**
 * The Lease as it is now: renewed, or not yet but with time left; undefined = lost. Where `done` aborts meanwhile, the fence is closed
 * because the work is over: the Lease is not lost by that.
 */
async function renew(
  context: LeaseContext,
  lease: Lease,
  fence: Fence,
  done: AbortSignal,
): Promise<Lease | undefined> {
  const { store, clock, identity, onError, onHolder } = context;
  const isHeld = () => done.aborted || fence.remainingMs() > 0;
  let current: Lease | undefined = lease;
  try {
    while (fence.remainingMs() > 0) {
      const sentAt = clock.now();
      const spec = { ...current.spec, renewTime: microTime(sentAt.wall) };
      const written = await store.write(current, spec, limit(context, fence));
      if (written !== undefined) {
        fence.renewed(sentAt);
        if (isHeld()) return written;
        break;
      }
      // Somebody wrote it: we ourselves, by a try whose answer was lost; an annotation; or a new holder.
      current = await store.read(limit(context, fence));
      const holder = holderOf(current);
      onHolder(holder);
      if (current === undefined || holder !== identity) {
        return lost(context, fence, holder === '' ? 'nobody holds it' : `${holder} holds it`);
      }
    }
  } catch (error) {
    onError(explain(store, error));
    if (isHeld()) return current ?? lease;
  }
  if (done.aborted) return current;
  return lost(context, fence, 'it was not renewed in time, or this process was suspended');
}

function limit(context: LeaseContext, fence: Fence): number {
  return Math.max(1, Math.min(fence.remainingMs(), tryMs(context.timing)));
}

function lost(context: LeaseContext, fence: Fence, why: string): undefined {
  fence.close(`the Lease ${context.store.namespace}/${context.store.name} is lost: ${why}`);
  return undefined;
}

/**
 * Empties the holder, so that the next candidate need not wait. Best effort: the Lease expires by itself. A renewal whose answer was
 * lost has made another version of it: it is read anew then, and given back if it is still ours.
 */
export async function release(context: LeaseContext, lease: Lease): Promise<void> {
  const { store, clock, timing, identity, onError } = context;
  const empty = async (present: Lease) =>
    await store.write(
      present,
      { ...present.spec, holderIdentity: '', renewTime: microTime(clock.now().wall) },
      tryMs(timing),
    );
  try {
    if ((await empty(lease)) !== undefined) return;
    const present = await store.read(tryMs(timing));
    if (present !== undefined && holderOf(present) === identity) await empty(present);
  } catch (error) {
    onError(explain(store, error));
  }
}
