/** From the watch cache to what planners look at: one workload with its children. */

import type { WatchCache } from '../kubernetes/watch-cache.ts';
import type { WorkloadApi } from '../kubernetes/workload-api.ts';
import { WORKLOAD_RESOURCES } from '../kubernetes/workload-api.ts';
import { childrenOf } from '../kubernetes/workload-children.ts';
import { parseWorkloadKey } from '../kubernetes/workload-key.ts';
import type { AnyKind } from '../kubernetes/workload-kinds.ts';
import { WORKLOAD_KINDS } from '../kubernetes/workload-kinds.ts';
import { downNodes } from '../planners/down-nodes.ts';
import { readDrainMark } from '../planners/node-drain.ts';
import type { KubernetesObject, Node, PersistentVolumeClaim, Pod } from '../planners/objects.ts';
import type { Snapshot, Workload } from '../planners/workload.ts';

export class ClusterView {
  readonly #cache: WatchCache;
  readonly #api: WorkloadApi;
  readonly #seesAll: boolean;

  /** @param seesAll The cache holds the pods of all namespaces. */
  constructor(cache: WatchCache, api: WorkloadApi, seesAll: boolean) {
    this.#cache = cache;
    this.#api = api;
    this.#seesAll = seesAll;
  }

  /** The workload's own object as served, or undefined when there is none. */
  object(key: string): KubernetesObject | undefined {
    const { kind, namespace, name } = parseWorkloadKey(key);
    return this.#cache.get(WORKLOAD_RESOURCES[kind], namespace, name);
  }

  kind(key: string): AnyKind {
    return WORKLOAD_KINDS[parseWorkloadKey(key).kind];
  }

  /** An object as served → its view. */
  read(key: string, object: KubernetesObject): Workload {
    return this.kind(key).read(object, this.#api);
  }

  /** Owned children, orphans of the namespace, and what this leader remembers: which of these are claimed is the planner's decision (C4). */
  snapshot(
    key: string,
    workload: Workload,
    remembered: Pick<
      Snapshot<Workload>,
      'refusals' | 'replaced' | 'revisionMissingSince' | 'revisionRefused'
    >,
  ): Snapshot<Workload> {
    const { namespace, uid } = workload.ref;
    const definition = this.kind(key);
    const children = childrenOf(this.#cache, definition, workload.ref);
    return {
      workload,
      ...children,
      claims: definition.hasClaims(workload)
        ? this.#cache
            .inNamespace<PersistentVolumeClaim>('persistentvolumeclaims', namespace)
            .filter((claim) => definition.ownsClaim(workload, claim))
        : [],
      ...(definition.runsOnNodes && { nodes: this.#cache.list<Node>('nodes') }),
      ...(definition.drains(workload) && this.#seesAll && { neighbours: this.#neighbours(uid) }),
      downNodes: downNodes(children.pods, (node) => this.#cache.get<Node>('nodes', undefined, node)),
      ...remembered,
    };
  }

  /** All pods of nodes that are being drained for that uid. */
  #neighbours(uid: string): ReadonlyMap<string, readonly Pod[]> {
    const drained = this.#cache.list<Node>('nodes').filter((node) => readDrainMark(node)?.uid === uid);
    return new Map(drained.map(({ metadata: { name } }) => [name, this.#cache.onNode<Pod>('pods', name)]));
  }
}
