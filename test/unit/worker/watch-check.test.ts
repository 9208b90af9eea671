/** What `/readyz` says of a leader's watches. */

import { expect, it } from '@jest/globals';

import type { SourceHealth } from '../../../kubernetes/watch-source.ts';
import { watchCheck } from '../../../worker/watch-check.ts';

const NOW = 1_000_000;

const source = (change: Partial<SourceHealth>): SourceHealth => ({
  resource: 'pods',
  namespace: undefined,
  synced: true,
  ok: true,
  connected: true,
  lastContact: NOW,
  resourceVersion: '1',
  failures: 0,
  lastError: undefined,
  ...change,
});

it.each<[string, readonly Partial<SourceHealth>[], RegExp | undefined]>([
  ['a replica that does not lead', [], undefined],
  ['a leader that is well', [{}], undefined],
  [
    'one that is just listing',
    [{}, { synced: false, connected: false, lastContact: 0, failures: 1 }],
    undefined,
  ],
  ['a watch that has just been cut', [{ connected: false }], undefined],
  [
    'a collection that cannot be listed',
    [{}, { resource: 'replicasets', synced: false, connected: false, failures: 3, lastError: 'Forbidden' }],
    /^leads and keeps nothing, for it cannot list replicasets \(Forbidden\): /,
  ],
  ['a silent watch', [{ namespace: 'shop', connected: false, lastContact: 1 }], /^silent: pods in shop$/],
])('%s', (_, sources, told) => {
  const { ok, message } = watchCheck(sources.map(source), NOW);
  expect(ok).toBe(told === undefined);
  expect(message ?? '').toMatch(told ?? /^$/);
});
