/**
 * The update of one pod in place, one API write at a time (KEP-1287 for resources, A18–A31, in-place.md). Each step follows
 * from the pod as it is, so that a crash between two writes loses nothing.
 *
 *   begin:  annotation, gate False, Ready False            (one write to pods/status, takes one from the budget; what is to come
 *                                                           is tried without effect before: a resize for each pod, the rest once)
 *   apply:  resize, if any; then images, template metadata, revision label
 *   finish: gate True, annotation gone                      (Ready is left to kubelet)
 */

import { isReady } from './availability.ts';
import { unfinished } from './in-place-completion.ts';
import { containerOf, hasGate, isGateOpen, readInPlaceUpdate, revisionOf } from './in-place-state.ts';
import type { InPlaceUpdate } from './in-place-state.ts';
import {
  annotateAction,
  applyAction,
  beginAction,
  charge,
  closeAction,
  recordsOf,
  resizeAction,
  resourceRecords,
} from './in-place-writes.ts';
import type { InPlaceContext } from './in-place-writes.ts';
import { IN_PLACE_GATE } from './names.ts';
import type { Pod } from './objects.ts';
import type { Action, ReasonCode } from './plan.ts';
import { holdsResources } from './resources.ts';
import type { ResourceChange } from './resources.ts';
import type { TemplateDiff } from './template-diff.ts';

export type Step =
  | { readonly action: Action }
  | { readonly wait: ReasonCode; readonly detail: string; readonly until?: number };

/** Fields that stand in the way of updating this pod in place; empty if nothing does. */
export function obstacles(pod: Pod, diff: TemplateDiff): readonly string[] {
  return restartsAny(stillToCome(pod, diff)) && !hasGate(pod)
    ? [...diff.impossible, `spec.readinessGates (${IN_PLACE_GATE} is missing)`]
    : diff.impossible;
}

/** Without images that the pod has already, which somebody has set in it: nothing restarts for these, nor for such resources. */
function stillToCome(pod: Pod, diff: TemplateDiff): TemplateDiff {
  const missing = missingResources(pod, diff);
  return {
    ...diff,
    images: diff.images.filter(
      ({ list, container, image }) => containerOf(pod, list, container)?.image !== image,
    ),
    resources: diff.resources.map((change) => ({
      ...change,
      restarts: change.restarts && missing.includes(change),
    })),
  };
}

function restartsAny({ images, resources }: TemplateDiff): boolean {
  return images.length > 0 || resources.some((change) => change.restarts);
}

/**
 * The first write of an update in place. One write is enough when only metadata changes, and when the pod is out of service
 * with its gate closed already (an update that never became ready is mended by the next).
 */
export function startInPlace(pod: Pod, all: TemplateDiff, context: InPlaceContext): Action {
  const diff = stillToCome(pod, all);
  const earlier = readInPlaceUpdate(pod);
  const resizes = diff.resources.length > 0;
  const restarts = restartsAny(diff);
  const overlap = earlier !== undefined && earlier.gate && !isGateOpen(pod) && !isReady(pod);
  const begun: InPlaceUpdate = {
    revision: context.target ?? '',
    at: new Date(context.now).toISOString(),
    gate: restarts || overlap,
    wasReady: isReady(pod),
    ...(overlap && { overlap }),
    containers: { ...(overlap && earlier.containers), ...recordsOf(pod, diff) },
    ...(resizes && { resources: resourceRecords(pod, diff) }),
  };
  if (!resizes && overlap) {
    const carried = earlier.resources === undefined ? begun : { ...begun, resources: earlier.resources };
    return { ...applyAction(pod, carried, diff, context), ...charge(pod) };
  }
  if (!resizes && !restarts) {
    const carried = earlier && { ...earlier, revision: begun.revision };
    return { ...applyAction(pod, carried, diff, context), ...charge(pod) };
  }
  return beginAction(pod, begun, missingResources(pod, diff), diff, context);
}

/** Resources that the pod does not have yet. */
function missingResources(pod: Pod, { resources: changes }: TemplateDiff): readonly ResourceChange[] {
  return changes.filter(
    ({ list, container, resources }) =>
      !holdsResources(containerOf(pod, list, container)?.resources, resources),
  );
}

/** The next step of an update that was begun: finishing and withdrawing it is steady state (design "In-place update of a pod"). */
export function stepInPlace(pod: Pod, update: InPlaceUpdate, context: InPlaceContext): Step {
  if (revisionOf(pod) === update.revision) {
    const reason = unfinished(pod, update, context.now);
    return reason === undefined
      ? { action: closeAction(pod, update, 'InPlaceFinish', context) }
      : {
          wait: reason.code,
          detail: reason.detail,
          ...(reason.until !== undefined && { until: reason.until }),
        };
  }
  const openedByOthers = update.gate && isGateOpen(pod);
  if (context.target !== update.revision || context.diff === undefined || openedByOthers) {
    return { action: withdraw(pod, update, context) };
  }
  if (update.gate && isReady(pod)) return { wait: 'InPlaceRestarting', detail: 'it is still ready' };
  const graceEnds = Date.parse(update.at) + context.gracePeriodSeconds * 1000;
  if (update.gate && update.wasReady && context.now < graceEnds) {
    return { wait: 'InPlaceGrace', detail: '', until: graceEnds };
  }
  const missing = missingResources(pod, context.diff);
  if (missing.length > 0) return { action: resizeAction(pod, missing, 'InPlaceApply', context) };
  return { action: applyAction(pod, update, stillToCome(pod, context.diff), context) };
}

/** Not applied yet and no longer wanted: resources go back, then the gate opens. */
function withdraw(pod: Pod, update: InPlaceUpdate, context: InPlaceContext): Action {
  const back = (update.resources ?? [])
    .filter(
      ({ list, container, previous }) =>
        !holdsResources(containerOf(pod, list, container)?.resources, previous),
    )
    .map(({ list, container, previous }) => ({ list, container, resources: previous }));
  if (back.length > 0) return resizeAction(pod, back, 'InPlaceWithdraw', context);
  const restarts = update.resources?.some((resource) => resource.restarts === true) === true;
  if (update.overlap !== true && !restarts) return closeAction(pod, update, 'InPlaceWithdraw', context);
  // Containers may be restarted still, for the update before it or by a resize: that is awaited, and the gate stays closed.
  const { resources: _, ...rest } = update;
  const revision = revisionOf(pod);
  const awaited = { ...rest, revision, overlap: true, appliedAt: new Date(context.now).toISOString() };
  const message = `go back to awaiting ${revision} in Pod ${pod.metadata.name} of ${context.owner}`;
  return annotateAction(pod, awaited, 'InPlaceWithdraw', message);
}
