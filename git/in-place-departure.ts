/** A workload leaves for the controllers of the cluster only when no pod of it is out of service for an update in place. */

import { isTerminating } from '../planners/availability.ts';
import { controllerOf } from '../planners/controller-ref.ts';
import { hasGate, isGateOpen, readInPlaceUpdate } from '../planners/in-place-state.ts';
import type { KubernetesObject, Pod } from '../planners/objects.ts';
import { formatSelector } from '../planners/selector.ts';
import { asRecord, trusted } from '../kubernetes/values.ts';
import type { CommitContext } from './commit.ts';
import type { PreparedObject } from './prepare.ts';
import { NotYetError } from './refusals.ts';
import { withSignal } from './resources.ts';

/**
 * Whoever takes the pods over knows no readiness gate of ours, and would leave it closed for ever. Under an API that the workers keep
 * the update just goes on.
 * @throws NotYetError while a pod is being updated; ApiError
 */
export async function awaitInPlaceUpdates(
  { worker, workloadApi, signal }: CommitContext,
  { label, manifest, namespace = '' }: PreparedObject,
  old: KubernetesObject,
): Promise<void> {
  const { apiVersion } = manifest.body;
  if (apiVersion === workloadApi) return;
  const labelSelector = formatSelector(trusted(asRecord(asRecord(old)['spec'])['selector']));
  const pods = await worker.list<Pod>(
    { group: '', version: 'v1', resource: 'pods', namespace },
    { labelSelector, ...withSignal(signal) },
  );
  const busy = pods.items.filter(
    (pod) => controllerOf(pod)?.uid === old.metadata.uid && !isTerminating(pod) && isUnfinished(pod),
  );
  const [first] = busy;
  if (first === undefined) return;
  const who = busy.length === 1 ? `${first.metadata.name} is` : `${String(busy.length)} pods are`;
  throw new NotYetError(
    `${label}: ${who} being updated in place, which the controllers of ${String(apiVersion)} would leave unfinished: it moves when that is over; ` +
      `\`fairlead rollout abort ${manifest.kind.toLowerCase()}/${manifest.name} -n ${namespace}\` takes it back`,
  );
}

/** Of a new pod the gate is opened soon. */
function isUnfinished(pod: Pod): boolean {
  return readInPlaceUpdate(pod) !== undefined || (hasGate(pod) && !isGateOpen(pod));
}
