/** Nodes that only the pods of one scene use, so that scenes side by side neither share nor drain each other's. */

import type { KubernetesClient, ResourcePath } from '../../kubernetes/client.ts';
import { nodeObject } from '../../local/nodes.ts';
import { LABEL } from '../../planners/names.ts';
import type { Node, Pod } from '../../planners/objects.ts';
import { targetNodeOf } from '../../planners/target-node.ts';
import { untilObjects } from './until-objects.ts';

const NODES: ResourcePath = { group: '', version: 'v1', resource: 'nodes' };
const KEY = 'test.fairlead.dev/scene';

/** What pods need to run there, and nowhere else. */
export interface Placement {
  readonly nodeSelector: Readonly<Record<string, string>>;
  readonly tolerations: readonly object[];
}

export class OwnNodes {
  readonly placement: Placement;
  /** Their names begin with it. */
  readonly owner: string;
  readonly #client: KubernetesClient;
  readonly #count: number;
  /** Pods that were created through {@link alias}, by name. */
  readonly #pods = new Map<string, string>();
  /** Revisions in the order in which they were seen. */
  readonly #revisions: string[] = [];

  private constructor(client: KubernetesClient, owner: string, count: number) {
    this.#client = client;
    this.owner = owner;
    this.#count = count;
    this.placement = {
      nodeSelector: { [KEY]: owner },
      tolerations: [{ key: KEY, operator: 'Exists' }],
    };
  }

  /** So many Ready nodes, named after the owner. */
  static async create(client: KubernetesClient, owner: string, count: number): Promise<OwnNodes> {
    const nodes = new OwnNodes(client, owner, count);
    await Promise.all(
      nodes.names.map(async (name, index) => {
        const node = nodeObject(name, index);
        await client.create(NODES, {
          ...node,
          metadata: { ...node.metadata, labels: { ...node.metadata.labels, [KEY]: owner } },
          spec: { ...node.spec, taints: [{ key: KEY, value: owner, effect: 'NoSchedule' }] },
        });
      }),
    );
    return nodes;
  }

  get names(): readonly string[] {
    return Array.from({ length: this.#count }, (_, index) => `${this.owner}-${String(index)}`);
  }

  /** A node's name without the owner: `node-2` in every run. */
  short(name: string): string {
    return name.replace(`${this.owner}-`, 'node-');
  }

  /**
   * What a write is about, the same in every run: names of pods and revisions follow from names of nodes and uids, and differ.
   * A pod is known by its node from its create on, a revision by the order in which they come.
   */
  alias(resource: string, name: string, body: object): string {
    if (resource === 'nodes') return this.short(name);
    if (resource === 'controllerrevisions') {
      if (!this.#revisions.includes(name)) this.#revisions.push(name);
      return `revision-${String(this.#revisions.indexOf(name) + 1)}`;
    }
    if (resource !== 'pods') return name;
    if ('spec' in body && 'metadata' in body && !this.#pods.has(name)) {
      const pod = body as Pod;
      const node = targetNodeOf(pod);
      const what = pod.metadata.labels?.[LABEL.prePull] === undefined ? 'of' : 'pulling for';
      if (node !== undefined) this.#pods.set(name, `${what} ${this.short(node)}`);
    }
    return this.#pods.get(name) ?? name;
  }

  async list(): Promise<readonly Node[]> {
    const { items } = await this.#client.list<Node>(NODES, { labelSelector: `${KEY}=${this.owner}` });
    return [...items].sort((a, b) => a.metadata.name.localeCompare(b.metadata.name));
  }

  /** The nodes as soon as they are so. */
  async until(
    what: string,
    predicate: (nodes: readonly Node[]) => boolean,
    timeoutMs: number,
  ): Promise<readonly Node[]> {
    const isOwn = ({ metadata }: Node) => metadata.labels?.[KEY] === this.owner;
    return await untilObjects<Node>(
      this.#client,
      NODES,
      what,
      (nodes) => predicate(nodes.filter(isOwn)),
      timeoutMs,
    );
  }

  /** A person keeps new pods away from one of them. */
  async cordon(index: number): Promise<void> {
    await this.#client.patch({ ...NODES, name: this.names[index] }, 'merge', {
      spec: { unschedulable: true },
    });
  }

  async remove(): Promise<void> {
    await Promise.all(this.names.map(async (name) => await this.#client.delete({ ...NODES, name })));
  }
}
