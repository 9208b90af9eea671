/**
 * Fields that git had applied and names no more. Server-side apply removes them, unless somebody else owns them too with the very same
 * value: whoever ran `kubectl apply` by hand before sync did, for one. What tools of people hold is taken out all the same, for the value is git's; what
 * another applier or controller holds is its to keep, and is told. So it is of fields that git names and people have set to its very value.
 * Also what an undo has brought back goes, of a template and of a Deployment's annotations, be it that git never applied it under this manifest:
 * the next one that git rolls out takes all of it back. Pure.
 */

import { isDeepStrictEqual } from 'node:util';

import { ApiError } from '../kubernetes/api-error.ts';
import type { ManagedFields, OwnedPath, PatchOperation } from '../kubernetes/managed-fields.ts';
import {
  appliedFields,
  fieldsAt,
  isItem,
  othersFields,
  othersFieldsOfSpec,
  valueAt,
} from '../kubernetes/managed-fields.ts';
import { asRecord, trusted } from '../kubernetes/values.ts';
import { RESTARTED, RESTARTED_AT } from '../kubernetes/template-edits.ts';
import { goesBack } from '../planners/deployment-annotations.ts';
import { merged } from '../planners/field-owners.ts';
import { FIELD_MANAGER } from '../planners/names.ts';
import type { JsonObject, KubernetesObject } from '../planners/objects.ts';
import { UNDO_MANAGERS } from './decision.ts';
import { firstOf } from '../planners/first-of.ts';

/** A field, or an item of a list, that git drops and others own as well. */
export interface DroppedField {
  readonly path: OwnedPath;
  /** `data.color`, `spec.template.spec.containers[name="main"].env` */
  readonly label: string;
  /** JSON pointer into the live object. */
  readonly pointer: string;
  readonly managers: readonly string[];
  /** People alone hold it, but more of it than git has applied: it may be that nobody has written that. */
  readonly hasMore?: true;
}

export interface DroppedFields {
  /** Held by tools of people alone: an apply that owns them takes them out. */
  readonly taken: readonly DroppedField[];
  /** Held by others. */
  readonly kept: readonly DroppedField[];
}

/** Field managers of what people run by hand: a write of theirs is no claim that lasts (Flux takes these over, too). */
const BY_HAND = /^(?:kubectl(?:-.*)?|before-first-apply)$/;

const TEMPLATE_ANNOTATIONS = 'spec.template.metadata.annotations';
/** What says when a template was restarted: it holds for whatever template there is, and without it the pods would be replaced once more. */
export const RESTARTS: ReadonlySet<string> = new Set(
  [RESTARTED_AT, RESTARTED].map((name) => `${TEMPLATE_ANNOTATIONS}.${name}`),
);

const TEMPLATE: OwnedPath = ['f:spec', 'f:template'];
const ANNOTATIONS: OwnedPath = ['f:metadata', 'f:annotations'];

/** Dropped for an autoscaler: taken out before that has set it, it would be 1. */
export const SIZE = 'spec.replicas';

/**
 * @param live As it is there, with the owners that {@link handFields} tells of
 * @param body What is about to be applied.
 * @param changed Of fields that git has applied before, those to which people have given another value since
 * @param defaulted What the apiserver made of the manifest that was applied last: its defaults are nobody's. Undefined: not known
 */
export function droppedFields(
  live: KubernetesObject | undefined,
  body: JsonObject,
  changed: JsonObject = {},
  defaulted?: KubernetesObject,
): DroppedFields {
  const own = live && appliedFields(live, FIELD_MANAGER);
  if (live === undefined || own === undefined) return { taken: [], kept: [] };
  const isAsApplied = ({ path }: Place): boolean =>
    defaulted !== undefined &&
    isDeepStrictEqual(
      withoutAllocated(valueIn(live, { path })),
      withoutAllocated(valueIn(defaulted, { path })),
    );
  const others: Others = { entries: othersFields(live, FIELD_MANAGER), isAsApplied };
  const ofUndo = others.entries.filter(isOfUndo).map((entry) => broughtBack(entry, live));
  const all = [own, ...ofUndo].flatMap((fields) => [...dropped(fields, body, live, others)]);
  const found = outermost(all);
  const ofPeople = [...dropped(changed, body, live, others)].map((one) => ({ ...one, isByHand: false }));
  return {
    taken: found.filter(({ isByHand }) => isByHand),
    kept: outermost([...found.filter(({ isByHand }) => !isByHand), ...ofPeople]),
  };
}

