import { describe, expect, it } from '@jest/globals';

import { ChangingNote } from '../../../cli/changing-note.ts';
import { formatAge } from '../../../cli/durations.ts';

/** What is said of `look(seconds)`, asked each second. */
function saidOf(seconds: number, look: (second: number) => string | undefined): readonly string[] {
  const said: string[] = [];
  let now = 0;
  const note = new ChangingNote({ err: (text) => void said.push(text), now: () => now }, 'all is well');
  for (let second = 0; second < seconds; second += 1) {
    now = second * 1_000;
    note.now(look(second));
  }
  return said;
}

describe('what is the matter while a verb waits', () => {
  it('is said when it begins, when it is another, and when it is over', () => {
    const looks = [undefined, 'silent for 4s', 'silent for 5s', 'gone', 'gone', undefined, undefined, 'gone'];
    expect(saidOf(looks.length, (second) => looks[second])).toEqual([
      'note: silent for 4s\n',
      'note: gone\n',
      'note: all is well\n',
      'note: gone\n',
    ]);
  });

  it('is said once a minute while it lasts, whatever the form of the time', () => {
    const said = saidOf(15 * 60, (second) =>
      second < 4 ? undefined : `silent for ${formatAge(second * 1_000)}`,
    );
    expect(said.slice(0, 4)).toEqual(['4s', '64s', '2m4s', '3m4s'].map((age) => `note: silent for ${age}\n`));
    expect(said).toHaveLength(15);
    expect(saidOf(10 * 60, () => undefined)).toEqual([]);
  });
});
