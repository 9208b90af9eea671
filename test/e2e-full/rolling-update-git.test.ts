/** A ReplicationController in a watched repository: commits roll it out, change it in place, take each other's place, prune it. */

import type { Client } from '@temporalio/client';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import type { RepositoryPlan } from '../../cli/plan-changes.ts';
import { connectTemporal } from '../../controllers/temporal-client.ts';
import type { Pod } from '../../planners/objects.ts';
import { ANNOTATION } from '../../planners/names.ts';
import type { ReplicationController } from '../../planners/replication-controller.ts';
import { rollingUpdateWorkflowId } from '../../workflows/rolling-update-messages.ts';
import { runCli } from '../support/cli.ts';
import { Cluster } from '../support/cluster.ts';
import { useControlPlane } from '../support/control-plane.ts';
import { found as foundInTime } from '../support/eventually.ts';
import { HistoryGround } from '../support/history-ground.ts';
import { untilObjects } from '../support/until-objects.ts';

const RCS = { group: '', version: 'v1', resource: 'replicationcontrollers' } as const;
const PODS = { group: '', version: 'v1', resource: 'pods' } as const;
const SETTINGS = 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {greeting: hello}\n';

function foo(image: string, { replicas = 3, labels = '' } = {}): string {
  return `apiVersion: v1
kind: ReplicationController
metadata: {name: foo, labels: {${labels}}}
spec:
  replicas: ${String(replicas)}
  selector: {app: foo}
  template:
    metadata:
      labels: {app: foo}
      annotations: {sim.fairlead.dev/ready-delay: 300ms}
    spec:
      terminationGracePeriodSeconds: 1
      containers: [{name: main, image: "${image}"}]
`;
}

