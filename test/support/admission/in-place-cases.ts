/** Changes of a template under podUpdatePolicy InPlaceOnly: what stays possible, and what is refused with which field named. */

import { GATES } from './workload-manifest.ts';
import type { Json } from './workload-manifest.ts';

/** A pod spec with one of everything that matters. */
export const BEFORE: Json = {
  readinessGates: GATES,
  initContainers: [
    { name: 'prepare', image: 'registry.example/prepare:1' },
    {
      name: 'proxy',
      image: 'registry.example/proxy:1',
      restartPolicy: 'Always',
      env: [
        { name: 'MEMORY', valueFrom: { resourceFieldRef: { resource: 'requests.memory' } } },
        { name: 'ZONE', valueFrom: { fieldRef: { fieldPath: "metadata.annotations['zone']" } } },
      ],
      resources: { requests: { cpu: '100m', memory: '64Mi' } },
      resizePolicy: [{ resourceName: 'memory', restartPolicy: 'RestartContainer' }],
    },
  ],
  containers: [
    {
      name: 'main',
      image: 'registry.example/web:1',
      env: [
        { name: 'TIER', valueFrom: { fieldRef: { fieldPath: "metadata.labels['tier']" } } },
        { name: 'MODE', value: 'a' },
        { name: 'CPUS', valueFrom: { resourceFieldRef: { resource: 'limits.cpu' } } },
      ],
      ports: [{ containerPort: 80 }],
      readinessProbe: { httpGet: { port: 80 } },
      resources: { requests: { cpu: '500m', memory: '1Gi' }, limits: { cpu: 1 } },
    },
    {
      name: 'side',
      image: 'registry.example/side:1',
      env: [
        {
          name: 'CPUS',
          valueFrom: { resourceFieldRef: { containerName: 'main', resource: 'limits.cpu' } },
        },
      ],
    },
  ],
  volumes: [{ name: 'config', configMap: { name: 'web' } }],
};
export const METADATA_BEFORE: Json = {
  labels: { app: 'web', tier: 'front' },
  annotations: { note: 'a', zone: 'b' },
};

/** A pod spec that says, as charts print it, what is the same as nothing, and leaves out what is filled in. */
export const SPELLED_OUT: Json = {
  readinessGates: GATES,
  nodeSelector: {},
  serviceAccountName: '',
  priorityClassName: '',
  hostname: '',
  tolerations: [{ key: 'spot', operator: 'Exists', value: '' }],
  containers: [
    {
      name: 'main',
      image: 'registry.example/web:1',
      stdin: false,
      tty: false,
      workingDir: '',
      volumeMounts: [{ name: 'data', mountPath: '/data', readOnly: false }],
    },
  ],
  volumes: [{ name: 'tmp' }, { name: 'data', persistentVolumeClaim: { claimName: 'data', readOnly: false } }],
};

interface Operation {
  readonly op: 'add' | 'replace' | 'remove';
  readonly path: string;
  readonly value?: unknown;
}
/** What changes, and the JSON patch that does it. */
type Accepted = readonly [name: string, patch: readonly Operation[]];
/** The same with words of the refusal; `{podUpdatePolicy}` as in creation cases. */
type Refused = readonly [name: string, patch: readonly Operation[], refused: readonly string[]];

const POD = '/spec/template/spec';
const MAIN = `${POD}/containers/0`;
const WHY =
  "Forbidden: {podUpdatePolicy} InPlaceOnly lets only images, cpu and memory of containers and the template's labels and annotations change";

function replace(path: string, value: unknown): Operation {
  return { op: 'replace', path, value };
}
function add(path: string, value: unknown): Operation {
  return { op: 'add', path, value };
}
function remove(path: string): Operation {
  return { op: 'remove', path };
}

