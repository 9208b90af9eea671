/** What `plan` need not try: its answers are those of dry runs all the same. */

import type { ChildProcess } from 'node:child_process';
import { mkdir, mkdtemp, readdir, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import type { RepositoryPlan } from '../../cli/plan-changes.ts';
import { planCommit } from '../../cli/plan-changes.ts';
import type { CommitContent, CommitContext } from '../../git/commit.ts';
import { CommitReader, prepareCommit } from '../../git/commit.ts';
import { APPLYSET, InventoryStore } from '../../git/inventory.ts';
import { entryKey } from '../../git/inventory-content.ts';
import { openMirror } from '../../git/mirror.ts';
import { applyBody } from '../../git/prepare.ts';
import type { Repository } from '../../git/repositories.ts';
import { repositoryFromFlags } from '../../git/repositories.ts';
import { sourceIdentity } from '../../git/source-url.ts';
import { KubernetesClient } from '../../kubernetes/client.ts';
import type { ResourcePath } from '../../kubernetes/client.ts';
import { loadConnection } from '../../kubernetes/kubeconfig.ts';
import { Discovery } from '../../kubernetes/discovery.ts';
import type { KubernetesObject, PodTemplate } from '../../planners/objects.ts';
import { runCli } from '../support/cli.ts';
import { runCliProcess } from '../support/cli-process.ts';
import { Cluster } from '../support/cluster.ts';
import { useControlPlane } from '../support/control-plane.ts';
import { TestRepository } from '../support/git-repository.ts';
import { INVENTORY_NAMESPACE } from '../support/git-sync.ts';
import { silentServer } from '../support/silent-server.ts';

/** Of each kind: more than are read one by one. */
const COUNT = 24;

const controlPlane = useControlPlane({ nodes: 1 });
let cluster: Cluster;
let git: TestRepository;
let repository: Repository;

beforeAll(async () => {
  const { kubeconfig, workloadApi } = controlPlane();
  cluster = await Cluster.connect(kubeconfig, workloadApi);
  git = await TestRepository.create();
  const namespace = await cluster.createNamespace('plan');
  repository = repositoryFromFlags({ repo: git.path, name: 'plan', namespace });
  const role = { rules: [{ apiGroups: ['*'], resources: ['*'], verbs: ['get', 'create', 'patch'] }] };
  await grant(role, namespace);
  await grant(role, INVENTORY_NAMESPACE);
}, 90_000);

afterAll(async () => {
  cluster?.close();
  await git?.remove();
}, 30_000);

/** Lets one read and try each object, and list none: for whom each is tried. */
async function grant(role: object, namespace: string): Promise<void> {
  const group = 'rbac.authorization.k8s.io';
  const metadata = { name: 'asking' };
  const path = { group, version: 'v1', namespace };
  const apiVersion = `${group}/v1`;
  await cluster.client.create(
    { ...path, resource: 'roles' },
    { apiVersion, kind: 'Role', metadata, ...role },
  );
  await cluster.client.create(
    { ...path, resource: 'rolebindings' },
    {
      apiVersion,
      kind: 'RoleBinding',
      metadata,
      roleRef: { apiGroup: group, kind: 'Role', name: 'asking' },
      subjects: [{ apiGroup: group, kind: 'User', name: 'asking' }],
    },
  );
}

const numbers = Array.from({ length: COUNT }, (_, index) => index);

/** Every way in which an object can be written: defaults, lists by key, lists as a whole, quantities, values that nobody owns. */
function manifests(version: (index: number) => string): string {
  const all = numbers.flatMap((index): readonly object[] => {
    const metadata = { name: `object-${index}`, labels: { app: 'shop' } };
    const container = {
      name: 'main',
      image: `app:${version(index)}`,
      args: ['--quiet', '--color=blue'],
      // What these become has defaults within, or other words: only a dry run tells.
      ...(index < 2 && { env: [{ name: 'POD', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } }] }),
      ...(index >= 2 && index < 4 && { resources: { requests: { cpu: '1000m' } } }),
      ports: [{ containerPort: 80 }],
    };
    const selector = { matchLabels: { app: 'shop' } };
    const template = { metadata: { labels: { app: 'shop' } }, spec: { containers: [container] } };
    return [
      { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { a: version(index), b: 'x' } },
      {
        apiVersion: 'v1',
        kind: 'Secret',
        metadata,
        data: { b: 'eA==' },
        ...(index < 2 && { stringData: { a: 'x' } }),
      },
      {
        apiVersion: 'v1',
        kind: 'Service',
        metadata,
        spec: { selector: { app: 'shop' }, ports: [{ name: 'http', port: 80 }] },
      },
      { apiVersion: 'apps/v1', kind: 'Deployment', metadata, spec: { replicas: 0, selector, template } },
      {
        apiVersion: 'fairlead.dev/v1beta1',
        kind: 'StatefulSet',
        metadata,
        spec: { replicas: 0, serviceName: 'x', selector, template },
      },
    ];
  });
  return all.map((object) => JSON.stringify(object)).join('\n---\n');
}

