/** The bars of the design, on medians; what must not happen even once, on the worst run. */

import { FIGURES } from './figures.ts';
import type { FigureName } from './figures.ts';
import type { Bar, Sample } from './scenario.ts';
import type { SideName } from './sides.ts';
import { spreadOf } from './statistics.ts';

/** Median of a figure of one side. @throws Error if no run gave it */
export function medianOf(samples: readonly Sample[], side: SideName, figure: FigureName): number {
  return spreadOf(valuesOf(samples, side, figure)).median;
}

/** A figure of every run of one side that has it. */
export function valuesOf(samples: readonly Sample[], side: SideName, figure: FigureName): readonly number[] {
  return samples.filter((sample) => sample.side === side).flatMap(({ figures }) => figures[figure] ?? []);
}

/** Ours is at most `factor` times the built-in's. */
export function atMostBuiltIn(samples: readonly Sample[], figure: FigureName, factor = 1): Bar {
  const { label, digits } = FIGURES[figure];
  const ours = medianOf(samples, 'fairlead', figure);
  const theirs = medianOf(samples, 'built-in', figure);
  const ratio = ours / theirs;
  return {
    what: `${label}: ≤ ${factor.toFixed(2)} × built-in`,
    measured: `${ratio.toFixed(3)} × (${ours.toFixed(digits)} against ${theirs.toFixed(digits)})`,
    met: ratio <= factor,
  };
}

/** Ours is at most that much. @throws Error if no run gave the figure */
export function atMost(samples: readonly Sample[], figure: FigureName, limit: number, why = ''): Bar {
  const { label, digits } = FIGURES[figure];
  const ours = medianOf(samples, 'fairlead', figure);
  return {
    what: `${label}: ≤ ${String(limit)}${why === '' ? '' : ` (${why})`}`,
    measured: ours.toFixed(digits),
    met: ours <= limit,
  };
}

/** Ours is at most that much in every run: for what must not happen even once. @throws Error if no run gave the figure */
export function atMostInEveryRun(
  samples: readonly Sample[],
  figure: FigureName,
  limit: number,
  why: string,
): Bar {
  const { label, digits } = FIGURES[figure];
  const { max } = spreadOf(valuesOf(samples, 'fairlead', figure));
  return {
    what: `${label}: ≤ ${String(limit)} in every run (${why})`,
    measured: max.toFixed(digits),
    met: max <= limit,
  };
}
