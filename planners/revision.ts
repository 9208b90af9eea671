/** History of templates as ControllerRevisions: what every kind that keeps it shares (S6–S8, D19–D22, C9, C10). */

import { canonicalJson } from './canonical-json.ts';
import { claimOf } from './controller-ref.ts';
import { ANNOTATION } from './names.ts';
import type { ControllerRevision, JsonObject } from './objects.ts';
import { matchesSelector } from './selector.ts';
import { storedTemplate } from './template-revision.ts';
import { asFields } from './values.ts';
import type { Workload } from './workload.ts';

/**
 * What is to be done so that a revision of the present template exists, with the highest number. `altered`: it was made of that
 * template, and holds another.
 */
export type RevisionPlan =
  | { readonly outcome: 'exists'; readonly revision: ControllerRevision; readonly altered?: true }
  | {
      readonly outcome: 'renumber';
      readonly revision: ControllerRevision;
      readonly to: number | bigint;
      readonly altered?: true;
    }
  | { readonly outcome: 'create'; readonly manifest: JsonObject };

/** The revisions of a workload in order: its own, and orphans that match its selector and hold a pod template (S7). */
export function revisionsOf(
  workload: Workload,
  revisions: readonly ControllerRevision[],
): ControllerRevision[] {
  return revisions
    .filter((revision) => {
      const claim = claimOf(workload, revision, matchesSelector(workload.selector, revision.metadata.labels));
      if (claim === 'adopt') return storedTemplate(revision) !== undefined;
      return claim === 'owned' || claim === 'release';
    })
    .sort(compareRevisions);
}

/** By number, then creation time, then name. */
export function compareRevisions(a: ControllerRevision, b: ControllerRevision): number {
  if (a.revision !== b.revision) return a.revision < b.revision ? -1 : 1;
  const [aTime, bTime] = [a.metadata.creationTimestamp ?? '', b.metadata.creationTimestamp ?? ''];
  if (aTime !== bTime) return aTime < bTime ? -1 : 1;
  return a.metadata.name < b.metadata.name ? -1 : 1;
}

/** Highest number + 1, exact beyond 2^53 (C10). `sorted` is in order. */
export function nextRevisionNumber(sorted: readonly ControllerRevision[]): number | bigint {
  const last = sorted.at(-1);
  if (last === undefined) return 1;
  const next = BigInt(last.revision) + 1n;
  return next <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(next) : next;
}

/**
 * Finds the revision of a template: first by bytes (C9), the last of several; then by meaning, the newest first, so that
 * other defaults, spellings of quantities or an older serialisation never restart a pod (S6).
 */
export function findRevision(
  sorted: readonly ControllerRevision[],
  data: JsonObject,
  sameMeaning: (revision: ControllerRevision) => boolean,
): ControllerRevision | undefined {
  const bytes = canonicalJson(data);
  return (
    sorted.findLast((revision) => canonicalJson(revision.data) === bytes) ??
    sorted.findLast((revision) => sameMeaning(revision))
  );
}

/** Whether two revisions hold the same bytes (C9). */
export function sameBytes(a: JsonObject, b: JsonObject): boolean {
  return canonicalJson(a) === canonicalJson(b);
}

/**
 * Revisions beyond the limit, oldest first (S8): `live` ones are kept and not counted, as is, until the present rollout `isComplete`, the
 * newest one that was, because abort and undo go back to it. A negative limit keeps all. One that is being deleted already (a finalizer
 * holds it) is on its way, and takes no place.
 */
export function surplusRevisions(
  sorted: readonly ControllerRevision[],
  live: ReadonlySet<string>,
  limit: number,
  isComplete: boolean,
): readonly ControllerRevision[] {
  if (limit < 0) return [];
  const others = sorted.filter(
    ({ metadata }) => !live.has(metadata.name) && metadata.deletionTimestamp === undefined,
  );
  const complete = isComplete ? undefined : lastFinishedOf(others);
  const history = others.filter((revision) => revision !== complete);
  // The complete one takes a place of the limit where there is one to take.
  const places = complete === undefined ? limit : Math.max(0, limit - 1);
  return history.slice(0, Math.max(0, history.length - places));
}

