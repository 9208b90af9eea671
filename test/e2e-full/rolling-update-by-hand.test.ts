/** Somebody works against a rolling update by hand: edits the template of the next controller, or deletes controllers without their pods. */

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { connectTemporal } from '../../controllers/temporal-client.ts';
import { isReady } from '../../planners/availability.ts';
import { LABEL, RENAME_FINALIZER, ROLLING_UPDATE } from '../../planners/names.ts';
import type { Pod } from '../../planners/objects.ts';
import type { ReplicationController } from '../../planners/replication-controller.ts';
import { sizeOf } from '../../planners/replication-controller.ts';
import { rollingUpdateWorkflowId } from '../../workflows/rolling-update-messages.ts';
import { runCli } from '../support/cli.ts';
import { Cluster } from '../support/cluster.ts';
import { ControllerHistory } from '../support/controller-history.ts';
import { found } from '../support/eventually.ts';
import { useControlPlane } from '../support/control-plane.ts';
import { useLanes } from '../support/lanes.ts';
import { untilObjects } from '../support/until-objects.ts';
import type { WorkerProcess } from '../support/worker-process.ts';
import { startWorker } from '../support/worker-process.ts';

const RCS = { group: '', version: 'v1', resource: 'replicationcontrollers' } as const;
const PODS = { group: '', version: 'v1', resource: 'pods' } as const;
const MAPS = { group: '', version: 'v1', resource: 'configmaps' } as const;
const REVISIONS = { group: 'apps', version: 'v1', resource: 'controllerrevisions' } as const;
const LABELS = { app: 'foo' };
const FOO = {
  apiVersion: 'v1',
  kind: 'ReplicationController',
  metadata: { name: 'foo' },
  spec: {
    replicas: 4,
    selector: LABELS,
    template: {
      metadata: { labels: LABELS },
      spec: { terminationGracePeriodSeconds: 0, containers: [{ name: 'main', image: 'foo:1' }] },
    },
  },
};

/** Images of the pods of an update that came to its end. */
const ALL_NEW = ['foo:2', 'foo:2', 'foo:2', 'foo:2'];

/** One more than wanted, none less (K5). */
const BUDGET = { most: 5, fewestReady: 4 };

const imageOf = ({ spec }: Pod) => spec.containers[0]?.image;

