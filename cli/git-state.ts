/** What became of the last commit of the repository that a workload comes from: a refused one is why nothing happens. */

import { describeDrift } from '../git/drift.ts';
import { InventoryStore } from '../git/inventory.ts';
import type { CommitStatus, DriftedObject } from '../git/inventory.ts';
import { ProblemError, shortSha } from '../git/problems.ts';
import { ApiError } from '../kubernetes/api-error.ts';
import type { WorkloadObject, WorkloadTarget } from '../kubernetes/workload-edit.ts';
import { ANNOTATION } from '../planners/names.ts';
import type { Session } from './session.ts';

export interface GitState {
  readonly repository: string;
  readonly commit: string;
  readonly outcome: CommitStatus['outcome'];
  /** With file and line; at most 20. */
  readonly problems: readonly string[];
  /** Why the repository cannot be read, and since when (RFC 3339). */
  readonly unreadable?: { readonly problem: string; readonly since: string };
  /** How the workload was changed in the cluster after it was applied, in words, without values. */
  readonly drift?: string;
}

/**
 * The last commit of the workload's repository; undefined when it comes from none, or none was tried. `notes` gets what may
 * not be read. @throws Error when the inventory is damaged
 */
export async function readGitState(
  session: Session,
  { metadata, kind = '' }: Pick<WorkloadObject, 'metadata' | 'kind'>,
  notes: string[] = [],
): Promise<GitState | undefined> {
  const repository = metadata.annotations?.[ANNOTATION.repository];
  if (repository === undefined) return undefined;
  try {
    const store = new InventoryStore(session.client, session.leaseNamespace, repository);
    const { commit, source, drift } = (await store.read())?.status ?? {};
    if (commit === undefined) return undefined;
    const { sha, outcome, problems = [] } = commit;
    const unreadable = source?.ok === false && {
      unreadable: { problem: source.problem ?? 'no cause given', since: source.since },
    };
    const target = { namespace: metadata.namespace ?? '', name: metadata.name, kind };
    const drifted = drift?.objects.find(({ object }) => isAbout(object, target));
    return {
      repository,
      commit: sha,
      outcome,
      problems,
      ...unreadable,
      ...(drifted && { drift: wordsOf(drifted) }),
    };
  } catch (error) {
    // Beside the answer that was asked for: what cannot be read must not take that away.
    if (!(error instanceof ApiError) && !(error instanceof ProblemError)) throw error;
    notes.push(`not looked at: ${error.message}`);
    return undefined;
  }
}

function wordsOf(drifted: DriftedObject): string {
  const { held, putBackAt, since } = drifted;
  const next =
    held !== undefined
      ? `; it stays: ${held}`
      : putBackAt === undefined
        ? ''
        : `; it is put back at ${putBackAt}`;
  return `${describeDrift(drifted)}, known since ${since}${next}`;
}

type NamedWorkload = Pick<WorkloadTarget, 'namespace' | 'name'> & { readonly kind: string };

/** Why git does not get to the workload, and what to do about it. */
export interface GitTrouble {
  /** A clause without a full stop. */
  readonly text: string;
  readonly next: string;
}

/**
 * `repository shop cannot be read since …`, or `commit 56124dbb of shop was refused: …` for a commit of which nothing was applied,
 * or that failed for this workload; else undefined: what became of others is not its business.
 * @param isOver What failed has been answered already: by going back, which is told as a pin, or by a rollout that went on since.
 */
export function gitTrouble(
  git: GitState | undefined,
  target: NamedWorkload,
  isOver: boolean,
): GitTrouble | undefined {
  if (git?.unreadable !== undefined) {
    const { problem, since } = git.unreadable;
    return {
      text: `repository ${git.repository} cannot be read since ${since}: ${withoutStop(problem)}`,
      next: 'mend what it names; the worker looks again by itself',
    };
  }
  if (git === undefined || (git.outcome !== 'Refused' && git.outcome !== 'Failed')) return undefined;
  const [first, ...more] =
    git.outcome === 'Refused' ? git.problems : git.problems.filter((problem) => isAbout(problem, target));
  if (git.outcome === 'Failed' && (first === undefined || isOver)) return undefined;
  const others = more.length === 0 ? '' : ` (and ${String(more.length)} more)`;
  const isOfOthers = !git.problems.some((problem) => isAbout(problem, target));
  const refused = isOfOthers ? 'was refused as a whole, for another object' : 'was refused';
  const what = git.outcome === 'Refused' ? refused : 'failed';
  const why = first === undefined ? '' : `: ${withoutStop(first)}${others}`;
  return {
    text: `commit ${shortSha(git.commit)} of ${git.repository} ${what}${why}`,
    next: 'correct the manifest and commit; `fairlead plan` tries it beforehand',
  };
}

/**
 * Whether the present manifest of a workload whose rollout is done is that of the commit: a rollout of it that had failed was started
 * again (`rollout retry`), and has ended well.
 */
export function wasRolledOutSince(
  git: GitState | undefined,
  { metadata }: Pick<WorkloadObject, 'metadata'>,
): boolean {
  return git !== undefined && metadata.annotations?.[ANNOTATION.commit] === git.commit;
}

/** Problems name their object: `StatefulSet default/web`. */
function isAbout(problem: string, { kind, namespace, name }: NamedWorkload): boolean {
  const words = problem.split(/[\s:;,()"]+/);
  return words.includes(`${namespace}/${name}`) && words.some((word) => word.split('.')[0] === kind);
}

function withoutStop(text: string): string {
  return text.replace(/[.]$/, '');
}