const GROUPS: Readonly<Record<string, string>> = { deployments: 'apps', statefulsets: 'fairlead.dev' };

function at(resource: string, index: number): ResourcePath {
  const { namespace } = repository;
  const group = GROUPS[resource] ?? '';
  const version = group === 'fairlead.dev' ? 'v1beta1' : 'v1';
  return { group, version, resource, namespace, name: `object-${index}` };
}

/** As `kubectl edit` would. */
async function edit(path: ResourcePath, change: object): Promise<void> {
  await cluster.client.patch(path, 'merge', change, { fieldManager: 'kubectl-edit' });
}

/** As `kubectl get -o yaml`, an editor and `kubectl apply --server-side --field-manager=fairlead` would. */
async function applyAsUs(path: ResourcePath, data: object): Promise<void> {
  const { apiVersion, kind, metadata } = await cluster.client.get(path);
  const { name, labels, annotations } = metadata;
  const body = { apiVersion, kind, metadata: { name, labels, annotations }, data };
  await cluster.client.patch(path, 'apply', body, { force: true });
}

async function contextOf(
  client: KubernetesClient,
  sha: string,
): Promise<{ context: CommitContext; content: CommitContent }> {
  const mirror = openMirror({ ...repository, cacheDirectory: git.path });
  const content = await new CommitReader(() => mirror).read(repository, sha);
  const context: CommitContext = {
    repository,
    sha,
    client,
    worker: client,
    discovery: new Discovery(client),
    store: new InventoryStore(client, INVENTORY_NAMESPACE, repository.name),
    workloadApi: 'fairlead.dev/v1beta1',
    isFollowed: () => true,
    startRollingUpdate: async () => await Promise.reject(new Error('nothing is started')),
    inTurn: async (_object, section) => await section(),
  };
  return { context, content };
}

/** As sync does, without its waits. */
async function apply(sha: string): Promise<void> {
  const { context, content } = await contextOf(cluster.client, sha);
  const { objects } = await prepareCommit(context, content);
  const origin = { repository: repository.name, sha, applySetId: context.store.applySetId };
  for (const object of objects)
    await cluster.client.patch(object.path, 'apply', applyBody(object, origin), { force: true });
}

/** What is planned, and by how many dry runs. */
async function planOf(sha: string, isAsking = false): Promise<{ plan: RepositoryPlan; tries: number }> {
  const { kubeconfig } = controlPlane();
  let tries = 0;
  const client = new KubernetesClient(await loadConnection({}, { kubeconfig }), {
    onRequest: ({ method }) => {
      if (method === 'PATCH') tries += 1;
    },
  });
  try {
    const { content } = await contextOf(client, sha);
    const session = {
      leaseNamespace: INVENTORY_NAMESPACE,
      api: 'fairlead.dev/v1beta1',
      cluster: 'plan',
    } as const;
    const planner = isAsking ? client.impersonating('asking') : client;
    return { plan: await planCommit(planner, session, repository, sha, content), tries };
  } finally {
    client.close();
  }
}

