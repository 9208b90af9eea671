/** Rewrites JSON as Go would after decoding it into its types and encoding it again (C9). */

import { POD_TEMPLATE_TYPES } from './pod-template-types.ts';
import { canonicalQuantity } from './quantity.ts';
import { asFields } from './values.ts';
import type { Fields } from './values.ts';

/** A field of a Go type, and how Go writes it. */
export interface Field {
  readonly name: string;
  readonly kind:
    | 'scalar'
    | 'always'
    | 'pointer'
    | 'struct'
    | 'structPointer'
    | 'quantity'
    | 'quantityPointer'
    | 'list'
    | 'map'
    | 'quantityMap';
  /** Name of the struct, or undefined for scalars. */
  readonly type?: string;
  /** What a missing value becomes; undefined = left out. */
  readonly missing?: unknown;
}

const parsed = new Map<string, readonly Field[]>();

/**
 * Gives a deep copy of a struct of that type as Go writes it: nulls, zero values and empty lists go where Go leaves them out,
 * come where it does not; quantities are canonical. Fields that the type does not have are kept: a newer apiserver knows them.
 */
export function goShape(value: unknown, type: string): Fields {
  const source = asFields(value) ?? {};
  const fields = fieldsOf(type);
  const shaped: Fields = {};
  for (const field of fields) {
    const written = shapeField(field, source[field.name]);
    if (written !== undefined) shaped[field.name] = written;
  }
  const known = new Set(fields.map(({ name }) => name));
  for (const [name, unknownField] of Object.entries(source)) {
    if (!known.has(name) && unknownField !== null && unknownField !== undefined) {
      shaped[name] = structuredClone(unknownField);
    }
  }
  return shaped;
}

function shapeField(field: Field, value: unknown): unknown {
  const absent = value === null || value === undefined;
  switch (field.kind) {
    case 'scalar':
      // Of numbers alone 0 is nothing: the text "0" is a value of its own.
      return absent || value === '' || value === false || value === 0 ? undefined : value;
    case 'always':
      return absent ? field.missing : value;
    case 'pointer':
      return absent ? undefined : structuredClone(value);
    case 'struct':
      return goShape(value, field.type ?? '');
    case 'structPointer':
      return absent ? undefined : goShape(value, field.type ?? '');
    case 'quantity':
      return absent ? '0' : quantity(value);
    case 'quantityPointer':
      return absent ? undefined : quantity(value);
    case 'list':
      return shapeList(field, value);
    case 'map':
    case 'quantityMap':
      return shapeMap(field, value);
    default:
      return value;
  }
}

function shapeList(field: Field, value: unknown): unknown {
  if (!Array.isArray(value) || value.length === 0) return field.missing;
  const { type } = field;
  return type === undefined ? [...value] : value.map((element) => goShape(element, type));
}

function shapeMap(field: Field, value: unknown): unknown {
  const entries = Object.entries(asFields(value) ?? {});
  if (entries.length === 0) return field.missing;
  const write =
    field.kind === 'quantityMap' ? (one: unknown) => quantity(one, true) : (one: unknown) => one ?? '';
  return Object.fromEntries(entries.map(([key, entry]) => [key, write(entry)]));
}

function quantity(value: unknown, milli = false): unknown {
  return typeof value === 'string' || typeof value === 'number' ? canonicalQuantity(value, milli) : value;
}

/** Those of a type of {@link POD_TEMPLATE_TYPES}. */
export function fieldsOf(type: string): readonly Field[] {
  let fields = parsed.get(type);
  if (fields === undefined) {
    fields = (POD_TEMPLATE_TYPES[type] ?? '').split(' ').map(parseField);
    parsed.set(type, fields);
  }
  return fields;
}

const ZEROS: Readonly<Record<string, unknown>> = { "''": '', '0': 0, false: false, i: 0 };

function parseField(text: string): Field {
  const name = /^[A-Za-z0-9-]+/.exec(text)?.[0] ?? text;
  const notation = text.slice(name.length);
  if (notation === '') return { name, kind: 'scalar' };
  if (notation === '*') return { name, kind: 'pointer' };
  if (notation === '=q') return { name, kind: 'quantity' };
  if (notation === '?q') return { name, kind: 'quantityPointer' };
  if (notation.startsWith('=')) return { name, kind: 'struct', type: notation.slice(1) };
  if (notation.startsWith('?')) return { name, kind: 'structPointer', type: notation.slice(1) };
  const required = notation.startsWith('!');
  const rest = required ? notation.slice(1) : notation;
  const missing = required ? { missing: null } : {};
  if (rest === '{}') return { name, kind: 'map', ...missing };
  if (rest === '{q}') return { name, kind: 'quantityMap', ...missing };
  if (rest === '[]') return { name, kind: 'list', ...missing };
  if (rest.startsWith('[]')) return { name, kind: 'list', type: rest.slice(2), ...missing };
  return { name, kind: 'always', missing: ZEROS[rest] };
}
