/** DaemonSets that are refused, in the same words in both workload APIs where the field is ours. */

import type { WorkloadApi } from '../../../kubernetes/workload-api.ts';
import { SETTINGS } from '../../../manifests/generate/policy-view.ts';
import type { Setting } from '../../../manifests/generate/policy-view.ts';
import { NATIVE, OURS } from './creation-case.ts';
import { BOTH, GATES } from './workload-manifest.ts';
import type { Json } from './workload-manifest.ts';

export interface DaemonCase {
  readonly name: string;
  readonly apis: readonly WorkloadApi[];
  /** Settings of ours, by the names that rules use. */
  readonly settings?: Partial<Record<Setting, unknown>>;
  /** The labels of {@link SETTINGS.nodeSelector}: a map in a spec, text in an annotation. */
  readonly labels?: Readonly<Record<string, string>>;
  /** Merged over `spec.updateStrategy.rollingUpdate`. */
  readonly rollingUpdate?: Json;
  readonly spec?: Json;
  readonly pod?: Json;
  /** All of these are in the message; `{partition}` stands for the setting's place in the API. */
  readonly refused: readonly string[];
}

/** The manifest of a case, good but for what it says. */
export function daemonManifestOf(
  api: WorkloadApi,
  given: Omit<DaemonCase, 'name' | 'apis' | 'refused'>,
): Json {
  const { labels, rollingUpdate = {}, spec = {}, pod = {} } = given;
  const isNative = api === 'apps/v1';
  const text = Object.entries(labels ?? {})
    .map((label) => label.join('='))
    .join(',');
  const settings = { ...given.settings, ...(labels && { nodeSelector: isNative ? text : labels }) };
  const annotations: Record<string, string> = {};
  let whole: Json = { updateStrategy: { type: 'RollingUpdate', rollingUpdate } };
  for (const [name, value] of Object.entries(settings)) {
    const { field, annotation } = SETTINGS[name as Setting];
    if (isNative) annotations[annotation] = String(value);
    else whole = withField(whole, field.split('.').slice(1), value);
  }
  return {
    apiVersion: api,
    kind: 'DaemonSet',
    metadata: { name: 'agent', annotations },
    spec: {
      selector: { matchLabels: { app: 'agent' } },
      ...whole,
      template: {
        metadata: { labels: { app: 'agent' } },
        spec: { containers: [{ name: 'main', image: 'agent:1' }], ...pod },
      },
      ...spec,
    },
  };
}

function withField(object: Json, [step = '', ...rest]: readonly string[], value: unknown): Json {
  return {
    ...object,
    [step]: rest.length === 0 ? value : withField((object[step] ?? {}) as Json, rest, value),
  };
}

/** Words with the places of settings filled in. */
export function daemonWords(text: string, api: WorkloadApi): string {
  return text.replace(/\{(\w+)\}/g, (whole, name: string) => {
    const setting = SETTINGS[name as Setting] as (typeof SETTINGS)[Setting] | undefined;
    if (setting === undefined) return whole;
    return api === 'apps/v1' ? `metadata.annotations[${setting.annotation}]` : setting.field;
  });
}

