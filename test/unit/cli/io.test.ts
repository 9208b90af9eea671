import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { open } from 'node:fs/promises';

import { beforeAll, describe, expect, it } from '@jest/globals';

import { colorsOf } from '../../../cli/colors.ts';
import { isLiveTerminal, terminalSize } from '../../../cli/io.ts';
import { builtWorker } from '../../support/built-worker.ts';

describe('what a command paints', () => {
  it.each([
    { isTTY: true, env: {}, live: true },
    { isTTY: true, env: { TERM: 'dumb' }, live: false },
    { isTTY: true, env: { CI: 'true' }, live: false },
    { isTTY: true, env: { NO_COLOR: '1' }, live: false },
    { isTTY: true, env: { NO_COLOR: '' }, live: true },
    { isTTY: false, env: {}, live: false },
    // Node leaves it out on a pipe, and a CI or FORCE_COLOR must not paint that.
    { env: { CI: 'true', FORCE_COLOR: '1' }, live: false },
  ])('is painted and redrawn: $live for isTTY $isTTY with $env', ({ env, live, ...stream }) => {
    const is = isLiveTerminal(stream, env);
    expect(is).toBe(live);
    expect(colorsOf({ color: is }).good('✔') !== '✔').toBe(live);
  });
});

describe('the size of a terminal', () => {
  it.each([
    { stream: { columns: 132, rows: 50 }, size: { columns: 132, rows: 50 } },
    { stream: { columns: 0, rows: 0 }, size: { columns: 80, rows: 24 } },
    { stream: {}, size: { columns: 80, rows: 24 } },
  ])('is $size for $stream', ({ stream, size }) => {
    expect(terminalSize(stream)).toEqual(size);
  });
});

describe('output that cannot be written', () => {
  let main: string;
  beforeAll(async () => {
    main = `${await builtWorker()}/cli/main.js`;
  }, 200_000);

  const SCRIPT = ['completion', 'bash'];
  const USAGE = ['completion'];

  /** Runs it with its output, or what it says beside that, closed before the program begins. */
  async function runUnread(words: readonly string[], closed: 'stdout' | 'stderr') {
    const child = spawn(process.execPath, [main, ...words]);
    child[closed].destroy();
    const other = closed === 'stdout' ? child.stderr : child.stdout;
    let printed = '';
    other.setEncoding('utf8').on('data', (text: string) => void (printed += text));
    await once(child, 'close');
    return { code: child.exitCode, printed };
  }

  it('because nobody reads it any more ends the command silently with 141', async () => {
    expect(await runUnread(SCRIPT, 'stdout')).toEqual({ code: 141, printed: '' });
    expect(await runUnread(USAGE, 'stderr')).toEqual({ code: 141, printed: '' });
  });

  it('is not missed by a command that has nothing to write there', async () => {
    expect(await runUnread(USAGE, 'stdout')).toMatchObject({ code: 2 });
    expect(await runUnread(SCRIPT, 'stderr')).toMatchObject({ code: 0 });
  });

  // Only Linux has a disk that is always full.
  const itOnLinux = existsSync('/dev/full') ? it : it.skip;
  itOnLinux('because the disk is full is told in one line, and the command fails', async () => {
    const full = await open('/dev/full', 'w');
    try {
      const run = async (words: readonly string[], stderr: number | 'pipe') => {
        const child = spawn(process.execPath, [main, ...words], { stdio: ['ignore', full.fd, stderr] });
        let err = '';
        child.stderr?.setEncoding('utf8').on('data', (text: string) => void (err += text));
        await once(child, 'close');
        return { code: child.exitCode, err };
      };
      expect(await run(SCRIPT, 'pipe')).toEqual({
        code: 1,
        err: 'error: cannot write to stdout: no space left on device (ENOSPC)\n',
      });
      expect(await run(SCRIPT, full.fd)).toMatchObject({ code: 1 });
      expect(await run(USAGE, full.fd)).toMatchObject({ code: 2 });
    } finally {
      await full.close();
    }
  });
});
