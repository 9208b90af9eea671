/** A second kind: an agent on every node, updated zone after zone. */

import { formatTable } from '../cli/table.ts';
import { groupVersion } from '../kubernetes/workload-api.ts';
import { isReady, isTerminating } from '../planners/availability.ts';
import type { Node, Pod } from '../planners/objects.ts';
import { NAMESPACE } from './accounts.ts';
import { agentImageOf, agentManifest } from './manifests.ts';
import type { Stage } from './stage.ts';
import type { Step } from './step.ts';
import { check } from './step.ts';

const ZONE = 'topology.kubernetes.io/zone';
const TIMEOUT_MS = 60_000;
const LOOK_MS = 100;

/** What was seen on a node: when its pod was new and ready for the first time, milliseconds since the epoch. */
interface NodeLine {
  readonly node: string;
  readonly zone: string;
  readonly at: number;
}

async function agent(stage: Stage): Promise<string> {
  const { screen, observer } = stage;
  const nodes = await zonesOf(stage);
  await stage.commitFiles(agentFile('v1'), 'an agent on every node');
  const first = await untilEverywhere(stage, 'v1', nodes);
  const begun = Date.now();
  await stage.commitFiles(agentFile('v2'), 'agent v2');
  const lines = await untilEverywhere(stage, 'v2', nodes);
  screen.quote(
    formatTable<NodeLine>(
      [
        { title: 'ZONE', value: ({ zone }) => zone },
        { title: 'NODE', value: ({ node }) => node },
        { title: 'AGENT V2 READY AFTER', value: ({ at }) => `${((at - begun) / 1000).toFixed(1)} s` },
      ],
      lines,
    ),
  );
  const order = lines.map(({ zone }) => zone);
  check(order.join() === order.toSorted().join(), `the zones were updated in the order ${order.join(', ')}`);
  const moved = observer.imageChanges(begun);
  check(moved.length === 0, `${moved.map(({ pod }) => pod).join(', ')} of web moved as well`);
  await stage.fairlead('get');
  return `${String(first.length)} nodes, ${[...new Set(order)].join(' → ')}`;
}

const agentFile = (tag: string) => ({ 'agent.yaml': agentManifest(agentImageOf(tag)) });

async function zonesOf({ controlPlane: { client } }: Stage): Promise<ReadonlyMap<string, string>> {
  const { items } = await client.list<Node>({ group: '', version: 'v1', resource: 'nodes' });
  return new Map(items.map(({ metadata }) => [metadata.name, metadata.labels?.[ZONE] ?? '']));
}

/** In the order in which they got there. */
async function untilEverywhere(
  stage: Stage,
  tag: string,
  zones: ReadonlyMap<string, string>,
): Promise<readonly NodeLine[]> {
  const { client } = stage.controlPlane;
  const path = { group: '', version: 'v1', resource: 'pods', namespace: NAMESPACE };
  const end = Date.now() + TIMEOUT_MS;
  const lines: NodeLine[] = [];
  while (Date.now() < end) {
    const { items } = await client.list<Pod>(path, { labelSelector: 'app=agent' });
    const at = Date.now();
    for (const pod of items) {
      const node = pod.spec.nodeName ?? '';
      const isNew =
        pod.spec.containers[0]?.image === agentImageOf(tag) && isReady(pod) && !isTerminating(pod);
      if (isNew && !lines.some((line) => line.node === node))
        lines.push({ node, zone: zones.get(node) ?? '', at });
    }
    if (lines.length === zones.size && (await isSettled(stage))) return lines;
    await stage.hold(LOOK_MS);
  }
  throw new Error(
    `not within ${String(TIMEOUT_MS / 1000)} s: agent:${tag} on every node; it is on ${lines.map(({ node }) => node).join(', ')}`,
  );
}

async function isSettled({ controlPlane: { client } }: Stage): Promise<boolean> {
  const path = {
    ...groupVersion('fairlead.dev/v1beta1'),
    resource: 'daemonsets',
    namespace: NAMESPACE,
    name: 'agent',
  };
  const { metadata, status } = await client.get<AgentObject>(path);
  const ready = status?.conditions?.find(({ type }) => type === 'Ready');
  return ready?.status === 'True' && status?.observedGeneration === metadata.generation;
}

interface AgentObject extends Node {
  readonly status?: Node['status'] & { readonly observedGeneration?: number };
}

export const STEP_OF_AGENT: Step = {
  name: 'agent',
  title: 'A DaemonSet is updated zone after zone',
  expected: 'a pod on each node, one zone at a time',
  play: agent,
};
