/** When an update in place is done: never by Ready or the image alone (in-place.md 1–4, A27, A28). */

import { conditionOf } from './availability.ts';
import { resizeRefusal, statusOf } from './in-place-state.ts';
import type { ContainerRecord, InPlaceUpdate } from './in-place-state.ts';
import type { Container, ContainerStatus, Pod } from './objects.ts';
import type { ReasonCode } from './plan.ts';
import { effectiveResources, holdsResources } from './resources.ts';

/** Beyond the grace period in which an old container may still run. */
const SETTLE_MARGIN_MS = 10_000;
/** Within that time a kubelet that has seen a change begins to act on it (in-place.md 1: 0.1 to 0.5 s). */
const REACTION_MS = 2_000;
const DEFAULT_GRACE_SECONDS = 30;

/** Why it is not done, or undefined if it is. `until`: the answer may change by time alone then, milliseconds. */
export interface Unfinished {
  readonly code: ReasonCode;
  readonly detail: string;
  readonly until?: number;
}

/**
 * Judges an update that was applied: kubelet has seen the patch, every changed container was restarted since, runs and is
 * ready, and the node has the new resources. Undefined means done.
 */
export function unfinished(pod: Pod, update: InPlaceUpdate, now: number): Unfinished | undefined {
  const observed = pod.status?.observedGeneration;
  if (observed !== undefined && observed < (pod.metadata.generation ?? 0)) {
    return { code: 'InPlaceRestarting', detail: 'kubelet has not seen the change yet' };
  }
  const recorded = Object.entries(update.containers);
  const names = recorded.length > 0 ? recorded.map(([name]) => name) : update.gate ? allContainers(pod) : [];
  for (const name of names) {
    const problem = unfinishedContainer(pod, name, update.containers[name], update, now);
    if (problem !== undefined) return problem;
  }
  return update.resources === undefined ? undefined : unfinishedResize(pod, update, now);
}

function allContainers(pod: Pod): readonly string[] {
  return pod.spec.containers.map(({ name }) => name);
}

function unfinishedContainer(
  pod: Pod,
  name: string,
  record: ContainerRecord | undefined,
  update: InPlaceUpdate,
  now: number,
): Unfinished | undefined {
  const status = statusOf(pod, name);
  const state = status?.state;
  if (status === undefined || state?.running === undefined) {
    const why = state?.waiting?.reason ?? state?.terminated?.reason ?? 'not started';
    return { code: 'InPlaceRestarting', detail: `container ${name}: ${why}` };
  }
  if (!status.ready) return { code: 'InPlaceRestarting', detail: `container ${name} is not ready` };
  if (record === undefined) return undefined;
  const settledAt = settleTime(pod, update);
  if ((status.containerID ?? '') === record.containerID) {
    // Only a change that was taken back before kubelet saw it restarts nothing (overlap), or one to what the container had already.
    const mayStay = update.overlap === true || hadImage(pod, name, status, update);
    return mayStay && now >= settledAt ? undefined : unsettled(name, mayStay, settledAt);
  }
  const until = Math.min(provenAt(pod, name, status, record, update), settledAt);
  return now >= until
    ? undefined
    : { code: 'InPlaceRestarting', detail: `container ${name} may still run the old image`, until };
}

function unsettled(name: string, mayStay: boolean, settledAt: number): Unfinished {
  return {
    code: 'InPlaceRestarting',
    detail: `container ${name} was not restarted yet`,
    ...(mayStay && { until: settledAt }),
  };
}

/** Kubelet, which has seen the change, says that the container runs the wanted image, and its resources restart nothing. */
function hadImage(pod: Pod, name: string, status: ContainerStatus, update: InPlaceUpdate): boolean {
  const isResized = update.resources?.some(
    ({ container, restarts }) => container === name && restarts === true,
  );
  return isResized !== true && pod.status?.observedGeneration !== undefined && hasWanted(pod, name, status);
}

function hasWanted(pod: Pod, name: string, { image = '' }: ContainerStatus): boolean {
  const wanted = specOf(pod, name)?.image;
  return wanted !== undefined && normaliseImage(image) === normaliseImage(wanted);
}

/**
 * From when on a container with another id than recorded counts as started for this change, and not by a crash just before
 * the change came to kubelet. At once if it has the wanted image by name, or an image that was not there before. Where two tags
 * share one digest neither can be seen: if it was started after the change, kubelet gets a moment to stop it after all.
 */
function provenAt(
  pod: Pod,
  name: string,
  status: ContainerStatus,
  record: ContainerRecord,
  update: InPlaceUpdate,
): number {
  if (hasWanted(pod, name, status)) return -Infinity;
  if (update.overlap !== true && (status.imageID ?? '') !== record.imageID) return -Infinity;
  const startedAt = Date.parse(status.state?.running?.startedAt ?? '');
  const appliedAt = Date.parse(update.appliedAt ?? update.at);
  // Kubelet writes whole seconds.
  const second = Math.floor(appliedAt / 1000) * 1000;
  const startedAfter = update.overlap === true ? startedAt > second : startedAt >= second;
  return startedAfter ? appliedAt + REACTION_MS : Infinity;
}

/** After that time kubelet, which has seen the change, has stopped every container that it was to stop. */
function settleTime(pod: Pod, update: InPlaceUpdate): number {
  const grace = pod.spec['terminationGracePeriodSeconds'];
  const appliedAt = Date.parse(update.appliedAt ?? update.at);
  const seconds = typeof grace === 'number' ? grace : DEFAULT_GRACE_SECONDS;
  return Number.isNaN(appliedAt) ? -Infinity : appliedAt + seconds * 1000 + SETTLE_MARGIN_MS;
}

function unfinishedResize(pod: Pod, update: InPlaceUpdate, now: number): Unfinished | undefined {
  const refusal = resizeRefusal(pod);
  if (refusal !== undefined) return { code: 'ResizePending', detail: refusal.message };
  if (conditionOf(pod, 'PodResizeInProgress')?.status === 'True') {
    return { code: 'InPlaceRestarting', detail: 'the node is resizing it' };
  }
  const settledAt = settleTime(pod, update);
  for (const { container: name } of update.resources ?? []) {
    const container = specOf(pod, name);
    const actual = statusOf(pod, name)?.resources;
    if (container === undefined || actual === undefined || now >= settledAt) continue;
    if (!holdsResources(actual, effectiveResources(container))) {
      return {
        code: 'InPlaceRestarting',
        detail: `container ${name} does not have its new resources yet`,
        until: settledAt,
      };
    }
  }
  return undefined;
}

function specOf(pod: Pod, name: string): Container | undefined {
  const named = (container: Container) => container.name === name;
  return pod.spec.containers.find(named) ?? pod.spec.initContainers?.find(named);
}

/** An image reference in full: with registry, `library/` and `:latest` where these are implied. */
export function normaliseImage(image: string): string {
  const [reference = '', digest] = image.split('@', 2);
  const slash = reference.indexOf('/');
  const first = slash < 0 ? '' : reference.slice(0, slash);
  const hasRegistry = first.includes('.') || first.includes(':') || first === 'localhost';
  const path = hasRegistry ? reference : `docker.io/${slash < 0 ? 'library/' : ''}${reference}`;
  const name = path.replace(/^index\.docker\.io\//, 'docker.io/');
  if (digest !== undefined) return `${name}@${digest}`;
  return name.indexOf(':', name.lastIndexOf('/') + 1) < 0 ? `${name}:latest` : name;
}
