/** Renames while the controller manager has much else to do, seen from outside: no pod too many, none replaced, how long the gap is. */

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import type { Pod } from '../../planners/objects.ts';
import { isNotFound } from '../../kubernetes/api-error.ts';
import { RENAME_FINALIZER, ROLLING_UPDATE } from '../../planners/names.ts';
import { controllerOf } from '../../planners/controller-ref.ts';
import type { ReplicationController } from '../../planners/replication-controller.ts';
import { runCli } from '../support/cli.ts';
import { Cluster } from '../support/cluster.ts';
import { ControllerHistory } from '../support/controller-history.ts';
import { useControlPlane } from '../support/control-plane.ts';
import type { WorkerProcess } from '../support/worker-process.ts';
import { startWorker } from '../support/worker-process.ts';

const RCS = { group: '', version: 'v1', resource: 'replicationcontrollers' } as const;
const ROUNDS = 4;
const REPLICAS = 5;

function manifest(name: string, image: string, replicas: number) {
  const labels = { app: name };
  const spec = { terminationGracePeriodSeconds: 0, containers: [{ name: 'main', image }] };
  return {
    apiVersion: 'v1',
    kind: 'ReplicationController',
    metadata: { name },
    spec: { replicas, selector: labels, template: { metadata: { labels }, spec } },
  };
}