describe('a ReplicationController in git', () => {
  let cluster: Cluster;
  let temporal: Client;
  let ground: HistoryGround;

  afterAll(async () => {
    await ground?.close();
    await temporal?.connection.close();
    cluster?.close();
  }, 30_000);

  const controlPlane = useControlPlane();

  beforeAll(async () => {
    cluster = await Cluster.connect(controlPlane().kubeconfig, controlPlane().workloadApi);
    temporal = await connectTemporal(controlPlane().temporalAddress);
    ground = await HistoryGround.create({ controlPlane: controlPlane(), cluster, temporal }, 'rc-git');
    await ground.startWorkerWithRepository();
  }, 120_000);

  async function committed(files: Parameters<HistoryGround['commit']>[0], on = ground): Promise<string> {
    const sha = await on.commit(files);
    await on
      .commitRuns(sha)
      .until('the newest is COMPLETED', (runs) => runs.at(-1)?.status === 'COMPLETED', 50_000)
      .catch((error: unknown) => {
        throw new Error(on.tail, { cause: error });
      });
    return sha;
  }

  async function controllers({ namespace } = ground): Promise<readonly ReplicationController[]> {
    return (await cluster.client.list<ReplicationController>({ ...RCS, namespace })).items;
  }

  const imagesOf = (pods: readonly Pod[]) => [...new Set(pods.map(({ spec }) => spec.containers[0]?.image))];

  it('is rolled out by a changed template, and only by that', async () => {
    const first = await committed({ 'foo.yaml': foo('foo:1'), 'settings.yaml': SETTINGS });
    const [before] = await controllers();
    expect(before?.metadata.annotations).toMatchObject({ [ANNOTATION.commit]: first });

    const second = await committed({ 'foo.yaml': foo('foo:2') });
    const [rolled, ...others] = await controllers();
    expect(others).toEqual([]);
    expect(rolled?.metadata.uid).not.toBe(before?.metadata.uid);
    expect(rolled?.metadata.annotations).toMatchObject({
      [ANNOTATION.commit]: second,
      [ANNOTATION.repository]: 'rc-git',
      [ANNOTATION.manifestHash]: expect.stringMatching(/./),
    });
    expect(imagesOf(await cluster.pods(ground.namespace, 'foo'))).toEqual(['foo:2']);

    // No template: applied like anything else, although the update has written every field.
    const third = await committed({ 'foo.yaml': foo('foo:2', { replicas: 4, labels: 'tier: old' }) });
    const [changed] = await controllers();
    expect(changed?.metadata.uid).toBe(rolled?.metadata.uid);
    expect(changed?.spec.replicas).toBe(4);
    expect(changed?.metadata.labels).toMatchObject({ tier: 'old' });
    expect(changed?.metadata.annotations).toMatchObject({ [ANNOTATION.commit]: third });

    await committed({ 'foo.yaml': foo('foo:1', { replicas: 4 }) });
    expect(imagesOf(await cluster.pods(ground.namespace, 'foo'))).toEqual(['foo:1']);
  }, 120_000);

  async function untilControllers(
    what: string,
    isSo: (all: readonly ReplicationController[]) => boolean,
  ): Promise<void> {
    await untilObjects(cluster.client, { ...RCS, namespace: ground.namespace }, what, isSo, 30_000);
  }

  async function commitBad(): Promise<string> {
    const sha = await ground.commit({ 'foo.yaml': foo('foo:bad') });
    await untilControllers('the next controller has a pod', (all) =>
      all.some(({ metadata, status }) => metadata.name !== 'foo' && status?.replicas === 1),
    );
    return sha;
  }

  const cli = async (...words: readonly string[]) =>
    await runCli([...words, '-n', ground.namespace], {
      environment: {
        KUBECONFIG: controlPlane().kubeconfig,
        TEMPORAL_ADDRESS: controlPlane().temporalAddress,
        FAIRLEAD_CLUSTER: 'rc-git',
        PATH: process.env['PATH'] ?? '',
      },
    });

  it('what a commit leaves out is gone, although updates, one by hand among them, have made it anew', async () => {
    const bar = (image: string, metadata: string, spec: string) => `apiVersion: v1
kind: ReplicationController
metadata: {name: bar, ${metadata}}
spec:
  replicas: 1
  template:
    metadata:
      labels: {app: bar}
      annotations: {sim.fairlead.dev/ready-delay: 300ms}
    spec:
      terminationGracePeriodSeconds: 1
      containers:
      - {name: main, image: "${image}", ${spec}
`;
    const whole = `env: [{name: A, value: a}, {name: B, value: b}]}
      - {name: side, image: "side:1"}
      volumes: [{name: scratch, emptyDir: {}}]`;
    const files = (text: string) => ({ 'bar.yaml': text });
    const marks = 'labels: {tier: old}, annotations: {note: x}';
    await committed(files(bar('bar:1', marks, whole)));
    // Somebody is quicker: nothing is left for the commit to change, but no pod has it.
    const change = { spec: { template: { spec: { containers: [{ name: 'main', image: 'bar:2' }] } } } };
    await cluster.client.patch({ ...RCS, namespace: ground.namespace, name: 'bar' }, 'strategic', change, {
      fieldManager: 'kubectl-set',
    });
    const plan = async () => {
      const words = ['plan', '--repo', ground.repositoryPath, '--name', 'rc-git', '-o', 'json'];
      const { code, out } = await cli(...words);
      expect(code).toBe(4);
      const { repositories = [] } = JSON.parse(out) as { repositories?: readonly RepositoryPlan[] };
      const [first, ...rest] = repositories.flatMap(({ changes }) => changes);
      expect([first?.object.split('/').at(-1), rest]).toEqual(['bar', []]);
      return first;
    };
    const planned = async (text: string) => {
      await ground.suspend(true);
      const sha = await ground.commit(files(text));
      const found = await plan();
      await ground.suspend(false);
      await ground
        .commitRuns(sha)
        .until('it is COMPLETED', (runs) => runs.at(-1)?.status === 'COMPLETED', 50_000);
      return found;
    };
    expect(await planned(bar('bar:2', marks, whole))).toMatchObject({
      why: expect.stringContaining('its pods are of before: they are replaced'),
      rollout: { pods: 1 },
    });
    expect(imagesOf(await cluster.pods(ground.namespace, 'bar'))).toEqual(['bar:2']);
    const template = async () => {
      const found = (await controllers()).find(({ metadata }) => metadata.name === 'bar');
      const { containers = [], volumes } = found?.spec.template?.spec ?? {};
      const { labels = {}, annotations = {} } = found?.metadata ?? {};
      const shown = containers.map(({ name, image, env }) => [name, image, env]);
      return { containers: shown, volumes, tier: labels['tier'], note: annotations['note'] };
    };
    expect(await template()).toMatchObject({ volumes: [{ name: 'scratch', emptyDir: {} }], tier: 'old' });

    const less = `env: [{name: A, value: a}]}
      volumes: [{name: scratch, configMap: {name: settings}}]`;
    const found = await planned(bar('bar:2', '', less));
    expect(found?.differences.map(({ path }) => path).join(' ')).toMatch(
      /containers.*side.*volumes|volumes.*containers.*side/,
    );
    expect(await template()).toEqual({
      containers: [['main', 'bar:2', [{ name: 'A', value: 'a' }]]],
      volumes: [{ name: 'scratch', configMap: { name: 'settings', defaultMode: 420 } }],
      tier: undefined,
      note: undefined,
    });
    const pods = await cluster.pods(ground.namespace, 'bar');
    expect(pods.map(({ spec }) => spec.containers.map(({ name }) => name))).toEqual([['main']]);

    expect(await cli('rolling-update', 'bar', '--image=bar:hand', '--update-period=0s')).toMatchObject({
      code: 0,
    });
    await committed(files(bar('bar:4', '', '}')));
    expect(await template()).toEqual({
      containers: [['main', 'bar:4', undefined]],
      volumes: undefined,
      tier: undefined,
      note: undefined,
    });

    // A commit that takes it out ends an update that is stuck.
    await ground.commit(files(bar('bar:bad', '', '}')));
    await untilControllers('the next controller has a pod', (all) =>
      all.some(({ metadata, status }) => metadata.name.startsWith('bar-') && status?.replicas === 1),
    );
    await committed({ 'bar.yaml': undefined });
    expect((await controllers()).map(({ metadata }) => metadata.name)).toEqual(['foo']);
  }, 200_000);

  it('a good commit takes the place of one whose pods never start', async () => {
    await commitBad();
    const status = cli('rollout', 'status', 'rc/foo', '--timeout', '100s');
    await committed({ 'foo.yaml': foo('foo:3') });

    // Whoever waits for it follows the newer one.
    expect(await status).toMatchObject({ code: 0, out: expect.stringContaining('successfully rolled out') });
    const [only, ...others] = await controllers();
    expect([only?.metadata.name, others]).toEqual(['foo', []]);
    expect(imagesOf(await cluster.pods(ground.namespace, 'foo'))).toEqual(['foo:3']);
  }, 120_000);

  it('so does the revert of it, whose manifest the old controller still has', async () => {
    const bad = await commitBad();
    expect((await cli('rollout', 'history', 'rc/foo')).out).toMatch(
      new RegExp(`Running .*${bad.slice(0, 8)}`),
    );
    const sha = await committed({ 'foo.yaml': foo('foo:3') });
    const reverted = `is as commit ${sha.slice(0, 8)} has it, which reverted the update to foo:bad`;
    expect(await cli('rollout', 'status', 'rc/foo', '--timeout', '30s')).toMatchObject({
      code: 0,
      out: expect.stringContaining(reverted),
    });
    const [only, ...others] = await controllers();
    expect([only?.metadata.name, others]).toEqual(['foo', []]);
    expect(only?.spec.replicas).toBe(3);
    expect(imagesOf(await cluster.pods(ground.namespace, 'foo'))).toEqual(['foo:3']);
  }, 120_000);

  it('one that changes the size alone waits for the end of the update, and takes none of its pods back', async () => {
    const sha = await ground.commit({ 'foo.yaml': foo('foo:sized') });
    const isNew = (pod: Pod) => pod.spec.containers[0]?.image === 'foo:sized';
    const path = { ...PODS, namespace: ground.namespace };
    const isBegun = (pods: readonly Pod[]) => pods.some(isNew);
    const [early] = (await untilObjects<Pod>(cluster.client, path, 'a new pod', isBegun, 30_000)).filter(
      isNew,
    );
    const resized = await committed({ 'foo.yaml': foo('foo:sized', { replicas: 4 }) });

    const [only, ...others] = await controllers();
    expect([only?.metadata.name, only?.spec.replicas, others]).toEqual(['foo', 4, []]);
    expect(only?.metadata.annotations).toMatchObject({ [ANNOTATION.commit]: resized });
    const records = (await cli('rollout', 'history', 'rc/foo')).out;
    expect(records).toMatch(new RegExp(`Succeeded.*${sha.slice(0, 8)}`));
    const pods = await cluster.pods(ground.namespace, 'foo');
    expect(pods.map(({ metadata }) => metadata.uid)).toContain(early?.metadata.uid);
    expect([pods.length, imagesOf(pods)]).toEqual([4, ['foo:sized']]);
    await committed({ 'foo.yaml': foo('foo:3') });
  }, 120_000);

  it('one that waits for a bad update is rejected with it, and does not begin it again', async () => {
    await committed({ 'foo.yaml': foo('foo:3') });
    await commitBad();
    const sha = await ground.commit({ 'foo.yaml': foo('foo:bad', { replicas: 4 }) });
    await ground.commitRuns(sha).until('it has begun', (runs) => runs.length > 0, 30_000);
    expect(await cli('rollout', 'abort', 'rc/foo', '--reason', 'bad image')).toMatchObject({ code: 0 });

    await ground
      .commitRuns(sha)
      .until('the newest is FAILED', (runs) => runs.at(-1)?.status === 'FAILED', 50_000);
    await untilControllers('it is as before', (all) => all.length === 1 && all[0]?.spec.replicas === 3);
    expect(imagesOf(await cluster.pods(ground.namespace, 'foo'))).toEqual(['foo:3']);
    const { out } = await cli('history', 'rc-git', '-o', 'json');
    expect(JSON.parse(out)).toMatchObject({
      attempts: expect.arrayContaining([
        expect.objectContaining({ sha, problem: expect.stringMatching(/^RolledBack .*: bad image\./) }),
      ]),
    });
    // What is newer takes its place.
    await committed({ 'foo.yaml': foo('foo:3') });
  }, 120_000);

  it('so does one that takes the place of a command, which is told so', async () => {
    const command = cli('rolling-update', 'foo', '--image=foo:bad', '-o', 'json');
    await untilControllers('the next controller has a pod', (all) =>
      all.some(({ metadata, status }) => metadata.name !== 'foo' && status?.replicas === 1),
    );
    const sha = await committed({ 'foo.yaml': foo('foo:5') });

    const { code, out } = await command;
    expect({ code, document: JSON.parse(out) }).toMatchObject({
      code: 1,
      document: {
        outcome: 'Superseded',
        message: expect.stringContaining(`superseded: commit ${sha.slice(0, 8)}`),
        turned: { verb: 'commit', commit: sha },
      },
    });
    expect(imagesOf(await cluster.pods(ground.namespace, 'foo'))).toEqual(['foo:5']);
  }, 120_000);

  it('rolled by a command to its end it is Drifted, and so until a commit has it again', async () => {
    expect(await cli('rolling-update', 'foo', '--image=foo:hand', '--update-period=0s')).toMatchObject({
      code: 0,
      err: expect.stringContaining('foo comes from repository rc-git: commit what you roll out as well'),
    });
    await ground.untilDrifted(1);
    const { out } = await cli('explain', 'rc/foo');
    expect(out).toContain('spec.template.spec.containers[main].image changed');

    await committed({ 'foo.yaml': foo('foo:6') });
    await ground.untilDrifted(0);
    expect(imagesOf(await cluster.pods(ground.namespace, 'foo'))).toEqual(['foo:6']);
  }, 120_000);

  it('a label of its own with the name of kubectl’s key stays, and another such key is refused', async () => {
    const selector = { app: 'bar', deployment: 'prod' };
    const bar = (image: string) =>
      JSON.stringify({
        apiVersion: 'v1',
        kind: 'ReplicationController',
        metadata: { name: 'bar' },
        spec: {
          replicas: 1,
          selector,
          template: { metadata: { labels: selector }, spec: { containers: [{ name: 'main', image }] } },
        },
      });
    await committed({ 'bar.yaml': bar('bar:1') });
    await committed({ 'bar.yaml': bar('bar:2') });
    const [pod, ...others] = await cluster.pods(ground.namespace, 'bar');
    expect(others).toEqual([]);
    expect(pod?.spec.containers[0]?.image).toBe('bar:2');
    expect(pod?.metadata.labels).toMatchObject(selector);

    const words = ['rolling-update', 'bar', '--image=bar:3', '--deployment-label-key=app'];
    expect(await cli(...words)).toMatchObject({
      code: 2,
      err: expect.stringContaining('bar has the label app=bar for something else'),
    });
    await committed({ 'bar.yaml': undefined });
  }, 120_000);

  it('without a selector the labels of the template are it, also where one has the key of an update before', async () => {
    const baz = (image: string, labels: Readonly<Record<string, string>>) =>
      JSON.stringify({
        apiVersion: 'v1',
        kind: 'ReplicationController',
        metadata: { name: 'baz' },
        spec: {
          replicas: 1,
          template: { metadata: { labels }, spec: { containers: [{ name: 'main', image }] } },
        },
      });
    const only = async () => {
      const [pod, ...others] = await cluster.pods(ground.namespace, 'baz');
      expect(others).toEqual([]);
      return pod;
    };
    await committed({ 'baz.yaml': baz('baz:1', { app: 'baz', version: 'v1' }) });
    await committed({ 'baz.yaml': baz('baz:2', { app: 'baz', version: 'v2' }) });
    expect((await only())?.metadata.labels).toMatchObject({ version: 'v2' });

    const words = ['rolling-update', 'baz', '--image=baz:3', '--deployment-label-key=track'];
    expect(await cli(...words)).toMatchObject({ code: 0 });
    // The same image: the label alone is what makes other pods.
    await committed({ 'baz.yaml': baz('baz:3', { app: 'baz', version: 'v2', track: 'stable' }) });
    expect((await only())?.metadata.labels).toMatchObject({ track: 'stable' });
    const [controller] = (await controllers()).filter(({ metadata }) => metadata.name === 'baz');
    expect(controller?.metadata.annotations).not.toHaveProperty([ANNOTATION.deploymentLabelKey]);
    expect(controller?.spec.selector).toMatchObject({
      track: 'stable',
      'kubernetes.io/deployment': expect.stringMatching(/./),
    });
    await committed({ 'baz.yaml': undefined, 'settings.yaml': SETTINGS });
  }, 120_000);

  /** As kubectl does; the apiserver's own default would leave the pods. */
  async function deleteWithPods(name: string): Promise<void> {
    const path = { ...RCS, namespace: ground.namespace, name };
    await cluster.client.delete(path, { propagationPolicy: 'Background' });
  }

  /** The next controller has the old name, and waits for pods that are never ready. */
  async function renamedBad(): Promise<string> {
    const sha = await commitBad();
    await deleteWithPods('foo');
    await untilControllers('foo has all the bad pods', (all) =>
      all.some(({ metadata, status }) => metadata.name === 'foo' && status?.replicas === 3),
    );
    const name = { metadata: { name: 'foo' } };
    const isTold = ({ out }: { readonly out: string }) =>
      out.includes('3 of 3 pods of foo are not available');
    await foundInTime('its pods are awaited', async () =>
      isTold(await cli('explain', 'rc/foo')) ? name : undefined,
    );
    return sha;
  }

  it('also after somebody deleted the old controller in the middle, which is not the end of a bad one', async () => {
    const sha = await renamedBad();

    expect(await cli('rolling-update', 'foo', '--image=foo:bad', '--timeout', '2s')).toMatchObject({
      code: 3,
      err: expect.stringContaining('3 of 3 pods of foo are not available'),
    });
    expect(await cli('rolling-update', 'foo', '--rollback')).toMatchObject({ code: 1 });
    const mended = await committed({ 'foo.yaml': foo('foo:4') });
    expect(imagesOf(await cluster.pods(ground.namespace, 'foo'))).toEqual(['foo:4']);
    // One run has brought both to their ends: each has its own commit.
    const { revisions } = JSON.parse((await cli('rollout', 'history', 'rc/foo', '-o', 'json')).out) as {
      readonly revisions: readonly { readonly attempts: readonly object[] }[];
    };
    expect(revisions.slice(-2).map(({ attempts }) => attempts)).toEqual([
      [
        expect.objectContaining({
          outcome: 'Superseded',
          commit: sha,
          endedBecause: expect.stringContaining('is rolled out instead of'),
        }),
      ],
      [expect.objectContaining({ outcome: 'Succeeded', commit: mended })],
    ]);
  }, 120_000);

  it('the same, and deleted once more: nothing is made again; the commit that leaves it out does not wait for its pods', async () => {
    const sha = await renamedBad();
    await deleteWithPods('foo');
    await ground
      .commitRuns(sha)
      .until('the bad one is over', (runs) => runs.at(-1)?.status !== 'RUNNING', 50_000);
    expect(await controllers()).toEqual([]);
    await committed({ 'foo.yaml': foo('foo:3') });

    await renamedBad();
    await committed({ 'foo.yaml': undefined });
    await untilControllers('none', (all) => all.length === 0);
    await committed({ 'foo.yaml': foo('foo:4') });
    expect(imagesOf(await cluster.pods(ground.namespace, 'foo'))).toEqual(['foo:4']);
  }, 180_000);

  it('its run terminated: the commit has failed, and says so; the next one goes on', async () => {
    const sha = await commitBad();
    const update = { namespace: ground.namespace, name: 'foo' };
    await temporal.workflow.getHandle(rollingUpdateWorkflowId('rc-git', update)).terminate('a test');
    await ground
      .commitRuns(sha)
      .until('the bad one is over', (runs) => runs.at(-1)?.status !== 'RUNNING', 50_000);
    expect((await cli('get', 'repositories', '-o', 'wide')).out).toContain(
      'its rolling update does not go on: no run is open (the last one is terminated)',
    );
    await committed({ 'foo.yaml': foo('foo:3') });
    expect(imagesOf(await cluster.pods(ground.namespace, 'foo'))).toEqual(['foo:3']);
  }, 120_000);

  it('both controllers deleted with their pods: the commit has failed, and the next makes it anew', async () => {
    const sha = await commitBad();
    const isNext = ({ metadata }: ReplicationController) => metadata.name.startsWith('foo-');
    const next = (await controllers()).find(isNext)?.metadata.name ?? 'no next controller';
    const metadata = { annotations: { [ANNOTATION.paused]: JSON.stringify({ by: 'test' }) } };
    // The old one first: held, the next one waits.
    for (const name of ['foo', next])
      await cluster.client.patch({ ...RCS, namespace: ground.namespace, name }, 'merge', { metadata });
    for (const name of ['foo', next]) {
      const path = { ...RCS, namespace: ground.namespace, name };
      await cluster.client.delete(path, { propagationPolicy: 'Background' });
      await cluster.untilGone(path);
    }
    await ground
      .commitRuns(sha)
      .until('the bad one is over', (runs) => runs.at(-1)?.status !== 'RUNNING', 50_000);
    await committed({ 'foo.yaml': foo('foo:4') });
    await untilControllers('foo is there', (all) =>
      all.some(({ metadata: { name }, status }) => name === 'foo' && status?.availableReplicas === 3),
    );
    expect(imagesOf(await cluster.pods(ground.namespace, 'foo'))).toEqual(['foo:4']);
    expect((await controllers()).filter(isNext)).toEqual([]);
  }, 120_000);

  it('is pruned after a rename too', async () => {
    await committed({ 'foo.yaml': undefined });

    expect((await controllers()).filter(({ metadata }) => metadata.deletionTimestamp === undefined)).toEqual(
      [],
    );
  }, 60_000);

  it('the template of the last update again, after somebody has edited it: its pods are replaced', async () => {
    const healing = await HistoryGround.create(
      { controlPlane: controlPlane(), cluster, temporal },
      'rc-heal',
    );
    const { namespace } = healing;
    try {
      await healing.startWorkerWithRepository({}, { heal: true });
      await committed({ 'foo.yaml': foo('foo:1') }, healing);
      await committed({ 'foo.yaml': foo('foo:2') }, healing);
      const [before] = await controllers(healing);
      const change = { spec: { template: { spec: { containers: [{ name: 'main', image: 'foo:9' }] } } } };
      await cluster.client.patch({ ...RCS, namespace, name: 'foo' }, 'strategic', change, {
        fieldManager: 'kubectl-set',
      });
      const [victim] = await cluster.pods(namespace, 'foo');
      await cluster.client.delete({ ...PODS, namespace, name: victim?.metadata.name });
      const isEdited = (pods: readonly Pod[]) =>
        pods.some(({ spec }) => spec.containers[0]?.image === 'foo:9');
      await untilObjects<Pod>(cluster.client, { ...PODS, namespace }, 'a pod of it', isEdited, 30_000);
      const sha = await committed({ 'foo.yaml': foo('foo:2', { labels: 'tier: edited' }) }, healing);

      const [only, ...others] = await controllers(healing);
      expect(others).toEqual([]);
      expect(only?.metadata.annotations).toMatchObject({ [ANNOTATION.commit]: sha });
      expect(only?.spec.template?.spec.containers[0]?.image).toBe('foo:2');
      expect(only?.spec.selector).not.toEqual(before?.spec.selector);
      const pods = await cluster.pods(namespace, 'foo');
      expect([pods.length, imagesOf(pods)]).toEqual([3, ['foo:2']]);
    } finally {
      await healing.close();
    }
  }, 120_000);
});
