/**
 * What kubelet does to a pod, one observable step at a time (in-place.md 1–7). Images tell how they behave: `…:bad…` cannot be
 * pulled, `…:crash…` never gets ready, anything else is fine; what follows a `+` does not change the digest.
 */

import { conditionOf, timestamp } from '../../planners/availability.ts';
import type { Condition, Container, ContainerStatus, Pod } from '../../planners/objects.ts';
import { effectiveResources, holdsResources } from '../../planners/resources.ts';

const MOST_CPU = 64;
/** What the other pods of a node leave, for ever. */
const FREE_CPU = 8;

/** The image texts with which containers were started, by containerID: kubelet's own memory. */
const startedWith = new Map<string, string>();

/** The pod after one more step of kubelet, or undefined once it is gone. The same object if nothing happens. */
export function kubeletStep(pod: Pod, now: number): Pod | undefined {
  if (pod.metadata.deletionTimestamp !== undefined) return undefined;
  const phase = pod.status?.phase;
  if (phase === 'Failed' || phase === 'Succeeded') return pod;
  if (phase !== 'Running') return withReady(started(pod, now), now);
  // Kubelet reports that it has seen the change while the old container still runs and is ready (in-place.md 1).
  const seen = observed(pod);
  return withReady(seen === pod ? restarted(resized(pod), now) : seen, now);
}

/** Whether a container runs that was started with another image than the spec has now. */
export function runsOldImage(pod: Pod): boolean {
  return pod.spec.containers.some(({ name, image }) => {
    const status = pod.status?.containerStatuses?.find((one) => one.name === name);
    return status?.state?.running !== undefined && !runs(status, image ?? '');
  });
}

/** Containers crash and are started again, with the images that they had unless kubelet has seen others. */
export function crashContainer(pod: Pod, now: number): Pod {
  const seen = pod.status?.observedGeneration === (pod.metadata.generation ?? 1);
  const statuses = (pod.status?.containerStatuses ?? []).map((status) =>
    status.state?.running === undefined
      ? status
      : running(
          pod,
          status,
          (seen ? containerOf(pod, status.name)?.image : startedWith.get(status.containerID ?? '')) ?? '',
          now,
        ),
  );
  return withReady({ ...pod, status: { ...pod.status, containerStatuses: statuses } }, now);
}

function started(pod: Pod, now: number): Pod {
  const containerStatuses = pod.spec.containers.map(({ name, image = '' }) =>
    running(pod, { name, restartCount: -1, ready: false }, image, now),
  );
  const pulled = pod.spec.containers.every(({ image }) => !isBad(image));
  return {
    ...pod,
    status: {
      ...pod.status,
      observedGeneration: pod.metadata.generation ?? 1,
      phase: pulled ? 'Running' : 'Pending',
      containerStatuses,
    },
  };
}

function running(pod: Pod, previous: ContainerStatus, image: string, now: number): ContainerStatus {
  const restartCount = previous.restartCount + 1;
  if (isBad(image)) {
    return { ...previous, ready: false, state: { waiting: { reason: 'ErrImagePull' } } };
  }
  const digest = digestOf(image);
  const containerID = `containerd://${pod.metadata.uid}/${previous.name}/${String(restartCount)}`;
  startedWith.set(containerID, image);
  return {
    name: previous.name,
    // Where two tags share a digest the runtime reports the one that it knew first.
    image: previous.imageID === digest ? (previous.image ?? image) : image,
    imageID: digest,
    containerID,
    restartCount,
    ready: !image.includes(':crash'),
    state: { running: { startedAt: timestamp(now) } },
  };
}

/** Kubelet sees the new spec while the old container still runs. */
function observed(pod: Pod): Pod {
  const generation = pod.metadata.generation ?? 1;
  return pod.status?.observedGeneration === generation
    ? pod
    : { ...pod, status: { ...pod.status, observedGeneration: generation } };
}

/** First the container is killed, at the next step it is started with the new image. */
function restarted(pod: Pod, now: number): Pod {
  let changed = false;
  const statuses = (pod.status?.containerStatuses ?? []).map((status) => {
    const { image = '' } = containerOf(pod, status.name) ?? {};
    if (status.state?.waiting !== undefined) {
      const next = running(pod, status, image, now);
      changed ||= next.state?.waiting === undefined;
      return next;
    }
    if (runs(status, image)) return status;
    changed = true;
    return { ...status, ready: false, state: { waiting: { reason: 'ContainerCreating' } } };
  });
  return changed ? { ...pod, status: { ...pod.status, containerStatuses: statuses } } : pod;
}

/** Kubelet compares image texts, which the status does not tell where tags share a digest. */
function runs(status: ContainerStatus, image: string): boolean {
  return (startedWith.get(status.containerID ?? '') ?? status.image) === image;
}

function resized(pod: Pod): Pod {
  const wanted = pod.spec.containers.filter(({ resources }) => resources !== undefined);
  const cpu = Math.max(
    ...wanted.map((container) => Number(effectiveResources(container).requests['cpu'] ?? 0)),
  );
  const tooMuch = cpu > FREE_CPU;
  const pending: Condition = {
    type: 'PodResizePending',
    status: 'True',
    reason: cpu > MOST_CPU ? 'Infeasible' : 'Deferred',
    message: 'too much cpu',
  };
  const others = (pod.status?.conditions ?? []).filter(({ type }) => type !== 'PodResizePending');
  if (tooMuch) {
    if (conditionOf(pod, 'PodResizePending')?.reason === pending.reason) return pod;
    return { ...pod, status: { ...pod.status, conditions: [...others, pending] } };
  }
  const statuses = pod.status?.containerStatuses ?? [];
  const done = statuses.every(({ name, resources }) => {
    const container = containerOf(pod, name);
    return container === undefined || holdsResources(resources, effectiveResources(container));
  });
  if (done && conditionOf(pod, 'PodResizePending') === undefined) return pod;
  const containerStatuses = statuses.map((status) => ({
    ...status,
    resources: { ...effectiveResources(containerOf(pod, status.name) ?? { name: status.name }) },
  }));
  return { ...pod, status: { ...pod.status, conditions: others, containerStatuses } };
}

/** Ready is what containers and gates say; the transition time moves only with the status. */
function withReady(pod: Pod, now: number): Pod {
  const statuses = pod.status?.containerStatuses ?? [];
  const gates = pod.spec.readinessGates ?? [];
  const ready =
    pod.status?.phase === 'Running' &&
    statuses.every((status) => status.ready) &&
    gates.every(({ conditionType }) => conditionOf(pod, conditionType)?.status === 'True');
  const present = conditionOf(pod, 'Ready');
  const status = ready ? 'True' : 'False';
  if (present?.status === status) return pod;
  const others = (pod.status?.conditions ?? []).filter(({ type }) => type !== 'Ready');
  const condition: Condition = { type: 'Ready', status, lastTransitionTime: timestamp(now) };
  return { ...pod, status: { ...pod.status, conditions: [...others, condition] } };
}

function containerOf(pod: Pod, name: string): Container | undefined {
  return pod.spec.containers.find((container) => container.name === name);
}

function isBad(image = ''): boolean {
  return image.includes(':bad');
}

function digestOf(image: string): string {
  return `sha256:${image.split('+')[0] ?? image}`;
}
