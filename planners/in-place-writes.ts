/** The single API writes of an update in place, each with its preconditions. */

import { conditionOf, isReady, timestamp } from './availability.ts';
import { containerOf, hasGate, recordOf } from './in-place-state.ts';
import type { ContainerRecord, InPlaceUpdate, ResourceRecord } from './in-place-state.ts';
import { ANNOTATION, IN_PLACE_GATE, LABEL } from './names.ts';
import type { JsonObject, Pod } from './objects.ts';
import type { Action, Purpose } from './plan.ts';
import { effectiveResources } from './resources.ts';
import type { ContainerList, ResourceChange, Resources } from './resources.ts';
import type { TemplateDiff } from './template-diff.ts';
import { trusted } from './values.ts';

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

/**
 * The write that says that an update has begun: annotation and, where containers will restart, the gate. `changes` are the resources
 * that are still to come, tried beforehand; so is the patch of images and metadata.
 */
export function beginAction(
  pod: Pod,
  begun: InPlaceUpdate,
  changes: readonly ResizeChange[],
  diff: TemplateDiff,
  context: InPlaceContext,
): Action {
  const { name } = pod.metadata;
  const { body: trial } = applyAction(pod, undefined, diff, context);
  return {
    ...annotateAction(
      pod,
      begun,
      'InPlaceBegin',
      `begin the update of Pod ${name} in place to ${begun.revision} in ${context.owner}`,
    ),
    body: {
      metadata: { annotations: annotate(begun) },
      ...(begun.gate && begun.overlap !== true && { status: { conditions: closeGate(pod, context.now) } }),
    },
    ...(changes.length > 0 && { rehearsal: resizePatch(changes) }),
    ...(trial && { trial }),
    revision: begun.revision,
    ...charge(pod),
  };
}

/** The write that changes nothing but the annotation. */
export function annotateAction(pod: Pod, update: InPlaceUpdate, purpose: Purpose, message: string): Action {
  return {
    ...patch(pod, purpose, message),
    subresource: 'status',
    body: { metadata: { annotations: annotate(update) } },
  };
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

/** The one patch of images, template metadata and revision label. */
export function applyAction(
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
    revision,
    body: {
      metadata: {
        labels: { ...diff.labels, [LABEL.revisionHash]: revision },
        annotations: { ...diff.annotations, ...(applied && annotate(applied)) },
      },
      ...(lists.length > 0 && { spec }),
    },
  };
}

/** Resources that a container is to have. */
type ResizeChange = Pick<ResourceChange, 'list' | 'container' | 'resources'>;

/** The patch of the resize subresource (KEP-1287). */
export function resizeAction(
  pod: Pod,
  changes: readonly ResizeChange[],
  purpose: Purpose,
  context: InPlaceContext,
): Action {
  return {
    ...patch(pod, purpose, `resize Pod ${pod.metadata.name} in place in ${context.owner}`),
    subresource: 'resize',
    ...(context.target !== undefined && { revision: context.target }),
    body: resizePatch(changes),
  };
}

function resizePatch(changes: readonly ResizeChange[]): JsonObject {
  const lists = [...new Set(changes.map(({ list }) => list))];
  const spec = Object.fromEntries(
    lists.map((list) => [
      list,
      changes
        .filter((change) => change.list === list)
        .map(({ container, resources }) => ({ name: container, resources: withoutEmpty(resources) })),
    ]),
  );
  return { spec };
}

function withoutEmpty(resources: Resources): JsonObject {
  return Object.fromEntries(
    Object.entries(resources).filter(([, amounts]) => Object.keys(trusted<object>(amounts)).length > 0),
  );
}

/** The write that ends an update: gate True, annotation gone; Ready is left to kubelet. */
export function closeAction(
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

/** A write to a Ready pod takes one from the budget. */
export function charge(pod: Pod): { readonly charged?: boolean } {
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

/** What the containers are that the change restarts. */
export function recordsOf(pod: Pod, diff: TemplateDiff): Record<string, ContainerRecord> {
  const restarted = diff.resources.filter(({ restarts }) => restarts).map(({ container }) => container);
  return {
    ...imageRecords(pod, diff),
    ...Object.fromEntries(restarted.map((name) => [name, recordOf(pod, name)])),
  };
}

function imageRecords(pod: Pod, diff: TemplateDiff): Record<string, ContainerRecord> {
  return Object.fromEntries(diff.images.map(({ container }) => [container, recordOf(pod, container)]));
}

/** What the resources are that the change replaces. */
export function resourceRecords(pod: Pod, diff: TemplateDiff): readonly ResourceRecord[] {
  return diff.resources.map(({ list, container, resources, restarts }) => {
    const spec = containerOf(pod, list, container);
    const present = spec === undefined ? { requests: {}, limits: {} } : effectiveResources(spec);
    const keep = (kind: 'requests' | 'limits') =>
      Object.fromEntries(
        Object.entries(present[kind]).filter(([name]) => Object.hasOwn(resources[kind], name)),
      );
    return { list, container, restarts, previous: { requests: keep('requests'), limits: keep('limits') } };
  });
}
