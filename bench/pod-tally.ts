/** The pods of a namespace as a watch sees them, counted as they change. */

import type { KubernetesClient } from '../kubernetes/client.ts';
import type { Pod } from '../planners/objects.ts';

interface PodState {
  readonly image: string;
  readonly ready: boolean;
  readonly terminating: boolean;
}

/** How many there are. */
export interface Counts {
  readonly all: number;
  /** Ready and not terminating. */
  readonly ready: number;
  /** At the image, not terminating. */
  readonly updated: number;
  /** Both. */
  readonly updatedReady: number;
}

export class PodTally {
  readonly #client: KubernetesClient;
  readonly #namespace: string;
  readonly #pods = new Map<string, PodState>();
  readonly #stopping = new AbortController();
  #image: string;
  #counts: Counts = { all: 0, ready: 0, updated: 0, updatedReady: 0 };
  #leastReady = Infinity;
  readonly #waiting = new Set<() => void>();
  #failure: unknown;

  private constructor(client: KubernetesClient, namespace: string, image: string) {
    this.#client = client;
    this.#namespace = namespace;
    this.#image = image;
  }

  /** Counts from now on; `image` is the one that pods are to have. */
  static async start(client: KubernetesClient, namespace: string, image: string): Promise<PodTally> {
    const tally = new PodTally(client, namespace, image);
    const path = { group: '', version: 'v1', resource: 'pods', namespace };
    const { items, resourceVersion } = await client.list<Pod>(path);
    for (const pod of items) tally.#add(pod);
    tally.#watch(resourceVersion).catch((error: unknown) => {
      if (tally.#stopping.signal.aborted) return;
      tally.#failure = error;
      tally.#changed();
    });
    return tally;
  }

  get counts(): Counts {
    return this.#counts;
  }

  /** The fewest that were ready at once since {@link aimAt} was last called. */
  get leastReady(): number {
    return this.#leastReady;
  }

  /** From now on pods are to have this image. */
  aimAt(image: string): void {
    this.#image = image;
    this.#counts = { all: 0, ready: 0, updated: 0, updatedReady: 0 };
    for (const pod of this.#pods.values()) this.#count(pod, 1);
    this.#leastReady = this.#counts.ready;
  }

  /** Resolves with the time (milliseconds since the epoch) at which the counts are so. Rejects after `timeoutMs`. */
  async until(what: string, predicate: (counts: Counts) => boolean, timeoutMs: number): Promise<number> {
    return await new Promise<number>((resolve, reject) => {
      const end = (act: () => void) => {
        clearTimeout(timer);
        this.#waiting.delete(look);
        act();
      };
      const late = () => {
        const { all, ready, updated, updatedReady } = this.#counts;
        const state = `${all} pods, ${ready} ready, ${updated} at ${this.#image}, ${updatedReady} both`;
        end(() => {
          reject(new Error(`${this.#namespace}: not "${what}" within ${timeoutMs / 1000} s: ${state}`));
        });
      };
      const timer = setTimeout(late, timeoutMs);
      const look = () => {
        if (this.#failure !== undefined) {
          end(() => reject(new Error('the watch of the bench ended', { cause: this.#failure })));
        } else if (predicate(this.#counts)) end(() => resolve(Date.now()));
      };
      this.#waiting.add(look);
      look();
    });
  }

  stop(): void {
    this.#stopping.abort();
  }

  async #watch(from: string): Promise<void> {
    const path = { group: '', version: 'v1', resource: 'pods', namespace: this.#namespace };
    let resourceVersion = from;
    while (!this.#stopping.signal.aborted) {
      const options = { resourceVersion, signal: this.#stopping.signal, allowWatchBookmarks: true };
      for await (const { type, object } of this.#client.watch<Pod>(path, options)) {
        ({ resourceVersion } = object.metadata);
        if (type === 'BOOKMARK') continue;
        this.#remove(object.metadata.name);
        if (type !== 'DELETED') this.#add(object);
        this.#leastReady = Math.min(this.#leastReady, this.#counts.ready);
        this.#changed();
      }
    }
  }

  #changed(): void {
    for (const look of this.#waiting) look();
  }

  #add(pod: Pod): void {
    const { name, deletionTimestamp } = pod.metadata;
    const conditions = pod.status?.conditions ?? [];
    const state: PodState = {
      image: pod.spec.containers[0]?.image ?? '',
      ready: conditions.some(({ type, status }) => type === 'Ready' && status === 'True'),
      terminating: deletionTimestamp !== undefined,
    };
    this.#pods.set(name, state);
    this.#count(state, 1);
  }

  #remove(name: string): void {
    const state = this.#pods.get(name);
    if (state === undefined) return;
    this.#pods.delete(name);
    this.#count(state, -1);
  }

  #count({ image, ready, terminating }: PodState, by: 1 | -1): void {
    const isReady = ready && !terminating;
    const isUpdated = image === this.#image && !terminating;
    const { all, ready: readyCount, updated, updatedReady } = this.#counts;
    this.#counts = {
      all: all + by,
      ready: readyCount + (isReady ? by : 0),
      updated: updated + (isUpdated ? by : 0),
      updatedReady: updatedReady + (isReady && isUpdated ? by : 0),
    };
  }
}
