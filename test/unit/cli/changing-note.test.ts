import { describe, expect, it } from '@jest/globals';

import { ChangingNote } from '../../../cli/changing-note.ts';

describe('what is the matter while a verb waits', () => {
  it('is said when it begins, when it is another, and when it is over', () => {
    const said: string[] = [];
    const note = new ChangingNote({ err: (text) => void said.push(text) }, 'all is well');
    const looks = [undefined, 'silent for 4s', 'silent for 5s', 'gone', 'gone', undefined, undefined, 'gone'];
    for (const look of looks) note.now(look);
    expect(said).toEqual(['note: silent for 4s\n', 'note: gone\n', 'note: all is well\n', 'note: gone\n']);
  });
});
