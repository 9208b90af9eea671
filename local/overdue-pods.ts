/**
 * Pods whose next step kwok has let go. While it starts it may take up an older state of a pod after a newer one, and what an apiserver
 * that has just begun refuses it does not try again; a kubelet would come back to either.
 */

import type { KubernetesClient } from '../kubernetes/client.ts';
import type { Node, Pod } from '../planners/objects.ts';
import { managedNodes } from './nodes.ts';

/** How late a step may be on a busy machine, milliseconds. */
const LATE_MS = 5_000;
/** What `local/stages/pods.yaml` writes of the step that comes next. */
const NEXT_STEP = /simulated: [a-z-]+ at (\S+)$/;

/** Planners ask nobody how long a deletion may take. */
type WithGracePeriod = Pod['metadata'] & { readonly deletionGracePeriodSeconds?: number };

/** Whether there are such pods now. Rejects where the apiserver does not answer. */
export async function hasOverduePods(client: KubernetesClient): Promise<boolean> {
  const [pods, nodes] = await Promise.all([
    client.list<Pod>({ group: '', version: 'v1', resource: 'pods' }),
    managedNodes(client),
  ]);
  return overduePods(pods.items, nodes, Date.now()).length > 0;
}

/** Those on one of kwok's `nodes` whose step should have been taken more than five seconds before `now`, milliseconds since the epoch. */
export function overduePods(pods: readonly Pod[], nodes: readonly Node[], now: number): readonly Pod[] {
  const names = new Set(nodes.map(({ metadata }) => metadata.name));
  return pods.filter((pod) => {
    const due = names.has(pod.spec.nodeName ?? '') ? dueOf(pod) : undefined;
    return due !== undefined && now - due > LATE_MS;
  });
}

/** Milliseconds since the epoch; undefined where nothing is to come, or a rule of the pod's own says when. */
function dueOf({ metadata, status }: Pod): number | undefined {
  const conditionOf = (wanted: string) => status?.conditions?.find(({ type }) => type === wanted);
  const [, next] = NEXT_STEP.exec(conditionOf('ContainersReady')?.message ?? '') ?? [];
  const meta: WithGracePeriod = metadata;
  const { creationTimestamp, deletionTimestamp, deletionGracePeriodSeconds = 0, finalizers = [] } = meta;
  if (deletionTimestamp !== undefined) {
    if (finalizers.length > 0) return undefined;
    return next === undefined
      ? Date.parse(deletionTimestamp) - deletionGracePeriodSeconds * 1_000
      : Date.parse(next);
  }
  if (status?.phase === 'Succeeded' || status?.phase === 'Failed') return undefined;
  if (status?.containerStatuses !== undefined) return next === undefined ? undefined : Date.parse(next);
  if (metadata.annotations?.['sim.fairlead.dev/start-delay'] !== undefined) return undefined;
  // Of a pod that was made for its node the scheduler says nothing.
  const scheduled = conditionOf('PodScheduled')?.lastTransitionTime ?? creationTimestamp;
  return scheduled === undefined ? undefined : Date.parse(scheduled);
}
