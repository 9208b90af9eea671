/** Which state of our sources something was made of, or measured with. */

import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFile, readdir } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { promisify } from 'node:util';

import { packageRoot } from './package-root.ts';

/** The part of the sources that decides what a rollout or a commit writes, and when: all that the worker process is made of. */
export const DECIDING = ['planners', 'workflows', 'activities', 'controllers', 'kubernetes', 'git', 'worker'];

/** The same value as long as the TypeScript of these folders, and these files, are the same. Sixteen hexadecimal digits. */
export async function hashOfSources(folders: readonly string[], files: readonly string[]): Promise<string> {
  const root = packageRoot();
  const hash = createHash('sha256');
  const paths = files.map((file) => join(root, file));
  for (const source of folders) {
    const entries = await readdir(join(root, source), { recursive: true, withFileTypes: true });
    paths.push(
      ...entries
        .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
        .map((entry) => join(entry.parentPath, entry.name)),
    );
  }
  for (const path of paths.toSorted()) {
    hash
      .update(relative(root, path))
      .update('\0')
      .update(await readFile(path))
      .update('\0');
  }
  return hash.digest('hex').slice(0, 16);
}

/** What a result is a result of: the same value as long as nothing that decides has changed. */
export async function hashOfDecidingSources(): Promise<string> {
  return await hashOfSources(DECIDING, []);
}

/** The commit that is checked out, with `+` if files other than `ignored` (what a run keeps is no change of what is run) were changed. */
export async function presentCommit(ignored: readonly string[]): Promise<string> {
  const git = async (...words: readonly string[]) =>
    (await promisify(execFile)('git', [...words], { cwd: packageRoot() })).stdout.trim();
  const changes = await git('status', '--porcelain', '--', ...ignored.map((path) => `:!${path}`));
  return `${await git('rev-parse', '--short=10', 'HEAD')}${changes === '' ? '' : '+'}`;
}
