/** What people look a code up in has all of them, and says what the problems themselves say. */

import { readFile } from 'node:fs/promises';

import { expect, it } from '@jest/globals';

import type { ProblemCode } from '../../../git/problems.ts';
import { withNext } from '../../../git/problems.ts';

const read = async (path: string) => await readFile(new URL(`../../../${path}`, import.meta.url), 'utf8');

it('docs/problems.md has every code, with what its problems say to do', async () => {
  const [, steps = ''] = /^const NEXT_STEPS = \{\n(.*?)^\}/ms.exec(await read('git/problems.ts')) ?? [];
  const codes = [...steps.matchAll(/^ {2}(\w+):/gm)].map(([, code]) => code as ProblemCode);
  expect(codes.length).toBeGreaterThan(60);
  const documented = [...(await read('docs/problems.md')).matchAll(/^\| `(\w+)` +\| (.*?) +\|$/gm)];
  expect(documented.map(([, code, step]) => [code, step])).toEqual(
    codes.map((code) => [code, withNext({ code, message: '' }).next]),
  );
});
