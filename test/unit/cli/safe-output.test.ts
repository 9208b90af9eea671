import { describe, expect, it } from '@jest/globals';

import { escapeUnsafe, manyLines, oneLine } from '../../../kubernetes/safe-text.ts';
import { printStructured, toYaml } from '../../../cli/structured.ts';
import { cutToWidth, formatTable } from '../../../cli/table.ts';
import { captureIo } from '../../support/cli.ts';

const HOSTILE = 'fix\u001b[2J\u001b]8;;http://evil\u0007 it\u009b31m\r\nerror: no\u202e\u0000!';

describe('hostile text', () => {
  it('is one harmless line', () => {
    expect(oneLine(HOSTILE)).toBe('fix it error: no!');
  });

  it('keeps its line feeds where lines are wanted, and nothing else', () => {
    expect(manyLines('a\tb\r\nc\rd\u001b[31m')).toBe('a  b\nc\nd');
  });

  it('is escaped in JSON, so that nothing is lost', () => {
    const text = escapeUnsafe(JSON.stringify({ message: HOSTILE }));
    // oxlint-disable-next-line no-control-regex -- what must not be there
    expect(text).not.toMatch(/[\u0000-\u001f\u007f-\u009f\u202e]/);
    expect(JSON.parse(text)).toEqual({ message: HOSTILE });
  });

  it('does no harm in YAML', async () => {
    // oxlint-disable-next-line no-control-regex -- what must not be there
    expect(await toYaml({ message: HOSTILE })).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e]/);
  });

  it('does not leave a cell of a table', () => {
    const table = formatTable([{ title: 'A', value: (row: string) => row }], [HOSTILE]);
    expect(table).toBe('A\nfix it error: no!\n');
  });
});

describe('tables', () => {
  it('pad to the widest cell, wide characters counted as two, nothing after the last column', () => {
    const rows = [
      { name: 'web', state: 'Ready' },
      { name: '漢字漢', state: '' },
    ];
    const columns = [
      { title: 'NAME', value: (row: (typeof rows)[number]) => row.name },
      { title: 'STATE', value: (row: (typeof rows)[number]) => row.state },
    ];
    expect(formatTable(columns, rows)).toBe('NAME     STATE\nweb      Ready\n漢字漢\n');
  });

  it('paint after padding', () => {
    const columns = [
      { title: 'A', value: (row: string) => row, paint: (text: string) => `<${text}>` },
      { title: 'B', value: () => 'b' },
    ];
    expect(formatTable(columns, ['long', 'x'])).toBe('A      B\n<long>   b\n<x>      b\n');
  });
});

describe('cutting a line', () => {
  it('leaves a line that fits', () => {
    expect(cutToWidth('abc', 3)).toBe('abc');
  });

  it('marks the cut and ends colours', () => {
    expect(cutToWidth('\u001b[31mabcdef\u001b[39m', 4)).toBe('\u001b[31mabc…\u001b[39m');
    expect(cutToWidth('漢字漢', 4)).toBe('漢…');
  });
});

describe('structured output', () => {
  const document = {
    apiVersion: 'cli.fairlead.dev/v1',
    kind: 'Test',
    absent: undefined,
    revision: 9_007_199_254_740_993n,
  } as const;

  it('JSON: two spaces, undefined left out, int64 exact (C10)', async () => {
    const io = captureIo();
    expect(await printStructured(io, { output: 'json' }, document)).toBe(true);
    expect(io.printed.out).toBe(
      '{\n  "apiVersion": "cli.fairlead.dev/v1",\n  "kind": "Test",\n  "revision": 9007199254740993\n}\n',
    );
  });

  it('YAML', async () => {
    const io = captureIo();
    await printStructured(io, { output: 'yaml' }, document);
    expect(io.printed.out).toBe(
      "apiVersion: cli.fairlead.dev/v1\nkind: Test\nrevision: '9007199254740993'\n",
    );
  });

  it('table: printed by the verb itself', async () => {
    expect(await printStructured(captureIo(), { output: 'table' }, document)).toBe(false);
  });
});
