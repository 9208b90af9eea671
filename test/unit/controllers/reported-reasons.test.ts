import { readFile } from 'node:fs/promises';

import { describe, expect, it } from '@jest/globals';

import { EVENT_REASONS, STALLED_REASONS } from '../../../controllers/reported-reasons.ts';

const lines = (await readFile(new URL('../../../docs/operating.md', import.meta.url), 'utf8')).split('\n');

/** The cells of the table under a heading. */
function table(heading: string): readonly (readonly string[])[] {
  const begin = lines.indexOf(heading);
  const rows = lines.slice(
    begin,
    lines.findIndex((line, index) => index > begin && line.startsWith('## ')),
  );
  return rows.filter((line) => line.startsWith('|')).map((line) => line.split('|').slice(1, -1));
}

function words(cell: string | undefined): string[] {
  return [...new Set((cell ?? '').match(/(?<=`)[A-Z][A-Za-z]+(?=`)/g))].sort();
}

describe('docs/operating.md', () => {
  it('has all events of workloads, and no other', () => {
    const documented = words(
      table('## Events')
        .map(([reasons]) => reasons)
        .join(),
    );
    expect(documented).toEqual([...EVENT_REASONS].sort());
  });

  it('has all reasons of the condition Stalled, and no other', () => {
    const row = table('## Conditions').find(([type]) => type?.includes('`Stalled`'));
    expect(words(row?.[1])).toEqual([...STALLED_REASONS].sort());
  });
});
