/** Everything that happens to the ReplicationControllers and pods of a namespace, and what is to be said of it afterwards. */

import type { KubernetesClient } from '../../kubernetes/client.ts';
import type { KubernetesObject, Pod } from '../../planners/objects.ts';
import type { ReplicationController } from '../../planners/replication-controller.ts';
import { isActive, isReady } from '../../planners/availability.ts';
import { controllerOf } from '../../planners/controller-ref.ts';
import { found } from './eventually.ts';
import { everyEvent } from './every-event.ts';
import type { SeenEvent } from './every-event.ts';
import { patient } from './patience.ts';

interface Seen<T> extends SeenEvent<T> {
  /** Milliseconds, monotonic, at which this process was told. */
  readonly at: number;
}

export class ControllerHistory {
  readonly controllers: Seen<ReplicationController>[] = [];
  readonly pods: Seen<Pod>[] = [];
  readonly #stop = new AbortController();
  readonly #listeners = new Set<() => void>();
  readonly #watches: readonly Promise<void>[];
  #error: unknown;

  constructor(client: KubernetesClient, namespace: string) {
    const watch = async <T extends KubernetesObject>(resource: string, events: Seen<T>[]): Promise<void> => {
      const path = { group: '', version: 'v1', resource, namespace };
      for await (const event of everyEvent<T>(client, path, this.#stop.signal)) {
        events.push({ ...event, at: performance.now() });
        for (const listener of this.#listeners) listener();
      }
    };
    const failed = (error: unknown) => {
      if (!this.#stop.signal.aborted) this.#error = error;
    };
    this.#watches = [
      watch<ReplicationController>('replicationcontrollers', this.controllers).catch(failed),
      watch<Pod>('pods', this.pods).catch(failed),
    ];
  }

  /** The first event of a controller, told already or to come, that matches; called at once when it comes. */
  async untilController(
    what: string,
    matches: (seen: Seen<ReplicationController>) => boolean,
    timeoutMs = 30_000,
  ): Promise<Seen<ReplicationController>> {
    return await new Promise((resolve, reject) => {
      const end = (act: () => void) => {
        clearTimeout(timer);
        this.#listeners.delete(look);
        act();
      };
      const look = () => {
        const event = this.controllers.find(matches);
        if (event !== undefined) end(() => resolve(event));
      };
      const timer = setTimeout(
        () => end(() => reject(new Error(`not within ${String(patient(timeoutMs))} ms: ${what}`))),
        patient(timeoutMs),
      );
      this.#listeners.add(look);
      look();
    });
  }

  /** Until so many pods are Ready in what was told: another watch may know it sooner. */
  async untilReady(count: number): Promise<void> {
    await found(`${String(count)} pods are seen to be ready`, async () => {
      const present = new Map<string, Pod>();
      for (const { type, object } of this.pods) {
        if (type === 'DELETED') present.delete(object.metadata.uid);
        else present.set(object.metadata.uid, object);
      }
      const ready = [...present.values()].filter((pod) => isActive(pod) && isReady(pod));
      return ready.length === count ? true : undefined;
    });
  }

  /** What became of each controller and pod after `from`, a line each, for who has to find out why there were too few. */
  story(from: number): readonly string[] {
    const pods = this.pods.map(({ type, object, at }) => {
      const state = isActive(object) ? (isReady(object) ? 'ready' : 'not ready') : 'going';
      return {
        at,
        what: `${type} ${object.metadata.name} ${state} of ${controllerOf(object)?.uid ?? 'nobody'}`,
      };
    });
    const controllers = this.controllers.map(({ type, object: { metadata, spec, status }, at }) => ({
      at,
      what: `${type} ${metadata.name} ${metadata.uid} ${String(status?.replicas)} of ${String(spec.replicas)}`,
    }));
    return [...pods, ...controllers]
      .filter(({ at }) => at >= from)
      .toSorted((one, other) => one.at - other.at)
      .map(({ at, what }) => `${String(Math.round(at - from))} ms: ${what}`);
  }

  /** The extremes after `from`, with what became of each controller and pod where they are not as expected. */
  within(from: number, expected: { readonly most: number; readonly fewestReady: number }): object {
    const extremes = this.extremes(from);
    const isMet = extremes.most === expected.most && extremes.fewestReady === expected.fewestReady;
    return isMet ? extremes : { ...extremes, story: this.story(from) };
  }

  /** Pods that were there and not terminating, and those of them that were Ready: the most and the fewest after `from`. @throws what ended a watch */
  extremes(
    from: number,
    isMeant: (pod: Pod) => boolean = () => true,
  ): { readonly most: number; readonly fewestReady: number } {
    if (this.#error !== undefined) throw this.#error;
    const present = new Map<string, Pod>();
    let [most, fewestReady] = [0, Number.POSITIVE_INFINITY];
    for (const { type, object, at } of this.pods.filter((seen) => isMeant(seen.object))) {
      if (type === 'DELETED') present.delete(object.metadata.uid);
      else present.set(object.metadata.uid, object);
      if (at < from) continue;
      const active = [...present.values()].filter(isActive);
      most = Math.max(most, active.length);
      fewestReady = Math.min(fewestReady, active.filter(isReady).length);
    }
    return { most, fewestReady };
  }

  /** Milliseconds in which neither controller was there: from the end of the one to the beginning of the other. */
  gap(next: string, name: string): number {
    const gone = this.controllers.find(
      ({ type, object }) => type === 'DELETED' && object.metadata.name === next,
    );
    const back = this.controllers.find(
      ({ type, object, at }) =>
        type === 'ADDED' && object.metadata.name === name && at >= (gone?.at ?? Infinity),
    );
    return (back?.at ?? Number.NaN) - (gone?.at ?? Number.NaN);
  }

  /**
   * The `round`th rename: milliseconds in which no controller looked after the pods, from the deletion of the next one (that it is held
   * by a finalizer makes no pods) to the return of the name; and the uids of the pods that the next controller left.
   */
  handOver(name: string, round: number): { readonly gap: number; readonly atDeletion: readonly string[] } {
    const isNext = ({ object: { metadata } }: Seen<ReplicationController>) =>
      metadata.name.startsWith(`${name}-`);
    const gone = this.controllers.filter((seen) => seen.type === 'DELETED' && isNext(seen))[round - 1];
    const uid = gone?.object.metadata.uid;
    const back = this.controllers.find(
      ({ type, object, at }) =>
        type === 'ADDED' && object.metadata.name === name && at >= (gone?.at ?? Infinity),
    );
    const asked = this.controllers.find(
      ({ object: { metadata } }) => metadata.uid === uid && metadata.deletionTimestamp !== undefined,
    );
    const active = new Set<string>();
    for (const { type, object, at } of this.pods) {
      if (at > (gone?.at ?? 0)) break;
      const wasOwned = object.metadata.ownerReferences?.some((owner) => owner.uid === uid) === true;
      if (wasOwned && type !== 'DELETED' && isActive(object)) active.add(object.metadata.uid);
      if (type === 'DELETED' || !isActive(object)) active.delete(object.metadata.uid);
    }
    if (gone === undefined || back === undefined)
      throw new Error(`no rename ${String(round)} of ${name} was seen`);
    return { gap: back.at - (asked ?? gone).at, atDeletion: [...active].sort() };
  }

  /** Waits until the watches have told what is so by now. */
  async caughtUp(pods: readonly Pod[]): Promise<void> {
    const known = () =>
      new Set(this.pods.map(({ object }) => `${object.metadata.uid} ${object.metadata.resourceVersion}`));
    await found('the watch told of every pod', async () => {
      if (this.#error !== undefined) throw this.#error;
      const told = known();
      return pods.every(({ metadata }) => told.has(`${metadata.uid} ${metadata.resourceVersion}`))
        ? true
        : undefined;
    });
  }

  async close(): Promise<void> {
    this.#stop.abort();
    await Promise.all(this.#watches);
  }
}
