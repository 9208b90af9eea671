/**
 * What is git's of an object, though the apiserver does not say so any more. Where somebody has set a field by hand and given it git's value
 * back, it is git's as it was. And an object of which `metadata.managedFields` were cleared: the apiserver gives all of it to `before-first-apply` then, and nothing is git's.
 * As long as it has the values that git has applied, those are git's all the same.
 */

import { alsoApplied, hasOwners } from '../kubernetes/managed-fields.ts';
import { asRecord } from '../kubernetes/values.ts';
import { merged } from '../planners/field-owners.ts';
import { ANNOTATION, FIELD_MANAGER } from '../planners/names.ts';
import type { JsonObject, KubernetesObject } from '../planners/objects.ts';
import { bodyToApply } from './apply-controller.ts';
import type { CommitContext } from './commit.ts';
import type { DroppedFields } from './dropped-fields.ts';
import { droppedFields, handFields, hasHandFields } from './dropped-fields.ts';
import { listing } from './former-owner.ts';
import { entryKey } from './inventory-content.ts';
import type { Manifest } from './manifests.ts';
import type { PreparedObject } from './prepare.ts';
import { inventoryEntry } from './prepare.ts';
import { toProblem } from './refusals.ts';
import { withSignal } from './resources.ts';
import { appliedManifest } from './taken-back.ts';

/** An object that a manifest is to be applied to. */
export interface Owned {
  /** With the owners that count. Undefined: there is none. */
  readonly live: KubernetesObject | undefined;
  /** Fields that git has applied, and to which people have given another value since: theirs. */
  readonly changed?: JsonObject;
  /** That was applied last, where it had to be read. */
  readonly manifest?: Manifest;
}

/** The same, and what of the object git drops with the body that is about to be applied. @throws as {@link ownedAsApplied} */
export async function ownedAndDropped(
  context: CommitContext,
  object: PreparedObject,
  live: KubernetesObject | undefined,
  body: JsonObject,
): Promise<{ readonly owned: KubernetesObject | undefined; readonly dropped: DroppedFields }> {
  const { live: owned, changed, manifest } = await ownedAsApplied(context, object, live);
  const dropped = droppedFields(owned, body, changed);
  if (manifest === undefined || !dropped.kept.some(({ hasMore }) => hasMore === true))
    return { owned, dropped };
  const defaulted = await asMadeAnew(context, { ...object, manifest }, live);
  return { owned, dropped: droppedFields(owned, body, changed, defaulted) };
}

/**
 * What the apiserver would make of a manifest, were there no such object: with its defaults. Undefined where it cannot be tried.
 * @throws ApiError when the apiserver cannot be asked
 */
export async function asMadeAnew(
  context: CommitContext,
  object: PreparedObject,
  live: KubernetesObject | undefined,
): Promise<KubernetesObject | undefined> {
  const { name: _, ...collection } = object.path;
  const { metadata, ...body } = bodyToApply(context, object, live);
  const { name: __, ...rest } = asRecord(metadata);
  const anew = { ...body, metadata: { ...rest, generateName: 'fairlead-' } };
  try {
    return await context.client.create(collection, anew, { dryRun: true, ...withSignal(context.signal) });
  } catch (error) {
    if (toProblem(error, object) === undefined) throw error;
    return undefined;
  }
}

/**
 * As whose its fields count. The manifest that was applied last is read only where people have written to the object, or it has no owners.
 * @throws ApiError when the apiserver cannot be asked; ProblemError when the source is away
 */
export async function ownedAsApplied(
  context: CommitContext,
  object: PreparedObject,
  live: KubernetesObject | undefined,
): Promise<Owned> {
  if (live === undefined) return { live };
  if (!hasOwners(live)) return { live: await withRestoredOwners(context, object, live) };
  if (!hasHandFields(live)) return { live };
  const manifest = await appliedManifest(context, object, live);
  if (manifest === undefined) return { live };
  const { agreed, changed } = handFields(live, bodyToApply(context, { ...object, manifest }, live));
  // Where the repository heals, drift is git's.
  if (context.repository.heal === true)
    return { live: alsoApplied(live, FIELD_MANAGER, merged(agreed, changed)), manifest };
  return { live: alsoApplied(live, FIELD_MANAGER, agreed), changed, manifest };
}

/**
 * What is there, with the owners that it had been left with: by a dry run of what was applied last, which is refused where somebody has
 * changed one of its values. As it is where it is not known to be what git has applied.
 * @throws ApiError when the apiserver cannot be asked; ProblemError when the source is away
 */
async function withRestoredOwners(
  context: CommitContext,
  object: PreparedObject,
  live: KubernetesObject,
): Promise<KubernetesObject> {
  const { client, repository, signal } = context;
  const { uid, annotations } = live.metadata;
  const sha = annotations?.[ANNOTATION.commit];
  if (annotations?.[ANNOTATION.repository] !== repository.name || sha === undefined) return live;
  const inventory = await listing(context, object);
  if (inventory?.entries.get(entryKey(inventoryEntry(object)))?.uid !== uid) return live;
  const manifest = await appliedManifest(context, object, live);
  if (manifest === undefined) return live;
  // Its version may be out of use since: of another one the same fields are as good.
  const { apiVersion } = object.manifest;
  const body = { ...bodyToApply({ ...context, sha }, { ...object, manifest }, live), apiVersion };
  try {
    const options = { dryRun: true, fieldValidation: 'Strict', ...withSignal(signal) } as const;
    const { managedFields = [] } = (await client.patch(object.path, 'apply', body, options)).metadata;
    return { ...live, metadata: { ...live.metadata, managedFields } };
  } catch (error) {
    if (toProblem(error, object) === undefined) throw error;
    return live;
  }
}
