/** Workloads that Temporal itself needs are rolled in process: with Temporal away they are broken, mended, paused and rolled back. */

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { connectTemporal } from '../../controllers/temporal-client.ts';
import { readAttempts } from '../../kubernetes/attempts.ts';
import type { StatefulSetObject } from '../../kubernetes/statefulset-adapter.ts';
import type { ControlPlane } from '../../local/control-plane.ts';
import type { WorkloadApi } from '../../kubernetes/workload-api.ts';
import { ANNOTATION, LABEL } from '../../planners/names.ts';
import type { Pod } from '../../planners/objects.ts';
import { runCli } from '../support/cli.ts';
import { BudgetChecker } from '../support/budget-checker-process.ts';
import { builtWorker } from '../support/built-worker.ts';
import { Cluster, isReady } from '../support/cluster.ts';
import { useControlPlaneOfBoth } from '../support/control-plane.ts';
import { found } from '../support/eventually.ts';
import { apisOf } from '../support/full-suite.ts';
import { useLanes } from '../support/lanes.ts';
import { conditionOf } from '../support/scene.ts';
import type { StatefulSetDescription } from '../support/statefulset-manifest.ts';
import { untilObjects } from '../support/until-objects.ts';
import { startWorker } from '../support/worker-process.ts';
import type { WorkerProcess } from '../support/worker-process.ts';

const APIS = apisOf('fairlead.dev/v1beta1');

/** Several plays go on at a time. */
const PATIENCE_MS = 150_000;

const controlPlaneOf = useControlPlaneOfBoth({ nodes: 1 });

const clusters = new Map<WorkloadApi, Cluster>();
const checkers = new Map<WorkloadApi, BudgetChecker>();
/** Namespaces of workloads that were never on Temporal. */
const never: string[] = [];

beforeAll(async () => {
  await builtWorker();
  for (const api of APIS) {
    clusters.set(api, await Cluster.connect(controlPlaneOf(api)().kubeconfig, api));
    checkers.set(api, await BudgetChecker.start(controlPlaneOf(api)()));
  }
}, 180_000);

afterAll(async () => {
  for (const checker of checkers.values()) await checker.stop();
  for (const cluster of clusters.values()) cluster.close();
});

/** What a play needs in one of both workload APIs. Its workers end with it. */
class Ground {
  readonly api: WorkloadApi;
  readonly cluster: Cluster;
  readonly controlPlane: ControlPlane;
  readonly namespace: string;
  readonly #workers: WorkerProcess[] = [];

  private constructor(api: WorkloadApi, namespace: string) {
    this.api = api;
    this.cluster = clusters.get(api) as Cluster;
    this.controlPlane = controlPlaneOf(api)();
    this.namespace = namespace;
  }

