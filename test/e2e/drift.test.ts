/** Objects that are changed in the cluster after they were applied: seen, reported by field, put back where git is to win. */

import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import type { RepositoryView } from '../../cli/repository-views.ts';
import { getOrUndefined } from '../../kubernetes/get-or-undefined.ts';
import type { ResourcePath } from '../../kubernetes/client.ts';
import type { JsonObject, KubernetesObject, PodTemplate } from '../../planners/objects.ts';
import { runCli } from '../support/cli.ts';
import { Cluster } from '../support/cluster.ts';
import { useControlPlane } from '../support/control-plane.ts';
import { COMMAND_LOOK_MS, found } from '../support/eventually.ts';
import { itInFull } from '../support/full-suite.ts';
import { TestRepository } from '../support/git-repository.ts';
import { refuseConfigMap } from '../support/refusing-policy.ts';
import { grantInCluster, grantSyncAccount } from '../support/sync-account.ts';
import type { WorkerProcess } from '../support/worker-process.ts';
import { startWorker } from '../support/worker-process.ts';

const run = promisify(execFile);
const PLANTED = 'planted-drift-secret';

let folder: string;
let file: string;
let repository: TestRepository;
let worker: WorkerProcess;
let cluster: Cluster;
let namespace: string;
let entry: object;

// Hooks after all run in this order: the worker ends before the servers.
afterAll(async () => {
  await worker?.stop();
  await repository?.remove();
  await rm(folder, { recursive: true, force: true });
}, 30_000);

const controlPlane = useControlPlane({ nodes: 1 });

const MANIFESTS = {
  'settings.yaml': `apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {color: blue, shape: round}
`,
  'other.yaml': `apiVersion: v1
kind: ConfigMap
metadata: {name: other}
data: {key: "1"}
`,
  'secret.yaml': `apiVersion: v1
kind: Secret
metadata: {name: token}
stringData: {token: ${PLANTED}-git}
`,
  'web.yaml': `apiVersion: fairlead.dev/v1beta1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      terminationGracePeriodSeconds: 1
      containers:
      - {name: main, image: "app:1"}
`,
};

const SERVICES = ['named', 'single']
  .map(
    (name) => `apiVersion: v1
kind: Service
metadata: {name: ${name}}
spec:
  selector: {app: web}
  ports: [${name === 'single' ? '{port: 80}' : '{name: http, port: 80}, {name: metrics, port: 90}'}]
`,
  )
  .join('---\n');
const PORTS = MANIFESTS['web.yaml']
  .replace('{name: web}', '{name: ports}')
  .replaceAll('app: web', 'app: ports')
  .replace('spec:', 'spec:\n  replicas: 0')
  .replace('image: "app:1"', 'image: "app:1", ports: [{name: http, containerPort: 80}]');

beforeAll(async () => {
  const { kubeconfig, workloadApi } = controlPlane();
  cluster = await Cluster.connect(kubeconfig, workloadApi);
  folder = await mkdtemp(join(tmpdir(), 'fairlead-drift-'));
  repository = await TestRepository.create();
  namespace = await cluster.createNamespace('drift');
  const serviceAccount = await grantSyncAccount(cluster.client, namespace);
  file = join(folder, 'repositories.yaml');
  entry = { name: 'shop', url: repository.path, ref: 'main', namespace, serviceAccount, interval: '1s' };
  await setHeal(false);
  const sha = await repository.commit(MANIFESTS, 'begin');
  worker = await startWorker({
    controlPlane: controlPlane(),
    cluster: 'drift',
    environment: { FAIRLEAD_REPOSITORIES: file, XDG_CACHE_HOME: folder },
  });
  await untilShop('synced', ({ state, applied }) => state === 'Synced' && applied === sha, 60_000);
}, 180_000);

async function setHeal(heal: boolean): Promise<void> {
  await writeFile(file, JSON.stringify([{ ...entry, heal }]));
}

async function cli(words: string, environment: Record<string, string> = {}): Promise<string> {
  const { code, out, err } = await runCli(words.split(' '), {
    environment: {
      KUBECONFIG: controlPlane().kubeconfig,
      TEMPORAL_ADDRESS: controlPlane().temporalAddress,
      FAIRLEAD_CLUSTER: 'drift',
      ...environment,
    },
  });
  expect({ code, err }).toEqual({ code: 0, err: '' });
  return out;
}

async function untilShop(
  what: string,
  is: (view: RepositoryView) => boolean,
  deadlineMs = 20_000,
): Promise<RepositoryView> {
  let view: RepositoryView | undefined;
  return await found(
    `shop is ${what}`,
    async () => {
      const { items } = JSON.parse(await cli('get repositories -o json')) as { items: RepositoryView[] };
      [view] = items;
      return view !== undefined && is(view) ? view : undefined;
    },
    deadlineMs,
    () => JSON.stringify(view),
    COMMAND_LOOK_MS,
  );
}

