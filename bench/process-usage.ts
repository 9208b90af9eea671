/** CPU time and memory of other processes, from Linux's /proc. */

import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';

import { asError } from '../kubernetes/values.ts';

export interface ProcessUsage {
  /** User and system, of all threads. */
  readonly cpuSeconds: number;
  /** The most memory that was resident at once, MiB. */
  readonly maxRssMiB: number;
}

/** Measures one process from now on. */
export class ProcessMeter {
  readonly #pid: number;
  readonly #before: number;

  /** @throws Error where there is no /proc, or the process is gone */
  constructor(pid: number) {
    this.#pid = pid;
    this.#before = cpuSecondsOf(pid);
    try {
      // The kernel forgets the peak that it has seen so far.
      writeFileSync(`/proc/${pid}/clear_refs`, '5');
    } catch (error) {
      throw new Error(`cannot reset the memory peak of process ${pid}: ${asError(error).message}`, {
        cause: error,
      });
    }
  }

  /** @throws Error if the process is gone */
  read(): ProcessUsage {
    return { cpuSeconds: cpuSecondsOf(this.#pid) - this.#before, maxRssMiB: maxRssOf(this.#pid) };
  }
}

let ticksPerSecond: number | undefined;

function cpuSecondsOf(pid: number): number {
  ticksPerSecond ??= Number(execFileSync('getconf', ['CLK_TCK'], { encoding: 'utf8' }));
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  // The command's name, in brackets, may hold anything.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) / ticksPerSecond;
}

function maxRssOf(pid: number): number {
  const kibibytes = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  if (kibibytes === undefined) throw new Error(`/proc/${pid}/status says nothing of VmHWM`);
  return Number(kibibytes) / 1024;
}
