/** DaemonSets on real servers, in either workload API: what tests apply and wait for. */

import { afterAll, beforeAll } from '@jest/globals';

import type { DaemonSetObject } from '../../kubernetes/daemonset-adapter.ts';
import type { WorkloadApi } from '../../kubernetes/workload-api.ts';
import type { ControlPlane } from '../../local/control-plane.ts';
import { isReady } from '../../planners/availability.ts';
import type { Pod } from '../../planners/objects.ts';
import { playOnAll } from './both-apis.ts';
import type { CliRun } from './cli.ts';
import { runCli } from './cli.ts';
import { Cluster } from './cluster.ts';
import { useControlPlane } from './control-plane.ts';
import type { DaemonSetDescription } from './daemonset-manifest.ts';
import { apisOf } from './full-suite.ts';
import { untilObjects } from './until-objects.ts';
import { startWorker } from './worker-process.ts';
import type { WorkerProcess } from './worker-process.ts';

export const PODS = { group: '', version: 'v1', resource: 'pods' } as const;
export const NODES = { group: '', version: 'v1', resource: 'nodes' } as const;

export type DaemonGround = ReturnType<typeof useDaemonGround>;

/** Declares a worker. What it returns is for tests. */
export function useDaemonGround(api: WorkloadApi, controlPlane: () => ControlPlane) {
  let cluster: Cluster;
  let worker: WorkerProcess | undefined;

  async function start(): Promise<void> {
    worker = await startWorker({ controlPlane: controlPlane(), cluster: 'daemons' });
  }

  beforeAll(async () => {
    cluster = await Cluster.connect(controlPlane().kubeconfig, api);
    await start();
  }, 60_000);

  afterAll(async () => {
    await worker?.stop();
    cluster?.close();
  }, 30_000);

  const path = ({ namespace, name }: DaemonSetDescription) => cluster.path('DaemonSet', namespace, name);

  async function apply(description: DaemonSetDescription): Promise<void> {
    await cluster.apply('DaemonSet', description);
  }

  /** Applies it in a namespace of its own and waits until all is well. */
  async function deploy(change: Partial<DaemonSetDescription> = {}): Promise<DaemonSetDescription> {
    const namespace = await cluster.createNamespace('daemons');
    const description = { name: 'agent', namespace, image: 'agent:1', ...change };
    await apply(description);
    await untilReady(description);
    return description;
  }

  async function untilReady(
    { namespace, name }: DaemonSetDescription,
    timeoutMs = 60_000,
  ): Promise<DaemonSetObject> {
    return await cluster.untilReadyOf('DaemonSet', namespace, name, timeoutMs);
  }

  async function untilPods(
    { namespace }: Pick<DaemonSetDescription, 'namespace'>,
    what: string,
    predicate: (pods: readonly Pod[]) => boolean,
    timeoutMs = 60_000,
  ): Promise<readonly Pod[]> {
    return await untilObjects<Pod>(cluster.client, { ...PODS, namespace }, what, predicate, timeoutMs);
  }

  async function patchNode(name: string, patch: object): Promise<void> {
    await cluster.client.patch({ ...NODES, name }, 'merge', patch);
  }

  async function cli(words: string, namespace: string): Promise<CliRun> {
    const { kubeconfig, temporalAddress } = controlPlane();
    const environment = {
      KUBECONFIG: kubeconfig,
      TEMPORAL_ADDRESS: temporalAddress,
      FAIRLEAD_CLUSTER: 'daemons',
      FAIRLEAD_WORKLOAD_API: api,
    };
    return await runCli([...words.split(' '), '-n', namespace], { environment });
  }

  return {
    cluster: () => cluster,
    controlPlane,
    path,
    apply,
    deploy,
    untilReady,
    untilPods,
    patchNode,
    cli,
    /** Ends the worker as a crash would, and starts another. */
    crash: async (): Promise<void> => {
      await worker?.kill();
      await start();
    },
  };
}

/**
 * In both workload APIs, each on a control plane of its own: what is done to nodes of the one is nothing to the other. In the short suite in
 * `one` of them. `inApis` makes a test of a play: both go on at once, for most of it is waiting.
 */
export function useGrounds(nodes: number, one: WorkloadApi) {
  const grounds = apisOf(one).map((api) => {
    const ground = useDaemonGround(api, useControlPlane({ workloadApi: api, nodes }));
    return { api, ground };
  });
  function inApis(play: (ground: DaemonGround) => Promise<void>): () => Promise<void> {
    return async () => {
      await playOnAll(grounds, async ({ ground }) => {
        await play(ground);
      });
    };
  }
  return { inApis };
}

export function imageOf({ spec }: Pod): string {
  return spec.containers[0]?.image ?? '';
}

export function uidOf({ metadata }: Pod): string {
  return metadata.uid;
}

/** The nodes of pods, sorted. */
export function nodesOf(pods: readonly Pod[]): readonly string[] {
  return pods.map(({ spec }) => spec.nodeName ?? '').sort();
}

/** So many pods, all of them ready and of that image. */
export function allAt(image: string, count: number): (pods: readonly Pod[]) => boolean {
  return (pods) => pods.length === count && pods.every((pod) => isReady(pod) && imageOf(pod) === image);
}
