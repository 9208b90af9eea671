/** On which nodes a DaemonSet runs its pods (D1, D2). Resources, ports and readiness of nodes are the scheduler's business. */

import type { Node, PodTemplate } from './objects.ts';
import { asFields, asList, asText } from './values.ts';
import type { Fields } from './values.ts';

export interface Taint {
  readonly key: string;
  readonly value?: string;
  readonly effect: string;
}

export interface Toleration {
  readonly key?: string;
  readonly operator?: string;
  readonly value?: string;
  readonly effect?: string;
}

export interface Eligibility {
  /** A pod is to be made where there is none. */
  readonly shouldRun: boolean;
  /** A pod that is there may stay. */
  readonly shouldContinue: boolean;
}

/** Tolerations of every pod of a DaemonSet (D2). */
const DAEMON_TOLERATIONS: readonly Toleration[] = [
  { key: 'node.kubernetes.io/not-ready', operator: 'Exists', effect: 'NoExecute' },
  { key: 'node.kubernetes.io/unreachable', operator: 'Exists', effect: 'NoExecute' },
  { key: 'node.kubernetes.io/disk-pressure', operator: 'Exists', effect: 'NoSchedule' },
  { key: 'node.kubernetes.io/memory-pressure', operator: 'Exists', effect: 'NoSchedule' },
  { key: 'node.kubernetes.io/pid-pressure', operator: 'Exists', effect: 'NoSchedule' },
  { key: 'node.kubernetes.io/unschedulable', operator: 'Exists', effect: 'NoSchedule' },
];

const HOST_NETWORK_TOLERATION: Toleration = {
  key: 'node.kubernetes.io/network-unavailable',
  operator: 'Exists',
  effect: 'NoSchedule',
};

/** The template's own tolerations and those that every daemon pod has (D2), each once. */
export function tolerationsOf({ spec }: PodTemplate): readonly Toleration[] {
  const own: readonly Toleration[] = asList(spec['tolerations']);
  const added =
    spec['hostNetwork'] === true ? [...DAEMON_TOLERATIONS, HOST_NETWORK_TOLERATION] : DAEMON_TOLERATIONS;
  return [...own, ...added.filter((toleration) => !own.some((one) => isSame(one, toleration)))];
}

function isSame(a: Toleration, b: Toleration): boolean {
  return (
    a.key === b.key &&
    a.effect === b.effect &&
    a.operator === b.operator &&
    (a.value ?? '') === (b.value ?? '')
  );
}

/** Whether nodes are for the pods of a template: made once, asked for each node (D1). */
export function eligibilityOf(template: PodTemplate): (node: Node) => Eligibility {
  const { spec } = template;
  const tolerations = tolerationsOf(template);
  const affinity = asFields(asFields(spec['affinity'])?.['nodeAffinity']);
  const required = asFields(affinity?.['requiredDuringSchedulingIgnoredDuringExecution']);
  const terms = required === undefined ? undefined : asList(required['nodeSelectorTerms']);
  const nodeSelector = Object.entries(asFields(spec['nodeSelector']) ?? {});
  return (node) => {
    const labels = node.metadata.labels ?? {};
    const isElsewhere =
      spec.nodeName !== undefined && spec.nodeName !== '' && spec.nodeName !== node.metadata.name;
    if (
      isElsewhere ||
      !nodeSelector.every(([key, value]) => labels[key] === value) ||
      (terms !== undefined && !terms.some((term) => matchesTerm(term, node)))
    ) {
      return { shouldRun: false, shouldContinue: false };
    }
    const untolerated = (node.spec?.taints ?? []).filter(
      (taint) => taint.effect !== 'PreferNoSchedule' && !tolerations.some((one) => tolerates(one, taint)),
    );
    return {
      shouldRun: untolerated.length === 0,
      shouldContinue: !untolerated.some(({ effect }) => effect === 'NoExecute'),
    };
  };
}

/** All requirements of a term; a term without any matches no node. */
function matchesTerm(term: Fields, { metadata }: Node): boolean {
  const expressions = asList(term['matchExpressions']);
  const fields = asList(term['matchFields']);
  if (expressions.length === 0 && fields.length === 0) return false;
  const labels = metadata.labels ?? {};
  return (
    expressions.every((one) => matchesRequirement(one, labels[asText(one['key']) ?? ''])) &&
    fields.every((one) => one['key'] === 'metadata.name' && matchesRequirement(one, metadata.name))
  );
}

function matchesRequirement(requirement: Fields, value: string | undefined): boolean {
  const values: readonly unknown[] = Array.isArray(requirement['values']) ? requirement['values'] : [];
  switch (requirement['operator']) {
    case 'In':
      return value !== undefined && values.includes(value);
    case 'NotIn':
      return value === undefined || !values.includes(value);
    case 'Exists':
      return value !== undefined;
    case 'DoesNotExist':
      return value === undefined;
    case 'Gt':
      return compares(value, values, (a, b) => a > b);
    case 'Lt':
      return compares(value, values, (a, b) => a < b);
    default:
      return false;
  }
}

/** Gt and Lt take one whole number; a label that is none does not match. */
function compares(
  value: string | undefined,
  [bound]: readonly unknown[],
  holds: (a: bigint, b: bigint) => boolean,
): boolean {
  const whole = /^[+-]?\d+$/;
  return (
    value !== undefined &&
    typeof bound === 'string' &&
    whole.test(value) &&
    whole.test(bound) &&
    holds(BigInt(value.replace('+', '')), BigInt(bound.replace('+', '')))
  );
}

function tolerates(
  { key = '', operator = 'Equal', value = '', effect = '' }: Toleration,
  taint: Taint,
): boolean {
  if (effect !== '' && effect !== taint.effect) return false;
  if (key !== '' && key !== taint.key) return false;
  return operator === 'Exists' || (operator === 'Equal' && value === (taint.value ?? ''));
}
