/** Good objects: admission must not be stricter than it says. */

import type { Description } from './workload-manifest.ts';

const CLAIM = {
  metadata: { name: 'data' },
  spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
};
const MANY_VARIABLES = Array.from({ length: 2000 }, (_, i) => ({ name: `V${i}`, value: 'x'.repeat(200) }));

export const ACCEPTED: readonly (readonly [string, Description])[] = [
  ['nothing of ours', {}],
  [
    'a budget of 1 with OrderedReady',
    { settings: { maxUnavailable: 1 }, spec: { podManagementPolicy: 'OrderedReady' } },
  ],
  ['100 %', { settings: { maxUnavailable: '100%' } }],
  ['in place with grace', { settings: { podUpdatePolicy: 'InPlaceIfPossible', gracePeriodSeconds: 5 } }],
  [
    'a deadline',
    { settings: { progressDeadlineSeconds: 60, onDeadline: 'Rollback' }, spec: { minReadySeconds: 59 } },
  ],
  ['OnDelete', { spec: { updateStrategy: { type: 'OnDelete' } } }],
  ['paused as a word', { annotations: { 'fairlead.dev/paused': 'true' } }],
  [
    'paused as a wish',
    {
      annotations: {
        'fairlead.dev/paused': '{"by":"a \\"b\\"","reason":"x: {y}, [z]","at":"2026-01-01T00:00:00Z"}',
      },
    },
  ],
  [
    'what sync writes',
    {
      annotations: {
        'fairlead.dev/commit': 'abc',
        'fairlead.dev/manifest-hash': 'def',
        'fairlead.dev/pinned': '{}',
      },
    },
  ],
  ['annotations of others', { annotations: { 'x.fairlead.dev/anything': 'y', 'example.com/paused': 'yes' } }],
  [
    'template annotations that differ in case only',
    {
      templateMetadata: {
        labels: { app: 'web' },
        annotations: { 'example.com/Port': '1', 'example.com/port': '2' },
      },
    },
  ],
  ['creationTimestamp: null', { templateMetadata: { labels: { app: 'web' }, creationTimestamp: null } }],
  [
    'quantities as numbers',
    { container: { resources: { requests: { cpu: 0.5, memory: 1e8 }, limits: { cpu: 1 } } } },
  ],
  [
    'expressions in the selector',
    {
      spec: {
        selector: {
          matchExpressions: [
            { key: 'app', operator: 'In', values: ['web'] },
            { key: 'x', operator: 'DoesNotExist' },
          ],
        },
      },
    },
  ],
  [
    'a mounted claim',
    {
      spec: { volumeClaimTemplates: [CLAIM] },
      container: { volumeMounts: [{ name: 'data', mountPath: '/data' }] },
    },
  ],
  ['a large template', { container: { env: MANY_VARIABLES } }],
  [
    'sidecars, probes, ports, affinity',
    {
      pod: {
        initContainers: [
          {
            name: 'proxy',
            image: 'registry.example/proxy:1',
            restartPolicy: 'Always',
            readinessProbe: { grpc: { port: 9 } },
          },
        ],
        tolerations: [{ operator: 'Exists' }, { key: 'a', value: 'b', effect: 'NoSchedule' }],
        topologySpreadConstraints: [
          {
            maxSkew: 1,
            topologyKey: 'kubernetes.io/hostname',
            whenUnsatisfiable: 'DoNotSchedule',
            labelSelector: { matchLabels: { app: 'web' } },
          },
        ],
        imagePullSecrets: [{ name: 'pull' }],
        securityContext: { runAsUser: 1000, fsGroup: 0, seccompProfile: { type: 'RuntimeDefault' } },
      },
    },
  ],
];
