/** Objects of a repository, by one git process for any number of them. */

import { gitFailure, processFailure } from './git-errors.ts';
import { runGit } from './git-process.ts';
import { ProblemError, problem } from './problems.ts';

/** One line of `git ls-tree`. */
export interface TreeEntry {
  readonly mode: string;
  readonly object: string;
  /** Bytes; 0 of what is no blob. */
  readonly size: number;
  /** From the root of the repository. */
  readonly path: string;
}

/** Names that are read; in any case, as on file systems that know none. */
export const MANIFEST = /\.(?:ya?ml|json)$/i;

/** Bytes of a line of `cat-file` before the content. */
const HEADER_BYTES = 128;

/**
 * The content of each entry, in order.
 * @throws ProblemError SourceCorrupt, SourceTimeout and what else git can fail with
 */
export async function readObjects(
  gitDirectory: string,
  entries: readonly TreeEntry[],
  signal?: AbortSignal,
): Promise<readonly Buffer[]> {
  if (entries.length === 0) return [];
  const what = 'reading the files';
  const output = await runGit({
    args: ['cat-file', '--batch'],
    gitDirectory,
    input: `${entries.map((entry) => entry.object).join('\n')}\n`,
    maxOutputBytes: entries.reduce((sum, entry) => sum + entry.size + HEADER_BYTES, 0),
    signal,
  }).catch((error: unknown) => {
    throw processFailure(error, what);
  });
  if (output.code !== 0) throw gitFailure(output, what);
  let at = 0;
  return entries.map((entry) => {
    const end = output.stdout.indexOf('\n', at);
    const header = output.stdout.toString('utf8', at, end).split(' ');
    if (end < 0 || header[0] !== entry.object || header[1] !== 'blob') {
      const message = `git could not read ${entry.path}: ${header.slice(1).join(' ')}.`;
      throw new ProblemError(problem('SourceCorrupt', message, { file: entry.path }));
    }
    const start = end + 1;
    at = start + Number(header[2]) + 1;
    return output.stdout.subarray(start, at - 1);
  });
}
