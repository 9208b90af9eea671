/**
 * Renames while the controller manager has much else to do, seen from outside: no pod too many, none replaced. And runs that end in
 * between: cancelled in a rename, closing while another update begins, or gone from Temporal.
 */

import { WorkflowNotFoundError } from '@temporalio/client';
import type { Client, WorkflowHandle } from '@temporalio/client';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { connectTemporal } from '../../controllers/temporal-client.ts';
import type { Pod } from '../../planners/objects.ts';
import { isNotFound } from '../../kubernetes/api-error.ts';
import { RENAME_FINALIZER, ROLLING_UPDATE } from '../../planners/names.ts';
import { controllerOf } from '../../planners/controller-ref.ts';
import type { ReplicationController } from '../../planners/replication-controller.ts';
import { planRollingUpdate } from '../../planners/rolling-update.ts';
import type { UpdateReference } from '../../kubernetes/rolling-update-objects.ts';
import { readUpdate, writeUpdate } from '../../kubernetes/rolling-update-objects.ts';
import { abortUpdate } from '../../kubernetes/rolling-update-wishes.ts';
import { rollingUpdateWorkflowId } from '../../workflows/rolling-update-messages.ts';
import { runCli } from '../support/cli.ts';
import { Cluster } from '../support/cluster.ts';
import { ControllerHistory } from '../support/controller-history.ts';
import { useControlPlane } from '../support/control-plane.ts';
import { COMMAND_LOOK_MS, found } from '../support/eventually.ts';
import { refuseController } from '../support/refusing-policy.ts';
import { useLanes } from '../support/lanes.ts';
import { untilObjects } from '../support/until-objects.ts';
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

function isWorkflowGone(error: unknown): true {
  if (error instanceof WorkflowNotFoundError) return true;
  throw error;
}

type Event = NonNullable<Awaited<ReturnType<WorkflowHandle['fetchHistory']>>['events']>[number];