const nameOf = ({ object, action }: RepositoryPlan['changes'][number]) =>
  `${action} ${object.replace(`${repository.namespace}/`, '')}`;

describe('what a plan need not try', () => {
  it('is told from what is listed as dry runs would tell it', async () => {
    const total = COUNT * 5;
    const sha = await git.commit({ 'all.yaml': manifests(() => '1') });
    // Nothing is there: each is tried once.
    const first = await planOf(sha);
    expect(first).toMatchObject({ plan: { problems: [], unchanged: 0 }, tries: total });
    expect(first.plan).toEqual((await planOf(sha, true)).plan);
    await apply(sha);
    const applied = await planOf(sha);
    // Four native Deployments (a custom resource has its words as they were written).
    expect(applied).toMatchObject({ plan: { changes: [], unchanged: total }, tries: 4 });
    expect((await planOf(sha, true)).tries).toBe(total);

    await edit(at('configmaps', 4), { data: { a: 'other' } });
    await edit(at('configmaps', 5), { data: { a: 'other' } });
    await edit(at('configmaps', 5), { data: { a: '1' } });
    await applyAsUs(at('configmaps', 6), { a: 'ours', b: 'x' });
    await applyAsUs(at('configmaps', 7), { a: '1', b: 'x', c: 'ours' });
    await edit(at('configmaps', 8), { data: { c: "another's" } });
    await edit(at('configmaps', 9), { metadata: { labels: { [APPLYSET.partOf]: null, mine: 'yes' } } });
    await edit(at('configmaps', 10), { metadata: { managedFields: [{}] } });
    await edit(at('configmaps', 11), { metadata: { finalizers: ['example.com/kept'] } });
    await cluster.client.delete(at('configmaps', 11));
    await cluster.client.delete(at('configmaps', 12));
    await edit(at('secrets', 4), { data: { b: 'eQ==' } });
    await edit(at('services', 4), { spec: { ports: [{ name: 'http', port: 81 }] } });
    await edit(at('services', 5), {
      spec: {
        ports: [
          { name: 'http', port: 80 },
          { name: 'https', port: 443 },
        ],
      },
    });
    await edit(at('services', 6), { spec: { selector: { tier: 'front' } } });
    for (const resource of ['deployments', 'statefulsets']) {
      await edit(at(resource, 4), { spec: { replicas: 1 } });
      await edit(at(resource, 5), { metadata: { labels: { mine: 'yes' } } });
      const { spec } = await cluster.client.get<KubernetesObject & { spec: { template: PodTemplate } }>(
        at(resource, 6),
      );
      const [container] = spec.template.spec.containers;
      const changed = { ...container, args: ['--loud'], env: [{ name: 'A', value: 'b' }] };
      await edit(at(resource, 6), { spec: { template: { spec: { containers: [changed] } } } });
    }
    const drifted = await planOf(sha);
    expect(drifted.plan).toEqual((await planOf(sha, true)).plan);
    expect(drifted.plan.changes.map(nameOf).toSorted()).toEqual([
      'create ConfigMap object-12',
      'later ConfigMap object-11',
      'leave ConfigMap object-4',
      'leave ConfigMap object-6',
      'leave ConfigMap object-7',
      'leave Deployment.apps object-4',
      'leave Deployment.apps object-6',
      'leave Secret object-4',
      'leave Service object-4',
      'leave Service object-6',
      'leave StatefulSet.fairlead.dev object-4',
      'leave StatefulSet.fairlead.dev object-6',
    ]);
    expect(drifted.tries).toBeLessThan(total / 2);

    const next = await git.commit({ 'all.yaml': manifests((index) => (index < 9 ? '1' : '2')) });
    const changing = await planOf(next);
    expect(changing.plan).toEqual((await planOf(next, true)).plan);
    expect(changing.plan.changes.filter(({ action }) => action === 'change').length).toBeGreaterThan(COUNT);
  }, 120_000);
});