const core = (resource: string, name: string): ResourcePath => ({
  group: '',
  version: 'v1',
  resource,
  namespace,
  name,
});
const web = (): ResourcePath => cluster.path('Deployment', namespace, 'web');

/** As `kubectl edit` would. */
async function edit(path: ResourcePath, change: JsonObject, fieldManager = 'kubectl-edit'): Promise<void> {
  await cluster.client.patch(path, 'merge', change, { fieldManager });
}

/** As `kubectl replace --force` does: another object of that name, of which git has written nothing. */
async function makeAgain(name: string, whenDeleted?: () => Promise<unknown>): Promise<void> {
  await cluster.client.delete(core('configmaps', name));
  await whenDeleted?.();
  await make(name, 'kubectl-replace');
}

async function make(name: string, fieldManager: string): Promise<void> {
  const body = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data: { key: 'mine' } };
  await cluster.client.create({ ...core('configmaps', name), name: undefined }, body, { fieldManager });
}

const configMap = (name: string): string =>
  MANIFESTS['other.yaml'].replace('{name: other}', `{name: ${name}}`);

async function drifted(count: number): Promise<RepositoryView> {
  return await untilShop(`drifted ${count}`, ({ drift }) => (drift?.count ?? 0) === count);
}

async function events(reason: string, about: string): Promise<readonly string[]> {
  return (await cluster.events('fairlead-system'))
    .filter((event) => event.reason === reason && event.message.includes(about))
    .map(({ message }) => message);
}

/** The Events of it, once there is one: it is told right after it is recorded. */
async function corrections(about: string): Promise<readonly string[]> {
  return await found('it is told', async () => {
    const told = await events('DriftCorrected', about);
    return told.length > 0 ? told : undefined;
  });
}

const dataOf = (object: KubernetesObject) =>
  (object as KubernetesObject & { data: Record<string, string> }).data;

async function imageOf(): Promise<string | undefined> {
  const { spec } = await cluster.client.get<KubernetesObject & { spec: { template: TemplateView } }>(web());
  return spec.template.spec.containers[0]?.image;
}

interface TemplateView {
  readonly spec: { readonly containers: readonly { readonly image: string }[] };
}

async function setImage(image: string, fieldManager = 'kubectl-edit'): Promise<void> {
  const spec = { template: { spec: { containers: [{ name: 'main', image }] } } };
  await edit(web(), { spec }, fieldManager);
}

