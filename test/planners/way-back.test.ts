import { describe, expect, it } from '@jest/globals';

import type { ControllerRevision } from '../../planners/objects.ts';
import type { WayBackInput } from '../../planners/way-back.ts';
import { wayBack } from '../../planners/way-back.ts';

/** What is noted on a revision: complete; the outcome of its run; nothing. */
type Noted = 'complete' | 'Succeeded' | 'Aborted' | 'none';

/** Revisions `a`, `b`, … in order. */
function revisionsOf(...noted: readonly Noted[]): ControllerRevision[] {
  return noted.map((note, index) => {
    const name = 'abcdef'.charAt(index);
    const attempts = JSON.stringify([{ outcome: note, endedAt: '2026-01-01' }]);
    const annotations: Record<string, string> =
      note === 'none'
        ? {}
        : note === 'complete'
          ? { 'fairlead.dev/complete': 'true' }
          : { 'fairlead.dev/attempts': attempts };
    return {
      metadata: { name, uid: `uid-${name}`, resourceVersion: '1', annotations },
      revision: index + 1,
      data: {},
    };
  });
}

/** Name of the revision that is gone back to, or the outcome; the last one is the present one unless another is named. */
function way(
  noted: readonly Noted[],
  also: Partial<Omit<WayBackInput, 'present'>> & { present?: string } = {},
) {
  const revisions = revisionsOf(...noted);
  const { present = revisions.at(-1)?.metadata.name, current, pin } = also;
  const found = wayBack({
    revisions,
    present: revisions.find(({ metadata }) => metadata.name === present),
    current,
    pin,
  });
  return found.outcome === 'to' ? found.revision.metadata.name : found.outcome;
}

describe('the revision that an abort goes back to', () => {
  it('is the newest that is marked complete, whatever a new object calls its current one', () => {
    expect(way(['complete', 'complete', 'Aborted', 'none'])).toBe('b');
    expect(way(['complete', 'complete', 'Aborted', 'none'], { current: 'c' })).toBe('b');
    expect(way(['complete', 'none', 'none'], { current: 'b' })).toBe('a');
    expect(way(['complete', 'none'], { current: 'b' })).toBe('a');
    // A run may succeed for a part of the pods only.
    expect(way(['complete', 'Succeeded', 'none'])).toBe('a');
    // The only one that was complete is the present one: the others are no better.
    expect(way(['none', 'complete'])).toBe('none');
  });

  it('without a mark: the newest whose run succeeded; else the current one, or the newest, that is on no record', () => {
    expect(way(['Succeeded', 'Aborted', 'none'], { current: 'b' })).toBe('a');
    expect(way(['none', 'none', 'none'], { current: 'a' })).toBe('a');
    expect(way(['none', 'none', 'none'])).toBe('b');
    expect(way(['none', 'Aborted', 'none'], { current: 'b' })).toBe('a');
    expect(way(['Aborted', 'none'], { current: 'a' })).toBe('none');
    expect(way(['none'], { current: 'a' })).toBe('none');
  });

  it('is not the present one because an undo has led to it', () => {
    const undone = { pin: { to: 'c', verb: 'undo' } } as const;
    expect(way(['complete', 'complete', 'Aborted'], undone)).toBe('b');
    expect(way(['complete', 'complete', 'none'], { ...undone, current: 'c' })).toBe('b');
    expect(way(['complete', 'Aborted', 'complete'], undone)).toBe('there');
    // An abort that went to the wrong one is no better.
    expect(way(['complete', 'complete', 'Aborted'], { pin: { to: 'c', verb: 'abort' } })).toBe('b');
    // A pin from before: another template is there now.
    expect(way(['complete', 'complete', 'none'], { pin: { to: 'b', verb: 'undo' } })).toBe('b');
  });

  it('is the present one after an abort, although its number may still be the old one', () => {
    const aborted = { present: 'a', pin: { to: 'a', verb: 'abort' } } as const;
    expect(way(['complete', 'none'], aborted)).toBe('there');
    expect(way(['none', 'none'], aborted)).toBe('there');
    expect(way(['none', 'none'], { ...aborted, current: 'a' })).toBe('there');
    expect(way(['Succeeded', 'none'], aborted)).toBe('there');
  });
});
