/** Everything that happens to the pods of a namespace, in order, and waiting for what is to happen. */

import type { KubernetesClient } from '../../kubernetes/client.ts';
import { eventually } from './eventually.ts';
import { everyEvent } from './every-event.ts';

export interface ContainerState {
  readonly waiting?: { readonly reason: string };
  readonly running?: object;
  readonly terminated?: { readonly exitCode: number; readonly reason: string };
}

export interface ContainerStatus {
  readonly name: string;
  readonly image: string;
  readonly imageID: string;
  readonly containerID?: string;
  readonly restartCount: number;
  readonly ready: boolean;
  readonly started: boolean;
  readonly state: ContainerState;
  readonly lastState?: ContainerState;
  readonly resources?: unknown;
}

export interface ObservedPod {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly uid: string;
    readonly resourceVersion: string;
    readonly generation: number;
    readonly deletionTimestamp?: string;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly spec: { readonly nodeName?: string };
  readonly status: {
    readonly phase: string;
    readonly observedGeneration?: number;
    readonly podIP?: string;
    readonly conditions?: readonly {
      readonly type: string;
      readonly status: string;
      readonly reason?: string;
      readonly message?: string;
      readonly observedGeneration?: number;
    }[];
    readonly containerStatuses?: readonly ContainerStatus[];
    readonly initContainerStatuses?: readonly ContainerStatus[];
  };
}

export interface ObservedEvent {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly pod: ObservedPod;
  /** Milliseconds, monotonic. */
  readonly at: number;
}

/** Status of a condition; undefined if the pod has none of the type. */
export function condition(pod: ObservedPod, type: string): string | undefined {
  return pod.status.conditions?.find((one) => one.type === type)?.status;
}

/** The status of the pod's first container, or of the one named (init containers included). */
export function container(pod: ObservedPod, name?: string): ContainerStatus | undefined {
  const all = [...(pod.status.containerStatuses ?? []), ...(pod.status.initContainerStatuses ?? [])];
  return name === undefined ? all[0] : all.find((one) => one.name === name);
}

export class PodHistory {
  readonly #events: ObservedEvent[] = [];
  readonly #stop = new AbortController();
  readonly #watching: Promise<void>;
  #error: unknown;

  constructor(client: KubernetesClient, namespace: string) {
    this.#watching = this.#watch(client, namespace).catch((error: unknown) => {
      if (!this.#stop.signal.aborted) this.#error = error;
    });
  }

  async #watch(client: KubernetesClient, namespace: string): Promise<void> {
    const path = { group: '', version: 'v1', resource: 'pods', namespace };
    for await (const { type, object } of everyEvent<ObservedPod>(client, path, this.#stop.signal)) {
      this.#events.push({ type, pod: object, at: performance.now() });
    }
  }

  /** Events of one pod so far. */
  of(name: string): readonly ObservedEvent[] {
    return this.#events.filter(({ pod }) => pod.metadata.name === name);
  }

  /** The first event of the pod, at or after `from`, for which the condition holds. */
  async until(
    name: string,
    what: string,
    holds: (pod: ObservedPod, type: ObservedEvent['type']) => boolean,
    from = 0,
  ): Promise<ObservedEvent> {
    let found: ObservedEvent | undefined;
    const look = () => {
      found = this.of(name).find(({ pod, type, at }) => at >= from && holds(pod, type));
      return found !== undefined || this.#error !== undefined;
    };
    try {
      await eventually(`${name} ${what}`, look, 15_000);
    } catch (error) {
      const last = this.of(name).at(-1);
      throw new Error(`${String(error)}; last seen: ${last?.type} ${JSON.stringify(last?.pod.status)}`, {
        cause: error,
      });
    }
    if (found === undefined) throw this.#error;
    return found;
  }

  async close(): Promise<void> {
    this.#stop.abort();
    await this.#watching;
  }
}
