/** StatefulSets that are refused as native ones are (S20, C16). */

import { OURS } from './creation-case.ts';
import type { CreationCase } from './creation-case.ts';

/** What native StatefulSets are refused for by code of the apiserver; only our own API needs rules for it. */
export const NATIVE_RULE_CASES: readonly CreationCase[] = (
  [
    [
      'restartPolicy Never',
      { pod: { restartPolicy: 'Never' } },
      ['spec.template.spec.restartPolicy: Unsupported value: "Never": supported values: "Always"'],
    ],
    [
      'activeDeadlineSeconds',
      { pod: { activeDeadlineSeconds: 5 } },
      [
        'spec.template.spec.activeDeadlineSeconds: Forbidden: activeDeadlineSeconds in StatefulSet is not Supported',
      ],
    ],
    [
      'a selector that does not match',
      { spec: { selector: { matchLabels: { app: 'other' } } } },
      [
        'spec.template.metadata.labels: Invalid value: `selector` does not match template `labels`',
        'every label that spec.selector asks for',
      ],
    ],
    [
      'a selector expression that does not match',
      { spec: { selector: { matchExpressions: [{ key: 'app', operator: 'NotIn', values: ['web'] }] } } },
      ['`selector` does not match template `labels`'],
    ],
    [
      'an empty selector',
      { spec: { selector: {} } },
      ['spec.selector: Invalid value: {}: empty selector is invalid for statefulset'],
    ],
    [
      'In without values',
      { spec: { selector: { matchExpressions: [{ key: 'app', operator: 'In' }] } } },
      [
        "spec.selector.matchExpressions[0].values: Required value: must be specified when `operator` is 'In' or 'NotIn'",
      ],
    ],
    [
      'Exists with values',
      { spec: { selector: { matchExpressions: [{ key: 'app', operator: 'Exists', values: ['a'] }] } } },
      [
        "spec.selector.matchExpressions[0].values: Forbidden: may not be specified when `operator` is 'Exists'",
      ],
    ],
    [
      'an unknown operator',
      { spec: { selector: { matchExpressions: [{ key: 'app', operator: 'Is' }] } } },
      ['spec.selector.matchExpressions[0].operator: Unsupported value: "Is"'],
    ],
    [
      'partition -1',
      { spec: { updateStrategy: { rollingUpdate: { partition: -1 } } } },
      ['spec.updateStrategy.rollingUpdate.partition: Invalid value: -1'],
    ],
    ['replicas -1', { spec: { replicas: -1 } }, ['spec.replicas: Invalid value: -1']],
    [
      'replicas beyond 32 bits',
      { spec: { replicas: 4_294_967_296 } },
      ['spec.replicas: Invalid value: 4294967296'],
    ],
    ['minReadySeconds -1', { spec: { minReadySeconds: -1 } }, ['spec.minReadySeconds: Invalid value: -1']],
    ['ordinals.start -1', { spec: { ordinals: { start: -1 } } }, ['spec.ordinals.start: Invalid value: -1']],
    [
      'rollingUpdate with OnDelete',
      { spec: { updateStrategy: { type: 'OnDelete', rollingUpdate: { partition: 0 } } } },
      [
        "spec.updateStrategy.rollingUpdate: Invalid value: only allowed for updateStrategy 'RollingUpdate'",
        'set spec.updateStrategy.rollingUpdate to null',
      ],
    ],
    [
      'an unknown strategy',
      { spec: { updateStrategy: { type: 'Recreate' } } },
      ['spec.updateStrategy.type: Unsupported value: "Recreate"'],
    ],
    [
      'an unknown podManagementPolicy',
      { spec: { podManagementPolicy: 'Any' } },
      ['spec.podManagementPolicy: Unsupported value: "Any"'],
    ],
    [
      'an unknown retention policy',
      { spec: { persistentVolumeClaimRetentionPolicy: { whenDeleted: 'Keep' } } },
      [
        'spec.persistentVolumeClaimRetentionPolicy.whenDeleted: Unsupported value: "Keep": supported values: "Retain", "Delete"',
      ],
    ],
    [
      'a service name that is no label',
      { spec: { serviceName: 'Web.svc' } },
      ['spec.serviceName: Invalid value: "Web.svc"'],
    ],
    [
      'a name of 53 characters',
      { metadata: { name: 'w'.repeat(53) } },
      ['metadata.name: Invalid value: ', 'no more than 52 characters', 'controller-revision-hash'],
    ],
    ['a name with a dot', { metadata: { name: 'web.one' } }, ['metadata.name: Invalid value: "web.one"']],
    [
      'a claim template without access modes',
      {
        spec: {
          volumeClaimTemplates: [
            { metadata: { name: 'data' }, spec: { resources: { requests: { storage: '1Gi' } } } },
          ],
        },
      },
      ['spec.volumeClaimTemplates[0].spec.accessModes: Required value'],
    ],
    [
      'a claim template without a size',
      {
        spec: {
          volumeClaimTemplates: [
            { metadata: { name: 'data' }, spec: { accessModes: ['ReadWriteOnce'], resources: {} } },
          ],
        },
      },
      ['spec.volumeClaimTemplates[0].spec.resources[storage]: Required value'],
    ],
    [
      'a claim template without a name',
      {
        spec: {
          volumeClaimTemplates: [
            { spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } } },
          ],
        },
      },
      ['spec.volumeClaimTemplates[0].metadata.name: Invalid value: ""'],
    ],
  ] as const
).map(([name, given, refused]) => ({ name, apis: OURS, given, refused }));
