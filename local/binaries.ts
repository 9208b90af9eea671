/**
 * Finds the programs of the control plane, in this order: the environment variable that names one, the PATH if the version
 * fits, our cache, an official release (only where its checksum is pinned), a build by the Go tool chain.
 */

import { execFile } from 'node:child_process';
import { access, constants, rm } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';

import { toMessage } from '../kubernetes/api-error.ts';
import { cacheHome } from '../kubernetes/base-directories.ts';
import { trusted } from '../kubernetes/values.ts';
import { makeDirectories } from './claimed-directory.ts';
import { downloadRelease, releaseOf } from './download.ts';
import { withLock } from './file-lock.ts';
import { buildWithGo } from './go-build.ts';
import { BINARY_NAMES, BINARY_SOURCES, VERSIONS } from './versions.ts';
import type { BinaryName, ProgramName } from './versions.ts';

export type Binaries = Readonly<Record<BinaryName, string>>;

export interface FindOptions {
  /** One line per step that takes time. */
  readonly report?: ((line: string) => void) | undefined;
  readonly signal?: AbortSignal | undefined;
  /** @default `process.env` */
  readonly environment?: Readonly<Record<string, string | undefined>>;
}

const VERSION_TIMEOUT_MS = 10_000;
const run = promisify(execFile);

/** `$XDG_CACHE_HOME/fairlead/bin`, by default `~/.cache/fairlead/bin`. */
export function binaryCacheDirectory(
  environment: Readonly<Record<string, string | undefined>> = process.env,
): string {
  return join(cacheHome(environment), 'bin');
}

async function isExecutable(path: string): Promise<boolean> {
  try {
    await access(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

async function hasPinnedVersion(name: ProgramName, path: string): Promise<boolean> {
  const { versionArguments, versionPattern } = BINARY_SOURCES[name];
  try {
    const { stdout } = await run(path, [...versionArguments], { timeout: VERSION_TIMEOUT_MS, env: {} });
    return versionPattern.test(stdout);
  } catch {
    // Another program of this name, or one for another machine.
    return false;
  }
}

async function findOnPath(name: ProgramName, path: string): Promise<string | undefined> {
  for (const directory of path.split(delimiter)) {
    if (directory === '') continue;
    const candidate = join(directory, name);
    if ((await isExecutable(candidate)) && (await hasPinnedVersion(name, candidate))) return candidate;
  }
  return undefined;
}

async function fetchOrBuild(name: ProgramName, target: string, options: FindOptions): Promise<void> {
  const { report = () => undefined, signal, environment = process.env } = options;
  const release = releaseOf(name, environment);
  if (release !== undefined) {
    try {
      await downloadRelease(release, target, { report, signal });
      return;
    } catch (error) {
      signal?.throwIfAborted();
      report(`${name}: no download (${toMessage(error)}); building it instead`);
    }
  }
  await buildWithGo(name, target, { report, signal, environment });
  if (!(await hasPinnedVersion(name, target))) {
    // It would be taken from the cache the next time, without being asked.
    await rm(target);
    throw new Error(
      `${target} was built but does not answer ${VERSIONS[BINARY_SOURCES[name].product]} when asked for its version`,
    );
  }
}

/**
 * The path of one program; fetched or built if it is nowhere. Several processes that miss the same program do it once.
 * Rejects if the environment names a program that cannot be run, or with all that was tried.
 */
export async function findBinary(name: ProgramName, options: FindOptions = {}): Promise<string> {
  const { environment = process.env, report = () => undefined, signal } = options;
  const { environmentVariable, product } = BINARY_SOURCES[name];
  const named = environment[environmentVariable];
  if (named !== undefined && named !== '') {
    if (await isExecutable(named)) return named;
    throw new Error(`${environmentVariable}=${named} is not a program that can be run; correct or unset it`);
  }
  const onPath = await findOnPath(name, environment['PATH'] ?? '');
  if (onPath !== undefined) return onPath;
  const cache = binaryCacheDirectory(environment);
  const cached = join(cache, `${name}-${VERSIONS[product]}`);
  if (await isExecutable(cached)) return cached;
  await makeDirectories(cache);
  await withLock(
    `${cached}.lock`,
    async () => {
      if (!(await isExecutable(cached))) await fetchOrBuild(name, cached, options);
    },
    {
      signal,
      onWait: (holder) => {
        report(`${name}: another process (${holder ?? 'unknown'}) fetches or builds it; waiting`);
      },
    },
  );
  return cached;
}

/** All programs, one after the other: a build uses every core. */
export async function findBinaries(options: FindOptions = {}): Promise<Binaries> {
  const found = new Map<BinaryName, string>();
  for (const name of BINARY_NAMES) found.set(name, await findBinary(name, options));
  return trusted<Binaries>(Object.fromEntries(found));
}
