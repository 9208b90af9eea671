/**
 * `kubectl drain` on a node with pods of every kind: what it takes, what it leaves, and what Fairlead does about it. With apps/v1 as
 * with the built-in controllers; of custom resources kubectl does not know that a DaemonSet's pods come back at once.
 */

import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import type { WorkloadApi } from '../../kubernetes/workload-api.ts';
import type { Node, Pod } from '../../planners/objects.ts';
import type { WorkloadKind } from '../../planners/workload.ts';
import { findBinary } from '../../local/binaries.ts';
import { builtWorker } from '../support/built-worker.ts';
import { Cluster } from '../support/cluster.ts';
import { useControlPlane } from '../support/control-plane.ts';
import { isPodReady } from '../support/scene.ts';
import { untilObjects } from '../support/until-objects.ts';
import { startWorker } from '../support/worker-process.ts';
import type { WorkerProcess } from '../support/worker-process.ts';

const APIS: readonly WorkloadApi[] = ['fairlead.dev/v1beta1', 'apps/v1'];
const NAMES: Readonly<Record<WorkloadKind, string>> = {
  StatefulSet: 'web',
  DaemonSet: 'agent',
  Deployment: 'api',
};
const KINDS: readonly WorkloadKind[] = ['StatefulSet', 'DaemonSet', 'Deployment'];
const run = promisify(execFile);

