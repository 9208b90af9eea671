/** What became of the last commit of the repository that a workload comes from: a refused one is why nothing happens. */

import { whatFollows } from '../git/drift-report.ts';
import { describeDrift } from '../git/drift.ts';
import { entryKey } from '../git/inventory-content.ts';
import { InventoryStore } from '../git/inventory.ts';
import type { CommitStatus, DriftedObject } from '../git/inventory-status.ts';
import { DEFAULT_WAVE, STAGES, parseWave } from '../git/order.ts';
import { ProblemError, shortSha } from '../git/problems.ts';
import { ApiError, isForbidden } from '../kubernetes/api-error.ts';
import { appliedEntry } from '../kubernetes/managed-fields.ts';
import { withoutStop } from '../kubernetes/safe-text.ts';
import type { WorkloadObject, WorkloadTarget } from '../kubernetes/workload-edit.ts';
import { describeSuspension } from '../git/suspension.ts';
import { readSuspended } from '../kubernetes/wish-annotations.ts';
import type { Wish } from '../planners/workload.ts';
import { ANNOTATION, FIELD_MANAGER } from '../planners/names.ts';
import type { CommitView } from '../workflows/sync-messages.ts';
import { followedRows } from './followed-rows.ts';
import { appliedNames, readInventories } from './read-repositories.ts';
import type { Session } from './session.ts';
import { askWhereItIs } from './temporal-sync.ts';

export interface GitState {
  readonly repository: string;
  readonly commit: string;
  readonly outcome: CommitStatus['outcome'];
  /** With file and line; at most 20. */
  readonly problems: readonly string[];
  /** Why its run ended without a problem to name, before it came to this workload. */
  readonly ended?: string;
  /** Of all of them; absent: those are all. */
  readonly problemCount?: number;
  /** Who has suspended the repository, and the newer commit that waits for that to end. */
  readonly suspended?: Wish & { readonly waits?: string };
  /** Why the repository cannot be read, and since when (RFC 3339). */
  readonly unreadable?: { readonly problem: string; readonly since: string };
  /** Where the commit is that is under way and may still change this workload; `{}`: nobody could say. */
  readonly underWay?: Partial<Pick<CommitView, 'phase' | 'held' | 'waiting'>>;
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
    const inventory = await store.read();
    const { commit, source, drift } = inventory?.status ?? {};
    if (commit === undefined) return undefined;
    const { sha, outcome, problems = [], problemCount } = commit;
    const suspended = await suspensionOf(session, repository, sha, readSuspended(inventory?.annotations));
    const unreadable = source?.ok === false && {
      unreadable: { problem: source.problem ?? 'no cause given', since: source.since },
    };
    const target = { namespace: metadata.namespace ?? '', name: metadata.name, kind };
    const drifted = drift?.objects.find(({ object }) => isAbout(object, target));
    const mayCome = outcome === 'Progressing' && metadata.annotations?.[ANNOTATION.commit] !== sha;
    const view = mayCome ? await askWhereItIs(session, commit) : undefined;
    return {
      repository,
      commit: sha,
      outcome,
      problems,
      ...(problemCount !== undefined && { problemCount }),
      ...(hasEndedBefore(commit, metadata) && { ended: commit.notes?.[0] ?? 'no cause given' }),
      ...(suspended !== undefined && { suspended }),
      ...(mayCome && mayStillChange(view, { metadata }) && { underWay: whereabouts(view) }),
      ...unreadable,
      ...(drifted && !isAppliedSince(drifted, outcome, metadata) && { drift: wordsOf(drifted) }),
    };
  } catch (error) {
    // Beside the answer that was asked for: what cannot be read must not take that away.
    if (!(error instanceof ApiError) && !(error instanceof ProblemError)) throw error;
    notes.push(
      error instanceof ApiError && isForbidden(error)
        ? `what git has to say of it was not looked at: you may not read ConfigMaps in the namespace ${session.leaseNamespace}`
        : `what git has to say of it was not looked at: ${error.message}`,
    );
    return undefined;
  }
}

const ENDED: Partial<Record<CommitStatus['outcome'], string>> = {
  Failed: 'failed',
  Canceled: 'was canceled',
  Terminated: 'was terminated',
};