/**
 * What git drops and nobody else holds, and is there as before all the same: the apiserver keeps it (a Service stays headless), or gives it
 * that value itself.
 * @param result As a dry run answers.
 */
export function keptAlone(
  live: KubernetesObject | undefined,
  body: JsonObject,
  result: KubernetesObject,
): readonly Pick<DroppedField, 'path' | 'label'>[] {
  const own = live && appliedFields(live, FIELD_MANAGER);
  if (live === undefined || own === undefined) return [];
  const others = othersFieldsOfSpec(live, FIELD_MANAGER);
  const places = [...leaving(own, TOP, body, live)].map(({ at }) => at);
  return places.filter((at) => {
    const value = valueIn(result, at);
    const isAlone = others.every(({ fieldsV1 }) => fieldsAt(fieldsV1, at.path) === undefined);
    return isAlone && value !== undefined && isDeepStrictEqual(value, valueIn(live, at));
  });
}

/** Both: where an apply is refused for one, that is taken out whoever holds it. */
export function allDropped({ taken, kept }: DroppedFields): readonly DroppedField[] {
  return [...taken, ...kept];
}

/** What an apply that was refused for it has taken out, and from whom, in a sentence. */
export function describeTaken(object: string, fields: readonly DroppedField[]): string {
  const parts = fields.map(({ label, managers }) => `${label} from "${managers.join('", "')}"`);
  const told = firstOf(parts, MOST_TOLD, { separator: '; ' });
  return `${object}: git has taken out ${told}: it cannot be beside what git has now`;
}

/** Fields that one sentence names. */
const MOST_TOLD = 5;

/** What there is of it in the object. */
export function valueIn(live: KubernetesObject | undefined, { path }: Pick<DroppedField, 'path'>): unknown {
  return path.reduce<unknown>(valueAt, live);
}

/** Tests of a JSON patch that hold as long as each item of a list on the way to the field is where it was. */
export function testsOf({
  path,
  pointer,
}: Pick<DroppedField, 'path' | 'pointer'>): readonly PatchOperation[] {
  const places = pointer.split('/').slice(1);
  return path.flatMap((element, index): readonly PatchOperation[] => {
    const place = `/${places.slice(0, index + 1).join('/')}`;
    if (element.startsWith('v:'))
      return [{ op: 'test', path: place, value: JSON.parse(element.slice(2)) as unknown }];
    if (!element.startsWith('k:')) return [];
    return Object.entries(asRecord(JSON.parse(element.slice(2)))).map(([key, value]) => ({
      op: 'test',
      path: `${place}/${key}`,
      value,
    }));
  });
}

/** What the apply makes of the object once they are taken out. @param result As a dry run answers, which leaves them there */
export function withoutTaken(
  { taken }: Pick<DroppedFields, 'taken'>,
  result: KubernetesObject,
): KubernetesObject {
  return trusted<KubernetesObject>(taken.reduce<unknown>((rest, { path }) => without(rest, path), result));
}

/**
 * Those of the fields that a refusal is about, if it may be about nothing else: about what the apply leaves of one that somebody has a part
 * of, or about one that cannot be beside it (a second kind of a probe, a `value` and a `valueFrom`). None otherwise.
 */
export function inTheWay<T extends Pick<DroppedField, 'label'>>(
  error: unknown,
  those: readonly T[],
): readonly T[] {
  if (!(error instanceof ApiError) || error.reason !== 'Invalid') return [];
  // That some rules were not checked is no refusal.
  const causes = (error.details?.causes ?? []).filter(({ field }) => field !== '<nil>');
  const found = causes.map(({ field = '', message = '' }) => {
    const place = withoutItems(field);
    return those.filter(({ label: own }) => {
      const label = withoutItems(own);
      return isIn(place, label) || (ONE_OF_SEVERAL.test(message) && isBeside(place, label));
    });
  });
  return found.some((some) => some.length === 0) ? [] : [...new Set(found.flat())];
}

