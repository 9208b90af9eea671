/** The order of an update in place, as it is seen from outside (design "In-place update of a pod", in-place.md 1, 4, 5). */

import type { SeenPod } from './budget-evidence.ts';
import {
  changedImages,
  condition,
  containerIdOf,
  containersOf,
  gateOf,
  isReady,
  runningContainer,
} from './budget-rules.ts';

/** What a container was when its image was patched. */
interface Restart {
  readonly containerID: string | undefined;
  readonly image: string | undefined;
}

/** Follows the pods whose images were patched until their gates open again. Answers what was wrong, if anything. */
export class GateWatch {
  readonly #restarts = new Map<string, Map<string, Restart>>();

  /** A worker's patch: a pod is out of service, and seen so, before an image changes. */
  patch(before: SeenPod, after: SeenPod): readonly string[] {
    const images = changedImages(before, after);
    if (images.length === 0) {
      return [];
    }
    const { uid } = before.metadata;
    const restarts = this.#restarts.get(uid) ?? new Map<string, Restart>();
    for (const name of images) {
      const image = restarts.get(name)?.image ?? imageOf(before, name);
      restarts.set(name, { containerID: containerIdOf(before, name), image });
    }
    this.#restarts.set(uid, restarts);
    if (gateOf(before) === 'False' && !isReady(before)) {
      return [];
    }
    const gate = gateOf(before) ?? 'not set';
    const ready = condition(before, 'Ready') ?? 'not set';
    return [`the image of ${images.join(', ')} was patched while the gate was ${gate} and Ready ${ready}`];
  }

  /** Any event: the gate opens when every patched container runs anew, or when its change was taken back. */
  event(before: SeenPod | undefined, pod: SeenPod): readonly string[] {
    const restarts = this.#restarts.get(pod.metadata.uid);
    if (
      restarts === undefined ||
      gateOf(pod) !== 'True' ||
      (before !== undefined && gateOf(before) === 'True')
    ) {
      return [];
    }
    this.#restarts.delete(pod.metadata.uid);
    return [...restarts].flatMap(([name, { containerID, image }]) => {
      const running = runningContainer(pod, name);
      if (running === undefined) {
        return [`the gate opened while container ${name} did not run`];
      }
      const takenBack = imageOf(pod, name) === image;
      return running === containerID && !takenBack
        ? [`the gate opened while container ${name} was still ${running}`]
        : [];
    });
  }

  forget(uid: string): void {
    this.#restarts.delete(uid);
  }
}

function imageOf(pod: SeenPod, container: string): string | undefined {
  return containersOf(pod).find(({ name }) => name === container)?.image;
}
