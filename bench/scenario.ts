/** What a scenario is, gets and gives. */

import type { Arena } from './arena.ts';
import type { Figures } from './figures.ts';
import type { SideName } from './sides.ts';

export interface ScenarioContext {
  readonly arena: Arena;
  /** Measured runs of each side. */
  readonly runs: number;
  /** A tenth of every size, to try the bench itself. */
  readonly quick: boolean;
}

export interface Sample {
  readonly side: SideName;
  readonly figures: Figures;
}

/** A line of the table in the design, and whether it holds. Medians are compared, or the worst run. */
export interface Bar {
  readonly what: string;
  readonly measured: string;
  readonly met: boolean;
}

export interface Outcome {
  /** Sizes and delays, in words. */
  readonly conditions: string;
  readonly samples: readonly Sample[];
  readonly bars: readonly Bar[];
}

export interface Scenario {
  readonly name: string;
  readonly title: string;
  readonly run: (context: ScenarioContext) => Promise<Outcome>;
}

/** Pods of a scenario of that size. */
export function sized({ quick }: ScenarioContext, pods: number): number {
  return quick ? Math.max(10, Math.round(pods / 10)) : pods;
}

/** Ten percent of the pods, at least one. */
export function tenth(pods: number): number {
  return Math.max(1, Math.round(pods / 10));
}
