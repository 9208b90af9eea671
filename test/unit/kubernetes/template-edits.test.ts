/** What `set image` writes. */

import { expect, it } from '@jest/globals';

import type { KubernetesClient } from '../../../kubernetes/client.ts';
import { setImage } from '../../../kubernetes/template-edits.ts';
import { trusted } from '../../../kubernetes/values.ts';
import type { PatchOperation } from '../../../kubernetes/workload-edit.ts';
import { jsonPatched } from '../../support/json-patched.ts';
import { workloadObject } from '../../support/workload-objects.ts';

const TARGET = {
  group: 'fairlead.dev',
  version: 'v1beta1',
  kind: 'StatefulSet',
  namespace: 'default',
  name: 'web',
} as const;

it('leaves alone a container that nobody named, also where it is called as what every object has', async () => {
  const containers = [
    { name: 'app', image: 'web:1' },
    { name: 'constructor', image: 'build:1' },
  ];
  const object = workloadObject({ spec: { template: { spec: { containers } } } });
  const sent: PatchOperation[] = [];
  const client = trusted<KubernetesClient>({
    get: async () => await Promise.resolve(object),
    patch: async (_path: unknown, _type: unknown, operations: readonly PatchOperation[]) => {
      sent.push(...operations);
      return await Promise.resolve(jsonPatched(object, operations));
    },
  });
  const { message } = await setImage(client, TARGET, new Map([['app', 'web:2']]), {}, 0);
  expect(message).toContain('image updated: app=web:2');
  const images = sent.filter(({ path }) => path.endsWith('/image'));
  expect(images).toEqual([{ op: 'add', path: '/spec/template/spec/containers/0/image', value: 'web:2' }]);
});
