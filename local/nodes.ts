/** Simulated nodes: made ready at once, kept alive by kwok. */

import type { KubernetesClient, ResourcePath } from '../kubernetes/client.ts';
import type { Node } from '../planners/objects.ts';
import { FIELD_MANAGER } from './cluster-client.ts';
import { VERSIONS } from './versions.ts';

const NODES: ResourcePath = { group: '', version: 'v1', resource: 'nodes' };
/** The annotation, with the value `fake`, of nodes that kwok manages. */
export const MANAGED_NODE = 'kwok.x-k8s.io/node';
/** Five nodes take 10,000 pods. */
const CAPACITY = { cpu: '1000', memory: '4Ti', pods: '2500', 'ephemeral-storage': '100Ti' };
const ZONES = ['zone-a', 'zone-b', 'zone-c'];

function nodeName(index: number): string {
  return `node-${index}`;
}

/** A simulated node as a kubelet would register it; `index` decides its zone and its address. */
export function nodeObject(name: string, index: number) {
  const now = new Date().toISOString();
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: {
      name,
      annotations: { [MANAGED_NODE]: 'fake', 'node.alpha.kubernetes.io/ttl': '0' },
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
        // Of the network for benchmarks (RFC 2544): nothing answers there, and every node has its own.
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
        kubeletVersion: `v${VERSIONS.kubernetes}-kwok`,
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

/** Adds nodes after the highest number there is; resolves with their names. */
export async function addNodes(client: KubernetesClient, count: number): Promise<readonly string[]> {
  const { items } = await client.list(NODES);
  const numbers = items.map(({ metadata }) => Number(/^node-(\d+)$/.exec(metadata.name)?.[1] ?? -1));
  const first = Math.max(-1, ...numbers) + 1;
  const indexes = Array.from({ length: count }, (_, offset) => first + offset);
  await Promise.all(
    indexes.map((index) =>
      client.create(NODES, nodeObject(nodeName(index), index), { fieldManager: FIELD_MANAGER }),
    ),
  );
  return indexes.map((index) => nodeName(index));
}

/** Deletes a node as if the machine were gone for good: its pods stay until the garbage collector finds them. */
export async function removeNode(client: KubernetesClient, name: string): Promise<void> {
  await client.delete({ ...NODES, name });
}

/** The nodes that kwok manages. Rejects with `ApiError`. */
export async function managedNodes(client: KubernetesClient): Promise<readonly Node[]> {
  const { items } = await client.list<Node>(NODES);
  return items.filter(({ metadata }) => metadata.annotations?.[MANAGED_NODE] === 'fake');
}
