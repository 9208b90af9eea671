/** Signals come from anybody, with anything in them. */

import { describe, expect, it } from '@jest/globals';

import { readOperatorMessage } from '../../workflows/messages.ts';
import { readSha } from '../../workflows/sync-messages.ts';

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
