/** Whether a controller of a rolling update has the pods that it is to have, and the write that gives it another size. */

import type { Pod } from './objects.ts';
import type { ReplicationController } from './replication-controller.ts';
import { sizeOf } from './replication-controller.ts';
import type { UpdateStep } from './rolling-update-steps.ts';
import { patch, wait } from './rolling-update-steps.ts';
import { countPods } from './rolling-update-view.ts';

/** Codes of what is waited for here. */
export const POD_CODES: readonly string[] = ['PodNotReady', 'PodMissing'];

/** Undefined when all of its pods are there and available (K5). `now` in milliseconds since the epoch. */
export function awaitPods(
  controller: ReplicationController,
  pods: readonly Pod[],
  now: number,
): UpdateStep | undefined {
  const { name } = controller.metadata;
  const { active, lacking } = countPods(controller, pods, now);
  if (lacking.length > 0) {
    const be = lacking.length === 1 ? 'is' : 'are';
    const message = `${String(lacking.length)} of ${String(active.length)} pods of ${name} ${be} not available`;
    const names = lacking.map(({ metadata }) => metadata.name);
    return wait('PodNotReady', message, names);
  }
  const size = sizeOf(controller);
  return active.length === size
    ? undefined
    : wait('PodMissing', `${name} has ${String(active.length)} of ${String(size)} pods`);
}

/** Another size, for which nothing else has to shrink. */
export function resize(controller: ReplicationController, replicas: number): UpdateStep {
  const { name } = controller.metadata;
  const message = `scale ${name} from ${String(sizeOf(controller))} to ${String(replicas)}`;
  const purpose = replicas > sizeOf(controller) ? 'ScaleUp' : 'ScaleDown';
  return patch('replicationcontrollers', controller, { spec: { replicas } }, purpose, message);
}
