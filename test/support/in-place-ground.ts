/** A worker and StatefulSets that are updated in place, in one of both workload APIs. */

import { afterAll, beforeAll } from '@jest/globals';

import type { ControlPlane } from '../../local/control-plane.ts';
import { IN_PLACE_GATE } from '../../planners/names.ts';
import type { Pod } from '../../planners/objects.ts';
import type { PodEvent } from './cluster.ts';
import { Cluster } from './cluster.ts';
import type { StatefulSetDescription } from './statefulset-manifest.ts';
import { startWorker } from './worker-process.ts';
import type { WorkerProcess } from './worker-process.ts';

export interface InPlaceGround {
  readonly cluster: () => Cluster;
  /** Three pods at `app:1`, all at a time, unless said otherwise; resolves when they are ready. */
  readonly deploy: (change: Partial<StatefulSetDescription>) => Promise<StatefulSetDescription>;
  /** Resolves when the change is rolled out. */
  readonly update: (
    description: StatefulSetDescription,
    change: Partial<StatefulSetDescription>,
  ) => Promise<void>;
}

/** In the present `describe`: one worker, called so, for all its tests. */
export function useInPlaceGround(owner: string, controlPlane: () => ControlPlane): InPlaceGround {
  let cluster: Cluster;
  let worker: WorkerProcess;

  beforeAll(async () => {
    const { kubeconfig, workloadApi } = controlPlane();
    cluster = await Cluster.connect(kubeconfig, workloadApi);
    worker = await startWorker({ controlPlane: controlPlane(), cluster: owner });
  }, 180_000);

  afterAll(async () => {
    await worker?.stop();
    cluster?.close();
  }, 30_000);

  return {
    cluster: () => cluster,
    async deploy(change) {
      const description: StatefulSetDescription = {
        name: 'web',
        namespace: await cluster.createNamespace(owner),
        replicas: 3,
        image: 'app:1',
        parallel: true,
        maxUnavailable: 3,
        podUpdatePolicy: 'InPlaceIfPossible',
        ...change,
      };
      await cluster.applySet(description);
      await cluster.untilReady(description.namespace, description.name);
      return description;
    },
    async update(description, change) {
      await cluster.applySet({ ...description, ...change });
      await cluster.untilReady(description.namespace, description.name);
    },
  };
}

/** Of its first container. */
export function imageOf(pod: Pod): string | undefined {
  return pod.spec.containers[0]?.image;
}

/** What an update in place keeps. */
export function identityOf(pod: Pod): unknown {
  return [pod.metadata.name, pod.metadata.uid, pod.status?.podIP, pod.spec.nodeName];
}

export function statusOf(pod: Pod, container: string) {
  return pod.status?.containerStatuses?.find((status) => status.name === container);
}

/** Of all its containers. */
export function restartsOf(pod: Pod): number {
  return (pod.status?.containerStatuses ?? []).reduce((sum, status) => sum + status.restartCount, 0);
}

function conditionOf(pod: Pod, type: string): string | undefined {
  return pod.status?.conditions?.find((condition) => condition.type === type)?.status;
}

export function isReady(pod: Pod): boolean {
  return conditionOf(pod, 'Ready') === 'True';
}

export function isGateClosed(pod: Pod): boolean {
  return conditionOf(pod, IN_PLACE_GATE) === 'False';
}

/** First time at which each pod is so, in the order of these times. */
export function firsts(events: readonly PodEvent[], predicate: (pod: Pod) => boolean): Map<string, number> {
  const found = new Map<string, number>();
  for (const { pod, at: time } of events) {
    if (!found.has(pod.metadata.name) && predicate(pod)) {
      found.set(pod.metadata.name, time);
    }
  }
  return found;
}

export function at(times: ReadonlyMap<string, number>, pod: string): number {
  const time = times.get(pod);
  if (time === undefined) {
    throw new Error(`${pod} never was so; seen: ${[...times.keys()].join(', ')}`);
  }
  return time;
}
