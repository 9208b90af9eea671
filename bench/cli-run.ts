/** The command line as its users start it: a process of its own, measured from its start to its end. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';

import { trusted } from '../kubernetes/values.ts';
import type { Arena } from './arena.ts';
import { CLI } from './worker-process.ts';

/**
 * Runs one command, with nothing of the surroundings but the arena's servers.
 * @returns milliseconds
 * @throws Error with what it said, unless it ends with one of the exit codes
 */
export async function timeCommand(
  words: readonly string[],
  environment: Readonly<Record<string, string>> = {},
  codes: readonly number[] = [0],
): Promise<number> {
  const { PATH, HOME, TMPDIR } = process.env;
  const started = performance.now();
  const child = spawn(process.execPath, [CLI, ...words], {
    env: { PATH, HOME, TMPDIR, ...environment },
    // What a plan of ten thousand objects prints is not kept.
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let said = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (said += text));
  const [code] = trusted<readonly [number | null]>(await once(child, 'close'));
  const milliseconds = performance.now() - started;
  if (code === null || !codes.includes(code))
    throw new Error(`fairlead ${words.join(' ')} ended with ${String(code)}: ${said.slice(-2_000)}`);
  return milliseconds;
}

/** What names the servers, and the worker's cluster. */
export function serversOf({ controlPlane }: Arena, cluster: string): Readonly<Record<string, string>> {
  return {
    KUBECONFIG: controlPlane.kubeconfig,
    TEMPORAL_ADDRESS: controlPlane.temporalAddress,
    FAIRLEAD_CLUSTER: cluster,
  };
}
