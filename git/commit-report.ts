/** How a commit went, for people: the inventory's status and a Kubernetes Event on it. */

import { createHash } from 'node:crypto';
import { isAlreadyExists } from '../kubernetes/api-error.ts';
import type { KubernetesClient } from '../kubernetes/client.ts';
import type { Inventory, InventoryStore } from './inventory.ts';
import type { CommitAttempt, CommitStatus, RepositoryStatus } from './inventory-status.ts';
import { HEALER } from './inventory-status.ts';
import type { ProblemList } from './problems.ts';
import { clip, formatProblem, shortSha } from './problems.ts';

/** The status after a commit: of the last one tried, and the last one that went all the way. */
export function withCommit(status: RepositoryStatus, commit: CommitStatus): RepositoryStatus {
  if (commit.outcome !== 'Succeeded') return { ...status, commit };
  // Everything is there by now: what is still kept of a move was of an object that no commit wants any more.
  const { wishes: _, fields: __, ...others } = status;
  return { ...others, commit, lastSucceeded: { sha: commit.sha, at: commit.finishedAt ?? '' } };
}

/**
 * Whether a run that nobody asked of the newest commit, for it puts back or was reset in Temporal, is about another commit than the last
 * one tried: that one stays what the status tells of.
 */
export function isBehind(
  { commit }: RepositoryStatus,
  {
    sha,
    heal,
    isReset,
  }: { readonly sha: string; readonly heal?: readonly string[]; readonly isReset?: true },
): boolean {
  return (heal !== undefined || isReset === true) && commit !== undefined && commit.sha !== sha;
}

/** Attempts that are kept: as many as a ConfigMap holds beside everything else. */
const KEPT_ATTEMPTS = 50;
/** Of those that Fairlead has asked for itself, to put something back: many in a row push no commit out. */
const KEPT_HEALINGS = 10;
const LONGEST_PROBLEM = 300;
const KEPT_NOTES = 3;

/**
 * The status with one more attempt; recorded again (an activity's retry), it is the same. Tries of one commit that are refused or fail alike,
 * one after the other, are one row: hours of a missing permission do not push everything else out.
 */
export function withAttempt(status: RepositoryStatus, attempt: CommitAttempt): RepositoryStatus {
  const history = status.history ?? [];
  const problem = attempt.problem === undefined ? undefined : clip(attempt.problem, LONGEST_PROBLEM);
  const notes = attempt.notes?.slice(0, KEPT_NOTES).map((note) => clip(note, LONGEST_PROBLEM));
  const kept = {
    ...attempt,
    ...(problem !== undefined && { problem }),
    ...(notes !== undefined && { notes }),
  };
  const before = history.at(-1);
  const isRecorded = history.some((row) => isTry(row, kept));
  if (before !== undefined && !isRecorded && isSameRefusal(before, kept)) {
    const { startedAt, tries = 1, firstRunId = before.runId } = before;
    const row = { ...kept, startedAt, lastStartedAt: kept.startedAt, tries: tries + 1, firstRunId };
    return { ...status, history: [...history.slice(0, -1), row] };
  }
  // The row of several tries stays as the last of them has left it.
  if (before?.tries !== undefined && isTry(before, kept) && isSameRefusal(before, kept)) return status;
  const others = history.filter((row) => !isTry(row, kept));
  return { ...status, history: withoutOldHealings([...others, kept]).slice(-KEPT_ATTEMPTS) };
}

function withoutOldHealings(history: readonly CommitAttempt[]): readonly CommitAttempt[] {
  const healings = history.filter(({ askedBy }) => askedBy === HEALER);
  const old = new Set(healings.slice(0, -KEPT_HEALINGS));
  return history.filter((row) => !old.has(row));
}

/** Whether the row ends with this very try. */
function isTry({ runId, startedAt, lastStartedAt = startedAt }: CommitAttempt, one: CommitAttempt): boolean {
  return runId === one.runId && lastStartedAt === one.startedAt;
}

/** The occurrence that the Event of an attempt tells of: tries that are one row are one, with their number. */
export function occurrenceOf({ history = [] }: RepositoryStatus, attempt: CommitAttempt): Occurrence {
  const { firstRunId, tries } = history.find((row) => isTry(row, attempt)) ?? {};
  return { identity: firstRunId ?? attempt.runId, count: tries };
}

/** Nothing is different between the two but the time. What somebody asked for has a row of its own. */
function isSameRefusal(one: CommitAttempt, other: CommitAttempt): boolean {
  const told = ({ sha, outcome, problem, problemCount, askedBy, reason, applied, pruned }: CommitAttempt) =>
    JSON.stringify([sha, outcome, problem, problemCount, askedBy, reason, applied, pruned]);
  return (one.outcome === 'Refused' || one.outcome === 'Failed') && told(one) === told(other);
}

/** What a rollout that failed was, and is now: a line of the present commit each. */
export interface LaterLine {
  readonly before: (line: string) => boolean;
  readonly line: string;
}

/**
 * The status with other lines in the place of some, of the last commit and of its attempt: what they advise has been done. The same object
 * where there is nothing to be replaced.
 */
