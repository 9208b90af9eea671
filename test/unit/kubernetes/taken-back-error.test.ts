import { describe, expect, it } from '@jest/globals';

import { TakenBackError, assertChanged, assertWished } from '../../../kubernetes/taken-back-error.ts';

const PATH = { group: '', version: 'v1', resource: 'replicationcontrollers', namespace: 'ns', name: 'foo' };

it.each<[what: string, before: string | undefined, answered: { readonly deletionTimestamp?: string }]>([
  ['of a version that nobody knows', undefined, {}],
  ['of another version', '6', {}],
  ['that has taken the last finalizer off, so the object is gone', '7', { deletionTimestamp: 'now' }],
])('a patch %s has changed something', (_, before, more) => {
  expect(() => {
    assertChanged(PATH, before, { metadata: { resourceVersion: '7', ...more } });
  }).not.toThrow();
});

it('a patch whose object is of the same version still has not', () => {
  expect(() => {
    assertChanged(PATH, '7', { metadata: { resourceVersion: '7' } });
  }).toThrow(TakenBackError);
});

describe('a wish that was written', () => {
  const annotations = { 'fairlead.dev/paused': '{}' };
  const metadata = { name: 'web', uid: 'u', resourceVersion: '7', annotations };
  const wish = (op: string, path: string, value?: unknown) => [{ op, path, value }];
  const paused = '/metadata/annotations/fairlead.dev~1paused';

  it.each<[what: string, operations: ReturnType<typeof wish>, spec: object]>([
    ['an annotation that is there', wish('add', paused, '{}'), {}],
    ['an annotation that is gone', wish('remove', '/metadata/annotations/fairlead.dev~1pinned'), {}],
    ['a pause', wish('add', '/spec/paused', true), { paused: true }],
    ['its end, which is left out', wish('replace', '/spec/paused', false), {}],
    ['its end, which is not', wish('replace', '/spec/paused', false), { paused: false }],
    ['an image that admission has mirrored', wish('add', '/spec/image', 'a'), { image: 'mirror/a' }],
    ['what is only tested', wish('test', paused, 'x'), {}],
  ])('%s', (_, operations, spec) => {
    expect(() => {
      assertWished(PATH, operations, { metadata, spec });
    }).not.toThrow();
  });

  it.each<[what: string, operations: ReturnType<typeof wish>, spec: object]>([
    ['the annotation fairlead.dev/paused', wish('add', paused, 'other'), {}],
    ['the annotation fairlead.dev/paused', wish('remove', paused), {}],
    ['spec.paused', wish('add', '/spec/paused', true), {}],
    ['spec.paused', wish('replace', '/spec/paused', false), { paused: true }],
  ])('%s was taken back', (what, operations, spec) => {
    expect(() => {
      assertWished(PATH, operations, { metadata, spec });
    }).toThrow(`it was taken, and ${what} stayed as it was`);
  });
});
