/** How a Job ended that is gone: the cluster removes it a while after its end where its manifest asks for that, and somebody else may before. */

import { isForbidden } from '../kubernetes/api-error.ts';
import type { KubernetesClient } from '../kubernetes/client.ts';
import type { KubernetesObject } from '../planners/objects.ts';
import type { CommitContext } from './commit.ts';
import { entryKey } from './inventory-content.ts';
import type { PreparedObject } from './prepare.ts';
import { inventoryEntry } from './prepare.ts';
import { withSignal } from './resources.ts';

export type JobEnd =
  | { readonly end: 'Completed' }
  | { readonly end: 'Failed'; readonly message: string }
  /** Its Events tell nothing. */
  | { readonly end: 'Untold' };

interface JobEvent extends KubernetesObject {
  readonly reason?: string;
  readonly message?: string;
}

/** Reasons of the condition `Failed`, which the Job's controller records an Event with (batch/v1). */
const FAILURES: ReadonlySet<string> = new Set([
  'BackoffLimitExceeded',
  'DeadlineExceeded',
  'FailedIndexes',
  'MaxFailedIndexesExceeded',
  'PodFailurePolicy',
]);

/**
 * Asks the Events of the Job that the repository has applied last, as the account or as the worker.
 * @returns undefined where neither may read them, or the Job was never applied
 * @throws ApiError when the apiserver cannot be asked
 */
export async function readJobEnd(
  context: CommitContext,
  object: PreparedObject,
): Promise<JobEnd | undefined> {
  const { client, worker, store, signal } = context;
  const uid = (await store.read(signal))?.entries.get(entryKey(inventoryEntry(object)))?.uid;
  if (uid === undefined) return undefined;
  const events =
    (await eventsOf(client, object, uid, signal)) ?? (await eventsOf(worker, object, uid, signal));
  return events && jobEnd(events);
}

/** What the Events of a Job say of its end. Pure. */
export function jobEnd(events: readonly Pick<JobEvent, 'reason' | 'message'>[]): JobEnd {
  const failure = events.find(({ reason = '' }) => FAILURES.has(reason));
  if (failure !== undefined)
    return { end: 'Failed', message: `${failure.reason ?? ''}: ${failure.message ?? ''}` };
  return { end: events.some(({ reason }) => reason === 'Completed') ? 'Completed' : 'Untold' };
}

async function eventsOf(
  client: KubernetesClient,
  { path: { namespace } }: PreparedObject,
  uid: string,
  signal: AbortSignal | undefined,
): Promise<readonly JobEvent[] | undefined> {
  try {
    const path = { group: '', version: 'v1', resource: 'events', namespace };
    const options = { fieldSelector: `involvedObject.uid=${uid}`, ...withSignal(signal) };
    return (await client.list<JobEvent>(path, options)).items;
  } catch (error) {
    if (isForbidden(error)) return undefined;
    throw error;
  }
}
