/** Small file systems: what a full disk is to a test. */

import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { cp, mkdtemp, readdir, readlink, rmdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { found } from './eventually.ts';

/** Whether this machine lets a small file system be mounted. */
export function mountsRoom(): boolean {
  const folder = mkdtempSync(join(tmpdir(), 'fairlead-mount-'));
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', folder], { stdio: 'ignore' });
    execFileSync('umount', [folder], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** A file system of so many kB takes a folder's place, filled before: who reads the folder meanwhile always finds what it holds. */
export async function moveToSmallRoom(folder: string, kilobytes: number): Promise<void> {
  const filled = await mkdtemp(join(tmpdir(), 'fairlead-room-'));
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${String(kilobytes)}k`, 'tmpfs', filled]);
  try {
    await cp(folder, filled, { recursive: true });
    execFileSync('mount', ['--bind', filled, folder]);
  } finally {
    execFileSync('umount', [filled]);
    await rmdir(filled);
  }
}

/** Unmounts what nobody is to use any more, when those that were killed have gone: until then it is busy. */
export async function unmount(folder: string): Promise<void> {
  let last = '';
  await found(
    `nobody has files of ${folder} open`,
    async () => ((last = await holdersOf(folder)) === '' ? true : undefined),
    10_000,
    () => last,
  );
  execFileSync('umount', [folder]);
}

/** Processes that have a file below it open. */
async function holdersOf(folder: string): Promise<string> {
  const held = async (pid: string): Promise<boolean> => {
    // It may have ended meanwhile.
    const open = await readdir(`/proc/${pid}/fd`).catch(() => []);
    const links = [`/proc/${pid}/cwd`, ...open.map((fd) => `/proc/${pid}/fd/${fd}`)];
    const targets = await Promise.all(links.map(async (link) => await readlink(link).catch(() => '')));
    return targets.some((target) => target === folder || target.startsWith(`${folder}/`));
  };
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const holders = await Promise.all(pids.map(async (pid) => ((await held(pid)) ? [pid] : [])));
  return holders.flat().join(', ');
}
