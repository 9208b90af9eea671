/**
 * What others have put beside a manifest's own so that the two cannot be together: a port of the same name under another number, a
 * second kind of one volume. Server-side apply merges lists by their keys and keeps what somebody else owns, so the apiserver refuses
 * a manifest that is right. Pure.
 */

import { ApiError } from '../kubernetes/api-error.ts';
import type { OwnedPath } from '../kubernetes/managed-fields.ts';
import { othersFields } from '../kubernetes/managed-fields.ts';
import { asRecord } from '../kubernetes/values.ts';
import type { JsonObject, KubernetesObject } from '../planners/objects.ts';
import { patchCommand } from './patch-command.ts';
import type { PreparedObject } from './prepare.ts';
import type { Problem } from './problems.ts';
import { TRIED_BY_ITSELF, problem } from './problems.ts';
import { FIELD_MANAGER } from '../planners/names.ts';
import { isMapping } from './value-kind.ts';

/** One field, or one item of a list, that others own and the manifest does not name, although it names what is around it. */
export interface Foreign {
  /** `spec.ports[port=81,protocol="TCP"]` */
  readonly label: string;
  readonly path: OwnedPath;
  /** JSON pointer into the live object. */
  readonly pointer: string;
  readonly managers: readonly string[];
  /** What is there. */
  readonly value: unknown;
}

interface Candidate extends Foreign {
  readonly kind: 'field' | 'item';
  /** Of the mapping or list that it is in, without indexes and keys: `spec.ports`, `spec.volumes[]`. */
  readonly parent: string;
  /** Its name in a mapping. */
  readonly name: string;
  /** The manifest's items of the list. */
  readonly beside: readonly unknown[];
}

/** Of which a mapping may have one only. */
const HANDLERS = new Set(['exec', 'httpGet', 'tcpSocket', 'grpc', 'sleep']);

/**
 * What stands in the way of an apply, where that and nothing else is why it was refused; none otherwise.
 * @param body What was to be applied.
 */
export function collisions(
  error: unknown,
  body: JsonObject,
  live: KubernetesObject | undefined,
): readonly Foreign[] {
  // What names something that is refused itself is not found; it says nothing more.
  const refused = refusedFields(error).filter(({ text }) => !text.startsWith('Not found'));
  if (live === undefined || refused.length === 0) return [];
  const candidates = foreignBeside(body, live);
  const found = refused.map((one) => candidates.filter((candidate) => collides(candidate, one)));
  if (found.some((some) => some.length === 0)) return [];
  return [...new Set(found.flat())];
}

/**
 * A refusal of a manifest that may be right: what others own beside the field is named, and how to take it out.
 */
export function blamed(
  found: Problem,
  { path, label }: Pick<PreparedObject, 'path' | 'label'>,
  foreign: readonly Foreign[],
): Problem {
  const owners = foreign.map((one) => `"${one.managers.join('", "')}" owns ${one.label}`).slice(0, 5);
  const operations = foreign.map(({ pointer }) => ({ op: 'remove' as const, path: pointer })).toReversed();
  const command = patchCommand(path, operations);
  return problem(found.code, `${found.message} Beside it, in the cluster: ${owners.join('; ')}.`, {
    file: found.file,
    line: found.line,
    object: label,
    next: `If the manifest is right, take out what was put beside it: ${command} (${TRIED_BY_ITSELF}).`,
  });
}

/** What others own beside a field that is refused: it may be why, where the manifest itself is right. */
export function suspects(
  error: unknown,
  body: JsonObject,
  live: KubernetesObject | undefined,
): readonly Foreign[] {
  if (live === undefined) return [];
  const parents = new Set(
    refusedFields(error).flatMap(({ field }) => [field, field.replace(/(?:\.[^.[\]]+|\[\])$/, '')]),
  );
  return foreignBeside(body, live).filter(({ parent }) => parent.includes('.') && parents.has(parent));
}

interface RefusedField {
  /** Without indexes. */
  readonly field: string;
  /** `Duplicate value: "http"` */
  readonly text: string;
}

/** By field, what an apiserver refuses, or a policy of ours. */
function refusedFields(error: unknown): readonly RefusedField[] {
  if (!(error instanceof ApiError) || error.reason !== 'Invalid') return [];
  const causes = error.details?.causes ?? [];
  return causes.flatMap(({ field = '', message = '' }) => {
    if (field === '<nil>') return [];
    if (field !== '') return [{ field: withoutIndexes(field), text: message }];
    const [, said = ''] =
      /^ValidatingAdmissionPolicy 'fairlead-[^']*' .*? denied request: (.*)$/s.exec(message) ?? [];
    return said.split('; ').map((part) => {
      const at = part.indexOf(': ');
      return { field: withoutIndexes(part.slice(0, Math.max(at, 0))), text: part.slice(at + 2) };
    });
  });
}

