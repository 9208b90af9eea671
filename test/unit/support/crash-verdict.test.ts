/** What the judge of the crash matrix convicts. */

import { describe, expect, it } from '@jest/globals';

import type { CrashRun } from '../../crash/crash-arena.ts';
import { RESUME_LIMIT_MS, deletedTwice, judgeCrash, missedForGood } from '../../crash/crash-verdict.ts';

const SITE = {
  layer: 'apiserver',
  key: 'delete secrets token',
  kind: 'delete secrets',
  occurrence: 1,
  side: 'after',
} as const;

function runOf(change: Partial<CrashRun> = {}): CrashRun {
  const budget = { deletes: 0, patches: 0, charged: 0, came: 1, taken: 0, violations: [] };
  const end = { objects: { 'Secret token': 'as it was' }, history: ['Succeeded'] };
  return { sites: [], end, budget, deletedTwice: [], reached: true, resumedAfterMs: 6_400, ...change };
}

describe('judge of a crash', () => {
  it('finds nothing where the end is that of the clean run', () => {
    expect(judgeCrash(SITE, runOf(), runOf(), true).faults).toEqual([]);
  });

  it.each([
    [
      'another end',
      { end: { objects: {}, history: ['Succeeded'] } },
      'another end of objects: {} instead of',
    ],
    [
      'an object deleted twice',
      { deletedTwice: ['delete secrets token (u1)'] },
      'deleted twice: delete secrets',
    ],
    ['late work', { resumedAfterMs: RESUME_LIMIT_MS + 1 }, 'work went on only after 10001 ms'],
  ] as const)('convicts %s', (_, change, fault) => {
    const { faults } = judgeCrash(SITE, runOf(), runOf(change), true);
    expect(faults).toEqual([expect.stringContaining(fault)]);
  });
});

describe('deletes that were taken twice', () => {
  const write = (uid: string | undefined, status: number | undefined) =>
    ({ key: 'delete secrets token', verb: 'delete', uid, status }) as const;

  it('are told by the uid', () => {
    expect(deletedTwice([write('u1', 200), write('u1', 200), write('u2', 200)])).toEqual([
      'delete secrets token (u1)',
    ]);
  });

  it('are none where the second was refused, or never answered', () => {
    const writes = [write('u1', 200), write('u1', 404), write('u1', 409), write('u1', undefined)];
    expect(deletedTwice(writes)).toEqual([]);
  });
});

describe('places that were not come by', () => {
  const at = (kind: string, occurrence: number, reached: boolean, side: 'before' | 'after' = 'before') => ({
    site: { layer: 'apiserver', key: `${kind} web`, kind, occurrence, side } as const,
    reached,
  });

  it.each([
    ['one of several of a kind', [at('patch services', 1, true), at('patch services', 2, false)], []],
    [
      'all of a kind on one side',
      [at('patch services', 1, true, 'after'), at('patch services', 1, false)],
      ['every place before patch services (apiserver)'],
    ],
    ['all events, which the clock gathers', [at('create events', 1, false)], []],
    ['a status that was written less often', [at('patch statefulsets/status', 1, false)], []],
    [
      'one of several deletes of pods',
      [at('delete pods', 1, true), at('delete pods', 2, false)],
      ['before delete pods web #2'],
    ],
    [
      'one of several patches of a pod',
      [at('patch pods marked,spec', 1, true), at('patch pods marked,spec', 2, false)],
      ['before patch pods marked,spec web #2'],
    ],
  ])('%s', (_, verdicts, told) => {
    expect(missedForGood(verdicts)).toEqual(told);
  });
});
