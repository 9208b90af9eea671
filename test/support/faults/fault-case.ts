/** A row of a table of faults: runs in a namespace of its own, beside the others. */

import { afterAll, beforeAll, describe, it } from '@jest/globals';

import type { WorkloadApi } from '../../../kubernetes/workload-api.ts';
import { WORKLOAD_APIS } from '../../../kubernetes/workload-api.ts';
import type { ControlPlane } from '../../../local/control-plane.ts';
import { IS_FULL } from '../full-suite.ts';
import type { Scene, SceneOptions } from '../scene.ts';
import { giveBack, takeControlPlane } from '../shared-control-plane.ts';
import { Stage } from '../stage.ts';
import { startWorker } from '../worker-process.ts';
import type { WorkerOptions, WorkerProcess } from '../worker-process.ts';

export interface FaultCase {
  readonly name: string;
  /** Another form of what a case beside it shows. */
  readonly isForFull?: true;
  readonly run: (bench: Bench) => Promise<void>;
}

type SetChange = Omit<SceneOptions, 'owner'>;

/** What a case works with: one control plane, and scenes in it. */
export class Bench {
  readonly controlPlane: ControlPlane;
  readonly stage: Stage;
  /** FAIRLEAD_CLUSTER of the worker that all scenes share; absent: each scene has its own. */
  readonly owner: string | undefined;
  readonly #workers: WorkerProcess[] = [];

  constructor(controlPlane: ControlPlane, stage: Stage, owner: string | undefined) {
    this.controlPlane = controlPlane;
    this.stage = stage;
    this.owner = owner;
  }

  /** A StatefulSet that is not applied yet. */
  async scene(name: string, change: SetChange = {}): Promise<Scene> {
    return await this.stage.scene(name, { ...change, owner: this.owner });
  }

  /** A StatefulSet whose first rollout is over. */
  async deployed(name: string, change: SetChange = {}): Promise<Scene> {
    const scene = await this.scene(name, change);
    await scene.deploy();
    return scene;
  }

  /** A worker that looks after this scene alone. */
  async worker(scene: Scene, options: Partial<WorkerOptions> = {}): Promise<WorkerProcess> {
    return await startWorker({
      controlPlane: this.controlPlane,
      cluster: scene.owner,
      namespaces: [scene.namespace],
      ...options,
      onSpawn: (worker) => void this.#workers.push(worker),
    });
  }

  /** Ends the workers that cases have left, woken if they are frozen. */
  async close(): Promise<void> {
    for (const worker of this.#workers) {
      worker.wake();
    }
    await Promise.all(this.#workers.map(async (worker) => await worker.kill()));
    await this.stage.close();
  }
}

const START_TIMEOUT_MS = 150_000;
const END_TIMEOUT_MS = 60_000;

/**
 * Declares the hooks for one bench in each workload API. With `owner`, a worker of that FAIRLEAD_CLUSTER looks after all
 * namespaces of each. The function gives the benches to tests and hooks that run after them.
 */
export function useBenches(options: { readonly owner?: string } = {}): (api: WorkloadApi) => Bench {
  const benches = new Map<WorkloadApi, Bench>();
  const controlPlanes: ControlPlane[] = [];
  const { owner } = options;

  beforeAll(async () => {
    await Promise.all(
      WORKLOAD_APIS.map(async (workloadApi) => {
        const controlPlane = await takeControlPlane({ workloadApi });
        controlPlanes.push(controlPlane);
        const bench = new Bench(controlPlane, await Stage.open(controlPlane), owner);
        benches.set(workloadApi, bench);
      }),
    );
  }, START_TIMEOUT_MS);

  const shared: WorkerProcess[] = [];
  if (owner !== undefined) {
    beforeAll(async () => {
      for (const controlPlane of controlPlanes) {
        shared.push(await startWorker({ controlPlane, cluster: owner }));
      }
    }, START_TIMEOUT_MS);
  }

  afterAll(async () => {
    await Promise.all(shared.map(async (worker) => await worker.stop()));
    await Promise.all([...benches.values()].map(async (bench) => await bench.close()));
    await Promise.all(controlPlanes.map(async (controlPlane) => await giveBack(controlPlane)));
  }, END_TIMEOUT_MS);

  return (api) => {
    const bench = benches.get(api);
    if (bench === undefined) throw new Error('benches are only there inside of tests and hooks');
    return bench;
  };
}

/**
 * The cases side by side: all of them, or so many at once in each workload API (each with its own workers). What is disturbed is the one
 * mechanism of both APIs, so the cases take turns between them; the full suite runs each in both.
 */
export function runFaultCases(
  cases: readonly FaultCase[],
  bench: (api: WorkloadApi) => Bench,
  options: { readonly timeoutMs: number; readonly atOnce?: number },
): void {
  const played = cases.filter(({ isForFull }) => IS_FULL || isForFull !== true);
  const all = played.flatMap((row, index) =>
    WORKLOAD_APIS.filter((_, at) => IS_FULL || at === index % WORKLOAD_APIS.length).map((api) => ({
      ...row,
      api,
    })),
  );
  const { timeoutMs, atOnce = played.length } = options;
  const size = atOnce * WORKLOAD_APIS.length;
  for (let first = 0; first < all.length; first += size) {
    // Jest runs the concurrent tests of one block together, and the blocks one after the other.
    describe(`side by side, from number ${String(first + 1)}`, () => {
      it.concurrent.each(all.slice(first, first + size))(
        '$name ($api)',
        async ({ run, api }) => {
          await run(bench(api));
        },
        timeoutMs,
      );
    });
  }
}