/** Whether the commit's run has ended as such, and has not applied the workload. */
export function hasEndedBefore(
  { sha, outcome, problems = [] }: Pick<CommitStatus, 'sha' | 'outcome' | 'problems'>,
  metadata: WorkloadObject['metadata'],
): boolean {
  return (
    ENDED[outcome] !== undefined && problems.length === 0 && metadata.annotations?.[ANNOTATION.commit] !== sha
  );
}

/** With what a leader has seen and does not apply. */
async function suspensionOf(
  session: Session,
  repository: string,
  applied: string,
  suspension: Wish | undefined,
): Promise<GitState['suspended']> {
  if (suspension === undefined) return undefined;
  const rows = await followedRows(session.client, session);
  const seen = rows?.find(({ name }) => name === repository)?.sha;
  return { ...suspension, ...(seen !== undefined && seen !== applied && { waits: seen }) };
}

/**
 * Whether the commit that is under way has written the object since it was seen to differ: drift is not looked at again before the end
 * of the commit. The apiserver's clock has whole seconds.
 */
export function isAppliedSince(
  { since }: Pick<DriftedObject, 'since'>,
  outcome: CommitStatus['outcome'],
  metadata: WorkloadObject['metadata'],
): boolean {
  if (outcome !== 'Progressing') return false;
  const appliedAt = appliedEntry({ metadata }, FIELD_MANAGER)?.time;
  return appliedAt !== undefined && Date.parse(appliedAt) + 1_000 > Date.parse(since);
}

/**
 * Whether a commit that has not written the workload may do so yet: what it leaves as it is has the name of an earlier one for ever, so
 * only the place at which the commit is tells. The workload's wave is that of its present manifest.
 */
export function mayStillChange(
  view: Pick<CommitView, 'phase' | 'held'> | undefined,
  { metadata }: Pick<WorkloadObject, 'metadata'>,
): boolean {
  if (view === undefined) return true;
  const { phase, held } = view;
  if (phase === 'Checking' || phase === 'Applying') return true;
  if (phase !== 'AwaitingWave') return false;
  if (held === undefined) return true;
  const stage = STAGES.indexOf('Workloads');
  const heldStage = STAGES.findIndex((name) => held.stage.endsWith(name.toLowerCase()));
  if (heldStage !== stage) return heldStage < stage;
  return held.wave <= (parseWave(metadata.annotations?.[ANNOTATION.wave] ?? '') ?? DEFAULT_WAVE);
}

function whereabouts(view: CommitView | undefined): NonNullable<GitState['underWay']> {
  if (view === undefined) return {};
  const { phase, held, waiting } = view;
  return { phase, ...(held !== undefined && { held }), waiting };
}

function wordsOf(drifted: DriftedObject): string {
  return `${describeDrift(drifted)}, known since ${drifted.since}${whatFollows(drifted)}`;
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
 * that failed for this workload, or that waits for others before it may come to it, or for a repository that is suspended; else undefined: what became of others is not its business.
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
  if (git?.underWay !== undefined) return commitUnderWay(git, git.underWay);
  if (git?.suspended?.waits !== undefined) {
    const { waits, ...wish } = git.suspended;
    return {
      text: `commit ${shortSha(waits)} of ${git.repository} waits: the repository is suspended${describeSuspension(wish)}`,
      next: `fairlead resume ${git.repository}`,
    };
  }
  if (git?.ended !== undefined) {
    return {
      text: `commit ${shortSha(git.commit)} of ${git.repository} ${ENDED[git.outcome] ?? 'has ended'}: ${withoutStop(git.ended)}`,
      next: `fairlead sync ${git.repository}`,
    };
  }
  if (git === undefined || (git.outcome !== 'Refused' && git.outcome !== 'Failed')) return undefined;
  const [first, ...more] =
    git.outcome === 'Refused' ? git.problems : git.problems.filter((problem) => isAbout(problem, target));
  if (git.outcome === 'Failed' && (first === undefined || isOver)) return undefined;
  const rest = git.outcome === 'Refused' ? (git.problemCount ?? git.problems.length) - 1 : more.length;
  const others = rest <= 0 ? '' : ` (and ${String(rest)} more)`;
  const isOfOthers = !git.problems.some((problem) => isAbout(problem, target));
  // What is wrong with a file names no object: it may be that of this one.
  const refused = !isOfOthers
    ? 'was refused'
    : git.problems.every(namesObject)
      ? 'was refused as a whole, for another object'
      : 'was refused as a whole';
  const what = git.outcome === 'Refused' ? refused : 'failed';
  const why = first === undefined ? '' : `: ${withoutStop(first)}${others}`;
  return {
    text: `commit ${shortSha(git.commit)} of ${git.repository} ${what}${why}`,
    next: 'correct the manifest and commit; `fairlead plan` tries it beforehand',
  };
}

