/** What operators hold a rollout by outlives its object's change of workload API. What git itself holds it by does not: it is git's to say. */

import type { OwnedPath } from '../kubernetes/managed-fields.ts';
import { appliedFields, fieldsAt } from '../kubernetes/managed-fields.ts';
import { asRecord, trusted } from '../kubernetes/values.ts';
import { isNoteOfField, noteOfField, readPaused } from '../kubernetes/wish-annotations.ts';
import { hasPausedField, isWorkloadKind } from '../kubernetes/workload-api.ts';
import { ANNOTATION, FIELD_MANAGER } from '../planners/names.ts';
import { describeWish } from '../planners/reasons.ts';
import { ownField } from '../planners/values.ts';
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

/** Why an object does not move yet: an operator holds it, and its manifest says that nobody does. Undefined: nothing is in the way. Pure. */
export function pauseDenied({ [ANNOTATION.paused]: carried }: Wishes, body: JsonObject): string | undefined {
  const named = trusted<Readonly<Record<string, string>>>(
    asRecord(asRecord(body['metadata'])['annotations']),
  );
  const held = carried === undefined ? undefined : readPaused({ [ANNOTATION.paused]: carried }, false);
  const said = ownField(named, ANNOTATION.paused);
  if (held === undefined || said === undefined || readPaused(named, isSpecPaused(body)) !== undefined)
    return undefined;
  return (
    `it is ${`paused ${describeWish(held)}`.trimEnd()}, and its manifest says ${ANNOTATION.paused}: ${JSON.stringify(said)}: end the pause under its present ` +
    'API (`fairlead rollout resume`), or take the annotation out of the manifest'
  );
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
