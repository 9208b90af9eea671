/** From a field path of the apiserver to a line of the file. Not a parser: a good place to look. */

import type { SourceText } from './source-text.ts';
import { spellings } from './yaml-scalars.ts';

/**
 * The line (1-based) of a field such as `spec.template.spec.containers[0].image`, `.spec.containers[name="main"].image`,
 * `.spec.ports[port=80,protocol="TCP"].name` or `metadata.annotations[example.com/a]`, looked for from the object's first line down to
 * the end of its document. Where a part of the path is not found, the line of the part before it; undefined when not even the first one is.
 */
export function findFieldLine({ lines }: SourceText, firstLine: number, field: string): number | undefined {
  const document = { lines, end: find(lines, firstLine, lines.length, isDocumentStart) ?? lines.length };
  let at = firstLine - 1;
  let found: number | undefined;
  for (const [, name, bracket] of field.matchAll(/([^.[\]]+)|\[([^\]]*)\]/g)) {
    const next = name === undefined ? findBracket(document, at, bracket ?? '') : findKey(document, at, name);
    if (next === undefined) break;
    found = next;
    at = next;
  }
  return found === undefined ? undefined : found + 1;
}

/** The lines of a file up to the end of one document. */
interface Document {
  readonly lines: readonly string[];
  readonly end: number;
}

/** Index of the first line from `from` on that fits. */
function find(
  lines: readonly string[],
  from: number,
  end: number,
  fits: (line: string) => boolean,
): number | undefined {
  for (let number = from; number < end; number++) if (fits(lines[number] ?? '')) return number;
  return undefined;
}

function isDocumentStart(line: string): boolean {
  return /^---(?:\s|$)/.test(line);
}

/** `[2]`, `[name="main"]`, `[port=80,protocol="TCP"]`, or a key that holds dots. */
function findBracket(document: Document, from: number, inside: string): number | undefined {
  if (/^\d+$/.test(inside)) return findItem(document, from + 1, Number(inside));
  if (!ASSOCIATIVE.test(inside)) return findKey(document, from, inside.replaceAll('"', ''));
  // The apiserver may have filled in the others.
  const [, key = '', quoted, number = ''] = /^(\w+)=(?:"([^"]*)"|(\w+))/.exec(inside) ?? [];
  const { lines, end } = document;
  const isIn = quoted === undefined ? holdsNumber : holds;
  const found = find(lines, from, end, (line) => isIn(line, quoted ?? number) && isKey(line, key));
  return found === undefined ? undefined : beginOfItem(lines, from, found);
}

/** `name="main"`, `containerPort=80,protocol="TCP"`: keys of a list's items. */
const ASSOCIATIVE = /^(?:(?:^|,)\w+=(?:"[^"]*"|\w+))+$/;

function holds(line: string, value: string): boolean {
  return line.includes(value);
}

function holdsNumber(line: string, value: string): boolean {
  return new RegExp(`\\b${value}\\b`).test(line);
}

/** The first line of the item that a line is in, whose other keys may come before; the line itself where it is in none. */
function beginOfItem(lines: readonly string[], from: number, at: number): number {
  const indent = (lines[at] ?? '').search(/\S/);
  for (let number = at; number > from; number--) {
    const line = lines[number] ?? '';
    const own = line.search(/\S/);
    if (line[own] === '-' && own <= indent) return number;
    if (own >= 0 && own < indent) return line.trim() === '{' ? number : at;
  }
  return at;
}

function findKey({ lines, end }: Document, from: number, name: string): number | undefined {
  const names = spellings(name);
  return find(lines, from, end, (line) => names.some((one) => isKey(line, one)));
}

/** The key at the beginning of a line, or anywhere in one of flow style. */
function isKey(line: string, name: string): boolean {
  for (let at = line.indexOf(name); at >= 0; at = line.indexOf(name, at + 1)) {
    if (beginsKey(line, at) && /^["']?\s*:/.test(line.slice(at + name.length))) return true;
  }
  return false;
}

/** Nothing, or what may stand before a key. (Looked at backwards: the whole of JSON may be one line, with thousands of keys.) */
function beginsKey(line: string, at: number): boolean {
  let before = at - 1;
  while (before >= 0 && /\s/.test(line[before] ?? '')) before -= 1;
  return before < 0 || '-{,["\''.includes(line[before] ?? '');
}

/** Item `index` of the first block list at or below a line. */
function findItem({ lines, end }: Document, from: number, index: number): number | undefined {
  const first = find(lines, from, end, (line) => /^\s*-(?:\s|$)/.test(line));
  if (first === undefined) return undefined;
  const indent = (lines[first] ?? '').indexOf('-');
  let seen = -1;
  for (let number = first; number < end; number++) {
    const line = lines[number] ?? '';
    if (line.trim() === '' || line.trim().startsWith('#')) continue;
    const own = line.search(/\S/);
    if (own < indent) return undefined;
    if (own !== indent) continue;
    if (line[own] !== '-') return undefined;
    seen += 1;
    if (seen === index) return number;
  }
  return undefined;
}
