/** `fairlead rolling-update` against real servers: the seed's paths, the command interrupted, the worker killed in each phase. */

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { connectTemporal } from '../../controllers/temporal-client.ts';
import type { ControllerRevision, Pod } from '../../planners/objects.ts';
import type { ReplicationController } from '../../planners/replication-controller.ts';
import { ANNOTATION } from '../../planners/names.ts';
import { readAttempts } from '../../kubernetes/attempts.ts';
import { rollingUpdateWorkflowId } from '../../workflows/rolling-update-messages.ts';
import type { CliRun } from '../support/cli.ts';
import { runCli } from '../support/cli.ts';
import type { CliProcessRun } from '../support/cli-process.ts';
import { runCliProcess } from '../support/cli-process.ts';
import { Cluster } from '../support/cluster.ts';
import { ControllerHistory } from '../support/controller-history.ts';
import { useControlPlane } from '../support/control-plane.ts';
import { found } from '../support/eventually.ts';
import { itInFull } from '../support/full-suite.ts';
import { useLanes } from '../support/lanes.ts';
import type { WorkerProcess } from '../support/worker-process.ts';
import { startWorker } from '../support/worker-process.ts';

const RCS = { group: '', version: 'v1', resource: 'replicationcontrollers' } as const;
const PODS = { group: '', version: 'v1', resource: 'pods' } as const;
const RECORDS = { group: 'apps', version: 'v1', resource: 'controllerrevisions' } as const;

/** A test may wait for those that were declared before. */
const TIMEOUT_MS = 240_000;

/** A namespace with a controller of three pods, and everything that happens in it. */
interface Scene {
  readonly namespace: string;
  readonly history: ControllerHistory;
  /** In a process of its own: it can be interrupted. */
  readonly spawned: (words: string, interruptWhen?: (out: string) => boolean) => Promise<CliProcessRun>;
  /** In this process. */
  readonly cli: (words: string) => Promise<CliRun>;
  readonly controllers: () => Promise<readonly ReplicationController[]>;
  readonly pods: () => Promise<readonly Pod[]>;
  readonly records: () => Promise<readonly ControllerRevision[]>;
}

const uidsOf = (list: readonly Pod[]) => list.map(({ metadata }) => metadata.uid).sort();
const imagesOf = (list: readonly Pod[]) => [...new Set(list.map(({ spec }) => spec.containers[0]?.image))];
const isNext = ({ object }: { readonly object: ReplicationController }) =>
  object.metadata.name.startsWith('foo-');

const FOO = {
  apiVersion: 'v1',
  kind: 'ReplicationController',
  metadata: { name: 'foo' },
  spec: {
    replicas: 3,
    selector: { app: 'foo' },
    template: {
      metadata: { labels: { app: 'foo' }, annotations: { 'sim.fairlead.dev/ready-delay': '300ms' } },
      spec: { containers: [{ name: 'main', image: 'foo:1' }] },
    },
  },
};

