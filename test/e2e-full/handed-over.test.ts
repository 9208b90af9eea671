/** What leaves one repository and is wanted by another that the same workers follow is handed over: it stays as it is. */

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { afterEach, describe, expect, it } from '@jest/globals';

import type { RepositoryPlan } from '../../cli/plan-changes.ts';
import { commitWorkflowId, rolledOutSignal, syncWorkflowId } from '../../workflows/sync-messages.ts';
import { problem } from '../../git/problems.ts';
import { repositoryFromFlags } from '../../git/repositories.ts';
import type { Repository } from '../../git/repositories.ts';
import { isNotFound } from '../../kubernetes/api-error.ts';
import type { ResourcePath } from '../../kubernetes/client.ts';
import type { KubernetesObject } from '../../planners/objects.ts';
import { runCli } from '../support/cli.ts';
import { found } from '../support/eventually.ts';
import type { FileChange, TestRepository } from '../support/git-repository.ts';
import { GitServer } from '../support/git-server.ts';
import { GitSync } from '../support/git-sync.ts';
import { configMap, playStatus, statefulSet } from '../support/small-manifests.ts';
import { grantInCluster, grantSyncAccount } from '../support/sync-account.ts';
import { useSyncGround } from '../support/sync-ground.ts';

const { controlPlane, cluster, sync, newRepository, newWorkerClient } = useSyncGround({
  cluster: 'handing',
  handsOver: true,
});

/** By the case that runs. Each prune reads all that are followed: one after the other, each with those of its own alone. */
const followed: string[] = [];

afterEach(() => {
  for (const name of followed.splice(0)) sync().unfollow(name);
});

function follow(repository: Repository, runs = sync()): void {
  if (runs === sync()) followed.push(repository.name);
  runs.follow(repository);
}

/** Two entries of one repository, each with a folder of its own, `x` and `y`, and the same namespace. */
interface Pair {
  readonly git: TestRepository;
  readonly namespace: string;
  /** Of the entry of `x`, and of that of `y`. */
  readonly names: readonly [string, string];
  commit(files: Readonly<Record<string, FileChange>>): Promise<string>;
}

async function followPair(name: string, runs = sync()): Promise<Pair> {
  const git = await newRepository();
  const namespace = await cluster().createNamespace(name);
  const names = [`${name}-x`, `${name}-y`] as const;
  const shared = {
    repo: git.path,
    namespace,
    serviceAccount: await grantSyncAccount(cluster().client, namespace),
  };
  for (const [index, path] of ['x', 'y'].entries())
    follow(repositoryFromFlags({ ...shared, name: names[index] ?? '', path }), runs);
  // Neither is ever without an object.
  const rest = { 'x/rest.yaml': map('rest-x'), 'y/rest.yaml': map('rest-y') };
  await git.commit(rest);
  return { git, namespace, names, commit: async (files) => await git.commit(files) };
}

/** What `plan --repositories` tells of both: each object with what becomes of it, and why. */
async function planned({ git, namespace, names }: Pair): Promise<unknown> {
  const file = join(git.path, '.git', 'repositories.yaml');
  const entries = ['x', 'y'].map((path, index) => ({ name: names[index], url: git.path, path, namespace }));
  await writeFile(file, JSON.stringify(entries));
  const environment = { KUBECONFIG: controlPlane().kubeconfig };
  const { code, out } = await runCli(['plan', '--repositories', file, '-o', 'json'], { environment });
  expect(code).toBe(4);
  const { repositories: plans } = JSON.parse(out) as { repositories: readonly RepositoryPlan[] };
  return plans.map(({ repository, changes, problems }) => {
    expect(problems).toEqual([]);
    return [repository, changes.map(({ object, action, why }) => [object, action, why])];
  });
}

const map = (name: string, value = '1'): string => configMap(value).replace('config', name);

/** Plays the controller of a workload that is about to be applied. */
async function playReady(path: ResourcePath): Promise<void> {
  await found(`${String(path.name)} is applied`, async () => await get(path));
  await playStatus(cluster().client, path, true);
}

const claim = `apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
`;

function pathOf({ namespace }: Pick<Pair, 'namespace'>, resource: string, name: string): ResourcePath {
  const core = { group: '', version: 'v1', resource, namespace, name };
  return resource === 'statefulsets' ? { ...core, group: 'fairlead.dev', version: 'v1beta1' } : core;
}