export function withLaterLines(status: RepositoryStatus, later: readonly LaterLine[]): RepositoryStatus {
  const { commit, history } = status;
  const replaced = (line: string): string => later.find(({ before }) => before(line))?.line ?? line;
  const problems = commit?.problems?.map(replaced);
  if (commit === undefined || problems === undefined || problems.join('\n') === commit.problems?.join('\n'))
    return status;
  const tried = history?.map((attempt) =>
    attempt.runId === commit.runId && attempt.problem !== undefined
      ? { ...attempt, problem: clip(replaced(attempt.problem), LONGEST_PROBLEM) }
      : attempt,
  );
  return { ...status, commit: { ...commit, problems }, ...(tried !== undefined && { history: tried }) };
}

/** Problems as lines, bounded for a ConfigMap. */
export function problemLines(
  problems: ProblemList,
  sha: string,
): Pick<CommitStatus, 'problems' | 'problemCount'> {
  if (problems.total === 0) return {};
  return { problems: problems.first.map((item) => formatProblem(item, sha)), problemCount: problems.total };
}

const REASONS: Readonly<
  Record<CommitAttempt['outcome'], { readonly type: 'Normal' | 'Warning'; readonly reason: string }>
> = {
  Succeeded: { type: 'Normal', reason: 'CommitApplied' },
  Refused: { type: 'Warning', reason: 'CommitRefused' },
  Failed: { type: 'Warning', reason: 'CommitFailed' },
  Superseded: { type: 'Normal', reason: 'CommitSuperseded' },
  Canceled: { type: 'Warning', reason: 'CommitCanceled' },
  Terminated: { type: 'Warning', reason: 'CommitTerminated' },
};

/**
 * The Event of a commit that is over. Where something is wrong it begins with that, for lists of Events show the beginning: the first
 * problems, each with its place, then what was done.
 */
export function commitEvent(commit: CommitStatus & Pick<CommitAttempt, 'outcome'>): {
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly message: string;
} {
  const problems = commit.problems ?? [];
  const total = commit.problemCount ?? 0;
  const more = total > problems.length || problems.length > 3 ? ` (${total} problems in all)` : '';
  const head = `commit ${shortSha(commit.sha)}: ${whatWasDone(commit)}${more}`;
  const lines = [...problems.slice(0, 3), head, ...(commit.notes ?? []).slice(0, 3)];
  return { ...REASONS[commit.outcome], message: lines.join('\n') };
}

/** Of one that was refused nothing was: how many objects would have stayed as they are tells nobody anything. */
function whatWasDone({
  outcome,
  supersededBy,
  applied,
  unchanged,
  pruned,
}: CommitStatus & Pick<CommitAttempt, 'outcome'>): string {
  if (outcome === 'Refused') return 'refused before its first write';
  if (supersededBy !== undefined) return `superseded by ${shortSha(supersededBy)}`;
  const counts = [counted(applied, 'applied'), counted(unchanged, 'unchanged'), counted(pruned, 'pruned')];
  const done = counts.filter((part) => part !== '').join(', ');
  return done === '' ? outcome.toLowerCase() : done;
}

function counted(value: number | undefined, what: string): string {
  return value === undefined || value === 0 ? '' : `${value} ${what}`;
}

/** What an Event tells of. */
export interface Occurrence {
  /** Recorded again (an activity's retry), it is the same Event. */
  readonly identity: string;
  /** How often it was so by now, where it is told each time; else the first time is enough. */
  readonly count?: number | undefined;
}

/**
 * Writes an Event on the inventory; of what was so before, its count and what is said of it now.
 * @throws ApiError
 */
export async function recordEvent(
  client: KubernetesClient,
  store: InventoryStore,
  inventory: Pick<Inventory, 'uid'>,
  event: { readonly type: 'Normal' | 'Warning'; readonly reason: string; readonly message: string },
  { identity, count: times }: Occurrence,
  now: number,
): Promise<void> {
  const digest = createHash('sha256')
    .update(`${inventory.uid} ${event.reason} ${identity}`)
    .digest('hex')
    .slice(0, 16);
  const time = new Date(now).toISOString().replace(/\.\d{3}Z$/, 'Z');
  const { namespace, name } = store;
  const path = { group: '', version: 'v1', resource: 'events', namespace };
  const eventName = `${name}.${digest}`;
  const message = event.message.slice(0, 1000);
  try {
    await client.create(path, {
      apiVersion: 'v1',
      kind: 'Event',
      metadata: { name: eventName, namespace },
      involvedObject: { apiVersion: 'v1', kind: 'ConfigMap', namespace, name, uid: inventory.uid },
      type: event.type,
      reason: event.reason,
      message,
      source: { component: 'fairlead' },
      reportingComponent: 'fairlead',
      reportingInstance: 'fairlead',
      firstTimestamp: time,
      lastTimestamp: time,
      count: times ?? 1,
    });
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
    if (times === undefined) return;
    await client.patch({ ...path, name: eventName }, 'merge', { count: times, message, lastTimestamp: time });
  }
}
