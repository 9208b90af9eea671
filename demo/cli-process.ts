/** The command line as a user runs it: a child process with an environment of its own. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

import { trusted } from '../kubernetes/values.ts';

/** `fairlead`, beside the demo in the same build. */
export const CLI = fileURLToPath(new URL('../cli/main.js', import.meta.url));

export type Environment = Readonly<Record<string, string>>;

export interface Finished {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

/** Runs one command line to its end. Rejects when it cannot be started, or when the signal aborts it. */
export async function runCommand(
  words: readonly string[],
  environment: Environment,
  signal: AbortSignal,
): Promise<Finished> {
  const child = spawn(process.execPath, [CLI, ...words], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...inherited(), ...environment },
    signal,
  });
  const printed = { out: '', err: '' };
  child.stdout.setEncoding('utf8').on('data', (text: string) => void (printed.out += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => void (printed.err += text));
  const [code] = trusted<[number | null]>(await once(child, 'close'));
  return { code, ...printed };
}

export interface Background {
  /** Resolves with how it ended, whoever ended it. */
  readonly ended: Promise<string>;
  /** SIGTERM, and SIGKILL after ten seconds. */
  stop(): Promise<void>;
}

const STOP_MS = 10_000;

/** Starts a command line that goes on; all that it prints is appended to `log`. */
export async function startCommand(
  words: readonly string[],
  environment: Environment,
  log: string,
): Promise<Background> {
  const descriptor = openSync(log, 'a', 0o600);
  const child = spawn(process.execPath, [CLI, ...words], {
    stdio: ['ignore', descriptor, descriptor],
    env: { ...inherited(), ...environment },
    // Its own session: Ctrl-C reaches the demo, which then ends everything in order.
    detached: true,
  });
  const ended = once(child, 'exit').then((end) => {
    const [code, signal] = trusted<[number | null, NodeJS.Signals | null]>(end);
    return signal === null ? `exit code ${String(code)}` : `signal ${signal}`;
  });
  // Whoever awaits `ended` sees the error too; without this an early one would count as unhandled.
  ended.catch(() => undefined);
  try {
    await once(child, 'spawn');
  } finally {
    closeSync(descriptor);
  }
  return {
    ended,
    async stop() {
      child.kill('SIGTERM');
      const late = setTimeout(() => child.kill('SIGKILL'), STOP_MS);
      await ended;
      clearTimeout(late);
    },
  };
}

/** Nothing of the user's own clusters. */
function inherited(): Record<string, string | undefined> {
  const { PATH, HOME, TMPDIR, LANG } = process.env;
  return { PATH, HOME, TMPDIR, LANG };
}
