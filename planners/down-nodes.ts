/** Nodes of a workload's pods whose kubelet cannot be believed: what it said last proves nothing. Pure. */

import { isReady } from './availability.ts';
import type { Node, Pod } from './objects.ts';

export type NodeFault = 'NotReady' | 'Gone';

/** By name, of the nodes that the pods are bound to. `nodeOf`: the Node of a name, as far as there is one. */
export function downNodes(
  pods: readonly Pod[],
  nodeOf: (name: string) => Node | undefined,
): ReadonlyMap<string, NodeFault> {
  const down = new Map<string, NodeFault>();
  for (const name of new Set(pods.map(({ spec }) => spec.nodeName ?? ''))) {
    if (name === '') continue;
    const node = nodeOf(name);
    if (node === undefined) down.set(name, 'Gone');
    else if (!isReady(node)) down.set(name, 'NotReady');
  }
  return down;
}
