/** What is to be done with one object of a commit, from the manifest and the live object alone. Pure. */

import { UPDATE_FIELD_MANAGER } from '../planners/names.ts';
import { asRecord } from '../kubernetes/values.ts';
import { readPaused, readPinned } from '../kubernetes/wish-annotations.ts';
import { ANNOTATION } from '../planners/names.ts';
import type { KubernetesObject } from '../planners/objects.ts';
import type { Wish } from '../planners/workload.ts';
import { APPLYSET } from './inventory.ts';
import { inventoryOf } from './inventory-content.ts';
import type { Manifest } from './manifests.ts';
import type { ProblemCode } from './problems.ts';
import { TRIED_BY_ITSELF } from './problems.ts';
import { firstOf } from '../planners/first-of.ts';

export type Decision =
  | { readonly do: 'apply'; readonly create: boolean; readonly force: boolean; readonly unpin: boolean }
  /** The pin is out of date, the manifest is applied already (a crash in between). */
  | { readonly do: 'unpin' }
  | { readonly do: 'nothing' }
  /** An operator rejected this very manifest. */
  | { readonly do: 'leave'; readonly why: string }
  /** It is on its way out; it can be made again when it is gone. */
  | { readonly do: 'wait'; readonly why: string }
  | {
      readonly do: 'refuse';
      readonly code: ProblemCode;
      readonly message: string;
      readonly next?: string;
    };

/** What is left of another repository's claim to an object that names it. */
export type FormerOwner =
  | { readonly claim: 'none' }
  /** `isFollowed`: by these workers, which hand over what it does not want any more. */
  | {
      readonly claim: 'holds';
      readonly isFollowed: boolean;
      /** What it lets go it deletes: grants are not handed over to another account. */
      readonly isDeleted?: boolean;
    }
  /** Nobody follows it, and it came from another source, whose address is not everybody's to know. */
  | { readonly claim: 'left'; readonly next: string }
  /** Workers of another FAIRLEAD_CLUSTER apply it, or have done so: whether they follow it still is not known here. */
  | { readonly claim: 'elsewhere'; readonly cluster: string; readonly next: string };

export interface DecisionInput {
  readonly manifest: Pick<Manifest, 'group' | 'kind' | 'hash'>;
  readonly live: KubernetesObject | undefined;
  readonly repository: string;
  readonly applySetId: string;
  /** What was changed in the cluster is put back. @default false */
  readonly heal?: boolean;
  /** The repository's inventory tells that git has applied it before: one that was made again has nothing on it that would. @default false */
  readonly isListed?: boolean;
  /** Of the repository that the object names, if it is another one. @default it holds the object */
  readonly former?: FormerOwner | undefined;
  /** The repository whose inventory has this very name, where there is nothing yet. */
  readonly reservedFor?: string | undefined;
  /** Hash of the manifest that a rolling update of the object rolls out now: what is there is on its way to that one. */
  readonly rolled?: string | undefined;
}

/**
 * A pinned object is left alone until its manifest differs from the rejected one; then it is forced and unpinned (design
 * "Pause, abort, retry, undo"). An object whose manifest is the applied one is not touched, whatever has become of it, unless it is
 * to be healed; a workload that is paused is not healed either. Force is for what was git's: the object says so, or, where it was made
 * again and names nobody, the inventory.
 */
export function decide({
  manifest,
  live,
  repository,
  applySetId,
  heal = false,
  isListed = false,
  former,
  reservedFor,
  rolled = manifest.hash,
}: DecisionInput): Decision {
  const inventory =
    live === undefined ? reservedFor : inventoryOf(manifest.group, manifest.kind, live.metadata);
  if (inventory !== undefined) {
    return {
      do: 'refuse',
      code: 'OwnedByOther',
      message: `this is the inventory of repository ${inventory}, which Fairlead alone writes.`,
      next: 'Rename the ConfigMap in the manifest.',
    };
  }
  if (live === undefined) return { do: 'apply', create: true, force: false, unpin: false };
  const { annotations, labels, ownerReferences, deletionTimestamp } = live.metadata;
  const owner = annotations?.[ANNOTATION.repository];
  if (owner !== undefined && owner !== repository && former?.claim === 'left') {
    const { next } = former;
    const message = `repository ${owner} applied this object from another source, and is not followed any more.`;
    return {
      do: 'refuse',
      code: 'OwnedByOther',
      message,
      next: `To let ${repository} have what ${owner} had: ${next} (then commit again, or \`fairlead sync ${repository}\`).`,
    };
  }
  if (owner !== undefined && owner !== repository && former?.claim === 'elsewhere') {
    const { cluster, next } = former;
    const message = `repository ${owner} of the workers with FAIRLEAD_CLUSTER=${cluster} has applied this object.`;
    return { do: 'refuse', code: 'OwnedByOther', message, next };
  }
  if (owner !== undefined && owner !== repository && former?.claim !== 'none') {
    const isDeleted = former?.claim === 'holds' && former.isDeleted === true;
    const becomes = isDeleted
      ? 'it is deleted, and made anew if the account of this repository may'
      : 'it is handed over as it is, not deleted';
    const next =
      former?.claim === 'holds' && former.isFollowed
        ? `Leave it to one of the two. To let ${repository} have it, take it out of ${owner}: ${becomes}, and ${TRIED_BY_ITSELF}.`
        : undefined;
    const message = `repository ${owner} applies this object too.`;
    return { do: 'refuse', code: 'OwnedByOther', message, ...(next !== undefined && { next }) };
  }
  const set = labels?.[APPLYSET.partOf];
  if (set !== undefined && set !== applySetId && owner === undefined) {
    return {
      do: 'refuse',
      code: 'OwnedByOther',
      message: `the object belongs to the ApplySet ${set} of another tool.`,
    };
  }
  const controller = ownerReferences?.find((reference) => reference.controller === true);
  if (controller !== undefined) {
    return {
      do: 'refuse',
      code: 'OwnedByOther',
      message: `${controller.kind} ${controller.name} controls this object.`,
    };
  }
  if (deletionTimestamp !== undefined) return { do: 'wait', why: describeDeletion(live.metadata) };
  const pin = readPinned(annotations);
  const isLatest = annotations?.[ANNOTATION.manifestHash] === manifest.hash && rolled === manifest.hash;
  const applied = owner === repository && isLatest;
  if (pin !== undefined) {
    if (pin.rejected === manifest.hash) {
      return { do: 'leave', why: `this manifest was rejected${describeWish(pin)}` };
    }
    return applied ? { do: 'unpin' } : { do: 'apply', create: false, force: true, unpin: true };
  }
  if (!heal) return applied ? { do: 'nothing' } : { do: 'apply', create: false, force: false, unpin: false };
  const paused = readPaused(annotations, asRecord(asRecord(live)['spec'])['paused'] === true);
  if (paused !== undefined) return { do: 'leave', why: `it is paused${describeWish(paused)}` };
  const wasGits = owner === repository || (owner === undefined && isListed);
  return { do: 'apply', create: false, force: wasGits, unpin: false };
}

