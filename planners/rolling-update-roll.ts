/** The rolling itself: one controller grows, the other shrinks, each step within the budget. */

import { ROLLING_UPDATE } from './names.ts';
import type { ReplicationController } from './replication-controller.ts';
import { scaledBy, sizeOf } from './replication-controller.ts';
import { askAgain, awaitPods, awaitSight } from './rolling-update-pods.ts';
import { putBackStep, scaleStep } from './rolling-update-scale.ts';
import type { UpdateStep } from './rolling-update-steps.ts';
import { paused, patch, wait } from './rolling-update-steps.ts';
import type { UpdateView } from './rolling-update-view.ts';
import { countPods } from './rolling-update-view.ts';
import { awaitEdited, deleteEdited, editedPods } from './rolling-update-template.ts';

/** One up, one down, each awaited (seed, "Rollout"; K5). Undefined when nothing is left to be rolled. */
export function roll(
  view: UpdateView,
  from: ReplicationController,
  to: ReplicationController,
  now: number,
): UpdateStep | undefined {
  const { desired } = view.state;
  const leaving = countPods(from, view.pods, now);
  const edited = editedPods(view, to);
  const replacing = edited.length === 0 ? undefined : deleteEdited(view, to, now);
  if (replacing !== undefined) return replacing;
  const coming = countPods(to, view.pods, now);
  const right = view.pods.filter((pod) => !edited.includes(pod));
  const [fromName, toName] = [from.metadata.name, to.metadata.name];
  const sizes = {
    desired,
    from: sizeOf(from),
    fromActive: leaving.active.length,
    to: sizeOf(to),
    toActive: coming.active.length,
    toAvailable: countPods(to, right, now).available,
  };
  const size = view.isRollback ? undefined : view.record?.replaced?.size;
  const back = size === undefined ? undefined : putBackStep(sizes, view.budget, size);
  const scale = back ?? scaleStep(sizes, view.budget);
  if (scale !== undefined) {
    if (view.paused !== undefined) return paused(view);
    const controller = scale.scale === 'up' ? to : from;
    if (scale.scale === 'down') {
      const spare =
        leaving.available + Math.min(sizes.toAvailable, sizes.to) - desired + view.budget.unavailable;
      const unseen = awaitSight(from, view.pods, { replicas: scale.replicas, spare, now });
      if (unseen !== undefined) return unseen;
    }
    // No step of ours leads there.
    const isForeign = scale.scale === 'back' || sizes.from + sizes.to > desired + view.budget.surge;
    const since = view.record?.revision.metadata.creationTimestamp;
    const others = isForeign ? [from, to] : [];
    const [foreign] = [controller, ...others].flatMap((one) => {
      const manager = scaledBy(one, since, desired);
      return manager === undefined ? [] : [`${manager} has scaled ${one.metadata.name}`];
    });
    const who = foreign ?? (isForeign ? 'somebody has scaled one' : undefined);
    const message =
      `scale ${controller.metadata.name} from ${String(sizeOf(controller))} to ${String(scale.replicas)}` +
      (who === undefined
        ? ''
        : `: ${who}; ${ROLLING_UPDATE.desiredReplicas} of ${toName} (${String(desired)}) says how many there shall be`);
    const purpose = scale.scale === 'down' ? 'ScaleDown' : 'ScaleUp';
    return patch(
      'replicationcontrollers',
      controller,
      { spec: { replicas: scale.replicas } },
      purpose,
      message,
    );
  }
  const lacking = awaitPods(to, view.pods, now);
  if (lacking !== undefined) return view.paused === undefined ? askAgain(to, lacking, now) : lacking;
  if (sizes.fromActive > sizes.from) {
    const message = `${fromName} has ${String(sizes.fromActive)} pods and is to have ${String(sizes.from)}`;
    const names = leaving.active.map(({ metadata }) => metadata.name);
    return wait('PodLeaving', message, names);
  }
  return awaitEdited(view, to);
}