export const IN_PLACE_ACCEPTED: readonly Accepted[] = [
  ['an image', [replace(`${MAIN}/image`, 'registry.example/web:2')]],
  ['an image to no tag (A20)', [replace(`${MAIN}/image`, 'registry.example/web')]],
  ['an image to a digest', [replace(`${MAIN}/image`, `registry.example/web@sha256:${'a'.repeat(64)}`)]],
  ['the image of a sidecar', [replace(`${POD}/initContainers/1/image`, 'registry.example/proxy:2')]],
  ['cpu', [replace(`${MAIN}/resources/requests/cpu`, '750m')]],
  ['memory', [replace(`${MAIN}/resources/requests/memory`, '2Gi')]],
  ['a limit that was not there', [add(`${MAIN}/resources/limits/memory`, '2Gi')]],
  ['a new template label (A21)', [add('/spec/template/metadata/labels/colour', 'blue')]],
  ['a template annotation', [replace('/spec/template/metadata/annotations/note', 'b')]],
  ['a template annotation to none', [remove('/spec/template/metadata/annotations/note')]],
  ['replicas', [replace('/spec/replicas', 5)]],
  ['the spelling of an amount', [replace(`${MAIN}/resources/requests/cpu`, 0.5)]],
  ['the spelling of a default', [add(`${POD}/dnsPolicy`, 'ClusterFirst')]],
  [
    'what is the same as nothing, where Go leaves it out',
    [
      add(`${POD}/securityContext`, {}),
      add(`${POD}/hostNetwork`, false),
      add(`${POD}/nodeSelector`, {}),
      add(`${POD}/priorityClassName`, ''),
      add(`${MAIN}/tty`, false),
      add(`${MAIN}/ports/0/hostPort`, 0),
      add(`${MAIN}/env/2/valueFrom/resourceFieldRef/divisor`, 0),
      add(`${MAIN}/readinessProbe/initialDelaySeconds`, 0),
    ],
  ],
  [
    'a label that the environment holds, with a new image (A22)',
    [
      replace('/spec/template/metadata/labels/tier', 'back'),
      replace(`${MAIN}/image`, 'registry.example/web:2'),
    ],
  ],
  [
    'an annotation that the environment of a sidecar holds, with a resize that restarts it (A22, A30)',
    [
      replace('/spec/template/metadata/annotations/zone', 'c'),
      replace(`${POD}/initContainers/1/resources/requests/memory`, '128Mi'),
    ],
  ],
  [
    'the spelling of an amount that the environment holds',
    [replace(`${MAIN}/resources/limits/cpu`, '1000m')],
  ],
  [
    'an amount that the environment of two containers holds, with a new image of both (A22)',
    [
      replace(`${MAIN}/resources/limits/cpu`, 2),
      replace(`${MAIN}/image`, 'registry.example/web:2'),
      replace(`${POD}/containers/1/image`, 'registry.example/side:2'),
    ],
  ],
  [
    'an amount that the environment holds, whose change restarts the container (A30)',
    [replace(`${POD}/initContainers/1/resources/requests/memory`, '128Mi')],
  ],
];

const GUARANTEED = { limits: { cpu: 1, memory: '1Gi' } };

