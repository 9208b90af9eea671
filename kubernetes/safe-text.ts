/** Text from a cluster or from git is written by others: it may hold escapes that rewrite a terminal. The one place that deals with them. */

import { stripVTControlCharacters } from 'node:util';

/** C0 and C1 controls, and marks that turn the direction of text around. Line feeds are dealt with apart. */
// oxlint-disable-next-line no-control-regex -- control characters are what this is about
const UNSAFE = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]/g;

/** Whatever begins a new line or a new column somewhere: tab, line feeds of ASCII, C1 and Unicode. */
const LINE_BREAKS = /[\t\n\v\f\r\u0085\u2028\u2029]+/g;

/** One line, without anything that a terminal would obey. Line breaks and tabs become a space each. */
export function oneLine(text: string): string {
  return stripVTControlCharacters(text)
    .replaceAll(/\r\n|[\n\r\t]/g, ' ')
    .replaceAll(UNSAFE, '');
}

/** One line in which such characters are shown as `\u001b` instead of taken out: a file name stays the one it is. */
export function shownOnOneLine(text: string): string {
  return escapeUnsafe(text.replaceAll(LINE_BREAKS, ' '));
}

/** As {@link oneLine}, keeping line feeds. */
export function manyLines(text: string): string {
  return stripVTControlCharacters(text)
    .replaceAll(/\r\n?/g, '\n')
    .replaceAll('\t', '  ')
    .replaceAll(UNSAFE, '');
}

/** JSON (or YAML) text with such characters escaped instead: nothing is lost, and printing it is harmless. */
export function escapeUnsafe(text: string): string {
  return text.replaceAll(
    UNSAFE,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** Without the invisible marks that turn the direction of text around. */
export function stripDirectionMarks(text: string): string {
  return text.replaceAll(/[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]/g, '');
}

/** A sentence of somebody else as a part of ours. */
export function withoutStop(text: string): string {
  return text.replace(/[.]$/, '');
}
