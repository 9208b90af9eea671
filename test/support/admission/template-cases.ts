/** Pod templates that are refused as those of native workloads are. */

import { OURS } from './creation-case.ts';
import type { CreationCase } from './creation-case.ts';

export const TEMPLATE_CASES: readonly CreationCase[] = (
  [
    [
      'no containers',
      { pod: { containers: [] } },
      ['spec.template.spec.containers: Invalid value: 0: ', 'at least 1 items'],
    ],
    [
      'no image',
      { pod: { containers: [{ name: 'main' }] } },
      ['spec.template.spec.containers[0].image: Required value'],
    ],
    [
      'an empty image',
      { container: { image: '' } },
      ['spec.template.spec.containers[0].image: Invalid value: ""'],
    ],
    [
      'an image with white space',
      { container: { image: ' a' } },
      ['spec.template.spec.containers[0].image: Invalid value: " a"'],
    ],
    [
      'a container name that is no label',
      { container: { name: 'Main_1' } },
      ['spec.template.spec.containers[0].name: Invalid value: "Main_1"'],
    ],
    [
      'two containers of one name',
      {
        pod: {
          containers: [
            { name: 'a', image: 'x' },
            { name: 'a', image: 'y' },
          ],
        },
      },
      ['spec.template.spec.containers[1]: Duplicate value: {"name":"a"}'],
    ],
    [
      'an init container with the name of a container',
      { pod: { initContainers: [{ name: 'main', image: 'x' }] } },
      ['spec.template.spec.initContainers[0].name: Duplicate value: "main"'],
    ],
    [
      'a bad label value',
      { templateMetadata: { labels: { app: 'web', x: 'no spaces' } } },
      ['spec.template.metadata.labels.x: Invalid value: "no spaces"'],
    ],
    [
      'a label value of 64 characters',
      { templateMetadata: { labels: { app: 'web', x: 'a'.repeat(64) } } },
      ['spec.template.metadata.labels.x: Too long'],
    ],
    [
      'a bad label key',
      { templateMetadata: { labels: { app: 'web', '-x': 'a' } } },
      ['spec.template.metadata.labels: Invalid value: "-x": not a label key'],
    ],
    [
      'a bad annotation key',
      { templateMetadata: { labels: { app: 'web' }, annotations: { 'a/b/c': 'a' } } },
      ['spec.template.metadata.annotations: Invalid value: "a/b/c": not an annotation key'],
    ],
    [
      'annotations of more than 256 KiB',
      {
        templateMetadata: {
          labels: { app: 'web' },
          annotations: { a: 'x'.repeat(200_000), b: 'y'.repeat(70_000) },
        },
      },
      ['spec.template.metadata.annotations: Too long: may not be more than 262144 bytes'],
    ],
    [
      'a volume mount without a volume',
      { container: { volumeMounts: [{ name: 'data', mountPath: '/data' }] } },
      [
        'spec.template.spec.containers[0].volumeMounts[0].name: Not found: "data"',
        'spec.volumeClaimTemplates',
      ],
    ],
    [
      'a volume of two kinds',
      { pod: { volumes: [{ name: 'v', emptyDir: {}, hostPath: { path: '/' } }] } },
      ['spec.template.spec.volumes[0]: Forbidden: may not specify more than 1 volume type, and it has '],
    ],
    [
      'a subPath that climbs',
      {
        container: { volumeMounts: [{ name: 'v', mountPath: '/v', subPath: 'a/../b' }] },
        volumes: [{ name: 'v', emptyDir: {} }],
      },
      [
        "spec.template.spec.containers[0].volumeMounts[0].subPath: Invalid value: must be a relative path without '..'",
      ],
    ],
    [
      'env with value and valueFrom',
      {
        container: {
          env: [{ name: 'A', value: 'a', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } }],
        },
      },
      [
        'spec.template.spec.containers[0].env[0].valueFrom: Invalid value: may not be specified when `value` is not empty',
      ],
    ],
    [
      'env with an empty valueFrom',
      { container: { env: [{ name: 'A', valueFrom: {} }] } },
      [
        'spec.template.spec.containers[0].env[0].valueFrom: Invalid value: must specify exactly one of: `fieldRef`',
      ],
    ],
    [
      'an env name with =',
      { container: { env: [{ name: 'A=B' }] } },
      ['spec.template.spec.containers[0].env[0].name: Invalid value: "A=B"'],
    ],
    [
      'port 0',
      { container: { ports: [{ containerPort: 0 }] } },
      ['spec.template.spec.containers[0].ports[0].containerPort: Invalid value: 0'],
    ],
    [
      'two ports of one name',
      {
        container: {
          ports: [
            { containerPort: 1, name: 'a' },
            { containerPort: 2, name: 'a' },
          ],
        },
      },
      ['spec.template.spec.containers[0].ports: Duplicate value'],
    ],
    [
      'a probe without a handler',
      { container: { readinessProbe: { periodSeconds: 1 } } },
      ['spec.template.spec.containers[0].readinessProbe: Required value: must specify a handler type'],
    ],
    [
      'a probe with two handlers',
      { container: { livenessProbe: { exec: { command: ['a'] }, tcpSocket: { port: 1 } } } },
      ['spec.template.spec.containers[0].livenessProbe: Forbidden: may not specify more than 1 handler type'],
    ],
    [
      'successThreshold of a liveness probe',
      { container: { livenessProbe: { tcpSocket: { port: 1 }, successThreshold: 2 } } },
      ['spec.template.spec.containers[0].livenessProbe.successThreshold: Invalid value: 2: must be 1'],
    ],
    [
      'a probe on an init container',
      { pod: { initContainers: [{ name: 'i', image: 'x', readinessProbe: { tcpSocket: { port: 1 } } }] } },
      [
        'spec.template.spec.initContainers[0].readinessProbe: Forbidden: may not be set for init containers without restartPolicy=Always',
      ],
    ],
    [
      'a quantity that is none',
      { container: { resources: { limits: { cpu: 'much' } } } },
      ['spec.template.spec.containers[0].resources.limits.cpu: Invalid value: "much"'],
    ],
    [
      'a negative quantity',
      { container: { resources: { limits: { cpu: '-1' } } } },
      [
        'spec.template.spec.containers[0].resources.limits: Invalid value: must be greater than or equal to 0',
      ],
    ],
    [
      'a request above its limit',
      { container: { resources: { requests: { cpu: 2 }, limits: { cpu: '1500m' } } } },
      [
        'spec.template.spec.containers[0].resources.requests: Invalid value: cpu: must be less than or equal to the limit',
      ],
    ],
    [
      'ephemeral containers',
      { pod: { ephemeralContainers: [{ name: 'e', image: 'x' }] } },
      ['spec.template.spec.ephemeralContainers: Forbidden: ephemeral containers not allowed in pod template'],
    ],
    [
      'a toleration of everything but one effect',
      { pod: { tolerations: [{ operator: 'Equal', value: 'x' }] } },
      ['spec.template.spec.tolerations[0]: Invalid value: operator must be Exists when `key` is empty'],
    ],
    [
      'a resource that does not exist',
      { container: { resources: { limits: { mem: '1Gi' } } } },
      [
        'spec.template.spec.containers[0].resources.limits: Invalid value: mem: must be a standard resource type',
      ],
    ],
    [
      'two mounts at one path',
      {
        container: {
          volumeMounts: [
            { name: 'v', mountPath: '/v' },
            { name: 'w', mountPath: '/v' },
          ],
        },
        volumes: [
          { name: 'v', emptyDir: {} },
          { name: 'w', emptyDir: {} },
        ],
      },
      ['spec.template.spec.containers[0].volumeMounts[1]: Duplicate value: {"mountPath":"/v"}'],
    ],
    [
      'a ConfigMap without a name',
      { container: { envFrom: [{ configMapRef: {} }] } },
      ['spec.template.spec.containers[0].envFrom[0].configMapRef.name: Required value'],
    ],
    [
      'port 0 of a probe',
      { container: { readinessProbe: { httpGet: { port: 0 } } } },
      ['spec.template.spec.containers[0].readinessProbe.httpGet.port: Invalid value: 0'],
    ],
    [
      'a field path that does not exist',
      { container: { env: [{ name: 'A', valueFrom: { fieldRef: { fieldPath: 'spec.image' } } }] } },
      ['spec.template.spec.containers[0].env[0].valueFrom.fieldRef.fieldPath: Invalid value: "spec.image"'],
    ],
    [
      'an unknown field deep in the template',
      { container: { livenessProbe: { httpGet: { port: 80, protocol: 'x' } } } },
      ['unknown field "spec.template.spec.containers[0].livenessProbe.httpGet.protocol"'],
    ],
  ] as const
).map(([name, given, refused]) => ({ name, apis: OURS, given, refused }));