describe('a rolling update that somebody works against by hand', () => {
  let cluster: Cluster;
  const workers: WorkerProcess[] = [];
  const histories: ControllerHistory[] = [];

  afterAll(async () => {
    await Promise.all([
      ...workers.map(async (one) => await one.stop()),
      ...histories.map(async (one) => await one.close()),
    ]);
    cluster?.close();
  }, 30_000);

  const controlPlane = useControlPlane();
  const inLane = useLanes(4);

  const environmentOf = (owner: string) => ({
    KUBECONFIG: controlPlane().kubeconfig,
    TEMPORAL_ADDRESS: controlPlane().temporalAddress,
    FAIRLEAD_CLUSTER: owner,
    PATH: process.env['PATH'] ?? '',
  });

  /** A worker for the updates of this owner. */
  async function start(owner: string): Promise<WorkerProcess> {
    const worker = await startWorker({ controlPlane: controlPlane(), cluster: owner });
    workers.push(worker);
    return worker;
  }

  beforeAll(async () => {
    cluster = await Cluster.connect(controlPlane().kubeconfig, controlPlane().workloadApi);
    await start('rc-by-hand');
  }, 120_000);

  /** One that goes with the ConfigMap `app`. */
  async function ownedFoo(namespace: string) {
    const map = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'app' } };
    const { metadata } = await cluster.client.create({ ...MAPS, namespace }, map);
    const owner = { apiVersion: 'v1', kind: 'ConfigMap', name: 'app', uid: metadata.uid };
    return { ...FOO, metadata: { name: 'foo', ownerReferences: [owner] } };
  }

  /** With some pods of each, and paused; `done` is the command that waits for its end. */
  async function halfway({ isPaused = true, owner = 'rc-by-hand', isOwned = false } = {}) {
    const namespace = await cluster.createNamespace('rc-by-hand');
    const history = new ControllerHistory(cluster.client, namespace);
    histories.push(history);
    await cluster.client.create({ ...RCS, namespace }, isOwned ? await ownedFoo(namespace) : FOO);
    const isFull = ({ status }: ReplicationController) => status?.availableReplicas === 4;
    await cluster.until<ReplicationController>({ ...RCS, namespace, name: 'foo' }, 'full', isFull, 60_000);
    await history.untilReady(4);
    const begun = performance.now();
    const environment = environmentOf(owner);
    const cli = async (words: string) =>
      await runCli([...words.split(' '), '-n', namespace], { environment });
    const done = cli('rolling-update foo --image=foo:2 --update-period 2s --poll-interval 100ms');
    const isHalf = (all: readonly ReplicationController[]) =>
      all.some((one) => one.metadata.name !== 'foo' && sizeOf(one) >= 2);
    await untilObjects<ReplicationController>(
      cluster.client,
      { ...RCS, namespace },
      'two new pods',
      isHalf,
      60_000,
    );
    // That it is written counts: a busy Temporal may be told of it late.
    const paused = isPaused ? await cli('rollout pause rc/foo') : { code: 0, err: '' };
    expect([paused.code, paused.code === 0 ? '' : paused.err]).toEqual([0, '']);
    const { items } = await cluster.client.list<ReplicationController>({ ...RCS, namespace });
    const next = items.find(({ metadata }) => metadata.name !== 'foo')?.metadata.name ?? '';
    const untilPods = async (what: string, holds: (pods: readonly Pod[]) => boolean) => {
      await untilObjects<Pod>(cluster.client, { ...PODS, namespace }, what, holds, 60_000);
    };
    return { namespace, cli, done, next, untilPods, history, begun };
  }

  it(
    'the worker killed: whoever gives up waiting is told so',
    inLane(async () => {
      const owner = 'rc-killed';
      const worker = await start(owner);
      const { cli, done } = await halfway({ isPaused: false, owner });
      worker.killNow();
      expect(await cli('rollout status rc/foo --timeout 500ms')).toMatchObject({
        code: 3,
        err: expect.stringMatching(
          /^error: timed out waiting for the update of foo: the worker .* has not renewed it/m,
        ),
      });
      await worker.kill();
      await start(owner);
      expect((await done).code).toBe(0);
    }),
    240_000,
  );

  it(
    'the owner of the old controller deleted: both controllers go with it, and nothing is made again',
    inLane(async () => {
      const { namespace, done } = await halfway({ isPaused: false, isOwned: true });
      await cluster.client.delete({ ...MAPS, namespace, name: 'app' }, { propagationPolicy: 'Background' });

      expect(await done).toMatchObject({
        code: 1,
        err: expect.stringContaining('there is no ReplicationController foo, nor one that is to replace it'),
      });
      await untilObjects<Pod>(
        cluster.client,
        { ...PODS, namespace },
        'no pod',
        ({ length }) => length === 0,
        60_000,
      );
      expect((await cluster.client.list({ ...RCS, namespace })).items).toEqual([]);
      expect((await cluster.client.list({ ...REVISIONS, namespace })).items).toHaveLength(1);
    }),
    120_000,
  );

  it(
    'the owner of the old controller deleted without it: what is renamed goes with nobody, and keeps its pods',
    inLane(async () => {
      const { namespace, cli, done, next } = await halfway({ isOwned: true });
      await cluster.client.delete({ ...MAPS, namespace, name: 'app' }, { propagationPolicy: 'Orphan' });
      const isFree = (all: readonly ReplicationController[]) =>
        all.every(({ metadata }) => (metadata.ownerReferences ?? []).length === 0);
      await untilObjects<ReplicationController>(
        cluster.client,
        { ...RCS, namespace },
        'no owner',
        isFree,
        60_000,
      );
      const before = (await cluster.pods(namespace, 'foo')).filter(({ metadata }) =>
        metadata.name.startsWith(next),
      );
      await cli('rollout resume rc/foo');

      expect(await done).toMatchObject({ code: 0, out: expect.stringContaining('foo is rolled out') });
      const after = (await cluster.pods(namespace, 'foo')).map(({ metadata }) => metadata.uid);
      expect(after).toHaveLength(4);
      expect(after).toEqual(expect.arrayContaining(before.map(({ metadata }) => metadata.uid)));
    }),
    120_000,
  );

  it(
    'the worker killed while the next controller has let its pods go: they are named first, and nothing is advised that cannot be',
    inLane(async () => {
      const owner = 'rc-killed-in-rename';
      const worker = await start(owner);
      const { namespace, cli, done, next, untilPods } = await halfway({ isPaused: false, owner });
      // The garbage collector frees the pods that it has heard of: none may be new to it.
      await untilPods(
        'two new pods are ready',
        (pods) => pods.filter((pod) => imageOf(pod) === 'foo:2' && isReady(pod)).length >= 2,
      );
      await worker.kill();
      await cluster.client.delete({ ...RCS, namespace, name: 'foo' }, { propagationPolicy: 'Background' });
      const held = { metadata: { finalizers: [RENAME_FINALIZER] } };
      await cluster.client.patch({ ...RCS, namespace, name: next }, 'merge', held);
      await cluster.client.delete({ ...RCS, namespace, name: next }, { propagationPolicy: 'Orphan' });
      const isFree = ({ metadata }: Pod) => (metadata.ownerReferences ?? []).length === 0;
      await untilPods('pods of nobody', (pods) => pods.length > 0 && pods.every(isFree));

      const named = `pods have no controller: ${next} is being deleted and foo is not there yet`;
      expect((await cli('explain rc/foo')).out).toMatch(
        new RegExp(
          `foo: \\d ${named}; the worker \\S+ .* for at least \\ds \\(last at .*\\n.*\\n.*start a worker`,
        ),
      );
      expect(await cli('rollout status rc/foo --timeout 500ms')).toMatchObject({
        code: 3,
        out: expect.stringContaining(named),
        err: expect.stringMatching(new RegExp(`${named}; the worker .* has not renewed it`)),
      });
      expect((await cli('get rc/foo')).out).toContain(named);
      const refused = await cli('rolling-update foo --image=foo:3');
      expect(refused).toMatchObject({ code: 1, err: expect.stringContaining('it cannot go back any more') });
      for (const words of ['rolling-update foo --rollback', 'rollout abort rc/foo'])
        expect(await cli(words)).toMatchObject({
          code: 1,
          err: expect.stringMatching(/^error: foo is gone already: .*\n {2}`fairlead explain rc\/foo /),
        });

      await start(owner);
      expect(await done).toMatchObject({
        code: 0,
        out: expect.stringContaining('foo is rolled out'),
        err: expect.stringMatching(
          new RegExp(`^note: \\d ${named}; the worker .*: the update waits for a worker$`, 'm'),
        ),
      });
    }),
    240_000,
  );

  it(
    'looked at under another --cluster: the verbs say whose it is, and it goes on untouched',
    inLane(async () => {
      const { cli, done } = await halfway();
      for (const words of ['explain rc/foo', 'rollout abort rc/foo', 'rolling-update foo --image=foo:2'])
        expect(await cli(`${words} --cluster elsewhere`)).toMatchObject({
          code: 1,
          err: 'error: the update of foo is of the workers with FAIRLEAD_CLUSTER=rc-by-hand, not of --cluster elsewhere\n  say --cluster rc-by-hand\n',
        });
      expect(await cli('rollout resume rc/foo')).toMatchObject({ code: 0, err: '' });
      expect(await done).toMatchObject({ code: 0, out: expect.stringContaining('foo is rolled out') });
    }),
    240_000,
  );

  it(
    'the template of the next controller: it is put back, and pods of the edited one are replaced',
    inLane(async () => {
      const { namespace, cli, done, next, untilPods } = await halfway();
      const change = { spec: { template: { spec: { containers: [{ name: 'main', image: 'foo:7' }] } } } };
      await cluster.client.patch({ ...RCS, namespace, name: next }, 'strategic', change, {
        fieldManager: 'kubectl-set',
      });
      const [victim] = (await cluster.pods(namespace, 'foo')).filter((pod) => imageOf(pod) === 'foo:2');
      await cluster.client.delete({ ...PODS, namespace, name: victim?.metadata.name });
      await untilPods('a pod of the edited template', (pods) => pods.some((pod) => imageOf(pod) === 'foo:7'));
      expect(await cli('rollout resume rc/foo')).toMatchObject({ code: 0, err: '' });

      expect(await done).toMatchObject({ code: 0, out: expect.stringContaining('foo is rolled out') });
      expect((await cluster.pods(namespace, 'foo')).map(imageOf)).toEqual(ALL_NEW);
      const [only] = (await cluster.client.list<ReplicationController>({ ...RCS, namespace })).items;
      expect(only?.spec.template?.spec.containers[0]?.image).toBe('foo:2');
      const events = await cluster.client.list<{ message?: string } & ReplicationController>({
        group: '',
        version: 'v1',
        resource: 'events',
        namespace,
      });
      expect(events.items.map(({ message }) => message)).toContainEqual(
        expect.stringContaining(`the template of ${next} was changed by kubectl-set: put back`),
      );
    }),
    240_000,
  );

  it(
    'the selector of the next controller, made that of the old one: it is put back, and each has its pods again',
    inLane(async () => {
      const { namespace, cli, done, next } = await halfway();
      const path = { ...RCS, namespace, name: next };
      const { spec } = await cluster.client.get<ReplicationController>({ ...RCS, namespace, name: 'foo' });
      const { selector = {} } = spec;
      await cluster.client.patch(path, 'merge', {
        spec: { selector, template: { metadata: { labels: selector } } },
      });
      const hasActed = ({ status, metadata }: ReplicationController) =>
        status?.observedGeneration === metadata.generation && (status?.readyReplicas ?? 0) >= 2;
      await cluster.until<ReplicationController>(path, 'pods by that selector', hasActed, 60_000);
      expect(await cli('rollout resume rc/foo')).toMatchObject({ code: 0, err: '' });

      expect(await done).toMatchObject({ code: 0, out: expect.stringContaining('foo is rolled out') });
      expect((await cluster.pods(namespace, 'foo')).map(imageOf)).toEqual(ALL_NEW);
    }),
    240_000,
  );

  /** The next one is edited, pods of it are made anew, its record is deleted, and the update goes on. */
  async function editedWithoutRecord(isVictim: (at: number) => boolean) {
    const scene = await halfway();
    const { namespace, cli, next, untilPods } = scene;
    const change = { spec: { template: { spec: { containers: [{ name: 'main', image: 'foo:7' }] } } } };
    await cluster.client.patch({ ...RCS, namespace, name: next }, 'strategic', change, {
      fieldManager: 'kubectl-set',
    });
    const isNew = (pod: Pod) => imageOf(pod) === 'foo:2';
    const victims = (await cluster.pods(namespace, 'foo')).filter(isNew).filter((_, at) => isVictim(at));
    for (const { metadata } of victims)
      await cluster.client.delete({ ...PODS, namespace, name: metadata.name });
    const isEdited = (pod: Pod) => imageOf(pod) === 'foo:7';
    await untilPods('pods of it', (pods) => pods.filter(isEdited).length === victims.length);
    const record = { group: 'apps', version: 'v1', resource: 'controllerrevisions', name: 'foo-1' } as const;
    await cluster.client.delete({ ...record, namespace });
    await cli('rollout resume rc/foo');
    return scene;
  }

  it(
    'the same, and the record deleted: a pod of before says what it was',
    inLane(async () => {
      const { namespace, done } = await editedWithoutRecord((at) => at === 0);
      expect(await done).toMatchObject({ code: 0, out: expect.stringContaining('foo is rolled out') });
      expect((await cluster.pods(namespace, 'foo')).map(imageOf)).toEqual(ALL_NEW);
      const [only] = (await cluster.client.list<ReplicationController>({ ...RCS, namespace })).items;
      expect(only?.spec.template?.spec.containers[0]?.image).toBe('foo:2');
    }),
    240_000,
  );

  it(
    'the same, and no pod says it: it ends with an error, and the image asked for again is put back',
    inLane(async () => {
      const { namespace, cli, done, next } = await editedWithoutRecord(() => true);
      const why = `the template of ${next} was changed by kubectl-set, and no record says what it was`;
      const { code, out, err } = await done;
      expect([code, `${out}${err}`]).toEqual([1, expect.stringContaining(why)]);
      expect((await cli('rolling-update foo --image=foo:7')).code).toBe(1);
      expect(await cli('rolling-update foo --image=foo:2 --poll-interval 100ms')).toMatchObject({
        code: 0,
        out: expect.stringContaining('foo is rolled out'),
      });
      expect((await cluster.pods(namespace, 'foo')).map(imageOf)).toEqual(ALL_NEW);
    }),
    240_000,
  );

  it(
    'the template after the update: the image again replaces what was made of the edited one',
    inLane(async () => {
      const { namespace, cli, done, untilPods } = await halfway({ isPaused: false });
      expect((await done).code).toBe(0);
      const change = { spec: { template: { spec: { containers: [{ name: 'main', image: 'foo:9' }] } } } };
      await cluster.client.patch({ ...RCS, namespace, name: 'foo' }, 'strategic', change, {
        fieldManager: 'kubectl-set',
      });
      expect((await cli('rollout status rc/foo')).out).toContain(
        'successfully rolled out; its template was changed since by kubectl-set, so',
      );
      const [victim] = await cluster.pods(namespace, 'foo');
      await cluster.client.delete({ ...PODS, namespace, name: victim?.metadata.name });
      await untilPods('a pod of the edited template', (pods) => pods.some((pod) => imageOf(pod) === 'foo:9'));

      const { out: planned } = await cli('rolling-update foo --image=foo:2 --dry-run');
      const next = /would be replaced by (\S+) /.exec(planned)?.[1] ?? 'no plan';
      expect(await cli('rolling-update foo --image=foo:2 --poll-interval 100ms')).toMatchObject({
        code: 0,
        out: expect.stringContaining('foo is rolled out'),
        err: expect.stringContaining(`the update of foo to ${next} is recorded`),
      });
      expect((await cluster.pods(namespace, 'foo')).map(imageOf)).toEqual(ALL_NEW);
      expect((await cli('rolling-update foo --image=foo:2')).out).toContain(
        'nothing to do: foo is rolled out',
      );
      await cluster.client.patch({ ...RCS, namespace, name: 'foo' }, 'strategic', change, {
        fieldManager: 'kubectl-set',
      });
      expect(await cli('rolling-update foo --image=foo:9')).toMatchObject({
        code: 1,
        err: expect.stringContaining('but it was changed by kubectl-set since it was rolled out'),
      });
      // As an apiserver makes pods of a template, with all that admission adds.
      for (const { metadata } of await cluster.pods(namespace, 'foo'))
        await cluster.client.delete({ ...PODS, namespace, name: metadata.name });
      await untilPods('pods of the edited template alone', (pods) =>
        pods.every((pod) => imageOf(pod) === 'foo:9' && pod.status?.phase === 'Running'),
      );
      expect((await cli('rollout status rc/foo')).out).toMatch(/successfully rolled out\n$/);
      expect(await cli('rolling-update foo --image=foo:9')).toMatchObject({
        code: 0,
        out: expect.stringContaining('nothing to do: foo is rolled out'),
      });
      expect((await cli('rolling-update foo foo-new --image=foo:2 --poll-interval 100ms')).code).toBe(0);
      const { items } = await cluster.client.list<ReplicationController>({ ...RCS, namespace });
      expect(items.map(({ metadata }) => metadata.name)).toEqual(['foo-new']);
      expect((await cluster.pods(namespace, 'foo')).map(imageOf)).toEqual(ALL_NEW);
    }),
    240_000,
  );

  it(
    'the next controller deleted without its pods: it is made again for them, and none is lost',
    inLane(async () => {
      const { namespace, done, next, history, begun } = await halfway({ isPaused: false });
      const isNext = (pod: Pod) => imageOf(pod) === 'foo:2';
      const orphaned = (await cluster.pods(namespace, 'foo')).filter(isNext);
      await cluster.client.delete({ ...RCS, namespace, name: next }, { propagationPolicy: 'Orphan' });
      const isAgain = ({ type, object }: (typeof history.controllers)[number]) =>
        type === 'ADDED' && object.metadata.name === next && sizeOf(object) > 0;
      await history.untilController('made again, with a size', isAgain);

      expect(await done).toMatchObject({ code: 0, out: expect.stringContaining('foo is rolled out') });
      const after = await cluster.pods(namespace, 'foo');
      expect(after.map(imageOf)).toEqual(ALL_NEW);
      const uids = after.map(({ metadata }) => metadata.uid);
      expect(uids).toEqual(expect.arrayContaining(orphaned.map(({ metadata }) => metadata.uid)));
      expect(history.pods.filter(({ type, object }) => type === 'DELETED' && isNext(object))).toEqual([]);
      expect(history.within(begun, BUDGET)).toEqual(BUDGET);
    }),
    240_000,
  );

  it(
    'the old name made again in the gap of the rename: it becomes what was rolled out, for the pods that are there',
    inLane(async () => {
      const { namespace, cli, done, next, untilPods, history } = await halfway();
      const path = { ...RCS, namespace, name: next };
      const hold = async (finalizers: readonly string[]) =>
        await cluster.client.patch(path, 'merge', { metadata: { finalizers } });
      await hold(['example.com/gap']);
      expect(await cli('rollout resume rc/foo')).toMatchObject({ code: 0, err: '' });
      const isFree = ({ metadata }: Pod) => (metadata.ownerReferences ?? []).length === 0;
      await untilPods('four pods without a controller', (pods) => pods.filter(isFree).length === 4);
      const before = (await cluster.pods(namespace, 'foo')).map(({ metadata }) => metadata.uid);
      await cluster.client.create({ ...RCS, namespace }, FOO);
      const isFull = ({ status }: ReplicationController) => status?.availableReplicas === 4;
      await cluster.until<ReplicationController>(
        { ...RCS, namespace, name: 'foo' },
        'adopted',
        isFull,
        60_000,
      );
      await hold([]);

      expect(await done).toMatchObject({ code: 0, out: expect.stringContaining('foo is rolled out') });
      const after = await cluster.pods(namespace, 'foo');
      expect(after.map(({ metadata }) => metadata.uid).sort()).toEqual([...before].sort());
      expect(after.map(imageOf)).toEqual(ALL_NEW);
      const isNew = (pod: Pod) => imageOf(pod) === 'foo:2';
      expect(history.pods.filter(({ type, object }) => type === 'DELETED' && isNew(object))).toEqual([]);
      const [only, ...others] = (await cluster.client.list<ReplicationController>({ ...RCS, namespace }))
        .items;
      expect([only?.spec.template?.spec.containers[0]?.image, others]).toEqual(['foo:2', []]);
    }),
    240_000,
  );

  it(
    'the run terminated: whoever waits is told; what is paused says so when it is turned round',
    inLane(async () => {
      const { namespace, cli, done, next } = await halfway({ isPaused: false });
      const client = await connectTemporal(controlPlane().temporalAddress);
      const workflowId = rollingUpdateWorkflowId('rc-by-hand', { namespace, name: 'foo' });
      await client.workflow.getHandle(workflowId).terminate('clicked by a test');
      await client.connection.close();
      expect((await done).code).toBe(1);

      const cause = `no run is open (the last one is terminated)\n  fairlead rollout retry rc/foo -n ${namespace}\n`;
      for (const verb of [
        'rollout status rc/foo',
        'rollout status rc/foo --watch=false',
        'watch rc/foo --until-done',
      ])
        expect(await cli(verb)).toMatchObject({ code: 1, err: expect.stringContaining(cause) });
      expect((await cli('get rc')).out).toMatch(
        /foo .* Stalled +no run is open \(the last one is terminated\) /,
      );
      const away = { ...environmentOf('rc-by-hand'), TEMPORAL_ADDRESS: '127.0.0.1:1' };
      expect(await runCli(['get', 'rc', '-n', namespace], { environment: away })).toMatchObject({
        code: 0,
        out: expect.stringMatching(/foo .* Progressing /),
        err: expect.stringMatching(
          /^note: Temporal at 127\.0\.0\.1:1 does not answer: .*, so it is not known whether the updates go on\n$/,
        ),
      });
      expect(await cli(`rolling-update ${next} foo --image=foo:3`)).toMatchObject({
        code: 2,
        err: expect.stringContaining('takes no --image and no -f'),
      });
      expect((await cli('rollout pause rc/foo')).code).toBe(0);
      const resume = `fairlead rollout resume rc/foo -n ${namespace}`;
      expect((await cli('rollout abort rc/foo')).out).toBe(
        `the update of foo is to be rolled back, but it is paused: ${resume}\n`,
      );
      expect(await cli('rollout resume rc/foo')).toMatchObject({ code: 0, err: '' });
      expect(await cli('rollout status rc/foo --timeout 60s')).toMatchObject({
        code: 1,
        out: expect.stringContaining('was rolled back by'),
      });
    }),
    240_000,
  );

  it(
    'the run cancelled, which is a pause: whoever waits goes on waiting, and a resume ends it',
    inLane(async () => {
      const { namespace, cli, done } = await halfway({ isPaused: false });
      const client = await connectTemporal(controlPlane().temporalAddress);
      const workflowId = rollingUpdateWorkflowId('rc-by-hand', { namespace, name: 'foo' });
      await client.workflow.getHandle(workflowId).cancel();
      await client.connection.close();
      const isPaused = async () => ((await cli('get rc')).out.includes('Paused') ? true : undefined);
      await found('it is paused', isPaused);
      expect(await cli('rollout resume rc/foo')).toMatchObject({ code: 0, err: '' });
      const { code, out } = await done;
      expect([code, out]).toEqual([0, expect.stringContaining('foo is rolled out')]);
    }),
    240_000,
  );

  it(
    'the next controller given another partner: the update is refused, and its abort leaves nothing of it',
    inLane(async () => {
      const { namespace, cli, done, next } = await halfway({ isPaused: false });
      const marks = { [ROLLING_UPDATE.partner]: 'nobody', [ROLLING_UPDATE.desiredReplicas]: 'banana' };
      await cluster.client.patch({ ...RCS, namespace, name: next }, 'merge', {
        metadata: { annotations: marks },
      });
      const abort = `give it up: fairlead rollout abort rc/foo -n ${namespace}`;
      expect(await done).toMatchObject({ code: 1, err: expect.stringContaining(abort) });
      expect((await cli('rollout abort rc/foo')).out).toBe('the update of foo is being rolled back\n');

      await cluster.untilGone({ ...RCS, namespace, name: next });
      expect(await cli('rollout status rc/foo --timeout 60s')).toMatchObject({
        code: 1,
        out: expect.stringContaining('foo is as it was before'),
      });
      expect((await cluster.pods(namespace, 'foo')).map(imageOf)).toEqual([
        'foo:1',
        'foo:1',
        'foo:1',
        'foo:1',
      ]);
      expect((await cli('rollout abort rc/foo')).code).toBe(0);
    }),
    240_000,
  );

  it(
    'both controllers deleted without their pods: recovered from the record',
    inLane(async () => {
      const { namespace, cli, done, next, untilPods } = await halfway();
      const before = await cluster.pods(namespace, 'foo');
      for (const name of ['foo', next])
        await cluster.client.delete({ ...RCS, namespace, name }, { propagationPolicy: 'Orphan' });
      const isOfFoo = ({ metadata }: Pod) => metadata.ownerReferences?.some(({ name }) => name === 'foo');
      await untilPods(
        'four ready pods of foo',
        (pods) => pods.filter((pod) => isOfFoo(pod) && isReady(pod)).length === 4,
      );
      // Whoever attaches is told what it waits for, though the sizes are as wanted.
      expect(await cli('rolling-update foo --poll-interval 100ms --timeout 1s')).toMatchObject({
        code: 3,
        out: expect.stringMatching(
          /^cleaning up: foo 4 .*; 4 wanted \(\d pods? of foo ha\w+ no controller: /m,
        ),
      });
      for (const pod of before.filter((one) => imageOf(one) === 'foo:1'))
        await cluster.client.delete({ ...PODS, namespace, name: pod.metadata.name });

      expect(await done).toMatchObject({ code: 0, out: expect.stringContaining('foo is rolled out') });
      const after = await cluster.pods(namespace, 'foo');
      expect(after.map(imageOf)).toEqual(ALL_NEW);
      const kept = before.filter((pod) => imageOf(pod) === 'foo:2').map(({ metadata }) => metadata.uid);
      expect(after.map(({ metadata }) => metadata.uid)).toEqual(expect.arrayContaining(kept));
    }),
    240_000,
  );

  /** `kubectl delete controllerrevision --all & kubectl delete rc NEXT --cascade=orphan` */
  async function lose(namespace: string, next: string): Promise<void> {
    const record = {
      group: 'apps',
      version: 'v1',
      resource: 'controllerrevisions',
      namespace,
      name: 'foo-1',
    };
    await Promise.all([
      cluster.client.delete(record),
      cluster.client.delete({ ...RCS, namespace, name: next }, { propagationPolicy: 'Orphan' }),
    ]);
    await cluster.untilGone({ ...RCS, namespace, name: next });
  }

  it(
    'what has the name of the record and is none is passed by, and stays',
    inLane(async () => {
      const namespace = await cluster.createNamespace('rc-by-hand');
      const revisions = { group: 'apps', version: 'v1', resource: 'controllerrevisions', namespace } as const;
      // Of somebody else, and one that cannot be read.
      const taken = { 'foo-1': {}, 'foo-1-2': { [LABEL.rollingUpdate]: 'record' } };
      for (const [name, labels] of Object.entries(taken))
        await cluster.client.create(revisions, {
          apiVersion: 'apps/v1',
          kind: 'ControllerRevision',
          metadata: { name, labels },
          revision: 1,
          data: {},
        });
      const spec = { ...FOO.spec, replicas: 1 };
      await cluster.client.create({ ...RCS, namespace }, { ...FOO, spec });
      const isFull = ({ status }: ReplicationController) => status?.availableReplicas === 1;
      await cluster.until<ReplicationController>({ ...RCS, namespace, name: 'foo' }, 'full', isFull, 60_000);
      const environment = environmentOf('rc-by-hand');
      for (const image of ['foo:2', 'foo:3']) {
        const words = `rolling-update foo --image=${image} --poll-interval 100ms -n ${namespace}`;
        const { code, err } = await runCli(words.split(' '), { environment });
        expect([code, code === 0 ? '' : err]).toEqual([0, '']);
      }
      const { items } = await cluster.client.list(revisions);
      expect(items.map(({ metadata }) => metadata.name).sort()).toEqual([
        'foo-1',
        'foo-1-2',
        'foo-1-3',
        'foo-2',
      ]);
    }),
    240_000,
  );

  it(
    'the next controller and the record deleted together: the same image again takes up the pods',
    inLane(async () => {
      const { namespace, cli, done, next, history, begun } = await halfway();
      const left = (await cluster.pods(namespace, 'foo')).filter((pod) => imageOf(pod) === 'foo:2');
      await lose(namespace, next);
      expect(await cli('rollout resume rc/foo')).toMatchObject({ code: 0, err: '' });
      const failed = await done;
      const again = `fairlead rolling-update foo --image=foo:2 -n ${namespace}`;
      expect([failed.code, failed.err]).toEqual([1, expect.stringContaining(again)]);

      const count = String(left.length);
      expect((await cli('explain rc/foo')).out).toMatch(
        new RegExp(`${count} pods have no controller: ${next} was deleted without them, .*; 4 wanted`),
      );
      expect(await cli('rolling-update foo --image=foo:2 --poll-interval 100ms')).toMatchObject({
        code: 0,
        out: expect.stringContaining('foo is rolled out'),
      });
      const after = await cluster.pods(namespace, 'foo');
      expect(after.map(imageOf)).toEqual(ALL_NEW);
      const kept = left.map(({ metadata }) => metadata.uid);
      expect(after.map(({ metadata }) => metadata.uid)).toEqual(expect.arrayContaining(kept));
      expect(history.within(begun, BUDGET)).toEqual(BUDGET);
    }),
    240_000,
  );

  it(
    'the same, given up: the old controller has its size again, and no mark',
    inLane(async () => {
      const { namespace, cli, done, next } = await halfway();
      await lose(namespace, next);
      expect(await cli('rollout resume rc/foo')).toMatchObject({ code: 0, err: '' });
      expect((await done).code).toBe(1);
      expect((await cli('rollout abort rc/foo')).out).toBe('the update of foo is being rolled back\n');

      const isBack = ({ metadata, spec, status }: ReplicationController) =>
        spec.replicas === 4 &&
        status?.availableReplicas === 4 &&
        Object.keys(metadata.annotations ?? {}).every((key) => !key.includes('kubernetes.io/'));
      await cluster.until<ReplicationController>({ ...RCS, namespace, name: 'foo' }, 'back', isBack, 60_000);
      expect((await cli('rollout abort rc/foo')).out).toContain('no update of foo is in progress');
      expect((await cli('explain rc/foo')).out).toContain('kubectl delete pods');
    }),
    240_000,
  );

  it(
    'both deleted with their pods: nothing is made again, retry is refused, and explain says what works',
    inLane(async () => {
      const { namespace, cli, done, next, untilPods } = await halfway();
      for (const name of ['foo', next])
        await cluster.client.delete({ ...RCS, namespace, name }, { propagationPolicy: 'Background' });
      await untilPods('no pod', (pods) => pods.length === 0);
      const { code, out, err } = await done;
      expect([code, err]).toEqual([1, expect.stringContaining('controllerrevision foo-1')]);
      expect(`${out}${err}`).not.toMatch(/rollout retry|pods without|its run is failed/);

      const explained = await cli('explain rc/foo');
      expect(explained.out).toContain('there is no ReplicationController foo, nor one that is to replace it');
      expect(explained.out).toContain('kubectl get controllerrevision foo-1');
      expect(explained.out).not.toContain('rollout retry');
      expect(await cli('rollout retry rc/foo')).toMatchObject({
        code: 1,
        err: expect.stringContaining('another run would end as the last one did'),
      });
      expect((await cli('rollout abort rc/foo')).out).toBe(
        'the update of foo is given up: both controllers were deleted with their pods\n',
      );
      expect(await cli('rollout status rc/foo')).toMatchObject({
        code: 1,
        out: expect.stringContaining('nothing is left of foo, and its update was given up'),
      });
      expect((await cluster.client.list<ReplicationController>({ ...RCS, namespace })).items).toEqual([]);
    }),
    240_000,
  );

  it(
    'the same, and the old name made anew: what somebody made is left as it is, until it is rolled out itself',
    inLane(async () => {
      const { namespace, cli, done, next, untilPods } = await halfway();
      for (const name of ['foo', next])
        await cluster.client.delete({ ...RCS, namespace, name }, { propagationPolicy: 'Background' });
      await untilPods('no pod', (pods) => pods.length === 0);
      expect((await done).code).toBe(1);
      const made = await cluster.client.create<ReplicationController>(
        { ...RCS, namespace },
        { ...FOO, spec: { ...FOO.spec, replicas: 2 } },
      );
      await untilPods('its pods', (pods) => pods.length === 2 && pods.every(isReady));
      const before = (await cluster.pods(namespace, 'foo')).map(({ metadata }) => metadata.uid).sort();

      expect((await cli('rollout abort rc/foo')).out).toContain('foo was made anew since: it stays as it is');
      const { items } = await cluster.client.list<ReplicationController>({ ...RCS, namespace });
      expect(items.map(({ metadata, spec }) => [metadata.uid, spec.replicas])).toEqual([
        [made.metadata.uid, 2],
      ]);
      expect((await cluster.pods(namespace, 'foo')).map(({ metadata }) => metadata.uid).sort()).toEqual(
        before,
      );

      expect(await cli('rolling-update foo --image=foo:3 --update-period 0s')).toMatchObject({ code: 0 });
      expect((await cluster.pods(namespace, 'foo')).map(imageOf)).toEqual(['foo:3', 'foo:3']);
    }),
    240_000,
  );
});
