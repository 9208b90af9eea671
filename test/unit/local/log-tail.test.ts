/** What is shown of the log of a component that has ended. */

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterEach, beforeEach, expect, it } from '@jest/globals';

import { tailOfLog } from '../../../local/component-process.ts';

let directory: string;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'fairlead-log-'));
});

afterEach(async () => {
  await rm(directory, { recursive: true });
});

async function tailOf(lines: readonly string[]): Promise<readonly string[]> {
  const path = join(directory, 'etcd.log');
  await writeFile(path, `${lines.join('\n')}\n\n`);
  return tailOfLog(path);
}

it('is its last lines, cut to a readable length', async () => {
  const lines = Array.from({ length: 30 }, (_, index) => `line ${String(index)}`);
  expect(await tailOf(lines)).toEqual(lines.slice(-20));
  expect((await tailOf(['x'.repeat(1000)]))[0]).toHaveLength(301);
});

it('is what comes before the stack of a panic, which has the cause', async () => {
  const stack = Array.from({ length: 40 }, (_, index) => `  main.go:${String(index)} +0x24a`);
  const cause = ['{"msg":"no space left on device"}', 'panic: failed to create WAL'];
  expect(await tailOf([...cause, '', 'goroutine 1 [running]:', ...stack])).toEqual(cause);
});

it('is nothing where there is no log', () => {
  expect(tailOfLog(join(directory, 'no.log'))).toEqual([]);
});
