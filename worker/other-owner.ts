/**
 * Whether another controller keeps the kinds of `apps/v1` (design "Which objects it owns"): found out with canaries, objects that
 * want no pod. Whoever keeps a kind says in `observedGeneration` that it has seen one; workers of Fairlead leave them alone.
 */

import { setTimeout as sleep } from 'node:timers/promises';

import { isAlreadyExists, isConflict, isNotFound, isRefusal } from '../kubernetes/api-error.ts';
import type { KubernetesClient, ResourcePath } from '../kubernetes/client.ts';
import { ConfigurationError } from '../kubernetes/configuration-error.ts';
import { startDeadline } from '../kubernetes/deadline.ts';
import { asRecord, trusted } from '../kubernetes/values.ts';
import { workloadCollection } from '../kubernetes/workload-api.ts';
import { parseWorkloadKey } from '../kubernetes/workload-key.ts';
import { WORKLOAD_KINDS } from '../kubernetes/workload-kinds.ts';
import type { KubernetesObject } from '../planners/objects.ts';
import type { WorkloadKind } from '../planners/workload.ts';

/** The same for every worker: two that start at once share them, and those of one that was killed are found again. */
const NAME = 'fairlead-canary';
const WINDOW_MS = 5_000;
/** After a request that failed, milliseconds. */
const RETRY_MS = 500;
/** Of one request, milliseconds: a worker that is to stop waits for the last. */
const REQUEST_TIMEOUT_MS = 5_000;

export interface OtherOwnerOptions {
  readonly client: KubernetesClient;
  /** The worker's own. */
  readonly namespace: string;
  readonly signal: AbortSignal;
  /** Without an answer for so long, milliseconds, a kind has no other controller. @default 5000 */
  readonly windowMs?: number;
}

/** Whether a key of a workload is a canary's: no worker keeps those. */
export function isCanary(key: string, leaseNamespace: string): boolean {
  const { namespace, name } = parseWorkloadKey(key);
  return namespace === leaseNamespace && name === NAME;
}

/**
 * Resolves when nobody has answered for 5 s. Writes nothing but the canaries, and removes them in every case.
 * @throws ConfigurationError that names the kinds which another controller keeps, and the flag; ApiError when the apiserver refuses
 *   a canary; the reason of the signal
 */
export async function assertNoOtherOwner(options: OtherOwnerOptions): Promise<void> {
  const kinds = trusted<readonly WorkloadKind[]>(Object.keys(WORKLOAD_KINDS));
  const answers = await Promise.allSettled(kinds.map(async (kind) => await isAnswered(options, kind)));
  const failed = answers.find(({ status }) => status === 'rejected');
  if (failed?.status === 'rejected') throw failed.reason;
  const kept = kinds.filter((_, index) => {
    const answer = answers[index];
    return answer?.status === 'fulfilled' && answer.value;
  });
  if (kept.length > 0) throw new ConfigurationError(describe(kept));
}

function describe(kinds: readonly WorkloadKind[]): string {
  return (
    `${kinds.join(', ')} of apps/v1: another controller of this cluster keeps them, two would work against each other; nothing was written\n` +
    '  switch it off:      kube-controller-manager --controllers=*,-daemonset-controller,-statefulset-controller,-deployment-controller\n' +
    '  or use our own API: --workload-api fairlead.dev/v1beta1 (or FAIRLEAD_WORKLOAD_API)'
  );
}

/** Tries again until it has watched for a whole window. */
async function isAnswered(options: OtherOwnerOptions, kind: WorkloadKind): Promise<boolean> {
  for (;;) {
    try {
      return await watchCanary(options, kind);
    } catch (error) {
      options.signal.throwIfAborted();
      if (isRefusal(error)) throw error;
      await sleep(RETRY_MS, undefined, { signal: options.signal });
    }
  }
}

async function watchCanary(
  { client, namespace, signal, windowMs = WINDOW_MS }: OtherOwnerOptions,
  kind: WorkloadKind,
): Promise<boolean> {
  const collection = workloadCollection('apps/v1', kind, namespace);
  const window = startDeadline(windowMs, signal);
  const ended = window.signal;
  let uid: string | undefined;
  try {
    while (!ended.aborted) {
      const canary = await place(client, collection, kind);
      if (canary === undefined) continue;
      uid = canary.metadata.uid;
      const before = observedGeneration(canary);
      const { resourceVersion } = canary.metadata;
      const fieldSelector = `metadata.name=${NAME}`;
      for await (const { type, object } of client.watch(collection, {
        signal: ended,
        resourceVersion,
        fieldSelector,
      })) {
        // By another worker, which was through with it.
        if (type === 'DELETED') break;
        if (observedGeneration(object) > before) return true;
      }
    }
    signal.throwIfAborted();
    return false;
  } finally {
    window.clear();
    if (uid !== undefined) await remove(client, { ...collection, name: NAME }, uid);
  }
}

/** A canary of a generation that nobody has seen yet; undefined when one went away meanwhile. */
async function place(
  client: KubernetesClient,
  collection: ResourcePath,
  kind: WorkloadKind,
): Promise<KubernetesObject | undefined> {
  try {
    return await client.create(collection, canaryOf(kind), { timeoutMs: REQUEST_TIMEOUT_MS });
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
  }
  const path = { ...collection, name: NAME };
  try {
    const { metadata } = await client.get(path, { timeoutMs: REQUEST_TIMEOUT_MS });
    // Any change of the spec would do; what was seen of it before tells of another time.
    const revisionHistoryLimit = (metadata.generation ?? 0) + 1;
    const change = { metadata: { uid: metadata.uid }, spec: { revisionHistoryLimit } };
    return await client.patch(path, 'merge', change, { timeoutMs: REQUEST_TIMEOUT_MS });
  } catch (error) {
    if (isNotFound(error) || isConflict(error)) return undefined;
    throw error;
  }
}

async function remove(client: KubernetesClient, path: ResourcePath, uid: string): Promise<void> {
  try {
    await client.delete(path, { uid, propagationPolicy: 'Background', timeoutMs: REQUEST_TIMEOUT_MS });
  } catch {
    // Gone, or another worker's by now; what stays is found by the next start.
  }
}

function observedGeneration(object: KubernetesObject): number {
  const { status } = trusted<{ readonly status?: unknown }>(object);
  return Number(asRecord(status)['observedGeneration'] ?? 0);
}

/** Wants no pod: no replicas, or no node that has its label. */
function canaryOf(kind: WorkloadKind): object {
  const labels = { 'app.kubernetes.io/name': NAME, 'app.kubernetes.io/part-of': 'fairlead' };
  const containers = [{ name: 'none', image: `${NAME}:none` }];
  const onNoNode = { 'fairlead.dev/canary': 'no-node' };
  return {
    apiVersion: 'apps/v1',
    kind,
    metadata: { name: NAME, labels },
    spec: {
      ...(kind !== 'DaemonSet' && { replicas: 0 }),
      ...(kind === 'StatefulSet' && { serviceName: NAME }),
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { nodeSelector: onNoNode, containers } },
    },
  };
}
