/** Who owns which field of an object, as the apiserver keeps it (`metadata.managedFields`). Pure. */

import { createHash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';

import { merged } from '../planners/field-owners.ts';
import type { JsonObject, KubernetesObject } from '../planners/objects.ts';
import { asRecord, trusted } from './values.ts';

/** One manager's fields. */
export interface ManagedFields {
  readonly manager?: string;
  readonly operation?: 'Apply' | 'Update';
  readonly subresource?: string;
  /** RFC 3339, in seconds: when the manager last changed one of them. */
  readonly time?: string;
  readonly apiVersion?: string;
  readonly fieldsType?: string;
  readonly fieldsV1?: JsonObject;
}

/** Elements of `fieldsV1` from its top to one field: `f:spec`, `f:ports`, `k:{"port":80,"protocol":"TCP"}`. */
export type OwnedPath = readonly string[];

/** All entries of an object; none where the apiserver keeps them no more. */
function managedFields(object: KubernetesObject): readonly ManagedFields[] {
  return readManagedFields(asRecord(object.metadata)['managedFields']);
}

/** The entries of a `metadata.managedFields`; none where it is left out, or is not what an apiserver writes. */
export function readManagedFields(entries: unknown): readonly ManagedFields[] {
  if (!Array.isArray(entries)) return [];
  return trusted<readonly (ManagedFields | null)[]>(entries).filter((entry) => entry !== null);
}

/** Whether these are fields of the object itself, and not of its status or another subresource. */
export function isOfObject({ subresource }: ManagedFields): boolean {
  return subresource === undefined || subresource === '';
}

/** Whether anybody owns anything: not where the list was cleared. An apiserver gives all of that to {@link BEFORE_FIRST_APPLY} then. */
export function hasOwners(object: KubernetesObject): boolean {
  return managedFields(object).length > 0;
}

/** The apiserver's name, in a conflict, for whoever wrote an object that has no owners. */
export const BEFORE_FIRST_APPLY = 'before-first-apply';

/** What `manager` owns by server-side apply; undefined: nothing. */
export function appliedFields(object: KubernetesObject, manager: string): JsonObject | undefined {
  return appliedEntry(object, manager)?.fieldsV1;
}

/** The entry of what `manager` owns by server-side apply; undefined: nothing. */
export function appliedEntry(object: KubernetesObject, manager: string): ManagedFields | undefined {
  return managedFields(object).find((entry) => isApplied(entry, manager));
}

/** The entries, of whatever manager, that were written under an API version. */
export function entriesUnder(object: KubernetesObject, apiVersion: string): readonly ManagedFields[] {
  return managedFields(object).filter((entry) => entry.apiVersion === apiVersion);
}

/** What anybody but `manager`'s server-side apply owns, beside the status. */
export function othersFields(object: KubernetesObject, manager: string): readonly ManagedFields[] {
  return managedFields(object).filter((entry) => isShared(entry) && !isApplied(entry, manager));
}

/** The same with what they own through other subresources than the status: `kubectl scale` owns `spec.replicas` by that of scale. */
export function othersFieldsOfSpec(object: KubernetesObject, manager: string): readonly ManagedFields[] {
  return managedFields(object).filter(
    (entry) => entry.subresource !== 'status' && !isApplied(entry, manager),
  );
}

/**
 * The entries with which everything at these paths is owned by `manager`'s server-side apply alone: its next apply takes away what it
 * does not name.
 */
export function handedOver(
  object: KubernetesObject,
  manager: string,
  apiVersion: string,
  paths: readonly OwnedPath[],
): readonly ManagedFields[] {
  const entries = managedFields(object);
  const added = paths.reduce<JsonObject>((fields, path) => {
    const found = entries.filter(isShared).flatMap((entry): readonly JsonObject[] => {
      const there = fieldsAt(entry.fieldsV1, path);
      return there === undefined ? [] : [there];
    });
    return withFields(fields, path, found.reduce<JsonObject>(merged, { '.': {} }));
  }, {});
  const own = entries.find((entry) => isApplied(entry, manager));
  const rest = entries.flatMap((entry) => {
    if (entry === own) return [];
    if (!isShared(entry)) return [entry];
    const fieldsV1 = paths.reduce<JsonObject>(
      (fields, path) => withoutFields(fields, path),
      entry.fieldsV1 ?? {},
    );
    return Object.keys(fieldsV1).length === 0 ? [] : [{ ...entry, fieldsV1 }];
  });
  const before: ManagedFields = own ?? { manager, operation: 'Apply', apiVersion, fieldsType: 'FieldsV1' };
  return [...rest, { ...before, fieldsV1: merged(before.fieldsV1 ?? {}, added) }];
}

/** The entries with which `manager`'s server-side apply owns nothing at these paths, and the entries of `others` are beside what is there. */
export function takenFrom(
  object: KubernetesObject,
  manager: string,
  paths: readonly OwnedPath[],
  others: readonly ManagedFields[],
): readonly ManagedFields[] {
  const entries = managedFields(object).map((entry) => {
    if (!isApplied(entry, manager)) return entry;
    const fieldsV1 = paths.reduce<JsonObject>(
      (fields, path) => withoutFields(fields, path),
      entry.fieldsV1 ?? {},
    );
    return { ...entry, fieldsV1 };
  });
  return others.reduce<readonly ManagedFields[]>((all, one) => {
    const at = all.findIndex((entry) => isOfSame(entry, one));
    const present = all[at];
    if (present === undefined) return [...all, one];
    return all.with(at, { ...present, fieldsV1: merged(present.fieldsV1 ?? {}, one.fieldsV1 ?? {}) });
  }, entries);
}

/** The apiserver has one entry of each. */
function isOfSame(one: ManagedFields, other: ManagedFields): boolean {
  return (
    one.manager === other.manager &&
    one.operation === other.operation &&
    one.apiVersion === other.apiVersion &&
    (one.subresource ?? '') === (other.subresource ?? '')
  );
}

/** The object as if `manager` had applied these fields as well; as it is where it has applied nothing. */
export function alsoApplied(object: KubernetesObject, manager: string, fields: JsonObject): KubernetesObject {
  const entries = managedFields(object).map((entry) =>
    isApplied(entry, manager) ? { ...entry, fieldsV1: merged(entry.fieldsV1 ?? {}, fields) } : entry,
  );
  return { ...object, metadata: { ...object.metadata, managedFields: entries } };
}

/** One operation of a JSON patch. */
export type PatchOperation =
  | { readonly op: 'test' | 'replace' | 'add'; readonly path: string; readonly value: unknown }
  | { readonly op: 'remove'; readonly path: string };

/** Whose server-side apply keeps an object, and a field that its next one names in any case. */
export interface FieldKeeper {
  readonly manager: string;
  readonly apiVersion: string;
  readonly seed: OwnedPath;
  /** What it had applied before all owners were cleared. @default not known: `seed` alone */
  readonly entry?: ManagedFields | undefined;
}

/**
 * A JSON patch after which none of `managers` owns a field of the object, but of its status, and that changes no value. What `keeper`
 * owns by server-side apply stays. An apiserver ignores an empty list, so where nobody else owns anything, `keeper` gets `seed`, a field that its
 * next apply names in any case; so where the list was cleared. Each entry is tested before: the list may be another one by now. Undefined:
 * they own nothing.
 */
export function lettingGo(
  object: KubernetesObject,
  managers: ReadonlySet<string>,
  keeper: FieldKeeper,
): readonly PatchOperation[] | undefined {
  if (!hasOwners(object) && managers.has(BEFORE_FIRST_APPLY)) {
    const path = '/metadata/managedFields';
    // A test for null is one that nothing is there.
    return [
      { op: 'test', path, value: null },
      { op: 'add', path, value: [keeper.entry ?? seeded(keeper)] },
    ];
  }
  const isOf = (entry: ManagedFields): boolean =>
    entry.subresource !== 'status' && managers.has(entry.manager ?? '');
  return released(object, isOf, keeper);
}

/** As {@link lettingGo}, of what anybody, be it of its status, has written under an API version. */
export function lettingGoOf(
  object: KubernetesObject,
  apiVersion: string,
  keeper: FieldKeeper,
): readonly PatchOperation[] | undefined {
  return released(object, (entry) => entry.apiVersion === apiVersion, keeper);
}

function released(
  object: KubernetesObject,
  isOf: (entry: ManagedFields) => boolean,
  keeper: FieldKeeper,
): readonly PatchOperation[] | undefined {
  const entries = managedFields(object);
  const isLeft = (entry: ManagedFields): boolean => isOf(entry) && !isApplied(entry, keeper.manager);
  const staying = entries.filter((entry) => !isLeft(entry));
  if (staying.length === entries.length) return undefined;
  return entries
    .flatMap((entry, index): PatchOperation[][] => {
      if (!isLeft(entry)) return [];
      const path = `/metadata/managedFields/${index}`;
      const alike = staying.filter((other) => other.manager === entry.manager);
      const isOther = alike.some((other) => other.apiVersion !== entry.apiVersion);
      const tests: PatchOperation[] = [
        { op: 'test', path: `${path}/manager`, value: entry.manager },
        ...(alike.length > 0
          ? [{ op: 'test' as const, path: `${path}/operation`, value: entry.operation }]
          : []),
        ...(isOther ? [{ op: 'test' as const, path: `${path}/apiVersion`, value: entry.apiVersion }] : []),
      ];
      if (staying.length > 0 || index > 0) return [[...tests, { op: 'remove', path }]];
      return [[...tests, { op: 'replace', path, value: seeded(keeper) }]];
    })
    .toReversed()
    .flat();
}

function seeded({ manager, apiVersion, seed }: FieldKeeper): ManagedFields {
  const fieldsV1 = withFields({}, seed, {});
  return { manager, operation: 'Apply', apiVersion, fieldsType: 'FieldsV1', fieldsV1 };
}

function isShared({ subresource }: ManagedFields): boolean {
  return (subresource ?? '') === '';
}

function isApplied(entry: ManagedFields, manager: string): boolean {
  return entry.manager === manager && entry.operation === 'Apply' && isShared(entry);
}

/** What is owned at a path, and below; undefined: nothing. */
export function fieldsAt(fields: JsonObject | undefined, path: OwnedPath): JsonObject | undefined {
  const [first, ...rest] = path;
  if (fields === undefined || first === undefined) return fields;
  return first in fields ? fieldsAt(asRecord(fields[first]), rest) : undefined;
}

/** With what is owned at a path, beside what is there. */
export function withFields(fields: JsonObject, path: OwnedPath, leaf: JsonObject): JsonObject {
  const [first, ...rest] = path;
  if (first === undefined) return merged(fields, leaf);
  return { ...fields, [first]: withFields(asRecord(fields[first]), rest, leaf) };
}

/** Mappings that have nothing left go as well. */
function withoutFields(fields: JsonObject, path: OwnedPath): JsonObject {
  const [first, ...rest] = path;
  if (first === undefined || !(first in fields)) return fields;
  const { [first]: inner, ...others } = fields;
  const left = rest.length === 0 ? {} : withoutFields(asRecord(inner), rest);
  return Object.keys(left).length === 0 ? others : { ...others, [first]: left };
}

/**
 * Whether every field of what was applied is still owned. Whoever changes the value of a field takes it away from those who applied
 * it, so what is owned has the value that was applied. False is only a suspicion: the same value may have been written back, and
 * what was applied as `stringData` of a Secret (by an earlier version) is not owned.
 */
export function ownsAll(applied: unknown, owned: unknown): boolean {
  if (owned === undefined) return false;
  const fields = asRecord(owned);
  // A leaf, or a list or mapping that is owned as a whole.
  if (Object.keys(fields).length === 0) return true;
  if (Array.isArray(applied)) return applied.every((item) => ownsItem(item, fields));
  if (typeof applied !== 'object' || applied === null) return true;
  return Object.entries(applied).every(
    ([name, value]) => value === null || ownsAll(value, fields[`f:${name}`]),
  );
}

function ownsItem(item: unknown, fields: Readonly<Record<string, unknown>>): boolean {
  return Object.entries(fields).some(
    ([name, owned]) => isItem(name, item) && (name.startsWith('v:') || ownsAll(item, owned)),
  );
}

/**
 * Whether an element of `fieldsV1` is this item: `v:"text"` in a set, `k:{"name":"app"}` in a list of objects; a key that the manifest leaves
 * out has its default.
 */
export function isItem(name: string, item: unknown): boolean {
  if (name.startsWith('v:')) return name === `v:${JSON.stringify(item)}`;
  if (!name.startsWith('k:')) return false;
  const present = asRecord(item);
  const keys = Object.entries(asRecord(JSON.parse(name.slice(2))));
  return keys.every(([key, value]) => present[key] === undefined || present[key] === value);
}

/** What there is at one element of a path; undefined: nothing. */
export function valueAt(value: unknown, element: string): unknown {
  if (element.startsWith('f:')) return asRecord(value)[element.slice(2)];
  return Array.isArray(value) ? value.find((item) => isItem(element, item)) : undefined;
}

/**
 * Whether applying `wanted` again would change nothing of `live`: every field that it names is owned and has its value, and nothing
 * else is owned, which the apply would take away. False is only a suspicion: a value may be written in other words (`1000m`), or have
 * got defaults within what is owned as a whole.
 */
export function isAsApplied(wanted: unknown, live: unknown, owned: unknown): boolean {
  if (owned === undefined || wanted === null) return false;
  const fields = Object.entries(asRecord(owned)).filter(([name]) => name !== '.');
  if (fields.length === 0) return isDeepStrictEqual(wanted, live);
  if (Array.isArray(wanted)) {
    if (!Array.isArray(live) || live.length !== wanted.length) return false;
    return (
      fields.every(([name]) => wanted.some((item) => isItem(name, item))) &&
      wanted.every((item: unknown, index) => {
        const [own, ...others] = fields.filter(([name]) => isItem(name, item));
        if (own === undefined || others.length > 0) return false;
        const [name, inner] = own;
        return name.startsWith('v:') ? item === live[index] : isAsApplied(item, live[index], inner);
      })
    );
  }
  const [named, present] = [asRecord(wanted), asRecord(live)];
  return (
    fields.every(([name]) => name.startsWith('f:') && Object.hasOwn(named, name.slice(2))) &&
    Object.entries(named).every(([name, value]) =>
      isAsApplied(value, present[name], asRecord(owned)[`f:${name}`]),
    )
  );
}

/** In a few characters, everything that anybody wrote of an object beside its status: another one where that has changed. */
export function fieldsDigest(object: KubernetesObject): string {
  const entries = managedFields(object).filter(({ subresource }) => subresource !== 'status');
  const { uid, generation, resourceVersion, deletionTimestamp } = object.metadata;
  // Times of entries are seconds. Kinds without a generation have no status that changes often.
  const text = JSON.stringify([uid, generation ?? resourceVersion, deletionTimestamp, entries]);
  return createHash('sha256').update(text).digest('base64').slice(0, 16);
}

/** The manager that wrote last beside `except`, for whom no better is known; undefined: nobody did. */
export function lastManager(object: KubernetesObject, except: string): string | undefined {
  return managedFields(object)
    .filter(({ manager, subresource }) => manager !== except && subresource !== 'status')
    .toSorted((a, b) => ((a.time ?? '') < (b.time ?? '') ? 1 : -1))[0]?.manager;
}
