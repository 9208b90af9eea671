/** How long pods have no controller in a rename: less than a second (design "Rolling update of ReplicationControllers"). */

import { afterAll, beforeAll, expect, it } from '@jest/globals';

import type { ReplicationController } from '../../planners/replication-controller.ts';
import { runCli } from '../support/cli.ts';
import { Cluster } from '../support/cluster.ts';
import { ControllerHistory } from '../support/controller-history.ts';
import { useControlPlane } from '../support/control-plane.ts';
import type { WorkerProcess } from '../support/worker-process.ts';
import { startWorker } from '../support/worker-process.ts';

const RCS = { group: '', version: 'v1', resource: 'replicationcontrollers' } as const;
const WITHIN_MS = 1_000;
/** A machine that does something else for a moment may be late once; a rename that is slow is late each time. */
const ROUNDS = 3;
const REPLICAS = 3;

// Of which API its workloads are makes no difference; one node takes the pods.
const controlPlane = useControlPlane({ nodes: 1 });
let cluster: Cluster;
let worker: WorkerProcess;
let history: ControllerHistory;

beforeAll(async () => {
  cluster = await Cluster.connect(controlPlane().kubeconfig, controlPlane().workloadApi);
  worker = await startWorker({ controlPlane: controlPlane(), cluster: 'gap' });
}, 180_000);

afterAll(async () => {
  await Promise.all([worker?.stop(), history?.close()]);
  cluster?.close();
}, 30_000);

it('the gap without a controller is under a second', async () => {
  const namespace = await cluster.createNamespace('gap');
  history = new ControllerHistory(cluster.client, namespace);
  const labels = { app: 'foo' };
  const template = {
    metadata: { labels },
    spec: { terminationGracePeriodSeconds: 0, containers: [{ name: 'main', image: 'foo:0' }] },
  };
  await cluster.client.create(
    { ...RCS, namespace },
    {
      apiVersion: 'v1',
      kind: 'ReplicationController',
      metadata: { name: 'foo' },
      spec: { replicas: REPLICAS, selector: labels, template },
    },
  );
  const path = { ...RCS, namespace, name: 'foo' };
  const isFull = ({ status }: ReplicationController) => status?.availableReplicas === REPLICAS;
  await cluster.until<ReplicationController>(path, 'full', isFull, 60_000);
  const environment = {
    KUBECONFIG: controlPlane().kubeconfig,
    TEMPORAL_ADDRESS: controlPlane().temporalAddress,
    FAIRLEAD_CLUSTER: 'gap',
    PATH: process.env['PATH'] ?? '',
  };
  const gaps: number[] = [];
  for (let round = 1; round <= ROUNDS; round += 1) {
    const words = `rolling-update foo --image=foo:${String(round)} --poll-interval 100ms -n ${namespace}`;
    const done = await runCli(words.split(' '), { environment });
    expect(done).toMatchObject({ code: 0, out: expect.stringContaining('foo is rolled out') });
    await history.caughtUp(await cluster.pods(namespace, 'foo'));
    gaps.push(history.handOver('foo', round).gap);
  }
  gaps.sort((a, b) => a - b);
  process.stdout.write(`without a controller: ${gaps.map((gap) => gap.toFixed(0)).join(', ')} ms\n`);

  expect(gaps[1]).toBeLessThan(WITHIN_MS);
  expect(gaps[0]).toBeGreaterThan(0);
}, 240_000);