/** Of fields that exclude each other. */
const ONE_OF_SEVERAL = /may not (?:be specified|specify)|must not be (?:set|specified)|mutually exclusive/;

function isIn(field: string, outer: string): boolean {
  return field === outer || field.startsWith(`${outer}.`) || field.startsWith(`${outer}[`);
}

function isBeside(place: string, label: string): boolean {
  const parent = label.slice(0, Math.max(label.lastIndexOf('.'), 0));
  return parent !== '' && (place === parent || place.slice(0, place.lastIndexOf('.')) === parent);
}

/** The apiserver names items by their index there, and we by their keys. */
function withoutItems(field: string): string {
  return field.replaceAll(/\[(?:"(?:[^"\\]|\\.)*"|[^"\]])*\]/g, '[]');
}

/** Whether people have written to the object by hand. */
export function hasHandFields(live: KubernetesObject): boolean {
  return othersFields(live, FIELD_MANAGER).some(isOfPeople);
}

/**
 * What people have set by hand of the fields that a manifest names, as `fieldsV1`: whoever changes a value takes the field from git, also when it has
 * git's value again later. `agreed`: those that have it.
 */
export function handFields(
  live: KubernetesObject,
  applied: JsonObject,
): { readonly agreed: JsonObject; readonly changed: JsonObject } {
  const entries = othersFields(live, FIELD_MANAGER).filter(isOfPeople);
  const pick = (isWanted: (isSame: boolean) => boolean): JsonObject =>
    entries.reduce<JsonObject>(
      (all, { fieldsV1 = {} }) => merged(all, partsNamed(fieldsV1, applied, live, isWanted)),
      {},
    );
  return { agreed: pick((isSame) => isSame), changed: pick((isSame) => !isSame) };
}

/** The fields that `applied` names as well, and whose value is the same, or is not. */
function partsNamed(
  fields: JsonObject,
  applied: unknown,
  live: unknown,
  isWanted: (isSame: boolean) => boolean,
): JsonObject {
  const found = Object.entries(fields).flatMap(([element, inner]): [string, JsonObject][] => {
    const [said, there] = [valueAt(applied, element), valueAt(live, element)];
    if (element === '.' || said === undefined || said === null || there === undefined) return [];
    const parts = asRecord(inner);
    if (Object.keys(parts).length === 0)
      return isWanted(isDeepStrictEqual(said, there)) ? [[element, {}]] : [];
    const within = partsNamed(parts, said, there, isWanted);
    return Object.keys(within).length === 0 ? [] : [[element, within]];
  });
  return Object.fromEntries(found);
}

/**
 * Fields that people have set by hand to the very value that git has applied, as the apiserver names them in a conflict
 * (`.spec.containers[name="main"].image`): both own them, and nobody's value is lost when git changes them.
 */
export function agreedFields(live: KubernetesObject): ReadonlySet<string> {
  const own = appliedFields(live, FIELD_MANAGER) ?? {};
  const others = othersFieldsOfSpec(live, FIELD_MANAGER);
  return new Set(agreed(own, TOP, live, others));
}

function* agreed(
  own: JsonObject,
  place: Place,
  live: unknown,
  others: readonly ManagedFields[],
): Generator<string> {
  for (const [element, inner] of Object.entries(own)) {
    const at = element === '.' ? undefined : step(place, element, live);
    if (at === undefined) continue;
    const parts = asRecord(inner);
    if (Object.keys(parts).some((name) => name !== '.'))
      yield* agreed(parts, at, valueAt(live, element), others);
    else {
      const owners = others.filter(({ fieldsV1 }) => fieldsAt(fieldsV1, at.path) !== undefined);
      if (owners.length > 0 && owners.every(isOfPeople)) yield `.${at.label}`;
    }
  }
}