/**
 * The newest of these that was ever complete; where none is known to have been, one without a record of attempts: it was made by
 * another controller and gets the benefit of the doubt, `current` (`status.currentRevision` of a StatefulSet) before the newest.
 * With a record that name says nothing: a new object starts with whatever revision it sees first. `sorted` is in order.
 */
export function lastCompleteOf(
  sorted: readonly ControllerRevision[],
  current?: string,
): ControllerRevision | undefined {
  const unknown = sorted.filter((revision) => attemptsOf(revision).length === 0);
  return (
    lastFinishedOf(sorted) ?? unknown.find((revision) => revision.metadata.name === current) ?? unknown.at(-1)
  );
}

/**
 * The newest of these that all pods were at, available; where none is noted to have been (the note is made at once, but a crash may
 * come first), the newest whose run succeeded, even if that was for a part of the pods. `sorted` is in order.
 */
function lastFinishedOf(sorted: readonly ControllerRevision[]): ControllerRevision | undefined {
  return sorted.findLast((revision) => isMarkedComplete(revision)) ?? sorted.findLast(hasSucceeded);
}

/** Whether it is noted on the revision that once all pods were at it, and available. */
export function isMarkedComplete({ metadata }: Pick<ControllerRevision, 'metadata'>): boolean {
  return metadata.annotations?.[ANNOTATION.complete] !== undefined;
}

/**
 * Whether of all rollouts that are on record the last one was of this revision and succeeded: false while it is being gone
 * back to, although it was complete before.
 */
function wasRolledOutLast(revision: ControllerRevision, all: readonly ControllerRevision[]): boolean {
  let last: { readonly name: string; readonly outcome: string; readonly endedAt: string } | undefined;
  for (const one of all) {
    const attempt = attemptsOf(one).at(-1);
    if (attempt !== undefined && attempt.endedAt >= (last?.endedAt ?? '')) {
      last = { ...attempt, name: one.metadata.name };
    }
  }
  return last?.name === revision.metadata.name && last.outcome === 'Succeeded';
}

/** How far a rollout of the present revision is, of the pods that the strategy lets it replace. */
interface Reach {
  /** None of them lives at another revision. */
  readonly isAlone: boolean;
  /** The strategy keeps others back. */
  readonly isPartial: boolean;
}

/**
 * Whether the rollout of the revision was finished as far as the strategy lets it now: a pause holds none of its pods back (A9). That the
 * last run succeeded says nothing of what a partition kept back from it, which it lets go since; that all pods were at the revision may
 * be of before it was left.
 */
export function hasReachedAll(
  revision: ControllerRevision,
  all: readonly ControllerRevision[],
  { isAlone, isPartial }: Reach,
): boolean {
  return isAlone && (isPartial || isMarkedComplete(revision)) && wasRolledOutLast(revision, all);
}

/** Whether a rollout of the revision was ever finished, be it as far as a partition let it. */
export function hasSucceeded(revision: ControllerRevision): boolean {
  return isMarkedComplete(revision) || attemptsOf(revision).some(({ outcome }) => outcome === 'Succeeded');
}

/** The attempts, oldest first; none if the record is missing or somebody spoilt it. `endedAt` is RFC 3339 in UTC, so text compares. */
function attemptsOf(
  revision: ControllerRevision,
): readonly { readonly outcome: string; readonly endedAt: string }[] {
  const text = revision.metadata.annotations?.[ANNOTATION.attempts];
  if (text === undefined) return [];
  try {
    const attempts: unknown = JSON.parse(text);
    if (!Array.isArray(attempts)) return [];
    return attempts.map((attempt) => {
      const { outcome, endedAt } = asFields(attempt) ?? {};
      return {
        outcome: typeof outcome === 'string' ? outcome : '',
        endedAt: typeof endedAt === 'string' ? endedAt : '',
      };
    });
  } catch {
    return [];
  }
}
