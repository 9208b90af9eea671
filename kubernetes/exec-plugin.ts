/** Runs the `exec` plugin of a kubeconfig. Knows nothing of kubeconfigs. */

import { execFile } from 'node:child_process';
import type { Socket } from 'node:net';

import { asRecord, trusted } from './values.ts';

export interface PluginCommand {
  readonly command: string;
  readonly args: readonly string[];
  /** The whole of it. */
  readonly environment: Readonly<Record<string, string | undefined>>;
}

/** Certificates and a token are a few kB. */
const MOST_OUTPUT = 1024 * 1024;

/**
 * The status of the ExecCredential that it printed. It gets no input, and is killed when the signal aborts. Who waits needs a deadline:
 * the plugin keeps no process from ending.
 * @throws Error with what it said on stderr where it failed, or the system's where it could not be run; the signal's reason
 */
export async function runPlugin(
  command: PluginCommand,
  signal: AbortSignal,
): Promise<Readonly<Record<string, unknown>>> {
  return statusOf(await outputOf(command, signal));
}

function outputOf({ command, args, environment }: PluginCommand, signal: AbortSignal): Promise<string> {
  return new Promise((resolve, reject) => {
    const options = { env: environment, signal, killSignal: 'SIGKILL', maxBuffer: MOST_OUTPUT } as const;
    const child = execFile(command, args, options, (error, stdout, stderr) => {
      if (signal.aborted) reject(signal.reason);
      else if (error === null) resolve(stdout);
      else reject(typeof error.code === 'string' ? error : new Error(stderr.trim() || error.message));
    });
    // One that asks for something would wait for ever.
    child.stdin?.end();
    child.unref();
    for (const stream of [child.stdout, child.stderr]) trusted<Socket | null>(stream)?.unref();
  });
}

/** @throws Error that quotes nothing of it: it may hold a token. */
function statusOf(text: string): Readonly<Record<string, unknown>> {
  let printed: unknown;
  try {
    printed = JSON.parse(text);
  } catch {
    throw new Error('what it printed is not JSON');
  }
  const { status } = asRecord(printed);
  if (typeof status !== 'object' || status === null) throw new Error('what it printed has no status');
  return asRecord(status);
}
