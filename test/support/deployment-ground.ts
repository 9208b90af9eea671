/** Deployments on real servers, in either workload API: what tests apply, wait for and check at every event. */

import { rm } from 'node:fs/promises';

import { afterAll, beforeAll } from '@jest/globals';

import type { DeploymentObject } from '../../kubernetes/deployment-adapter.ts';
import type { WorkloadApi } from '../../kubernetes/workload-api.ts';
import type { ControlPlane } from '../../local/control-plane.ts';
import { WORKLOAD_RESOURCES, groupVersion } from '../../kubernetes/workload-api.ts';
import { isReady } from '../../planners/availability.ts';
import { DEPLOYMENT_ANNOTATION } from '../../planners/names.ts';
import type { Condition, Pod, ReplicaSet } from '../../planners/objects.ts';
import { builtWorker, mutantOf } from './built-worker.ts';
import type { CliRun } from './cli.ts';
import { runCli } from './cli.ts';
import { Cluster } from './cluster.ts';
import type { PodEvent } from './cluster.ts';
import type { DeploymentDescription } from './deployment-manifest.ts';
import { deploymentManifest } from './deployment-manifest.ts';
import { untilObjects } from './until-objects.ts';
import { startWorker } from './worker-process.ts';
import type { WorkerProcess } from './worker-process.ts';

const PODS = { group: '', version: 'v1', resource: 'pods' } as const;
const REPLICA_SETS = { group: 'apps', version: 'v1', resource: 'replicasets' } as const;

export type DeploymentGround = ReturnType<typeof useDeploymentGround>;

/** Declares a worker, with a mutation one that does wrong. What it returns is for tests. */
export function useDeploymentGround(
  api: WorkloadApi,
  controlPlane: () => ControlPlane,
  mutation?: Parameters<typeof mutantOf>[1],
) {
  // Two workers on one control plane: each with ids and a Lease of its own.
  const owner = `deployments-${groupVersion(api).group.replace('.', '-')}`;
  let cluster: Cluster;
  let worker: WorkerProcess | undefined;
  let mutant: string | undefined;

  beforeAll(async () => {
    cluster = await Cluster.connect(controlPlane().kubeconfig, api);
    if (mutation !== undefined) mutant = await mutantOf(await builtWorker(), mutation);
    worker = await startWorker({
      controlPlane: controlPlane(),
      cluster: owner,
      ...(mutant !== undefined && { dist: mutant }),
    });
    // The worker may have to be built first.
  }, 180_000);

  afterAll(async () => {
    await worker?.stop();
    cluster?.close();
    if (mutant !== undefined) await rm(mutant, { recursive: true });
  }, 30_000);

  const path = ({ namespace, name }: Pick<DeploymentDescription, 'namespace' | 'name'>) => ({
    ...groupVersion(api),
    resource: WORKLOAD_RESOURCES.Deployment,
    namespace,
    name,
  });

  async function apply(wanted: DeploymentDescription): Promise<void> {
    await cluster.client.patch(path(wanted), 'apply', deploymentManifest(api, wanted), {
      fieldManager: 'test',
      force: true,
      fieldValidation: 'Strict',
    });
  }

  /** Applies it in a namespace of its own and waits until all is well. */
  async function deploy(change: Partial<DeploymentDescription> = {}): Promise<DeploymentDescription> {
    const namespace = await cluster.createNamespace('deployments');
    const wanted = { name: 'api', namespace, image: 'api:1', replicas: 4, ...change };
    await apply(wanted);
    await untilReady(wanted);
    return wanted;
  }

  async function until(
    wanted: Pick<DeploymentDescription, 'namespace' | 'name'>,
    what: string,
    predicate: (deployment: DeploymentObject) => boolean,
    timeoutMs = 30_000,
  ): Promise<DeploymentObject> {
    return await cluster.until<DeploymentObject>(path(wanted), what, predicate, timeoutMs);
  }

  async function untilReady(
    wanted: Pick<DeploymentDescription, 'namespace' | 'name'>,
  ): Promise<DeploymentObject> {
    return await until(
      wanted,
      'Ready at its newest generation',
      (deployment) =>
        conditionOf(deployment, 'Ready')?.status === 'True' &&
        deployment.status?.observedGeneration === deployment.metadata.generation,
    );
  }

  async function untilGone(wanted: Pick<DeploymentDescription, 'namespace' | 'name'>): Promise<void> {
    await cluster.untilGone(path(wanted));
  }

  async function untilSets(
    { namespace }: Pick<DeploymentDescription, 'namespace'>,
    what: string,
    predicate: (sets: readonly ReplicaSet[]) => boolean,
  ): Promise<readonly ReplicaSet[]> {
    const sets = await untilObjects<ReplicaSet>(
      cluster.client,
      { ...REPLICA_SETS, namespace },
      what,
      predicate,
      30_000,
    );
    return [...sets].sort((a, b) => revisionOf(a) - revisionOf(b));
  }

  async function untilPods(
    { namespace }: Pick<DeploymentDescription, 'namespace'>,
    what: string,
    predicate: (pods: readonly Pod[]) => boolean,
  ): Promise<readonly Pod[]> {
    return await untilObjects<Pod>(cluster.client, { ...PODS, namespace }, what, predicate, 30_000);
  }

  async function cli(words: string, namespace: string): Promise<CliRun> {
    const { kubeconfig, temporalAddress } = controlPlane();
    const environment = {
      KUBECONFIG: kubeconfig,
      TEMPORAL_ADDRESS: temporalAddress,
      FAIRLEAD_CLUSTER: owner,
      FAIRLEAD_WORKLOAD_API: api,
    };
    return await runCli([...words.split(' '), '-n', namespace], { environment });
  }

  return {
    /** FAIRLEAD_CLUSTER of the worker. */
    owner,
    api,
    cluster: () => cluster,
    controlPlane,
    path,
    apply,
    deploy,
    until,
    untilReady,
    untilGone,
    untilSets,
    untilPods,
    cli,
  };
}

export function conditionOf({ status }: DeploymentObject, type: string): Condition | undefined {
  return status?.conditions?.find((condition) => condition.type === type);
}

export function revisionOf({ metadata }: ReplicaSet): number {
  return Number(metadata.annotations?.[DEPLOYMENT_ANNOTATION.revision]);
}

export function imageOf({ spec }: Pod): string {
  return spec.containers[0]?.image ?? '';
}

export function uidOf({ metadata }: Pod): string {
  return metadata.uid;
}

/** So many pods, all of them ready and of that image. */
export function allAt(image: string, count: number): (pods: readonly Pod[]) => boolean {
  return (pods) => pods.length === count && pods.every((pod) => isReady(pod) && imageOf(pod) === image);
}

/** The fewest ready pods and the most pods that are not being deleted, over all events from the first on. */
export function extremes(
  before: readonly Pod[],
  events: readonly PodEvent[],
): { fewest: number; most: number } {
  const there = new Map(before.map((pod) => [pod.metadata.uid, isReady(pod)]));
  const count = () => [...there.values()].filter((ready) => ready).length;
  let [fewest, most] = [count(), there.size];
  for (const { type, pod } of events) {
    const { uid, deletionTimestamp } = pod.metadata;
    if (type === 'DELETED' || deletionTimestamp !== undefined) there.delete(uid);
    else there.set(uid, isReady(pod));
    fewest = Math.min(fewest, count());
    most = Math.max(most, there.size);
  }
  return { fewest, most };
}