  /** A namespace, whose name is also that of the worker's cluster. */
  static async play(api: WorkloadApi, play: (ground: Ground) => Promise<void>): Promise<void> {
    const ground = new Ground(api, await (clusters.get(api) as Cluster).createNamespace('bootstrap'));
    try {
      await play(ground);
    } finally {
      await Promise.all(ground.#workers.map(async (worker) => await worker.kill()));
    }
  }

  /** Resolves when it leads: its activities need Temporal, its controllers do not. */
  async start(): Promise<WorkerProcess> {
    const { controlPlane, namespace } = this;
    const worker = await new Promise<WorkerProcess>((resolve, reject) => {
      startWorker({
        controlPlane,
        cluster: namespace,
        namespaces: [namespace],
        onSpawn: (spawned) => {
          this.#workers.push(spawned);
          resolve(spawned);
        },
      }).catch(reject);
    });
    await worker.untilLine(({ msg }) => msg === 'this replica leads', 60_000);
    return worker;
  }

  /** With the label, as whoever installs Temporal would write it. */
  async apply(description: StatefulSetDescription): Promise<void> {
    const { cluster } = this;
    await cluster.applySet(description);
    await cluster.client.patch(cluster.setPath(description.namespace, description.name), 'merge', {
      metadata: { labels: { [LABEL.bootstrap]: 'true' } },
    });
  }

  /** A Deployment is done before the last of its old pods is gone. */
  async live(): Promise<readonly Pod[]> {
    const pods = await this.cluster.pods(this.namespace, 'temporal');
    return pods.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  }

  async untilImages(wanted: readonly string[]): Promise<void> {
    const { cluster, namespace } = this;
    await untilObjects<Pod>(
      cluster.client,
      { group: '', version: 'v1', resource: 'pods', namespace },
      wanted.join(),
      (pods) => JSON.stringify(images(pods)) === JSON.stringify(wanted),
      60_000,
    );
  }

  async edit(image: string): Promise<void> {
    const { cluster, namespace } = this;
    await cluster.client.patch(cluster.setPath(namespace, 'temporal'), 'json', [
      { op: 'replace', path: '/spec/template/spec/containers/0/image', value: image },
    ]);
  }

  async outcomes(): Promise<readonly string[]> {
    const revisions = await this.cluster.revisions(this.namespace, 'temporal');
    return revisions.flatMap((revision) => readAttempts(revision).map(({ outcome }) => outcome));
  }
}

function images(pods: readonly Pod[]): readonly (string | undefined)[] {
  return pods.map(({ spec }) => spec.containers[0]?.image);
}

const NAME = 'a workload with the label fairlead.dev/bootstrap';

describe('while Temporal is away', () => {
  const inLane = useLanes(4);

  beforeAll(async () => {
    await controlPlaneOf('apps/v1')().stop('temporal');
  }, 60_000);

  afterAll(async () => {
    await controlPlaneOf('apps/v1')().start('temporal');
  }, 60_000);

  describe.each(APIS)(`${NAME} (%s)`, (api) => {
    const alone = (play: (ground: Ground) => Promise<void>) =>
      inLane(async () => {
        await Ground.play(api, play);
      });

    it(
      'is broken by a change and mended by an edit, also by the next leader',
      alone(async (ground) => {
        const { cluster, namespace } = ground;
        never.push(namespace);
        const first = await ground.start();
        await ground.apply({ name: 'temporal', namespace, replicas: 3, image: 'app:1', parallel: true });
        await cluster.untilReady(namespace, 'temporal');

        await ground.edit('app:bad');
        await ground.untilImages(['app:1', 'app:1', 'app:bad']);
        const { kubeconfig, temporalAddress } = ground.controlPlane;
        const environment = {
          KUBECONFIG: kubeconfig,
          TEMPORAL_ADDRESS: temporalAddress,
          FAIRLEAD_CLUSTER: namespace,
          FAIRLEAD_WORKLOAD_API: api,
        };
        const cli = async (...words: readonly string[]) =>
          await runCli([...words, 'sts/temporal', '-n', namespace], { environment });
        const { out } = await cli('explain');
        expect(out).toContain("run:      in the worker's process");
        expect(out).not.toContain('does not answer');
        for (const verb of ['pause', 'resume'])
          expect(await cli('rollout', verb)).toMatchObject({ code: 0, err: '' });
        await first.kill();
        await ground.edit('app:2');
        await ground.start();
        await ground.untilImages(['app:2', 'app:2', 'app:2']);
        await cluster.untilReady(namespace, 'temporal');

        // A set is Ready a moment before its attempt is recorded.
        await found('it is recorded', async () =>
          (await ground.outcomes()).at(-1) === 'Succeeded' ? true : undefined,
        );
        const report = await checkers.get(api)?.report(namespace);
        expect(report?.violations).toEqual([]);
      }),
      PATIENCE_MS,
    );

    for (const kind of ['Deployment', 'DaemonSet'] as const) {
      it(
        `is no matter of its kind: a ${kind} is rolled out`,
        alone(async (ground) => {
          const { cluster, namespace } = ground;
          await ground.start();
          const path = cluster.path(kind, namespace, 'temporal');
          for (const image of ['app:1', 'app:2']) {
            await cluster.apply(kind, { name: 'temporal', namespace, image });
            await cluster.client.patch(path, 'merge', {
              metadata: { labels: { [LABEL.bootstrap]: 'true' } },
            });
            await cluster.untilReadyOf(kind, namespace, 'temporal');
            expect(new Set(images(await ground.live()))).toEqual(new Set([image]));
          }
          const reasons = (await cluster.events(namespace)).map(({ reason }) => reason);
          expect(reasons.filter((reason) => reason === 'RolloutCompleted').length).toBeGreaterThan(0);
        }),
        PATIENCE_MS,
      );
    }

    it(
      'is paused by its annotation, and goes back by itself when its deadline says so',
      alone(async (ground) => {
        const { cluster, namespace } = ground;
        const description: StatefulSetDescription = {
          name: 'temporal',
          namespace,
          replicas: 3,
          image: 'app:1',
          parallel: true,
          progressDeadlineSeconds: 4,
          onDeadline: 'Rollback',
        };
        await ground.start();
        await ground.apply(description);
        await cluster.untilReady(namespace, 'temporal');
        const path = cluster.setPath(namespace, 'temporal');

        await cluster.annotate(path, { [ANNOTATION.paused]: '{"by":"ann"}' });
        await ground.edit('app:bad');
        await cluster.until<StatefulSetObject>(
          path,
          'paused',
          (set) => conditionOf(set, 'Progressing')?.reason === 'RolloutPaused',
        );
        expect(images(await cluster.pods(namespace, 'temporal'))).toEqual(['app:1', 'app:1', 'app:1']);

        await cluster.annotate(path, { [ANNOTATION.paused]: undefined });
        await ground.untilImages(['app:1', 'app:1', 'app:bad']);
        await cluster.until<StatefulSetObject>(
          path,
          'back at what it was',
          (set) => isReady(set) && set.metadata.annotations?.[ANNOTATION.pinned] !== undefined,
          60_000,
        );
        expect(images(await cluster.pods(namespace, 'temporal'))).toEqual(['app:1', 'app:1', 'app:1']);
        expect(await ground.outcomes()).toContain('RolledBack');
      }),
      PATIENCE_MS,
    );
  });
});

describe('while Temporal is there', () => {
  const inLane = useLanes(2);

  it('a workload that was rolled out in process has no run', async () => {
    expect(never.length).toBe(APIS.length);
    const { temporalAddress } = controlPlaneOf('apps/v1')();
    const client = await connectTemporal(temporalAddress);
    const runs = [];
    for await (const run of client.workflow.list()) runs.push(run.workflowId);
    await client.connection.close();
    expect(runs.filter((id) => never.some((namespace) => id.includes(namespace)))).toEqual([]);
  }, 60_000);

  it.each(APIS.map((api) => ({ api, play: inLane(async () => await Ground.play(api, leaveAndReturn)) })))(
    `${NAME} ($api) leaves its run on Temporal when it gets it, and has one again without`,
    async ({ play }) => {
      await play();
    },
    PATIENCE_MS,
  );
});

async function leaveAndReturn(ground: Ground): Promise<void> {
  const { cluster, namespace } = ground;
  await ground.start();
  await cluster.applySet({ name: 'temporal', namespace, replicas: 3, image: 'app:1', parallel: true });
  await cluster.untilReady(namespace, 'temporal');
  await ground.edit('app:bad');
  await ground.untilImages(['app:1', 'app:1', 'app:bad']);
  const path = cluster.setPath(namespace, 'temporal');
  await cluster.client.patch(path, 'merge', { metadata: { labels: { [LABEL.bootstrap]: 'true' } } });
  await ground.edit('app:2');
  await cluster.untilReady(namespace, 'temporal');
  await cluster.client.patch(path, 'merge', { metadata: { labels: { [LABEL.bootstrap]: null } } });
  await ground.edit('app:3');
  await cluster.untilReady(namespace, 'temporal');
  const messages = (await cluster.events(namespace))
    .filter(({ reason }) => reason === 'RolloutStarted')
    .map(({ message }) => /in process/.test(message));
  expect(messages.at(0)).toBe(false);
  expect(messages.at(-1)).toBe(false);
  expect(messages).toContain(true);
}
