/** The few rules of pods that the budget checker judges by, written once more and apart from the planners. */

import type {
  SeenContainer,
  SeenContainerStatus,
  SeenNode,
  SeenPod,
  SeenWorkload,
} from './budget-evidence.ts';

const ANNOTATION = 'fairlead.dev/in-place-update';
const PRE_PULL = 'fairlead.dev/pre-pull';
const GATE = 'InPlaceUpdateReady';
const REVISION = 'controller-revision-hash';

export function condition({ status }: SeenPod | SeenNode, type: string): string | undefined {
  return status?.conditions?.find((one) => one.type === type)?.status;
}

export function isReady(pod: SeenPod): boolean {
  return condition(pod, 'Ready') === 'True';
}

export function gateOf(pod: SeenPod): string | undefined {
  return condition(pod, GATE);
}

export function isFinished(pod: SeenPod): boolean {
  return pod.status?.phase === 'Succeeded' || pod.status?.phase === 'Failed';
}

export function isTerminating(pod: SeenPod): boolean {
  return pod.metadata.deletionTimestamp !== undefined;
}

/** A pod that pulls images for a workload: it has no controller, and belongs to nobody's budget. */
export function isHelper({ metadata }: SeenPod, isWorkload: (uid: string) => boolean): boolean {
  return (
    metadata.labels?.[PRE_PULL] !== undefined &&
    (metadata.ownerReferences ?? []).some(({ uid, controller }) => controller !== true && isWorkload(uid))
  );
}

export function inPlaceMark(pod: SeenPod): string | undefined {
  return pod.metadata.annotations?.[ANNOTATION];
}

export function revisionOf(pod: SeenPod): string {
  return pod.metadata.labels?.[REVISION] ?? '';
}

/** Ready for minReadySeconds, and in nobody's hands: neither ending nor in an update in place. */
export function isAvailable(pod: SeenPod, minReadySeconds: number, at: number): boolean {
  return isInService(pod, minReadySeconds, at) && inPlaceMark(pod) === undefined;
}

/** The same, whether or not an update in place is marked on it (one that closes no gate keeps the pod in service). */
export function isInService(pod: SeenPod, minReadySeconds: number, at: number): boolean {
  if (!isReady(pod) || isFinished(pod) || isTerminating(pod)) {
    return false;
  }
  const since = pod.status?.conditions?.find((one) => one.type === 'Ready')?.lastTransitionTime;
  return minReadySeconds === 0 || (since != null && Date.parse(since) + minReadySeconds * 1000 <= at);
}

/** The steps of a rollout that a patch can be. Adoption, labels of identity and opening the gate are none. */
export type PodChange = 'none' | 'begins' | 'continues';

/**
 * What a patch did to a pod as a rollout sees it: it begins a change (mark, gate closed, another revision or spec on a pod that
 * was not marked), or continues one that was begun.
 */
export function changeOf(before: SeenPod, after: SeenPod): PodChange {
  const marked = inPlaceMark(before);
  const touched =
    !sameContainers(before, after) ||
    revisionOf(before) !== revisionOf(after) ||
    (gateOf(after) === 'False' && gateOf(before) !== 'False') ||
    (inPlaceMark(after) !== undefined && markedRevision(inPlaceMark(after)) !== markedRevision(marked));
  if (!touched) {
    return 'none';
  }
  const sameUpdate =
    marked !== undefined &&
    markedRevision(marked) === (markedRevision(inPlaceMark(after)) ?? revisionOf(after));
  return sameUpdate ? 'continues' : 'begins';
}

function markedRevision(mark: string | undefined): string | undefined {
  return mark === undefined ? undefined : (JSON.parse(mark) as { readonly revision?: string }).revision;
}

/** Names of the containers whose image differs. */
export function changedImages(before: SeenPod, after: SeenPod): readonly string[] {
  const images = new Map(containersOf(before).map(({ name, image }) => [name, image]));
  return containersOf(after)
    .filter(({ name, image }) => images.get(name) !== image)
    .map(({ name }) => name);
}

/** True if its containers run the images that the template of the workload says: those of the last rollout may not. */
export function hasImagesOf({ spec }: SeenWorkload, pod: SeenPod): boolean {
  const images = new Map(containersOf(pod).map(({ name, image }) => [name, image]));
  return (spec.template.spec?.containers ?? []).every(({ name, image }) => images.get(name) === image);
}

export function containersOf({ spec }: SeenPod): readonly SeenContainer[] {
  return [...spec.containers, ...(spec.initContainers ?? [])];
}

/** The id of the container that runs now; undefined while nothing runs. */
export function runningContainer(pod: SeenPod, name: string): string | undefined {
  const status = containerStatus(pod, name);
  return status?.state?.running === undefined ? undefined : status.containerID;
}

/** The id of the last container, running or not. */
export function containerIdOf(pod: SeenPod, name: string): string | undefined {
  return containerStatus(pod, name)?.containerID;
}

function containerStatus(pod: SeenPod, name: string): SeenContainerStatus | undefined {
  const statuses = [...(pod.status?.containerStatuses ?? []), ...(pod.status?.initContainerStatuses ?? [])];
  return statuses.find((one) => one.name === name);
}

function sameContainers(before: SeenPod, after: SeenPod): boolean {
  const essence = (pod: SeenPod) =>
    JSON.stringify(containersOf(pod).map(({ name, image, resources }) => ({ name, image, resources })));
  return essence(before) === essence(after);
}
