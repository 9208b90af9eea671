/** A worker for `apps/v1` where the built-in controllers still run: it refuses before it has written to anybody's object. */

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';

import type { StatefulSetObject } from '../../kubernetes/statefulset-adapter.ts';
import { WORKLOAD_RESOURCES } from '../../kubernetes/workload-api.ts';
import type { KubernetesObject } from '../../planners/objects.ts';
import { builtWorker } from '../support/built-worker.ts';
import { Cluster } from '../support/cluster.ts';
import { useControlPlane } from '../support/control-plane.ts';
import { untilObjects } from '../support/until-objects.ts';
import { startWorker } from '../support/worker-process.ts';
import type { WorkerProcess } from '../support/worker-process.ts';

const FLAG = '--controllers=*,-daemonset-controller,-statefulset-controller,-deployment-controller';
const CANARY = 'fairlead-canary';

describe('a worker that is to own apps/v1', () => {
  const controlPlane = useControlPlane({ nodes: 1 });
  const workers: WorkerProcess[] = [];
  let cluster: Cluster;
  let namespace: string;

  beforeAll(async () => {
    await builtWorker();
    cluster = await Cluster.connect(controlPlane().kubeconfig, 'apps/v1');
  }, 180_000);

  afterAll(() => cluster?.close());

  beforeEach(async () => {
    namespace = await cluster.createNamespace('owner');
  });

  afterEach(async () => {
    await Promise.all(workers.splice(0).map(async (worker) => await worker.kill()));
    await controlPlane().changeWorkloadApi('fairlead.dev/v1beta1');
  });

  /** As in a cluster whose controller manager nobody has changed, whatever ours does. */
  async function start(waitFor: 'leading' | 'spawned'): Promise<WorkerProcess> {
    return await new Promise<WorkerProcess>((resolve, reject) => {
      startWorker({
        controlPlane: controlPlane(),
        cluster: namespace,
        environment: { FAIRLEAD_WORKLOAD_API: 'apps/v1' },
        onSpawn: (worker) => {
          workers.push(worker);
          if (waitFor === 'spawned') resolve(worker);
        },
      }).then(resolve, reject);
    });
  }

  function canaries(resource: string) {
    return { group: 'apps', version: 'v1', resource, namespace: 'fairlead-system' };
  }

  async function untilCanaries(what: string, count: number): Promise<readonly KubernetesObject[]> {
    const found = await Promise.all(
      Object.values(WORKLOAD_RESOURCES).map(
        async (resource) =>
          await untilObjects<KubernetesObject>(
            cluster.client,
            canaries(resource),
            what,
            (all) => all.filter(({ metadata }) => metadata.name === CANARY).length === count,
            20_000,
          ),
      ),
    );
    return found.flat();
  }

  async function deploy(): Promise<StatefulSetObject> {
    const description = { name: 'web', namespace, replicas: 1, image: 'app:1' };
    await cluster.applySet(description);
    return await cluster.until<StatefulSetObject>(
      cluster.setPath(namespace, 'web'),
      'rolled out by the built-in controller',
      ({ status, metadata }) =>
        status?.availableReplicas === 1 && status.observedGeneration === metadata.generation,
    );
  }

  it('refuses where another controller answers, says which flag to set, and has touched nothing', async () => {
    const before = await deploy();
    const error = await start('leading').catch((caught: unknown) => String(caught));
    expect(error).toContain('StatefulSet, DaemonSet, Deployment of apps/v1');
    expect(error).toContain(FLAG);
    await untilCanaries('no canary', 0);
    const after = await cluster.set(namespace, 'web');
    expect(after.metadata.resourceVersion).toBe(before.metadata.resourceVersion);
  }, 60_000);

  it('starts where none does, and takes away what a killed worker has left', async () => {
    const killed = await start('spawned');
    // Seen by the built-in controllers: what a canary tells of before counts for nothing.
    await untilCanaries('there', 1);
    killed.killNow();
    await controlPlane().changeWorkloadApi('apps/v1');
    await cluster.applySet({ name: 'web', namespace, replicas: 1, image: 'app:1' });
    const worker = await start('leading');
    await untilCanaries('no canary', 0);
    await cluster.untilReady(namespace, 'web');
    expect(worker.lines.filter(({ level }) => level >= 40)).toEqual([]);
  }, 90_000);

  it('leaves canaries alone as a leader, so that another one may stand by', async () => {
    await controlPlane().changeWorkloadApi('apps/v1');
    await start('leading');
    const second = await start('spawned');
    await untilCanaries('there', 1);
    await untilCanaries('no canary', 0);
    await second.untilLine(({ msg }) => msg.startsWith('standing by'), 10_000);
    expect(second.running).toBe(true);
  }, 90_000);
});
