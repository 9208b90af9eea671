/** What became of each run of a revision: the last 10, on the revision itself, so that history outlives Temporal's retention. */

import { ANNOTATION } from '../planners/names.ts';
import type { KubernetesObject } from '../planners/objects.ts';
import { isMarkedComplete } from '../planners/revision.ts';
import { isConflict } from './api-error.ts';
import { getOrUndefined } from './get-or-undefined.ts';
import type { KubernetesClient, ResourcePath } from './client.ts';
import { revisionPath } from './revision-store.ts';
import { asRecord } from './values.ts';
import type { Wisher } from './wish-edits.ts';
import type { WorkloadTarget } from './workload-edit.ts';
import { WORKLOAD_KINDS } from './workload-kinds.ts';

const ATTEMPT_OUTCOMES = [
  'Succeeded',
  'Superseded',
  'Aborted',
  'RolledBack',
  'Failed',
  'Terminated',
  'Canceled',
] as const;
export type AttemptOutcome = (typeof ATTEMPT_OUTCOMES)[number];

/** One run. Times are RFC 3339. */
export interface Attempt {
  readonly runId: string;
  readonly workflowId: string;
  readonly startedAt: string;
  readonly endedAt?: string;
  readonly outcome: AttemptOutcome;
  /** Who began it, if not a commit. */
  readonly by?: string;
  readonly commit?: string;
  /** Why it was begun. Older records may have here, and in `by`, why it ended. */
  readonly reason?: string;
  /** Who ended it, and why, where it did not just succeed. */
  readonly endedBy?: string;
  readonly endedBecause?: string;
}

/** Who ended a run, and why, as an attempt has it: beside who began it. */
export function endOf({ by, reason }: Wisher): Pick<Attempt, 'endedBy' | 'endedBecause'> {
  return { ...(by !== undefined && { endedBy: by }), ...(reason !== undefined && { endedBecause: reason }) };
}

/** Why a run ended that did not succeed: older records have it as their reason. Undefined where nobody has said. */
export function whyEnded({ endedBy, endedBecause, reason }: Attempt): string | undefined {
  return endedBecause ?? (endedBy === undefined ? reason : undefined);
}

/** Why the last run failed of what this revision, or record, is of; undefined: it did not, or there was none. */
export function whyLastFailed(revision: KubernetesObject | undefined): string | undefined {
  const last = revision && readAttempts(revision).at(-1);
  return last?.outcome === 'Failed' ? whyEnded(last) : undefined;
}

const KEPT = 10;
const CONFLICT_LIMIT = 12;
/** Ten reasons must stay far from the 256 KiB that all annotations may have. */
const REASON_LIMIT = 500;

/**
 * Adds or updates (by `runId`) an attempt of a revision. Idempotent, safe against concurrent writers.
 *
 * @returns whether the run was not among the attempts before. Also false when the revision does not exist (any more) or is not the
 *   workload's: nothing is lost then, a revision that is gone has no history
 * @throws ApiError as the apiserver answers, or the last conflict after 12 tries
 */
export async function recordAttempt(
  client: KubernetesClient,
  ref: Owner & Pick<WorkloadTarget, 'namespace'>,
  revisionName: string,
  attempt: Attempt,
): Promise<boolean> {
  const path = revisionPath(WORKLOAD_KINDS[ref.kind].history, ref.namespace, revisionName);
  return await recordAttemptAt(client, path, ref, attempt);
}

/**
 * Whether this run has brought all pods to the revision, available: that is noted there, and no other run has. One that is superseded
 * before it could close for that reason was a success all the same. Of a revision that an earlier run had finished it is not known.
 *
 * @throws ApiError as the apiserver answers
 */
export async function hasFinished(
  client: KubernetesClient,
  ref: Owner & Pick<WorkloadTarget, 'namespace'>,
  revisionName: string,
  runId: string,
): Promise<boolean> {
  const path = revisionPath(WORKLOAD_KINDS[ref.kind].history, ref.namespace, revisionName);
  const revision = await getOrUndefined(client, path);
  if (revision === undefined || !isOf(revision, ref) || !isMarkedComplete(revision)) return false;
  return !readAttempts(revision).some((one) => one.runId !== runId && one.outcome === 'Succeeded');
}

type Owner = Pick<WorkloadTarget, 'kind' | 'name' | 'uid'>;

/**
 * Also of a workload that was deleted without its revisions, or made again, in the same API or the other: the run was of this revision
 * all the same, whoever has it now.
 */
function isOf({ metadata }: KubernetesObject, { kind, name, uid }: Owner): boolean {
  const owner = metadata.ownerReferences?.find((reference) => reference.controller === true);
  return owner === undefined || owner.uid === uid || (owner.kind === kind && owner.name === name);
}

/** The same for the record of a rolling update, or whatever else keeps attempts; with `owner` only if it is that one's. */
export async function recordAttemptAt(
  client: KubernetesClient,
  path: ResourcePath,
  owner: Owner | undefined,
  attempt: Attempt,
): Promise<boolean> {
  for (let tries = 1; ; tries += 1) {
    const revision = await getOrUndefined(client, path);
    if (revision === undefined || (owner !== undefined && !isOf(revision, owner))) {
      return false;
    }
    const before = revision.metadata.annotations?.[ANNOTATION.attempts];
    const known = readAttempts(revision);
    const after = JSON.stringify(upsertAttempt(known, attempt));
    if (after === before) {
      return false;
    }
    const { uid, resourceVersion } = revision.metadata;
    try {
      await client.patch(path, 'merge', {
        metadata: { uid, resourceVersion, annotations: { [ANNOTATION.attempts]: after } },
      });
      return known.every(({ runId }) => runId !== attempt.runId);
    } catch (error) {
      if (!isConflict(error) || tries === CONFLICT_LIMIT) {
        throw error;
      }
    }
  }
}

/** The attempts of a revision, oldest first. What is not an attempt (somebody edited the annotation) is left out. */
export function readAttempts(revision: Pick<KubernetesObject, 'metadata'>): readonly Attempt[] {
  const text = revision.metadata.annotations?.[ANNOTATION.attempts];
  if (text === undefined) {
    return [];
  }
  try {
    const value: unknown = JSON.parse(text);
    return Array.isArray(value) ? value.filter(isAttempt) : [];
  } catch {
    return [];
  }
}

/** Pure part of {@link recordAttempt}: by `runId`, fields that the newer record lacks are kept, the oldest beyond 10 dropped. */
export function upsertAttempt(attempts: readonly Attempt[], attempt: Attempt): readonly Attempt[] {
  const known = attempts.find((one) => one.runId === attempt.runId);
  const merged: Attempt = {
    ...known,
    ...attempt,
    ...(attempt.reason !== undefined && { reason: attempt.reason.slice(0, REASON_LIMIT) }),
    ...(attempt.endedBecause !== undefined && { endedBecause: attempt.endedBecause.slice(0, REASON_LIMIT) }),
  };
  const next =
    known === undefined ? [...attempts, merged] : attempts.map((one) => (one === known ? merged : one));
  return next.slice(-KEPT);
}

function isAttempt(value: unknown): value is Attempt {
  const { runId, workflowId, startedAt, outcome, ...others } = asRecord(value);
  const { endedAt, by, commit, reason, endedBy, endedBecause } = others;
  return (
    [runId, workflowId, startedAt].every((field) => typeof field === 'string') &&
    [endedAt, by, commit, reason, endedBy, endedBecause].every(
      (field) => field === undefined || typeof field === 'string',
    ) &&
    ATTEMPT_OUTCOMES.some((known) => known === outcome)
  );
}
