/** Workloads that Temporal itself needs are rolled in process: with Temporal away they are broken, mended, paused and rolled back. */

import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { Client, Connection } from '@temporalio/client';

import { readAttempts } from '../../kubernetes/attempts.ts';
import type { StatefulSetObject } from '../../kubernetes/statefulset-adapter.ts';
import type { WorkloadApi } from '../../kubernetes/workload-api.ts';
import { ANNOTATION, LABEL } from '../../planners/names.ts';
import type { Pod } from '../../planners/objects.ts';
import { BudgetChecker } from '../support/budget-checker-process.ts';
import { builtWorker } from '../support/built-worker.ts';
import { Cluster, isReady } from '../support/cluster.ts';
import { useControlPlaneOfBoth } from '../support/control-plane.ts';
import { conditionOf } from '../support/scene.ts';
import type { StatefulSetDescription } from '../support/statefulset-manifest.ts';
import { untilObjects } from '../support/until-objects.ts';
import { startWorker } from '../support/worker-process.ts';
import type { WorkerProcess } from '../support/worker-process.ts';

const APIS: readonly WorkloadApi[] = ['fairlead.dev/v1beta1', 'apps/v1'];

const controlPlaneOf = useControlPlaneOfBoth({ nodes: 1 });

describe.each(APIS)('a workload with the label fairlead.dev/bootstrap (%s)', (api) => {
  const controlPlane = controlPlaneOf(api);
  const workers: WorkerProcess[] = [];
  let cluster: Cluster;
  let checker: BudgetChecker;

  beforeAll(async () => {
    await builtWorker();
    cluster = await Cluster.connect(controlPlane().kubeconfig, api);
    checker = await BudgetChecker.start(controlPlane());
  }, 180_000);

  afterAll(async () => {
    await checker?.stop();
    cluster?.close();
  });

  afterEach(async () => {
    await Promise.all(workers.splice(0).map(async (worker) => await worker.kill()));
    await controlPlane().start('temporal');
  });

  /** Resolves when it leads: its activities need Temporal, its controllers do not. */
  async function start(owner: string): Promise<WorkerProcess> {
    const worker = await new Promise<WorkerProcess>((resolve, reject) => {
      startWorker({
        controlPlane: controlPlane(),
        cluster: owner,
        onSpawn: (spawned) => {
          workers.push(spawned);
          resolve(spawned);
        },
      }).catch(reject);
    });
    await worker.untilLine(({ msg }) => msg === 'this replica leads', 30_000);
    return worker;
  }

  /** With the label, as whoever installs Temporal would write it. */
  async function apply(description: StatefulSetDescription): Promise<void> {
    await cluster.applySet(description);
    await cluster.client.patch(cluster.setPath(description.namespace, description.name), 'merge', {
      metadata: { labels: { [LABEL.bootstrap]: 'true' } },
    });
  }

  function images(pods: readonly Pod[]): readonly (string | undefined)[] {
    return pods.map(({ spec }) => spec.containers[0]?.image);
  }

  /** A Deployment is done before the last of its old pods is gone. */
  async function live(namespace: string): Promise<readonly Pod[]> {
    const pods = await cluster.pods(namespace, 'temporal');
    return pods.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  }

  async function untilImages(namespace: string, wanted: readonly string[]): Promise<void> {
    await untilObjects<Pod>(
      cluster.client,
      { group: '', version: 'v1', resource: 'pods', namespace },
      wanted.join(),
      (pods) => JSON.stringify(images(pods)) === JSON.stringify(wanted),
      40_000,
    );
  }

  async function edit(namespace: string, image: string): Promise<void> {
    await cluster.client.patch(cluster.setPath(namespace, 'temporal'), 'json', [
      { op: 'replace', path: '/spec/template/spec/containers/0/image', value: image },
    ]);
  }

  async function outcomes(namespace: string): Promise<readonly string[]> {
    const revisions = await cluster.revisions(namespace, 'temporal');
    return revisions.flatMap((revision) => readAttempts(revision).map(({ outcome }) => outcome));
  }

  it('is broken by a change and mended by an edit, both while Temporal is away, also by the next leader', async () => {
    const namespace = await cluster.createNamespace('bootstrap');
    const description = { name: 'temporal', namespace, replicas: 3, image: 'app:1', parallel: true };
    await controlPlane().stop('temporal');
    const first = await start(namespace);
    await apply(description);
    await cluster.untilReady(namespace, 'temporal');

    await edit(namespace, 'app:bad');
    await untilImages(namespace, ['app:1', 'app:1', 'app:bad']);
    await first.kill();
    await edit(namespace, 'app:2');
    await start(namespace);
    await untilImages(namespace, ['app:2', 'app:2', 'app:2']);
    await cluster.untilReady(namespace, 'temporal');

    expect((await outcomes(namespace)).at(-1)).toBe('Succeeded');
    await controlPlane().start('temporal');
    const connection = await Connection.connect({ address: controlPlane().temporalAddress });
    const runs = [];
    for await (const run of new Client({ connection }).workflow.list()) runs.push(run.workflowId);
    await connection.close();
    expect(runs.filter((id) => id.includes(namespace))).toEqual([]);
    const { violations } = await checker.report(namespace);
    expect(violations).toEqual([]);
  }, 150_000);

  it.each(['Deployment', 'DaemonSet'] as const)(
    'is no matter of its kind: a %s is rolled out while Temporal is away',
    async (kind) => {
      const namespace = await cluster.createNamespace('bootstrap');
      await controlPlane().stop('temporal');
      await start(namespace);
      const path = cluster.path(kind, namespace, 'temporal');
      for (const image of ['app:1', 'app:2']) {
        await cluster.apply(kind, { name: 'temporal', namespace, image });
        await cluster.client.patch(path, 'merge', { metadata: { labels: { [LABEL.bootstrap]: 'true' } } });
        await cluster.untilReadyOf(kind, namespace, 'temporal');
        expect(new Set(images(await live(namespace)))).toEqual(new Set([image]));
      }
      const reasons = (await cluster.events(namespace)).map(({ reason }) => reason);
      expect(reasons.filter((reason) => reason === 'RolloutCompleted').length).toBeGreaterThan(0);
    },
    90_000,
  );

  it('is paused by its annotation, and goes back by itself when its deadline says so', async () => {
    const namespace = await cluster.createNamespace('bootstrap');
    const description: StatefulSetDescription = {
      name: 'temporal',
      namespace,
      replicas: 3,
      image: 'app:1',
      parallel: true,
      progressDeadlineSeconds: 4,
      onDeadline: 'Rollback',
    };
    await controlPlane().stop('temporal');
    await start(namespace);
    await apply(description);
    await cluster.untilReady(namespace, 'temporal');
    const path = cluster.setPath(namespace, 'temporal');

    await cluster.annotate(path, { [ANNOTATION.paused]: '{"by":"ann"}' });
    await edit(namespace, 'app:bad');
    await cluster.until<StatefulSetObject>(
      path,
      'paused',
      (set) => conditionOf(set, 'Progressing')?.reason === 'RolloutPaused',
    );
    expect(images(await cluster.pods(namespace, 'temporal'))).toEqual(['app:1', 'app:1', 'app:1']);

    await cluster.annotate(path, { [ANNOTATION.paused]: undefined });
    await untilImages(namespace, ['app:1', 'app:1', 'app:bad']);
    await cluster.until<StatefulSetObject>(
      path,
      'back at what it was',
      (set) => isReady(set) && set.metadata.annotations?.[ANNOTATION.pinned] !== undefined,
      60_000,
    );
    expect(images(await cluster.pods(namespace, 'temporal'))).toEqual(['app:1', 'app:1', 'app:1']);
    expect(await outcomes(namespace)).toContain('RolledBack');
  }, 150_000);

  it('leaves its run on Temporal when it gets the label, and has one again without', async () => {
    const namespace = await cluster.createNamespace('bootstrap');
    await start(namespace);
    await cluster.applySet({ name: 'temporal', namespace, replicas: 3, image: 'app:1', parallel: true });
    await cluster.untilReady(namespace, 'temporal');
    await edit(namespace, 'app:bad');
    await untilImages(namespace, ['app:1', 'app:1', 'app:bad']);
    const path = cluster.setPath(namespace, 'temporal');
    await cluster.client.patch(path, 'merge', { metadata: { labels: { [LABEL.bootstrap]: 'true' } } });
    await edit(namespace, 'app:2');
    await cluster.untilReady(namespace, 'temporal');
    await cluster.client.patch(path, 'merge', { metadata: { labels: { [LABEL.bootstrap]: null } } });
    await edit(namespace, 'app:3');
    await cluster.untilReady(namespace, 'temporal');
    const messages = (await cluster.events(namespace))
      .filter(({ reason }) => reason === 'RolloutStarted')
      .map(({ message }) => /in process/.test(message));
    expect(messages.at(0)).toBe(false);
    expect(messages.at(-1)).toBe(false);
    expect(messages).toContain(true);
  }, 120_000);
});
