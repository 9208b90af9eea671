import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { LEAST_GIT, checkGit } from '../../../cli/check-tools.ts';

let directory: string;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'fairlead-git-'));
});
afterAll(async () => {
  await rm(directory, { recursive: true, force: true });
});

async function check(version: string) {
  await writeFile(join(directory, 'git'), `#!/bin/sh\necho '${version}'\n`);
  await chmod(join(directory, 'git'), 0o755);
  return (await checkGit({ PATH: directory }))[0];
}

describe('the git program', () => {
  it.each(['git version 2.30.0', 'git version 2.39.5 (Apple Git-154)', 'git version 10.1'])(
    '%s will do',
    async (version) => {
      expect(await check(version)).toEqual({ id: 'git', what: 'git', outcome: 'ok', found: version });
    },
  );

  it.each(['git version 2.29.3', 'git version 1.99.0', 'something else'])('%s will not', async (version) => {
    expect(await check(version)).toMatchObject({
      outcome: 'failed',
      found: `${version} is older than 2.30`,
      mend: expect.stringContaining('install git 2.30 or newer') as unknown,
    });
  });

  it('that is not there is named', async () => {
    expect(await checkGit({ PATH: '/nonexistent' })).toMatchObject([{ found: 'is not on the PATH' }]);
  });

  it('is asked for by the README in the same version', async () => {
    const readme = await readFile(new URL('../../../README.md', import.meta.url), 'utf8');
    expect(readme).toContain(`git ≥ ${LEAST_GIT}`);
  });
});
