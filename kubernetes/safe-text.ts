/** Text from a cluster or from git is written by others: it may hold escapes that rewrite a terminal. The one place that deals with them. */

import { stripVTControlCharacters } from 'node:util';

/** C0 and C1 controls, and marks that turn the direction of text around. Line feeds are dealt with apart. */
// oxlint-disable-next-line no-control-regex -- control characters are what this is about
const UNSAFE = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]/g;

/** One line, without anything that a terminal would obey. Line breaks and tabs become a space each. */
export function oneLine(text: string): string {
  return stripVTControlCharacters(text)
    .replaceAll(/\r\n|[\n\r\t]/g, ' ')
    .replaceAll(UNSAFE, '');
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
