/** From a field path of the apiserver to a line of the file. Not a parser: a good place to look. */

/**
 * The line (1-based) of a field such as `spec.template.spec.containers[0].image`, `.spec.containers[name="main"].image` or
 * `metadata.annotations[example.com/a]`, looked for from the object's first line down to the end of its document. Where a
 * part of the path is not found, the line of the part before it; undefined when not even the first one is.
 */
export function findFieldLine(text: string, firstLine: number, field: string): number | undefined {
  const lines = text.split(/\r\n|\n|\r/);
  const end = lines.findIndex((line, number) => number >= firstLine && /^---(?:\s|$)/.test(line));
  const document = end < 0 ? lines : lines.slice(0, end);
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

/** `[2]`, `[name="main"]`, or a key that holds dots. */
function findBracket(lines: readonly string[], from: number, inside: string): number | undefined {
  if (/^\d+$/.test(inside)) return findItem(lines, from + 1, Number(inside));
  const pair = /^(\w+)="(.*)"$/.exec(inside);
  if (pair === null) return findKey(lines, from, inside.replaceAll('"', ''));
  const [, key = '', value = ''] = pair;
  const match = lines.findIndex((line, number) => number >= from && isKey(line, key) && line.includes(value));
  return match < 0 ? undefined : match;
}

function findKey(lines: readonly string[], from: number, name: string): number | undefined {
  const match = lines.findIndex((line, number) => number >= from && isKey(line, name));
  return match < 0 ? undefined : match;
}

/** The key at the beginning of a line, or anywhere in one of flow style. */
function isKey(line: string, name: string): boolean {
  for (let at = line.indexOf(name); at >= 0; at = line.indexOf(name, at + 1)) {
    const before = line.slice(0, at).trimEnd();
    if (/(?:^|[-{,["'])$/.test(before) && /^["']?\s*:/.test(line.slice(at + name.length))) return true;
  }
  return false;
}

/** Item `index` of the first block list at or below a line. */
function findItem(lines: readonly string[], from: number, index: number): number | undefined {
  const first = lines.findIndex((line, number) => number >= from && /^\s*-(?:\s|$)/.test(line));
  if (first < 0) return undefined;
  const indent = (lines[first] ?? '').indexOf('-');
  let seen = -1;
  for (let number = first; number < lines.length; number++) {
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
