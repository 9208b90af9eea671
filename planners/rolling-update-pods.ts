/** Whether a controller of a rolling update has the pods that it is to have, and the write that gives it another size. */

import { isReady } from './availability.ts';
import { ANNOTATION } from './names.ts';
import { whyNotReady } from './pod-reasons.ts';
import type { Pod } from './objects.ts';
import type { ReplicationController } from './replication-controller.ts';
import { refusedSince, sizeOf, whyNoPod } from './replication-controller.ts';
import type { UpdateStep } from './rolling-update-steps.ts';
import { annotate, patch, wait, writeOf } from './rolling-update-steps.ts';
import { countPods } from './rolling-update-view.ts';

/** Codes of what is waited for here. */
export const POD_CODES: readonly string[] = ['PodNotReady', 'PodMissing', 'PodRefused'];

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
    const noun = active.length === 1 ? 'pod' : 'pods';
    const message = `${String(lacking.length)} of ${String(active.length)} ${noun} of ${name} ${be} not available`;
    const names = lacking.map(({ metadata }) => metadata.name);
    const why = lacking.map(whyNotReady).find((one) => one !== undefined);
    return wait('PodNotReady', why === undefined ? message : `${message}: ${why}`, names);
  }
  const size = sizeOf(controller);
  const missing = `${name} has ${String(active.length)} of ${String(size)} pods`;
  const refused = active.length < size ? whyNoPod(controller) : undefined;
  if (refused !== undefined) return wait('PodRefused', `${missing}: ${refused}`);
  return active.length === size ? undefined : wait('PodMissing', missing);
}

/** Milliseconds between two writes of {@link askAgain}. */
export const ASK_AGAIN_MS = 30_000;

/**
 * The step, with a write after which the controller manager makes pods at once that were refused: by itself it waits longer after each
 * refusal, up to a quarter of an hour, also when what refused them is long gone. Without one where none is refused, or where it was made
 * to try a moment ago.
 */
export function askAgain(controller: ReplicationController, step: UpdateStep, now: number): UpdateStep {
  const since = refusedSince(controller);
  if (since === undefined || step.do !== 'await') return step;
  if (!step.waiting.some(({ code }) => code === 'PodRefused')) return step;
  const message = `ask again for the pods of ${controller.metadata.name} that were refused`;
  return withAsking(controller, step, { since, now, message });
}

/** The step with a write that makes the controller manager look at the controller, where that, and none of before, is so long ago. */
export function withAsking(
  controller: ReplicationController,
  step: UpdateStep,
  {
    since,
    now,
    message,
  }: { readonly since: string | undefined; readonly now: number; readonly message: string },
): UpdateStep {
  const asked = controller.metadata.annotations?.[ANNOTATION.podsAskedAt];
  // What no clock has shown yet was written by hand, or by another clock.
  const times = [since, asked].map((text) => Date.parse(text ?? '')).filter((time) => time <= now);
  if (step.do !== 'await' || now - Math.max(0, ...times) < ASK_AGAIN_MS) return step;
  const annotations = { [ANNOTATION.podsAskedAt]: new Date(now).toISOString() };
  const asking = writeOf(annotate(controller, annotations, 'AskAgain', message));
  return asking === undefined ? step : { ...step, asking };
}

/**
 * Before a controller shrinks to `replicas`: the controller manager takes what is not ready first (R2), as its cache has it, and there a
 * pod may not be ready yet that is. Undefined when it has seen all that are, or when `spare` available pods may go in any case.
 */
export function awaitSight(
  controller: ReplicationController,
  pods: readonly Pod[],
  { replicas, spare, now }: { readonly replicas: number; readonly spare: number; readonly now: number },
): UpdateStep | undefined {
  const { active, available } = countPods(controller, pods, now);
  const going = Math.max(active.length, sizeOf(controller)) - replicas;
  if (Math.min(going, available) <= spare) return undefined;
  const ready = active.filter(isReady).length;
  if ((controller.status?.readyReplicas ?? 0) >= ready) return undefined;
  const message = `the controller of the cluster has not seen all ready pods of ${controller.metadata.name} yet, and might take one`;
  return wait('ControllerBehind', message);
}

/** Another size, for which nothing else has to shrink. */
export function resize(controller: ReplicationController, replicas: number): UpdateStep {
  const { name } = controller.metadata;
  const message = `scale ${name} from ${String(sizeOf(controller))} to ${String(replicas)}`;
  const purpose = replicas > sizeOf(controller) ? 'ScaleUp' : 'ScaleDown';
  return patch('replicationcontrollers', controller, { spec: { replicas } }, purpose, message);
}
