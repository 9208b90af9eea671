/** The states of one workload as they come, until somebody has seen enough. */

import { isGone, isTransient } from '../kubernetes/api-error.ts';
import { backoffMs, pause, withTimeLimit } from '../kubernetes/backoff.ts';
import { workloadPath } from '../kubernetes/workload-api.ts';
import type { WorkloadObject, WorkloadTarget } from '../kubernetes/workload-edit.ts';
import type { Session } from './session.ts';

/**
 * The present state first, then each change; undefined while the object does not exist. Outlives restarts of the apiserver
 * once it has answered. Ends when the signal aborts.
 *
 * @throws ApiError when the first read fails, and on anything that trying again will not mend
 */
async function* followWorkload(
  session: Session,
  target: WorkloadTarget,
  signal: AbortSignal,
): AsyncGenerator<WorkloadObject | undefined, void> {
  const { name, ...collection } = workloadPath(target);
  const selector = { fieldSelector: `metadata.name=${name ?? ''}`, signal };
  let failures = 0;
  let answered = false;
  while (!signal.aborted) {
    try {
      const { items, resourceVersion } = await session.client.list<WorkloadObject>(collection, selector);
      answered = true;
      failures = 0;
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
      if (!answered || !(isTransient(error) || isGone(error))) throw error;
      failures += 1;
      await pause(backoffMs(failures, 250, 5_000), signal);
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
  const limits = [session.io.interrupted, ...(stop ? [stop] : [])];
  const signal = timeoutMs === 0 ? AbortSignal.any(limits) : withTimeLimit(limits, timeoutMs);
  for await (const object of followWorkload(session, target, signal)) {
    const value = decide(object);
    if (value !== undefined) return { outcome: 'seen', value };
  }
  return { outcome: 'timeout' };
}
