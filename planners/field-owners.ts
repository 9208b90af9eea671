/** Who owns which fields of an object (`metadata.managedFields`), after it was made anew in place of another. Pure. */

import { UPDATE_FIELD_MANAGER } from './names.ts';
import type { JsonObject } from './objects.ts';
import { asFields } from './values.ts';

type Entry = object;

/**
 * The owners of before, and whoever has written since a rolling update made the object anew: what somebody has changed by then is
 * theirs, as the apiserver has it, and not of those who owned it before.
 * @param before `metadata.managedFields` as it shall be, but for what was written since
 * @param present as the apiserver has it: all that nobody has written since is owned by the rolling update
 */
export function withWritersSince(
  before: readonly Entry[],
  present: readonly Entry[] | undefined,
): readonly Entry[] {
  const writers = (present ?? []).filter((entry) => !isOfUpdate(entry));
  if (writers.length === 0) return before;
  const made = union((present ?? []).filter(isOfUpdate).map(fieldsOf));
  const taken = difference(union(writers.map(fieldsOf)), made);
  const kept = before.flatMap((entry) => {
    const fieldsV1 = difference(fieldsOf(entry), taken);
    return Object.keys(fieldsV1).length === 0 ? [] : [{ ...entry, fieldsV1 }];
  });
  const isAgain = (entry: Entry) => writers.some((writer) => identity(writer) === identity(entry));
  return [
    ...kept.filter((entry) => !isAgain(entry)),
    // An entry for each manager and way: of two the apiserver would take one.
    ...writers.map((writer) => {
      const own = kept.filter((entry) => identity(entry) === identity(writer)).map(fieldsOf);
      return own.length === 0 ? writer : { ...writer, fieldsV1: union([...own, fieldsOf(writer)]) };
    }),
  ];
}

function isOfUpdate(entry: Entry): boolean {
  return asFields(entry)?.['manager'] === UPDATE_FIELD_MANAGER;
}

function identity(entry: Entry): string {
  const { manager, operation, apiVersion, subresource = '' } = asFields(entry) ?? {};
  return JSON.stringify([manager, operation, apiVersion, subresource]);
}

function fieldsOf(entry: Entry): JsonObject {
  return asFields(asFields(entry)?.['fieldsV1']) ?? {};
}

function union(sets: readonly JsonObject[]): JsonObject {
  return sets.reduce(merged, {});
}

/** All fields of both, as `fieldsV1` has them. */
export function merged(one: JsonObject, other: JsonObject): JsonObject {
  return Object.entries(other).reduce<JsonObject>(
    (result, [name, below]) => ({
      ...result,
      [name]: merged(asFields(result[name]) ?? {}, asFields(below) ?? {}),
    }),
    one,
  );
}

/** Fields of `one` that `other` does not hold. What has nothing below it is held itself, as is what holds `.`. */
function difference(one: JsonObject, other: JsonObject): JsonObject {
  const left = Object.entries(one).flatMap(([name, value]) => {
    const taken = Object.hasOwn(other, name) ? asFields(other[name]) : undefined;
    if (taken === undefined) return [[name, value] as const];
    const below = asFields(value) ?? {};
    if (isLeaf(below)) return isLeaf(taken) || Object.hasOwn(taken, '.') ? [] : [[name, value] as const];
    // A list or map that was written as a whole is owned as a whole.
    const rest = isLeaf(taken) ? {} : difference(below, taken);
    return Object.keys(rest).length === 0 ? [] : [[name, rest] as const];
  });
  return Object.fromEntries(left);
}

function isLeaf(below: JsonObject): boolean {
  return Object.keys(below).length === 0;
}