async function get(path: ResourcePath): Promise<KubernetesObject | undefined> {
  try {
    return await cluster().client.get(path);
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

/** Whose it is, and which object. */
async function ownerOf(path: ResourcePath): Promise<{ uid: string | undefined; owner: string | undefined }> {
  const live = await get(path);
  return { uid: live?.metadata.uid, owner: live?.metadata.annotations?.['fairlead.dev/repository'] };
}

async function notesOf(name: string): Promise<readonly string[]> {
  return (await sync().inventory(name))?.status.commit?.notes ?? [];
}

describe('an object that moves from one entry to another in one commit', () => {
  it('is let go as it is and taken by the other, where the old one is first: a workload, and what asks for a confirmation', async () => {
    const pair = await followPair('first');
    const [from, to] = pair.names;
    const set = pathOf(pair, 'statefulsets', 'web');
    const files = { 'web.yaml': statefulSet('1'), 'data.yaml': claim, 'gone.yaml': map('gone') };
    const inX = Object.fromEntries(Object.entries(files).map(([name, text]) => [`x/${name}`, text]));
    const sha = await pair.commit(inX);
    const applied = sync().apply(from, sha);
    await playReady(set);
    expect(await applied).toMatchObject({ outcome: 'Succeeded' });
    expect(await sync().apply(to, sha)).toMatchObject({ outcome: 'Succeeded' });
    const paths = [set, pathOf(pair, 'persistentvolumeclaims', 'data')];
    const before = await Promise.all(paths.map(ownerOf));
    await pair.git.git('mv', 'x/web.yaml', 'x/data.yaml', 'y/');
    const moved = await pair.commit({ 'x/gone.yaml': undefined });
    const [web, data, gone] = [
      `StatefulSet.fairlead.dev ${pair.namespace}/web`,
      `PersistentVolumeClaim ${pair.namespace}/data`,
      `ConfigMap ${pair.namespace}/gone`,
    ];
    const why = `repository ${to} wants it`;
    expect(await planned(pair)).toEqual([
      [
        from,
        [
          [web, 'handOver', why],
          [gone, 'delete', undefined],
          [data, 'handOver', why],
        ],
      ],
      [to, [data, web].map((object) => [object, 'change', 'only where it comes from'])],
    ]);
    expect(await sync().apply(from, moved)).toMatchObject({ outcome: 'Succeeded' });
    expect(await Promise.all(paths.map(ownerOf))).toEqual(
      before.map(({ uid }) => ({ uid, owner: undefined })),
    );
    expect(await get(pathOf(pair, 'configmaps', 'gone'))).toBeUndefined();
    expect((await sync().inventory(from))?.entries.size).toBe(1);
    expect(await notesOf(from)).toEqual(
      [web, data].map((one) => `${one} was handed over, not deleted: ${why}`),
    );
    expect(await sync().apply(to, moved)).toMatchObject({ outcome: 'Succeeded' });
    expect(await Promise.all(paths.map(ownerOf))).toEqual(before.map(({ uid }) => ({ uid, owner: to })));
    expect((await get(set))?.metadata.deletionTimestamp).toBeUndefined();
  }, 60_000);

  it('is taken at once where the new one is first; also when it was the last of its folder', async () => {
    const pair = await followPair('second');
    const [from, to] = pair.names;
    const sha = await pair.commit({ 'x/a.yaml': map('a'), 'x/b.yaml': map('b') });
    for (const name of pair.names)
      expect(await sync().apply(name, sha)).toMatchObject({ outcome: 'Succeeded' });
    const paths = ['a', 'b', 'rest-x'].map((name) => pathOf(pair, 'configmaps', name));
    const before = await Promise.all(paths.map(ownerOf));
    await pair.git.git('mv', 'x/a.yaml', 'y/a.yaml');
    const moved = await pair.commit({});
    expect(await sync().apply(to, moved)).toMatchObject({ outcome: 'Succeeded' });
    expect(await sync().apply(from, moved)).toMatchObject({ outcome: 'Succeeded' });
    expect(await notesOf(from)).toEqual([
      `ConfigMap ${pair.namespace}/a was handed over, not deleted: repository ${to} wants it`,
    ]);
    await pair.git.git('mv', 'x/b.yaml', 'y/b.yaml');
    await pair.git.git('mv', 'x/rest.yaml', 'y/rest-x.yaml');
    const last = await pair.commit({});
    expect(await sync().apply(from, last)).toMatchObject({ outcome: 'Refused' });
    expect(await sync().apply(to, last)).toMatchObject({ outcome: 'Succeeded' });
    expect(await Promise.all(paths.map(ownerOf))).toEqual(before.map(({ uid }) => ({ uid, owner: to })));
  }, 60_000);

  it('and another the other way: neither waits for the other', async () => {
    const pair = await followPair('both');
    const sha = await pair.commit({ 'x/a.yaml': map('a'), 'y/b.yaml': map('b') });
    for (const name of pair.names)
      expect(await sync().apply(name, sha)).toMatchObject({ outcome: 'Succeeded' });
    const paths = ['a', 'b'].map((name) => pathOf(pair, 'configmaps', name));
    const before = await Promise.all(paths.map(ownerOf));
    await pair.git.git('mv', 'x/a.yaml', 'y/a.yaml');
    await pair.git.git('mv', 'y/b.yaml', 'x/b.yaml');
    const swapped = await pair.commit({ 'x/rest.yaml': map('rest-x', '2') });
    const ends = await Promise.all(pair.names.map(async (name) => await sync().apply(name, swapped)));
    expect(ends.map(({ outcome }) => outcome)).toEqual(['Succeeded', 'Succeeded']);
    const [x, y] = pair.names;
    expect(await Promise.all(paths.map(ownerOf))).toEqual(
      before.map(({ uid }, index) => ({ uid, owner: index === 0 ? y : x })),
    );
  }, 60_000);

  it('and to the other workload API is taken over with its pods', async () => {
    const pair = await followPair('migrated');
    const [from, to] = pair.names;
    const set = pathOf(pair, 'statefulsets', 'web');
    const native = { ...set, group: 'apps', version: 'v1' };
    const sha = await pair.commit({
      'x/web.yaml': statefulSet('1').replace('fairlead.dev/v1beta1', 'apps/v1'),
    });
    const applied = sync().apply(from, sha);
    await playReady(native);
    expect(await applied).toMatchObject({ outcome: 'Succeeded' });
    const { uid } = await ownerOf(native);
    const revision = await cluster().client.create(
      { group: 'apps', version: 'v1', resource: 'controllerrevisions', namespace: pair.namespace },
      {
        apiVersion: 'apps/v1',
        kind: 'ControllerRevision',
        metadata: {
          name: 'web-1',
          ownerReferences: [
            { apiVersion: 'apps/v1', kind: 'StatefulSet', name: 'web', uid, controller: true },
          ],
        },
        revision: 1,
        data: {},
      },
    );
    const moved = await pair.commit({ 'x/web.yaml': undefined, 'y/web.yaml': statefulSet('1') });
    expect(await sync().apply(from, moved)).toMatchObject({ outcome: 'Succeeded' });
    expect(await ownerOf(native)).toEqual({ uid, owner: to });
    await sync().commitSeen(to, moved);
    await playReady(set);
    expect(await sync().dealtWith(to, moved)).toMatchObject({ outcome: 'Succeeded' });
    expect(await get(native)).toBeUndefined();
    // As the pods would have: deleted with its owner it would be on its way out.
    const { name } = revision.metadata;
    const left = await get({
      group: 'apps',
      version: 'v1',
      resource: 'controllerrevisions',
      namespace: pair.namespace,
      name,
    });
    expect(left?.metadata.deletionTimestamp).toBeUndefined();
    expect(left?.metadata.uid).toBe(revision.metadata.uid);
  }, 60_000);

  it('keeps its Namespace, which has left as well and is confirmed', async () => {
    const pair = await followPair('housed');
    const [from] = pair.names;
    await grantInCluster(cluster().client, pair.namespace, ['namespaces', 'configmaps']);
    const inner = `${pair.namespace}-inner`;
    const house = `apiVersion: v1\nkind: Namespace\nmetadata: {name: ${inner}, annotations: {fairlead.dev/prune: confirmed}}\n`;
    const tenant = map('tenant').replace('name: tenant', `name: tenant, namespace: ${inner}`);
    const sha = await pair.commit({ 'x/house.yaml': house, 'x/tenant.yaml': tenant });
    expect(await sync().apply(from, sha)).toMatchObject({ outcome: 'Succeeded' });
    const moved = await pair.commit({
      'x/house.yaml': undefined,
      'x/tenant.yaml': undefined,
      'y/t.yaml': tenant,
    });
    expect(await sync().apply(from, moved)).toMatchObject({ outcome: 'Succeeded' });
    expect(await notesOf(from)).toEqual([
      expect.stringMatching(/^ConfigMap \S+\/tenant was handed over/),
      expect.stringMatching(
        /^Namespace \S+ was not pruned: it would take ConfigMap \S+\/tenant \(of another repository\) with it/,
      ),
    ]);
    const namespace = await get({ group: '', version: 'v1', resource: 'namespaces', name: inner });
    expect(namespace?.metadata.deletionTimestamp).toBeUndefined();
  }, 60_000);

  it('is told of also where the worker dies when it has let it go', async () => {
    const { temporalAddress } = controlPlane();
    // Nothing can be written any more when the object was let go, which is the first patch of the commit that moves it.
    let [isMoving, mayWrite, died] = [false, true, 0];
    const client = await newWorkerClient({
      onRequest: ({ method }) => {
        if (method === 'PATCH' && isMoving && died === 0) mayWrite = false;
      },
    });
    const guarded = client.withWriteGuard(() => {
      if (mayWrite) return;
      [mayWrite, died] = [true, died + 1];
      throw new Error('killed');
    });
    const own = await GitSync.start({
      client: guarded,
      temporalAddress,
      cluster: 'handing-dying',
      handsOver: true,
    });
    try {
      const pair = await followPair('dying', own);
      const [from, to] = pair.names;
      const sha = await pair.commit({ 'x/a.yaml': map('a') });
      expect(await own.apply(from, sha)).toMatchObject({ outcome: 'Succeeded' });
      isMoving = true;
      await pair.git.git('mv', 'x/a.yaml', 'y/a.yaml');
      const moved = await pair.commit({});
      expect(await own.apply(from, moved)).toMatchObject({ outcome: 'Succeeded' });
      expect(died).toBe(1);
      expect((await own.inventory(from))?.status.commit?.notes).toEqual([
        `ConfigMap ${pair.namespace}/a was handed over, not deleted: repository ${to} wants it`,
      ]);
      const result = await own.temporal.workflow
        .getHandle(commitWorkflowId('handing-dying', from, moved))
        .result();
      expect(result).toMatchObject({ pruned: 0 });
    } finally {
      await own.stop();
    }
  }, 60_000);
});

describe('an object that another source wants too', () => {
  it('is refused there with a remedy that deletes nothing, and the refused commit is tried again when it was handed over', async () => {
    const [one, two] = [await newRepository(), await newRepository()];
    const namespace = await cluster().createNamespace('claimed');
    const shared = { namespace, serviceAccount: await grantSyncAccount(cluster().client, namespace) };
    follow(repositoryFromFlags({ ...shared, repo: one.path, name: 'claimed-one' }));
    follow(repositoryFromFlags({ ...shared, repo: two.path, name: 'claimed-two' }));
    const path = pathOf({ namespace }, 'configmaps', 'mine');
    await sync().apply('claimed-one', await one.commit({ 'a.yaml': map('mine'), 'b.yaml': map('rest') }));
    const { uid } = await ownerOf(path);
    const wanting = await two.commit({ 'a.yaml': map('mine', '2') });
    expect(await sync().apply('claimed-two', wanting)).toMatchObject({ outcome: 'Refused' });
    expect((await sync().inventory('claimed-two'))?.status.commit?.problems).toEqual([
      expect.stringMatching(
        /: repository claimed-one applies this object too\. Leave it to one of the two\. To let claimed-two have it, take it out of claimed-one: it is handed over as it is, not deleted, and the commit is tried again by itself\.$/,
      ),
    ]);
    const without = await one.commit({ 'a.yaml': undefined });
    expect(await sync().apply('claimed-one', without)).toMatchObject({ outcome: 'Succeeded' });
    expect(await notesOf('claimed-one')).toEqual([
      `ConfigMap ${namespace}/mine was handed over, not deleted: repository claimed-two wants it`,
    ]);
    const taken = { uid, owner: 'claimed-two' };
    expect(
      await found('the other has it', async () => {
        const { owner } = await ownerOf(path);
        return owner === 'claimed-two' ? await ownerOf(path) : undefined;
      }),
    ).toEqual(taken);
    // After few tries its own next one would come as soon.
    const { events } = await sync()
      .temporal.workflow.getHandle(syncWorkflowId('handing', 'claimed-two'))
      .fetchHistory();
    const signals = events?.flatMap(
      ({ workflowExecutionSignaledEventAttributes: signal }) => signal?.signalName ?? [],
    );
    expect(signals).toContain(rolledOutSignal.name);
  }, 60_000);

  it('is kept for one whose server is silent, by the last commit that was tried; one that was never read holds nothing up', async () => {
    const [one, two] = [await newRepository(), await newRepository()];
    const server = await GitServer.start(two.path);
    const namespace = await cluster().createNamespace('silent');
    const shared = { namespace, serviceAccount: await grantSyncAccount(cluster().client, namespace) };
    const own = await GitSync.start({
      client: await newWorkerClient(),
      temporalAddress: controlPlane().temporalAddress,
      cluster: 'handing-silent',
      handsOver: true,
    });
    try {
      own.follow(repositoryFromFlags({ ...shared, repo: one.path, name: 'silent-one' }));
      const there = { repo: server.url('.git'), caFile: server.caFile };
      own.follow(repositoryFromFlags({ ...shared, ...there, name: 'silent-two' }));
      own.follow(repositoryFromFlags({ ...shared, repo: '/nonexistent/repository', name: 'silent-three' }));
      const files = { 'a.yaml': map('mine'), 'b.yaml': map('gone'), 'c.yaml': map('rest') };
      await own.apply('silent-one', await one.commit(files));
      expect(await own.apply('silent-two', await two.commit({ 'a.yaml': map('mine') }))).toMatchObject({
        outcome: 'Refused',
      });
      const paths = ['mine', 'gone'].map((name) => pathOf({ namespace }, 'configmaps', name));
      const [before] = await Promise.all(paths.map(ownerOf));
      server.behaviour = 'hang';
      own.seen.set('silent-two', { problem: problem('SourceTimeout', 'it does not answer.') });
      const asked = server.requests.length;
      const without = await one.commit({ 'a.yaml': undefined, 'b.yaml': undefined });
      expect(await own.apply('silent-one', without)).toMatchObject({ outcome: 'Succeeded' });
      expect((await own.inventory('silent-one'))?.status.commit?.notes).toEqual([
        `ConfigMap ${namespace}/mine was handed over, not deleted: repository silent-two wants it`,
        expect.stringMatching(
          /^whether what is deleted is wanted by another repository is not known of silent-three \(.*\/nonexistent\/repository/,
        ),
      ]);
      const [mine, gone] = await Promise.all(paths.map(ownerOf));
      expect([mine?.uid, gone?.uid]).toEqual([before?.uid, undefined]);
      expect(server.requests.length).toBe(asked);
      // Nor is one that begins to be silent waited for twice: its check and its prune are of one run.
      own.seen.clear();
      expect(
        await own.apply('silent-one', await one.commit({ 'c.yaml': undefined, 'd.yaml': map('new') })),
      ).toMatchObject({ outcome: 'Succeeded' });
      expect(server.requests.length).toBe(asked + 1);
    } finally {
      await own.stop();
      await server.stop();
    }
  }, 60_000);
});

describe('an object that a repository names whose account may not have it', () => {
  /** Of the platform, whose account may write in the namespace of both; and of a tenant, whose account may write in its own alone. */
  async function followTenant(name: string) {
    const [platform, tenant] = [await newRepository(), await newRepository()];
    const [namespace, own] = [
      await cluster().createNamespace(name),
      await cluster().createNamespace(`${name}-tenant`),
    ];
    const names = [`${name}-platform`, `${name}-tenant`] as const;
    const followAs = async ({ path: repo }: TestRepository, called: string, home: string) => {
      const serviceAccount = await grantSyncAccount(cluster().client, home);
      follow(repositoryFromFlags({ repo, name: called, namespace, serviceAccount }));
    };
    await followAs(platform, names[0], namespace);
    await followAs(tenant, names[1], own);
    return { platform, tenant, namespace, own, names };
  }

  it('is deleted as if nobody did; so is a grant that is why its account may have it', async () => {
    const { platform, tenant, namespace, own, names } = await followTenant('granted');
    const grant = `apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: grant}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: admin}
subjects: [{kind: ServiceAccount, name: default, namespace: ${own}}]
`;
    const files = { 'grant.yaml': grant, 'mine.yaml': map('mine'), 'rest.yaml': map('rest') };
    expect(await sync().apply(names[0], await platform.commit(files))).toMatchObject({
      outcome: 'Succeeded',
    });
    const wanting = await tenant.commit({ 'grant.yaml': grant, 'mine.yaml': map('mine') });
    expect(await sync().apply(names[1], wanting)).toMatchObject({ outcome: 'Refused' });
    const without = await platform.commit({ 'grant.yaml': undefined });
    expect(await sync().apply(names[0], without)).toMatchObject({ outcome: 'Succeeded' });
    expect(await notesOf(names[0])).toEqual([
      `RoleBinding.rbac.authorization.k8s.io ${namespace}/grant was deleted, not handed over: repository ${names[1]} names it, and makes it anew if its account may: a grant is not handed over to another account`,
    ]);
    const rights = { group: 'rbac.authorization.k8s.io', version: 'v1', resource: 'rolebindings' };
    expect(await get({ ...rights, namespace, name: 'grant' })).toBeUndefined();
    // Which leaves the account without any there.
    const last = await platform.commit({ 'mine.yaml': undefined });
    expect(await sync().apply(names[0], last)).toMatchObject({ outcome: 'Succeeded' });
    expect(await notesOf(names[0])).toEqual([
      `ConfigMap ${namespace}/mine was deleted, not handed over: repository ${names[1]} names it, but its account may not patch configmaps there`,
    ]);
    expect(await get(pathOf({ namespace }, 'configmaps', 'mine'))).toBeUndefined();
  }, 60_000);

  it('holds no Namespace', async () => {
    const { platform, tenant, namespace, names } = await followTenant('named');
    await grantInCluster(cluster().client, namespace, ['namespaces', 'configmaps']);
    const inner = `${namespace}-inner`;
    const house = `apiVersion: v1\nkind: Namespace\nmetadata: {name: ${inner}, annotations: {fairlead.dev/prune: confirmed}}\n`;
    const files = { 'house.yaml': house, 'rest.yaml': map('rest') };
    expect(await sync().apply(names[0], await platform.commit(files))).toMatchObject({
      outcome: 'Succeeded',
    });
    const core = { group: '', version: 'v1' };
    await cluster().client.create(
      { ...core, resource: 'configmaps', namespace: inner },
      { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'there' } },
    );
    const there = map('there').replace('name: there', `name: there, namespace: ${inner}`);
    await sync().apply(names[1], await tenant.commit({ 'there.yaml': there }));
    const without = await platform.commit({ 'house.yaml': undefined });
    expect(await sync().apply(names[0], without)).toMatchObject({ outcome: 'Succeeded' });
    const gone = await get({ ...core, resource: 'namespaces', name: inner });
    expect(gone?.metadata.deletionTimestamp ?? 'gone').toEqual(expect.any(String));
    expect((await sync().inventory(names[0]))?.status.commit).toMatchObject({ pruned: 1 });
  }, 60_000);
});

describe('a ReplicationController that moves and is rolled out by the one that has it now', () => {
  it('is left to that rolling update by the old one', async () => {
    const pair = await followPair('rolled');
    const [from, to] = pair.names;
    const begun: string[] = [];
    sync().startRollingUpdate = async ({ repository }) => void begun.push(repository);
    const controller = (image: string): string => `apiVersion: v1
kind: ReplicationController
metadata: {name: rolling}
spec:
  replicas: 1
  selector: {app: rolling}
  template:
    metadata: {labels: {app: rolling}}
    spec: {containers: [{name: main, image: "${image}"}]}
`;
    const path = pathOf(pair, 'replicationcontrollers', 'rolling');
    await sync().commitSeen(from, await pair.commit({ 'x/rolling.yaml': controller('a:1') }));
    await playReady(path);
    const moved = await pair.commit({ 'x/rolling.yaml': undefined, 'y/rolling.yaml': controller('a:2') });
    await sync().commitSeen(to, moved);
    await found('its update is begun', async () => (begun.length > 0 ? true : undefined));
    expect(await sync().apply(from, moved)).toMatchObject({ outcome: 'Succeeded' });
    expect(new Set(begun)).toEqual(new Set([to]));
    const { items: records } = await cluster().client.list({
      group: 'apps',
      version: 'v1',
      resource: 'controllerrevisions',
      namespace: pair.namespace,
    });
    expect(records.map(({ metadata }) => JSON.stringify(metadata.annotations))).toEqual([
      expect.not.stringContaining('turned'),
    ]);
    expect((await sync().inventory(from))?.entries.size).toBe(1);
  }, 60_000);
});
