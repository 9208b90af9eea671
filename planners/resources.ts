/** Container resources: QoS class, and what the resize subresource can change (KEP-1287, A30). */

import { canonicalJson } from './canonical-json.ts';
import type { Container, PodSpec } from './objects.ts';
import { isZeroQuantity, sameQuantity } from './quantity.ts';
import { asList, trusted } from './values.ts';

export type ContainerList = 'containers' | 'initContainers';

export interface Resources {
  readonly requests: Readonly<Record<string, string>>;
  readonly limits: Readonly<Record<string, string>>;
}

export interface ResourceChange {
  readonly list: ContainerList;
  readonly container: string;
  /** What the container shall have: only the amounts that change. */
  readonly resources: Resources;
  /** Its resize policy asks for a restart for one of the amounts that change. */
  readonly restarts: boolean;
}

const KINDS = ['requests', 'limits'] as const;
const RESIZABLE = new Set(['cpu', 'memory']);

/** Requests and limits as a pod has them: a missing request is the limit. */
export function effectiveResources(container: Container): Resources {
  const resources = trusted<Partial<Resources> | undefined>(container.resources);
  const limits = resources?.limits ?? {};
  return { requests: { ...limits, ...resources?.requests }, limits };
}

/**
 * The change between two versions of a container; `impossible` if more than amounts of cpu and memory differ, or one of them goes:
 * the apiserver adds requests and limits to a running pod, and takes none away (KEP-1287).
 */
export function resizeOf(
  list: ContainerList,
  old: Container,
  wanted: Container,
): ResourceChange | 'none' | 'impossible' {
  const [before, after] = [effectiveResources(old), effectiveResources(wanted)];
  const change = { requests: {} as Record<string, string>, limits: {} as Record<string, string> };
  const names = new Set<string>();
  for (const kind of KINDS) {
    for (const name of new Set([...Object.keys(before[kind]), ...Object.keys(after[kind])])) {
      const [oldAmount, newAmount] = [before[kind][name], after[kind][name]];
      if (oldAmount !== undefined && newAmount !== undefined && sameQuantity(oldAmount, newAmount)) continue;
      if (newAmount === undefined || !RESIZABLE.has(name)) return 'impossible';
      names.add(name);
      change[kind][name] = newAmount;
    }
  }
  if (canonicalJson(old.resources?.['claims']) !== canonicalJson(wanted.resources?.['claims']))
    return 'impossible';
  if (names.size === 0) return 'none';
  const restarts = asList(wanted['resizePolicy']).some(
    ({ resourceName, restartPolicy }) =>
      restartPolicy === 'RestartContainer' && names.has(String(resourceName)),
  );
  return { list, container: wanted.name, resources: change, restarts };
}

/** Whether a container's resources hold all of these amounts. */
export function holdsResources(actual: Container['resources'], wanted: Resources): boolean {
  return KINDS.every((kind) => {
    const amounts = trusted<Readonly<Record<string, string>>>(actual?.[kind] ?? {});
    return Object.entries(wanted[kind]).every(([name, amount]) => {
      const present = amounts[name];
      return present !== undefined && sameQuantity(present, amount);
    });
  });
}

/** The QoS class that the apiserver gives a pod; it cannot change while the pod lives. */
export function qosClass(spec: PodSpec): 'Guaranteed' | 'Burstable' | 'BestEffort' {
  const all = [...(spec.initContainers ?? []), ...spec.containers].map(effectiveResources);
  const counts = (amount: string | undefined) => amount !== undefined && !isZeroQuantity(amount);
  const any = all.some(({ requests, limits }) =>
    [...RESIZABLE].some((name) => counts(requests[name]) || counts(limits[name])),
  );
  if (!any) return 'BestEffort';
  const guaranteed = all.every(({ requests, limits }) =>
    [...RESIZABLE].every((name) => {
      const [request, limit] = [requests[name], limits[name]];
      return counts(limit) && request !== undefined && limit !== undefined && sameQuantity(request, limit);
    }),
  );
  return guaranteed ? 'Guaranteed' : 'Burstable';
}
