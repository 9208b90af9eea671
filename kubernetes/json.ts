/** JSON as Kubernetes needs it: int64 values beyond 2^53 survive as bigint (C10). */

import { parse as parseLossless, stringify as stringifyLossless } from 'lossless-json';

/** A number of 16 digits or more can only follow one of these; 2^53 has 16 digits. */
const LARGE_NUMBER = /[:,[]\s*-?\d{16}/;
const LONE_LARGE_NUMBER = /^\s*-?\d{16}/;
const INTEGER = /^-?\d+$/;

function parseNumber(text: string): number | bigint {
  const value = Number(text);
  return Number.isSafeInteger(value) || !INTEGER.test(text) ? value : BigInt(text);
}

/**
 * Parses JSON. Integers that a double cannot hold exactly become bigint, all other numbers stay numbers (C10). The slow
 * exact parser only runs on texts that may hold such a number.
 * @throws {SyntaxError} when the text is not JSON
 */
export function parseJson(text: string): unknown {
  if (!LARGE_NUMBER.test(text) && !LONE_LARGE_NUMBER.test(text)) return JSON.parse(text);
  return parseLossless(text, null, parseNumber);
}

/**
 * Writes JSON; a bigint becomes a plain number (C10).
 * @param space Spaces of indentation; none by default.
 * @throws {TypeError} when the value has no JSON form (undefined, a function)
 */
export function stringifyJson(value: unknown, space?: number): string {
  const text = holdsBigint(value)
    ? stringifyLossless(value, null, space)
    : JSON.stringify(value, null, space);
  if (text === undefined) throw new TypeError(`a value of type ${typeof value} has no JSON form`);
  return text;
}

const GO_ESCAPES: Readonly<Record<string, string>> = {
  '<': '\\u003c',
  '>': '\\u003e',
  '&': '\\u0026',
  '\u2028': '\\u2028',
  '\u2029': '\\u2029',
};

/**
 * Writes JSON as Go does: keys sorted, HTML escaped, int64 exact (C9, C10). For bodies of requests: the apiserver keeps
 * `data` of a ControllerRevision as it came and calls it immutable, but a strategic merge patch writes it anew, Go's way. A
 * revision in any other spelling can never be orphaned by the garbage collector, nor labelled by kubectl.
 * @throws {TypeError} when the value has no JSON form (undefined, a function)
 */
export function stringifyBody(value: unknown): string {
  const text = writeLikeGo(value);
  if (text === undefined) throw new TypeError(`a value of type ${typeof value} has no JSON form`);
  return text;
}

function writeLikeGo(value: unknown): string | undefined {
  if (typeof value === 'bigint') return String(value);
  if (typeof value === 'string') {
    return JSON.stringify(value).replace(/[<>&\u2028\u2029]/g, (found) => GO_ESCAPES[found] ?? found);
  }
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map((entry) => writeLikeGo(entry) ?? 'null').join(',')}]`;
  const fields: string[] = [];
  for (const [key, field] of Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))) {
    const written = writeLikeGo(field);
    if (written !== undefined) fields.push(`${writeLikeGo(key) ?? ''}:${written}`);
  }
  return `{${fields.join(',')}}`;
}

function holdsBigint(value: unknown): boolean {
  if (typeof value === 'bigint') return true;
  if (typeof value !== 'object' || value === null) return false;
  for (const entry of Array.isArray(value) ? value : Object.values(value)) {
    if (holdsBigint(entry)) return true;
  }
  return false;
}
