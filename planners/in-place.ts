/**
 * The update of one pod in place, one API write at a time (KEP-1287 for resources, A18–A31, in-place.md). Each step follows
 * from the pod as it is, so that a crash between two writes loses nothing.
 *
 *   begin:  annotation, gate False, Ready False            (one write to pods/status, takes one from the budget)
 *   apply:  resize, if any; then images, template metadata, revision label
 *   finish: gate True, annotation gone                      (Ready is left to kubelet)
 */

import { conditionOf, isReady, timestamp } from './availability.ts';
import { unfinished } from './in-place-completion.ts';
import {
  containerOf,
  hasGate,
  isGateOpen,
  readInPlaceUpdate,
  recordOf,
  revisionOf,
} from './in-place-state.ts';
import type { ContainerRecord, InPlaceUpdate, ResourceRecord } from './in-place-state.ts';
import { ANNOTATION, IN_PLACE_GATE, LABEL } from './names.ts';
import type { JsonObject, Pod } from './objects.ts';
import type { Action, Purpose, ReasonCode } from './plan.ts';
import { effectiveResources, holdsResources } from './resources.ts';
import type { ContainerList, Resources } from './resources.ts';
import type { TemplateDiff } from './template-diff.ts';

export interface InPlaceContext {
  /** For messages: `StatefulSet web`. */
  readonly owner: string;
  /** Milliseconds since the epoch. */
  readonly now: number;
  readonly gracePeriodSeconds: number;
  /** The revision that the pod shall have under the present strategy; undefined if it is to be left as it is. */
  readonly target: string | undefined;
  /** From the revision of the pod's label to the target; undefined if either is not known. */
  readonly diff: TemplateDiff | undefined;
}

export type Step =
  | { readonly action: Action }
  | { readonly wait: ReasonCode; readonly detail: string; readonly until?: number };

/** Fields that stand in the way of updating this pod in place; empty if nothing does. */
export function obstacles(pod: Pod, diff: TemplateDiff): readonly string[] {
  const needsGate = diff.images.length > 0 || diff.resources.some(({ restarts }) => restarts);
  return needsGate && !hasGate(pod)
    ? [...diff.impossible, `spec.readinessGates (${IN_PLACE_GATE} is missing)`]
    : diff.impossible;
}

/**
 * The first write of an update in place. One write is enough when only metadata changes, and when the pod is out of service
 * with its gate closed already (an update that never became ready is mended by the next).
 */
export function startInPlace(pod: Pod, diff: TemplateDiff, context: InPlaceContext): Action {
  const earlier = readInPlaceUpdate(pod);
  const resizes = diff.resources.length > 0;
  const restarts = diff.images.length > 0 || diff.resources.some((change) => change.restarts);
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
  return {
    ...patch(
      pod,
      'InPlaceBegin',
      `begin the update of Pod ${pod.metadata.name} in place to ${begun.revision} in ${context.owner}`,
    ),
    subresource: 'status',
    body: {
      metadata: { annotations: annotate(begun) },
      ...(restarts && !overlap && { status: { conditions: closeGate(pod, context.now) } }),
    },
    ...charge(pod),
  };
}

