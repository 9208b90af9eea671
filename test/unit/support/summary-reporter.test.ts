/** What closes a test run: the counts, and that a test which was not run is one that failed. */

import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import { packageRoot } from '../../../local/package-root.ts';

const run = promisify(execFile);
const REPORTER = join(packageRoot(), 'test', 'support', 'summary-reporter.js');
const JEST = join(packageRoot(), 'node_modules', 'jest', 'bin', 'jest.js');

describe('the end of a test run', () => {
  let directory: string;
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'fairlead-reporter-'));
    await writeFile(
      join(directory, 'jest.config.json'),
      JSON.stringify({ reporters: [REPORTER], testMatch: ['<rootDir>/*.test.js'], transform: {} }),
    );
  });
  afterEach(async () => {
    await rm(directory, { recursive: true });
  });

  /** Of a run of these files, by name. */
  async function endOf(files: Readonly<Record<string, string>>, environment: Record<string, string> = {}) {
    for (const [name, text] of Object.entries(files)) await writeFile(join(directory, name), text);
    const words = ['--no-warnings', JEST, '--config', 'jest.config.json', '--runInBand'];
    const env = { PATH: process.env['PATH'], ...environment };
    const ended = await run(process.execPath, words, { cwd: directory, env }).then(
      ({ stdout }) => ({ code: 0, stdout }),
      (error: { code: number; stdout: string }) => error,
    );
    return { code: ended.code, out: ended.stdout, last: ended.stdout.trim().split('\n').at(-1) };
  }
  const PASSES = "it('passes', () => {});\n";

  it('counts what passed', async () => {
    expect(await endOf({ 'a.test.js': PASSES })).toMatchObject({ code: 0, last: '1 passed, 0 failed' });
  });

  it.each([
    ['skipped', "it.skip('waits', () => {});\n"],
    ['only meant', "it.todo('waits');\n"],
    ['left out by one that is alone', "it.only('alone', () => {}); it('waits', () => {});\n"],
  ])('a test that is %s has failed', async (_, text) => {
    const { code, out, last } = await endOf({ 'a.test.js': PASSES, 'b.test.js': text });
    expect(code).toBe(1);
    expect(out).toContain('1 tests were skipped: a skipped test is a failed test');
    expect(last).toMatch(/^[12] passed, 1 failed$/);
  });

  it('a test that fails, and a file that cannot run, are named before the counts', async () => {
    const { code, out, last } = await endOf({
      'a.test.js': `${PASSES}it('fails', () => { expect(1).toBe(2); });\n`,
      'b.test.js': 'no javascript\n',
    });
    expect(code).toBe(1);
    expect(out).toMatch(/^failed: a\.test\.js: fails: .*Expected: 2 \| Received: 1/m);
    expect(out).toMatch(/^failed: b\.test\.js: /m);
    expect(last).toBe('1 passed, 2 failed');
  });

  it('adds the run before; one that never came to its end has failed', async () => {
    const add = { FAIRLEAD_TEST_SUM: 'add' };
    await endOf({ 'a.test.js': PASSES });
    expect((await endOf({}, add)).last).toBe('2 passed, 0 failed');
    await rm(join(directory, '.fairlead'), { recursive: true });
    expect((await endOf({}, add)).last).toBe('1 passed, 1 failed');
  });
});
