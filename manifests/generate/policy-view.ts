/** Where the two workload APIs keep the same settings: what lets both policies be built from one table of rules. */

import { ANNOTATION } from '../../planners/names.ts';
import { literal } from './cel.ts';

/** A key of a label (RE2): a name, which may follow a DNS subdomain and a slash. */
export const LABEL_KEY =
  '([a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?';

/** A named expression of a policy; later ones may use earlier ones as `variables.<name>`. */
export interface Variable {
  readonly name: string;
  readonly expression: string;
}

/** Settings of ours, by the names that rules use. */
export const SETTINGS = {
  partition: {
    field: 'spec.updateStrategy.rollingUpdate.partition',
    annotation: ANNOTATION.partition,
  },
  nodeSelector: {
    field: 'spec.updateStrategy.rollingUpdate.nodeSelector',
    annotation: ANNOTATION.nodeSelector,
  },
  topologyKey: {
    field: 'spec.updateStrategy.rollingUpdate.topologyKey',
    annotation: ANNOTATION.topologyKey,
  },
  notReadyNodes: {
    field: 'spec.updateStrategy.rollingUpdate.notReadyNodes',
    annotation: ANNOTATION.notReadyNodes,
  },
  drainTimeoutSeconds: {
    field: 'spec.updateStrategy.rollingUpdate.drain.timeoutSeconds',
    annotation: ANNOTATION.drainTimeoutSeconds,
  },
  prePullNodes: {
    field: 'spec.updateStrategy.rollingUpdate.prePull.nodes',
    annotation: ANNOTATION.prePullNodes,
  },
  prePullTimeoutSeconds: {
    field: 'spec.updateStrategy.rollingUpdate.prePull.timeoutSeconds',
    annotation: ANNOTATION.prePullTimeoutSeconds,
  },
  maxUnavailable: {
    field: 'spec.updateStrategy.rollingUpdate.maxUnavailable',
    annotation: ANNOTATION.maxUnavailable,
  },
  podUpdatePolicy: {
    field: 'spec.updateStrategy.rollingUpdate.podUpdatePolicy',
    annotation: ANNOTATION.podUpdatePolicy,
  },
  gracePeriodSeconds: {
    field: 'spec.updateStrategy.rollingUpdate.inPlaceUpdateStrategy.gracePeriodSeconds',
    annotation: ANNOTATION.gracePeriodSeconds,
  },
  progressDeadlineSeconds: {
    field: 'spec.progressDeadlineSeconds',
    annotation: ANNOTATION.progressDeadlineSeconds,
  },
  onDeadline: { field: 'spec.onDeadline', annotation: ANNOTATION.onDeadline },
  podReplacementPolicy: {
    field: 'spec.podReplacementPolicy',
    annotation: ANNOTATION.podReplacementPolicy,
  },
} as const;
export type Setting = keyof typeof SETTINGS;

/** Settings of kinds that run on nodes. */
export const NODE_SETTINGS: readonly Setting[] = [
  'partition',
  'nodeSelector',
  'topologyKey',
  'notReadyNodes',
  'drainTimeoutSeconds',
  'prePullNodes',
  'prePullTimeoutSeconds',
];

export type PolicyApi = 'fairlead.dev' | 'apps';

/** What a rule needs to know of the API that it is written for. */
export interface PolicyView {
  readonly api: PolicyApi;
  /** The settings that the kind has. */
  readonly settings: readonly Setting[];
  /** How messages name the place of a setting. */
  readonly place: Readonly<Record<Setting, string>>;
  /**
   * One variable for each setting: its value as text, `''` when it is unset. Text that must not pass for a number (a
   * quoted number in a spec, an empty annotation) is given with quotes around it.
   */
  readonly variables: readonly Variable[];
}

/** `spec` of Fairlead's own objects. */
export function specView(settings: readonly Setting[]): PolicyView {
  const variables = settings.map((name) => {
    const steps = SETTINGS[name].field.split('.').slice(1);
    const field = `variables.spec${steps.map((step) => `.?${step}`).join('')}`;
    const value = `${field}.orValue(dyn(""))`;
    // A map as the annotation would have it; a key that would pass for more than one is put in quotes, which no label has.
    if (name === 'nodeSelector') {
      const map = `${field}.orValue({})`;
      const key = `k.matches("[=,]") ? "\\"" + k + "\\"" : k`;
      return { name, expression: `${map}.map(k, (${key}) + "=" + ${map}[k]).join(",")` };
    }
    // Set to nothing is not the same as unset.
    if (name === 'topologyKey') {
      const isEmpty = `${field}.hasValue() && ${value} == ""`;
      return { name, expression: `${isEmpty} ? "\\"\\"" : string(${value})` };
    }
    if (name !== 'maxUnavailable') return { name, expression: `string(${value})` };
    const quoted = `type(${value}) == string && ${value} != "" && !${value}.endsWith("%")`;
    return { name, expression: `${quoted} ? "\\"" + ${value} + "\\"" : string(${value})` };
  });
  return { api: 'fairlead.dev', settings, place: places((name) => SETTINGS[name].field), variables };
}

/** Annotations of native objects. */
export function annotationView(settings: readonly Setting[]): PolicyView {
  const variables = settings.map((name) => {
    const key = literal(SETTINGS[name].annotation);
    const value = `variables.annotations[${key}]`;
    return {
      name,
      expression: `!(${key} in variables.annotations) ? "" : (${value} == "" ? "\\"\\"" : ${value})`,
    };
  });
  return {
    api: 'apps',
    settings,
    place: places((name) => `metadata.annotations[${SETTINGS[name].annotation}]`),
    variables,
  };
}

function places(of: (name: Setting) => string): Readonly<Record<Setting, string>> {
  return {
    partition: of('partition'),
    nodeSelector: of('nodeSelector'),
    topologyKey: of('topologyKey'),
    notReadyNodes: of('notReadyNodes'),
    drainTimeoutSeconds: of('drainTimeoutSeconds'),
    prePullNodes: of('prePullNodes'),
    prePullTimeoutSeconds: of('prePullTimeoutSeconds'),
    maxUnavailable: of('maxUnavailable'),
    podUpdatePolicy: of('podUpdatePolicy'),
    gracePeriodSeconds: of('gracePeriodSeconds'),
    progressDeadlineSeconds: of('progressDeadlineSeconds'),
    onDeadline: of('onDeadline'),
    podReplacementPolicy: of('podReplacementPolicy'),
  };
}
