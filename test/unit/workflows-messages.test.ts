/** Signals come from anybody, with anything in them. */

import { describe, expect, it } from '@jest/globals';

import { readOperatorMessage } from '../../workflows/messages.ts';
import { readDriftFound, readSeenCommit, readSha } from '../../workflows/sync-messages.ts';

const SHA = '0123456789abcdef0123456789abcdef01234567';

describe('the payload of a signal', () => {
  it.each<[unknown, object]>([
    [undefined, {}],
    [null, {}],
    [5, {}],
    ['', {}],
    [[], {}],
    [{}, {}],
    ['disk alarm', { reason: 'disk alarm' }],
    [
      { by: 'ada', reason: 'disk alarm', onObject: true, more: 1 },
      { by: 'ada', reason: 'disk alarm', onObject: true },
    ],
    [{ by: 5, reason: ['x'], onObject: 'yes' }, {}],
    [{ by: null, reason: 'x' }, { reason: 'x' }],
    [{ by: 'a'.repeat(1_000) }, { by: 'a'.repeat(80) }],
    ['x'.repeat(1_000), { reason: 'x'.repeat(500) }],
  ])('%j', (payload, message) => {
    expect(readOperatorMessage(payload)).toEqual(message);
  });

  it.each<[unknown, object | undefined]>([
    [{ sha: SHA }, { sha: SHA }],
    [
      { sha: SHA, settings: 'abc' },
      { sha: SHA, settings: 'abc' },
    ],
    [{ sha: SHA, settings: 5, suspended: null }, { sha: SHA }],
    [
      { sha: SHA, suspended: { by: 'ada', reason: 'x', at: '2026-01-01T00:00:00Z', more: 1 } },
      { sha: SHA, suspended: { by: 'ada', reason: 'x', at: '2026-01-01T00:00:00Z' } },
    ],
    // Somebody's annotation may hold anything: it is suspended all the same.
    [
      { sha: SHA, suspended: { by: 5, at: [] } },
      { sha: SHA, suspended: {} },
    ],
    [
      { sha: SHA, notify: ['slack', 5, 'github'] },
      { sha: SHA, notify: ['slack', 'github'] },
    ],
    [{ sha: SHA, notify: 'slack' }, { sha: SHA }],
    [{ suspended: {} }, undefined],
    ['x', undefined],
  ])('commit seen %j', (payload, seen) => {
    expect(readSeenCommit(payload)).toEqual(seen);
  });

  it.each<[unknown, object | undefined]>([
    [
      { sha: SHA, objects: ['/ConfigMap/a/b', 5], reason: 'x', more: 1 },
      { sha: SHA, objects: ['/ConfigMap/a/b'], reason: 'x' },
    ],
    [
      { sha: SHA, objects: ['/ConfigMap/a/b'], reason: 5 },
      { sha: SHA, objects: ['/ConfigMap/a/b'], reason: 'drift' },
    ],
    [{ sha: SHA, objects: [] }, undefined],
    [{ sha: SHA, objects: 'x' }, undefined],
    [{ sha: SHA, objects: ['x'.repeat(1_000)] }, undefined],
    [{ objects: ['/ConfigMap/a/b'] }, undefined],
    [undefined, undefined],
  ])('drift found %j', (payload, found) => {
    expect(readDriftFound(payload)).toEqual(found);
  });

  it.each<[unknown, string | undefined]>([
    [{ sha: SHA }, SHA],
    [{ sha: 'main' }, undefined],
    [{ sha: 5 }, undefined],
    [SHA, undefined],
    [null, undefined],
    [undefined, undefined],
  ])('sha of %j', (payload, sha) => {
    expect(readSha(payload)).toBe(sha);
  });
});
