/** What became of the last commit of the repository that a workload comes from: a refused one is why nothing happens. */

import { InventoryStore } from '../git/inventory.ts';
import type { CommitStatus } from '../git/inventory.ts';
import { ProblemError, shortSha } from '../git/problems.ts';
import { ApiError } from '../kubernetes/api-error.ts';
import type { WorkloadObject } from '../kubernetes/workload-edit.ts';
import { ANNOTATION } from '../planners/names.ts';
import type { Session } from './session.ts';

export interface GitState {
  readonly repository: string;
  readonly commit: string;
  readonly outcome: CommitStatus['outcome'];
  /** With file and line; at most 20. */
  readonly problems: readonly string[];
}

/**
 * The last commit of the workload's repository; undefined when it comes from none, or none was tried. `notes` gets what may
 * not be read. @throws Error when the inventory is damaged
 */
export async function readGitState(
  session: Session,
  { metadata }: WorkloadObject,
  notes: string[] = [],
): Promise<GitState | undefined> {
  const repository = metadata.annotations?.[ANNOTATION.repository];
  if (repository === undefined) return undefined;
  try {
    const store = new InventoryStore(session.client, session.leaseNamespace, repository);
    const commit = (await store.read())?.status.commit;
    if (commit === undefined) return undefined;
    return { repository, commit: commit.sha, outcome: commit.outcome, problems: commit.problems ?? [] };
  } catch (error) {
    // Beside the answer that was asked for: what cannot be read must not take that away.
    if (!(error instanceof ApiError) && !(error instanceof ProblemError)) throw error;
    notes.push(`not looked at: ${error.message}`);
    return undefined;
  }
}

/** `commit 56124dbb of shop was refused: …` for a commit of which nothing, or not all, was applied; else undefined. */
export function describeFailedCommit(git: GitState | undefined): string | undefined {
  if (git === undefined || (git.outcome !== 'Refused' && git.outcome !== 'Failed')) return undefined;
  const [first, ...more] = git.problems;
  const others = more.length === 0 ? '' : ` (and ${String(more.length)} more)`;
  const what = git.outcome === 'Refused' ? 'was refused' : 'failed';
  return `commit ${shortSha(git.commit)} of ${git.repository} ${what}${first === undefined ? '' : `: ${first}${others}`}`;
}