describe('a plan of several repositories', () => {
  let folder: string;
  let other: TestRepository;
  let shared: TestRepository;
  const configMap = `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: planned}\n`;
  const environment = () => ({ KUBECONFIG: controlPlane().kubeconfig, PATH: process.env['PATH'] ?? '' });

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'plan-test-'));
    other = await TestRepository.create();
    await other.commit({ 'a.yaml': configMap });
    shared = await TestRepository.create();
    await shared.commit({ 'x/a.yaml': configMap, 'y/b.yaml': configMap });
    await writeFile(join(folder, 'signers'), 'ada@example.com ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI\n');
  });
  afterAll(async () => {
    await other?.remove();
    await shared?.remove();
    await rm(folder, { recursive: true, force: true });
  });

  async function fileOf(entries: readonly object[]): Promise<string> {
    const file = join(folder, 'repositories.yaml');
    await writeFile(
      file,
      JSON.stringify(entries.map((entry) => ({ namespace: repository.namespace, ...entry }))),
    );
    return file;
  }

  it('is not held up by one that is bad, which is named', async () => {
    const file = await fileOf([
      { name: 'gone', url: join(folder, 'nowhere') },
      { name: 'unsigned', url: other.path, allowedSignersFile: 'signers' },
      { name: 'good', url: other.path },
    ]);
    const { code, out } = await runCli(['plan', '--repositories', file], { environment: environment() });
    expect(code).toBe(1);
    expect(out).toMatch(
      /^gone\n✗ RepositoryNotFound: .*\nit is not planned\nunsigned\n✗ CommitUnsigned: .*\nit is not planned\ngood at /,
    );
    expect(out).toContain('1 to create');
    const json = await runCli(['plan', '--repositories', file, '-o', 'json'], { environment: environment() });
    const { kind, repositories } = JSON.parse(json.out) as {
      kind: string;
      repositories: readonly RepositoryPlan[];
    };
    expect([kind, json.code]).toEqual(['Plan', 1]);
    expect(
      repositories.map((plan) => [plan.repository, plan.sha !== undefined, plan.problems[0]?.code]),
    ).toEqual([
      ['gone', false, 'RepositoryNotFound'],
      ['unsigned', false, 'CommitUnsigned'],
      ['good', true, undefined],
    ]);
    const alone = [
      'plan',
      '--repo',
      other.path,
      '--allowed-signers-file',
      join(folder, 'signers'),
      '-o',
      'json',
    ];
    const { code: exit, out: failure } = await runCli(alone, { environment: environment() });
    expect([exit, JSON.parse(failure)]).toEqual([
      1,
      expect.objectContaining({ kind: 'Failure', code: 'CommitUnsigned' }),
    ]);
  }, 60_000);

  it('is not held up by one that does not answer, which is named when the time is up', async () => {
    await using server = await silentServer();
    const file = await fileOf([
      { name: 'silent', url: server.url },
      { name: 'good', url: other.path },
    ]);
    const words = ['plan', '--repositories', file, '--timeout', '5s', '-o', 'json'];
    const { code, out } = await runCli(words, { environment: environment() });
    const { repositories } = JSON.parse(out) as { repositories: readonly RepositoryPlan[] };
    expect(code).toBe(3);
    expect(
      repositories.map((plan) => [plan.repository, plan.sha !== undefined, plan.problems[0]?.message]),
    ).toEqual([
      ['silent', false, 'it was not read and compared in the time of --timeout'],
      ['good', true, undefined],
    ]);
  }, 60_000);

  it('tells what several would create', async () => {
    const file = await fileOf([
      { name: 'first', url: shared.path, path: 'x' },
      { name: 'second', url: shared.path, path: 'y' },
    ]);
    const words = ['plan', '--repositories', file, '-o', 'json'];
    const { code, out } = await runCli(words, { environment: environment() });
    const { repositories } = JSON.parse(out) as { repositories: readonly RepositoryPlan[] };
    expect(code).toBe(1);
    expect(repositories.map(({ problems, contested }) => [contested, problems])).toEqual(
      ['second', 'first'].map((name) => [
        1,
        [
          expect.objectContaining({
            code: 'OwnedByOther',
            message: expect.stringContaining(name),
            next: expect.stringContaining('.'),
          }),
        ],
      ]),
    );
  }, 60_000);

  it('takes no options that are about one', async () => {
    const file = await fileOf([{ name: 'good', url: other.path }]);
    const words = ['plan', '--repositories', file, '--repo', other.path, '--token-file', 'x'];
    const { code, err } = await runCli(words, { environment: environment() });
    expect({ code, err }).toEqual({ code: 2, err: expect.stringContaining('--repo, --token-file: ') });
  });

  it('of a clone of what is followed is planned as that, and says so', async () => {
    const store = new InventoryStore(cluster.client, INVENTORY_NAMESPACE, 'cloned');
    const source = await sourceIdentity(other.path);
    const { namespace } = repository;
    const entry = { apiVersion: 'v1', kind: 'ConfigMap', namespace, name: 'left', uid: 'u' };
    await store.update((draft) => ({ ...draft, source, entries: new Map([[entryKey(entry), entry]]) }));
    const clone = join(folder, 'clone');
    await other.git('clone', '--quiet', '--depth', '1', `file://${other.path}`, clone);
    const words = ['plan', '--repo', clone, '--name', 'cloned', '-n', namespace];
    expect(await runCli(words, { environment: environment() })).toMatchObject({
      code: 4,
      err: '',
      out: expect.stringContaining(
        `\nnote: planned as if ${await realpath(clone)} were ${source}, where cloned comes from\n`,
      ),
    });
  }, 60_000);

  it('of a folder within a repository says where that begins', async () => {
    const words = ['plan', '--repo', join(shared.path, 'x'), '-n', repository.namespace];
    const { code, err } = await runCli(words, { environment: environment() });
    expect({ code, err }).toEqual({
      code: 1,
      err: `error: RepositoryNotFound: ${shared.path}/x is a folder within the git repository ${shared.path}. Name that, and the folder as \`path\` (x).\n`,
    });
  });

  it('HEAD is what it is without a ref', async () => {
    const words = ['plan', '--repo', other.path, '--ref', 'HEAD', '-n', repository.namespace];
    expect((await runCli(words, { environment: environment() })).code).toBe(4);
  }, 30_000);

  it.each([
    [
      'whoever reads it has seen enough',
      (child: ChildProcess) => child.stdout?.destroy(),
      { code: 141, signal: null },
    ],
    ['a SIGTERM', (child: ChildProcess) => child.kill('SIGTERM'), { code: null, signal: 'SIGTERM' }],
  ] as const)(
    'leaves nothing behind after %s',
    async (_, end, ending) => {
      await using server = await silentServer();
      const scratch = join(folder, 'scratch');
      await mkdir(scratch, { recursive: true });
      const file = await fileOf([
        { name: 'good', url: other.path },
        { name: 'silent', url: server.url },
        { name: 'again', url: other.path },
      ]);
      let begun: Promise<void> | undefined;
      const words = ['plan', '--repositories', file];
      const { code, signal } = await runCliProcess(words, {
        environment: { ...environment(), TMPDIR: scratch },
        begun: (child) => {
          // What it writes after that has no reader; the silent one is given up when its connection goes.
          begun = server.connected.then(async (socket) => {
            expect(await readdir(scratch)).toEqual([expect.stringMatching(/^fairlead-plan-/)]);
            end(child);
            socket.destroy();
          });
        },
      });
      await begun;
      expect({ code, signal }).toEqual(ending);
      expect(await readdir(scratch)).toEqual([]);
    },
    60_000,
  );
});
