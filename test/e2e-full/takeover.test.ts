/**
 * Taking over what the built-in controllers of `apps/v1` have made, and giving it back: no pod is restarted, no revision made, in
 * either direction, while somebody else keeps the apiserver and all controllers busy.
 */

import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';

import { isConflict } from '../../kubernetes/api-error.ts';
import type { ResourcePath } from '../../kubernetes/client.ts';
import { trusted } from '../../kubernetes/values.ts';
import type { KubernetesObject, Pod } from '../../planners/objects.ts';
import type { WorkloadKind } from '../../planners/workload.ts';
import { Cluster } from '../support/cluster.ts';
import { useControlPlane } from '../support/control-plane.ts';
import { startWorker } from '../support/worker-process.ts';
import type { WorkerProcess } from '../support/worker-process.ts';

const NAMES = { StatefulSet: 'web', DaemonSet: 'agent', Deployment: 'api' } as const;
const KINDS: readonly WorkloadKind[] = ['StatefulSet', 'DaemonSet', 'Deployment'];

interface Served extends KubernetesObject {
  readonly status?: Readonly<Record<string, unknown>>;
}

/** Somebody who scales and annotates workloads without a pause. */
class BusyClient {
  readonly #cluster: Cluster;
  readonly #namespace: string;
  readonly #work: Promise<void>;
  #stopping = false;
  writes = 0;

  constructor(cluster: Cluster, namespace: string) {
    this.#cluster = cluster;
    this.#namespace = namespace;
    this.#work = this.#run();
  }

  async #run(): Promise<void> {
    const paths = (['StatefulSet', 'Deployment'] as const).map((kind) =>
      this.#cluster.path(kind, this.#namespace, 'busy'),
    );
    for (let turn = 1; !this.#stopping; turn += 1) {
      for (const path of paths) {
        const annotations = { turn: String(turn) };
        const change = turn % 5 === 0 ? { spec: { replicas: turn % 4 } } : { metadata: { annotations } };
        try {
          await this.#cluster.client.patch(path, 'merge', change);
        } catch (error) {
          if (!isConflict(error)) throw error;
        }
        this.writes += 1;
      }
    }
  }

  async stop(): Promise<void> {
    this.#stopping = true;
    await this.#work;
  }
}

describe('apps/v1 changes hands', () => {
  const controlPlane = useControlPlane({ nodes: 3 });
  let cluster: Cluster;
  let worker: WorkerProcess | undefined;
  let busy: BusyClient | undefined;

  beforeAll(async () => {
    cluster = await Cluster.connect(controlPlane().kubeconfig, 'apps/v1');
  });

  afterEach(async () => {
    await busy?.stop();
    await worker?.kill();
  });

  afterAll(() => cluster?.close());

  async function apply(namespace: string, image: string): Promise<void> {
    await cluster.apply('StatefulSet', { name: 'web', namespace, replicas: 3, image, parallel: true });
    await cluster.apply('DaemonSet', { name: 'agent', namespace, image });
    await cluster.apply('Deployment', { name: 'api', namespace, replicas: 3, image });
  }

  /** All of a kind's pods are of the newest revision and available, says whoever keeps it, of the newest generation. */
  async function untilRolledOut(namespace: string): Promise<void> {
    const counters = {
      StatefulSet: ['updatedReplicas', 'availableReplicas'],
      DaemonSet: ['updatedNumberScheduled', 'numberAvailable'],
      Deployment: ['updatedReplicas', 'availableReplicas', 'replicas'],
    };
    for (const kind of KINDS) {
      await cluster.until<Served>(
        cluster.path(kind, namespace, NAMES[kind]),
        'rolled out',
        ({ metadata, status = {} }) =>
          status['observedGeneration'] === metadata.generation &&
          counters[kind].every((counter) => status[counter] === 3),
        60_000,
      );
    }
  }

  /** Whoever keeps the kinds has looked at them anew: only who does writes this. */
  async function untilSeen(namespace: string, minReadySeconds: number): Promise<void> {
    for (const kind of KINDS) {
      const path = cluster.path(kind, namespace, NAMES[kind]);
      const { metadata } = await cluster.client.patch(path, 'merge', { spec: { minReadySeconds } });
      await cluster.until<Served>(
        path,
        'seen',
        ({ status }) => Number(status?.['observedGeneration']) >= Number(metadata.generation),
        60_000,
      );
    }
  }

  /** Pods with their restarts, and revisions with their numbers; of the controller revisions and replica sets of the three. */
  async function identities(namespace: string): Promise<unknown> {
    const { client } = cluster;
    const list = async (group: string, resource: string) =>
      (await client.list({ group, version: 'v1', resource, namespace } satisfies ResourcePath)).items;
    const [pods, revisions, sets] = [
      await list('', 'pods'),
      await list('apps', 'controllerrevisions'),
      await list('apps', 'replicasets'),
    ];
    const numberOf = (object: KubernetesObject) =>
      trusted<{ readonly revision?: number }>(object).revision ??
      object.metadata.annotations?.['deployment.kubernetes.io/revision'];
    // A Deployment is done before the last of its old pods is gone.
    const staying = pods.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
    return {
      pods: staying.map((pod) => [pod.metadata.name, pod.metadata.uid, restarts(trusted<Pod>(pod))]),
      revisions: [...revisions, ...sets].map((one) => [one.metadata.name, one.metadata.uid, numberOf(one)]),
    };
  }

  it('without a restart of a pod, there and back, under load', async () => {
    const namespace = await cluster.createNamespace('hands');
    const elsewhere = await cluster.createNamespace('elsewhere');
    await cluster.apply('StatefulSet', { name: 'busy', namespace: elsewhere, replicas: 1, image: 'app:1' });
    await cluster.apply('Deployment', { name: 'busy', namespace: elsewhere, replicas: 1, image: 'app:1' });
    // With a history: two revisions each, made by the built-in controllers.
    for (const image of ['app:1', 'app:2']) {
      await apply(namespace, image);
      await untilRolledOut(namespace);
    }
    const before = await identities(namespace);
    busy = new BusyClient(cluster, elsewhere);

    await controlPlane().changeWorkloadApi('apps/v1');
    worker = await startWorker({ controlPlane: controlPlane(), cluster: 'hands' });
    for (const kind of KINDS) await cluster.untilReadyOf(kind, namespace, NAMES[kind]);
    await untilSeen(namespace, 1);
    expect(await identities(namespace)).toEqual(before);
    const reasons = (await cluster.events(namespace)).map(({ reason }) => reason);
    expect(reasons).not.toContain('RolloutStarted');

    // A revision of ours, beside theirs.
    await apply(namespace, 'app:3');
    for (const kind of KINDS) await cluster.untilReadyOf(kind, namespace, NAMES[kind]);
    const ours = await identities(namespace);
    expect(ours).not.toEqual(before);

    await worker.stop();
    await controlPlane().changeWorkloadApi('fairlead.dev/v1beta1');
    await untilSeen(namespace, 0);
    await untilRolledOut(namespace);
    expect(await identities(namespace)).toEqual(ours);
    // Back to a revision that they made, by their own means, and not a new one.
    await apply(namespace, 'app:2');
    await untilRolledOut(namespace);

    await busy.stop();
    expect(busy.writes).toBeGreaterThan(100);
  }, 240_000);
});

function restarts({ status }: Pod): number {
  return (status?.containerStatuses ?? []).reduce((sum, { restartCount }) => sum + restartCount, 0);
}
