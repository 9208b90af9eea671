/** Reads the files of one commit out of a bare repository: no work tree, so no links, filters or hooks are followed. */

import type { ProblemCode, Problem } from './problems.ts';
import { ProblemError, problem } from './problems.ts';
import { runGit } from './git-process.ts';
import { gitFailure, processFailure } from './git-errors.ts';
import { refuseLinks } from './links.ts';
import type { TreeEntry } from './tree-objects.ts';
import { MANIFEST, readObjects } from './tree-objects.ts';
import { READ_LIMITS } from './read-budget.ts';

/** Limits of a commit's manifests (gitops checklist 9–11). Bytes and counts. */
const TREE_LIMITS = {
  fileBytes: 1024 * 1024,
  files: 20_000,
  totalBytes: 10 * 1024 * 1024,
  entries: 200_000,
} as const;

const LINK = '120000';

export interface TreeFile {
  /** Path from the root of the repository. */
  readonly path: string;
  readonly text: string;
}

export interface TreeRead {
  readonly files: readonly TreeFile[];
  /** Files and links that could not be taken. Never empty-handed silently: each becomes an error of the commit. */
  readonly problems: readonly Problem[];
}

/**
 * Every manifest (`.yaml`, `.yml`, `.json`) under a path of a commit that the repository already holds. Files and folders
 * whose name begins with a dot are not manifests. Submodules, and symbolic links behind which there may be manifests, are problems.
 * @throws ProblemError PathVanished, SymlinkRefused, SubmoduleRefused (of the path itself), TooManyFiles, CommitTooLarge
 */
export async function readTree(
  gitDirectory: string,
  sha: string,
  path: string,
  signal?: AbortSignal,
): Promise<TreeRead> {
  await checkPathEntries(gitDirectory, sha, path, signal);
  const problems: Problem[] = [];
  const wanted: TreeEntry[] = [];
  const links: TreeEntry[] = [];
  for (const entry of await listTree(gitDirectory, ['-r'], sha, path, signal)) {
    if (isHidden(entry.path, path)) continue;
    const refusal = refuseEntry(entry);
    if (refusal !== undefined) problems.push(refusal);
    else if (entry.mode === LINK) links.push(entry);
    else if (MANIFEST.test(entry.path) && entry.mode.startsWith('100')) wanted.push(entry);
  }
  checkSizes(wanted, sha);
  const { files, problems: unread } = await readBlobs(gitDirectory, wanted, signal);
  const bad = await refuseLinks(gitDirectory, sha, links, signal);
  return { files, problems: cut([...problems, ...bad, ...unread]) };
}

/** Nobody reads two hundred thousand lines. */
function cut(problems: readonly Problem[]): readonly Problem[] {
  if (problems.length <= READ_LIMITS.problems) return problems;
  const message = `${problems.length} files and links cannot be taken.`;
  return [problem('TooManyProblems', message), ...problems.slice(0, READ_LIMITS.problems)];
}

/** Walks the path from the root: a link or submodule in the middle must be named, not look like an empty folder. */
async function checkPathEntries(
  gitDirectory: string,
  sha: string,
  path: string,
  signal?: AbortSignal,
): Promise<void> {
  if (path === '') return;
  const parts = path.split('/');
  for (let length = 1; length <= parts.length; length++) {
    const prefix = parts.slice(0, length).join('/');
    const [entry] = await listTree(gitDirectory, [], sha, prefix, signal);
    if (entry === undefined) {
      throw new ProblemError(
        problem('PathVanished', `the path ${prefix} does not exist in commit ${sha.slice(0, 8)}.`, {
          file: path,
        }),
      );
    }
    if (entry.mode === LINK) {
      throw new ProblemError(problem('SymlinkRefused', `${prefix} is a symbolic link.`, { file: prefix }));
    }
    if (entry.mode === '160000') {
      throw new ProblemError(problem('SubmoduleRefused', `${prefix} is a submodule.`, { file: prefix }));
    }
  }
}