describe('renames under load, and runs that end in between', () => {
  let cluster: Cluster;
  let temporal: Client;
  const workers: WorkerProcess[] = [];
  let history: ControllerHistory;

  afterAll(async () => {
    await Promise.all([
      ...workers.map(async (one) => await one.stop()),
      history?.close(),
      temporal?.connection.close(),
    ]);
    cluster?.close();
  }, 60_000);

  const controlPlane = useControlPlane();
  const inLane = useLanes(4);

  /** A worker for the updates of this owner. */
  async function start(owner: string): Promise<WorkerProcess> {
    const worker = await startWorker({ controlPlane: controlPlane(), cluster: owner });
    workers.push(worker);
    return worker;
  }

  beforeAll(async () => {
    cluster = await Cluster.connect(controlPlane().kubeconfig, controlPlane().workloadApi);
    temporal = await connectTemporal(controlPlane().temporalAddress);
    await start('rc-rename');
  }, 300_000);

  // Before the others: it keeps the controller manager busy.
  it('never one pod more than desired + surge, the same pods after as before', async () => {
    const namespace = await cluster.createNamespace('rc-rename');
    history = new ControllerHistory(cluster.client, namespace);
    await cluster.client.create({ ...RCS, namespace }, manifest('foo', 'foo:0', REPLICAS));
    await cluster.client.create({ ...RCS, namespace }, manifest('noise', 'noise:1', 0));
    const isFull = ({ status }: ReplicationController) => status?.availableReplicas === REPLICAS;
    await cluster.until<ReplicationController>({ ...RCS, namespace, name: 'foo' }, 'full', isFull, 120_000);
    await history.untilReady(REPLICAS);
    const load = new AbortController();
    const noise = makeNoise(namespace, load.signal);
    const begun = performance.now();

    try {
      for (let round = 1; round <= ROUNDS; round += 1) {
        const words = `rolling-update foo --image=foo:${String(round)} --max-surge 2 --poll-interval 100ms -n ${namespace}`;
        const done = await runCli(words.split(' '), { environment: environment() });
        if (done.code !== 0) throw new Error(done.err);
        expect(done.out).toContain('foo is rolled out');
        const present = await cluster.pods(namespace, 'foo');
        expect(present.map(({ spec }) => spec.containers[0]?.image)).toEqual(
          Array.from({ length: REPLICAS }, () => `foo:${String(round)}`),
        );
        await history.caughtUp(present);
        const { atDeletion } = history.handOver('foo', round);
        expect(present.map(({ metadata }) => metadata.uid).sort()).toEqual(atDeletion);
      }
    } finally {
      load.abort();
      await noise;
    }
    const isFoo = ({ metadata }: Pod) => metadata.labels?.['app'] === 'foo';
    expect(history.extremes(begun, isFoo)).toEqual({ most: REPLICAS + 2, fewestReady: REPLICAS });
    const [only] = (await cluster.client.list<ReplicationController>({ ...RCS, namespace })).items.filter(
      ({ metadata }) => metadata.name.startsWith('foo'),
    );
    const owners = (await cluster.pods(namespace, 'foo')).map((pod) => controllerOf(pod)?.uid);
    expect(new Set(owners)).toEqual(new Set([only?.metadata.uid]));
  }, 600_000);

  it(
    'the record deleted at each moment of a rename: it is written again, and no pod is lost',
    inLane(async () => {
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
        const isNew = ({ spec }: ReplicationController) =>
          spec.template?.spec.containers[0]?.image === 'foo:1';
        const isHeld = ({ metadata }: ReplicationController) =>
          metadata.finalizers?.includes(RENAME_FINALIZER);
        const moments: readonly [string, Parameters<typeof seen.untilController>[1]][] = [
          ['held', ({ object }) => isNext(object) && isHeld(object) === true],
          [
            'being deleted',
            ({ object }) => isNext(object) && object.metadata.deletionTimestamp !== undefined,
          ],
          ['let go', ({ type, object }) => type === 'DELETED' && isNext(object)],
          ['named again', ({ object }) => object.metadata.name === 'foo' && isNew(object)],
        ];
        for (const [what, when] of moments) {
          await seen.untilController(what, when, 120_000);
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
    }),
    300_000,
  );

  /** `foo` with three pods in a namespace of its own, and the run of its updates. */
  async function scene(prefix: string, owner = 'rc-rename') {
    const namespace = await cluster.createNamespace(prefix);
    const path = { ...RCS, namespace };
    await cluster.client.create(path, manifest('foo', 'foo:0', 3));
    const isFull = ({ status }: ReplicationController) => status?.availableReplicas === 3;
    await cluster.until<ReplicationController>({ ...path, name: 'foo' }, 'full', isFull, 120_000);
    const run = temporal.workflow.getHandle(rollingUpdateWorkflowId(owner, { namespace, name: 'foo' }));
    return {
      namespace,
      path,
      run,
      cli: async (words: string) =>
        await runCli([...words.split(' '), '-n', namespace], { environment: environment(owner) }),
      until: async (what: string, holds: (all: readonly ReplicationController[]) => boolean) =>
        await untilObjects<ReplicationController>(cluster.client, path, what, holds, 120_000),
      /** How often this happened, in the history of the present run. */
      count: async (isMeant: (event: Event) => boolean) =>
        ((await run.fetchHistory()).events ?? []).filter(isMeant).length,
    };
  }

  /** What a worker would write, up to the gap: no controller is there. */
  async function untilGap(reference: UpdateReference): Promise<void> {
    await found(
      'there is no controller',
      async () => {
        const { step } = planRollingUpdate(await readUpdate(cluster.client, reference), Date.now());
        if (step.do !== 'write') return undefined;
        if (step.write.purpose === 'Create') return true;
        await writeUpdate(cluster.client, reference.namespace, step.write);
        return undefined;
      },
      120_000,
    );
  }

  it(
    'a run that is cancelled in a rename finishes it, however long that takes',
    inLane(async () => {
      const { namespace, path, run, cli, until, count } = await scene('rc-cancelled');
      const holder = 'example.com/backup';
      const done = cli('rolling-update foo --image=foo:1 --poll-interval 100ms');
      const isNext = ({ metadata }: ReplicationController) => metadata.name.startsWith('foo-');
      const [first] = (await until('the next controller', (all) => all.some(isNext))).filter(isNext);
      const next = { ...path, name: first?.metadata.name ?? '' };
      await cluster.client.patch(next, 'merge', { metadata: { finalizers: [holder] } });
      await until('the next controller goes, and foo is gone', (all) =>
        all.every((one) => isNext(one) && one.metadata.deletionTimestamp !== undefined),
      );
      await run.cancel();
      // One call of what writes gives up after some seconds. A run that has ended by then makes none any more.
      const isCall = ({ activityTaskScheduledEventAttributes: task }: Event) =>
        task?.activityType?.name === 'awaitRollingUpdate';
      const before = await count(isCall);
      await found(
        'the cancelled run waits for the next controller',
        async () => {
          const { status } = await run.describe();
          return status.name !== 'RUNNING' || (await count(isCall)) > before ? true : undefined;
        },
        60_000,
      );
      const { metadata } = await cluster.client.get(next);
      const finalizers = metadata.finalizers?.filter((one) => one !== holder) ?? null;
      await cluster.client.patch(next, 'merge', { metadata: { finalizers } });

      const isBack = ({ metadata: { name }, status }: ReplicationController) =>
        name === 'foo' && status?.availableReplicas === 3;
      await until('foo is there again, with its pods', (all) => all.some(isBack));
      expect(await run.result()).toMatchObject({ outcome: 'Succeeded' });
      expect(await done).toMatchObject({ code: 0, out: expect.stringContaining('foo is rolled out') });
      const present = await cluster.pods(namespace, 'foo');
      expect(present.map(({ spec }) => spec.containers[0]?.image)).toEqual(['foo:1', 'foo:1', 'foo:1']);
    }),
    300_000,
  );

  it(
    'an update that begins while the run of another, with a name of its own, still closes: it is rolled out',
    inLane(async () => {
      const owner = 'rc-closing';
      const worker = await start(owner);
      const { namespace, cli, until, count } = await scene(owner, owner);
      const first = cli('rolling-update foo foo-v2 --image=foo:bad --poll-interval 100ms');
      await until('foo-v2 has grown', (all) =>
        all.some(({ metadata, status }) => metadata.name === 'foo-v2' && status?.replicas === 1),
      );
      await worker.stop();
      // What its worker would write, up to the end; the run does not hear of it before there is a worker again.
      const reference = { namespace, name: 'foo', next: 'foo-v2' };
      await abortUpdate(cluster.client, reference, { by: 'ann' }, Date.now());
      await found(
        'the update is turned round',
        async () => {
          const { step } = planRollingUpdate(await readUpdate(cluster.client, reference), Date.now());
          if (step.do === 'write') await writeUpdate(cluster.client, namespace, step.write);
          return step.do === 'done' ? true : undefined;
        },
        60_000,
      );
      const isCall = (event: Event) => event.workflowExecutionSignaledEventAttributes !== null;
      const before = await count(isCall);
      const second = cli('rolling-update foo --image=foo:1 --poll-interval 100ms');
      await found('the run is told', async () => ((await count(isCall)) > before ? true : undefined), 60_000);
      await start(owner);

      expect(await second).toMatchObject({ code: 0, out: expect.stringContaining('foo is rolled out') });
      expect(await first).toMatchObject({ code: 1, err: expect.stringContaining('was rolled back by ann') });
      const present = await cluster.pods(namespace, 'foo');
      expect(present.map(({ spec }) => spec.containers[0]?.image)).toEqual(['foo:1', 'foo:1', 'foo:1']);
      const told = (await cli('rollout history rc/foo')).out;
      expect(told).toMatch(/Aborted .*by ann/);
      expect(told).toMatch(/Succeeded .*foo:1/);
    }),
    300_000,
  );

  it(
    'a creation that is refused holds the rename before its gap, and in the gap ends no run',
    inLane(async () => {
      const owner = 'rc-refused';
      const worker = await start(owner);
      const { namespace, cli, run, until } = await scene(owner, owner);
      const allow = await refuseController(cluster.client, namespace, 'foo');
      const whole = cli('rolling-update foo --image=foo:1 --poll-interval 100ms');
      const said = async (words: string, ...parts: readonly string[]) =>
        await found(
          `${words} says ${parts.join(', ')}`,
          async () => {
            const { out, err } = await cli(words);
            return parts.every((part) => `${out}${err}`.includes(part)) ? true : undefined;
          },
          60_000,
          undefined,
          COMMAND_LOOK_MS,
        );
      const held = 'keeps its name for now: a creation of foo would be refused';
      await said(
        'explain rc/foo',
        held,
        'no foo for now',
        'mend what it names (it is tried again by itself), or give it up',
      );
      await said('get rc', held);
      await said('rollout status rc/foo --timeout 2s', held);
      const isOld = ({ metadata: { name, deletionTimestamp } }: ReplicationController) =>
        name === 'foo' && deletionTimestamp === undefined;
      await until('both are there', (all) => all.length === 2 && all.some(isOld));
      // By signal, as from the Temporal UI: written although the step that is tried again never answers.
      await run.signal('pause', { by: 'ann', reason: 'not tonight' });
      await said('rollout status rc/foo --timeout 2s', 'ann', 'not tonight');
      expect(await cli('rollout resume rc/foo')).toMatchObject({ code: 0 });
      await said('explain rc/foo', held);

      await worker.stop();
      await allow();
      const reference = { namespace, name: 'foo' };
      await untilGap(reference);
      const uids = (await cluster.pods(namespace, 'foo')).map(({ metadata }) => metadata.uid).sort();
      const allowAgain = await refuseController(cluster.client, namespace, 'foo');
      await start(owner);
      await said('explain rc/foo', '3 pods have no controller', 'has failed', 'no foo for now');
      await said('rollout status rc/foo --timeout 2s', 'no foo for now');
      expect((await run.describe()).status.name).toBe('RUNNING');
      await allowAgain();

      expect(await whole).toMatchObject({ code: 0, out: expect.stringContaining('foo is rolled out') });
      const present = await cluster.pods(namespace, 'foo');
      expect(present.map(({ metadata }) => metadata.uid).sort()).toEqual(uids);
    }),
    300_000,
  );

  it(
    'its history gone from Temporal in the gap of a rename: the next worker finishes it from the record',
    inLane(async () => {
      const owner = 'rc-lost';
      const worker = await start(owner);
      const { namespace, cli, run, until } = await scene(owner, owner);
      const whole = cli('rolling-update foo --image=foo:1 --poll-interval 100ms --update-period 2s');
      const isNext = ({ metadata }: ReplicationController) => metadata.name.startsWith('foo-');
      await until('the next controller', (all) => all.some(isNext));
      await worker.stop();
      const { workflowId } = run;
      await temporal.workflowService.deleteWorkflowExecution({
        namespace: 'default',
        workflowExecution: { workflowId },
      });
      const isGone = async () => await run.describe().then(() => undefined, isWorkflowGone);
      await found('the history is gone', isGone, 60_000);
      const reference = { namespace, name: 'foo' };
      await untilGap(reference);
      const uids = (await cluster.pods(namespace, 'foo')).map(({ metadata }) => metadata.uid).sort();
      expect((await cli('explain rc/foo')).out).toContain('3 pods have no controller');
      expect(await cli('rollout status rc/foo --watch=false')).toMatchObject({
        code: 1,
        err: expect.stringContaining('; no run is open\n'),
      });
      expect((await cli('get rc')).out).toMatch(/foo .* Stalled +no run is open /);
      await start(owner);

      expect(await whole).toMatchObject({
        code: 0,
        out: expect.stringContaining('foo is rolled out'),
        err: expect.stringContaining(
          `note: its run is missing in Temporal at ${controlPlane().temporalAddress}`,
        ),
      });
      const foo = await cluster.client.get({ ...RCS, namespace, name: 'foo' });
      const present = await cluster.pods(namespace, 'foo');
      expect(present.map(({ metadata }) => metadata.uid).sort()).toEqual(uids);
      expect(present.map((pod) => controllerOf(pod)?.uid)).toEqual(uids.map(() => foo.metadata.uid));
    }),
    300_000,
  );

  it(
    'a ReplicaSet that selects the pods too holds the rename until it is gone; another update does not begin',
    inLane(async () => {
      const { namespace, cli, until } = await scene('rc-rival');
      const replicaSets = { group: 'apps', version: 'v1', resource: 'replicasets', namespace };
      const { spec } = manifest('foo', 'web:1', 0);
      const web = { apiVersion: 'apps/v1', kind: 'ReplicaSet', metadata: { name: 'web' } };
      const rival = { ...web, spec: { ...spec, selector: { matchLabels: spec.selector } } };
      await cluster.client.create(replicaSets, rival);
      const told = 'ReplicaSet web (selector app=foo) selects the pods of foo too';
      for (const words of ['rolling-update foo --image=foo:1 --dry-run', 'rolling-update foo --image=foo:1'])
        expect(await cli(words)).toMatchObject({ code: 1, err: expect.stringContaining(told) });
      await cluster.client.delete({ ...replicaSets, name: 'web' });

      const done = cli('rolling-update foo --image=foo:1 --poll-interval 100ms');
      await until('the next controller', (all) => all.length === 2);
      await cluster.client.create(replicaSets, rival);
      await found(
        'the rename waits',
        async () =>
          (await cli('explain rc/foo')).out.includes('ReplicaSet web (selector app=foo) selects the pods')
            ? true
            : undefined,
        120_000,
      );
      const before = (await cluster.pods(namespace, 'foo')).map(({ metadata }) => metadata.uid).sort();
      await cluster.client.delete({ ...replicaSets, name: 'web' });
      expect(await done).toMatchObject({ code: 0, out: expect.stringContaining('foo is rolled out') });
      const after = (await cluster.pods(namespace, 'foo')).map(({ metadata }) => metadata.uid).sort();
      expect(after).toEqual(before);
    }),
    300_000,
  );

  it(
    'its namespace is deleted while the next controller is held, and its record with it: retry lets it go',
    inLane(async () => await endNamespace('retry', 'as made')),
    300_000,
  );

  it(
    'the same where somebody has edited it, and nothing tells that its name is no name to stay',
    inLane(async () => await endNamespace('retry', 'edited')),
    300_000,
  );

  it(
    'the same: abort lets it go, and needs no run',
    inLane(async () => await endNamespace('abort', 'as made')),
    300_000,
  );

  async function endNamespace(verb: 'retry' | 'abort', next: 'as made' | 'edited'): Promise<void> {
    const namespace = await cluster.createNamespace(`rc-ending-${verb}`);
    const hash = '0123456789abcdef'.repeat(4).slice(0, 63);
    const path = { ...RCS, namespace, name: `foo-${hash.slice(0, 10)}` };
    const { spec, ...whole } = manifest('foo', 'foo:1', 1);
    const labels = { app: 'foo', ...(next === 'as made' && { [ROLLING_UPDATE.deployment]: hash }) };
    const template = { ...spec.template, metadata: { labels } };
    const marks = { [ROLLING_UPDATE.partner]: 'foo', [ROLLING_UPDATE.desiredReplicas]: '1' };
    // As a worker that has just died has left it.
    const metadata = { name: path.name, annotations: marks, finalizers: [RENAME_FINALIZER] };
    await cluster.client.create(
      { ...RCS, namespace },
      { ...whole, metadata, spec: { ...spec, selector: labels, template } },
    );
    const ofNamespace = { group: '', version: 'v1', resource: 'namespaces', name: namespace } as const;
    await cluster.client.delete(ofNamespace);
    const isGoing = ({ metadata: { deletionTimestamp } }: ReplicationController) =>
      deletionTimestamp !== undefined;
    await cluster.until<ReplicationController>(path, 'goes', isGoing, 120_000);

    const cli = async (words: string) =>
      await runCli([...words.split(' '), '-n', namespace], { environment: environment() });
    expect((await cli('explain rc/foo')).out).toMatch(/is being deleted.*\n(.*\n)*.*rollout abort rc\/foo/);
    expect(await cli(`rollout ${verb} rc/foo`)).toMatchObject({
      code: 0,
      out: expect.stringContaining(`namespace ${namespace} is being deleted`),
    });
    await found(
      'the namespace is gone',
      async () => {
        try {
          await cluster.client.get(ofNamespace);
          return undefined;
        } catch (error) {
          if (isNotFound(error)) return true;
          throw error;
        }
      },
      120_000,
    );
  }

  it(
    'the next controller, held, and deleted with its pods by somebody: they are freed all the same, and stay',
    inLane(async () => {
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
      expect(new Set(present.map((pod) => controllerOf(pod)?.uid))).toEqual(
        new Set([items[0]?.metadata.uid]),
      );
    }),
    300_000,
  );

  function environment(owner = 'rc-rename') {
    return {
      KUBECONFIG: controlPlane().kubeconfig,
      TEMPORAL_ADDRESS: controlPlane().temporalAddress,
      FAIRLEAD_CLUSTER: owner,
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
