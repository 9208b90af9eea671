/** What `/readyz` says of a leader's watches, and of whether one that stands by could take over. */

import { expect, it } from '@jest/globals';

import type { SourceHealth } from '../../../kubernetes/watch-source.ts';
import { standbyCheck, watchCheck } from '../../../worker/readiness.ts';

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

it.each([
  ['that has read the Lease', undefined, undefined],
  ['that has missed some tries', { since: NOW - 15_000, message: 'timeout' }, undefined],
  [
    'that does not reach the apiserver',
    { since: NOW - 87_000, message: 'Lease fairlead-system/fairlead-default: timeout' },
    'could not take over, for 87 s: Lease fairlead-system/fairlead-default: timeout',
  ],
])('a standby %s', (_, trouble, told) => {
  expect(standbyCheck(trouble, NOW)).toEqual({
    name: 'standby',
    ok: told === undefined,
    ...(told !== undefined && { message: told }),
  });
});