/** Each once, and none that is within another. */
function outermost(all: readonly Found[]): readonly Found[] {
  const byPointer = new Map(all.map((one) => [one.pointer, one]));
  const isWithinAnother = ({ pointer }: Found): boolean =>
    [...byPointer.keys()].some((other) => pointer.startsWith(`${other}/`));
  return [...byPointer.values()].filter((one) => !isWithinAnother(one));
}

/** What an operator's way back has written. */
function isOfUndo({ manager = '', operation }: ManagedFields): boolean {
  return operation === 'Update' && UNDO_MANAGERS.has(manager);
}

/** The fields of it that may be of an undo, and not of another wish. */
function broughtBack({ fieldsV1 }: ManagedFields, { kind }: KubernetesObject): JsonObject {
  const template = fieldsAt(fieldsV1, TEMPLATE);
  const annotations = Object.entries(fieldsAt(fieldsV1, ANNOTATIONS) ?? {}).filter(([element]) =>
    isBroughtBack([...ANNOTATIONS, element]),
  );
  const isWithAnnotations = kind === 'Deployment' && annotations.length > 0;
  return {
    ...(template !== undefined && { 'f:spec': { 'f:template': template } }),
    ...(isWithAnnotations && { 'f:metadata': { 'f:annotations': Object.fromEntries(annotations) } }),
  };
}

function isBroughtBack(path: OwnedPath): boolean {
  const key = path[ANNOTATIONS.length] ?? '';
  const isBelow = (outer: OwnedPath) => outer.every((element, at) => path[at] === element);
  return isBelow(TEMPLATE) || (isBelow(ANNOTATIONS) && key.startsWith('f:') && goesBack(key.slice(2)));
}

/** Whether it owns the field for no longer than until git says something else. */
export function isPassing(entry: ManagedFields, path: OwnedPath): boolean {
  return isOfPeople(entry) || goesWithNextCommit(entry, path);
}

/** Whether an undo has brought the field back: the next commit takes it away, also where git has never named it. */
export function goesWithNextCommit(entry: ManagedFields, path: OwnedPath): boolean {
  return isOfUndo(entry) && isBroughtBack(path);
}

/** How a field is called: `spec.template.spec.containers[name="main"].env`. Empty: it is not there. */
export function labelOf(path: OwnedPath, object: unknown): string {
  let [place, value]: [Place | undefined, unknown] = [TOP, object];
  for (const element of path) {
    place = place && step(place, element, value);
    value = valueAt(value, element);
  }
  return place?.label ?? '';
}

function isOfPeople({ manager = '', operation }: ManagedFields): boolean {
  return operation === 'Update' && isHand(manager);
}

/** Whether a field manager is a tool that people run by hand. */
export function isHand(manager: string): boolean {
  return BY_HAND.test(manager);
}

type Found = DroppedField & { readonly isByHand: boolean };

type Place = Pick<DroppedField, 'path' | 'label' | 'pointer'>;

interface Others {
  readonly entries: readonly ManagedFields[];
  /** Whether all that is there is what the apiserver makes of what git has applied. */
  readonly isAsApplied: (place: Place) => boolean;
}

const TOP: Place = { path: [], label: '', pointer: '' };

/** What git has applied and names no more, outermost, with the value that it is in. */
function* leaving(
  own: JsonObject,
  place: Place,
  body: unknown,
  within: unknown,
): Generator<{ readonly at: Place; readonly inner: JsonObject; readonly within: unknown }> {
  for (const [element, inner] of Object.entries(own)) {
    const at = element === '.' ? undefined : step(place, element, within);
    if (at === undefined || at.label === SIZE) continue;
    const named = valueAt(body, element);
    if (named === undefined || named === null) yield { at, inner: asRecord(inner), within };
    else yield* leaving(asRecord(inner), at, named, valueAt(within, element));
  }
}

function* dropped(own: JsonObject, body: unknown, live: unknown, others: Others): Generator<Found> {
  for (const { at, inner, within } of leaving(own, TOP, body, live)) yield* shared(inner, at, within, others);
}

