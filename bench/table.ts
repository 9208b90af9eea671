/** The figures of an outcome as rows: what, each side, and the ratio where there are two. */

import { trusted } from '../kubernetes/values.ts';
import { valuesOf } from './bars.ts';
import { FIGURES } from './figures.ts';
import type { FigureName } from './figures.ts';
import type { Outcome } from './scenario.ts';
import { SIDE_NAMES } from './sides.ts';
import { formatSpread, spreadOf } from './statistics.ts';

/** The head, then a row for each figure that was measured. */
export function rowsOf({ samples }: Outcome): readonly (readonly string[])[] {
  const sides = SIDE_NAMES.filter((side) => samples.some((sample) => sample.side === side));
  const names = trusted<readonly FigureName[]>(Object.keys(FIGURES));
  const measured = names.filter((name) => samples.some(({ figures }) => figures[name] !== undefined));
  const head = ['median (min–max)', ...sides, ...(sides.length > 1 ? ['ratio'] : [])];
  const rows = measured.map((name) => {
    const spreads = sides.map((side) => {
      const values = valuesOf(samples, side, name);
      return values.length === 0 ? undefined : spreadOf(values);
    });
    const [theirs, ours] = spreads;
    const ratio =
      theirs === undefined || ours === undefined || theirs.median === 0
        ? ''
        : (ours.median / theirs.median).toFixed(2);
    const { label, digits } = FIGURES[name];
    return [
      label,
      ...spreads.map((spread) => (spread === undefined ? '' : formatSpread(spread, digits))),
      ...(sides.length > 1 ? [ratio] : []),
    ];
  });
  return [head, ...rows];
}

/** Columns side by side, for a terminal. */
export function formatRows(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, column) =>
    Math.max(...rows.map((row) => (row[column] ?? '').length)),
  );
  return rows
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}
