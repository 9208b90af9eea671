/** Status is written within a second of the change that it reports: an observer of pods and workload compares the two. */

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import type { KubernetesObject, Pod } from '../../planners/objects.ts';
import { builtWorker } from '../support/built-worker.ts';
import { Cluster } from '../support/cluster.ts';
import { useControlPlaneOfBoth } from '../support/control-plane.ts';
import { apisOf } from '../support/full-suite.ts';
import { startWorker } from '../support/worker-process.ts';
import type { WorkerProcess } from '../support/worker-process.ts';

const WITHIN_MS = 1_000;
/** A machine that does something else for a moment may be late once; a writer that is slow is late each time. */
const TRIES = 3;
const PODS = 30;

/** A value from that moment on, milliseconds of this process. */
interface Reading {
  readonly at: number;
  readonly value: number;
}

type ServedSet = KubernetesObject & { readonly status?: { readonly updatedReplicas?: number } };

/**
 * By how many milliseconds at most what is told was behind what is so: at any moment it should be a value that was so within the
 * last second.
 */
function lagOf(truth: readonly Reading[], told: readonly Reading[]): number {
  let most = 0;
  for (const [index, { value, at }] of told.entries()) {
    const until = told[index + 1]?.at ?? truth.at(-1)?.at ?? at;
    const ends = truth.flatMap((one, place) =>
      one.value === value && one.at <= until ? [Math.min(truth[place + 1]?.at ?? Infinity, until)] : [],
    );
    most = Math.max(most, until - Math.max(...ends));
  }
  return most;
}

const controlPlaneOf = useControlPlaneOfBoth({ nodes: 1 });

describe.each(apisOf('fairlead.dev/v1beta1'))('the status of a StatefulSet (%s)', (api) => {
  const controlPlane = controlPlaneOf(api);
  let cluster: Cluster;
  let worker: WorkerProcess;

  beforeAll(async () => {
    await builtWorker();
    cluster = await Cluster.connect(controlPlane().kubeconfig, api);
    worker = await startWorker({ controlPlane: controlPlane(), cluster: 'pace' });
  }, 180_000);

  afterAll(async () => {
    await worker?.stop();
    cluster?.close();
  }, 30_000);

  /**
   * The lag of `updatedReplicas` behind the pods of that image, while a set goes to it. Only this counter grows all the time: a value
   * that comes again would excuse one that is old.
   */
  async function lagOfRollout(namespace: string, image: string, roll: () => Promise<void>): Promise<number> {
    const updated = new Set<string>();
    const stopping = new AbortController();
    const options = { signal: stopping.signal };
    const told: Reading[] = [{ at: performance.now(), value: PODS }];
    const truth: Reading[] = [{ at: performance.now(), value: PODS }];
    const watchPods = async () => {
      const path = { group: '', version: 'v1', resource: 'pods', namespace };
      for await (const { object } of cluster.client.watch<Pod>(path, options)) {
        if (object.spec.containers[0]?.image === image) updated.add(object.metadata.uid);
        if (updated.size > 0 && updated.size !== truth.at(-1)?.value) {
          truth.push({ at: performance.now(), value: updated.size });
        }
      }
    };
    const watchSet = async () => {
      for await (const { object } of cluster.client.watch<ServedSet>(cluster.setPath(namespace), options)) {
        const value = object.status?.updatedReplicas ?? 0;
        if (value !== told.at(-1)?.value) told.push({ at: performance.now(), value });
      }
    };
    const watching = Promise.all([watchPods(), watchSet()]);
    truth.push({ at: performance.now(), value: 0 });
    await roll();
    stopping.abort();
    await watching;
    expect(truth.at(-1)?.value).toBe(PODS);
    return lagOf(truth, told);
  }

  it('is never more than a second behind its pods, in a rollout that goes on all the time', async () => {
    const namespace = await cluster.createNamespace('pace');
    const apply = async (image: string) => {
      await cluster.applySet({
        name: 'web',
        namespace,
        image,
        replicas: PODS,
        parallel: true,
        maxUnavailable: 3,
        templateAnnotations: { 'sim.fairlead.dev/ready-delay': '150ms' },
      });
      await cluster.untilReady(namespace, 'web');
    };
    await apply('app:0');
    const lags: number[] = [];
    for (let round = 1; round <= TRIES && (lags.at(-1) ?? Infinity) > WITHIN_MS; round += 1) {
      const image = `app:${String(round)}`;
      lags.push(await lagOfRollout(namespace, image, async () => await apply(image)));
    }
    expect(Math.min(...lags)).toBeLessThanOrEqual(WITHIN_MS);
  }, 240_000);
});

describe('the lag of what is told', () => {
  const truth = [
    { at: 0, value: 0 },
    { at: 100, value: 1 },
    { at: 200, value: 2 },
  ];

  it('is the time for which something else has been so', () => {
    expect(
      lagOf(truth, [
        { at: 0, value: 0 },
        { at: 600, value: 2 },
      ]),
    ).toBe(500);
    expect(
      lagOf(
        [...truth, { at: 5_000, value: 3 }],
        [
          { at: 0, value: 0 },
          { at: 250, value: 2 },
          { at: 5_100, value: 3 },
        ],
      ),
    ).toBe(150);
  });

  it('has no bound where a value was never so', () => {
    expect(lagOf(truth, [{ at: 0, value: 7 }])).toBe(Infinity);
  });
});
