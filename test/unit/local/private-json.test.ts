import { mkdtemp, readFile, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import { writePrivateJson } from '../../../local/private-json.ts';

describe('a file that is written and read at the same time', () => {
  let directory: string;

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'fairlead-json-'));
  });

  afterEach(async () => {
    await rm(directory, { recursive: true, force: true });
  });

  it('is never seen in part, and leaves no other file', async () => {
    const path = join(directory, 'kubeconfig');
    const value = { token: 'x'.repeat(100_000) };
    await writePrivateJson(path, value);
    const write = async () => {
      for (let round = 0; round < 25; round += 1) await writePrivateJson(path, value);
    };
    const read = async () => {
      for (let round = 0; round < 100; round += 1) {
        expect(JSON.parse(await readFile(path, 'utf8'))).toEqual(value);
      }
    };
    await Promise.all([write(), write(), read(), read()]);
    expect(await readdir(directory)).toEqual(['kubeconfig']);
    expect((await stat(path)).mode & 0o777).toBe(0o600);
  });
});
