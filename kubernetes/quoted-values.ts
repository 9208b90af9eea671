/** What the apiserver quotes of objects in its refusals, old ones too, is taken out: field paths and reasons are kept. Pure. */

import { asRecord } from './values.ts';

/** Words before a value in the apiserver's field errors. */
const BEFORE_VALUE = /(?:(?:Invalid|Duplicate|Unsupported) value|Not found): /g;
/** Words before a value of another type than the schema's, as Go prints it: `expected string, got &value.valueUnstructured{Value:8080}`, `… got &{8080}`. */
const BEFORE_WRONG_TYPE = /(?:expected (\w+))?, got &(?:value\.valueUnstructured)?\{(?:Value:)?/g;
/** The end of such a value, and the apiserver's next error: Go writes a text as it is, so a line of its own may end with a bracket. */
const NEXT_ERROR =
  /\}\n(?= {2}\.[^\n]*?: (?:expected |field not declared in schema|duplicate entries for key |element \d))/;
/** Two objects are compared from here on: a hunk, or lines that were taken away or added. */
const DIFFERENCE = /\n(?:@@|[ \t]*[-+][ \t]|[ \t]*\.\.\. \/\/)/;
/** Below these, texts are people's own: they may be credentials. `annotations` itself is about names; ours are settings. */
const PRIVATE =
  /(?:^|[.\]])(?:command|args|value|data|stringData|binaryData)(?![\w-])|annotations(?:\.|\[(?!fairlead\.dev\/))/;
/** By these the items of Kubernetes' lists are told apart. */
const KEYS = new Set(['name', 'port', 'containerPort', 'protocol', 'mountPath', 'key', 'ip', 'topologyKey']);
/** Characters; what is longer is no name. */
const LONGEST_TEXT = 400;
/** Characters of a path that are looked at. */
const LONGEST_PATH = 500;
/** From the beginning of a word alone: a commit may choose how long one is. */
const PATH = /(?<![^\s,;])([^\s,;]+): $/;

/**
 * The message without what it quotes of objects: a diff and everything after it, mappings, lists, and texts below fields that hold
 * people's own values (environment, commands, annotations, data). Numbers, and texts of any other field, are kept.
 * @param field Path that the message is about, where it does not begin with it.
 */
export function withoutQuotedValues(message: string, field = ''): string {
  const difference = DIFFERENCE.exec(message);
  const text = withoutWrongTypes(message.slice(0, difference?.index));
  let result = '';
  let from = 0;
  for (const { 0: words, index } of text.matchAll(BEFORE_VALUE)) {
    // Within a value that was taken out.
    if (index < from) continue;
    const before = text.slice(from, index);
    const start = index + words.length;
    const end = endOfValue(text, start);
    if (end === start) continue;
    result += before;
    const path = PATH.exec(text.slice(Math.max(0, index - LONGEST_PATH), index))?.[1] ?? field;
    if (end !== undefined && isHarmless(text.slice(start, end), path)) {
      result += text.slice(index, end);
      from = end;
      continue;
    }
    const rest = end === undefined ? '' : text.slice(end);
    const reason = /^: */.exec(rest);
    result += reason === null ? words.replace(/: $/, '') : words;
    from = end === undefined ? text.length : end + (reason?.[0].length ?? 0);
  }
  return result + text.slice(from);
}

/** Such a value ends with an error of the apiserver. One without an end is looked for no further: nothing after its beginning is told. */
function withoutWrongTypes(text: string): string {
  let result = '';
  let from = 0;
  for (const { 0: words, 1: expected, index } of text.matchAll(BEFORE_WRONG_TYPE)) {
    // Within a value that was taken out.
    if (index < from) continue;
    const start = index + words.length;
    const end = endOfError(text, start);
    const kind = kindOf(text.slice(start, end));
    result += text.slice(from, index);
    // Go prints the text "true" as it prints the boolean.
    if (expected === undefined) result += `, got ${kind}`;
    else result += `expected ${expected}, got ${kind === `a ${expected}` ? 'a string' : kind}`;
    from = end === undefined ? text.length : end + 1;
  }
  return result + text.slice(from);
}

/** Where the bracket is that ends the error which `start` is in: before the next one, or at the end of them all. */
function endOfError(text: string, start: number): number | undefined {
  const next = text.slice(start).search(NEXT_ERROR);
  if (next >= 0) return start + next;
  return start < text.length && text.endsWith('}') ? text.length - 1 : undefined;
}

function kindOf(value: string): string {
  if (/^(?:true|false)$/.test(value)) return 'a boolean';
  if (/^[-+]?[\d.]/.test(value)) return 'a number';
  if (value.startsWith('map[')) return 'a mapping';
  return value.startsWith('[') ? 'a list' : 'something else';
}

function isHarmless(value: string, path: string): boolean {
  if (/^[{[]/.test(value)) return isKey(value);
  if (value.startsWith('"')) return value.length <= LONGEST_TEXT && !PRIVATE.test(path);
  return /^(?:[-+.\w]{1,40})$/.test(value);
}

/** Nothing, or what names one item of a list. */
function isKey(value: string): boolean {
  try {
    const parsed: unknown = JSON.parse(value);
    if (Array.isArray(parsed)) return parsed.length === 0;
    return Object.entries(asRecord(parsed)).every(
      ([name, inner]) => KEYS.has(name) && (typeof inner === 'string' || typeof inner === 'number'),
    );
  } catch {
    return false;
  }
}

/**
 * Where the value that begins at `start` ends; `start` itself: there is none, the reason follows. Undefined: that cannot be told,
 * nothing after it may be shown.
 */
function endOfValue(text: string, start: number): number | undefined {
  const rest = text.slice(start);
  const quoted = /^"(?:[^"\\]|\\.)*"/s.exec(rest);
  if (quoted !== null) return start + quoted[0].length;
  const plain = /^(?:[-+]?\d[\w.+-]*|true|false|null|<nil>)(?=[:,;\]]|$)/.exec(rest);
  if (plain !== null) return start + plain[0].length;
  // JSON, and Go's own: `core.PodSpec{…}`, `&core.PodSpec{…}`, `map[string]string{…}`, `map[a:b]`, `[]string{…}`.
  if (/^(?:[{["]|&|map\[|[\w.]+\{)/.test(rest)) return endOfBrackets(text, start);
  return start;
}

function endOfBrackets(text: string, start: number): number | undefined {
  let depth = 0;
  for (let at = start; at < text.length; at++) {
    const character = text[at] ?? '';
    if (character === '"' || character === '`') {
      const quoted = /^(?:"(?:[^"\\]|\\.)*"|`[^`]*`)/s.exec(text.slice(at));
      if (quoted === null) return undefined;
      at += quoted[0].length - 1;
    } else if (character === '{' || character === '[') depth += 1;
    else if (character === '}' || character === ']') {
      depth -= 1;
      // `[]string{…}` and `map[string]string{…}` go on.
      if (depth === 0 && !/^[\w.*]*\{/.test(text.slice(at + 1))) return at + 1;
    } else if (depth === 0 && !/[\w.&*]/.test(character)) return undefined;
  }
  return undefined;
}
