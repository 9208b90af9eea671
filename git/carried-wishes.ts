/** What operators hold a rollout by outlives its object's change of workload API. What git itself holds it by does not: it is git's to say. */

import type { OwnedPath } from '../kubernetes/managed-fields.ts';
import { appliedFields, fieldsAt } from '../kubernetes/managed-fields.ts';
import { asRecord } from '../kubernetes/values.ts';
import { isNoteOfField, noteOfField, readPaused } from '../kubernetes/wish-annotations.ts';
import { hasPausedField, isWorkloadKind } from '../kubernetes/workload-api.ts';
import { ANNOTATION, FIELD_MANAGER } from '../planners/names.ts';
import type { JsonObject, KubernetesObject } from '../planners/objects.ts';
import type { Wish } from '../planners/workload.ts';
import type { Manifest } from './manifests.ts';
import type { Wishes } from './take-over.ts';

/**
 * The annotations that the object of `manifest` gets from the one under the other API. A pause is an annotation, which every kind has in
 * both; only beside a `spec.paused` of the manifest it stays a note on that field, and ends with it. Pure.
 */
export function carriedWishes(old: KubernetesObject, manifest: Manifest): Wishes {
  const paused = pauseToCarry(old, manifest);
  return paused === undefined ? {} : { [ANNOTATION.paused]: JSON.stringify(paused) };
}

/** Those that the manifest says nothing of: what it names itself is git's, and nobody else's beside it. Pure. */
export function withoutNamed(wishes: Wishes, body: JsonObject): Wishes {
  const named = asRecord(asRecord(body['metadata'])['annotations']);
  return Object.fromEntries(Object.entries(wishes).filter(([name]) => !Object.hasOwn(named, name)));
}

function pauseToCarry(old: KubernetesObject, manifest: Manifest): Wish | undefined {
  const annotations = annotationsOfOperators(old);
  const paused = readPaused(annotations, isSpecPaused(old));
  const holdsByAnnotation = readPaused(annotations, false) !== undefined;
  if (paused === undefined || holdsByAnnotation) return paused;
  const isHeldByGit = isSpecPaused(manifest.body);
  if (isNoteOfField(annotations)) return isHeldByGit ? noteOfField(paused) : paused;
  if (isHeldByGit || (isAppliedByGit(old, ['f:spec', 'f:paused']) && canSayPaused(manifest)))
    return undefined;
  return { reason: `spec.paused was true under ${old.apiVersion ?? 'the other workload API'}` };
}

/** A pause that git holds by the annotation is git's to say, as one by the field is, and every kind can say it under either API. */
function annotationsOfOperators(old: KubernetesObject): Readonly<Record<string, string>> {
  const { [ANNOTATION.paused]: paused, ...others } = old.metadata.annotations ?? {};
  const isOfGit = isAppliedByGit(old, ['f:metadata', 'f:annotations', `f:${ANNOTATION.paused}`]);
  return paused === undefined || isOfGit ? others : { ...others, [ANNOTATION.paused]: paused };
}

function isSpecPaused(object: object): boolean {
  return asRecord(asRecord(object)['spec'])['paused'] === true;
}

/** Whoever gives a field another value takes it from those who applied it: what git owns has git's value. */
function isAppliedByGit(old: KubernetesObject, path: OwnedPath): boolean {
  return fieldsAt(appliedFields(old, FIELD_MANAGER), path) !== undefined;
}

/** Where a kind has no such field git had to take it out, and has not said that the pause is over. */
function canSayPaused({ group, kind }: Manifest): boolean {
  return isWorkloadKind(kind) && hasPausedField({ group, kind });
}
