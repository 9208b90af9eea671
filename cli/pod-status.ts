/** A pod in a few words, as kubectl's STATUS and READY columns say them. */

import { ANNOTATION } from '../planners/names.ts';
import type { ContainerStatus, Pod } from '../planners/objects.ts';

/** `ImagePullBackOff`, `CrashLoopBackOff`, `Terminating`, `Updating` (in place), `Running`, `Pending`, … */
export function podStatus(pod: Pod): string {
  const { metadata, status } = pod;
  if (metadata.deletionTimestamp !== undefined) {
    return 'Terminating';
  }
  const trouble = [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])]
    .map(containerTrouble)
    .find((reason) => reason !== undefined);
  if (trouble !== undefined) {
    return trouble;
  }
  if (metadata.annotations?.[ANNOTATION.inPlaceUpdate] !== undefined) {
    return 'Updating';
  }
  return status?.reason ?? status?.phase ?? 'Pending';
}

/** `1/2`: ready containers of all. */
export function readyContainers(pod: Pod): string {
  const ready = pod.status?.containerStatuses?.filter((container) => container.ready).length ?? 0;
  return `${String(ready)}/${String(pod.spec.containers.length)}`;
}

/** A container that is merely being created, or has ended well, is no trouble. */
function containerTrouble({ state }: ContainerStatus): string | undefined {
  const waiting = state?.waiting?.reason;
  if (waiting !== undefined && waiting !== 'ContainerCreating' && waiting !== 'PodInitializing') {
    return waiting;
  }
  const ended = state?.terminated;
  if (ended === undefined || ended.exitCode === 0) {
    return undefined;
  }
  return ended.reason ?? `ExitCode:${String(ended.exitCode ?? '?')}`;
}
