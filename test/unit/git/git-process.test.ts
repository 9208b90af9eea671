import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import { runGit } from '../../../git/git-process.ts';
import { ChildScript } from '../../support/child-process.ts';
import { silentServer } from '../../support/silent-server.ts';

const MAIN = new URL('../../support/git-run-main.ts', import.meta.url);

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'fairlead-git-'));
});
afterEach(async () => {
  await rm(directory, { recursive: true, force: true });
});

describe('a git command', () => {
  it('gets its input and answers with output, errors and exit code', async () => {
    const init = await runGit({ args: ['init', '--quiet', '--bare', '--', directory] });
    expect(init).toMatchObject({ code: 0, stderr: '' });
    const hash = await runGit({
      args: ['hash-object', '--stdin'],
      gitDirectory: directory,
      input: 'hello\n',
    });
    expect(hash).toMatchObject({ code: 0, stderr: '' });
    expect(hash.stdout.toString('utf8')).toBe('ce013625030ba8dba906f756967f9e9ca394464a\n');
    const missing = await runGit({ args: ['cat-file', '-t', 'HEAD'], gitDirectory: directory });
    expect(missing.code).toBe(128);
    expect(missing.stderr).toMatch(/^fatal: /);
  });

  it('that is not there is no answer', async () => {
    await expect(runGit({ args: ['version'], environment: { PATH: directory } })).rejects.toMatchObject({
      reason: 'spawn',
      message: expect.stringContaining('git cannot be run') as unknown,
    });
  });

  it('that takes too long is ended with all that it started', async () => {
    await using server = await silentServer();
    const running = runGit({ args: ['ls-remote', server.url], protocols: 'https', timeoutMs: 3_000 });
    running.catch(() => undefined);
    const socket = await server.connected;
    const closed = once(socket, 'close');
    await expect(running).rejects.toMatchObject({ reason: 'timeout' });
    await closed;
  });

  it('ends with the process that runs it, however that ends', async () => {
    await using server = await silentServer();
    const child = new ChildScript(MAIN, ['ls-remote', server.url]);
    try {
      const socket = await server.connected;
      const closed = once(socket, 'close', { signal: AbortSignal.timeout(5_000) });
      child.signal('SIGKILL');
      await closed;
      expect(child.lines).toEqual(['running']);
    } finally {
      await child.end();
    }
  }, 20_000);
});
