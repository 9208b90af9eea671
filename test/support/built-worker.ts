/**
 * The product as it is shipped: compiled, with its workflow bundle. Built once for each state of the sources, into a directory
 * named after it, so that tests never run yesterday's code and never rebuild what another test runs from.
 */

import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { cp, mkdir, readFile, readdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';

import { packageRoot } from '../../local/package-root.ts';
import { hashOfSources } from '../../local/package-sources.ts';

const SOURCES = [
  'planners',
  'workflows',
  'activities',
  'controllers',
  'kubernetes',
  'git',
  'worker',
  'cli',
  'local',
  'demo',
];
const FILES = ['package-lock.json', 'tsconfig.json', 'tsconfig.build.json'];
const BUILD_TIMEOUT_MS = 180_000;
/** Builds of other states of the sources are kept this long: somebody may still run from them. */
const KEEP_MS = 3_600_000;

const run = promisify(execFile);

/** Resolves with the directory that holds `worker/main.js` and `workflow-bundle.js`. Rejects with the compiler's output. */
export async function builtWorker(): Promise<string> {
  const root = packageRoot();
  const directory = join(root, '.fairlead', 'builds', await hashOfSources(SOURCES, FILES));
  if (existsSync(directory)) {
    return directory;
  }
  const lock = `${directory}.lock`;
  await mkdir(join(root, '.fairlead', 'builds'), { recursive: true });
  const deadline = Date.now() + BUILD_TIMEOUT_MS;
  while (!(await acquire(lock))) {
    if (Date.now() > deadline) {
      throw new Error(
        `another test builds for more than ${String(BUILD_TIMEOUT_MS / 1000)} s; if none runs: rm -r ${lock}`,
      );
    }
    await delay(100);
  }
  try {
    if (!existsSync(directory)) {
      await build(root, directory);
      await removeOld(join(root, '.fairlead', 'builds'), directory);
    }
  } finally {
    await rm(lock, { recursive: true, force: true });
  }
  return directory;
}

/**
 * A copy of the build with one expression replaced: a mutant, to prove that a check can fail.
 * @throws Error unless the expression stands exactly once in the file
 */
export async function mutantOf(
  original: string,
  mutation: { readonly file: string; readonly from: string; readonly to: string },
): Promise<string> {
  const directory = join(packageRoot(), '.fairlead', 'builds', `mutant-${randomBytes(4).toString('hex')}`);
  await cp(original, directory, { recursive: true });
  const path = join(directory, mutation.file);
  const text = await readFile(path, 'utf8');
  const parts = text.split(mutation.from);
  if (parts.length !== 2) {
    await rm(directory, { recursive: true });
    throw new Error(
      `"${mutation.from}" stands ${String(parts.length - 1)} times in ${mutation.file}, not once: the mutation hits nothing, or too much`,
    );
  }
  await writeFile(path, parts.join(mutation.to));
  return directory;
}

async function build(root: string, directory: string): Promise<void> {
  const draft = `${directory}.draft`;
  await rm(draft, { recursive: true, force: true });
  const tsc = join(root, 'node_modules', 'typescript', 'bin', 'tsc');
  const steps = [
    // Types are the business of `npm run check`.
    [tsc, '-p', 'tsconfig.build.json', '--noCheck', '--outDir', draft],
    [join(draft, 'worker', 'bundle-workflows.js')],
  ];
  for (const step of steps) {
    try {
      await run(process.execPath, step, { cwd: root, env: { ...process.env, NODE_OPTIONS: '' } });
    } catch (error) {
      const { stdout = '', stderr = '' } = error as { readonly stdout?: string; readonly stderr?: string };
      throw new Error(`the build failed: node ${step.join(' ')}\n${stdout}${stderr}`, { cause: error });
    }
  }
  await rename(draft, directory);
}

/** A lock of a process that is gone is taken over. */
async function acquire(lock: string): Promise<boolean> {
  try {
    await mkdir(lock);
    await writeFile(join(lock, 'pid'), String(process.pid));
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') {
      throw error;
    }
  }
  const pid = Number(await readFile(join(lock, 'pid'), 'utf8').catch(() => ''));
  if (pid > 0 && !isRunning(pid)) {
    await rm(lock, { recursive: true, force: true });
  }
  return false;
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

async function removeOld(builds: string, present: string): Promise<void> {
  for (const name of await readdir(builds)) {
    const path = join(builds, name);
    const found = await stat(path).catch(() => undefined);
    if (
      path !== present &&
      !name.endsWith('.lock') &&
      found !== undefined &&
      found.mtimeMs < Date.now() - KEEP_MS
    ) {
      await rm(path, { recursive: true, force: true });
    }
  }
}