describe('rolling update of a ReplicationController', () => {
  let cluster: Cluster;
  let worker: WorkerProcess;
  let frail: WorkerProcess;
  const histories: ControllerHistory[] = [];

  afterAll(async () => {
    await Promise.all([worker?.stop(), frail?.stop(), ...histories.map(async (one) => await one.close())]);
    cluster?.close();
  }, 30_000);

  const controlPlane = useControlPlane();
  const inLane = useLanes(3);
  const start = async (name: string) => await startWorker({ controlPlane: controlPlane(), cluster: name });

  beforeAll(async () => {
    cluster = await Cluster.connect(controlPlane().kubeconfig, controlPlane().workloadApi);
    [worker, frail] = await Promise.all([start('rc'), start('rc-frail')]);
  }, 120_000);

  async function scene(owner = 'rc'): Promise<Scene> {
    const namespace = await cluster.createNamespace('rc');
    const history = new ControllerHistory(cluster.client, namespace);
    histories.push(history);
    await cluster.client.create({ ...RCS, namespace }, FOO);
    const path = { ...RCS, namespace, name: 'foo' };
    const isReady = ({ status }: ReplicationController) => status?.availableReplicas === 3;
    await cluster.until<ReplicationController>(path, 'has three pods', isReady, 30_000);
    await history.untilReady(3);
    const environment = {
      KUBECONFIG: controlPlane().kubeconfig,
      TEMPORAL_ADDRESS: controlPlane().temporalAddress,
      FAIRLEAD_CLUSTER: owner,
      PATH: process.env['PATH'] ?? '',
    };
    return {
      namespace,
      history,
      cli: async (words) => await runCli([...words.split(' '), '-n', namespace], { environment }),
      spawned: async (words, interruptWhen) =>
        await runCliProcess([...words.split(' '), '-n', namespace], {
          environment,
          ...(interruptWhen && { interruptWhen }),
        }),
      controllers: async () =>
        (await cluster.client.list<ReplicationController>({ ...RCS, namespace })).items,
      // One that the rename does not wait for may still be ending.
      pods: async () =>
        (await cluster.pods(namespace, 'foo')).filter(
          ({ metadata }) => metadata.deletionTimestamp === undefined,
        ),
      records: async () => (await cluster.client.list<ControllerRevision>({ ...RECORDS, namespace })).items,
    };
  }

  /** Pods as they were when the next controller was deleted for the rename. */
  async function podsAtRename({ history, pods }: Scene): Promise<readonly string[]> {
    const isGoing = ({ object: { metadata } }: { object: ReplicationController }) =>
      metadata.name.startsWith('foo-') && metadata.deletionTimestamp !== undefined;
    await history.untilController('the next controller is being deleted', isGoing, TIMEOUT_MS);
    return uidsOf(await pods());
  }

  async function expectAlone(
    { controllers, pods, history }: Scene,
    image: string,
    begun: number,
  ): Promise<void> {
    const [only, ...others] = await controllers();
    expect([only?.metadata.name, others]).toEqual(['foo', []]);
    expect(only?.spec).toMatchObject({ replicas: 3, template: { spec: { containers: [{ image }] } } });
    expect(only?.metadata.annotations ?? {}).toEqual({});
    const present = await pods();
    expect(imagesOf(present)).toEqual([image]);
    await history.caughtUp(present);
    // Surge 1, unavailability 0.
    const budget = { most: 4, fewestReady: 3 };
    expect(history.within(begun, budget)).toEqual(budget);
  }

  itInFull(
    'goes on after its worker was killed: at its beginning, in its middle, and within the rename',
    inLane(async () => {
      const here = await scene('rc-frail');
      const { spawned, history, pods } = here;
      const begun = performance.now();
      const atRename = podsAtRename(here);
      const whole = spawned('rolling-update foo --image=foo:2 --poll-interval 100ms');
      const kills: readonly [string, Parameters<ControllerHistory['untilController']>[1]][] = [
        ['the next controller was created', (seen) => isNext(seen) && seen.type === 'ADDED'],
        ['one pod each was replaced', (seen) => isNext(seen) && seen.object.spec.replicas === 2],
        [
          'the next controller is being deleted',
          (seen) => isNext(seen) && seen.object.metadata.deletionTimestamp !== undefined,
        ],
      ];
      for (const [what, when] of kills) {
        await history.untilController(what, when, 60_000);
        frail.killNow();
        await frail.kill();
        frail = await start('rc-frail');
      }

      expect(await whole).toMatchObject({ code: 0, out: expect.stringContaining('foo is rolled out') });
      await expectAlone(here, 'foo:2', begun);
      expect(uidsOf(await pods())).toEqual(await atRename);
    }),
    TIMEOUT_MS,
  );

  it(
    'is started, interrupted, attached to, and renamed with its pods',
    inLane(async () => {
      const here = await scene();
      const { cli, spawned, pods, records, history, namespace } = here;
      const begun = performance.now();
      // Held until the second is there, which would else find it done on a machine that is slow to end this one and to start that.
      let paused: Promise<unknown> | undefined;
      const first = await spawned(
        'rolling-update foo --image=foo:2 --poll-interval 100ms --reason test',
        (out) => {
          if (!out.includes('rolling: foo')) return false;
          paused ??= cli('rollout pause rc/foo');
          return true;
        },
      );
      await paused;
      expect(first).toMatchObject({ code: 130, err: expect.stringContaining('the same command attaches') });

      const atRename = podsAtRename(here);
      let resumed: Promise<unknown> | undefined;
      const second = await spawned('rolling-update foo --image=foo:2 --poll-interval 100ms', (out) => {
        if (out.includes('paused')) resumed ??= cli('rollout resume rc/foo');
        return false;
      });
      await resumed;

      expect(second).toMatchObject({ code: 0, err: expect.stringContaining('attached') });
      expect(second.out).toContain('foo is rolled out');
      await expectAlone(here, 'foo:2', begun);
      expect(uidsOf(await pods())).toEqual(await atRename);
      const [record] = await records();
      const [owner] = record?.metadata.ownerReferences ?? [];
      expect(owner).toMatchObject({ kind: 'ReplicationController', name: 'foo' });
      expect(readAttempts(record as ControllerRevision)).toMatchObject([
        { outcome: 'Succeeded', reason: 'test' },
      ]);
      const next = history.controllers.find(isNext)?.object.metadata.name ?? '';
      const gap = history.gap(next, 'foo');
      // How long it may be is asserted where the machine has nothing else to do (test/e2e-alone).
      expect(gap).toBeGreaterThan(0);
      const events = (await cluster.events(namespace)).map(({ message }) => message);
      expect(events).toContain(`delete foo: its name is for ${next}`);
    }),
    TIMEOUT_MS,
  );

  it(
    'is paused, explained, resumed, and turned round in the middle',
    inLane(async () => {
      const here = await scene();
      const { cli, records, history } = here;
      const begun = performance.now();
      const forward = cli('rolling-update foo --image=foo:2 --poll-interval 100ms --update-period 2s');
      const hasShrunk = ({ object }: { object: ReplicationController }) =>
        object.metadata.name === 'foo' && object.spec.replicas === 2;
      await history.untilController('foo has shrunk', hasShrunk);
      expect(await cli('rollout pause rc/foo --by ann --reason look')).toMatchObject({
        code: 0,
        out: 'the update of foo is paused\n',
      });
      // On both, for either may be deleted.
      const controllers = await here.controllers();
      expect(controllers.map(({ metadata }) => metadata.annotations?.[ANNOTATION.paused])).toEqual([
        expect.stringContaining('ann'),
        expect.stringContaining('ann'),
      ]);
      expect((await cli('explain rc/foo')).out).toContain('paused by ann: look');
      expect((await cli('rollout status rc/foo --watch=false')).out).toContain('paused by ann: look');
      expect((await cli('rollout pause rc/foo')).out).toContain('already paused');
      const back = cli('rolling-update foo --rollback --poll-interval 100ms --by bob --reason slow');
      const isTurned = ({ object }: { object: ReplicationController }) =>
        object.metadata.name === 'foo' && object.metadata.annotations?.[ANNOTATION.turned] !== undefined;
      await history.untilController('the update is turned round', isTurned);
      expect((await cli('rollout resume rc/foo')).out).toContain('goes on');

      expect(await back).toMatchObject({
        code: 0,
        out: expect.stringContaining('the update of foo was rolled back by bob: slow'),
        err: expect.stringContaining('note: the update of foo is to be rolled back, but it is paused: '),
      });
      const told = await forward;
      expect(told).toMatchObject({ code: 1, err: expect.stringContaining('was rolled back by bob: slow') });
      expect(told.err).not.toContain('attaches');
      expect(await cli('rollout status rc/foo')).toMatchObject({
        code: 1,
        out: expect.stringContaining('was rolled back by bob: slow; foo is as it was before'),
      });
      expect(JSON.parse((await cli('explain rc/foo -o json')).out)).toMatchObject({ verdict: 'RolledBack' });
      expect((await cli('get rc/foo')).out).toMatch(/Ready +rolled back by bob: slow/);
      expect((await cli('rollout history rc/foo')).out).toMatch(/Aborted .*by bob: slow +foo:2 /);
      await expectAlone(here, 'foo:1', begun);
      const [record] = await records();
      expect(readAttempts(record as ControllerRevision)).toMatchObject([
        { outcome: 'Aborted', endedBy: 'bob', endedBecause: 'slow' },
      ]);
    }),
    TIMEOUT_MS,
  );

  it(
    'is paused before it begins: it waits before its first pod, until it is resumed',
    inLane(async () => {
      const { cli, controllers, namespace } = await scene();
      const what = 'replicationcontroller/foo';
      expect(await cli('rollout pause rc/foo --by ann --reason look')).toMatchObject({
        code: 0,
        out: `${what} paused: its next update will wait\n`,
        err: '',
      });
      expect((await cli('rollout pause rc/foo')).out).toBe(
        `nothing to do: ${what} is already paused by ann: look\n`,
      );
      expect((await cli('get rc/foo')).out).toMatch(/Paused +paused by ann: look/);
      const waits = expect.stringContaining('the next update will wait: paused by ann: look');
      expect(await cli('rollout status rc/foo')).toMatchObject({ code: 0, out: waits });
      expect(await cli('explain rc/foo')).toMatchObject({ code: 0, out: waits });
      expect(await cli('rollout resume rc/foo')).toMatchObject({
        code: 0,
        out: `${what} resumed: its next update will not wait\n`,
        err: '',
      });
      expect((await cli('rollout resume rc/foo')).out).toBe(`nothing to do: ${what} is not paused\n`);
      // None was started that has nothing to do.
      expect((await cli('explain rc/foo')).out).toContain('successfully rolled out.');
      const client = await connectTemporal(controlPlane().temporalAddress);
      const handle = client.workflow.getHandle(rollingUpdateWorkflowId('rc', { namespace, name: 'foo' }));
      await expect(handle.describe()).rejects.toThrow(/not found/);
      await client.connection.close();

      await cli('rollout pause rc/foo --by ann --reason look');
      const held = await cli('rolling-update foo --image=foo:2 --poll-interval 100ms --timeout 10s');
      expect(held).toMatchObject({ code: 3, out: expect.stringContaining('(paused by ann: look)') });
      expect(new Set((await controllers()).map(({ spec }) => spec.replicas))).toEqual(new Set([0, 3]));
      // Also when somebody deletes the old one, which had it first.
      const both = (await controllers()).map(({ metadata }) => metadata.annotations?.[ANNOTATION.paused]);
      expect(both).toEqual([expect.stringContaining('"ann"'), both[0]]);
      expect((await cli('rollout pause rc/foo --by bob')).out).toBe(
        'nothing to do: the update of foo is already paused by ann: look\n',
      );
      expect((await cli('rollout resume rc/foo')).out).toBe('the update of foo goes on\n');
      const done = await cli('rolling-update foo --poll-interval 100ms');
      expect(done).toMatchObject({ code: 0, out: expect.stringContaining('foo is rolled out') });
      const [only] = await controllers();
      expect(only?.metadata.annotations ?? {}).toEqual({});
    }),
    TIMEOUT_MS,
  );

  it(
    'goes on after its run was terminated, when somebody says so',
    inLane(async () => {
      const here = await scene();
      const { cli, history, namespace, records } = here;
      const begun = performance.now();
      const first = cli('rolling-update foo --image=foo:2 --poll-interval 100ms --update-period 2s');
      await history.untilController('the next controller was created', isNext);
      const workflowId = rollingUpdateWorkflowId('rc', { namespace, name: 'foo' });
      const client = await connectTemporal(controlPlane().temporalAddress);
      await client.workflow.getHandle(workflowId).terminate('clicked by a test');
      await client.connection.close();

      expect(await first).toMatchObject({ code: 1, err: expect.stringContaining('terminated') });
      expect((await cli('explain rc/foo')).out).toContain('no run is open (the last one is terminated)');
      expect((await cli('rollout history rc/foo')).out).toMatch(
        / Terminated .*(its run was terminated|clicked by a test)/,
      );
      // Temporal forgets it when the retention is over.
      await found(
        'the record has it',
        async () =>
          (await records()).some((one) => readAttempts(one).at(-1)?.outcome === 'Terminated') || undefined,
      );
      const plan = async (words: string) =>
        JSON.parse((await cli(`rolling-update foo ${words} --dry-run -o json`)).out) as object;
      expect(await plan('--image=foo:2')).toMatchObject({ action: 'attach', to: 'foo', desired: 3 });
      expect(await plan('--rollback')).toMatchObject({ action: 'rollback', to: 'foo', desired: 3 });
      expect((await cli('rollout retry rc/foo')).out).toContain('has a run again');
      // It is open by then: the update period alone is longer than it takes to say so.
      expect((await cli('rollout retry rc/foo')).out).toBe(
        `nothing to do: a run of it is open; \`fairlead explain rc/foo -n ${namespace}\` says what it waits for\n`,
      );
      const status = await cli('rollout status rc/foo --timeout 30s');
      expect(status).toMatchObject({ code: 0, out: expect.stringContaining('successfully rolled out') });
      expect(await plan('--image=foo:2')).toMatchObject({ kind: 'RollingUpdatePlan', action: 'none' });
      await expectAlone(here, 'foo:2', begun);
    }),
    TIMEOUT_MS,
  );

  it(
    'names the pods of an old controller that was deleted without them, and waits until they are gone',
    inLane(async () => {
      const { cli, history, namespace, pods } = await scene();
      const whole = cli('rolling-update foo --image=foo:2 --poll-interval 100ms --update-period 2s');
      const hasShrunk = ({ object }: { object: ReplicationController }) =>
        object.metadata.name === 'foo' && object.spec.replicas === 2;
      await history.untilController('foo has shrunk', hasShrunk, 60_000);
      await cluster.client.delete({ ...RCS, namespace, name: 'foo' }, { propagationPolicy: 'Orphan' });
      const isWhole = ({ object: { metadata, spec, status } }: { object: ReplicationController }) =>
        metadata.name === 'foo' &&
        spec.template?.spec.containers[0]?.image === 'foo:2' &&
        status?.availableReplicas === 3;
      await history.untilController('foo has its new pods', isWhole, 30_000);

      const left = (await pods()).filter(({ spec }) => spec.containers[0]?.image === 'foo:1');
      // The one that was to go may have stayed.
      expect([2, 3]).toContain(left.length);
      const told = `${String(left.length)} pods of foo have no controller`;
      const explained = await cli('explain rc/foo');
      expect(explained.out).toContain(`${told}: foo was deleted without them`);
      for (const { metadata } of left) expect(explained.out).toContain(metadata.name);
      expect((await cli('rollout status rc/foo --watch=false')).out).toContain(told);
      expect((await cli('get rc')).out).toContain(told);
      for (const { metadata } of left)
        await cluster.client.delete({ ...PODS, namespace, name: metadata.name }, { uid: metadata.uid });
      expect(await whole).toMatchObject({ code: 0, out: expect.stringContaining('foo is rolled out') });
      expect(await cli('rollout status rc/foo')).toMatchObject({ code: 0 });
    }),
    TIMEOUT_MS,
  );

  it(
    'takes on an update of which one mark is left, by the command that it prints',
    inLane(async () => {
      const { cli, controllers, namespace, pods } = await scene();
      const path = { ...RCS, namespace, name: 'foo' };
      // Without a next controller and without a record there is nothing to roll: the mark goes, and that is an end.
      await cluster.client.patch(path, 'merge', {
        metadata: { annotations: { 'kubernetes.io/desired-replicas': '3' } },
      });
      const back = await cli('rolling-update foo');
      expect(back).toMatchObject({ code: 1, err: expect.stringContaining('was rolled back') });
      expect((await controllers())[0]?.metadata.annotations ?? {}).toEqual({});

      const labels = { app: 'foo', 'kubernetes.io/deployment': 'x' };
      const template = { metadata: { labels }, spec: { containers: [{ name: 'main', image: 'foo:2' }] } };
      const spec = { replicas: 1, selector: labels, template };
      const metadata = { name: 'foo-x', annotations: { 'kubernetes.io/desired-replicas': '3' } };
      await cluster.client.create({ ...RCS, namespace }, { ...FOO, metadata, spec });
      await cluster.client.patch(path, 'merge', { spec: { replicas: 2 } });

      const { next } = JSON.parse((await cli('explain rc/foo-x -o json')).out) as { next: string };
      // No update forms this name: somebody has chosen it, so it stays.
      expect(next).toBe(`fairlead rolling-update foo foo-x -n ${namespace}`);
      const words = next.split(' ').slice(1, 4).join(' ');
      expect(await cli(words)).toMatchObject({
        code: 0,
        out: expect.stringContaining('foo-x is rolled out'),
      });
      expect((await controllers()).map((one) => [one.metadata.name, one.spec.replicas])).toEqual([
        ['foo-x', 3],
      ]);
      expect(imagesOf(await pods())).toEqual(['foo:2']);
    }),
    TIMEOUT_MS,
  );

  it(
    'keeps the next controller under a name of its own',
    inLane(async () => {
      const { cli, controllers, pods } = await scene();
      const done = await cli('rolling-update foo foo-v2 --image=foo:2 --poll-interval 100ms');

      expect(done).toMatchObject({ code: 0, out: expect.stringContaining('foo-v2 is rolled out') });
      expect(await cli('rolling-update foo-v2 --image=foo:2')).toMatchObject({
        code: 1,
        err: expect.stringContaining('already'),
      });
      expect(await cli('rolling-update foo foo-v2 --image=foo:2')).toMatchObject({
        code: 0,
        out: 'nothing to do: foo-v2 has taken the place of foo\n',
      });
      expect((await cli('rollout history rc/foo-v2')).out).toMatch(/Succeeded .*foo:2/);
      expect((await cli('explain rc/foo-v2')).out).toContain('successfully rolled out');
      expect(await cli('rollout status rc/foo-v2')).toMatchObject({
        code: 0,
        out: expect.stringContaining('successfully'),
      });
      expect((await controllers()).map(({ metadata }) => metadata.name)).toEqual(['foo-v2']);
      expect(imagesOf(await pods())).toEqual(['foo:2']);
    }),
    TIMEOUT_MS,
  );

  it(
    'rolls out a file of the same name, within another budget',
    inLane(async () => {
      const { cli, controllers, pods, history } = await scene();
      const folder = await mkdtemp(join(tmpdir(), 'fairlead-rc-'));
      const file = join(folder, 'foo.json');
      const template = { ...FOO.spec.template, spec: { containers: [{ name: 'main', image: 'foo:7' }] } };
      await writeFile(file, JSON.stringify({ ...FOO, spec: { ...FOO.spec, replicas: 4, template } }));
      const begun = performance.now();
      const words = `rolling-update foo -f ${file} --max-surge 100% --poll-interval 100ms --deployment-label-key stage`;
      expect((await cli(`${words} --dry-run`)).out).toMatch(
        /^foo would be replaced by \S+ with 4 replicas \(3 now\), which/,
      );
      const done = await cli(`${words} -o json`);
      await rm(folder, { recursive: true });

      expect(done.code).toBe(0);
      expect(JSON.parse(done.out)).toMatchObject({
        kind: 'RollingUpdate',
        outcome: 'Succeeded',
        name: 'foo',
      });
      const status = JSON.parse((await cli('rollout status rc/foo -o json')).out) as unknown;
      expect(status).toMatchObject({ kind: 'RolloutStatus', outcome: 'done', progress: { desired: 4 } });
      const watched = (await cli('watch rc/foo --until-done -o json')).out.trimEnd().split('\n');
      expect(watched.map((line) => JSON.parse(line) as unknown)).toMatchObject([{ outcome: 'done' }]);
      const explained = JSON.parse((await cli('explain rc/foo -o json')).out) as unknown;
      expect(explained).toMatchObject({ kind: 'Explanation', verdict: 'Complete' });
      const [only] = await controllers();
      expect(only?.spec).toMatchObject({
        replicas: 4,
        selector: { app: 'foo', stage: expect.stringMatching(/./) },
      });
      const present = await pods();
      expect(imagesOf(present)).toEqual(['foo:7']);
      await history.caughtUp(present);
      // The three of before and all four at once.
      expect(history.extremes(begun).most).toBe(7);
    }),
    TIMEOUT_MS,
  );

  it(
    'refuses what cannot be, with the next command, and writes nothing',
    inLane(async () => {
      const { cli, records } = await scene();
      const folder = await mkdtemp(join(tmpdir(), 'fairlead-rc-'));
      const file = join(folder, 'foo.yaml');
      const labels = { ...FOO.spec.template.metadata.labels, fast: true };
      const template = { ...FOO.spec.template, metadata: { labels } };
      await writeFile(file, JSON.stringify({ ...FOO, spec: { ...FOO.spec, template } }));
      const cases: readonly [string, number, string][] = [
        [`rolling-update foo -f ${file}`, 1, `${file}: the apiserver does not take it: `],
        ['rolling-update bar --image=x', 1, 'there is no ReplicationController bar'],
        ['rolling-update foo --image=foo:1', 1, 'has the image foo:1 already'],
        ['rolling-update foo', 2, '--image=IMAGE or -f FILE'],
        ['rolling-update foo --rollback', 1, 'no update of foo is in progress'],
        ['rolling-update foo --image=foo:2 --max-surge 0', 2, 'cannot both be 0'],
        ['rolling-update foo --image=foo:2 --container=x', 2, 'no container x'],
        ['rollout abort rc/bar', 1, 'not found'],
      ];
      for (const [words, code, err] of cases) {
        expect(await cli(words)).toMatchObject({ code, err: expect.stringContaining(err) });
      }
      const dry = await cli('rolling-update foo --image=foo:2 --dry-run');
      expect(dry.out).toMatch(
        /^foo would be replaced by foo-[0-9a-f]{10} with 3 replicas, which then becomes foo/,
      );
      expect(await records()).toEqual([]);
      await rm(folder, { recursive: true });
    }),
    TIMEOUT_MS,
  );
});