export const DAEMON_CASES: readonly DaemonCase[] = [
  {
    name: 'neither maxUnavailable nor maxSurge',
    apis: BOTH,
    rollingUpdate: { maxUnavailable: 0, maxSurge: 0 },
    refused: ['spec.updateStrategy.rollingUpdate.maxUnavailable: ', 'cannot be 0 when maxSurge is 0'],
  },
  {
    name: 'both maxUnavailable and maxSurge',
    apis: BOTH,
    rollingUpdate: { maxUnavailable: 1, maxSurge: 1 },
    refused: [
      'spec.updateStrategy.rollingUpdate.maxSurge: ',
      'may not be set when maxUnavailable is non-zero',
    ],
  },
  {
    name: 'a per cent that is none',
    apis: OURS,
    rollingUpdate: { maxUnavailable: '5x%' },
    refused: [
      'spec.updateStrategy.rollingUpdate.maxUnavailable: Invalid value',
      'a percentage from 0% to 100%',
    ],
  },
  {
    name: 'a surge of pods that are updated in place',
    apis: BOTH,
    settings: { podUpdatePolicy: 'InPlaceIfPossible' },
    rollingUpdate: { maxUnavailable: 0, maxSurge: 1 },
    pod: { readinessGates: GATES },
    refused: ['a pod that is updated in place has no second one beside it'],
  },
  {
    name: 'a surge with a drain',
    apis: BOTH,
    settings: { drainTimeoutSeconds: 60 },
    rollingUpdate: { maxUnavailable: 0, maxSurge: 1 },
    refused: [
      'spec.updateStrategy.rollingUpdate.maxSurge: Forbidden',
      'a node is drained for a pod that is replaced',
    ],
  },
  {
    name: 'restartPolicy Never',
    apis: BOTH,
    pod: { restartPolicy: 'Never' },
    refused: ['spec.template.spec.restartPolicy: Unsupported value: "Never": supported values: "Always"'],
  },
  {
    name: 'an empty selector',
    apis: BOTH,
    spec: { selector: {} },
    refused: ['spec.selector: Invalid value: {}: empty selector is invalid for daemonset'],
  },
  {
    name: 'a selector that does not match',
    apis: BOTH,
    spec: { selector: { matchLabels: { app: 'other' } } },
    refused: ['`selector` does not match template `labels`'],
  },
  {
    name: 'partition -1 in an annotation',
    apis: NATIVE,
    settings: { partition: -1 },
    refused: ['{partition}: Invalid value: -1: must be a whole number of nodes, 0 or more'],
  },
  {
    name: 'partition -1',
    apis: OURS,
    settings: { partition: -1 },
    refused: ['{partition}', 'should be greater than or equal to 0'],
  },
  {
    name: 'notReadyNodes not known',
    apis: BOTH,
    settings: { notReadyNodes: 'Skip' },
    refused: ['{notReadyNodes}: Unsupported value: "Skip": supported values: "Ignore", "Count"'],
  },
  {
    name: 'drain without time',
    apis: NATIVE,
    settings: { drainTimeoutSeconds: 0 },
    refused: ['{drainTimeoutSeconds}: Invalid value: 0: must be a whole number of seconds greater than 0'],
  },
  {
    name: 'drain without time',
    apis: OURS,
    settings: { drainTimeoutSeconds: 0 },
    refused: ['{drainTimeoutSeconds}', 'should be greater than or equal to 1'],
  },
  {
    name: 'pulls on less than no nodes',
    apis: NATIVE,
    settings: { prePullNodes: -1 },
    refused: ['{prePullNodes}: Invalid value: -1: must be a whole number of nodes, 0 or more'],
  },
  {
    name: 'a limit of pulls without pulls',
    apis: NATIVE,
    settings: { prePullTimeoutSeconds: 60 },
    refused: ['{prePullNodes}: Required value: without it nothing is pulled'],
  },
  {
    name: 'labels that are none',
    apis: NATIVE,
    settings: { nodeSelector: 'canary' },
    refused: [
      '{nodeSelector}: Invalid value: "canary": must be labels of nodes, such as canary=true,disk=ssd',
    ],
  },
  ...[
    ['a space', 'disk type', 'ssd'],
    ['an empty name', 'example.com/', 'ssd'],
    ['two slashes', 'example.com/a/b', 'ssd'],
    ['a capital in its prefix', 'Example.com/disk', 'ssd'],
    ['a prefix with an empty part', 'example..com/disk', 'ssd'],
    ['a prefix that is too long', `${'a.'.repeat(127)}a/disk`, 'ssd'],
    ['a name that is too long', 'd'.repeat(64), 'ssd'],
  ].map(([what = '', key = '', value = '']) => ({
    name: `nodeSelector whose key has ${what}`,
    apis: BOTH,
    labels: { [key]: value },
    refused: [
      `{nodeSelector}: Invalid value: "${key}=${value}": must be labels of nodes, such as canary=true,disk=ssd`,
    ],
  })),
  {
    name: 'nodeSelector whose key would pass for two labels',
    apis: OURS,
    labels: { 'disk=ssd,canary': 'true' },
    refused: ['{nodeSelector}: Invalid value: "disk=ssd,canary"=true: must be labels of nodes'],
  },
  {
    name: 'a value of a label that is none',
    apis: NATIVE,
    settings: { nodeSelector: 'disk=-' },
    refused: ['{nodeSelector}: Invalid value: "disk=-": must be labels of nodes'],
  },
  ...['a zone', '', 'example.com/', '-zone'].map((topologyKey) => ({
    name: `topologyKey "${topologyKey}"`,
    apis: BOTH,
    settings: { topologyKey },
    refused: [
      `{topologyKey}: Invalid value: "${topologyKey}": must be the key of a label of nodes, such as topology.kubernetes.io/zone`,
    ],
  })),
  {
    name: 'a partition with OnDelete',
    apis: NATIVE,
    settings: { partition: 1 },
    spec: { updateStrategy: { type: 'OnDelete' } },
    refused: ["{partition}: Forbidden: only allowed for updateStrategy 'RollingUpdate'"],
  },
  {
    name: 'a setting of StatefulSets',
    apis: NATIVE,
    settings: { maxUnavailable: 2 },
    refused: ['Forbidden: Fairlead knows no such annotation'],
  },
];

export const DAEMON_ACCEPTED: readonly (readonly [string, Omit<DaemonCase, 'name' | 'apis' | 'refused'>])[] =
  [
    ['nothing but what must be', {}],
    ['maxUnavailable of two and of a half', { rollingUpdate: { maxUnavailable: '50%' } }],
    ['a surge', { rollingUpdate: { maxUnavailable: 0, maxSurge: 1 } }],
    [
      'every setting',
      {
        labels: { canary: 'true', 'example.com/disk': 'ssd', empty: '' },
        settings: {
          partition: 1,
          topologyKey: 'topology.kubernetes.io/zone',
          notReadyNodes: 'Count',
          drainTimeoutSeconds: 60,
          prePullNodes: 2,
          prePullTimeoutSeconds: 30,
          podUpdatePolicy: 'InPlaceIfPossible',
          progressDeadlineSeconds: 60,
          onDeadline: 'Rollback',
        },
        pod: { readinessGates: GATES },
      },
    ],
  ];