function describeDeletion({ deletionTimestamp = '', finalizers = [] }: KubernetesObject['metadata']): string {
  const held = finalizers.length === 0 ? '' : `, held by ${finalizers.slice(0, 3).join(', ')}`;
  return `it is being deleted since ${deletionTimestamp}${held}`;
}

function describeWish({ by, reason }: Wish): string {
  return `${by === undefined ? '' : ` by ${by}`}${reason === undefined ? '' : `: ${reason}`}`;
}

/** One field that another manager holds, out of the apiserver's 409. */
export interface FieldConflict {
  readonly field: string;
  readonly manager: string;
  /** By server-side apply, which is a claim. */
  readonly isApplied?: boolean;
}

/**
 * Causes of a server-side apply conflict: `conflict with "kubectl-edit" using apps/v1`, for several managers `conflicts with "a", "b"`. Of
 * who applies, the version is not told.
 */
export function readConflicts(
  causes: readonly { readonly field?: string; readonly message?: string }[],
): readonly FieldConflict[] {
  return causes.map(({ field = '?', message = '' }) => ({
    field,
    manager: /"([^"]+)"/.exec(message)?.[1] ?? 'unknown',
    ...(!/" using /.test(message) && { isApplied: true }),
  }));
}

/**
 * Managers whose writes to a template, and to the annotations that go with it, are an operator's way back, not another owner, if they are
 * not by server-side apply: `kubectl rollout` and our own verbs. Its `undo` names no manager of its own, as hardly another command of kubectl does.
 */
export const UNDO_MANAGERS: ReadonlySet<string> = new Set(['kubectl', 'kubectl-rollout', 'fairlead']);

/**
 * What sync itself writes on every object, and no manifest has. Whoever made the object anew out of what it was (a backup) owns it
 * then, and nobody could give it back.
 */
const OWN_FIELDS: ReadonlySet<string> = new Set([
  ...[ANNOTATION.commit, ANNOTATION.repository, ANNOTATION.manifestHash].map(
    (key) => `.metadata.annotations.${key}`,
  ),
  `.metadata.labels.${APPLYSET.partOf}`,
]);

/**
 * Whether a conflict is only about a template that an undo changed, or about what sync itself writes: a manifest that has changed
 * since then takes it back, as it does with a pinned object.
 */
export function isTakenByForce(conflicts: readonly FieldConflict[]): boolean {
  return conflicts.length > 0 && conflicts.every(isTakenBySync);
}

/** Whether a changed manifest takes the field by itself, whatever the repository asks for. */
export function isTakenBySync(conflict: FieldConflict): boolean {
  return isTakenBack(conflict) || isOwn(conflict);
}

/** Whether an operator has gone back by the workload's own means, without a pin: the object is left to that. */
export function isUndone(conflicts: readonly FieldConflict[]): boolean {
  return conflicts.some(isTakenBack);
}

function isOwn({ field }: FieldConflict): boolean {
  return OWN_FIELDS.has(field);
}

function isTakenBack({ field, manager, isApplied = false }: FieldConflict): boolean {
  // A rolling update has made the whole object, out of what git said then.
  if (manager === UPDATE_FIELD_MANAGER) return true;
  if (isApplied) return false;
  return UNDO_MANAGERS.has(manager) && /^\.(?:spec\.template|metadata\.annotations)(?:\.|\[|$)/.test(field);
}

/** Fields of one owner that are named. */
const MOST_NAMED = 5;

/** Names every other owner and its fields, in few words; not what would be taken back were it alone. */
export function describeConflicts(conflicts: readonly FieldConflict[]): string {
  const byManager = new Map<string, string[]>();
  for (const { field, manager } of conflicts.filter((one) => !isTakenBySync(one)))
    byManager.set(manager, [...(byManager.get(manager) ?? []), field]);
  const parts = [...byManager].map(([manager, fields]) => `"${manager}" owns ${firstOf(fields, MOST_NAMED)}`);
  return `${parts.join('; ')}.`;
}
