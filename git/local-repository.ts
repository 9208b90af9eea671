/** A repository of the user on this machine, working copy or bare: opened where it is, never written to. */

import { lstat, realpath, stat } from 'node:fs/promises';
import { homedir, userInfo } from 'node:os';
import { dirname, join, relative, resolve } from 'node:path';
import { shellWord } from '../kubernetes/shell-word.ts';
import { gitFailure, processFailure } from './git-errors.ts';
import { runGit } from './git-process.ts';
import type { GitOutput } from './git-process.ts';
import { ProblemError, problem } from './problems.ts';
import { commitNamed, refsNamed } from './ref-names.ts';

/**
 * The git directory of a path: `<path>/.git` (a directory, or the file of a linked work tree) or the path itself if bare.
 * A repository of another owner is refused as git does it, because its configuration could make git run commands. Whether there is a
 * repository at all tells the first command that fails: a look every second is one process, not two.
 * @throws ProblemError RepositoryNotFound (nothing is there), ForeignOwner
 */
export async function openLocal(path: string, signal?: AbortSignal): Promise<string> {
  const found = await stat(path).catch(() => undefined);
  if (found === undefined) throw notFound(`${path} does not exist.`);
  const inside = join(path, '.git');
  const gitDirectory = (await lstat(inside).catch(() => undefined)) === undefined ? path : inside;
  await checkOwner(path, gitDirectory, signal);
  return gitDirectory;
}

/** @throws ProblemError RepositoryNotFound; of git's own refusal */
async function requireRepository(
  path: string,
  gitDirectory: string,
  signal: AbortSignal | undefined,
): Promise<void> {
  const output = await git(gitDirectory, ['rev-parse', '--git-dir'], signal);
  if (output.code === 0) return;
  const root = await workingCopyAround(path);
  if (root === undefined)
    throw notFound(
      `${path} is not a git repository.`,
      `Name the root of the working copy, or make one: git init ${shellWord(path)}`,
    );
  const isFolder = (await stat(path).catch(() => undefined))?.isDirectory() ?? true;
  const folder = relative(root, isFolder ? resolve(path) : dirname(resolve(path)));
  throw notFound(
    `${path} is a ${isFolder ? 'folder' : 'file'} within the git repository ${root}.`,
    folder === ''
      ? 'Name that.'
      : `Name that, and the folder${isFolder ? '' : ' that it is in'} as \`path\` (${shellWord(folder)}).`,
  );
}

/** The root of the working copy that a path is in, as git finds it: the next folder above that has a `.git`. */
async function workingCopyAround(path: string): Promise<string | undefined> {
  for (let folder = dirname(resolve(path)); ; folder = dirname(folder)) {
    if ((await lstat(join(folder, '.git')).catch(() => undefined)) !== undefined) return folder;
    if (folder === dirname(folder)) return undefined;
  }
}

async function checkOwner(
  path: string,
  gitDirectory: string,
  signal: AbortSignal | undefined,
): Promise<void> {
  const me = process.getuid?.();
  if (me === undefined) return;
  const owners = [(await stat(gitDirectory)).uid, (await stat(path)).uid];
  const sudo = me === 0 ? Number(process.env['SUDO_UID'] ?? Number.NaN) : Number.NaN;
  if (owners.every((owner) => owner === me || owner === sudo)) return;
  const real = await realpath(path);
  const safe = await safeDirectories(signal);
  if (safe.includes('*') || safe.includes(path) || safe.includes(real)) return;
  await requireRepository(path, gitDirectory, signal);
  throw new ProblemError(
    problem(
      'ForeignOwner',
      `${path} belongs to another user (uid ${owners.find((owner) => owner !== me)}, the worker is ${userInfo().username}): git config --global --add safe.directory ${real}`,
    ),
  );
}

/** What the user told git to trust; the only thing that is read from the user's own configuration. */
async function safeDirectories(signal: AbortSignal | undefined): Promise<readonly string[]> {
  const home = homedir();
  const output = await runGit({
    args: ['config', '--null', '--get-all', 'safe.directory'],
    signal,
    environment: {
      HOME: home,
      GIT_CONFIG_NOSYSTEM: '0',
      GIT_CONFIG_GLOBAL: process.env['GIT_CONFIG_GLOBAL'] ?? join(home, '.gitconfig'),
    },
  });
  return output.stdout
    .toString('utf8')
    .split('\0')
    .filter((entry) => entry !== '')
    .map((entry) => entry.replace(/(.)\/$/, '$1'));
}

