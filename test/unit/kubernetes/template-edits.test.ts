/** What `set image` writes. */

import { expect, it } from '@jest/globals';

import type { KubernetesClient } from '../../../kubernetes/client.ts';
import { setImage } from '../../../kubernetes/template-edits.ts';
import { trusted } from '../../../kubernetes/values.ts';
import type { PatchOperation, WorkloadObject } from '../../../kubernetes/workload-edit.ts';
import { ANNOTATION } from '../../../planners/names.ts';
import { jsonPatched } from '../../support/json-patched.ts';
import { workloadObject } from '../../support/workload-objects.ts';

const TARGET = {
  group: 'fairlead.dev',
  version: 'v1beta1',
  kind: 'StatefulSet',
  namespace: 'default',
  name: 'web',
} as const;

/** Sets the image of `main`; answers the object as it is then. */
async function withImage(object: WorkloadObject, image: string): Promise<WorkloadObject> {
  let present = object;
  const client = trusted<KubernetesClient>({
    get: async () => await Promise.resolve(present),
    patch: async (_path: unknown, _type: unknown, operations: readonly PatchOperation[]) =>
      await Promise.resolve((present = trusted<WorkloadObject>(jsonPatched(present, operations)))),
  });
  await setImage(client, TARGET, new Map([['main', image]]), {}, 0);
  return present;
}

it.each([
  ['goes with the way back to what git gives', 'web:1', undefined],
  ['stays with any other', 'web:3', '{"rejected":"hash"}'],
])('the pin of an undo %s', async (_, image, pin) => {
  const before = workloadObject({ annotations: { [ANNOTATION.commit]: 'c0ffee' } });
  // Git gives web:1; an undo has led to web:0 since, and pinned it.
  const undone = await withImage(before, 'web:0');
  const annotations = { ...undone.metadata.annotations, [ANNOTATION.pinned]: '{"rejected":"hash"}' };
  const pinned = { ...undone, metadata: { ...undone.metadata, annotations } };
  const { metadata } = await withImage(pinned, image);
  expect(metadata.annotations?.[ANNOTATION.pinned]).toBe(pin);
});

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
