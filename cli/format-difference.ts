/** A difference as lines for a terminal: where, what was there, what is there now. */

import { structuredPatch } from 'diff';

import { escapeUnsafe, manyLines, oneLine } from '../kubernetes/safe-text.ts';
import { stringifyJson } from '../kubernetes/json.ts';
import type { Colors } from './colors.ts';
import type { Difference } from '../git/differences.ts';
import { toYaml } from './structured.ts';

/** Lines that are the same before and after one that is not. */
const CONTEXT = 3;
/** Of texts that have less in common the one is shown after the other: to find out more takes long. */
const MOST_EDITS = 2_000;
/** Characters of a line that are shown; `-o json` has all. */
const LONGEST_LINE = 200;
/** What is shown before the first character that differs in longer ones. */
const BEFORE = 40;
/** Lines of a text that is there on one side alone. */
const MOST_LINES = 60;

/**
 * The path, then the old value after `-` and the new one after `+`; of texts with several lines those that differ, with some around them,
 * as `diff -u` has them.
 */
export async function formatDifference({ path, before, after }: Difference, colors: Colors): Promise<string> {
  const [old, present] = await textsOf(before, after);
  const shown =
    old !== undefined && present !== undefined
      ? changed(old, present)
      : [...whole('-', old ?? []), ...whole('+', present ?? [])];
  const paints: Readonly<Record<string, (text: string) => string>> = { '-': colors.bad, '+': colors.good };
  const painted = shown.map(([sign, line]) => (paints[sign] ?? String)(`    ${sign} ${line}`.trimEnd()));
  return [`  ${oneLine(path)}`, ...painted].join('\n');
}

type ShownLine = readonly [sign: '-' | '+' | ' ' | '…' | '\\', line: string];

function changed(old: readonly string[], present: readonly string[]): readonly ShownLine[] {
  const [before = '', ...others] = old;
  const [after = '', ...more] = present;
  if (others.length + more.length === 0) {
    const [from, to] = cutAround(before, after);
    return [
      ['-', from],
      ['+', to],
    ];
  }
  const patch = structuredPatch('', '', old.join('\n'), present.join('\n'), '', '', {
    context: CONTEXT,
    maxEditLength: MOST_EDITS,
  });
  if (patch === undefined) return [...whole('-', old), ...whole('+', present)];
  return patch.hunks.flatMap(({ lines }, at) => [
    ...(at === 0 ? [] : [['…', ''] as const]),
    ...lines.map(readLine),
  ]);
}

function readLine(line: string): ShownLine {
  if (line.startsWith('\\')) return ['\\', 'no line feed at its end'];
  const sign = line.startsWith('-') ? '-' : line.startsWith('+') ? '+' : ' ';
  return [sign, cut(line.slice(1))];
}

function whole(sign: '-' | '+', lines: readonly string[]): readonly ShownLine[] {
  const left = lines.length - MOST_LINES;
  const shown = left > 1 ? lines.slice(0, MOST_LINES) : lines;
  return [
    ...shown.map((line) => [sign, cut(line)] as const),
    ...(left > 1 ? [[sign, `… (${String(left)} more lines: -o json)`] as const] : []),
  ];
}

function cut(line: string): string {
  if (line.length <= LONGEST_LINE) return line;
  return `${line.slice(0, LONGEST_LINE)}… (${String(line.length)} characters: -o json)`;
}

/** Two lines, of which longer ones begin shortly before what differs. */
function cutAround(before: string, after: string): readonly [before: string, after: string] {
  if (Math.max(before.length, after.length) <= LONGEST_LINE) return [before, after];
  let same = 0;
  while (same < before.length && before[same] === after[same]) same += 1;
  const from = Math.max(0, same - BEFORE);
  const part = (line: string) => `${from === 0 ? '' : '…'}${cut(line.slice(from))}`;
  return [part(before), part(after)];
}

type Lines = readonly string[] | undefined;

/** Where they differ in nothing but what a terminal would obey, that is written out. */
async function textsOf(before: unknown, after: unknown): Promise<readonly [before: Lines, after: Lines]> {
  const [old, present] = [await textOf(before), await textOf(after)];
  const clean = (text: string | undefined, how: (one: string) => string): Lines =>
    text === undefined ? undefined : how(text).split('\n');
  const isSeen = old === undefined || present === undefined || manyLines(old) !== manyLines(present);
  const how = isSeen ? manyLines : escapeUnsafe;
  return [clean(old, how), clean(present, how)];
}

async function textOf(value: unknown): Promise<string | undefined> {
  if (value === undefined || typeof value === 'string') return value;
  return typeof value === 'object' && value !== null ? (await toYaml(value)).trimEnd() : stringifyJson(value);
}
