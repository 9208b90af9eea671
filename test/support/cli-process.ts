/** One command line as a process of its own: the built code, ended as a user would end it. */

import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';

import { builtWorker } from './built-worker.ts';

export interface CliProcessOptions {
  readonly environment: Readonly<Record<string, string>>;
  /** Called with all that was printed so far, whenever there is more; answers whether Ctrl-C is pressed now. */
  readonly interruptWhen?: (out: string) => boolean;
  /** Called with all that was printed so far, whenever there is more. */
  readonly seen?: (out: string) => void;
  /** File of the build. @default `cli/main.js` */
  readonly program?: string;
  /** Called with the process when it has been started. */
  readonly begun?: (child: ChildProcess) => void;
}

export interface CliProcessRun {
  readonly code: number | null;
  /** What it was ended by. */
  readonly signal: NodeJS.Signals | null;
  readonly out: string;
  readonly err: string;
}

/** Runs it to its end. */
export async function runCliProcess(
  words: readonly string[],
  { environment, interruptWhen, seen, program = 'cli/main.js', begun }: CliProcessOptions,
): Promise<CliProcessRun> {
  const child = spawn(process.execPath, [`${await builtWorker()}/${program}`, ...words], {
    env: { ...environment, HOME: process.env['HOME'] ?? '' },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let [out, err] = ['', ''];
  let isInterrupted = false;
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    out += text;
    seen?.(out);
    if (!isInterrupted && interruptWhen?.(out) === true) {
      isInterrupted = true;
      child.kill('SIGINT');
    }
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    err += text;
  });
  begun?.(child);
  await once(child, 'close');
  return { code: child.exitCode, signal: child.signalCode, out, err };
}