describe('renames under load', () => {
  let cluster: Cluster;
  let worker: WorkerProcess;
  let history: ControllerHistory;

  afterAll(async () => {
    await Promise.all([worker?.stop(), history?.close()]);
    cluster?.close();
  }, 60_000);

  const controlPlane = useControlPlane();

  beforeAll(async () => {
    cluster = await Cluster.connect(controlPlane().kubeconfig, controlPlane().workloadApi);
    worker = await startWorker({ controlPlane: controlPlane(), cluster: 'rc-rename' });
  }, 300_000);

  it('never one pod more than desired + surge, the same pods after as before', async () => {
    const namespace = await cluster.createNamespace('rc-rename');
    history = new ControllerHistory(cluster.client, namespace);
    await cluster.client.create({ ...RCS, namespace }, manifest('foo', 'foo:0', REPLICAS));
    await cluster.client.create({ ...RCS, namespace }, manifest('noise', 'noise:1', 0));
    const isFull = ({ status }: ReplicationController) => status?.availableReplicas === REPLICAS;
    await cluster.until<ReplicationController>({ ...RCS, namespace, name: 'foo' }, 'full', isFull, 120_000);
    const load = new AbortController();
    const noise = makeNoise(namespace, load.signal);
    const begun = performance.now();

    for (let round = 1; round <= ROUNDS; round += 1) {
      const words = `rolling-update foo --image=foo:${String(round)} --max-surge 2 --poll-interval 100ms -n ${namespace}`;
      const done = await runCli(words.split(' '), { environment: environment() });
      expect(done).toMatchObject({ code: 0, out: expect.stringContaining('foo is rolled out') });
      const present = await cluster.pods(namespace, 'foo');
      expect(present.map(({ spec }) => spec.containers[0]?.image)).toEqual(
        Array.from({ length: REPLICAS }, () => `foo:${String(round)}`),
      );
      await history.caughtUp(present);
      const { gap, atDeletion } = history.handOver('foo', round);
      // A figure to look at: a busy machine must not fail the test.
      process.stdout.write(`rename ${String(round)}: ${gap.toFixed(0)} ms without a controller\n`);
      expect(present.map(({ metadata }) => metadata.uid).sort()).toEqual(atDeletion);
    }

    load.abort();
    await noise;
    const isFoo = ({ metadata }: Pod) => metadata.labels?.['app'] === 'foo';
    expect(history.extremes(begun, isFoo)).toEqual({ most: REPLICAS + 2, fewestReady: REPLICAS });
    const [only] = (await cluster.client.list<ReplicationController>({ ...RCS, namespace })).items.filter(
      ({ metadata }) => metadata.name.startsWith('foo'),
    );
    const owners = (await cluster.pods(namespace, 'foo')).map((pod) => controllerOf(pod)?.uid);
    expect(new Set(owners)).toEqual(new Set([only?.metadata.uid]));
  }, 600_000);

  it('the record deleted at each moment of a rename: it is written again, and no pod is lost', async () => {
    const namespace = await cluster.createNamespace('rc-record');
    const path = { ...RCS, namespace };
    const record = {
      group: 'apps',
      version: 'v1',
      resource: 'controllerrevisions',
      namespace,
      name: 'foo-1',
    };
    const seen = new ControllerHistory(cluster.client, namespace);
    try {
      await cluster.client.create(path, manifest('foo', 'foo:0', 3));
      const isFull = ({ status }: ReplicationController) => status?.availableReplicas === 3;
      await cluster.until<ReplicationController>({ ...path, name: 'foo' }, 'full', isFull, 120_000);
      const done = runCli(
        ['rolling-update', 'foo', '--image=foo:1', '--poll-interval', '100ms', '-n', namespace],
        { environment: environment() },
      );
      const isNext = ({ metadata }: ReplicationController) => metadata.name.startsWith('foo-');
      const isNew = ({ spec }: ReplicationController) => spec.template?.spec.containers[0]?.image === 'foo:1';
      const isHeld = ({ metadata }: ReplicationController) => metadata.finalizers?.includes(RENAME_FINALIZER);
      const moments: readonly Parameters<typeof seen.untilController>[] = [
        ['held', ({ object }) => isNext(object) && isHeld(object) === true, 120_000],
        ['being deleted', ({ object }) => isNext(object) && object.metadata.deletionTimestamp !== undefined],
        ['let go', ({ type, object }) => type === 'DELETED' && isNext(object)],
        ['named again', ({ object }) => object.metadata.name === 'foo' && isNew(object)],
      ];
      for (const moment of moments) {
        await seen.untilController(...moment);
        await cluster.client.delete(record).catch((error: unknown) => {
          if (!isNotFound(error)) throw error;
        });
      }

      expect(await done).toMatchObject({ code: 0, out: expect.stringContaining('foo is rolled out') });
      const present = await cluster.pods(namespace, 'foo');
      await seen.caughtUp(present);
      const { atDeletion } = seen.handOver('foo', 1);
      expect(present.map(({ metadata }) => metadata.uid).sort()).toEqual(atDeletion);
      const { items } = await cluster.client.list<ReplicationController>(path);
      expect(items.map(({ metadata }) => metadata.name)).toEqual(['foo']);
    } finally {
      await seen.close();
    }
  }, 300_000);

  it('the next controller, held, and deleted with its pods by somebody: they are freed all the same, and stay', async () => {
    const namespace = await cluster.createNamespace('rc-held');
    const hash = '0123456789abcdef'.repeat(4).slice(0, 63);
    const next = `foo-${hash.slice(0, 10)}`;
    const labels = { app: 'foo', [ROLLING_UPDATE.deployment]: hash };
    const { spec, ...whole } = manifest('foo', 'foo:1', 3);
    const marks = { [ROLLING_UPDATE.partner]: 'foo', [ROLLING_UPDATE.desiredReplicas]: '3' };
    const path = { ...RCS, namespace, name: next };
    // As a worker that has just died has left it.
    await cluster.client.create(
      { ...RCS, namespace },
      {
        ...whole,
        metadata: { name: next, annotations: marks, finalizers: [RENAME_FINALIZER] },
        spec: { ...spec, selector: labels, template: { ...spec.template, metadata: { labels } } },
      },
    );
    const isFull = ({ status }: ReplicationController) => status?.availableReplicas === 3;
    await cluster.until<ReplicationController>(path, 'full', isFull, 120_000);
    const uids = (await cluster.pods(namespace, 'foo')).map(({ metadata }) => metadata.uid).sort();
    await cluster.client.delete(path, { propagationPolicy: 'Background' });

    const words = ['rolling-update', 'foo', '--poll-interval', '100ms', '-n', namespace];
    const done = await runCli(words, { environment: environment() });
    expect(done).toMatchObject({ code: 0, out: expect.stringContaining('foo is rolled out') });
    const { items } = await cluster.client.list<ReplicationController>({ ...RCS, namespace });
    expect(items.map(({ metadata }) => metadata.name)).toEqual(['foo']);
    const present = await cluster.pods(namespace, 'foo');
    expect(present.map(({ metadata }) => metadata.uid).sort()).toEqual(uids);
    expect(new Set(present.map((pod) => controllerOf(pod)?.uid))).toEqual(new Set([items[0]?.metadata.uid]));
  }, 300_000);

  function environment() {
    return {
      KUBECONFIG: controlPlane().kubeconfig,
      TEMPORAL_ADDRESS: controlPlane().temporalAddress,
      FAIRLEAD_CLUSTER: 'rc-rename',
      PATH: process.env['PATH'] ?? '',
    };
  }

  /** Another controller of thirty pods, up and down again: what the controller manager is told of pods piles up. */
  async function makeNoise(namespace: string, signal: AbortSignal): Promise<void> {
    const path = { ...RCS, namespace, name: 'noise' };
    for (let replicas = 30; ; replicas = 30 - replicas) {
      await cluster.client.patch(path, 'merge', { spec: { replicas: signal.aborted ? 0 : replicas } });
      if (signal.aborted) return;
      const isThere = ({ status }: { status?: { replicas?: number } }) =>
        (status?.replicas ?? 0) === replicas;
      await cluster.until<ReplicationController>(path, `${String(replicas)} pods of noise`, isThere, 120_000);
    }
  }
});
