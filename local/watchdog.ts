/**
 * Ends an instance when the process that needed it is gone, however that process ended. A shell waits on a pipe that only
 * its parent holds open: when the pipe closes it kills what carries the instance's id, and removes the directory.
 */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { Socket } from 'node:net';

import { INSTANCE_VARIABLE } from './component-process.ts';
import type { InstanceRecord } from './instance.ts';

const SCRIPT = `
cat >/dev/null
kill_all() {
  for environ in $(grep -lsF -- "$1" /proc/[0-9]*/environ); do
    pid=\${environ#/proc/}
    kill -9 "\${pid%/environ}" 2>/dev/null
  done
}
[ -d "$2" ] || exit 0
kill_all "$1"
sleep 0.1
kill_all "$1"
rm -rf "$2" || { sleep 1; rm -rf "$2"; }
`;

export interface Watchdog {
  /** Lets it end; to be called when the instance's directory is gone. */
  release(): Promise<void>;
}

/** Starts the watchdog of an instance. Where /proc does not exist there is none: the next start sweeps up instead. */
export function startWatchdog(record: InstanceRecord, directory: string): Watchdog {
  if (process.platform !== 'linux') return { release: () => Promise.resolve() };
  const child = spawn(
    '/bin/sh',
    ['-c', SCRIPT, 'fairlead-watchdog', `${INSTANCE_VARIABLE}=${record.id}`, directory],
    {
      cwd: '/',
      detached: true,
      stdio: ['pipe', 'ignore', 'ignore'],
      env: { PATH: '/usr/bin:/bin' },
    },
  );
  const ended = once(child, 'exit');
  child.unref();
  if (child.stdin instanceof Socket) child.stdin.unref();
  return {
    async release() {
      child.ref();
      child.stdin.end();
      await ended;
    },
  };
}