/** Of what the manifest names no more, the parts that somebody else owns too. */
function* shared(own: JsonObject, at: Place, live: unknown, others: Others): Generator<Found> {
  const element = at.path.at(-1) ?? '';
  const owners = others.entries.flatMap((entry) => {
    const there = fieldsAt(entry.fieldsV1, at.path);
    // Who has only changed a value of an item does not keep it.
    return there === undefined || (element.startsWith('k:') && !('.' in there)) ? [] : [{ entry, there }];
  });
  if (owners.length === 0 || RESTARTS.has(at.label)) return;
  const managers = [...new Set(owners.map(({ entry }) => entry.manager ?? 'unknown'))];
  if (owners.every(({ there }) => hasOnlyValuesOfItems(there))) {
    // All of its items go, and the apiserver would be left with a list that is null.
    yield { ...at, managers, isByHand: true };
    return;
  }
  const isByHand = owners.every(({ entry }) => isPassing(entry, at.path));
  const isWithinGits = owners.every(({ there }) => isWithin(there, own));
  const isWhole = isWithinGits || (isByHand && others.isAsApplied(at));
  const parts = Object.entries(own).filter(([name]) => name !== '.');
  // Somebody has put more there: of a mapping git's part goes; an item of a list would be left without what tells it apart.
  const isInParts = !isWhole || at.label === TEMPLATE_ANNOTATIONS;
  if (isInParts && element.startsWith('f:') && parts.length > 0) {
    const inside = valueAt(live, element);
    for (const [name, inner] of parts) {
      const next = step(at, name, inside);
      if (next !== undefined) yield* shared(asRecord(inner), next, inside, others);
    }
    return;
  }
  yield { ...at, managers, isByHand: isByHand && isWhole, ...(isByHand && !isWhole && { hasMore: true }) };
}

/** Without what the apiserver gives to each object anew. */
function withoutAllocated(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  const { nodePort: _, ...others } = asRecord(value);
  return others;
}

/** Of a list in which nobody has an item. */
function hasOnlyValuesOfItems(fields: JsonObject): boolean {
  const parts = Object.entries(fields).filter(([name]) => name !== '.');
  return (
    parts.length > 0 && parts.every(([name, inner]) => name.startsWith('k:') && !('.' in asRecord(inner)))
  );
}

/** Whether everything that is owned there is owned here as well. */
function isWithin(there: JsonObject, here: JsonObject): boolean {
  return Object.entries(there).every(
    ([name, inner]) => name === '.' || (name in here && isWithin(asRecord(inner), asRecord(here[name]))),
  );
}

/** One element further down; undefined where nothing is there. */
function step({ path, label, pointer }: Place, element: string, live: unknown): Place | undefined {
  const next = [...path, element];
  if (element.startsWith('f:')) {
    const name = element.slice(2);
    if (asRecord(live)[name] === undefined) return undefined;
    const escaped = name.replaceAll('~', '~0').replaceAll('/', '~1');
    return { path: next, label: label === '' ? name : `${label}.${name}`, pointer: `${pointer}/${escaped}` };
  }
  const index = Array.isArray(live) ? live.findIndex((item) => isItem(element, item)) : -1;
  if (index === -1) return undefined;
  return { path: next, label: `${label}[${describeItem(element)}]`, pointer: `${pointer}/${index}` };
}

/** `name="main"`, `"example.com/finalizer"` */
function describeItem(element: string): string {
  if (element.startsWith('v:')) return element.slice(2);
  return Object.entries(asRecord(JSON.parse(element.slice(2))))
    .map(([key, value]) => `${key}=${JSON.stringify(value)}`)
    .join(',');
}

function without(value: unknown, path: OwnedPath): unknown {
  const [first, ...rest] = path;
  if (first === undefined || value === undefined) return value;
  if (first.startsWith('f:')) {
    const name = first.slice(2);
    const { [name]: inner, ...others } = asRecord(value);
    return rest.length === 0 || inner === undefined ? others : { ...others, [name]: without(inner, rest) };
  }
  if (!Array.isArray(value)) return value;
  return value.flatMap((item: unknown) => {
    if (!isItem(first, item)) return [item];
    return rest.length === 0 ? [] : [without(item, rest)];
  });
}
