/** How a plan, and a history of revisions, show what differs. */

import { describe, expect, it } from '@jest/globals';

import { colorsOf } from '../../../cli/colors.ts';
import { formatDifference } from '../../../cli/format-difference.ts';

const plain = colorsOf({ color: false });

async function show(before: unknown, after: unknown): Promise<readonly string[]> {
  const difference = {
    path: 'data.x',
    ...(before !== undefined && { before }),
    ...(after !== undefined && { after }),
  };
  const [path, ...lines] = (await formatDifference(difference, plain)).split('\n');
  expect(path).toBe('  data.x');
  return lines.map((line) => line.slice(4));
}

const numbered = (count: number, changed?: number) =>
  Array.from({ length: count }, (_, at) => (at === changed ? 'new' : `line ${String(at)}`)).join('\n');

describe('a difference', () => {
  it.each<[string, unknown, unknown, readonly string[]]>([
    ['of short values', 'blue', 'red', ['- blue', '+ red']],
    ['of numbers', 2, 3, ['- 2', '+ 3']],
    ['of what was not there', undefined, 'a\nb', ['+ a', '+ b']],
    ['of what is not there any more', { a: 1, b: ['c'] }, undefined, ['- a: 1', '- b:', '-   - c']],
    [
      'of a line of many shows what is around it',
      `${numbered(9)}\n`,
      `${numbered(9, 4)}\n`,
      ['  line 1', '  line 2', '  line 3', '- line 4', '+ new', '  line 5', '  line 6', '  line 7'],
    ],
    [
      'of a line and the last line feed',
      'a\nb',
      'a\nb\n',
      ['  a', '- b', '\\ no line feed at its end', '+ b'],
    ],
    [
      'of what a terminal would obey writes it out',
      'a\u001b[31m\r\n',
      'a\n',
      ['- a\\u001b[31m\\u000d', '+ a'],
    ],
  ])('%s', async (_, before, after, lines) => {
    expect(await show(before, after)).toEqual(lines);
  });

  it('of two places far from each other leaves out what is between them', async () => {
    const before = numbered(40);
    const after = before.replace('line 5\n', 'five\n').replace('line 30\n', 'thirty\n');
    const lines = await show(before, after);
    expect(lines).toHaveLength(17);
    expect(lines.filter((line) => !line.startsWith(' '))).toEqual([
      '- line 5',
      '+ five',
      '…',
      '- line 30',
      '+ thirty',
    ]);
  });

  it('in a very long line begins shortly before it', async () => {
    const before = 'x'.repeat(300_000);
    const [old, present, ...more] = await show(`${before}1`, `${before}2`);
    expect([old, present, more]).toEqual([`- …${'x'.repeat(40)}1`, `+ …${'x'.repeat(40)}2`, []]);
    const [first] = await show(`1${before}`, `2${before}`);
    expect(first).toBe(`- 1${'x'.repeat(199)}… (300001 characters: -o json)`);
  });

  it('of texts that have little in common ends, and of one that comes anew', async () => {
    const other = Array.from({ length: 3_000 }, (_, at) => `other ${String(at)}`).join('\n');
    const lines = await show(numbered(3_000), other);
    expect(lines).toHaveLength(122);
    expect(lines[60]).toBe('- … (2940 more lines: -o json)');
    expect(await show(undefined, numbered(61))).toHaveLength(61);
  });
});