describe('drift that is only reported', () => {
  it('of a ConfigMap: by field and field manager, with one Event, until it is undone by hand', async () => {
    await edit(core('configmaps', 'settings'), { data: { color: 'red' } });
    const view = await drifted(1);
    expect(view).toMatchObject({
      state: 'Drifted',
      message: `one object drifted: ConfigMap ${namespace}/settings: data.color changed by "kubectl-edit"`,
      drift: { objects: [{ change: 'changed', fields: ['data.color'], by: ['kubectl-edit'] }] },
    });
    expect(JSON.stringify(view)).not.toContain('red');
    // The commit is applied, and the cluster is not as it wants it all the same.
    const synced = await cli('sync shop --timeout 60s');
    expect(synced).toContain('is applied');
    expect(synced).toContain(`  note: ${view.message}\n`);
    // A plan says what becomes of it, as far as it can see: by the worker's settings, or by a file that says otherwise.
    const changed = 'would be left alone: it was changed in the cluster after this manifest was applied';
    const plan = `plan --repo ${repository.path} --name shop -n ${namespace}`;
    const owner = '"kubectl-edit" owns .data.color';
    expect(await cli(plan)).toContain(
      `ConfigMap ${namespace}/settings ${changed}; ${owner}, and a change of the manifest is refused as long as both do\n`,
    );
    expect(await cli(plan, { FAIRLEAD_CLUSTER: 'unknown' })).toContain(
      `${owner}, and a change of the manifest is refused as long as both do; a worker with \`heal: true\` puts it back at once\n`,
    );
    const healing = join(folder, 'healing.yaml');
    await writeFile(healing, JSON.stringify([{ ...entry, heal: true }]));
    expect(await cli(`plan --repositories ${healing}`)).toContain(
      `${changed}; ${owner}; with \`heal: true\` it is put back at once\n`,
    );
    // The status of another object changes nothing, and what no manifest names is not looked at.
    await edit(core('configmaps', 'other'), { data: { more: 'x' }, metadata: { labels: { mine: 'yes' } } });
    await edit(core('configmaps', 'settings'), { data: { color: 'blue' } });
    await drifted(0);
    expect(await corrections('settings')).toHaveLength(1);
    expect(await events('DriftDetected', 'settings')).toHaveLength(1);
    expect(await events('DriftDetected', 'other')).toEqual([]);
  });

  it('of what the next commit says as well: it is none then, and the commit after that may change it', async () => {
    await edit(core('configmaps', 'settings'), { data: { color: 'red' } });
    await drifted(1);
    const commit = async (color: string) =>
      await repository.commit({ 'settings.yaml': MANIFESTS['settings.yaml'].replace('blue', color) });
    const agreed = await commit('red');
    await untilShop('applied', ({ state, applied }) => state === 'Synced' && applied === agreed, 60_000);
    const changed = await commit('blue');
    await untilShop('applied', ({ state, applied }) => state === 'Synced' && applied === changed, 60_000);
    expect(dataOf(await cluster.client.get(core('configmaps', 'settings')))).toMatchObject({ color: 'blue' });
    const { commit: last } = await untilShop('synced', ({ state }) => state === 'Synced');
    expect(last?.notes).toEqual([
      `ConfigMap ${namespace}/settings: git has taken back data.color from "kubectl-edit"`,
    ]);
  }, 180_000);

  it('likewise of the size, which kubectl scale owns by another subresource', async () => {
    const sized = (replicas: number) =>
      MANIFESTS['web.yaml'].replace('spec:\n', `spec:\n  replicas: ${String(replicas)}\n`);
    const commit = async (text: string) => {
      const sha = await repository.commit({ 'web.yaml': text });
      await untilShop('applied', ({ state, applied }) => state === 'Synced' && applied === sha, 60_000);
    };
    await commit(sized(1));
    await edit({ ...web(), subresource: 'scale' }, { spec: { replicas: 3 } }, 'kubectl');
    await drifted(1);
    await commit(sized(3));
    await commit(sized(2));
    const { spec } = await cluster.client.get<KubernetesObject & { spec: { replicas: number } }>(web());
    expect(spec.replicas).toBe(2);
    await commit(MANIFESTS['web.yaml']);
  }, 240_000);

  it('of a Deployment, which explain names; of replicas, which no manifest names, it is none', async () => {
    await edit({ ...web(), subresource: 'scale' }, { spec: { replicas: 2 } }, 'horizontal-pod-autoscaler');
    await setImage('app:2');
    const view = await drifted(1);
    expect(view.drift?.objects[0]?.fields).toEqual(['spec.template.spec.containers[main].image']);
    expect(await cli(`explain deployment/web -n ${namespace}`)).toMatch(
      /drift: +Deployment.*containers\[main\]\.image changed by "kubectl-edit", known since/,
    );
    expect(await imageOf()).toBe('app:2');
    await setImage('app:1');
    await drifted(0);
  });

  it('of a Secret: the names of its keys alone', async () => {
    const token = Buffer.from(`${PLANTED}-cluster`).toString('base64');
    await edit(core('secrets', 'token'), { data: { token } });
    const view = await drifted(1);
    expect(view.drift?.objects[0]).toMatchObject({ fields: ['data.token'], by: ['kubectl-edit'] });
    const told = [
      JSON.stringify(view),
      ...(await events('DriftDetected', 'token')),
      ...worker.lines.map((line) => JSON.stringify(line)),
    ].join('\n');
    for (const value of [PLANTED, token, Buffer.from(`${PLANTED}-git`).toString('base64')])
      expect(told).not.toContain(value);
    const token2 = Buffer.from(`${PLANTED}-git`).toString('base64');
    await edit(core('secrets', 'token'), { data: { token: token2 } });
    await drifted(0);
  });

  it('of what was made again by hand, which every commit is refused for until it is git\u2019s again', async () => {
    const sha = await repository.commit({ 'again.yaml': configMap('again') });
    await untilShop('applied', ({ state, applied }) => state === 'Synced' && applied === sha);
    // Seen to be gone first: that it is there again no watch tells.
    await makeAgain('again', async () => {
      await untilShop('deleted', ({ drift }) => drift?.objects[0]?.change === 'deleted');
    });
    const changed = await untilShop('changed', ({ drift }) => drift?.objects[0]?.change === 'changed');
    expect(changed.drift?.objects[0]).toMatchObject({
      object: `ConfigMap ${namespace}/again`,
      by: ['kubectl-replace'],
    });
    expect(changed.drift?.objects[0]?.fields).toContain('data.key');
    const other = await repository.commit({ 'README.md': 'says nothing of it' });
    const refused = await untilShop(
      'refused',
      ({ commit }) => commit?.sha === other && commit.outcome === 'Refused',
    );
    expect(refused.commit?.problems).toEqual([
      expect.stringMatching(
        /^Conflict again\.yaml:4@.* "kubectl-replace" owns \.data\.key\. .* With `heal: true` in the repository's entry git takes back/,
      ),
    ]);
    await cluster.client.delete(core('configmaps', 'again'));
    await cli('sync shop');
    await untilShop('applied', ({ state, applied }) => state === 'Synced' && applied === other);
  }, 60_000);

  it('of a deletion', async () => {
    await cluster.client.delete(core('configmaps', 'other'));
    const view = await drifted(1);
    expect(view.message).toBe(`one object drifted: ConfigMap ${namespace}/other: deleted`);
  });
});

