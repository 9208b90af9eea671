/** What the crash matrix needs to know of a scenario, whatever kind of workload it is about. */

import type { Alias } from '../support/api-write.ts';
import type { Stage } from '../support/stage.ts';

export interface CrashScenario<E extends object = object> {
  /** With its kind: `StatefulSet: recreate`. */
  readonly name: string;
  readonly kind: string;
  /** What is played, as text: with another one, what was kept of its last run is of something else. */
  readonly definition: string;
  /** A namespace of its own, and nodes if it needs any; nothing is applied yet. */
  open(stage: Stage, owner: string): Promise<CrashPlay<E>>;
  /** Its worker looks after all namespaces: no other may run on its control plane meanwhile. */
  readonly alone?: true;
  /** The workload API of its control plane. @default 'fairlead.dev/v1beta1' */
  readonly workloadApi?: 'apps/v1';
  /** What must be so at the end of a clean run: the others are compared with it. */
  check(end: E): void;
}

/** One run of a scenario. */
export interface CrashPlay<E extends object = object> {
  readonly namespace: string;
  /** Names in keys of writes that are the same in every run. */
  readonly alias?: Alias | undefined;
  /** Entries of the repositories file: followed while this is played, not before, and not afterwards. */
  readonly repositories?: readonly object[];
  /** Brings about what the rollout starts from; the worker is up. */
  prepare(): Promise<void>;
  /** Looks at what there is before the rollout. Resolves with the question what there is after it, without what differs from run to run. */
  before(): Promise<() => Promise<E>>;
  /** The rollout: from the user's write until everything is done. */
  act(): Promise<void>;
  remove(): Promise<void>;
}

/** A crash costs some 10 s of waiting for the Lease, and several scenarios run at a time. */
export const PATIENCE_MS = 120_000;

/** A step as text without layout, for {@link CrashScenario.definition}. */
export function textOf(step: (...parameters: never[]) => unknown): string {
  return String(step).replaceAll(/\s+/g, ' ');
}
