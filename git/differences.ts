/** What differs between two objects, by path; lists whose items have names are compared by name. Pure. */

import { isDeepStrictEqual } from 'node:util';

import { asRecord } from '../kubernetes/values.ts';
import { ownField } from '../planners/values.ts';
import { isMapping } from './value-kind.ts';

export interface Difference {
  /** `spec.template.spec.containers[app].image` */
  readonly path: string;
  /** Absent: it was not there. */
  readonly before?: unknown;
  /** Absent: it is not there any more. */
  readonly after?: unknown;
}

/** Fields that tell the items of a list apart, as the keys of Kubernetes' own lists do. */
const KEYS = ['name', 'containerPort', 'port', 'mountPath', 'key', 'ip', 'uid', 'topologyKey'] as const;

/** Differences in the order of the paths; none for equal values. */
export function differences(before: unknown, after: unknown, path = ''): readonly Difference[] {
  if (isDeepStrictEqual(before, after)) return [];
  if (Array.isArray(before) && Array.isArray(after)) return ofLists(before, after, path);
  if (isMapping(before) && isMapping(after)) return ofMappings(asRecord(before), asRecord(after), path);
  return [{ path, ...(before !== undefined && { before }), ...(after !== undefined && { after }) }];
}

function ofMappings(
  before: Readonly<Record<string, unknown>>,
  after: Readonly<Record<string, unknown>>,
  path: string,
): readonly Difference[] {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])].sort();
  return names.flatMap((name) =>
    differences(ownField(before, name), ownField(after, name), join(path, name)),
  );
}

function ofLists(before: readonly unknown[], after: readonly unknown[], path: string): readonly Difference[] {
  const key = KEYS.find((name) => isKeyedBy(before, name) && isKeyedBy(after, name));
  if (key === undefined) {
    const length = Math.max(before.length, after.length);
    return Array.from({ length }, (_, index) => index).flatMap((index) =>
      differences(before[index], after[index], `${path}[${String(index)}]`),
    );
  }
  const [old, present] = [before, after].map(
    (list) => new Map(list.map((item) => [String(asRecord(item)[key]), item])),
  );
  const names = [...new Set([...(old?.keys() ?? []), ...(present?.keys() ?? [])])];
  return names.flatMap((name) => differences(old?.get(name), present?.get(name), `${path}[${name}]`));
}

/** Every item has the field, and no two have the same value. */
function isKeyedBy(list: readonly unknown[], field: string): boolean {
  const values = list.map((item) => asRecord(item)[field]);
  const usable = values.every((value) => typeof value === 'string' || typeof value === 'number');
  return usable && new Set(values).size === values.length;
}

/** Names with dots or slashes (labels, annotations) are put into brackets. */
function join(path: string, name: string): string {
  if (/[./[\]]/.test(name)) return `${path}["${name}"]`;
  return path === '' ? name : `${path}.${name}`;
}
