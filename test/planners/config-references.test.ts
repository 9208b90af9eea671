/** What a pod cannot start without. */

import { expect, it } from '@jest/globals';

import { configReferences } from '../../planners/config-references.ts';
import type { PodSpec } from '../../planners/objects.ts';
import { trusted } from '../../kubernetes/values.ts';

const container = (more: object) => ({ name: 'c', image: 'i', ...more });

it.each<[what: string, spec: object, references: readonly string[]]>([
  ['nothing', {}, []],
  ['a volume', { volumes: [{ name: 'v', configMap: { name: 'a' } }] }, ['ConfigMap/a']],
  ['a volume of a Secret', { volumes: [{ name: 'v', secret: { secretName: 'a' } }] }, ['Secret/a']],
  [
    'a projected volume',
    {
      volumes: [
        { name: 'v', projected: { sources: [{ configMap: { name: 'a' } }, { secret: { name: 'b' } }] } },
      ],
    },
    ['ConfigMap/a', 'Secret/b'],
  ],
  [
    'a volume of a driver',
    { volumes: [{ name: 'v', csi: { driver: 'd', nodePublishSecretRef: { name: 'a' } } }] },
    ['Secret/a'],
  ],
  [
    'a volume of another driver',
    { volumes: [{ name: 'v', cephfs: { secretRef: { name: 'a' } } }] },
    ['Secret/a'],
  ],
  [
    'a file share',
    { volumes: [{ name: 'v', azureFile: { secretName: 'a', shareName: 's' } }] },
    ['Secret/a'],
  ],
  [
    'the environment of an init container',
    {
      initContainers: [
        container({ envFrom: [{ configMapRef: { name: 'a' } }, { prefix: 'p', secretRef: { name: 'b' } }] }),
      ],
    },
    ['ConfigMap/a', 'Secret/b'],
  ],
  [
    'variables',
    {
      containers: [
        container({
          env: [
            { name: 'A', value: 'a' },
            { name: 'B', valueFrom: { configMapKeyRef: { name: 'a', key: 'k' } } },
            { name: 'C', valueFrom: { secretKeyRef: { name: 'b', key: 'k' } } },
          ],
        }),
      ],
    },
    ['ConfigMap/a', 'Secret/b'],
  ],
  [
    'what is optional, which it starts without',
    {
      volumes: [{ name: 'v', configMap: { name: 'a', optional: true } }],
      containers: [container({ envFrom: [{ secretRef: { name: 'b', optional: true } }] })],
    },
    [],
  ],
  ['a pull secret', { imagePullSecrets: [{ name: 'a' }] }, ['Secret/a']],
  ['an account', { serviceAccountName: 'a', serviceAccount: 'a' }, ['ServiceAccount/a']],
  ['an account in its older spelling', { serviceAccount: 'a' }, ['ServiceAccount/a']],
])('%s', (_, spec, references) => {
  expect([...configReferences(trusted<PodSpec>({ containers: [container({})], ...spec }))]).toEqual(
    references,
  );
});
