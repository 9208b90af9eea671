/**
 * What `npm run test:full` plays beyond `npm test`, which has to answer in twenty minutes on two cores (docs/decisions/two-suites.md). Whole
 * files of it are in test/e2e-full.
 */

import { it } from '@jest/globals';

/** Of what one mechanism does for several alike, `npm test` takes one, and has fewer places to crash at. */
export const IS_FULL = process.env['FAIRLEAD_TEST'] === 'full';

/** `it`, where the full suite runs; else the test is none of the run. */
export const itInFull: (...given: Parameters<typeof it>) => void = IS_FULL ? it : () => undefined;

/** All of them in the full suite, else the first. */
export function firstUnlessFull<T>(all: readonly T[]): readonly T[] {
  return IS_FULL ? all : all.slice(0, 1);
}
