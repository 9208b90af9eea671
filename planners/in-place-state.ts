/** The annotation that carries a pod's update in place from one API write to the next: the pod alone tells where it stands. */

import { conditionOf } from './availability.ts';
import { ANNOTATION, IN_PLACE_GATE, LABEL } from './names.ts';
import type { Container, ContainerStatus, Pod } from './objects.ts';
import type { ContainerList, Resources } from './resources.ts';
import { asFields } from './values.ts';

/** What a container was before it was changed, so that its restart can be told (in-place.md 4). */
export interface ContainerRecord {
  readonly containerID: string;
  readonly imageID: string;
  readonly restartCount: number;
}

export interface ResourceRecord {
  readonly list: ContainerList;
  readonly container: string;
  /** The amounts before the change, for going back. */
  readonly previous: Resources;
  /** The container is restarted for it. */
  readonly restarts?: boolean;
}

/** Annotation `fairlead.dev/in-place-update`. */
export interface InPlaceUpdate {
  /** The revision that the pod is brought to. The pod's label names it as soon as the change is applied. */
  readonly revision: string;
  /** When it was begun, RFC 3339 with milliseconds. */
  readonly at: string;
  /** When the change was written to the pod. */
  readonly appliedAt?: string;
  /** Whether the readiness gate was closed for it. */
  readonly gate: boolean;
  /** The pod was in service when it was begun, so that the grace period counts. */
  readonly wasReady: boolean;
  /** It took over from another one that was not finished: containers may be started for that one still. */
  readonly overlap?: boolean;
  /** Containers that must have been restarted, by name. */
  readonly containers: Readonly<Record<string, ContainerRecord>>;
  readonly resources?: readonly ResourceRecord[];
}

/**
 * The update in place that a pod is in, or undefined. An annotation that cannot be read counts as one that was applied and
 * restarts nothing: the gate opens again once all containers are ready.
 */
export function readInPlaceUpdate(pod: Pod): InPlaceUpdate | undefined {
  const text = pod.metadata.annotations?.[ANNOTATION.inPlaceUpdate];
  if (text === undefined) return undefined;
  const revision = revisionOf(pod);
  const unreadable = { revision, at: '', gate: true, wasReady: false, containers: {} };
  try {
    const value: unknown = JSON.parse(text);
    return isInPlaceUpdate(value) ? value : unreadable;
  } catch {
    return unreadable;
  }
}

function isInPlaceUpdate(value: unknown): value is InPlaceUpdate {
  const fields = asFields(value);
  if (fields === undefined) return false;
  const { revision, at, appliedAt = '', gate, containers, resources = [] } = fields;
  return (
    typeof revision === 'string' &&
    typeof at === 'string' &&
    typeof appliedAt === 'string' &&
    typeof gate === 'boolean' &&
    asFields(containers) !== undefined &&
    Object.values(asFields(containers) ?? {}).every(isContainerRecord) &&
    Array.isArray(resources) &&
    resources.every(isResourceRecord)
  );
}

function isContainerRecord(value: unknown): boolean {
  const { containerID, imageID, restartCount } = asFields(value) ?? {};
  return typeof containerID === 'string' && typeof imageID === 'string' && typeof restartCount === 'number';
}

function isResourceRecord(value: unknown): boolean {
  const { list, container, previous } = asFields(value) ?? {};
  const { requests, limits } = asFields(previous) ?? {};
  return (
    (list === 'containers' || list === 'initContainers') &&
    typeof container === 'string' &&
    isAmounts(requests) &&
    isAmounts(limits)
  );
}

function isAmounts(value: unknown): boolean {
  const amounts = asFields(value);
  return amounts !== undefined && Object.values(amounts).every((amount) => typeof amount === 'string');
}

/** The revision that the pod's label names (S1); empty if it has none. */
export function revisionOf(pod: Pod): string {
  return pod.metadata.labels?.[LABEL.revisionHash] ?? '';
}

/** The spec has the readiness gate, so that the pod can be taken out of service. */
export function hasGate(pod: Pod): boolean {
  return pod.spec.readinessGates?.some(({ conditionType }) => conditionType === IN_PLACE_GATE) === true;
}

export function isGateOpen(pod: Pod): boolean {
  return conditionOf(pod, IN_PLACE_GATE)?.status === 'True';
}

/** The status of a container or native sidecar. */
export function statusOf(pod: Pod, container: string): ContainerStatus | undefined {
  const named = (status: ContainerStatus) => status.name === container;
  return pod.status?.containerStatuses?.find(named) ?? pod.status?.initContainerStatuses?.find(named);
}

export function containerOf(pod: Pod, list: ContainerList, name: string): Container | undefined {
  return pod.spec[list]?.find((container) => container.name === name);
}

/** What a container is now, for telling its restart later. */
export function recordOf(pod: Pod, container: string): ContainerRecord {
  const status = statusOf(pod, container);
  return {
    containerID: status?.containerID ?? '',
    imageID: status?.imageID ?? '',
    restartCount: status?.restartCount ?? 0,
  };
}

/**
 * Why the node does not resize the pod: condition PodResizePending (KEP-1287), or undefined. `Infeasible` is more than the node has;
 * else it is `Deferred`: other pods use what it has, since `since`, milliseconds (NaN: unknown).
 */
export function resizeRefusal(
  pod: Pod,
): { readonly infeasible: boolean; readonly since: number; readonly message: string } | undefined {
  const pending = conditionOf(pod, 'PodResizePending');
  if (pending?.status !== 'True') return undefined;
  return {
    infeasible: pending.reason === 'Infeasible',
    since: Date.parse(pending.lastTransitionTime ?? ''),
    message: pending.message ?? pending.reason ?? 'pending',
  };
}
