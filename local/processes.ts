/** Processes that outlive whoever started them, recognised by pid *and* start time so that a reused pid is never hit. */

import { execFileSync } from 'node:child_process';
import { readFileSync, readdirSync, readlinkSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';

import { errorCode } from '../kubernetes/values.ts';

const POLL_MS = 10;

export interface ProcessIdentity {
  readonly pid: number;
  /** Opaque: what the kernel says of when it started. */
  readonly startTime: string;
}

/** In which processes see each other, as `pid:[4026531836]`; undefined where the kernel does not tell. */
export function currentPidNamespace(): string | undefined {
  try {
    return readlinkSync('/proc/self/ns/pid');
  } catch {
    return undefined;
  }
}

/** Fields of /proc/<pid>/stat after the command name, which may itself hold blanks and brackets. */
function procStat(pid: number): readonly string[] | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  } catch {
    return undefined;
  }
}

/** A zombie whose other threads are still on their way out holds its ports and files for a moment more. */
function hasEnded(pid: number, state: string | undefined): boolean {
  if (state === 'X') return true;
  if (state !== 'Z') return false;
  try {
    return readdirSync(`/proc/${pid}/task`).length <= 1;
  } catch {
    return true;
  }
}

/** The identity of a living process, or undefined if there is none (a zombie is none). */
export function identifyProcess(pid: number): ProcessIdentity | undefined {
  if (process.platform === 'linux') {
    const fields = procStat(pid);
    const startTime = fields?.[19];
    if (fields === undefined || startTime === undefined || hasEnded(pid, fields[0])) return undefined;
    return { pid, startTime };
  }
  try {
    const startTime = execFileSync('ps', ['-o', 'lstart=', '-p', String(pid)], { encoding: 'utf8' }).trim();
    return startTime === '' ? undefined : { pid, startTime };
  } catch {
    return undefined;
  }
}

/** True while the very same process lives. */
export function isAlive(identity: ProcessIdentity): boolean {
  return identifyProcess(identity.pid)?.startTime === identity.startTime;
}

/** Sends a signal if the very same process still lives; says whether it did. */
export function signalProcess(identity: ProcessIdentity, signal: NodeJS.Signals): boolean {
  if (!isAlive(identity)) return false;
  try {
    process.kill(identity.pid, signal);
    return true;
  } catch (error) {
    if (errorCode(error) === 'ESRCH') return false;
    throw error;
  }
}

/** Waits until the process is gone; false if it still lives after `timeoutMs`. */
export async function waitForExit(identity: ProcessIdentity, timeoutMs: number): Promise<boolean> {
  const deadline = Date.now() + timeoutMs;
  while (isAlive(identity)) {
    if (Date.now() > deadline) return false;
    await delay(POLL_MS);
  }
  return true;
}

/** SIGTERM, and SIGKILL after `graceMs`. Rejects if even that does not end it within 10 s. */
export async function stopProcess(identity: ProcessIdentity, graceMs: number): Promise<void> {
  if (graceMs > 0 && signalProcess(identity, 'SIGTERM') && (await waitForExit(identity, graceMs))) return;
  signalProcess(identity, 'SIGKILL');
  if (!(await waitForExit(identity, 10_000))) {
    throw new Error(
      `process ${identity.pid} does not end, not even by SIGKILL; look at it with: ps -fp ${identity.pid}`,
    );
  }
}

/**
 * True if this very process listens on the TCP port; a port taken by somebody else in the meantime is thus never talked
 * to. Where /proc does not exist it answers true, and the certificates of the instance are the only guard.
 */
export function listensOn(pid: number, port: number): boolean {
  if (process.platform !== 'linux') return true;
  const hexPort = port.toString(16).toUpperCase().padStart(4, '0');
  const inodes = new Set<string>();
  for (const table of ['tcp', 'tcp6']) {
    let text: string;
    try {
      text = readFileSync(`/proc/${pid}/net/${table}`, 'utf8');
    } catch {
      continue;
    }
    for (const line of text.split('\n')) {
      const columns = line.trim().split(/\s+/);
      if (columns[3] === '0A' && columns[1]?.endsWith(`:${hexPort}`) === true) inodes.add(columns[9] ?? '');
    }
  }
  if (inodes.size === 0) return false;
  try {
    return readdirSync(`/proc/${pid}/fd`).some((descriptor) => {
      try {
        const target = readlinkSync(`/proc/${pid}/fd/${descriptor}`);
        return target.startsWith('socket:[') && inodes.has(target.slice(8, -1));
      } catch {
        return false;
      }
    });
  } catch {
    return false;
  }
}