/**
 * The commit that is under way and is to make a workload that does not exist: the inventory holds what is about to be applied before it is
 * written, without a uid. Undefined: there is none, or it may not be read.
 */
export async function commitToMake(
  session: Session,
  { group, kind, namespace, name }: WorkloadTarget,
): Promise<GitTrouble | undefined> {
  const key = entryKey({ apiVersion: `${group}/any`, kind, namespace, name });
  try {
    const repositories = await appliedNames(session);
    for (const { name: repository, inventory } of await readInventories(session, repositories)) {
      const { status: { commit } = {}, entries } =
        inventory !== undefined && 'entries' in inventory ? inventory : {};
      const entry = entries?.get(key);
      if (commit?.outcome !== 'Progressing' || entry === undefined || entry.uid !== undefined) continue;
      const underWay = whereabouts(await askWhereItIs(session, commit));
      return commitUnderWay({ commit: commit.sha, repository }, underWay, 'this object is still to come');
    }
    return undefined;
  } catch (error) {
    // Beside the answer that was asked for.
    if (!isForbidden(error)) throw error;
    return undefined;
  }
}

/** A commit that may still change a workload: over what somebody writes on the object now. */
export interface CommitToCome {
  readonly repository: string;
  readonly commit: string;
  readonly outcome: CommitStatus['outcome'];
  /** The repository is suspended: what has not begun does not begin. */
  readonly suspended?: true;
}

/** The newest commit of the workload's repository, where it has not applied the workload and is not over: it is under way, or tried again. */
export function commitToCome(
  git: GitState | undefined,
  { metadata }: Pick<WorkloadObject, 'metadata'>,
): CommitToCome | undefined {
  if (git === undefined || wasRolledOutSince(git, { metadata })) return undefined;
  const { repository, commit, outcome, underWay, suspended } = git;
  const isToCome = underWay !== undefined || outcome === 'Refused' || outcome === 'Failed';
  return isToCome ? { repository, commit, outcome, ...(suspended && { suspended: true }) } : undefined;
}

/** What it means for who has changed the workload by hand, as a clause. */
export function describeToCome({ repository, commit, outcome, suspended }: CommitToCome): string {
  const isUnderWay = outcome === 'Progressing';
  const state = isUnderWay ? 'is under way' : `is not applied (${outcome})`;
  const comes = `commit ${shortSha(commit)} of ${repository} ${state}: what it changes of this workload comes over it`;
  if (suspended === undefined) {
    const when = isUnderWay ? '' : ' when it is tried again';
    return `${comes}${when}; \`fairlead suspend ${repository}\` holds what has not begun`;
  }
  // What is under way goes to its end all the same.
  return isUnderWay ? comes : `${comes} after \`fairlead resume ${repository}\`: it is suspended`;
}

/** Whether it has something for the workload is known when it gets there. @param later What comes then. */
function commitUnderWay(
  { commit, repository }: Pick<GitState, 'commit' | 'repository'>,
  { phase, held, waiting = [] }: NonNullable<GitState['underWay']>,
  later = 'what it changes here, if anything, comes later',
): GitTrouble {
  const which = `commit ${shortSha(commit)} of ${repository}`;
  if (phase !== 'AwaitingWave') {
    return {
      text: `${which} is under way; ${later}`,
      next: `see how far it is: fairlead get repositories/${repository}`,
    };
  }
  const [first, ...more] = waiting;
  const others = more.length === 0 ? '' : ` (and ${String(more.length)} more)`;
  const where = held === undefined ? '' : ` ${held.text}`;
  const why = first === undefined ? '' : ` for ${withoutStop(first)}${others}`;
  return {
    text: `${which} waits${where}${why}; ${later}`,
    next: 'it goes on by itself when that is ready; if it never will be, correct what it waits for and commit',
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

/** `Code file:line@commit: Kind.group namespace/name: …` */
function namesObject(problem: string): boolean {
  return /^[A-Z]\w+(?: \S+)?: [A-Z][\w.-]* \S+: /.test(problem);
}
