/** Builds programs with the Go tool chain from the pinned modules. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

import { asError, trusted } from '../kubernetes/values.ts';
import { packageRoot } from './package-root.ts';
import { BINARY_SOURCES, VERSIONS } from './versions.ts';
import type { ProgramName } from './versions.ts';

const PROGRESS_MS = 15_000;
const TAIL_LINES = 20;

export interface BuildOptions {
  readonly report: (line: string) => void;
  readonly signal?: AbortSignal | undefined;
  /** In whose PATH `go` is. @default `process.env` */
  readonly environment?: Readonly<Record<string, string | undefined>>;
}

function minutes(seconds: number): string {
  return seconds < 90 ? `${Math.round(seconds)} s` : `${(seconds / 60).toFixed(1)} min`;
}

/**
 * Builds one program to `target`, which appears whole or not at all. Rejects with what is missing (no `go`) or with the end
 * of the compiler's output.
 */
export async function buildWithGo(name: ProgramName, target: string, options: BuildOptions): Promise<void> {
  const { report, signal, environment = process.env } = options;
  const source = BINARY_SOURCES[name];
  const module = join(packageRoot(), source.module);
  const temporary = await mkdtemp(`${target}.build-`);
  const output = join(temporary, name);
  const linker = [
    '-s',
    '-w',
    ...Object.entries(source.linkerValues).map(([key, value]) => `-X ${key}=${value}`),
  ];
  const title = `${name} ${VERSIONS[source.product]}`;
  report(
    `building ${title} with go; the first build takes about ${minutes(source.buildSeconds)} on two cores`,
  );
  const started = performance.now();
  const elapsed = () => (performance.now() - started) / 1000;
  const progress = setInterval(() => {
    report(`building ${title}: ${minutes(elapsed())} so far`);
  }, PROGRESS_MS);
  try {
    const words = ['build', '-mod=readonly', '-o', output, '-ldflags', linker.join(' '), source.goPackage];
    await runGo(words, module, environment, signal);
    await chmod(output, 0o755);
    await rename(output, target);
    report(`built ${title} in ${minutes(elapsed())}`);
  } catch (error) {
    throw new Error(`cannot build ${title}: ${asError(error).message}`, { cause: error });
  } finally {
    clearInterval(progress);
    await rm(temporary, { recursive: true, force: true });
  }
}

async function runGo(
  words: readonly string[],
  directory: string,
  environment: Readonly<Record<string, string | undefined>>,
  signal: AbortSignal | undefined,
): Promise<void> {
  const child = spawn('go', words, {
    cwd: directory,
    stdio: ['ignore', 'ignore', 'pipe'],
    // Flags of the user's (-mod=mod, -race) would change go.mod or the program; a tool chain may be fetched if too old.
    env: { ...environment, GOFLAGS: '', GOWORK: 'off', CGO_ENABLED: '0' },
    ...(signal === undefined ? {} : { signal }),
  });
  const tail: string[] = [];
  const lines = createInterface({ input: child.stderr });
  lines.on('line', (line) => {
    // Hundreds of modules on a first build.
    if (line.startsWith('go: downloading')) return;
    tail.push(line);
    if (tail.length > TAIL_LINES) tail.shift();
  });
  let code: number | null;
  try {
    [code] = trusted<[number | null]>(await once(child, 'close'));
  } catch (error) {
    if (trusted<NodeJS.ErrnoException>(error).code !== 'ENOENT') throw error;
    throw new Error('there is no `go` on the PATH; install Go 1.26 or newer from https://go.dev/dl/', {
      cause: error,
    });
  }
  if (code !== 0)
    throw new Error(`go build ended with exit code ${code}\n${tail.map((line) => `  | ${line}`).join('\n')}`);
}
