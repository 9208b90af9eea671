/** Settings and annotations of ours that are refused, in the same words in both workload APIs. */

import { NATIVE, OURS } from './creation-case.ts';
import type { CreationCase } from './creation-case.ts';
import { BOTH } from './workload-manifest.ts';
import type { Description, Settings } from './workload-manifest.ts';

const BUDGET = 'must be a whole number of at least 1 or a percentage from 1% to 100%';

function setting(
  name: string,
  settings: Settings,
  refused: readonly string[],
  more: Description = {},
): CreationCase {
  return { name, apis: BOTH, given: { settings, ...more }, refused };
}

/** Rules of our settings: the same in both workload APIs. */
export const SETTING_CASES: readonly CreationCase[] = [
  setting('maxUnavailable 0', { maxUnavailable: 0 }, ['{maxUnavailable}: Invalid value: 0: ', BUDGET]),
  setting('maxUnavailable -1', { maxUnavailable: -1 }, ['{maxUnavailable}: Invalid value: -1: ', BUDGET]),
  setting('maxUnavailable 0%', { maxUnavailable: '0%' }, ['{maxUnavailable}: Invalid value: "0%": ', BUDGET]),
  setting('maxUnavailable 5x%', { maxUnavailable: '5x%' }, [
    '{maxUnavailable}: Invalid value: "5x%": ',
    BUDGET,
  ]),
  setting('maxUnavailable 101%', { maxUnavailable: '101%' }, [
    '{maxUnavailable}: Invalid value: "101%": ',
    BUDGET,
  ]),
  setting('maxUnavailable 5.5', { maxUnavailable: '5.5' }, [
    '{maxUnavailable}: Invalid value: "5.5": ',
    BUDGET,
  ]),
  setting(
    'maxUnavailable 2 with OrderedReady (S14)',
    { maxUnavailable: 2 },
    [
      '{maxUnavailable}: Forbidden: 2 needs spec.podManagementPolicy Parallel, and it is OrderedReady',
      'create the object again',
    ],
    { spec: { podManagementPolicy: 'OrderedReady' } },
  ),
  setting(
    'maxUnavailable 50% with OrderedReady',
    { maxUnavailable: '50%' },
    ['{maxUnavailable}: Forbidden: "50%" needs spec.podManagementPolicy Parallel, and it is OrderedReady'],
    { spec: { podManagementPolicy: 'OrderedReady' } },
  ),
  setting('podUpdatePolicy not known', { podUpdatePolicy: 'InPlace' }, [
    '{podUpdatePolicy}: Unsupported value: "InPlace": supported values: "ReCreate", "InPlaceIfPossible", "InPlaceOnly"',
  ]),
  ...['InPlaceIfPossible', 'InPlaceOnly'].map((podUpdatePolicy) =>
    setting(
      `${podUpdatePolicy} without the readiness gate (A18)`,
      { podUpdatePolicy },
      [
        `spec.template.spec.readinessGates: Required value: {podUpdatePolicy} ${podUpdatePolicy} needs the readiness gate InPlaceUpdateReady`,
        'add "- conditionType: InPlaceUpdateReady" to spec.template.spec.readinessGates',
      ],
      { pod: { readinessGates: [{ conditionType: 'Another' }] } },
    ),
  ),
  setting('progressDeadlineSeconds 0', { progressDeadlineSeconds: 0 }, [
    '{progressDeadlineSeconds}: Invalid value: 0: must be a whole number of seconds greater than 0',
  ]),
  setting(
    'progressDeadlineSeconds not above minReadySeconds',
    { progressDeadlineSeconds: 30 },
    ['{progressDeadlineSeconds}: Invalid value: 30: must be greater than minReadySeconds (30)'],
    { spec: { minReadySeconds: 30 } },
  ),
  setting('onDeadline not known', { onDeadline: 'Abort', progressDeadlineSeconds: 60 }, [
    '{onDeadline}: Unsupported value: "Abort": supported values: "Report", "Pause", "Rollback"',
  ]),
  setting('onDeadline without a deadline', { onDeadline: 'Rollback' }, [
    '{progressDeadlineSeconds}: Required value: without a deadline {onDeadline} Rollback would never happen',
  ]),
  setting('several at once', { maxUnavailable: 0, progressDeadlineSeconds: 0 }, [
    '{maxUnavailable}: Invalid value: 0',
    '; {progressDeadlineSeconds}: Invalid value: 0',
  ]),
  {
    name: 'gracePeriodSeconds negative',
    apis: OURS,
    given: { settings: { gracePeriodSeconds: -1 } },
    refused: ['{gracePeriodSeconds}: Invalid value: -1', 'greater than or equal to 0'],
  },
  {
    name: 'gracePeriodSeconds negative',
    apis: NATIVE,
    given: { settings: { gracePeriodSeconds: -1 } },
    refused: ['{gracePeriodSeconds}: Invalid value: -1: must be a whole number of seconds, 0 or more'],
  },
  {
    name: 'a number in quotes for maxUnavailable',
    apis: OURS,
    given: { settings: { maxUnavailable: '5' } },
    refused: ['{maxUnavailable}: Invalid value: "5": ', 'a number without quotes'],
  },
  {
    name: 'an in-place policy with OnDelete',
    apis: NATIVE,
    given: {
      settings: { podUpdatePolicy: 'InPlaceIfPossible' },
      spec: { updateStrategy: { type: 'OnDelete' } },
    },
    refused: ["{podUpdatePolicy}: Forbidden: only allowed for updateStrategy 'RollingUpdate'"],
  },
];

/** Rules of annotations in our name. */
export const ANNOTATION_CASES: readonly CreationCase[] = [
  ...['yes', '{"by": }', '["a"]', '{"by":{"x":"y"}}', ''].map((value) => ({
    name: `paused ${JSON.stringify(value)}`,
    apis: BOTH,
    given: { annotations: { 'fairlead.dev/paused': value } },
    refused: [
      `metadata.annotations[fairlead.dev/paused]: Invalid value: "${value}": must be "true", "false" or a JSON object`,
    ],
  })),
  {
    name: 'an empty value for a setting',
    apis: NATIVE,
    given: { annotations: { 'fairlead.dev/max-unavailable': '' } },
    refused: ['{maxUnavailable}: Invalid value: "": ', BUDGET],
  },
  {
    name: 'a misspelt annotation',
    apis: BOTH,
    given: { annotations: { 'fairlead.dev/max-unavailble': '2' } },
    refused: [
      'metadata.annotations[fairlead.dev/max-unavailble]: Forbidden: Fairlead knows no such annotation; for people are paused',
    ],
  },
  {
    name: 'a setting of apps/v1 on an object of ours',
    apis: OURS,
    given: { annotations: { 'fairlead.dev/max-unavailable': '2' } },
    refused: [
      'metadata.annotations[fairlead.dev/max-unavailable]: Forbidden: read on apps/v1 objects only; use spec.updateStrategy.rollingUpdate.maxUnavailable instead',
    ],
  },
  {
    name: 'an annotation of ours in the template',
    apis: BOTH,
    given: {
      templateMetadata: {
        labels: { app: 'web' },
        annotations: { 'fairlead.dev/pod-update-policy': 'InPlaceOnly' },
      },
    },
    refused: [
      "spec.template.metadata.annotations[fairlead.dev/pod-update-policy]: Forbidden: belongs to the workload's own metadata.annotations",
    ],
  },
];
