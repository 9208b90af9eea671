import { expect, it } from '@jest/globals';

import { TakenBackError, assertChanged } from '../../../kubernetes/taken-back-error.ts';

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
