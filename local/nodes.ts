/** Simulated nodes: made ready at once, kept alive by kwok. */

import type { AdminApi } from './api-request.ts';

/** Ten nodes take 10,000 pods twice over. */
const CAPACITY = { cpu: '1000', memory: '4Ti', pods: '2500', 'ephemeral-storage': '100Ti' };
const ZONES = ['zone-a', 'zone-b', 'zone-c'];

export function nodeName(index: number): string {
  return `node-${index}`;
}

function nodeObject(index: number): unknown {
  const name = nodeName(index);
  const now = new Date().toISOString();
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: {
      name,
      annotations: { 'kwok.x-k8s.io/node': 'fake', 'node.alpha.kubernetes.io/ttl': '0' },
      labels: {
        'kubernetes.io/hostname': name,
        'kubernetes.io/os': 'linux',
        'kubernetes.io/arch': 'amd64',
        'topology.kubernetes.io/region': 'local',
        'topology.kubernetes.io/zone': ZONES[index % ZONES.length],
      },
    },
    spec: { providerID: `kwok://${name}` },
    status: {
      capacity: CAPACITY,
      allocatable: CAPACITY,
      addresses: [
        // Of the network for documentation: nothing answers there, and every node has its own.
        { type: 'InternalIP', address: `198.18.${Math.floor(index / 250)}.${(index % 250) + 1}` },
        { type: 'Hostname', address: name },
      ],
      nodeInfo: {
        architecture: 'amd64',
        operatingSystem: 'linux',
        bootID: '',
        machineID: '',
        systemUUID: '',
        osImage: 'simulated',
        kernelVersion: 'simulated',
        containerRuntimeVersion: 'kwok://simulated',
        kubeletVersion: 'v1.36.3-kwok',
        kubeProxyVersion: '',
      },
      conditions: [
        {
          type: 'Ready',
          status: 'True',
          reason: 'KubeletReady',
          message: 'kubelet is posting ready status',
          lastHeartbeatTime: now,
          lastTransitionTime: now,
        },
      ],
    },
  };
}

interface NodeList {
  readonly items: readonly { readonly metadata: { readonly name: string } }[];
}

/** Adds nodes after the highest number there is; resolves with their names. */
export async function addNodes(admin: AdminApi, count: number): Promise<readonly string[]> {
  const list = (await admin.request('GET', '/api/v1/nodes')).body as NodeList;
  const numbers = list.items.map(({ metadata }) => Number(/^node-(\d+)$/.exec(metadata.name)?.[1] ?? -1));
  const first = Math.max(-1, ...numbers) + 1;
  const indexes = Array.from({ length: count }, (_, offset) => first + offset);
  await Promise.all(
    indexes.map(async (index) => {
      const answer = await admin.request('POST', '/api/v1/nodes', nodeObject(index));
      if (answer.status !== 201) {
        throw new Error(
          `cannot create node ${nodeName(index)}: ${answer.status} ${JSON.stringify(answer.body)}`,
        );
      }
    }),
  );
  return indexes.map((index) => nodeName(index));
}

/** Deletes a node as if the machine were gone for good: its pods stay until the garbage collector finds them. */
export async function removeNode(admin: AdminApi, name: string): Promise<void> {
  const answer = await admin.request('DELETE', `/api/v1/nodes/${name}`);
  if (answer.status !== 200) {
    throw new Error(`cannot delete node ${name}: ${answer.status} ${JSON.stringify(answer.body)}`);
  }
}
