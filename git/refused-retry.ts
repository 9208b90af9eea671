/**
 * A commit that was refused, and is tried again because an object is gone: whether that was deleted to make room for what the commit wants,
 * which is then not put back as it was. Pure.
 */

import type { Drift } from './drift.ts';
import type { CommitStatus } from './inventory-status.ts';
import { shortSha } from './problems.ts';

/** An object was deleted, and the commit that was refused then was tried again. */
export interface TriedFor {
  /** Of the deletion, RFC 3339. */
  readonly since: string;
  /** Of the commit. */
  readonly sha: string;
  /** It was refused for this object, among others. */
  readonly wasNamed: boolean;
}

/** What is known when the commit is tried again. @param since Of the deletion, RFC 3339 */
export function triedFor(
  commit: Pick<CommitStatus, 'sha' | 'problems'>,
  drift: Pick<Drift, 'object'>,
  since: string,
): TriedFor {
  return { since, sha: commit.sha, wasNamed: isNamed(commit, drift) };
}

/**
 * Why an object that was deleted is not put back as it was: a newer commit was refused for it, and since it is gone for others alone. So it
 * was deleted as that refusal advises, and the commit makes it as soon as the others are mended too.
 */
export function whyNotMade(
  tried: TriedFor | undefined,
  since: string,
  commit: CommitStatus | undefined,
  drift: Pick<Drift, 'object'>,
): string | undefined {
  if (tried?.since !== since || !tried.wasNamed || commit?.sha !== tried.sha) return undefined;
  const { problems = [], problemCount = problems.length } = commit;
  // What is not among those that are told may be about it all the same.
  if (commit.outcome !== 'Refused' || problemCount > problems.length || isNamed(commit, drift))
    return undefined;
  return `commit ${shortSha(tried.sha)}, which was refused for it, makes it anew as soon as it is not refused for others any more`;
}

function isNamed({ problems }: Pick<CommitStatus, 'problems'>, { object }: Pick<Drift, 'object'>): boolean {
  return problems?.some((line) => line.includes(` ${object}: `)) === true;
}
