/**
 * What others have set of a workload's spec, and git says nothing of, outlives the change of its workload API, as it outlives any other
 * commit: a size that an autoscaler keeps, the moment of a restart, a partition. Without it the new object would have other pods. Pure.
 */

import { ApiError } from '../kubernetes/api-error.ts';
import type { ManagedFields, OwnedPath } from '../kubernetes/managed-fields.ts';
import {
  appliedFields,
  fieldsAt,
  isItem,
  othersFieldsOfSpec,
  takenFrom,
  valueAt,
  withFields,
} from '../kubernetes/managed-fields.ts';
import { asRecord } from '../kubernetes/values.ts';
import { RESTARTED, RESTARTED_AT } from '../kubernetes/template-edits.ts';
import { FIELD_MANAGER } from '../planners/names.ts';
import type { JsonObject, KubernetesObject } from '../planners/objects.ts';
import { RESTARTS, SIZE, goesWithNextCommit, inTheWay, isPassing, labelOf } from './dropped-fields.ts';

/** Of one workload, on its way from one workload API to the other. */
export interface CarriedFields {
  /** Their values. Lists that hold some have their other items too, for the order: by what tells them apart, and no more. */
  readonly spec: JsonObject;
  /** Who has set them: entries of `metadata.managedFields`, of these fields alone. */
  readonly owners: readonly ManagedFields[];
}

/** A carried field: no mapping, or one that is owned as a whole. */
interface Leaf {
  readonly path: OwnedPath;
  readonly label: string;
  readonly owner: ManagedFields;
}

const STRATEGY = { type: true, rollingUpdate: { partition: true, maxUnavailable: true, maxSurge: true } };

/** What a spec of apps/v1 may hold, and so one of ours; a pause goes over as a wish (carried-wishes.ts), and what cannot change git names. */
const FIELDS_OF_BOTH: JsonObject = {
  replicas: true,
  template: true,
  minReadySeconds: true,
  revisionHistoryLimit: true,
  progressDeadlineSeconds: true,
  persistentVolumeClaimRetentionPolicy: true,
  ordinals: true,
  strategy: STRATEGY,
  updateStrategy: STRATEGY,
};

/**
 * What is carried though nobody owns it: so the apiserver has a size that was set by the `scale` subresource of apps/v1 where git had none,
 * and everything where `metadata.managedFields` were cleared.
 */
const NOBODYS: ManagedFields = {
  fieldsV1: {
    'f:spec': {
      'f:replicas': {},
      'f:template': {
        'f:metadata': { 'f:annotations': { [`f:${RESTARTED_AT}`]: {}, [`f:${RESTARTED}`]: {} } },
      },
    },
  },
};

/**
 * Those of `old` that an apply of `body` under its own API would leave alone. Of an object that git has never applied (it is taken over and
 * moved at once) only its size and its restarts: what else it was made with, git says anew. Undefined: there is none.
 */
export function carriedFields(old: KubernetesObject, body: JsonObject): CarriedFields | undefined {
  const own = appliedFields(old, FIELD_MANAGER);
  const owned = leavesOf(old, othersFieldsOfSpec(old, FIELD_MANAGER));
  const nobodys = leavesOf(old, [NOBODYS]).filter(
    ({ path, label }) =>
      owned.every((one) => one.label !== label) && (label === SIZE || fieldsAt(own, path) === undefined),
  );
  return gathered(
    old,
    [...owned, ...nobodys].filter((leaf) => isLeft(leaf, own) && !isSaid(leaf, body)),
  );
}

/**
 * Those that `body` says nothing of. Undefined: none.
 * @param live Made of them by an attempt before: what somebody has changed or set of it since is left as it is.
 */
export function stillCarried(
  carried: CarriedFields | undefined,
  body: JsonObject,
  live: KubernetesObject | undefined,
): CarriedFields | undefined {
  const left = chosen(carried, (leaf) => !isSaid(leaf, body));
  if (left === undefined || live === undefined) return left;
  const others = othersFieldsOfSpec(live, FIELD_MANAGER);
  const isOurs = ({ path }: Leaf) =>
    isNamed(live, path) && others.every(({ fieldsV1 }) => fieldsAt(fieldsV1, path) === undefined);
  return gathered(
    live,
    carriedLeaves(left).filter((leaf) => isOurs(leaf)),
  );
}

/** The body with them. */
export function withCarried(body: JsonObject, carried: CarriedFields | undefined): JsonObject {
  return carriedLeaves(carried).reduce<JsonObject>(
    (all, { path }) => asRecord(put(all, carried, path)),
    body,
  );
}

