/** `fairlead rolling-update` against real servers: the seed's paths, the command interrupted, the worker killed in each phase. */

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';

import type { Io } from '../../cli/io.ts';
import type { ControllerRevision, Pod } from '../../planners/objects.ts';
import type { ReplicationController } from '../../planners/replication-controller.ts';
import { readAttempts } from '../../kubernetes/attempts.ts';
import { captureIo } from '../support/cli.ts';
import type { CliRun } from '../support/cli.ts';
import { run } from '../../cli/program.ts';
import { Cluster } from '../support/cluster.ts';
import { ControllerHistory } from '../support/controller-history.ts';
import { useControlPlane } from '../support/control-plane.ts';
import type { WorkerProcess } from '../support/worker-process.ts';
import { startWorker } from '../support/worker-process.ts';

const RCS = { group: '', version: 'v1', resource: 'replicationcontrollers' } as const;
const RECORDS = { group: 'apps', version: 'v1', resource: 'controllerrevisions' } as const;

describe('rolling update of a ReplicationController', () => {
  let cluster: Cluster;
  let worker: WorkerProcess;
  let namespace: string;
  let history: ControllerHistory;

  afterAll(async () => {
    await worker?.stop();
    cluster?.close();
  }, 30_000);

  const controlPlane = useControlPlane();

  beforeAll(async () => {
    cluster = await Cluster.connect(controlPlane().kubeconfig, controlPlane().workloadApi);
    worker = await startWorker({ controlPlane: controlPlane(), cluster: 'rc' });
  }, 120_000);

  beforeEach(async () => {
    namespace = await cluster.createNamespace('rc');
    history = new ControllerHistory(cluster.client, namespace);
    await cluster.client.create({ ...RCS, namespace }, manifest());
    await untilController(
      'foo has three pods',
      'foo',
      ({ status }) => (status as { availableReplicas?: number }).availableReplicas === 3,
    );
  }, 60_000);

  afterEach(async () => {
    await history.close();
  });

  function manifest(image = 'foo:1', name = 'foo', labels: Record<string, string> = { app: 'foo' }) {
    return {
      apiVersion: 'v1',
      kind: 'ReplicationController',
      metadata: { name },
      spec: {
        replicas: 3,
        selector: labels,
        template: {
          metadata: { labels, annotations: { 'sim.fairlead.dev/ready-delay': '300ms' } },
          spec: { containers: [{ name: 'main', image }] },
        },
      },
    };
  }

  async function untilController(
    what: string,
    name: string,
    holds: (one: ReplicationController) => boolean,
  ): Promise<void> {
    await cluster.until<ReplicationController>({ ...RCS, namespace, name }, what, holds, 30_000);
  }

  async function cli(words: string, overrides: Partial<Io> = {}): Promise<CliRun> {
    const environment = {
      KUBECONFIG: controlPlane().kubeconfig,
      TEMPORAL_ADDRESS: controlPlane().temporalAddress,
      FAIRLEAD_CLUSTER: 'rc',
      PATH: process.env['PATH'] ?? '',
    };
    const io = captureIo({ environment, ...overrides });
    const code = await run([...words.split(' '), '-n', namespace], io);
    return { code, ...io.printed };
  }

  async function controllers(): Promise<readonly ReplicationController[]> {
    return (await cluster.client.list<ReplicationController>({ ...RCS, namespace })).items;
  }

  async function pods(): Promise<readonly Pod[]> {
    return await cluster.pods(namespace, 'foo');
  }

  async function records(): Promise<readonly ControllerRevision[]> {
    return (await cluster.client.list<ControllerRevision>({ ...RECORDS, namespace })).items;
  }

  const uidsOf = (list: readonly Pod[]) => list.map(({ metadata }) => metadata.uid).sort();
  const imagesOf = (list: readonly Pod[]) => [...new Set(list.map(({ spec }) => spec.containers[0]?.image))];

  /** Pods as they were when the next controller was deleted for the rename. */
  async function podsAtRename(): Promise<readonly string[]> {
    await history.untilController(
      'the next controller is being deleted',
      ({ object: { metadata } }) =>
        metadata.name.startsWith('foo-') && metadata.deletionTimestamp !== undefined,
      50_000,
    );
    return uidsOf(await pods());
  }

  async function expectRenamed(image: string, begun: number): Promise<void> {
    const [only, ...others] = await controllers();
    expect([only?.metadata.name, others]).toEqual(['foo', []]);
    expect(only?.spec).toMatchObject({ replicas: 3, template: { spec: { containers: [{ image }] } } });
    expect(only?.metadata.annotations ?? {}).toEqual({});
    const present = await pods();
    expect(imagesOf(present)).toEqual([image]);
    await history.caughtUp(present);
    // Surge 1, unavailability 0.
    const { most, fewestReady } = history.extremes(begun);
    expect([most, fewestReady]).toEqual([4, 3]);
  }

  it('is started, interrupted, attached to, and renamed with its pods', async () => {
    const begun = performance.now();
    const interrupted = new AbortController();
    const lines: string[] = [];
    const first = cli('rolling-update foo --image=foo:2 --poll-interval 100ms --reason test', {
      interrupted: interrupted.signal,
      out: (text) => {
        lines.push(text);
        if (text.startsWith('rolling:')) interrupted.abort();
      },
    });
    expect(await first).toMatchObject({
      code: 130,
      err: expect.stringContaining('the same command attaches'),
    });
    expect(lines.join('')).toContain('rolling: foo');

    const atRename = podsAtRename();
    const second = await cli('rolling-update foo --image=foo:2 --poll-interval 100ms');

    expect(second).toMatchObject({ code: 0, err: expect.stringContaining('attached') });
    expect(second.out).toContain('foo is rolled out');
    await expectRenamed('foo:2', begun);
    expect(uidsOf(await pods())).toEqual(await atRename);
    const [record] = await records();
    expect(record?.metadata.ownerReferences?.[0]).toMatchObject({
      kind: 'ReplicationController',
      name: 'foo',
    });
    expect(readAttempts(record as ControllerRevision)).toMatchObject([
      { outcome: 'Succeeded', reason: 'test' },
    ]);
    const next = history.controllers.find(({ object }) => object.metadata.name.startsWith('foo-'))?.object
      .metadata.name;
    const gap = history.gap(next ?? '', 'foo');
    process.stdout.write(`without a controller: ${gap.toFixed(0)} ms\n`);
    expect(gap).toBeGreaterThan(0);
    expect((await cluster.events(namespace)).map(({ message }) => message)).toContain(
      `delete foo: its name is for ${next ?? ''}`,
    );
    expect(await cli('rolling-update foo --image=foo:2')).toMatchObject({
      code: 1,
      err: expect.stringContaining('already'),
    });
  }, 60_000);

  it('is turned round in the middle, and goes on', async () => {
    const begun = performance.now();
    const forward = cli('rolling-update foo --image=foo:2 --poll-interval 100ms --update-period 1s');
    await history.untilController(
      'foo has shrunk',
      ({ object }) => object.metadata.name === 'foo' && object.spec.replicas === 2,
    );
    const back = await cli('rolling-update foo --rollback --poll-interval 100ms');

    expect(back).toMatchObject({
      code: 0,
      out: expect.stringContaining('the update of foo was rolled back'),
    });
    expect(await forward).toMatchObject({ code: 1, err: expect.stringContaining('was rolled back') });
    await expectRenamed('foo:1', begun);
    const [record] = await records();
    expect(readAttempts(record as ControllerRevision)).toMatchObject([{ outcome: 'Aborted' }]);
  }, 60_000);

  it('keeps the next controller under a name of its own', async () => {
    const done = await cli('rolling-update foo foo-v2 --image=foo:2 --poll-interval 100ms');

    expect(done).toMatchObject({ code: 0, out: expect.stringContaining('foo-v2 is rolled out') });
    expect((await controllers()).map(({ metadata }) => metadata.name)).toEqual(['foo-v2']);
    expect(imagesOf(await pods())).toEqual(['foo:2']);
  }, 60_000);

  it('refuses what cannot be, with the next command', async () => {
    expect(await cli('rolling-update bar --image=x')).toMatchObject({
      code: 1,
      err: expect.stringContaining('there is no ReplicationController bar'),
    });
    expect(await cli('rolling-update foo --image=foo:1')).toMatchObject({
      code: 1,
      err: expect.stringContaining('has the image foo:1 already'),
    });
    expect(await cli('rolling-update foo')).toMatchObject({
      code: 2,
      err: expect.stringContaining('--image=IMAGE or -f FILE'),
    });
    expect(await cli('rolling-update foo --rollback')).toMatchObject({
      code: 1,
      err: expect.stringContaining('no rolling update of foo is in progress'),
    });
    expect(await cli('rolling-update foo --image=foo:2 --max-surge 0')).toMatchObject({ code: 2 });
    expect(await cli('rolling-update foo --image=foo:2 --dry-run')).toMatchObject({
      code: 0,
      out: expect.stringMatching(
        /^foo would be replaced by foo-[0-9a-f]{10} with 3 replicas, which then becomes foo/,
      ),
    });
    expect(await records()).toEqual([]);
  }, 30_000);

  it('goes on after its worker was killed: at its beginning, in its middle, before and within the rename', async () => {
    const begun = performance.now();
    const atRename = podsAtRename();
    const whole = cli('rolling-update foo --image=foo:2 --poll-interval 100ms');
    const isNext = ({ object }: { object: ReplicationController }) => object.metadata.name.startsWith('foo-');
    const kills: readonly [string, Parameters<ControllerHistory['untilController']>[1]][] = [
      ['the next controller was created', (seen) => isNext(seen) && seen.type === 'ADDED'],
      ['one pod each was replaced', (seen) => isNext(seen) && seen.object.spec.replicas === 2],
      [
        'the old controller is being deleted',
        ({ object: { metadata } }) => metadata.name === 'foo' && metadata.deletionTimestamp !== undefined,
      ],
      [
        'the next controller is being deleted',
        (seen) => isNext(seen) && seen.object.metadata.deletionTimestamp !== undefined,
      ],
    ];
    for (const [what, when] of kills) {
      await history.untilController(what, when, 20_000);
      worker.killNow();
      await worker.kill();
      worker = await startWorker({ controlPlane: controlPlane(), cluster: 'rc' });
    }

    expect(await whole).toMatchObject({ code: 0, out: expect.stringContaining('foo is rolled out') });
    await expectRenamed('foo:2', begun);
    expect(uidsOf(await pods())).toEqual(await atRename);
  }, 120_000);
});
