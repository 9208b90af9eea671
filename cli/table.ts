/** Tables as kubectl prints them: columns padded to the widest cell, three spaces apart, nothing after the last. */

import stringWidth from 'string-width';
import wrapAnsi from 'wrap-ansi';

import { oneLine } from '../kubernetes/safe-text.ts';

export interface Column<Row> {
  readonly title: string;
  readonly value: (row: Row) => string;
  /** Applied after padding. */
  readonly paint?: (text: string, row: Row) => string;
}

/** One line a row, a header first; ends with a line feed. Cells are made safe to print. */
export function formatTable<Row>(columns: readonly Column<Row>[], rows: readonly Row[]): string {
  const cells = rows.map((row) => columns.map((column) => oneLine(column.value(row))));
  const widths = columns.map((column, index) =>
    Math.max(stringWidth(column.title), ...cells.map((line) => stringWidth(line[index] ?? ''))),
  );
  const lines = [
    joinCells(
      columns.map((column) => column.title),
      widths,
    ),
    ...cells.map((line, row) =>
      joinCells(line, widths, (text, index) => {
        const source = rows[row];
        const paint = columns[index]?.paint;
        return paint === undefined || source === undefined ? text : paint(text, source);
      }),
    ),
  ];
  return `${lines.join('\n')}\n`;
}

function joinCells(
  cells: readonly string[],
  widths: readonly number[],
  paint: (text: string, index: number) => string = (text) => text,
): string {
  return cells
    .map((cell, index) => {
      const padding =
        index === cells.length - 1 ? '' : ' '.repeat((widths[index] ?? 0) - stringWidth(cell) + 3);
      return paint(cell, index) + padding;
    })
    .join('')
    .trimEnd();
}

/** Columns of a cell that holds a sentence, outside `-o wide`. */
const CELL_COLUMNS = 100;

/** A sentence as a cell: on one line, and cut, with a mark, where it is not to be `wide`. */
export function sentenceCell(text: string, wide: boolean): string {
  return wide ? text : cutToWidth(oneLine(text), CELL_COLUMNS);
}

/** What picocolors writes. */
// oxlint-disable-next-line no-control-regex -- escapes are what this is about
const COLOR = /(\u001b\[[\d;]*m)/;

/** Cuts a line to a terminal's width, counting wide characters as two; marks the cut. */
export function cutToWidth(line: string, columns: number): string {
  if (stringWidth(line) <= columns) return line;
  let result = '';
  let width = 0;
  // Colour sequences have no width and are kept, so that a cut line still ends its colours.
  for (const part of line.split(COLOR)) {
    if (part.startsWith('\u001b')) {
      result += part;
      continue;
    }
    for (const character of part) {
      const next = width + stringWidth(character);
      if (next > columns - 1) {
        if (width < columns) result += '…';
        width = columns;
        break;
      }
      result += character;
      width = next;
    }
  }
  return result;
}

/** Cuts a text without colours to `columns`, marks the cut, and keeps its end: names of siblings differ there. */
export function cutToEnd(text: string, columns: number): string {
  if (stringWidth(text) <= columns) return text;
  const characters = Array.from(new Intl.Segmenter().segment(text), ({ segment }) => segment);
  while (characters.length > 0 && stringWidth(characters.join('')) > columns - 1) characters.shift();
  return `…${characters.join('')}`;
}

const HANGING = '  ';
/** A message of an apiserver can be a page. */
const MOST_LINES = 4;

/**
 * A sentence in lines none wider than a terminal's `columns`, those after the first indented; colours are kept. At most four, the
 * last of which is marked where there is more.
 */
export function wrapToWidth(line: string, columns: number): readonly string[] {
  if (stringWidth(line) <= columns) return [line];
  const room = Math.max(1, columns - HANGING.length - 1);
  const parts = wrapAnsi(line, room, { hard: true }).split('\n');
  const lines = parts.slice(0, MOST_LINES).map((part, index) => (index === 0 ? part : HANGING + part));
  return parts.length <= MOST_LINES ? lines : lines.with(MOST_LINES - 1, `${lines[MOST_LINES - 1] ?? ''}…`);
}
