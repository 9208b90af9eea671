/**
 * Where the pods of a workload stand, and how many may be away: ordinals of a StatefulSet, nodes of a DaemonSet. Written once more
 * and apart from the planners: the judge must not share their mistakes.
 */

import type { SeenKind, SeenNode, SeenPod, SeenToleration, SeenWorkload } from './budget-evidence.ts';
import { condition } from './budget-rules.ts';

export type SeenNodes = ReadonlyMap<string, SeenNode>;

interface KindRules {
  /** Where a pod stands: a name that its successor has too. */
  readonly slotOf: (pod: SeenPod) => string;
  /** The slots that are to have a pod. @throws Error for what this judge does not understand */
  readonly slots: (workload: SeenWorkload, nodes: SeenNodes) => readonly string[];
  readonly isWanted: (workload: SeenWorkload, nodes: SeenNodes, slot: string) => boolean;
  readonly allowedUnavailable: (workload: SeenWorkload, slots: number) => number;
  /** Slots that may have a second pod; undefined: two pods of one slot cannot be. */
  readonly allowedSurge: (workload: SeenWorkload, slots: number) => number | undefined;
  /** A Ready pod that is not available yet is charged beside what is unavailable already, itself (stricter than D13). */
  readonly chargesTwice: boolean;
}

const MAX_UNAVAILABLE = 'fairlead.dev/max-unavailable';

const STATEFULSET: KindRules = {
  slotOf: ({ metadata }) => metadata.name,
  slots: ({ metadata, spec }) =>
    Array.from(
      { length: replicasOf(spec) },
      (_, index) => `${metadata.name}-${String((spec.ordinals?.start ?? 0) + index)}`,
    ),
  isWanted({ spec }, _, slot) {
    const ordinal = Number(/-(\d+)$/.exec(slot)?.[1] ?? Number.NaN);
    const start = spec.ordinals?.start ?? 0;
    return ordinal >= start && ordinal < start + replicasOf(spec);
  },
  /**
   * 1 where pods are managed in order, else a number, or a percentage of the replicas rounded down, at least 1 (C3). In apps/v1
   * it is the annotation that says so.
   */
  allowedUnavailable({ metadata, spec }, slots) {
    if (spec.podManagementPolicy !== 'Parallel') {
      return 1;
    }
    const written =
      metadata.annotations?.[MAX_UNAVAILABLE] ?? spec.updateStrategy?.rollingUpdate?.maxUnavailable ?? 1;
    return Math.max(1, amount(metadata.name, written, slots, Math.floor));
  },
  allowedSurge: () => undefined,
  chargesTwice: true,
};

const DAEMONSET: KindRules = {
  slotOf: nodeOf,
  slots: (workload, nodes) =>
    [...nodes.values()].filter((node) => isEligible(workload, node)).map(({ metadata }) => metadata.name),
  isWanted(workload, nodes, slot) {
    const node = nodes.get(slot);
    return node !== undefined && isEligible(workload, node);
  },
  /** A number, or a percentage of the nodes rounded up; at least 1 where there is no surge (C3). */
  allowedUnavailable(workload, slots) {
    const { maxUnavailable = 1 } = workload.spec.updateStrategy?.rollingUpdate ?? {};
    const value = amount(workload.metadata.name, maxUnavailable, slots, Math.ceil);
    return surgeOf(workload, slots) > 0 ? value : Math.max(1, value);
  },
  allowedSurge: surgeOf,
  chargesTwice: false,
};

export const SEEN_KINDS: Readonly<Record<SeenKind, KindRules>> = {
  StatefulSet: STATEFULSET,
  DaemonSet: DAEMONSET,
};

function surgeOf({ metadata, spec }: SeenWorkload, slots: number): number {
  return amount(metadata.name, spec.updateStrategy?.rollingUpdate?.maxSurge ?? 0, slots, Math.ceil);
}

/** A number, or a percentage of `total`. @throws Error for what is neither */
export function amount(
  name: string,
  written: number | string,
  total: number,
  round: (value: number) => number,
): number {
  const text = String(written);
  const value = text.endsWith('%') ? round((Number(text.slice(0, -1)) / 100) * total) : Number(text);
  if (!Number.isInteger(value)) {
    throw new Error(`the amount ${text} of ${name} cannot be read`);
  }
  return value;
}

function replicasOf({ replicas = 1 }: SeenWorkload['spec']): number {
  return replicas;
}

/** The node that it is bound to, or is to be bound to (D3). @throws Error if it names none */
function nodeOf({ metadata, spec }: SeenPod): string {
  const required = spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  const fields = required?.nodeSelectorTerms?.flatMap(({ matchFields = [] }) => matchFields) ?? [];
  const node = spec.nodeName ?? fields.find(({ key }) => key === 'metadata.name')?.values?.[0];
  if (node === undefined) {
    throw new Error(`pod ${metadata.name} is aimed at no node`);
  }
  return node;
}

/** What every pod of a DaemonSet tolerates without saying so (D2). */
const ALWAYS_TOLERATED: readonly SeenToleration[] = [
  ...['not-ready', 'unreachable'].map((name) => tolerationOf(name, 'NoExecute')),
  ...['disk-pressure', 'memory-pressure', 'pid-pressure', 'unschedulable'].map((name) =>
    tolerationOf(name, 'NoSchedule'),
  ),
];

function tolerationOf(name: string, effect: string): SeenToleration {
  return { key: `node.kubernetes.io/${name}`, operator: 'Exists', effect };
}

/** D1, as far as the workloads that are judged go: nodeSelector, taints. */
function isEligible({ metadata, spec: { template } }: SeenWorkload, node: SeenNode): boolean {
  const { nodeSelector = {}, tolerations = [], affinity, nodeName } = template.spec ?? {};
  if (affinity !== undefined || nodeName !== undefined) {
    throw new Error(`${metadata.name} chooses nodes by affinity or name, which this judge does not read`);
  }
  const isSelected = Object.entries(nodeSelector).every(
    ([key, value]) => node.metadata.labels?.[key] === value,
  );
  if (!isSelected) {
    return false;
  }
  if (condition(node, 'Ready') !== 'True') {
    throw new Error(
      `node ${node.metadata.name} is not Ready, and this judge does not know whether it counts`,
    );
  }
  const tolerated = [...ALWAYS_TOLERATED, ...tolerations];
  return (node.spec?.taints ?? [])
    .filter(({ effect }) => effect !== 'PreferNoSchedule')
    .every((taint) => tolerated.some((one) => tolerates(one, taint)));
}

function tolerates(
  { key = '', operator = 'Equal', value = '', effect = '' }: SeenToleration,
  taint: { readonly key: string; readonly value?: string; readonly effect: string },
): boolean {
  if (effect !== '' && effect !== taint.effect) {
    return false;
  }
  if (key === '') {
    return operator === 'Exists';
  }
  return key === taint.key && (operator === 'Exists' || value === (taint.value ?? ''));
}