/** Links are judged together. */
function refuseEntry(entry: TreeEntry): Problem | undefined {
  const name = entry.path.slice(entry.path.lastIndexOf('/') + 1);
  if (entry.mode === '160000')
    return problem('SubmoduleRefused', `${entry.path} is a submodule.`, { file: entry.path });
  if (MANIFEST.test(name) && entry.mode.startsWith('100') && entry.size > TREE_LIMITS.fileBytes) {
    return problem(
      'FileTooLarge',
      `the file has ${entry.size} bytes, at most ${TREE_LIMITS.fileBytes} are read.`,
      {
        file: entry.path,
      },
    );
  }
  return undefined;
}

function checkSizes(entries: readonly TreeEntry[], sha: string): void {
  if (entries.length > TREE_LIMITS.files) {
    throw new ProblemError(
      problem(
        'TooManyFiles',
        `commit ${sha.slice(0, 8)} has ${entries.length} manifests, at most ${TREE_LIMITS.files} are read.`,
      ),
    );
  }
  const total = entries.reduce((sum, entry) => sum + entry.size, 0);
  if (total > TREE_LIMITS.totalBytes) {
    throw new ProblemError(
      problem('CommitTooLarge', `the manifests of commit ${sha.slice(0, 8)} have ${total} bytes together.`),
    );
  }
}

async function listTree(
  gitDirectory: string,
  options: readonly string[],
  sha: string,
  path: string,
  signal?: AbortSignal,
): Promise<TreeEntry[]> {
  const what = `commit ${sha.slice(0, 8)}`;
  const output = await runGit({
    args: ['ls-tree', ...options, '-z', '-l', '--full-tree', sha, '--', ...(path === '' ? [] : [path])],
    gitDirectory,
    maxOutputBytes: 64 * 1024 * 1024,
    signal,
  }).catch((error: unknown) => {
    throw processFailure(error, what);
  });
  if (output.code !== 0) throw gitFailure(output, what);
  const entries: TreeEntry[] = [];
  for (const record of splitRecords(output.stdout)) {
    const tab = record.indexOf('\t');
    const [mode, , object, size] = record.slice(0, tab).split(/ +/);
    if (mode === undefined || object === undefined) continue;
    entries.push({ mode, object, size: Number(size ?? 0) || 0, path: record.slice(tab + 1) });
    if (entries.length > TREE_LIMITS.entries) {
      throw new ProblemError(
        problem(
          'TooManyFiles',
          `${what} has more than ${TREE_LIMITS.entries} files under ${path === '' ? 'its root' : path}.`,
        ),
      );
    }
  }
  return entries;
}

function splitRecords(output: Buffer): string[] {
  return output
    .toString('utf8')
    .split('\0')
    .filter((record) => record !== '');
}

function isHidden(path: string, root: string): boolean {
  return path
    .slice(root === '' ? 0 : root.length)
    .split('/')
    .some((part) => part.startsWith('.'));
}

async function readBlobs(
  gitDirectory: string,
  entries: readonly TreeEntry[],
  signal?: AbortSignal,
): Promise<TreeRead> {
  const files: TreeFile[] = [];
  const problems: Problem[] = [];
  const contents = await readObjects(gitDirectory, entries, signal);
  for (const [index, entry] of entries.entries()) {
    const text = decode(contents[index]);
    const refusal = refuseText(text);
    if (text !== undefined && refusal === undefined) files.push({ path: entry.path, text });
    else
      problems.push(
        problem(...(refusal ?? (['NotText', 'the file is not UTF-8 text.'] as const)), { file: entry.path }),
      );
  }
  return { files, problems };
}

function refuseText(text: string | undefined): readonly [ProblemCode, string] | undefined {
  if (text === undefined) return undefined;
  if (text.startsWith('version https://git-lfs.github.com/'))
    return ['LfsPointer', 'the file is a Git LFS pointer.'];
  if (text.includes('\0')) return ['NotText', 'the file holds NUL characters.'];
  return undefined;
}

function decode(bytes: Buffer | undefined): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
}