/** In words, with whoever has set it: `spec.replicas ("kubectl")`. */
export function describeCarried(carried: CarriedFields): readonly string[] {
  const managers = new Map<string, readonly string[]>();
  for (const { path, owner } of carriedLeaves(carried)) {
    const item = path.findIndex((_, at) => hasPutThere(owner, path.slice(0, at + 1)));
    const label = labelOf(item === -1 ? path : path.slice(0, item + 1), carried);
    managers.set(label, [...(managers.get(label) ?? []), owner.manager ?? []].flat());
  }
  return [...managers].map(([label, who]) =>
    who.length === 0 ? label : `${label} ("${[...new Set(who)].join('", "')}")`,
  );
}

/**
 * Owners of the object that was made of `body` and the carried fields by one apply: each field is again of whoever had set it, and the next
 * apply leaves it to them.
 */
export function withTheirOwners(
  created: KubernetesObject,
  body: JsonObject,
  carried: CarriedFields,
): readonly ManagedFields[] {
  const apiVersion = String(body['apiVersion']);
  const paths = carriedLeaves(carried).map(({ path }) => {
    const item = path.findIndex((element, at) => isOfList(element) && !isNamed(body, path.slice(0, at + 1)));
    return item === -1 ? path : path.slice(0, item + 1);
  });
  return takenFrom(
    created,
    FIELD_MANAGER,
    paths,
    carried.owners.flatMap((entry) => (entry.manager === undefined ? [] : [{ ...entry, apiVersion }])),
  );
}

/**
 * What is left of them when the object was refused for some: those that the answer is about are not carried. Undefined: it is about none of
 * them, or was no refusal.
 */
export function withoutRefused(
  error: unknown,
  carried: CarriedFields,
): { readonly left: CarriedFields | undefined } | undefined {
  if (!(error instanceof ApiError) || error.reason !== 'Invalid') return undefined;
  const leaves = carriedLeaves(carried);
  const places = (error.details?.causes ?? [])
    .map(({ field = '' }) => field)
    .filter((field) => field.includes('.'));
  const refused = new Set(inTheWay(error, leaves).map(({ label }) => label));
  for (const { label } of leaves)
    if (places.some((place) => label.startsWith(`${place}.`) || label.startsWith(`${place}[`)))
      refused.add(label);
  if (refused.size === 0) return undefined;
  return { left: chosen(carried, ({ label }) => !refused.has(label)) };
}

function carriedLeaves(carried: CarriedFields | undefined): readonly Leaf[] {
  return carried === undefined ? [] : leavesOf(carried, carried.owners);
}

function chosen(
  carried: CarriedFields | undefined,
  isWanted: (leaf: Leaf) => boolean,
): CarriedFields | undefined {
  return (
    carried &&
    gathered(
      carried,
      carriedLeaves(carried).filter((leaf) => isWanted(leaf)),
    )
  );
}

function leavesOf(object: object, owners: readonly ManagedFields[]): readonly Leaf[] {
  return owners.flatMap((owner) =>
    [...below(asRecord(asRecord(owner.fieldsV1)['f:spec']), asRecord(object)['spec'], ['f:spec'])].map(
      (path) => ({ path, label: labelOf(path, object), owner }),
    ),
  );
}

function* below(fields: JsonObject, value: unknown, path: OwnedPath): Generator<OwnedPath> {
  const parts = Object.entries(fields).filter(([element]) => element !== '.');
  const isEmpty = typeof value !== 'object' || value === null || Object.keys(value).length === 0;
  // Only that there is a mapping: what it holds is of others.
  if (parts.length === 0 && ('.' in fields ? isEmpty : true)) yield path;
  for (const [element, inner] of parts) {
    const there = valueAt(value, element);
    if (there === undefined || there === null) continue;
    yield* below(asRecord(inner), there, [...path, element]);
  }
}

/** Whether an ordinary commit would leave it. */
function isLeft({ path, label, owner }: Leaf, own: JsonObject | undefined): boolean {
  if (!isOfBoth(path)) return false;
  if (label === SIZE || RESTARTS.has(label)) return true;
  if (own === undefined || goesWithNextCommit(owner, path)) return false;
  return fieldsAt(own, path) === undefined || !isPassing(owner, path);
}

function isOfBoth([, ...path]: OwnedPath): boolean {
  let known: unknown = FIELDS_OF_BOTH;
  for (const element of path) {
    if (known === true) return true;
    known = asRecord(known)[element.slice(2)];
  }
  return known === true;
}

