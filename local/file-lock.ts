/** One at a time among processes that share a directory. */

import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

import { errorCode, trusted } from '../kubernetes/values.ts';
import { identifyProcess, isAlive } from './processes.ts';
import type { ProcessIdentity } from './processes.ts';

const POLL_MS = 200;
/** Between making the lock and writing who holds it nothing slow happens. */
const ANONYMOUS_MS = 5000;

export interface LockOptions {
  /** Called once if somebody else holds the lock. */
  readonly onWait?: (holder: number | undefined) => void;
  readonly signal?: AbortSignal | undefined;
}

async function holderOf(lock: string): Promise<ProcessIdentity | undefined> {
  try {
    return trusted<ProcessIdentity>(JSON.parse(await readFile(join(lock, 'holder.json'), 'utf8')));
  } catch (error) {
    if (errorCode(error) === 'ENOENT' || error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/**
 * Runs `work` while holding `lock`, a directory that exists as long as it is held. A lock whose holder died is taken over.
 * Rejects with the signal's reason if it aborts while waiting.
 */
export async function withLock<T>(
  lock: string,
  work: () => Promise<T>,
  options: LockOptions = {},
): Promise<T> {
  let told = false;
  let anonymousSince: number | undefined;
  for (;;) {
    options.signal?.throwIfAborted();
    try {
      await mkdir(lock);
      break;
    } catch (error) {
      if (errorCode(error) !== 'EEXIST') throw error;
    }
    const holder = await holderOf(lock);
    anonymousSince = holder === undefined ? (anonymousSince ?? Date.now()) : undefined;
    const dead = holder === undefined ? Date.now() - (anonymousSince ?? 0) > ANONYMOUS_MS : !isAlive(holder);
    if (dead) {
      await discard(lock);
      continue;
    }
    if (!told) {
      told = true;
      options.onWait?.(holder?.pid);
    }
    await delay(POLL_MS, undefined, { signal: options.signal });
  }
  try {
    await writeFile(join(lock, 'holder.json'), JSON.stringify(identifyProcess(process.pid)));
    return await work();
  } finally {
    await rm(lock, { recursive: true, force: true });
  }
}

/** Of several that find the lock abandoned, the rename lets one remove it. */
async function discard(lock: string): Promise<void> {
  const aside = `${lock}.${process.pid}.abandoned`;
  try {
    await rename(lock, aside);
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return;
    throw error;
  }
  await rm(aside, { recursive: true, force: true });
}