function withoutIndexes(field: string): string {
  return field.replaceAll(/\[\d+\]/g, '[]');
}

function collides(candidate: Candidate, { field, text }: RefusedField): boolean {
  const { kind, parent, name, value, beside } = candidate;
  if (kind === 'field') {
    if (!text.startsWith('Forbidden')) return false;
    const isOneOfMany =
      text.includes('may not specify more than 1') && (parent.endsWith('volumes[]') || HANDLERS.has(name));
    const isBeside =
      field === parent || (field.startsWith(`${parent}.`) && !field.slice(parent.length + 1).includes('.'));
    return field === `${parent}.${name}` || (isOneOfMany && isBeside);
  }
  const key = field === parent || field === `${parent}[]` ? 'name' : fieldOfItem(field, parent);
  if (key === undefined) return false;
  const here = asRecord(value)[key];
  if (text.startsWith('Duplicate value'))
    return here !== undefined && beside.some((item) => asRecord(item)[key] === here);
  // A single port needs no name, one of two does.
  return text.startsWith('Required value') && beside.length === 1 && asRecord(beside[0])[key] === undefined;
}

function fieldOfItem(field: string, list: string): string | undefined {
  const rest = field.startsWith(`${list}[].`) ? field.slice(list.length + 3) : '';
  return /^\w+$/.test(rest) ? rest : undefined;
}

/** Everything that others own beside what the manifest names. */
function foreignBeside(body: JsonObject, live: KubernetesObject): readonly Candidate[] {
  const found = new Map<string, Candidate>();
  for (const { manager = 'unknown', fieldsV1 } of othersFields(live, FIELD_MANAGER)) {
    const top = { parent: '', label: '', path: [], pointer: '' };
    for (const candidate of walk(asRecord(fieldsV1), body, live, top)) {
      const key = JSON.stringify(candidate.path);
      const managers = [...new Set([...(found.get(key)?.managers ?? []), manager])];
      found.set(key, { ...candidate, managers });
    }
  }
  return [...found.values()];
}

interface Place {
  readonly parent: string;
  readonly label: string;
  readonly path: OwnedPath;
  readonly pointer: string;
}

function* walk(
  fields: Readonly<Record<string, unknown>>,
  body: unknown,
  live: unknown,
  { parent, label, path, pointer }: Place,
): Generator<Omit<Candidate, 'managers'>> {
  for (const [element, inner] of Object.entries(fields)) {
    const at = [...path, element];
    if (element.startsWith('f:') && isMapping(body) && isMapping(live)) {
      const name = element.slice(2);
      const [own, present] = [asRecord(body)[name], asRecord(live)[name]];
      const to = `${pointer}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`;
      const place = { parent: join(parent, name), label: join(label, name), path: at, pointer: to };
      if (own !== undefined && own !== null) yield* walk(asRecord(inner), own, present, place);
      else if (present !== undefined)
        yield { ...place, kind: 'field', parent, name, value: present, beside: [] };
    } else if (element.startsWith('k:') && Array.isArray(body) && Array.isArray(live)) {
      const keys = asRecord(JSON.parse(element.slice(2)));
      const index = live.findIndex((item) => hasKeys(item, keys));
      const value: unknown = live[index];
      const own: unknown = body.find((item) => hasKeys(item, keys));
      const place = {
        parent: `${parent}[]`,
        label: `${label}[${describeKeys(keys)}]`,
        path: at,
        pointer: `${pointer}/${index}`,
      };
      if (own !== undefined) yield* walk(asRecord(inner), own, value, place);
      else if (value !== undefined) yield { ...place, kind: 'item', parent, name: '', value, beside: body };
    }
  }
}

/** A key that an item leaves out has its default. */
function hasKeys(item: unknown, keys: Readonly<Record<string, unknown>>): boolean {
  const present = asRecord(item);
  return Object.entries(keys).every(([key, value]) => present[key] === undefined || present[key] === value);
}

function describeKeys(keys: Readonly<Record<string, unknown>>): string {
  return Object.entries(keys)
    .map(([key, value]) => `${key}=${JSON.stringify(value)}`)
    .join(',');
}

function join(path: string, name: string): string {
  return path === '' ? name : `${path}.${name}`;
}
