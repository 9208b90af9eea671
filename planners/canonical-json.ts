/** JSON exactly as Go's encoding/json writes a decoded map: the bytes of ControllerRevisions (C9). */

import { trusted } from './values.ts';

const HTML_ESCAPES: Readonly<Record<string, string>> = {
  '<': '\\u003c',
  '>': '\\u003e',
  '&': '\\u0026',
  '\u2028': '\\u2028',
  '\u2029': '\\u2029',
};

const memory = new WeakMap<object, string>();

/**
 * Compact, keys sorted, Go's HTML escapes, numbers by way of a double (the StatefulSet path of C9). Fields that are undefined
 * are left out. The result is remembered for an object: inputs must not be changed afterwards.
 */
export function canonicalJson(value: unknown): string {
  if (typeof value !== 'object' || value === null) return encode(value);
  const known = memory.get(value);
  if (known !== undefined) return known;
  const text = encode(value);
  memory.set(value, text);
  return text;
}

function encode(value: unknown): string {
  switch (typeof value) {
    case 'string':
      return encodeString(value);
    case 'number':
      // The shortest digits, with an exponent from 1e21 and below 1e-6: the same rule in both languages but for -0.
      return Object.is(value, -0) ? '-0' : JSON.stringify(value);
    case 'bigint':
      return String(Number(value));
    case 'boolean':
      return value ? 'true' : 'false';
    case 'object':
      if (value === null) return 'null';
      return Array.isArray(value) ? `[${value.map(encode).join(',')}]` : encodeObject(value);
    case 'undefined':
    case 'function':
    case 'symbol':
      return 'null';
  }
}

function encodeObject(object: object): string {
  const fields = trusted<Readonly<Record<string, unknown>>>(object);
  const parts: string[] = [];
  for (const key of Object.keys(fields).sort()) {
    const field = fields[key];
    if (field !== undefined) parts.push(`${encodeString(key)}:${encode(field)}`);
  }
  return `{${parts.join(',')}}`;
}

function encodeString(text: string): string {
  return JSON.stringify(text).replace(
    /[<>&\u2028\u2029]/g,
    (character) => HTML_ESCAPES[character] ?? character,
  );
}
