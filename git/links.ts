/** Symbolic links of a commit: which of them are nobody's business, and which hide something that should be read. */

import { gitFailure, processFailure } from './git-errors.ts';
import { runGit } from './git-process.ts';
import type { Problem } from './problems.ts';
import { problem } from './problems.ts';
import type { TreeEntry } from './tree-objects.ts';
import { MANIFEST, readObjects } from './tree-objects.ts';

/** Bytes of a path that file systems take. */
const LONGEST_TARGET = 4096;

/** Where a link leads, in words for `is a symbolic link …`; `file`: to a file of the commit. */
type Target = 'file' | 'to a folder' | 'that leads nowhere in this commit' | 'out of the repository';

/**
 * A link is passed over if neither it nor what it names is called like a manifest and it leads to a file of the same commit
 * (`README` → `docs/readme.md`). Behind any other one there may be manifests, which would be pruned if they were not seen.
 * @throws ProblemError when git cannot be asked
 */
export async function refuseLinks(
  gitDirectory: string,
  sha: string,
  links: readonly TreeEntry[],
  signal?: AbortSignal,
): Promise<readonly Problem[]> {
  const problems: Problem[] = [];
  const refuse = ({ path: file }: TreeEntry, where = ''): void => {
    const message = `${file} is a symbolic link${where === '' ? '' : ` ${where}`}.`;
    problems.push(problem('SymlinkRefused', message, { file }));
  };
  const open: TreeEntry[] = [];
  for (const link of links) {
    // A line feed ends a question to git.
    const isSimple = !MANIFEST.test(link.path) && !link.path.includes('\n') && link.size <= LONGEST_TARGET;
    if (isSimple) open.push(link);
    else refuse(link);
  }
  const names = await readObjects(gitDirectory, open, signal);
  const targets = await targetsOf(gitDirectory, sha, open, signal);
  for (const [index, link] of open.entries()) {
    const target = targets[index] ?? 'that leads nowhere in this commit';
    if (target !== 'file') refuse(link, target);
    else if (MANIFEST.test(names[index]?.toString('utf8') ?? '')) refuse(link, 'to a manifest');
  }
  return problems;
}

/** Asks git itself, which follows links inside of a commit and no further. */
async function targetsOf(
  gitDirectory: string,
  sha: string,
  links: readonly TreeEntry[],
  signal?: AbortSignal,
): Promise<readonly Target[]> {
  if (links.length === 0) return [];
  const what = 'following the symbolic links';
  const output = await runGit({
    args: ['cat-file', '--batch-check', '--follow-symlinks'],
    gitDirectory,
    input: links.map(({ path }) => `${sha}:${path}\n`).join(''),
    maxOutputBytes: links.length * 2 * (LONGEST_TARGET + 128),
    signal,
  }).catch((error: unknown) => {
    throw processFailure(error, what);
  });
  if (output.code !== 0) throw gitFailure(output, what);
  const targets: Target[] = [];
  for (let at = 0; at < output.stdout.length;) {
    const end = output.stdout.indexOf('\n', at);
    if (end < 0) break;
    const [first = '', second = ''] = output.stdout.toString('utf8', at, end).split(' ');
    at = end + 1;
    // Followed by so many bytes and a line feed.
    if (/^(?:symlink|dangling|loop|notdir)$/.test(first)) {
      targets.push(first === 'symlink' ? 'out of the repository' : 'that leads nowhere in this commit');
      at += Number(second) + 1;
    } else {
      targets.push(
        second === 'blob' ? 'file' : second === 'tree' ? 'to a folder' : 'that leads nowhere in this commit',
      );
    }
  }
  return targets;
}
