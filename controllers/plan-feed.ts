/** The newest plan of each workload, made once by the reconciler and read by every run that waits for something. */

import type { Plan } from '../planners/plan.ts';
import type { Workload } from '../planners/workload.ts';
import type { ToldEnding } from './run-endings.ts';

export interface Observation {
  readonly workload: Workload;
  readonly plan: Plan<object>;
  /** Hash of the present template: what a run compares with its own. */
  readonly target: string;
  /** `progressDeadlineSeconds` have passed without progress. */
  readonly timedOut: boolean;
  /** A pause has ended that held a rollout before its end: there may be no pod left to replace, and its end has to be seen all the same. */
  readonly resumedMidway?: boolean;
  /** What the object has said of a run that ended badly, until this leader has asked Temporal, which may have forgotten it. */
  readonly endedBadly?: ToldEnding;
}

type Listener = (observation: Observation | undefined) => void;

export class PlanFeed {
  readonly #latest = new Map<string, Observation>();
  readonly #listeners = new Map<string, Set<Listener>>();

  /** `undefined`: the workload is gone. */
  publish(key: string, observation: Observation | undefined): void {
    if (observation === undefined) {
      this.#latest.delete(key);
    } else {
      this.#latest.set(key, observation);
    }
    for (const listener of this.#listeners.get(key) ?? []) {
      listener(observation);
    }
  }

  latest(key: string): Observation | undefined {
    return this.#latest.get(key);
  }

  /** Is called with every later observation; returns the function that ends it. */
  subscribe(key: string, listener: Listener): () => void {
    const listeners = this.#listeners.get(key) ?? new Set<Listener>();
    this.#listeners.set(key, listeners);
    listeners.add(listener);
    return () => {
      listeners.delete(listener);
      if (listeners.size === 0) {
        this.#listeners.delete(key);
      }
    };
  }
}