describe('drift that is put back', () => {
  it('as soon as the repository asks for it, by a run of its commit that anybody can see', async () => {
    await setHeal(true);
    const made = await found(
      'it is made again',
      async () => await getOrUndefined(cluster.client, core('configmaps', 'other')),
    );
    expect(dataOf(made)).toEqual({ key: '1' });
    await untilShop('synced', ({ state, drift }) => state === 'Synced' && drift === undefined);
    const history = await cli('history shop');
    expect(history).toContain('fairlead');
    expect(await corrections('other')).toHaveLength(1);
  });

  itInFull(
    'not before a newer commit that was refused for it is tried again: what lasts is changed by a deletion alone',
    async () => {
      const lasting = (key: number) =>
        `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: lasting}\nimmutable: true\ndata: {key: "${String(key)}"}\n`;
      const first = await repository.commit({ 'lasting.yaml': lasting(1) });
      await untilShop('applied', ({ state, applied }) => state === 'Synced' && applied === first, 60_000);
      const second = await repository.commit({ 'lasting.yaml': lasting(2) });
      const refused = await untilShop(
        'refused',
        ({ commit }) => commit?.sha === second && commit.outcome === 'Refused',
      );
      expect(refused.message).toMatch(/or delete it, and `fairlead sync` makes it anew/);
      await cluster.client.delete(core('configmaps', 'lasting'));
      await untilShop('applied', ({ state, applied }) => state === 'Synced' && applied === second, 60_000);
      expect(dataOf(await cluster.client.get(core('configmaps', 'lasting')))).toEqual({ key: '2' });
      // Refused for others too, it makes the object when they are mended; what it is not refused for is put back.
      const third = await repository.commit({
        'lasting.yaml': lasting(3),
        'settings.yaml': `${MANIFESTS['settings.yaml']}sizes: {}\n`,
      });
      await untilShop(
        'refused',
        ({ commit }) => commit?.sha === third && commit.outcome === 'Refused',
        60_000,
      );
      for (const name of ['lasting', 'other']) await cluster.client.delete(core('configmaps', name));
      await found(
        'the other is made again',
        async () => await getOrUndefined(cluster.client, core('configmaps', 'other')),
        60_000,
      );
      const held = await untilShop('the other is well', ({ drift }) => drift?.count === 1, 60_000);
      expect(held.drift?.objects[0]).toMatchObject({
        object: `ConfigMap ${namespace}/lasting`,
        held: `commit ${third.slice(0, 8)}, which was refused for it, makes it anew as soon as it is not refused for others any more`,
      });
      const attempts = await cli('history shop -o json');
      const fourth = await repository.commit({ 'settings.yaml': MANIFESTS['settings.yaml'] });
      await untilShop('applied', ({ state, applied }) => state === 'Synced' && applied === fourth, 60_000);
      expect(dataOf(await cluster.client.get(core('configmaps', 'lasting')))).toEqual({ key: '3' });
      await repository.commit({ 'lasting.yaml': undefined });
      await untilShop('synced', ({ state, drift }) => state === 'Synced' && drift === undefined, 60_000);
      const asked = { askedBy: 'fairlead', reason: expect.stringContaining(': deleted') };
      expect(JSON.parse(attempts)).toMatchObject({
        attempts: expect.arrayContaining([
          expect.objectContaining({ sha: third, outcome: 'Refused', ...asked }),
        ]),
      });
    },
    240_000,
  );

  it('the field alone, and not what no manifest names', async () => {
    await edit(core('configmaps', 'settings'), { data: { color: 'green', mine: 'stays' } });
    const mended = await cluster.until<KubernetesObject>(
      core('configmaps', 'settings'),
      'put back',
      (object) => dataOf(object)['color'] === 'blue',
    );
    expect(dataOf(mended)).toEqual({ color: 'blue', shape: 'round', mine: 'stays' });
    await setImage('app:3');
    await found('the image is put back', async () => ((await imageOf()) === 'app:1' ? true : undefined));
    const { spec } = await cluster.client.get<KubernetesObject & { spec: { replicas: number } }>(web());
    expect(spec.replicas).toBe(2);
    await untilShop('synced', ({ state }) => state === 'Synced');
  });

  it('what was made again by hand, by the run that heals and by the next commit, whatever that one changes', async () => {
    const keyOf = async () => dataOf(await cluster.client.get(core('configmaps', 'again')))['key'];
    await cli('suspend shop');
    await makeAgain('again');
    await untilShop('changed', ({ drift }) => drift?.objects[0]?.change === 'changed');
    await cli('resume shop');
    await untilShop('put back', ({ state, drift }) => state === 'Synced' && drift === undefined);
    expect(await keyOf()).toBe('1');
    await cli('suspend shop');
    await makeAgain('again');
    const sha = await repository.commit({ 'README.md': 'says something else' });
    await untilShop('seen', ({ seen }) => seen === sha);
    await cli('resume shop');
    const view = await untilShop('applied', ({ state, applied }) => state === 'Synced' && applied === sha);
    expect(await keyOf()).toBe('1');
    expect(view.commit?.notes).toEqual([
      `ConfigMap ${namespace}/again: git has taken back data.key from "kubectl-replace"`,
    ]);
  }, 60_000);

  it('not what git has never had, and the refusal does not advise what is done already', async () => {
    await make('stranger', 'kubectl-create');
    const sha = await repository.commit({ 'stranger.yaml': configMap('stranger') });
    const view = await untilShop(
      'refused',
      ({ commit }) => commit?.sha === sha && commit.outcome === 'Refused',
    );
    expect(view.commit?.problems).toEqual([
      expect.stringMatching(
        /"kubectl-create" owns \.data\.key\. .* `heal: true` takes back only what git is known to have applied before\.$/,
      ),
    ]);
    const without = await repository.commit({ 'stranger.yaml': undefined });
    await untilShop('applied', ({ state, applied }) => state === 'Synced' && applied === without);
    expect(dataOf(await cluster.client.get(core('configmaps', 'stranger')))).toEqual({ key: 'mine' });
  }, 60_000);

  it('each by itself: one that the cluster does not take is reported, and holds no other up', async () => {
    const names = ['first', 'refused', 'later'];
    const manifests = names.map((name) => [`${name}.yaml`, configMap(name)] as const);
    // Waves do not make the one depend on the other: it has been there.
    const sha = await repository.commit({
      ...Object.fromEntries(manifests),
      'later.yaml': configMap('later').replace(
        '{name: later}',
        '{name: later, annotations: {fairlead.dev/wave: "1"}}',
      ),
    });
    await untilShop('applied', ({ state, applied }) => state === 'Synced' && applied === sha);
    const allow = await refuseConfigMap(cluster.client, namespace, 'refused');
    await cli('suspend shop');
    for (const name of names) await cluster.client.delete(core('configmaps', name));
    await drifted(3);
    await cli('resume shop');
    const view = await untilShop('put back in part', ({ commit }) => commit?.outcome === 'Failed');
    expect(view).toMatchObject({ applied: sha, commit: { sha, applied: 2 } });
    expect(view.commit?.problems).toEqual([
      expect.stringMatching(/^Invalid refused\.yaml:1@.* no refused for now/),
    ]);
    for (const name of ['first', 'later'])
      expect(dataOf(await cluster.client.get(core('configmaps', name)))).toEqual({ key: '1' });
    await untilShop('drifted', ({ drift }) => drift?.count === 1);
    await allow();
    await untilShop('synced', ({ state, drift }) => state === 'Synced' && drift === undefined, 60_000);
    expect(dataOf(await cluster.client.get(core('configmaps', 'refused')))).toEqual({ key: '1' });
  }, 120_000);

  const portsOf = async (name: string) => {
    const { spec } = await cluster.client.get<
      KubernetesObject & { spec: { ports: readonly { name?: string; port: number }[] } }
    >(core('services', name));
    return spec.ports.map((port) => `${port.name ?? ''}:${port.port}`).join(' ');
  };
  const movePort = async (name: string, ports: readonly JsonObject[]) =>
    await edit(core('services', name), { spec: { ports } }, 'kubectl-patch');

  itInFull('a port under another number, which could not be beside the manifest', async () => {
    const sha = await repository.commit({ 'services.yaml': SERVICES, 'ports.yaml': PORTS });
    await untilShop('applied', ({ state, applied }) => state === 'Synced' && applied === sha);
    expect(await portsOf('named')).toBe('http:80 metrics:90');
    const mine = { name: 'mine', port: 95 };
    await movePort('named', [{ name: 'http', port: 81 }, { name: 'metrics', port: 90 }, mine]);
    await movePort('single', [{ port: 81 }]);
    const ports = cluster.path('Deployment', namespace, 'ports');
    const value = [{ name: 'http', containerPort: 81 }];
    await cluster.client.patch(
      ports,
      'json',
      [{ op: 'replace', path: '/spec/template/spec/containers/0/ports', value }],
      { fieldManager: 'kubectl-patch' },
    );
    await found('all are as the commit wants them', async () => {
      const { spec } = await cluster.client.get<KubernetesObject & { spec: { template: PodTemplate } }>(
        ports,
      );
      const [container] = spec.template.spec.containers;
      const seen = [await portsOf('named'), await portsOf('single'), JSON.stringify(container?.['ports'])];
      return seen.join() ===
        'http:80 metrics:90 mine:95,:80,[{"containerPort":80,"name":"http","protocol":"TCP"}]'
        ? true
        : undefined;
    });
    expect((await events('DriftDetected', 'named'))[0]).toContain(
      'spec.ports[port=81,protocol="TCP"] changed by "kubectl-patch"',
    );
    await untilShop('synced', ({ drift }) => drift === undefined);
  });

  itInFull(
    'more and more seldom where another owner insists, who is named',
    async () => {
      for (const color of ['1', '2', '3', '4']) {
        await edit(core('configmaps', 'settings'), { data: { shape: color } }, 'another-controller');
        if (color !== '4') {
          await cluster.until<KubernetesObject>(
            core('configmaps', 'settings'),
            `put back after ${color}`,
            (object) => dataOf(object)['shape'] === 'round',
            60_000,
          );
        }
      }
      const view = await untilShop('held back', ({ drift }) => drift?.objects[0]?.putBackAt !== undefined);
      expect(view.message).toContain('data.shape changed by "another-controller"');
      await found('the fight is told', async () =>
        (await events('DriftFought', 'another-controller')).length > 0 ? true : undefined,
      );
      // Whoever asks for a look does not wait for its turn.
      expect(await cli('sync shop --timeout 60s')).toContain('is applied');
      await drifted(0);
      expect(dataOf(await cluster.client.get(core('configmaps', 'settings')))['shape']).toBe('round');
    },
    120_000,
  );

  it('not in a workload that is paused, or whose manifest an operator rejected', async () => {
    await cli(`rollout pause deployment/web -n ${namespace} --reason look`);
    await setImage('app:4');
    const view = await drifted(1);
    expect(view.drift?.objects[0]?.held).toContain('it is paused');
    expect(await cli(`plan --repo ${repository.path} --name shop -n ${namespace}`)).toMatch(
      /Deployment\.fairlead\.dev \S+\/web would be left alone: it was changed .* was applied, and stays so: it is paused.*: look; /,
    );
    expect(await imageOf()).toBe('app:4');
    await cli(`rollout resume deployment/web -n ${namespace}`);
    await found(
      'put back after the pause',
      async () => ((await imageOf()) === 'app:1' ? true : undefined),
      90_000,
    );
    await repository.commit({ 'web.yaml': MANIFESTS['web.yaml'].replace('app:1', 'app:5') });
    await found('the commit is applied', async () => ((await imageOf()) === 'app:5' ? true : undefined));
    await untilShop('rolled out', ({ state }) => state === 'Synced');
    const healings = async () =>
      (
        JSON.parse(await cli('history shop -o json')) as {
          attempts: readonly { reason?: string; startedAt?: string }[];
        }
      ).attempts.findLast(({ reason = '' }) => reason.includes(`${namespace}/web:`))?.startedAt;
    const healed = await healings();
    await cli(`rollout undo deployment/web -n ${namespace}`);
    expect(await imageOf()).toBe('app:1');
    const setAside = {
      state: 'Drifted',
      drift: { objects: [{ fields: ['spec.template.spec.containers[main].image'], by: ['fairlead'] }] },
    };
    const undone = await drifted(1);
    expect(undone).toMatchObject(setAside);
    expect(undone.drift?.objects[0]?.held).toMatch(
      /^this manifest was rejected by \S+; git has it again when its manifest changes$/,
    );
    await repository.commit({ 'web.yaml': MANIFESTS['web.yaml'].replace('app:1', 'app:6') });
    await found('the commit is applied', async () => ((await imageOf()) === 'app:6' ? true : undefined));
    await untilShop('rolled out', ({ state }) => state === 'Synced');
    await cli(`set image deployment/web main=app:7 -n ${namespace} --reason look`);
    const byHand = await drifted(1);
    expect(byHand).toMatchObject(setAside);
    expect(byHand.drift?.objects[0]?.held).toMatch(
      /^\S+ has set it aside from git \(set image main=app:7: look\); git has it again when its manifest changes$/,
    );
    await edit(core('configmaps', 'settings'), { data: { color: 'black' } });
    await cluster.until<KubernetesObject>(
      core('configmaps', 'settings'),
      'put back',
      (object) => dataOf(object)['color'] === 'blue',
      60_000,
    );
    const settled = await drifted(1);
    expect(settled.drift?.objects[0]).toEqual(byHand.drift?.objects[0]);
    expect(await imageOf()).toBe('app:7');
    expect(await healings()).toBe(healed);
    const ofWeb = `${namespace}/web:`;
    expect(await events('DriftFought', ofWeb)).toEqual([]);
    expect((await events('DriftDetected', ofWeb)).filter((text) => text.includes('set image'))).toHaveLength(
      1,
    );
    await repository.commit({ 'web.yaml': MANIFESTS['web.yaml'].replace('app:1', 'app:8') });
    await found('git has it again', async () => ((await imageOf()) === 'app:8' ? true : undefined));
    await untilShop('synced', ({ state, drift }) => state === 'Synced' && drift === undefined);
  }, 180_000);

  it('what was changed while the repository was suspended, by the commit that changes the same fields', async () => {
    await cli('suspend shop --reason look');
    await edit(core('configmaps', 'settings'), { data: { color: 'mine', shape: 'mine' } }, 'kubectl-patch');
    const token = Buffer.from(`${PLANTED}-mine`).toString('base64');
    await edit(core('secrets', 'token'), { data: { token } }, 'kubectl-patch');
    await drifted(2);
    const sha = await repository.commit({
      'settings.yaml': MANIFESTS['settings.yaml'].replace('blue', 'violet'),
      'secret.yaml': MANIFESTS['secret.yaml'].replace('-git', '-git-2'),
    });
    await untilShop('seen', ({ seen }) => seen === sha);
    await cli('resume shop');
    const view = await untilShop('applied', ({ state, applied }) => state === 'Synced' && applied === sha);
    expect(dataOf(await cluster.client.get(core('configmaps', 'settings')))).toMatchObject({
      color: 'violet',
      shape: 'round',
    });
    const secret = dataOf(await cluster.client.get(core('secrets', 'token')));
    expect(secret).toEqual({ token: Buffer.from(`${PLANTED}-git-2`).toString('base64') });
    expect(view.commit?.notes).toEqual(
      expect.arrayContaining([
        `Secret ${namespace}/token: git has taken back data.token from "kubectl-patch"`,
        `ConfigMap ${namespace}/settings: git has taken back data.color, data.shape from "kubectl-patch"`,
      ]),
    );
    expect(JSON.stringify(view)).not.toContain(token);
  }, 120_000);

  it('also while a newer commit is refused, which stays what is told of; one that is suspended says why nothing is put back', async () => {
    // One that nobody has fought for yet, and a commit that changes nothing after it.
    await repository.commit({
      'fresh.yaml': MANIFESTS['other.yaml'].replace('{name: other}', '{name: fresh}'),
    });
    const sha = await repository.commit({ 'README.md': 'well' });
    await untilShop('applied', ({ state, applied }) => state === 'Synced' && applied === sha);
    const broken = await repository.commit({ 'broken.yaml': 'a: [' });
    const isRefused = ({ state, commit }: RepositoryView) => state === 'Refused' && commit?.sha === broken;
    await untilShop('refused', isRefused);
    await edit(core('configmaps', 'fresh'), { data: { key: '2' } }, 'kubectl-patch');
    await cluster.until<KubernetesObject>(
      core('configmaps', 'fresh'),
      'put back',
      (object) => dataOf(object)['key'] === '1',
    );
    const view = await untilShop('refused as before', (one) => isRefused(one) && one.drift === undefined);
    expect(view).toMatchObject({ applied: sha, commit: { sha: broken, outcome: 'Refused' } });
    // What was put back is seen before the run that did it is recorded.
    await found('the run is in the history', async () => {
      const { attempts } = JSON.parse(await cli('history shop -o json')) as {
        attempts: readonly { sha: string; outcome: string; askedBy?: string }[];
      };
      const [one, ...more] = attempts.filter(({ sha: of, askedBy }) => of === sha && askedBy === 'fairlead');
      return one?.outcome === 'Succeeded' && more.length === 0 ? true : undefined;
    });
    // A repository that is suspended heals nothing, and says so.
    await cli('suspend shop');
    await edit(core('configmaps', 'other'), { data: { key: '2' } }, 'kubectl-patch');
    const held = await untilShop('held', ({ drift }) => drift?.objects[0]?.held !== undefined);
    expect(held.drift?.objects[0]?.held).toBe('the repository is suspended');
    expect(held.message).toContain('one object drifted');
    await cli('resume shop');
    await untilShop('put back', (one) => isRefused(one) && one.drift === undefined, 30_000);
    const mended = await repository.commit({ 'broken.yaml': undefined });
    await untilShop('applied', ({ state, applied }) => state === 'Synced' && applied === mended);
  }, 120_000);

  itInFull(
    'also when the signature of what was applied would not be taken any more; why it cannot be looked at is told',
    async () => {
      const signers = ['ada', 'eve'].map((name) => join(folder, name));
      for (const key of signers) await run('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', key]);
      const [ada = '', eve = ''] = signers;
      const allow = async (key: string): Promise<void> =>
        await writeFile(join(folder, 'signers'), `one@example.com ${await readFile(`${key}.pub`, 'utf8')}`);
      await allow(ada);
      const sign = ['-c', 'gpg.format=ssh', '-c', `user.signingKey=${ada}`, 'commit', '--gpg-sign'];
      await repository.git(...sign, '--quiet', '--allow-empty', '--message', 'signed');
      const sha = await repository.git('rev-parse', 'HEAD');
      const before = entry;
      entry = { ...before, allowedSignersFile: join(folder, 'signers') };
      await setHeal(true);
      await untilShop('applied', ({ state, applied }) => state === 'Synced' && applied === sha);
      await allow(eve);
      entry = { ...entry, path: 'nowhere' };
      await setHeal(true);
      const blind = await untilShop('not looked at', ({ driftProblem }) => driftProblem !== undefined);
      expect(blind.message).toMatch(/drift cannot be looked at: PathVanished nowhere: /);
      entry = { ...entry, path: '.' };
      await setHeal(true);
      await untilShop('looked at again', ({ driftProblem }) => driftProblem === undefined);
      // By one who has changed nothing before: the pace of those who insist is slow.
      const fresh = core('configmaps', 'fresh');
      await edit(fresh, { data: { key: '3' } }, 'kubectl-replace');
      await cluster.until<KubernetesObject>(fresh, 'put back', (object) => dataOf(object)['key'] === '1');
      entry = before;
      await setHeal(true);
      await untilShop('synced', ({ state, drift }) => state === 'Synced' && drift === undefined);
    },
    120_000,
  );

  itInFull('such a port by the next commit of the object as well', async () => {
    await setHeal(false);
    await movePort('single', [{ port: 82 }]);
    await drifted(1);
    const sha = await repository.commit({ 'services.yaml': SERVICES.replaceAll('app: web', 'app: other') });
    await untilShop('applied', ({ state, applied }) => state === 'Synced' && applied === sha);
    expect(await portsOf('single')).toBe(':80');
  });
});

