/** Whether an object is as the commit wants it; what differs by field paths, never by values, and who changed it. */

import { isConflict, isNotFound, isUnreached } from '../kubernetes/api-error.ts';
import { lastManager } from '../kubernetes/managed-fields.ts';
import { readUpdate } from '../kubernetes/rolling-update-objects.ts';
import { causeOfObject } from '../kubernetes/template-change.ts';
import { asRecord, trusted } from '../kubernetes/values.ts';
import type { WorkloadObject } from '../kubernetes/workload-edit.ts';
import { ANNOTATION, FIELD_MANAGER } from '../planners/names.ts';
import type { KubernetesObject } from '../planners/objects.ts';
import { planRollingUpdate } from '../planners/rolling-update.ts';
import { compareApplied } from './applied-difference.ts';
import { bodyToApply, updateOf } from './apply-controller.ts';
import { blamed, collisions, suspects } from './collisions.ts';
import type { CommitContext } from './commit.ts';
import { findConflicts } from './conflicts.ts';
import type { DecisionInput } from './decision.ts';
import { decide, isUndone } from './decision.ts';
import { APPLYSET } from './inventory.ts';
import type { PreparedObject } from './prepare.ts';
import { isController } from './prepare.ts';
import { isRemovedAtEnd } from './readiness.ts';
import { toProblem } from './refusals.ts';
import { getOrUndefined } from '../kubernetes/get-or-undefined.ts';
import { withSignal } from './resources.ts';

/** One object that is not as the commit wants it. */
export interface Drift {
  /** `Kind.group namespace/name`. */
  readonly object: string;
  readonly change: 'changed' | 'deleted' | 'taken';
  /** Paths of what differs, without values; at most {@link FIELD_LIMIT}. */
  readonly fields: readonly string[];
  /** How many there are in all. */
  readonly fieldCount: number;
  /** Field managers that made the change, as far as the apiserver tells. */
  readonly by: readonly string[];
  /** Why it is not put back, whatever the repository asks for. */
  readonly held?: string | undefined;
}

/** Looks at an object that is changed all the time. */
const STALE_TRIES = 5;
const FIELD_LIMIT = 10;
const MANAGER_LIMIT = 5;

/**
 * Compares one object with its manifest by dry runs of server-side apply, so that defaults, and fields that the manifest does not
 * name, make no difference. Undefined: it is as the commit wants it, or the manifest has not been applied yet. What is on its way out
 * counts as deleted, and is held until it is gone. What an operator went back from (a pin, or an undo of the workload's own) differs, and is held. `under way`: only
 * the end of its rolling update tells, which need not change the object; or it changes faster than it can be looked at.
 * @param isApplied The commit was applied as a whole: an object with another manifest's hash was changed, not left behind.
 * @throws ApiError when the apiserver cannot be asked
 */
export async function lookAtDrift(
  context: CommitContext,
  object: PreparedObject,
  isApplied: boolean,
  tries = STALE_TRIES,
): Promise<Drift | 'under way' | undefined> {
  const { client, repository, store, signal } = context;
  const { manifest, label } = object;
  const live = await getOrUndefined(client, object.path, signal);
  const nothing = { object: label, fields: [], fieldCount: 0, by: [] };
  // A rolling update makes, renames and deletes controllers.
  if (isController(manifest) && (await isUnderUpdate(context, object))) return 'under way';
  // Put back, it would run again and again.
  if (live === undefined && isRemovedAtEnd(manifest)) return undefined;
  if (live === undefined) return { ...nothing, change: 'deleted' };
  const input: DecisionInput = {
    manifest,
    live,
    repository: repository.name,
    applySetId: store.applySetId,
  };
  const decision = decide(input);
  if (decision.do === 'refuse') return { ...nothing, change: 'taken', held: decision.message };
  const isOther =
    decision.do === 'apply' && live.metadata.annotations?.[ANNOTATION.manifestHash] !== undefined;
  if (decision.do === 'wait') return { ...nothing, change: 'deleted', held: decision.why };
  if (decision.do === 'unpin' || (isOther && !isApplied)) return undefined;
  // An update that was turned round leaves the manifest of before, and its commit failed.
  if (isController(manifest) && decision.do === 'apply' && !isApplied) return undefined;
  const differing = await differingPaths(context, object, live);
  // No later change need tell: it may be its status alone that changes.
  if (differing === 'stale')
    return tries > 1 ? await lookAtDrift(context, object, isApplied, tries - 1) : 'under way';
  const { paths, refusal } = differing;
  if (paths.length === 0 && refusal === undefined) return undefined;
  const conflicts = await findConflicts(context, object, live);
  const managers = [...new Set(conflicts.map(({ manager }) => manager))];
  const last = lastManager(live, FIELD_MANAGER);
  const rejected = decision.do === 'leave' ? decision.why : undefined;
  const aside = rejected ?? (isUndone(conflicts) ? describeUndo(live) : undefined);
  const held =
    aside === undefined
      ? (refusal ?? heldBack(input, object))
      : `${aside}; git has it again when its manifest changes`;
  return {
    object: label,
    change: 'changed',
    fields: paths.slice(0, FIELD_LIMIT),
    fieldCount: paths.length,
    by: (managers.length > 0 ? managers : last === undefined ? [] : [last]).slice(0, MANAGER_LIMIT),
    ...(held !== undefined && { held }),
  };
}

