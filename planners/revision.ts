/** History of templates as ControllerRevisions: what every kind that keeps it shares (S6–S8, D19–D22, C9, C10). */

import { canonicalJson } from './canonical-json.ts';
import { claimOf } from './controller-ref.ts';
import { ANNOTATION } from './names.ts';
import type { ControllerRevision, JsonObject } from './objects.ts';
import { matchesSelector } from './selector.ts';
import type { Workload } from './workload.ts';

/** What is to be done so that a revision of the present template exists, with the highest number. */
export type RevisionPlan =
  | { readonly outcome: 'exists'; readonly revision: ControllerRevision }
  | { readonly outcome: 'renumber'; readonly revision: ControllerRevision; readonly to: number | bigint }
  | { readonly outcome: 'create'; readonly manifest: JsonObject };

/** The revisions of a workload in order: its own, and orphans that match its selector (S7). */
export function revisionsOf(
  workload: Workload,
  revisions: readonly ControllerRevision[],
): ControllerRevision[] {
  return revisions
    .filter((revision) => {
      const claim = claimOf(workload, revision, matchesSelector(workload.selector, revision.metadata.labels));
      return claim === 'owned' || claim === 'release' || claim === 'adopt';
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
 * Revisions beyond the limit, oldest first (S8): `live` ones are kept and not counted, as is the newest one whose rollout
 * succeeded, because abort and undo go back to it. A negative limit keeps all.
 */
export function surplusRevisions(
  sorted: readonly ControllerRevision[],
  live: ReadonlySet<string>,
  limit: number,
): readonly ControllerRevision[] {
  if (limit < 0) return [];
  const complete = sorted.findLast((revision) => !live.has(revision.metadata.name) && hasSucceeded(revision));
  const history = sorted.filter((revision) => !live.has(revision.metadata.name) && revision !== complete);
  // The complete one takes a place of the limit where there is one to take.
  const places = complete === undefined ? limit : Math.max(0, limit - 1);
  return history.slice(0, Math.max(0, history.length - places));
}

/** Whether a rollout of the revision was ever finished, by the record of attempts on it. */
function hasSucceeded(revision: ControllerRevision): boolean {
  return outcomesOf(revision).includes('Succeeded');
}

/** Whether the last rollout of the revision was finished; false while one is running. */
export function hasJustSucceeded(revision: ControllerRevision): boolean {
  return outcomesOf(revision).at(-1) === 'Succeeded';
}

/** Outcomes of the attempts, oldest first; none if the record is missing or somebody spoilt it. */
function outcomesOf(revision: ControllerRevision): readonly unknown[] {
  const text = revision.metadata.annotations?.[ANNOTATION.attempts];
  if (text === undefined) return [];
  try {
    const attempts: unknown = JSON.parse(text);
    return Array.isArray(attempts)
      ? attempts.map((attempt: { readonly outcome?: unknown } | null) => attempt?.outcome)
      : [];
  } catch {
    return [];
  }
}
