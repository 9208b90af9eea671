/** Plays of tests go a few at a time; what is no test of the run is not played. */

import { describe, expect, it } from '@jest/globals';

import { leaveOut, useLanes } from '../../support/lanes.ts';

describe('a lane', () => {
  const inLane = useLanes(1);
  const played: string[] = [];
  const note = (name: string) =>
    inLane(async () => {
      played.push(name);
    });

  it('plays what is a test', note('first'));
  leaveOut(note('left out'));
  it('and what is one after it', note('second'));
  it('and passes over what is none', () => {
    expect(played).toEqual(['first', 'second']);
  });
});
