/** How far apart the reconciles of one workload are: the dearer its plans, the further. */

const LEAST_MS = 10;
const MOST_MS = 1_000;
/** Planning takes at most one part in so many of a core, however fast the pods of a workload change. */
const PARTS = 20;
/** How much the newest plan counts. */
const NEWEST = 0.2;

export class Spacing {
  readonly #costs = new Map<string, number>();

  /** Learns what a plan of this workload took. */
  planned(key: string, milliseconds: number): void {
    const known = this.#costs.get(key) ?? milliseconds;
    this.#costs.set(key, known + (milliseconds - known) * NEWEST);
  }

  /** Milliseconds: 10 for all but large workloads, never more than a second (design "Kubernetes client"). */
  of(key: string): number {
    return Math.min(MOST_MS, Math.max(LEAST_MS, (this.#costs.get(key) ?? 0) * PARTS));
  }

  forget(key: string): void {
    this.#costs.delete(key);
  }
}
