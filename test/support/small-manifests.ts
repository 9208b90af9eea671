/** Manifests of commits whose rollouts the test itself plays, and the status that it plays them with. */

import type { KubernetesClient, ResourcePath } from '../../kubernetes/client.ts';

export interface SmallManifest {
  /** @default web */
  readonly name?: string;
  /** @default fairlead.dev/v1beta1 */
  readonly apiVersion?: string;
  /** Annotation `fairlead.dev/wave`. */
  readonly wave?: string;
}

export function statefulSet(image: string, options: SmallManifest = {}): string {
  const { name = 'web', apiVersion = 'fairlead.dev/v1beta1', wave } = options;
  return `apiVersion: ${apiVersion}
kind: StatefulSet
metadata:
  name: ${name}
${wave === undefined ? '' : `  annotations: {fairlead.dev/wave: "${wave}"}\n`}spec:
  replicas: 1
  serviceName: web
  selector: {matchLabels: {app: ${name}}}
  template:
    metadata: {labels: {app: ${name}}}
    spec:
      containers:
      - {name: main, image: "example.com/web:${image}"}
`;
}

export function configMap(value: string): string {
  return `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: config}\ndata: {key: "${value}"}\n`;
}

/** Writes what a controller would say of the object's newest generation. `stalled` is a reason. */
export async function playStatus(
  client: KubernetesClient,
  path: ResourcePath,
  ready: boolean,
  stalled?: string,
): Promise<void> {
  const { metadata } = await client.get(path);
  const time = '2026-01-01T00:00:00Z';
  const condition = (type: string, status: boolean, reason: string, message = '') => ({
    type,
    status: status ? 'True' : 'False',
    reason,
    message,
    lastTransitionTime: time,
  });
  await client.patch({ ...path, subresource: 'status' }, 'merge', {
    status: {
      observedGeneration: metadata.generation,
      replicas: 1,
      conditions: [
        condition('Ready', ready, ready ? 'RolloutComplete' : 'Progressing', 'one pod to go'),
        condition('Stalled', stalled !== undefined, stalled ?? 'NotStalled', 'no progress for 60 s'),
      ],
    },
  });
}
