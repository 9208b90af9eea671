/** Who owns which field of an object, as the apiserver keeps it (`metadata.managedFields`). Pure. */

import { createHash } from 'node:crypto';

import type { JsonObject, KubernetesObject } from '../planners/objects.ts';
import { asRecord, trusted } from './values.ts';

/** One manager's fields. */
export interface ManagedFields {
  readonly manager?: string;
  readonly operation?: 'Apply' | 'Update';
  readonly subresource?: string;
  /** RFC 3339, in seconds: when the manager last changed one of them. */
  readonly time?: string;
  readonly fieldsV1?: JsonObject;
}

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

/** What `manager` owns by server-side apply; undefined: nothing. */
export function appliedFields(object: KubernetesObject, manager: string): JsonObject | undefined {
  return managedFields(object).find(
    (entry) => entry.manager === manager && entry.operation === 'Apply' && isOfObject(entry),
  )?.fieldsV1;
}

/**
 * Whether every field of what was applied is still owned. Whoever changes the value of a field takes it away from those who applied
 * it, so what is owned has the value that was applied. False is only a suspicion: the same value may have been written back, and
 * some fields are never owned (`stringData` of Secrets).
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

/** `v:"text"` in a set, `k:{"name":"app"}` in a list of objects; a key that the manifest leaves out has its default. */
function ownsItem(item: unknown, fields: Readonly<Record<string, unknown>>): boolean {
  if (fields[`v:${JSON.stringify(item)}`] !== undefined) return true;
  const present = asRecord(item);
  return Object.entries(fields).some(([name, owned]) => {
    if (!name.startsWith('k:')) return false;
    const keys = Object.entries(asRecord(JSON.parse(name.slice(2))));
    const isIt = keys.every(([key, value]) => present[key] === undefined || present[key] === value);
    return isIt && ownsAll(item, owned);
  });
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
