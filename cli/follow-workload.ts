/** The states of one workload as they come, until somebody has seen enough. */

import { pause } from '../kubernetes/backoff.ts';
import { startDeadline } from '../kubernetes/deadline.ts';
import { workloadPath } from '../kubernetes/workload-api.ts';
import type { WorkloadObject, WorkloadTarget } from '../kubernetes/workload-edit.ts';
import { Outage } from './outage.ts';
import type { Session } from './session.ts';

/**
 * The present state first, then each change; undefined while the object does not exist. Outlives restarts of the apiserver, also
 * one before its first read: whoever waits for the workload has read it. Ends when the signal aborts.
 *
 * @throws ApiError on anything that trying again will not mend
 */
async function* followWorkload(
  session: Session,
  target: WorkloadTarget,
  signal: AbortSignal,
): AsyncGenerator<WorkloadObject | undefined, void> {
  const { name, ...collection } = workloadPath(target);
  const selector = { fieldSelector: `metadata.name=${name ?? ''}`, signal };
  const outage = new Outage();
  outage.answered();
  while (!signal.aborted) {
    try {
      const { items, resourceVersion } = await session.client.list<WorkloadObject>(collection, selector);
      outage.answered();
      yield items[0];
      const events = session.client.watch<WorkloadObject>(collection, {
        ...selector,
        resourceVersion,
        allowWatchBookmarks: true,
      });
      for await (const event of events) {
        if (event.type !== 'BOOKMARK') {
          yield event.type === 'DELETED' ? undefined : event.object;
        }
      }
    } catch (error) {
      if (signal.aborted) return;
      outage.failed(error);
      await pause(outage.waitMs, signal);
    }
  }
}

export type Awaited<T> = { readonly outcome: 'seen'; readonly value: T } | { readonly outcome: 'timeout' };

/**
 * Waits until `decide` answers something for a state of the workload.
 * @param timeoutMs 0 = no limit
 * @throws ApiError as {@link followWorkload}
 */
export async function awaitWorkload<T>(
  session: Session,
  target: WorkloadTarget,
  timeoutMs: number,
  decide: (object: WorkloadObject | undefined) => T | undefined,
  stop?: AbortSignal,
): Promise<Awaited<T>> {
  const parent = AbortSignal.any([session.io.interrupted, ...(stop ? [stop] : [])]);
  const limit = timeoutMs === 0 ? undefined : startDeadline(timeoutMs, parent);
  try {
    for await (const object of followWorkload(session, target, limit?.signal ?? parent)) {
      const value = decide(object);
      if (value !== undefined) return { outcome: 'seen', value };
    }
    return { outcome: 'timeout' };
  } finally {
    limit?.clear();
  }
}
