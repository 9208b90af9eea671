/** On what it was measured: enough to compare, nothing that names the machine. */

import { cpus, loadavg, totalmem } from 'node:os';

import { VERSIONS } from '../local/versions.ts';

export interface Machine {
  readonly cpu: string;
  readonly cores: number;
  readonly memoryGiB: number;
  readonly node: string;
  readonly versions: Readonly<Record<string, string>>;
}

export function describeMachine(): Machine {
  const cores = cpus();
  return {
    cpu: cores[0]?.model.trim() ?? 'unknown',
    cores: cores.length,
    memoryGiB: Math.round(totalmem() / 1024 ** 3),
    node: process.version,
    versions: VERSIONS,
  };
}

/** Processes that wanted a core in the last minute: above the number of cores others were measured as well. */
export function loadAverage(): number {
  return Number((loadavg()[0] ?? 0).toFixed(2));
}