export const IN_PLACE_REFUSED: readonly Refused[] = [
  [
    'a label that the environment holds (A22)',
    [replace('/spec/template/metadata/labels/tier', 'back')],
    [
      "spec.template.metadata.labels['tier']: Forbidden: the environment of container main holds it",
      'change its image as well',
    ],
  ],
  [
    'an annotation that the environment of a sidecar holds (A22)',
    [replace('/spec/template/metadata/annotations/zone', 'c')],
    [
      "spec.template.metadata.annotations['zone']: Forbidden: the environment of container proxy holds it",
      'change its image as well',
    ],
  ],
  [
    'an amount that the environment holds (A22)',
    [replace(`${MAIN}/resources/limits/cpu`, 2)],
    [
      'spec.template.spec.containers[0].resources.limits.cpu: Forbidden: the environment of container main holds it',
      'spec.template.spec.containers[0].resources.limits.cpu: Forbidden: the environment of container side holds it',
      'change its image as well, or set {podUpdatePolicy} to InPlaceIfPossible',
    ],
  ],
  [
    'an amount that the environment of another container holds (A22)',
    [replace(`${MAIN}/resources/limits/cpu`, 2), replace(`${MAIN}/image`, 'registry.example/web:2')],
    [
      'spec.template.spec.containers[0].resources.limits.cpu: Forbidden: the environment of container side holds it',
    ],
  ],
  [
    'env',
    [replace(`${MAIN}/env/1/value`, 'b')],
    [`spec.template.spec.containers[0].env: ${WHY}`, 'set {podUpdatePolicy} to InPlaceIfPossible'],
  ],
  ['args', [add(`${MAIN}/args`, ['x'])], [`spec.template.spec.containers[0].args: ${WHY}`]],
  [
    'two fields of a container',
    [add(`${MAIN}/args`, ['x']), replace(`${MAIN}/readinessProbe/httpGet/port`, 81)],
    ['spec.template.spec.containers[0].args', 'spec.template.spec.containers[0].readinessProbe', WHY],
  ],
  // A hole of another engine: a path that begins like an image's.
  [
    'imagePullPolicy (A38)',
    [add(`${MAIN}/imagePullPolicy`, 'Never')],
    [`spec.template.spec.containers[0].imagePullPolicy: ${WHY}`],
  ],
  [
    'the image of an init container',
    [replace(`${POD}/initContainers/0/image`, 'registry.example/prepare:2')],
    [`spec.template.spec.initContainers[0].image: ${WHY}`],
  ],
  [
    'the number of containers (one more)',
    [add(`${POD}/containers/-`, { name: 'more', image: 'registry.example/more:1' })],
    [`spec.template.spec.containers (added, removed, renamed or reordered): ${WHY}`],
  ],
  [
    'the number of containers (one less)',
    [remove(`${POD}/containers/1`)],
    [`spec.template.spec.containers (added, removed, renamed or reordered): ${WHY}`],
  ],
  [
    'volumes',
    [add(`${POD}/volumes/-`, { name: 'tmp', emptyDir: {} })],
    [`spec.template.spec.volumes: ${WHY}`],
  ],
  [
    'the service account',
    [add(`${POD}/serviceAccountName`, 'other')],
    [`spec.template.spec.serviceAccountName: ${WHY}`],
  ],
  [
    'terminationGracePeriodSeconds',
    [add(`${POD}/terminationGracePeriodSeconds`, 5)],
    [`spec.template.spec.terminationGracePeriodSeconds: ${WHY}`],
  ],
  [
    'what a pointer in Go tells from nothing, of a pod',
    [
      add(`${POD}/volumes/0/configMap/defaultMode`, 0),
      add(`${POD}/affinity`, {}),
      add(`${POD}/shareProcessNamespace`, false),
    ],
    [
      `spec.template.spec.volumes: ${WHY}`,
      `spec.template.spec.affinity: ${WHY}`,
      `spec.template.spec.shareProcessNamespace: ${WHY}`,
    ],
  ],
  [
    'what a pointer in Go tells from nothing, of containers',
    [
      add(`${MAIN}/securityContext`, { runAsUser: 0 }),
      add(`${POD}/containers/1/envFrom`, [{ configMapRef: { name: 'web', optional: false } }]),
    ],
    [
      `spec.template.spec.containers[0].securityContext: ${WHY}`,
      `spec.template.spec.containers[1].envFrom: ${WHY}`,
    ],
  ],
  [
    'finalizers of the template',
    [add('/spec/template/metadata/finalizers', ['example.com/a'])],
    [`spec.template.metadata.finalizers: ${WHY}`],
  ],
  [
    'a limit to none',
    [remove(`${MAIN}/resources/limits/cpu`)],
    [
      'spec.template.spec.containers[0].resources.limits.cpu: Forbidden: a pod that has it cannot lose it in place',
    ],
  ],
  [
    'ephemeral-storage',
    [add(`${MAIN}/resources/limits/ephemeral-storage`, '1Gi')],
    ['spec.template.spec.containers[0].resources: Forbidden: only cpu and memory can be resized in place'],
  ],
  [
    'the QoS class',
    [
      replace(`${MAIN}/resources`, { requests: { cpu: 1, memory: '1Gi' }, ...GUARANTEED }),
      add(`${POD}/containers/1/resources`, GUARANTEED),
      add(`${POD}/initContainers/0/resources`, GUARANTEED),
      add(`${POD}/initContainers/1/resources`, GUARANTEED),
    ],
    ['QoS class', 'set {podUpdatePolicy} to InPlaceIfPossible'],
  ],
];