/** Who set a workload aside from git by its own means, and how, as far as it tells. Pure. */
export function describeUndo(live: KubernetesObject): string {
  const hasTemplate = asRecord(asRecord(live)['spec'])['template'] !== undefined;
  const { by, reason } = hasTemplate ? causeOfObject(trusted<WorkloadObject>(live)) : {};
  return `${by ?? 'an operator'} has set it aside from git${reason === undefined ? '' : ` (${reason})`}`;
}

async function isUnderUpdate(context: CommitContext, object: PreparedObject): Promise<boolean> {
  const snapshot = await readUpdate(context.worker, updateOf(object), context.signal);
  return planRollingUpdate(snapshot, Date.now()).view.record !== undefined;
}

/** `stale`: the object has changed since it was read. */
async function differingPaths(
  context: CommitContext,
  object: PreparedObject,
  live: KubernetesObject,
): Promise<{ readonly paths: readonly string[]; readonly refusal?: string } | 'stale'> {
  const { annotations, labels } = live.metadata;
  const own = [
    ...(annotations?.[ANNOTATION.repository] === context.repository.name
      ? []
      : [`metadata.annotations["${ANNOTATION.repository}"]`]),
    ...(annotations?.[ANNOTATION.manifestHash] === object.manifest.hash
      ? []
      : [`metadata.annotations["${ANNOTATION.manifestHash}"]`]),
    ...(labels?.[APPLYSET.partOf] === context.store.applySetId
      ? []
      : [`metadata.labels["${APPLYSET.partOf}"]`]),
  ];
  const body = bodyToApply(context, object, live);
  const { resourceVersion } = live.metadata;
  try {
    // Of the very state that was read: what others write in between is no difference.
    const pinned = { ...body, metadata: { ...asRecord(body['metadata']), resourceVersion } };
    const result = await context.client.patch(object.path, 'apply', pinned, {
      dryRun: true,
      force: true,
      fieldValidation: 'Strict',
      ...withSignal(context.signal),
    });
    return { paths: [...compareApplied(object, live, result).map(({ path }) => path), ...own] };
  } catch (error) {
    if (isConflict(error) || isNotFound(error)) return 'stale';
    // What others have put beside the manifest's own is taken out by the write that puts it back.
    const foreign = collisions(error, body, live);
    if (foreign.length > 0) return { paths: [...foreign.map(({ label }) => label), ...own] };
    const found = toProblem(error, object);
    // Of an object that nobody has changed, the manifest would be tried in vain too: that is no drift.
    if (found === undefined || isUnreached(error)) throw error;
    const beside = suspects(error, body, live);
    const { message } = beside.length === 0 ? found : blamed(found, object, beside);
    const paths = [...beside.map(({ label }) => label), ...own];
    return { paths, refusal: `its manifest would be refused now: ${message}` };
  }
}

/** Why `heal` leaves an object as it is that was changed in the cluster; undefined: it puts it back. */
export function heldBack(input: DecisionInput, { manifest }: PreparedObject): string | undefined {
  if (isController(manifest)) return 'the pods of a ReplicationController are replaced by a commit alone';
  const decision = decide({ ...input, heal: true });
  return decision.do === 'leave' ? decision.why : undefined;
}

/** `ConfigMap shop/settings: data.color, changed by "kubectl-edit"`; no values. */
export function describeDrift({ object, change, fields, fieldCount, by, held }: Drift): string {
  const more = fieldCount > fields.length ? ` and ${fieldCount - fields.length} more` : '';
  const who = by.length === 0 ? '' : ` by ${by.map((manager) => `"${manager}"`).join(', ')}`;
  if (change === 'deleted') return `${object}: deleted${who}`;
  if (change === 'taken') return `${object}: ${held ?? 'taken by another owner'}`;
  const what = fields.length === 0 ? 'changed' : `${fields.join(', ')}${more} changed`;
  return `${object}: ${what}${who}`;
}
