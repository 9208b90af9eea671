/** Fields of apps/v1 that an apiserver drops without a word where their feature gate is off. Pure. */

import { asRecord } from '../kubernetes/values.ts';
import { ANNOTATION } from '../planners/names.ts';

/** By kind: the field, from the top, and the annotation that Fairlead reads in its place. */
const GATED: Readonly<Record<string, { readonly field: readonly string[]; readonly annotation: string }>> = {
  // MaxUnavailableStatefulSet (KEP-961): off by default (S14).
  StatefulSet: {
    field: ['spec', 'updateStrategy', 'rollingUpdate', 'maxUnavailable'],
    annotation: ANNOTATION.maxUnavailable,
  },
};

/** What to write in apps/v1 in the place of a field that it does not have. */
export function annotationInstead(annotation: string): string {
  return `In apps/v1 it is an annotation of the workload: ${annotation}`;
}

/**
 * The field that a manifest of apps/v1 has and the apiserver did not take; undefined: there is none, or the annotation stands beside it.
 * @param manifest body as it is in git
 * @param taken what a dry run answered
 */
export function gatedField(
  manifest: object,
  taken: object,
): { readonly field: string; readonly annotation: string } | undefined {
  const { apiVersion, kind, metadata } = asRecord(manifest);
  const gated = apiVersion === 'apps/v1' && typeof kind === 'string' ? GATED[kind] : undefined;
  if (gated === undefined) return undefined;
  const { field, annotation } = gated;
  const isSaid = asRecord(asRecord(metadata)['annotations'])[annotation] !== undefined;
  if (isSaid || valueAt(manifest, field) === undefined || valueAt(taken, field) !== undefined)
    return undefined;
  return { field: field.join('.'), annotation };
}

function valueAt(object: object, field: readonly string[]): unknown {
  return field.reduce<unknown>((inside, name) => asRecord(inside)[name], object);
}