/** Whether git names it, or drops the item that it is within: who has only changed a value of an item does not keep it. */
function isSaid({ path, owner }: Leaf, body: JsonObject): boolean {
  if (isNamed(body, path)) return true;
  return path.some((element, at) => {
    const place = path.slice(0, at + 1);
    return element.startsWith('k:') && !isNamed(body, place) && !hasPutThere(owner, place);
  });
}

/** Whether there is a value at the path, or one on the way to it that has nothing below. */
function isNamed(object: object, path: OwnedPath): boolean {
  let value: unknown = object;
  for (const element of path) {
    if (value === undefined || value === null) return false;
    if (typeof value !== 'object') return true;
    value = valueAt(value, element);
  }
  return value !== undefined && value !== null;
}

function gathered(source: object, leaves: readonly Leaf[]): CarriedFields | undefined {
  if (leaves.length === 0) return undefined;
  const values = leaves.reduce<unknown>((all, { path }) => put(all, source, path, true), {});
  const owners = [...new Set(leaves.map(({ owner }) => owner))].map((owner) => ({
    ...owner,
    fieldsV1: leaves
      .filter((leaf) => leaf.owner === owner)
      .reduce<JsonObject>((fields, { path }) => withFields(itemsOwned(fields, path, owner), path, {}), {}),
  }));
  return { spec: asRecord(asRecord(values)['spec']), owners };
}

/** An item that the owner has put there is theirs with what tells it apart. */
function itemsOwned(fields: JsonObject, path: OwnedPath, owner: ManagedFields): JsonObject {
  return path.reduce<JsonObject>((all, element, at) => {
    const place = path.slice(0, at + 1);
    if (!hasPutThere(owner, place)) return all;
    const keys = Object.keys(keysOf(element)).map((key) => [`f:${key}`, {}] as const);
    return withFields(all, place, { '.': {}, ...Object.fromEntries(keys) });
  }, fields);
}

/** Whether the path leads to an item of a list, and the manager owns that it is there. */
function hasPutThere({ fieldsV1 }: ManagedFields, path: OwnedPath): boolean {
  return isOfList(path.at(-1) ?? '') && fieldsAt(fieldsV1, path)?.['.'] !== undefined;
}

/** `into` with what `from` has at the path. @param isInOrder Lists that it makes hold the other items of `from` too, by their keys alone */
function put(into: unknown, from: unknown, path: OwnedPath, isInOrder = false): unknown {
  const [element, ...rest] = path;
  if (element === undefined) return from;
  const there = valueAt(from, element);
  if (element.startsWith('f:')) {
    const name = element.slice(2);
    const present = asRecord(into);
    return { ...present, [name]: put(present[name], there, rest, isInOrder) };
  }
  const source: readonly unknown[] = Array.isArray(from) ? from : [];
  const keys = keysOf(element);
  const stubs = isInOrder && element.startsWith('k:') ? source.map((item) => onlyKeys(item, keys)) : [];
  const list: readonly unknown[] = Array.isArray(into) ? into : stubs;
  const at = list.findIndex((item) => isItem(element, item));
  if (at !== -1) return list.with(at, put(list[at], there, rest, isInOrder));
  const item = element.startsWith('v:') ? there : put(keys, there, rest, isInOrder);
  // Behind whatever of the list it was behind.
  const before = source.slice(0, source.indexOf(there)).toReversed();
  const isSame = (one: unknown, other: unknown) =>
    JSON.stringify(onlyKeys(one, keys)) === JSON.stringify(onlyKeys(other, keys));
  const behind = before
    .map((other) => list.findIndex((one) => isSame(one, other)))
    .find((index) => index !== -1);
  return list.toSpliced((behind ?? -1) + 1, 0, item);
}

function isOfList(element: string): boolean {
  return element.startsWith('k:') || element.startsWith('v:');
}

function keysOf(element: string): Readonly<Record<string, unknown>> {
  return element.startsWith('k:') ? asRecord(JSON.parse(element.slice(2))) : {};
}

/** What tells an item apart; an item that is no mapping is that itself. */
function onlyKeys(item: unknown, keys: Readonly<Record<string, unknown>>): unknown {
  if (typeof item !== 'object' || item === null) return item;
  const own = asRecord(item);
  return Object.fromEntries(
    Object.keys(keys).flatMap((key) => (own[key] === undefined ? [] : [[key, own[key]]])),
  );
}