/**
 * The commit that a ref of a local repository names now; without a ref, that of HEAD.
 * @throws ProblemError RepositoryNotFound, UnbornBranch, RefNotFound, RefAmbiguous
 */
export async function resolveLocalRef(
  gitDirectory: string,
  path: string,
  ref?: string,
  signal?: AbortSignal,
): Promise<string> {
  const isName = ref !== undefined && !/^[0-9a-f]{40,64}$/.test(ref);
  const candidates = isName ? refsNamed(ref) : [ref ?? 'HEAD'];
  const input = candidates.map((candidate) => `${candidate}^{commit}\n`).join('');
  const { stdout } = await git(gitDirectory, ['cat-file', '--batch-check=%(objectname)'], signal, input);
  // A line for each: its sha, or its name again and `missing`.
  const lines = stdout.toString('utf8').split('\n');
  const commits = new Map(
    candidates.flatMap((candidate, index) => {
      const sha = lines[index] ?? '';
      return /^[0-9a-f]{40,64}$/.test(sha) ? [[candidate, sha] as const] : [];
    }),
  );
  const sha = isName ? commitNamed(ref, path, commits) : commits.get(ref ?? 'HEAD');
  if (sha !== undefined) return sha;
  await requireRepository(path, gitDirectory, signal);
  if (ref !== undefined)
    throw new ProblemError(problem('RefNotFound', `${path} has no branch, tag or commit ${ref}.`));
  const head = await git(gitDirectory, ['symbolic-ref', '--quiet', '--short', 'HEAD'], signal);
  const branch = head.stdout.toString('utf8').trim();
  throw new ProblemError(
    problem(
      'UnbornBranch',
      `${path} has no commit on ${branch === '' ? 'its HEAD' : `branch ${branch}`} yet.`,
    ),
  );
}

/** Whether a local repository has a commit. @throws ProblemError RepositoryNotFound; of git's own refusal */
export async function holdsLocal(
  gitDirectory: string,
  path: string,
  sha: string,
  signal?: AbortSignal,
): Promise<boolean> {
  const { code } = await git(gitDirectory, ['cat-file', '-e', `${sha}^{commit}`], signal);
  if (code !== 0) await requireRepository(path, gitDirectory, signal);
  return code === 0;
}

/** @throws ProblemError RepositoryNotFound, CommitGone */
export async function requireLocalCommit(
  gitDirectory: string,
  path: string,
  sha: string,
  signal?: AbortSignal,
): Promise<void> {
  if (!(await holdsLocal(gitDirectory, path, sha, signal)))
    throw new ProblemError(problem('CommitGone', `${path} no longer has commit ${sha.slice(0, 8)}.`));
}

/**
 * Reads a commit, which is there nearly always; only where that fails it is looked whether it is.
 * @throws ProblemError RepositoryNotFound, CommitGone; else whatever `work` throws
 */
export async function readLocal<T>(
  path: string,
  sha: string,
  work: (gitDirectory: string) => Promise<T>,
  signal?: AbortSignal,
): Promise<T> {
  const gitDirectory = await openLocal(path, signal);
  try {
    return await work(gitDirectory);
  } catch (error) {
    if (error instanceof ProblemError) await requireLocalCommit(gitDirectory, path, sha, signal);
    throw error;
  }
}

async function git(
  gitDirectory: string,
  args: readonly string[],
  signal: AbortSignal | undefined,
  input = '',
): Promise<GitOutput> {
  const output = await runGit({ args, gitDirectory, input, signal }).catch((error: unknown) => {
    throw processFailure(error, gitDirectory);
  });
  // 128 with these words is git's own refusal, not the absence of what was asked for.
  if (
    output.code !== 0 &&
    /dubious ownership|unknown repository extension|Expected git repo version/.test(output.stderr)
  ) {
    throw gitFailure(output, gitDirectory);
  }
  return output;
}

function notFound(message: string, next = 'Check the path.'): ProblemError {
  return new ProblemError(problem('RepositoryNotFound', message, { next }));
}
