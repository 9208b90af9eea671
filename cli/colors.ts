/** Colours by meaning. */

import pc from 'picocolors';

import type { Io } from './io.ts';

export interface Colors {
  readonly good: (text: string) => string;
  readonly bad: (text: string) => string;
  readonly busy: (text: string) => string;
  readonly held: (text: string) => string;
  readonly dim: (text: string) => string;
  readonly bold: (text: string) => string;
}

/** Plain functions when the output takes no colours. */
export function colorsOf(io: Pick<Io, 'color'>): Colors {
  const { green, red, cyan, yellow, dim, bold } = pc.createColors(io.color);
  return { good: green, bad: red, busy: cyan, held: yellow, dim, bold };
}