/** The next step of an update that was begun: finishing and withdrawing it is steady state (design "In-place update of a pod"). */
export function stepInPlace(pod: Pod, update: InPlaceUpdate, context: InPlaceContext): Step {
  if (revisionOf(pod) === update.revision) {
    const reason = unfinished(pod, update, context.now);
    return reason === undefined
      ? { action: closeUpdate(pod, update, 'InPlaceFinish', context) }
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
  const missing = context.diff.resources.filter(
    ({ list, container, resources }) =>
      !holdsResources(containerOf(pod, list, container)?.resources, resources),
  );
  if (missing.length > 0) return { action: resizeAction(pod, missing, 'InPlaceApply', context) };
  return { action: applyAction(pod, update, context.diff, context) };
}

/** The write that opens the gate of a pod that is not being updated (A29). */
export function openGateAction(pod: Pod, context: InPlaceContext): Action {
  const { name, resourceVersion } = pod.metadata;
  // A gate that is False was closed by someone: only the pod as it was read may be opened.
  const closed = conditionOf(pod, IN_PLACE_GATE) !== undefined;
  const { resourceVersion: _, ...action } = patch(
    pod,
    'OpenGate',
    `open the readiness gate of Pod ${name} in ${context.owner}`,
  );
  return {
    ...action,
    ...(closed && { resourceVersion }),
    subresource: 'status',
    body: { status: { conditions: [openGate(context.now)] } },
  };
}

function applyAction(
  pod: Pod,
  update: InPlaceUpdate | undefined,
  diff: TemplateDiff,
  context: InPlaceContext,
): Action {
  const revision = context.target ?? '';
  const applied = update && {
    ...update,
    appliedAt: new Date(context.now).toISOString(),
    // Again, as they are at the version that this patch is conditional on: one may have crashed since the beginning.
    containers: { ...update.containers, ...imageRecords(pod, diff) },
  };
  const images = (list: ContainerList) => diff.images.filter((change) => change.list === list);
  const lists = (['containers', 'initContainers'] as const).filter((list) => images(list).length > 0);
  const spec = Object.fromEntries(
    lists.map((list) => [list, images(list).map(({ container, image }) => ({ name: container, image }))]),
  );
  return {
    ...patch(
      pod,
      'InPlaceApply',
      `update Pod ${pod.metadata.name} in place to ${revision} in ${context.owner}`,
    ),
    body: {
      metadata: {
        labels: { ...diff.labels, [LABEL.revisionHash]: revision },
        annotations: { ...diff.annotations, ...(applied && annotate(applied)) },
      },
      ...(lists.length > 0 && { spec }),
    },
  };
}

function resizeAction(
  pod: Pod,
  changes: readonly {
    readonly list: ContainerList;
    readonly container: string;
    readonly resources: Resources;
  }[],
  purpose: Purpose,
  context: InPlaceContext,
): Action {
  const lists = [...new Set(changes.map(({ list }) => list))];
  const spec = Object.fromEntries(
    lists.map((list) => [
      list,
      changes
        .filter((change) => change.list === list)
        .map(({ container, resources }) => ({ name: container, resources: withoutEmpty(resources) })),
    ]),
  );
  return {
    ...patch(pod, purpose, `resize Pod ${pod.metadata.name} in place in ${context.owner}`),
    subresource: 'resize',
    body: { spec },
  };
}

function withoutEmpty(resources: Resources): JsonObject {
  return Object.fromEntries(
    Object.entries(resources).filter(([, amounts]) => Object.keys(amounts as object).length > 0),
  );
}

/** Not applied yet and no longer wanted: resources go back, then the gate opens; containers were not touched. */
function withdraw(pod: Pod, update: InPlaceUpdate, context: InPlaceContext): Action {
  const back = (update.resources ?? [])
    .filter(
      ({ list, container, previous }) =>
        !holdsResources(containerOf(pod, list, container)?.resources, previous),
    )
    .map(({ list, container, previous }) => ({ list, container, resources: previous }));
  if (back.length > 0) return resizeAction(pod, back, 'InPlaceWithdraw', context);
  if (update.overlap === true) {
    // The update before it is still to be awaited: the gate stays closed.
    const { resources: _, ...rest } = update;
    const restored = { ...rest, revision: revisionOf(pod), appliedAt: new Date(context.now).toISOString() };
    return {
      ...patch(
        pod,
        'InPlaceWithdraw',
        `go back to awaiting ${restored.revision} in Pod ${pod.metadata.name} of ${context.owner}`,
      ),
      subresource: 'status',
      body: { metadata: { annotations: annotate(restored) } },
    };
  }
  return closeUpdate(pod, update, 'InPlaceWithdraw', context);
}

function closeUpdate(
  pod: Pod,
  update: InPlaceUpdate,
  purpose: 'InPlaceFinish' | 'InPlaceWithdraw',
  context: InPlaceContext,
): Action {
  const verb = purpose === 'InPlaceFinish' ? 'finish' : 'withdraw';
  return {
    ...patch(pod, purpose, `${verb} the update of Pod ${pod.metadata.name} in place in ${context.owner}`),
    subresource: 'status',
    body: {
      metadata: { annotations: { [ANNOTATION.inPlaceUpdate]: null } },
      ...(update.gate && hasGate(pod) && { status: { conditions: [openGate(context.now)] } }),
    },
  };
}

function patch(
  pod: Pod,
  purpose: Purpose,
  message: string,
): Omit<Action, 'body'> & { readonly resourceVersion: string } {
  const { name, uid, resourceVersion } = pod.metadata;
  return {
    verb: 'patch',
    resource: 'pods',
    name,
    uid,
    resourceVersion,
    patchType: 'strategic',
    purpose,
    message,
  };
}

function charge(pod: Pod): { readonly charged?: boolean } {
  return isReady(pod) ? { charged: true } : {};
}

function annotate(update: InPlaceUpdate): Record<string, string> {
  return { [ANNOTATION.inPlaceUpdate]: JSON.stringify(update) };
}

function openGate(now: number): JsonObject {
  return {
    type: IN_PLACE_GATE,
    status: 'True',
    reason: null,
    message: null,
    lastTransitionTime: timestamp(now),
  };
}

/** Kubelet would take Ready away by itself, some time later: the same write does it now. */
function closeGate(pod: Pod, now: number): readonly JsonObject[] {
  const lastTransitionTime = timestamp(now);
  const gate = { type: IN_PLACE_GATE, status: 'False', reason: 'StartInPlaceUpdate', lastTransitionTime };
  const ready = { type: 'Ready', status: 'False', reason: 'ReadinessGatesNotReady', lastTransitionTime };
  return isReady(pod) ? [gate, ready] : [gate];
}

function recordsOf(pod: Pod, diff: TemplateDiff): Record<string, ContainerRecord> {
  const restarted = diff.resources.filter(({ restarts }) => restarts).map(({ container }) => container);
  return {
    ...imageRecords(pod, diff),
    ...Object.fromEntries(restarted.map((name) => [name, recordOf(pod, name)])),
  };
}

function imageRecords(pod: Pod, diff: TemplateDiff): Record<string, ContainerRecord> {
  return Object.fromEntries(diff.images.map(({ container }) => [container, recordOf(pod, container)]));
}

function resourceRecords(pod: Pod, diff: TemplateDiff): readonly ResourceRecord[] {
  return diff.resources.map(({ list, container, resources }) => {
    const spec = containerOf(pod, list, container);
    const present = spec === undefined ? { requests: {}, limits: {} } : effectiveResources(spec);
    const keep = (kind: 'requests' | 'limits') =>
      Object.fromEntries(
        Object.entries(present[kind]).filter(([name]) => Object.hasOwn(resources[kind], name)),
      );
    return { list, container, previous: { requests: keep('requests'), limits: keep('limits') } };
  });
}
