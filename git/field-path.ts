/** Fields as the apiserver names them in what it refuses. Pure. */

import type { JsonObject } from '../planners/objects.ts';
import { isMapping } from './value-kind.ts';

/** Keys and indexes from the top of an object. */
export type FieldPath = readonly (string | number)[];

/**
 * Where in the object a path of the apiserver leads: `.spec.containers[name="a"].env[0].value`, `.data.a.b`. Names of fields may hold
 * dots, so the object says where one ends. Undefined when it leads nowhere.
 */
export function locate(value: unknown, path: string): FieldPath | undefined {
  if (path === '') return [];
  if (Array.isArray(value)) {
    const items: readonly unknown[] = value;
    const [whole = '', inside = ''] = /^\[((?:"(?:[^"\\]|\\.)*"|[^\]"])*)\]/.exec(path) ?? [];
    const index = /^\d+$/.test(inside) ? Number(inside) : items.findIndex((item) => isItem(item, inside));
    return whole === '' ? undefined : below(items, index, path.slice(whole.length));
  }
  if (!isMapping(value)) return undefined;
  const rest = path.replace(/^\./, '');
  const names = Object.keys(value).filter((name) => {
    const after = rest.slice(name.length);
    return rest.startsWith(name) && (after === '' || after.startsWith('.') || after.startsWith('['));
  });
  for (const name of names.toSorted((a, b) => b.length - a.length)) {
    const found = below(value, name, rest.slice(name.length));
    if (found !== undefined) return found;
  }
  return undefined;
}

function below(
  value: JsonObject | readonly unknown[],
  key: string | number,
  path: string,
): FieldPath | undefined {
  const inner: unknown = Array.isArray(value)
    ? value[Number(key)]
    : isMapping(value)
      ? value[key]
      : undefined;
  const rest = inner === undefined ? undefined : locate(inner, path);
  return rest === undefined ? undefined : [key, ...rest];
}

/** `name="main"`, `containerPort=80,protocol="TCP"`; keys that an item leaves out have their defaults. `"a"` is an item of a set. */
function isItem(item: unknown, inside: string): boolean {
  if (!isMapping(item)) return JSON.stringify(item) === inside.replace(/^=/, '');
  const pairs = [...inside.matchAll(/(\w+)=("(?:[^"\\]|\\.)*"|[^,]*)/g)];
  return (
    pairs.length > 0 &&
    pairs.every(([, key = '', value = '']) => item[key] === undefined || JSON.stringify(item[key]) === value)
  );
}
