/** Processes that need the same program build it once. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterEach, beforeEach, expect, it } from '@jest/globals';

import { withLock } from '../../../local/file-lock.ts';
import { identifyProcess } from '../../../local/processes.ts';

let directory: string;
let lock: string;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'fairlead-lock-'));
  lock = join(directory, 'lock');
});

afterEach(async () => {
  await rm(directory, { recursive: true, force: true });
});

it('lets one in at a time, and tells who waits for whom', async () => {
  let inside = 0;
  let most = 0;
  const waitedFor: (number | undefined)[] = [];
  const work = async () => {
    inside += 1;
    most = Math.max(most, inside);
    await new Promise((resolve) => {
      setTimeout(resolve, 20);
    });
    inside -= 1;
  };
  const onWait = (holder: number | undefined) => waitedFor.push(holder);
  await Promise.all([1, 2, 3].map(() => withLock(lock, work, { onWait })));
  expect(most).toBe(1);
  expect(waitedFor).toHaveLength(2);
  expect(existsSync(lock)).toBe(false);
});

it('is free again after an error', async () => {
  await expect(withLock(lock, () => Promise.reject(new Error('broken')))).rejects.toThrow('broken');
  expect(await withLock(lock, () => Promise.resolve('next'))).toBe('next');
});

it('is taken over from a holder that died', async () => {
  const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'ignore' });
  await once(child, 'spawn');
  const holder = identifyProcess(child.pid ?? 0);
  await mkdir(lock);
  await writeFile(join(lock, 'holder.json'), JSON.stringify(holder));
  let entered = false;
  const waiting = withLock(lock, () => {
    entered = true;
    return Promise.resolve();
  });
  await new Promise((resolve) => {
    setTimeout(resolve, 300);
  });
  expect(entered).toBe(false);
  child.kill('SIGKILL');
  await once(child, 'exit');
  await waiting;
  expect(entered).toBe(true);
});

it('gives up waiting when told to', async () => {
  const controller = new AbortController();
  await withLock(lock, async () => {
    const second = withLock(lock, () => Promise.resolve(), { signal: controller.signal });
    controller.abort(new Error('no longer needed'));
    await expect(second).rejects.toThrow(/no longer needed|aborted/);
  });
});