itInFull(
  'an object whose definition is made again with another plural is put back, and watched, where it is served now',
  async () => {
    const group = 'moved.example.com';
    const definition = (plural: string): JsonObject => ({
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: { name: `${plural}.${group}` },
      spec: {
        group,
        scope: 'Namespaced',
        names: { kind: 'Thing', plural },
        versions: [
          {
            name: 'v1',
            served: true,
            storage: true,
            schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
          },
        ],
      },
    });
    const definitions = {
      group: 'apiextensions.k8s.io',
      version: 'v1',
      resource: 'customresourcedefinitions',
    } as const;
    const thing = (resource: string): ResourcePath => ({
      group,
      version: 'v1',
      resource,
      namespace,
      name: 'it',
    });
    const there = async (resource: string) => await getOrUndefined(cluster.client, thing(resource));
    await grantInCluster(cluster.client, namespace, [`things.${group}`, `items.${group}`]);
    await cluster.client.create(definitions, definition('things'));
    await setHeal(true);
    await repository.commit(
      { 'thing.yaml': `apiVersion: ${group}/v1\nkind: Thing\nmetadata: {name: it}\n` },
      'a thing',
    );
    await found('the thing is made', async () => await there('things'), 60_000);
    await cluster.client.delete({ ...definitions, name: `things.${group}` });
    await found(
      'the definition is gone',
      async () =>
        (await getOrUndefined(cluster.client, { ...definitions, name: `things.${group}` }))
          ? undefined
          : true,
      30_000,
    );
    await cluster.client.create(definitions, definition('items'));
    const made = await found('the thing is put back', async () => await there('items'), 150_000);
    await cluster.client.delete(thing('items'));
    await found(
      'it is put back as soon as it is gone',
      async () => {
        const again = await there('items');
        return again !== undefined && again.metadata.uid !== made.metadata.uid ? again : undefined;
      },
      60_000,
    );
    await untilShop('as git wants it', ({ drift: told }) => (told?.count ?? 0) === 0, 60_000);
  },
  360_000,
);
