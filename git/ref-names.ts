/** What the `ref` of an entry names: the same of a local repository and of one on another machine. Pure. */

import { ProblemError, problem, shortSha } from './problems.ts';

/** Full names of the refs that `ref` may mean, the likeliest first: a full name is itself before it is anything else. */
export function refsNamed(ref: string): readonly string[] {
  const short = [`refs/heads/${ref}`, `refs/tags/${ref}`];
  return ref.startsWith('refs/') ? [ref, ...short] : short;
}

/**
 * The commit that `ref` names; undefined: none.
 * @param where the repository, for the sentence
 * @param commits of {@link refsNamed} those that there are, tags peeled
 * @throws ProblemError RefAmbiguous, when a branch and a tag of that name are at different commits
 */
export function commitNamed(
  ref: string,
  where: string,
  commits: ReadonlyMap<string, string>,
): string | undefined {
  const found = refsNamed(ref).flatMap((name) => {
    const sha = commits.get(name);
    return sha === undefined ? [] : [{ name, sha }];
  });
  const [first, second] = found;
  if (first === undefined || second === undefined) return first?.sha;
  if (first.name === ref || first.sha === second.sha) return first.sha;
  const both = [first, second].map(({ name, sha }) => `${name} is at ${shortSha(sha)}`).join(', ');
  throw new ProblemError(problem('RefAmbiguous', `${where} has a branch and a tag ${ref}: ${both}.`));
}