describe.each(APIS)('kubectl drain (%s)', (api) => {
  // Each its own: kubectl refuses to drain a node with pods of a DaemonSet of the CRD.
  const controlPlane = useControlPlane({ workloadApi: api, nodes: 3 });
  let cluster: Cluster;
  let worker: WorkerProcess;
  let kubectl: string;

  beforeAll(async () => {
    await builtWorker();
    kubectl = await kubectlPath();
    cluster = await Cluster.connect(controlPlane().kubeconfig, api);
    worker = await startWorker({ controlPlane: controlPlane(), cluster: 'drain' });
  }, 600_000);

  afterAll(async () => {
    await worker?.stop();
    cluster?.close();
  }, 30_000);

  /** Its output when it succeeds; rejects with it when it does not. */
  async function drain(node: string, ...options: readonly string[]): Promise<string> {
    const words = ['drain', node, '--timeout=60s', ...options, '--kubeconfig', controlPlane().kubeconfig];
    const { stdout, stderr } = await run(kubectl, words);
    return stdout + stderr;
  }

  async function deploy(): Promise<string> {
    const namespace = await cluster.createNamespace('drain');
    await cluster.apply('StatefulSet', {
      name: 'web',
      namespace,
      replicas: 3,
      image: 'app:1',
      parallel: true,
    });
    await cluster.apply('DaemonSet', { name: 'agent', namespace, image: 'app:1' });
    await cluster.apply('Deployment', { name: 'api', namespace, replicas: 6, image: 'app:1' });
    await cluster.client.create(
      { group: 'policy', version: 'v1', resource: 'poddisruptionbudgets', namespace },
      {
        apiVersion: 'policy/v1',
        kind: 'PodDisruptionBudget',
        metadata: { name: 'api' },
        spec: { maxUnavailable: 1, selector: { matchLabels: { app: 'api' } } },
      },
    );
    for (const kind of KINDS) await cluster.untilReadyOf(kind, namespace, NAMES[kind]);
    return namespace;
  }

  function podsPath(namespace: string) {
    return { group: '', version: 'v1', resource: 'pods', namespace };
  }

  async function pods(namespace: string): Promise<readonly Pod[]> {
    return (await cluster.client.list<Pod>(podsPath(namespace))).items;
  }

  /** The node of some pod of the Deployment. */
  async function busyNode(namespace: string): Promise<string> {
    const found = (await pods(namespace)).find(({ metadata }) => metadata.labels?.['app'] === 'api');
    return found?.spec.nodeName ?? '';
  }

  async function uncordon(node: string): Promise<void> {
    await run(kubectl, ['uncordon', node, '--kubeconfig', controlPlane().kubeconfig]);
  }

  function agentOn(node: string, all: readonly Pod[]): Pod | undefined {
    return all.find(({ metadata, spec }) => metadata.labels?.['app'] === 'agent' && spec.nodeName === node);
  }

  /** All pods of web and api are elsewhere, as many as wanted, and ready. */
  async function untilMoved(namespace: string, node: string): Promise<void> {
    await untilObjects<Pod>(
      cluster.client,
      podsPath(namespace),
      `9 pods ready beside ${node}`,
      (all) =>
        all.filter((pod) => pod.metadata.labels?.['app'] !== 'agent' && isPodReady(pod)).length === 9 &&
        all.every(({ spec, metadata }) => spec.nodeName !== node || metadata.labels?.['app'] === 'agent'),
      60_000,
    );
  }

  /** A rollout goes to a node that takes no new pods, as one of a built-in DaemonSet does. */
  async function rollAgents(namespace: string, node: string): Promise<void> {
    await cluster.apply('DaemonSet', { name: 'agent', namespace, image: 'app:2' });
    await cluster.untilReadyOf('DaemonSet', namespace, 'agent');
    const agent = agentOn(node, await pods(namespace));
    expect(agent?.spec.containers[0]?.image).toBe('app:2');
  }

  if (api === 'apps/v1') {
    it('--ignore-daemonsets leaves their pods and moves all others, within their budget', async () => {
      const namespace = await deploy();
      const node = await busyNode(namespace);
      const before = agentOn(node, await pods(namespace));
      const said = await drain(node, '--ignore-daemonsets');
      expect(said).toContain(`ignoring DaemonSet-managed Pods`);
      expect(said).toContain(before?.metadata.name);
      await untilMoved(namespace, node);
      const after = agentOn(node, await pods(namespace));
      expect(after?.metadata.uid).toBe(before?.metadata.uid);
      for (const kind of KINDS) await cluster.untilReadyOf(kind, namespace, NAMES[kind]);
      await rollAgents(namespace, node);
      await uncordon(node);
    }, 150_000);

    it('without it refuses for a DaemonSet that it finds', async () => {
      const namespace = await deploy();
      const node = await busyNode(namespace);
      await expect(drain(node)).rejects.toThrow('cannot delete DaemonSet-managed Pods');
      await uncordon(node);
    }, 90_000);
  } else {
    it('--ignore-daemonsets does not find the DaemonSet and refuses', async () => {
      const namespace = await deploy();
      const node = await busyNode(namespace);
      const uids = (await pods(namespace)).map(({ metadata }) => metadata.uid).sort();
      await expect(drain(node, '--ignore-daemonsets')).rejects.toThrow('daemonsets.apps "agent" not found');
      expect((await pods(namespace)).map(({ metadata }) => metadata.uid).sort()).toEqual(uids);
      await uncordon(node);
    }, 90_000);

    it('--pod-selector leaves the pods of a DaemonSet and moves all others, within their budget', async () => {
      const namespace = await deploy();
      const node = await busyNode(namespace);
      const before = agentOn(node, await pods(namespace));
      await drain(node, '--pod-selector=app!=agent');
      await untilMoved(namespace, node);
      expect(agentOn(node, await pods(namespace))?.metadata.uid).toBe(before?.metadata.uid);
      for (const kind of KINDS) await cluster.untilReadyOf(kind, namespace, NAMES[kind]);
      await rollAgents(namespace, node);
      await uncordon(node);
    }, 150_000);

    it('--force evicts the pods of a DaemonSet once: others are there in their place at once', async () => {
      const namespace = await deploy();
      const node = await busyNode(namespace);
      const before = agentOn(node, await pods(namespace));
      await drain(node, '--ignore-daemonsets', '--force');
      await untilMoved(namespace, node);
      const [cordoned] = await untilObjects<Pod>(
        cluster.client,
        podsPath(namespace),
        'another agent',
        (all) => {
          const agent = agentOn(node, all);
          return agent !== undefined && isPodReady(agent) && agent.metadata.uid !== before?.metadata.uid;
        },
        30_000,
      );
      expect(cordoned).toBeDefined();
      const { spec } = await cluster.client.get<Node>({
        group: '',
        version: 'v1',
        resource: 'nodes',
        name: node,
      });
      expect(spec?.unschedulable).toBe(true);
      await uncordon(node);
    }, 150_000);
  }
});

/** Whichever there is: drain has been the same for years. Without one, that of the release is built. */
async function kubectlPath(): Promise<string> {
  try {
    await run('kubectl', ['version', '--client']);
    return 'kubectl';
  } catch {
    return await findBinary('kubectl');
  }
}
