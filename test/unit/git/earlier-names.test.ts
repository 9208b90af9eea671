/** Which new name of a repositories file goes on for which old one. */

import { describe, expect, it } from '@jest/globals';

import { earlierNames, readNamed } from '../../../git/earlier-names.ts';

const entry = (name: string, more: object = {}) => ({ name, url: '/srv/team', path: '', ...more });
const found = (...lists: Parameters<typeof earlierNames>) => Object.fromEntries(earlierNames(...lists));

describe('the earlier name of an entry', () => {
  it('is the one that has left, of the same url, ref and path', () => {
    const other = entry('other', { path: 'other' });
    expect(found([entry('team2'), other], [entry('team3'), other])).toEqual({ team3: ['team2'] });
    for (const more of [{ url: '/srv/x' }, { ref: 'v1' }, { path: 'x' }])
      expect(found([entry('team2')], [entry('team3', more)])).toEqual({});
  });

  it('is none of one that was followed before, and none that is followed still', () => {
    expect(found([entry('team2'), entry('team3')], [entry('team3')])).toEqual({});
    expect(found([entry('team2')], [entry('team2'), entry('team3')])).toEqual({});
  });

  it('is none where several could be meant', () => {
    expect(found([entry('a'), entry('b')], [entry('c')])).toEqual({});
    expect(found([entry('a')], [entry('b'), entry('c')])).toEqual({});
  });

  it('leads on to those before it, until all has come over, and back', () => {
    const waiting = entry('team3', { earlierNames: ['team2'] });
    expect(found([waiting], [entry('team3', { path: 'moved' })])).toEqual({ team3: ['team2'] });
    expect(found([waiting], [entry('team4')])).toEqual({ team4: ['team3', 'team2'] });
    expect(found([waiting], [entry('team2')])).toEqual({ team2: ['team3'] });
  });
});

describe('a list that somebody has changed', () => {
  it('tells nothing where it is none', () => {
    expect(readNamed([entry('team2', { webhook: true })])).toMatchObject([{ name: 'team2' }]);
    for (const rows of [{}, [null], [entry('../x')], [entry('team2', { earlierNames: 5 })]])
      expect(readNamed(rows)).toEqual([]);
  });
});
