/** Commits in, objects out: the workflows and activities of sync against a real apiserver and a real Temporal server. */

import { randomBytes } from 'node:crypto';

import { describe, expect, it } from '@jest/globals';

import { ANNOTATION } from '../../planners/names.ts';
import type { KubernetesObject } from '../../planners/objects.ts';
import type { ResourcePath } from '../../kubernetes/client.ts';
import { isNotFound } from '../../kubernetes/api-error.ts';
import { readManagedFields } from '../../kubernetes/managed-fields.ts';
import type { RepositoryPlan } from '../../cli/plan-changes.ts';
import { planCommit } from '../../cli/plan-changes.ts';
import { CommitReader } from '../../git/commit.ts';
import { openMirror } from '../../git/mirror.ts';
import { problem } from '../../git/problems.ts';
import { repositoryFromFlags } from '../../git/repositories.ts';
import { SourceReporter } from '../../git/source-report.ts';
import { commitWorkflowId, syncWorkflowId } from '../../workflows/sync-messages.ts';
import type { FileChange } from '../support/git-repository.ts';
import { plantedIn, textOf } from '../support/planted.ts';
import { GitSync, INVENTORY_NAMESPACE } from '../support/git-sync.ts';
import { useSyncGround } from '../support/sync-ground.ts';
import type { Followed } from '../support/sync-ground.ts';

const ground = useSyncGround({ cluster: 'git' });
const { controlPlane, cluster, sync } = ground;

interface Committed extends Followed {
  commit(
    files: Readonly<Record<string, FileChange>>,
  ): Promise<Awaited<ReturnType<GitSync['apply']>> & { readonly sha: string }>;
  /** Commits and expects a refusal or a failure; the message is what the Temporal UI shows. */
  bad(files: Readonly<Record<string, FileChange>>): Promise<{
    readonly outcome: string;
    readonly message: string;
    readonly lines: readonly string[];
    readonly sha: string;
  }>;
  get(resource: string, name: string, group?: string): Promise<KubernetesObject | undefined>;
}

async function follow(name: string, flags?: Parameters<typeof ground.follow>[1]): Promise<Committed> {
  const followed = await ground.follow(name, flags);
  const { git, namespace } = followed;
  return {
    ...followed,
    commit: async (files) => {
      const sha = await git.commit(files);
      return { ...(await sync().apply(name, sha)), sha };
    },
    bad: async (files) => {
      const sha = await git.commit(files);
      const { outcome, message = '' } = await sync().apply(name, sha);
      const lines = (await sync().inventory(name))?.status.commit?.problems ?? [];
      return { outcome, message, lines, sha };
    },
    get: async (resource, objectName, group = '') => {
      const path: ResourcePath = { group, version: 'v1', resource, namespace, name: objectName };
      try {
        return await cluster().client.get(path);
      } catch (error) {
        if (isNotFound(error)) return undefined;
        throw error;
      }
    },
  };
}

/** What a commit would change, as `fairlead plan` tells it. */
async function planOf({ git, name, namespace }: Followed, sha: string): Promise<RepositoryPlan> {
  const repository = repositoryFromFlags({ repo: git.path, name, namespace });
  const mirror = openMirror({ ...repository, cacheDirectory: git.path });
  const content = await new CommitReader(() => mirror).read(repository, sha);
  const session = {
    leaseNamespace: INVENTORY_NAMESPACE,
    api: 'fairlead.dev/v1beta1',
    cluster: 'git',
  } as const;
  return await planCommit(cluster().client, session, repository, sha, content);
}

const configMap = (name: string, value: string): string =>
  `apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: ${name}\ndata:\n  key: ${value}\n`;
const service = (name: string): string =>
  `apiVersion: v1\nkind: Service\nmetadata:\n  name: ${name}\nspec:\n  selector: {app: web}\n  ports:\n  - port: 80\n`;

describe('a commit', () => {
  it('is applied, changed, pruned; what did not change is not written', async () => {
    const repository = await follow('basic');
    const first = await repository.commit({
      'a.yaml': configMap('one', 'a'),
      'b/service.yml': service('web'),
      'c.json': JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'two' } }),
    });
    expect(first).toMatchObject({ outcome: 'Succeeded' });
    const one = await repository.get('configmaps', 'one');
    const web = await repository.get('services', 'web');
    expect(one).toMatchObject({
      data: { key: 'a' },
      metadata: { annotations: { 'fairlead.dev/repository': 'basic', 'fairlead.dev/commit': first.sha } },
    });
    expect(await repository.get('configmaps', 'two')).toBeDefined();
    expect((await sync().inventory('basic'))?.entries.size).toBe(3);

    const second = await repository.commit({ 'a.yaml': configMap('one', 'b'), 'c.json': undefined });
    expect(second).toMatchObject({ outcome: 'Succeeded' });
    expect(await repository.get('configmaps', 'one')).toMatchObject({
      data: { key: 'b' },
      metadata: { uid: one?.metadata.uid },
    });
    expect(await repository.get('configmaps', 'two')).toBeUndefined();
    expect((await repository.get('services', 'web'))?.metadata.resourceVersion).toBe(
      web?.metadata.resourceVersion,
    );
    const inventory = await sync().inventory('basic');
    expect([...(inventory?.entries.values() ?? [])].map((entry) => entry.name).sort()).toEqual([
      'one',
      'web',
    ]);
    expect(inventory?.status).toMatchObject({
      commit: { sha: second.sha, outcome: 'Succeeded', pruned: 1 },
      lastSucceeded: { sha: second.sha },
    });
    const events = (await cluster().events(INVENTORY_NAMESPACE)).filter((event) =>
      event.message.includes(second.sha.slice(0, 8)),
    );
    expect(events).toMatchObject([{ reason: 'CommitApplied', type: 'Normal' }]);
  }, 60_000);
});

const statefulSet = (lines: Readonly<Record<string, string>> = {}): string => {
  const { restartPolicy = '', label = 'web', maxUnavailable = '', policy = 'Parallel', unknown = '' } = lines;
  return [
    'apiVersion: fairlead.dev/v1beta1',
    'kind: StatefulSet',
    'metadata:',
    '  name: web',
    'spec:',
    '  replicas: 2',
    `  podManagementPolicy: ${policy}`,
    '  serviceName: web',
    '  selector: {matchLabels: {app: web}}',
    ...(maxUnavailable === ''
      ? []
      : [
          '  updateStrategy:',
          '    type: RollingUpdate',
          '    rollingUpdate:',
          `      maxUnavailable: ${maxUnavailable}`,
        ]),
    '  template:',
    `    metadata: {labels: {app: ${label}}}`,
    '    spec:',
    ...(restartPolicy === '' ? [] : [`      restartPolicy: ${restartPolicy}`]),
    '      containers:',
    '      - name: main',
    '        image: example.com/web:1',
    ...(unknown === '' ? [] : [`        ${unknown}`]),
    '',
  ].join('\n');
};

describe('bad input: one clear error with its place, and nothing half-applied', () => {
  const big = `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: big}\ndata:\n${Array.from({ length: 16 }, (_, n) => `  k${n}: ${'x'.repeat(100_000)}\n`).join('')}`;
  const cases: readonly (readonly [
    what: string,
    files: Readonly<Record<string, FileChange>>,
    expected: RegExp,
  ])[] = [
    ['not YAML', { 'bad.yaml': 'apiVersion: v1\nkind: [\n' }, /^YamlSyntax bad\.yaml:\d@SHA: /],
    [
      'a duplicate key',
      { 'bad.yaml': 'apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: x\n  name: y\n' },
      /^DuplicateKey bad\.yaml:5@SHA: the key "name" appears twice in one mapping\. Remove one/,
    ],
    [
      'an unknown field',
      { 'bad.yaml': `${configMap('x', 'value')}\nspek: 1\n` },
      /^UnknownField bad\.yaml:8@SHA: ConfigMap \S+\/x: .*spek.* Correct the name of the field\.$/,
    ],
    [
      'an unknown field deep in a template',
      { 'bad.yaml': statefulSet({ unknown: 'imagee: y' }) },
      /^UnknownField bad\.yaml:16@SHA: StatefulSet\.fairlead\.dev \S+: .*imagee/,
    ],
    [
      'an object without a name',
      { 'bad.yaml': 'apiVersion: v1\nkind: ConfigMap\nmetadata: {}\n' },
      /^ObjectIncomplete bad\.yaml:1@SHA: ConfigMap: metadata\.name is missing\. Add the missing field\.$/,
    ],
    ['1.6 MB in one object', { 'bad.yaml': big }, /^FileTooLarge bad\.yaml@SHA: the file has \d+ bytes/],
    [
      '1.2 MB in one object that its file does not show',
      {
        'bad.yaml': `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: big}\ndata:\n  a: &a ${'x'.repeat(400_000)}\n  b: *a\n  c: *a\n`,
      },
      /^ObjectTooLarge bad\.yaml:1@SHA: ConfigMap big: the object has more than 1048576 bytes/,
    ],
    [
      'a kind that nobody serves',
      { 'bad.yaml': 'apiVersion: example.com/v1\nkind: Foo\nmetadata: {name: x}\n' },
      /^UnknownKind bad\.yaml:1@SHA: Foo\.example\.com x: the cluster has no API group example\.com\./,
    ],
    [
      'a kind in the wrong version',
      {
        'bad.yaml': 'apiVersion: batch/v1beta1\nkind: CronJob\nmetadata: {name: x}\n',
      },
      /^UnknownKind bad\.yaml:1@SHA: CronJob\.batch x: the cluster has no CronJob in batch\/v1beta1, but in batch\/v1\./,
    ],
    [
      'the same object twice',
      { 'bad.yaml': configMap('x', 'value'), 'worse.yaml': configMap('x', 'other') },
      /^DuplicateObject worse\.yaml:1@SHA: ConfigMap \S+\/x: it is also in bad\.yaml:1\./,
    ],
    [
      'a name of more than 253 characters',
      { 'bad.yaml': configMap('x'.repeat(254), 'value') },
      /^ObjectIncomplete bad\.yaml:1@SHA: ConfigMap: metadata\.name is not a name Kubernetes allows\. Correct it/,
    ],
    [
      'a name that no DNS takes',
      { 'bad.yaml': configMap('Not_Dns', 'value') },
      /^Invalid bad\.yaml:4@SHA: ConfigMap \S+\/Not_Dns: metadata\.name: .*RFC 1123/,
    ],
    [
      'a name that is too long for its kind',
      { 'bad.yaml': service(`a${'x'.repeat(63)}`) },
      /^Invalid bad\.yaml:4@SHA: Service \S+: metadata\.name: .*63 characters/,
    ],
    [
      'a status',
      { 'bad.yaml': `${configMap('x', 'value')}status: {a: 1}\n` },
      /^ForbiddenField bad\.yaml:1@SHA: ConfigMap x: status must not be in a manifest/,
    ],
    [
      'a symbolic link',
      { 'ok.yaml': { link: '/etc/passwd' } },
      /^SymlinkRefused ok\.yaml@SHA: ok\.yaml is a symbolic link\. Replace/,
    ],
    [
      'a namespace that does not exist',
      { 'bad.yaml': configMap('x', 'value').replace('name: x', 'name: x\n  namespace: nowhere') },
      /^NamespaceNotFound bad\.yaml:1@SHA: ConfigMap nowhere\/x: /,
    ],
    [
      'a cluster-scoped object with a namespace',
      { 'bad.yaml': 'apiVersion: v1\nkind: Namespace\nmetadata: {name: x, namespace: other}\n' },
      /^NamespaceMismatch bad\.yaml:1@SHA: /,
    ],
    [
      'a selector that does not match its template',
      { 'bad.yaml': statefulSet({ label: 'other' }) },
      /^Invalid bad\.yaml:\d+@SHA: StatefulSet.*selector/,
    ],
    [
      'a restartPolicy other than Always',
      { 'bad.yaml': statefulSet({ restartPolicy: 'Never' }) },
      /^Invalid bad\.yaml:13@SHA: .*restartPolicy/,
    ],
    [
      'maxUnavailable 0',
      { 'bad.yaml': statefulSet({ maxUnavailable: '0' }) },
      /^Invalid bad\.yaml:13@SHA: .*maxUnavailable/,
    ],
    [
      'maxUnavailable "0%"',
      { 'bad.yaml': statefulSet({ maxUnavailable: '"0%"' }) },
      /^Invalid bad\.yaml:13@SHA: .*maxUnavailable/,
    ],
    [
      'maxUnavailable "5x%"',
      { 'bad.yaml': statefulSet({ maxUnavailable: '"5x%"' }) },
      /^Invalid bad\.yaml:13@SHA: .*maxUnavailable/,
    ],
    [
      'maxUnavailable 2 with OrderedReady',
      { 'bad.yaml': statefulSet({ maxUnavailable: '2', policy: 'OrderedReady' }) },
      /^Invalid bad\.yaml:\d+@SHA: .*maxUnavailable.*podManagementPolicy/s,
    ],
  ];

  it.each(cases)(
    '%s',
    async (_what, files, expected) => {
      const repository = await follow('bad');
      const { outcome, lines, message, sha } = await repository.bad({
        'good.yaml': configMap('good', 'a'),
        ...files,
      });
      expect(outcome).toBe('Refused');
      expect(lines[0]?.replaceAll(sha.slice(0, 8), 'SHA') ?? lines.join('\n')).toMatch(expected);
      expect(message).toContain(`commit ${sha.slice(0, 8)}: refused before its first write, `);
      expect(await repository.get('configmaps', 'good')).toBeUndefined();
      expect(await repository.get('configmaps', 'x')).toBeUndefined();
    },
    60_000,
  );
});

describe('an object with several mistakes', () => {
  /** What the commit's only object is refused for: code, line and message. */
  async function refusals(text: string): Promise<readonly string[]> {
    const repository = await follow('several');
    const { outcome, lines } = await repository.bad({ 'bad.yaml': text });
    expect(outcome).toBe('Refused');
    return lines.map((line) => line.replace(/@\w+: \S+ \S+/, ''));
  }

  it('has each of its unknown fields and wrong types told with its line', async () => {
    const deployment = `apiVersion: apps/v1
kind: Deployment
metadata:
  name: x
  annotations: {"a b": c}
spec:
  foo: 1
  bar: 2
  replicas: many
  minReadySeconds: -3
  selector: {matchLabels: {app: x}}
  template:
    metadata: {labels: {app: x}}
    spec:
      contaners: []
      containers:
      - name: main
        image: example.com/a:1
        imagee: b
        env:
        - name: PORT
          value: 80
`;
    expect(await refusals(deployment)).toEqual([
      expect.stringMatching(/^Invalid bad\.yaml:5 metadata\.annotations: Invalid value: .*name part/),
      'UnknownField bad.yaml:7 unknown field ".spec.foo". Correct the name of the field.',
      'UnknownField bad.yaml:8 unknown field ".spec.bar". Correct the name of the field.',
      expect.stringMatching(/^Invalid bad\.yaml:9 \.spec\.replicas: expected numeric/),
      expect.stringMatching(/^Invalid bad\.yaml:10 spec\.minReadySeconds: Invalid value: -3: must be/),
      'UnknownField bad.yaml:15 unknown field ".spec.template.spec.contaners". Correct the name of the field.',
      expect.stringMatching(/^UnknownField bad\.yaml:19 unknown field ".*\.imagee"\./),
      expect.stringMatching(/^Invalid bad\.yaml:22 .*expected string, got a number\. Quote the value\.$/),
    ]);
  }, 60_000);

  it('has each value told that the apiserver refuses', async () => {
    const metadata = 'metadata:\n  name: Not_Dns\n  annotations:\n    "a b": c\n';
    const text = `apiVersion: v1\nkind: ConfigMap\n${metadata}data:\n  "k k": v\n`;
    expect(await refusals(text)).toEqual([
      expect.stringMatching(/^Invalid bad\.yaml:4 metadata\.name: .*RFC 1123/),
      expect.stringMatching(/^Invalid bad\.yaml:5 metadata\.annotations: /),
      expect.stringMatching(/^Invalid bad\.yaml:8 data\[k k\]: .*a valid config key/),
    ]);
  }, 60_000);

  it('has the names of a Secret told that are wrong, and no value', async () => {
    const secret =
      'apiVersion: v1\nkind: Secret\nmetadata:\n  name: x\n  owner: hunter2\nspec: {a: hunter2}\ndataa:\n  x: hunter2\nstringData:\n  "k k": hunter2\n';
    const lines = await refusals(secret);
    expect(lines).toEqual([
      'UnknownField bad.yaml:5 unknown field ".metadata.owner". Correct the name of the field.',
      'UnknownField bad.yaml:6 unknown field ".spec". Correct the name of the field.',
      'UnknownField bad.yaml:7 unknown field ".dataa". Correct the name of the field.',
    ]);
  }, 60_000);

  it('has the type of a field of a Secret told beside a field that nobody knows, whatever its name', async () => {
    const secret =
      'apiVersion: v1\nkind: Secret\nmetadata: {name: x}\nimmutable: PLANTED\nmy_field: PLANTED\n';
    expect(await refusals(secret)).toEqual([
      'Invalid bad.yaml:4 .immutable: expected boolean, got something else. Correct the field.',
      'UnknownField bad.yaml:5 unknown field ".my_field". Correct the name of the field.',
    ]);
  }, 60_000);

  it('has them told also where its namespace comes with the commit', async () => {
    const name = `several-${randomBytes(4).toString('hex')}`;
    const object = configMap('x', 'value').replace('name: x', `name: x\n  namespace: ${name}`);
    const namespace = `apiVersion: v1\nkind: Namespace\nmetadata: {name: ${name}}\n`;
    expect(await refusals(`${namespace}---\n${object}foo: 1\nbar: 2\n`)).toEqual([
      'UnknownField bad.yaml:12 unknown field ".foo". Correct the name of the field.',
      'UnknownField bad.yaml:13 unknown field ".bar". Correct the name of the field.',
    ]);
  }, 60_000);
});

describe('a commit of many objects that changes nothing', () => {
  /** Reads of single ConfigMaps that the apiserver has answered. */
  async function reads(): Promise<number> {
    const response = await fetchMetrics();
    const line =
      /^apiserver_request_total\{code="200",[^}]*resource="configmaps",scope="resource",[^}]*verb="GET",[^}]*\} (\d+)$/gm;
    return [...response.matchAll(line)].reduce((sum, [, count]) => sum + Number(count), 0);
  }
  const fetchMetrics = async () =>
    await cluster().client.request<string>({ method: 'GET', path: '/metrics' });

  it('asks for them by lists; what is missing is made again, and what is left to somebody else is not missed', async () => {
    const repository = await follow('many');
    const files = Object.fromEntries(
      Array.from({ length: 60 }, (_, index) => [`${index}.yaml`, configMap(`many-${index}`, 'a')]),
    );
    expect(await repository.commit(files)).toMatchObject({ outcome: 'Succeeded' });
    const before = await reads();
    expect(await repository.commit({ 'README.md': 'x' })).toMatchObject({ outcome: 'Succeeded' });
    expect((await sync().inventory('many'))?.status.commit).toMatchObject({ applied: 0, unchanged: 60 });
    expect((await reads()) - before).toBeLessThan(40);
    // One by one they would have been counted.
    const counted = await reads();
    for (let index = 0; index < 40; index += 1) await repository.get('configmaps', `many-${index}`);
    expect((await reads()) - counted).toBeGreaterThanOrEqual(40);

    const path = { group: '', version: 'v1', resource: 'configmaps', namespace: repository.namespace };
    await cluster().client.delete({ ...path, name: 'many-7' });
    await cluster().client.patch({ ...path, name: 'many-8' }, 'merge', {
      metadata: { labels: { 'applyset.kubernetes.io/part-of': null } },
    });
    await cluster().annotate({ ...path, name: 'many-9' }, { 'fairlead.dev/repository': 'another' });
    const { outcome, lines } = await repository.bad({ 'README.md': 'y' });
    expect(outcome).toBe('Refused');
    expect(lines).toEqual([expect.stringMatching(/^OwnedByOther 9\.yaml:1@/)]);
    await cluster().annotate({ ...path, name: 'many-9' }, { 'fairlead.dev/repository': 'many' });
    expect(await repository.commit({ 'README.md': 'z' })).toMatchObject({ outcome: 'Succeeded' });
    expect(await repository.get('configmaps', 'many-7')).toBeDefined();
    expect((await sync().inventory('many'))?.status.commit).toMatchObject({ applied: 1, unchanged: 59 });
  }, 60_000);
});

describe('the same object, once with its namespace and once without', () => {
  it('is one object twice', async () => {
    const repository = await follow('double');
    const { outcome, lines } = await repository.bad({
      'a.yaml': configMap('x', 'value'),
      'b.yaml': configMap('x', 'other').replace('name: x', `name: x\n  namespace: ${repository.namespace}`),
    });
    expect(outcome).toBe('Refused');
    expect(lines[0]).toMatch(
      /^DuplicateObject b\.yaml:1@\w+: ConfigMap double-\w+\/x: it is also in a\.yaml:1\./,
    );
    expect(await repository.get('configmaps', 'x')).toBeUndefined();
  });
});

describe('a commit of more than Temporal takes in one payload', () => {
  /** Bytes of everything that Temporal keeps of a run, and the run as text. */
  async function exported(workflowId: string): Promise<{ readonly bytes: number; readonly text: string }> {
    const handle = sync().temporal.workflow.getHandle(workflowId);
    const text = textOf(await handle.fetchHistory());
    return { bytes: (await handle.describe()).historySize ?? Infinity, text };
  }
  const COUNT = 30;
  // No two lines of them are the same: nothing could be made small by compressing.
  const noise = Array.from({ length: COUNT }, () => randomBytes(60_000).toString('hex'));
  const files = Object.fromEntries(
    noise.map((text, index) => [`${index}.yaml`, configMap(`large-${index}`, `"${text}"`)]),
  );

  it('is applied; histories hold references, whatever the size', async () => {
    const repository = await follow('large');
    const first = await repository.commit(files);
    expect(first).toMatchObject({ outcome: 'Succeeded' });
    const last = await cluster().client.get<KubernetesObject & { data: Record<string, string> }>({
      group: '',
      version: 'v1',
      resource: 'configmaps',
      namespace: repository.namespace,
      name: `large-${COUNT - 1}`,
    });
    expect(last.data).toEqual({ key: noise.at(-1) });
    const second = await repository.commit({ 'extra.yaml': configMap('small', 'a') });
    expect(second).toMatchObject({ outcome: 'Succeeded' });
    const commit = await exported(commitWorkflowId('git', 'large', first.sha));
    const small = await exported(commitWorkflowId('git', 'large', second.sha));
    const whole = await exported(syncWorkflowId('git', 'large'));
    // 3.6 MB of manifests: what is kept of them is as large as what is kept of one small object.
    expect(commit.bytes).toBeLessThan(small.bytes + 4_096);
    for (const { bytes, text } of [commit, small, whole]) {
      expect(bytes).toBeLessThan(64 * 1024);
      expect(text.length).toBeLessThan(256 * 1024);
      expect(text).toContain('"clusterUid"');
      const pieces = noise.map((value) => value.slice(1_000, 1_040));
      expect(plantedIn(text, pieces)).toEqual([]);
    }
  }, 60_000);

  it('is refused in a bounded report, however much is wrong with it', async () => {
    const repository = await follow('wrong');
    const { outcome, lines, sha } = await repository.bad({
      ...files,
      ...Object.fromEntries(
        Array.from({ length: 300 }, (_, index) => [
          `wrong-${index}.yaml`,
          `${configMap(`wrong-${index}`, 'a')}${'unknown'.repeat(100)}: ${index}\n`,
        ]),
      ),
    });
    expect(outcome).toBe('Refused');
    expect(lines).toHaveLength(20);
    expect((await sync().inventory('wrong'))?.status.commit?.problemCount).toBe(300);
    for (const id of [commitWorkflowId('git', 'wrong', sha), syncWorkflowId('git', 'wrong')])
      expect((await exported(id)).bytes).toBeLessThan(128 * 1024);
    expect(await repository.get('configmaps', 'large-0')).toBeUndefined();
  }, 90_000);
});

describe('a source that cannot be read', () => {
  it('a path that vanished: named, and nothing is pruned', async () => {
    const repository = await follow('vanished', { path: 'deploy' });
    expect(await repository.commit({ 'deploy/a.yaml': configMap('one', 'a') })).toMatchObject({
      outcome: 'Succeeded',
    });
    const gone = await repository.bad({
      'deploy/a.yaml': undefined,
      'elsewhere/a.yaml': configMap('one', 'a'),
    });
    expect(gone.outcome).toBe('Refused');
    expect(gone.lines).toEqual([
      `PathVanished deploy@${gone.sha.slice(0, 8)}: the path deploy does not exist in commit ${gone.sha.slice(0, 8)}. Nothing was pruned. Restore the path, or set \`path\` to where the manifests are now.`,
    ]);
    expect(await repository.get('configmaps', 'one')).toBeDefined();
    const emptied = await repository.bad({ 'deploy/README.md': 'nothing here' });
    expect(emptied.lines[0]).toMatch(
      /^NoManifests commit .*: deploy holds no manifests in this commit\. Nothing was pruned\./,
    );
    expect(await repository.get('configmaps', 'one')).toBeDefined();
  }, 60_000);

  it('a symbolic link in the middle of the path', async () => {
    const repository = await follow('linked', { path: 'a/b' });
    const { lines, sha } = await repository.bad({
      'real/b/x.yaml': configMap('one', 'a'),
      a: { link: 'real' },
    });
    expect(lines[0]).toMatch(new RegExp(`^SymlinkRefused a@${sha.slice(0, 8)}: a is a symbolic link\\.`));
  }, 60_000);
});

describe('who may do what', () => {
  async function grant(
    namespace: string,
    verbs: readonly string[],
    {
      apiGroups,
      resources,
    }: { readonly apiGroups: readonly string[]; readonly resources: readonly string[] } = {
      apiGroups: [''],
      resources: ['configmaps'],
    },
  ): Promise<void> {
    const metadata = { name: 'deployer', namespace };
    const rbac = { group: 'rbac.authorization.k8s.io', version: 'v1', namespace };
    await cluster().client.create(
      { group: '', version: 'v1', resource: 'serviceaccounts', namespace },
      { apiVersion: 'v1', kind: 'ServiceAccount', metadata },
    );
    await cluster().client.create(
      { ...rbac, resource: 'roles' },
      {
        apiVersion: 'rbac.authorization.k8s.io/v1',
        kind: 'Role',
        metadata,
        rules: [{ apiGroups, resources, verbs }],
      },
    );
    await cluster().client.create(
      { ...rbac, resource: 'rolebindings' },
      {
        apiVersion: 'rbac.authorization.k8s.io/v1',
        kind: 'RoleBinding',
        metadata,
        roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'deployer' },
        subjects: [{ kind: 'ServiceAccount', name: 'deployer', namespace }],
      },
    );
  }

  it('acts as the ServiceAccount of the repository, and says all that it may not do before its first write', async () => {
    const repository = await follow('tenant', { serviceAccount: 'deployer' });
    await grant(repository.namespace, ['get', 'create', 'patch']);
    const refused = await repository.bad({ 'a.yaml': configMap('one', 'a'), 'b.yaml': service('web') });
    expect(refused.outcome).toBe('Refused');
    expect(refused.lines).toHaveLength(1);
    expect(refused.lines[0]).toMatch(
      /^Forbidden b\.yaml:1@\w+: Service \S+\/web: .*system:serviceaccount:tenant-\w+:deployer" cannot (?:get|patch) resource "services"/,
    );
    expect(await repository.get('configmaps', 'one')).toBeUndefined();
    expect(await repository.commit({ 'b.yaml': configMap('two', 'b') })).toMatchObject({
      outcome: 'Succeeded',
    });
    const pruning = await repository.bad({ 'b.yaml': undefined });
    expect(pruning.lines[0]).toMatch(
      /^Forbidden commit \w+: ConfigMap tenant-\w+\/two: the commit no longer holds \S+, but \S+ may not delete configmaps\. Grant/,
    );
    expect(await repository.get('configmaps', 'two')).toBeDefined();
  }, 60_000);

  it('may write nothing outside its namespaces, nor give itself more than it has', async () => {
    const repository = await follow('bounded', { serviceAccount: 'deployer' });
    await grant(repository.namespace, ['get', 'create', 'patch'], {
      apiGroups: ['', 'rbac.authorization.k8s.io'],
      resources: ['configmaps', 'rolebindings'],
    });
    const rbac = 'apiVersion: rbac.authorization.k8s.io/v1';
    const admin = 'roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}';
    const me = `subjects: [{kind: ServiceAccount, name: deployer, namespace: ${repository.namespace}}]`;
    const { outcome, lines } = await repository.bad({
      'a.yaml': configMap('one', 'a'),
      'b.yaml': `${rbac}\nkind: ClusterRole\nmetadata: {name: mine-${repository.namespace}}\nrules: []\n`,
      'c.yaml': `${rbac}\nkind: ClusterRoleBinding\nmetadata: {name: mine-${repository.namespace}}\n${admin}\n${me}\n`,
      'd.yaml': `apiVersion: v1\nkind: Namespace\nmetadata: {name: more-${repository.namespace}}\n`,
      'e.yaml': configMap('two', 'b').replace('name: two', 'name: two\n  namespace: kube-system'),
      'f.yaml': `${rbac}\nkind: RoleBinding\nmetadata: {name: more}\n${admin}\n${me}\n`,
    });
    expect(outcome).toBe('Refused');
    const forbidden = (file: string, object: string) =>
      expect.stringMatching(
        new RegExp(
          `^Forbidden ${file}\\.yaml:1@\\w+: ${object}: .*system:serviceaccount:bounded-\\w+:deployer`,
        ),
      );
    expect(lines).toEqual([
      forbidden('b', 'ClusterRole\\.\\S+ mine-\\S+'),
      forbidden('c', 'ClusterRoleBinding\\.\\S+ mine-\\S+'),
      forbidden('d', 'Namespace more-\\S+'),
      forbidden('e', 'ConfigMap kube-system/two'),
      forbidden('f', 'RoleBinding\\.\\S+ bounded-\\w+/more'),
    ]);
    expect(await repository.get('configmaps', 'one')).toBeUndefined();
  }, 60_000);

  it('an account without rights in the other workload API may create workloads of apps/v1', async () => {
    const repository = await follow('plain', { serviceAccount: 'deployer' });
    await grant(repository.namespace, ['get', 'list', 'watch', 'create', 'patch'], {
      apiGroups: ['apps'],
      resources: ['deployments', 'daemonsets', 'statefulsets'],
    });
    const workload = (kind: string, name: string, more = ''): string =>
      `apiVersion: apps/v1\nkind: ${kind}\nmetadata: {name: ${name}}\nspec:\n  selector: {matchLabels: {app: ${name}}}\n${more}` +
      `  template:\n    metadata: {labels: {app: ${name}}}\n    spec: {containers: [{name: main, image: "example.com/web:1"}]}\n`;
    const headless = '  serviceName: web\n';
    // Two kinds that fairlead.dev does not serve, one that it serves and the account may not read.
    expect(
      await repository.commit({
        'a.yaml': workload('DaemonSet', 'every'),
        'b.yaml': workload('Deployment', 'web'),
        'c.yaml': workload('StatefulSet', 'db', headless),
      }),
    ).toMatchObject({ outcome: 'Succeeded' });

    const kind = { group: 'fairlead.dev', version: 'v1beta1', resource: 'statefulsets' };
    await cluster().client.create(
      { ...kind, namespace: repository.namespace },
      {
        apiVersion: 'fairlead.dev/v1beta1',
        kind: 'StatefulSet',
        metadata: { name: 'taken' },
        spec: {
          replicas: 0,
          serviceName: 'web',
          selector: { matchLabels: { app: 'taken' } },
          template: {
            metadata: { labels: { app: 'taken' } },
            spec: { containers: [{ name: 'main', image: 'example.com/web:1' }] },
          },
        },
      },
    );
    const { outcome, lines } = await repository.bad({ 'd.yaml': workload('StatefulSet', 'taken', headless) });
    expect(outcome).toBe('Refused');
    expect(lines).toEqual([
      expect.stringMatching(
        /^Forbidden d\.yaml:1@\w+: StatefulSet\.apps \S+\/taken: the same workload exists as statefulsets\.fairlead\.dev, which system:serviceaccount:\S+:deployer may not read; .* grant get and delete of statefulsets\.fairlead\.dev; else delete that one\.$/,
      ),
    ]);
  }, 60_000);

  it('two repositories that claim one object: the second is told whose it is', async () => {
    const first = await follow('claim-a');
    const second = await follow('claim-b');
    const manifest = configMap('mine', 'a').replace(
      'name: mine',
      `name: mine\n  namespace: ${first.namespace}`,
    );
    expect(await first.commit({ 'a.yaml': manifest })).toMatchObject({ outcome: 'Succeeded' });
    const { lines } = await second.bad({ 'a.yaml': manifest });
    expect(lines[0]).toMatch(
      /^OwnedByOther a\.yaml:1@\w+: ConfigMap \S+\/mine: repository claim-a applies this object too\./,
    );
  }, 60_000);

  it('what workers of another FAIRLEAD_CLUSTER apply is not taken over under a new name', async () => {
    const first = await follow('theirs');
    const { sha } = await first.commit({ 'a.yaml': configMap('mine', 'a') });
    const others = await GitSync.start({
      client: cluster().client,
      temporalAddress: controlPlane().temporalAddress,
      cluster: 'elsewhere',
    });
    try {
      const { namespace, git } = first;
      others.follow(repositoryFromFlags({ repo: git.path, name: 'ours', namespace }));
      expect(await others.apply('ours', sha)).toMatchObject({ outcome: 'Refused' });
      expect((await others.inventory('ours'))?.status.commit?.problems).toEqual([
        expect.stringMatching(
          /^OwnedByOther a\.yaml:1@\w+: ConfigMap \S+\/mine: repository theirs of the workers with FAIRLEAD_CLUSTER=git has applied this object\. .* kubectl delete configmap fairlead-theirs -n fairlead-system$/,
        ),
      ]);
    } finally {
      await others.stop();
    }
  }, 60_000);

  it('two repositories that bring the same new objects at one time: each object is of one of them, and only who has all succeeds', async () => {
    const both = [await follow('race-a'), await follow('race-b')] as const;
    const [{ namespace }] = both;
    const names = Array.from({ length: 20 }, (_, index) => `raced-${index}`);
    const files = Object.fromEntries(
      names.map((one) => [
        `${one}.yaml`,
        configMap(one, 'same').replace(`name: ${one}`, `name: ${one}\n  namespace: ${namespace}`),
      ]),
    );
    const ends = await Promise.all(both.map(async (one) => await one.commit(files)));
    const owners = await Promise.all(
      names.map(async (one) => {
        const live = await both[0].get('configmaps', one);
        return live?.metadata.annotations?.[ANNOTATION.repository];
      }),
    );
    for (const [index, { name }] of both.entries()) {
      const commit = (await sync().inventory(name))?.status.commit;
      const own = owners.filter((owner) => owner === name).length;
      // One that was taken over would have been made by both.
      expect([name, commit?.applied ?? 0]).toEqual([name, own]);
      expect([name, ends[index]?.outcome === 'Succeeded']).toEqual([name, own === names.length]);
    }
  }, 60_000);

  it('an object that was detached is nobody\u2019s: the commit tells, and another repository may have it', async () => {
    const first = await follow('detach-a');
    const second = await follow('detach-b');
    const manifest = configMap('mine', 'a').replace(
      'name: mine',
      `name: mine\n  namespace: ${first.namespace}\n  annotations: {client.lifecycle.config.k8s.io/deletion: detach, note: stays}`,
    );
    await first.commit({ 'a.yaml': manifest, 'b.yaml': configMap('two', 'b') });
    const before = await first.get('configmaps', 'mine');
    const { changes } = await planOf(first, await first.git.commit({ 'a.yaml': undefined }));
    expect(changes).toEqual([
      {
        object: `ConfigMap ${first.namespace}/mine`,
        action: 'detach',
        why: 'its annotation client.lifecycle.config.k8s.io/deletion says so',
        differences: [],
      },
    ]);
    expect(await first.commit({ 'README.md': 'x' })).toMatchObject({ outcome: 'Succeeded' });
    const inventory = await sync().inventory('detach-a');
    expect(inventory?.entries.size).toBe(1);
    expect(inventory?.status.commit?.notes).toEqual([
      `ConfigMap ${first.namespace}/mine was detached, not deleted: its annotation client.lifecycle.config.k8s.io/deletion says so`,
    ]);
    const released = await first.get('configmaps', 'mine');
    expect(released?.metadata).toMatchObject({
      uid: before?.metadata.uid,
      annotations: { 'client.lifecycle.config.k8s.io/deletion': 'detach', note: 'stays' },
    });
    expect(JSON.stringify([released?.metadata.labels, released?.metadata.annotations])).not.toMatch(
      /fairlead|applyset/,
    );
    expect(await second.commit({ 'a.yaml': manifest.replace('key: a', 'key: b') })).toMatchObject({
      outcome: 'Succeeded',
    });
    expect(await first.get('configmaps', 'mine')).toMatchObject({
      data: { key: 'b' },
      metadata: { uid: before?.metadata.uid, annotations: { 'fairlead.dev/repository': 'detach-b' } },
    });
  }, 60_000);

  it('an object that is there twice is planned once, and wrong', async () => {
    const repository = await follow('twice');
    const sha = await repository.git.commit({
      'a.yaml': configMap('one', 'a'),
      'b.yaml': configMap('one', 'b'),
    });
    const { changes, problems } = await planOf(repository, sha);
    expect(changes).toHaveLength(1);
    expect(problems).toMatchObject([{ code: 'DuplicateObject' }]);
  }, 60_000);

  it('a namespace that is on its way out: what to do is to wait', async () => {
    const repository = await follow('leaving');
    const namespaces = { group: '', version: 'v1', resource: 'namespaces' };
    const leaving = `${repository.namespace}-2`;
    await cluster().client.create(namespaces, {
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name: leaving },
      spec: { finalizers: ['kubernetes', 'example.com/held'] },
    });
    await cluster().client.delete({ ...namespaces, name: leaving });
    const { lines } = await repository.bad({
      'a.yaml': configMap('one', 'a').replace('name: one', `name: one\n  namespace: ${leaving}`),
      'b.yaml': `apiVersion: v1\nkind: Secret\nmetadata: {name: s, namespace: ${leaving}}\n`,
    });
    expect(lines).toHaveLength(2);
    for (const line of lines)
      expect(line).toMatch(
        /^Forbidden .* Wait until the namespace is gone, then make it again \(`kubectl describe/,
      );
    await cluster().client.replace(
      { ...namespaces, name: leaving, subresource: 'finalize' },
      {
        ...(await cluster().client.get({ ...namespaces, name: leaving })),
        spec: { finalizers: [] },
      },
    );
  }, 60_000);

  it('a mark that nobody\u2019s inventory confirms is no claim', async () => {
    const first = await follow('marked-a');
    const second = await follow('marked-b');
    const manifest = configMap('mine', 'a').replace(
      'name: mine',
      `name: mine\n  namespace: ${first.namespace}`,
    );
    await first.commit({ 'a.yaml': manifest, 'b.yaml': configMap('two', 'b') });
    const mine = await first.get('configmaps', 'mine');
    await first.commit({ 'a.yaml': undefined });
    const { name, namespace, labels, annotations } = mine?.metadata ?? {};
    const path = {
      group: '',
      version: 'v1',
      resource: 'configmaps',
      namespace: first.namespace,
      name: 'mine',
    };
    // As earlier versions left an object that was detached.
    const copy = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace, labels, annotations } };
    await cluster().client.patch(path, 'apply', copy);
    expect(await second.commit({ 'a.yaml': manifest })).toMatchObject({ outcome: 'Succeeded' });
  }, 60_000);

  it('a repository under another name goes on with what it had, once nobody follows the old name', async () => {
    const old = await follow('renamed-old');
    await old.commit({ 'a.yaml': configMap('one', 'a'), 'b.yaml': configMap('two', 'b') });
    const before = await old.get('configmaps', 'one');
    const flags = { repo: old.git.path, name: 'renamed-new', namespace: old.namespace };
    sync().follow(repositoryFromFlags(flags));
    const sha = await old.git.commit({ 'b.yaml': undefined });
    // Both are followed.
    const refused = await sync().apply('renamed-new', sha);
    expect(refused.message).toMatch(/ConfigMap \S+\/one: repository renamed-old applies this object too\./);
    sync().unfollow('renamed-old');
    const next = await old.git.commit({ 'a.yaml': configMap('one', 'c') });
    expect(await sync().apply('renamed-new', next)).toMatchObject({ outcome: 'Succeeded' });
    expect(await old.get('configmaps', 'one')).toMatchObject({
      data: { key: 'c' },
      metadata: { uid: before?.metadata.uid, annotations: { 'fairlead.dev/repository': 'renamed-new' } },
    });
    expect((await sync().inventory('renamed-new'))?.entries.size).toBe(1);
  }, 60_000);

  it('what another repository has left behind is handed over by a command that the refusal names', async () => {
    const old = await follow('left-old');
    const heir = await follow('left-heir');
    const manifest = configMap('mine', 'a').replace(
      'name: mine',
      `name: mine\n  namespace: ${old.namespace}`,
    );
    await old.commit({ 'a.yaml': manifest });
    sync().unfollow('left-old');
    const { lines } = await heir.bad({ 'a.yaml': manifest });
    expect(lines[0]).toContain(
      `: repository left-old applied this object from ${old.git.path}, and is not followed any more. To let left-heir have what left-old had: kubectl annotate configmap fairlead-left-old -n ${INVENTORY_NAMESPACE} --overwrite fairlead.dev/source=${heir.git.path} (`,
    );
    const place = { group: '', version: 'v1', resource: 'configmaps', namespace: INVENTORY_NAMESPACE };
    await cluster().annotate(
      { ...place, name: 'fairlead-left-old' },
      { 'fairlead.dev/source': heir.git.path },
    );
    expect(await heir.commit({ 'README.md': 'x' })).toMatchObject({ outcome: 'Succeeded' });
  }, 60_000);

  it('another field manager is named, and its fields are left', async () => {
    const repository = await follow('conflict');
    expect(await repository.commit({ 'a.yaml': configMap('one', 'a') })).toMatchObject({
      outcome: 'Succeeded',
    });
    const path = {
      group: '',
      version: 'v1',
      resource: 'configmaps',
      namespace: repository.namespace,
      name: 'one',
    };
    await cluster().client.patch(
      path,
      'merge',
      { data: { key: 'theirs' } },
      { fieldManager: 'kubectl-edit' },
    );
    expect(await repository.commit({ 'b.yaml': configMap('two', 'b') })).toMatchObject({
      outcome: 'Succeeded',
    });
    const { lines } = await repository.bad({ 'a.yaml': configMap('one', 'c') });
    expect(lines[0]).toMatch(
      /^Conflict a\.yaml:1@\w+: ConfigMap \S+\/one: "kubectl-edit" owns \.data\.key\. Remove the field/,
    );
    expect(await repository.get('configmaps', 'one')).toMatchObject({ data: { key: 'theirs' } });
  }, 60_000);

  it('what another took from git is taken back with `heal`, by the commit that changes it; what git never had is not', async () => {
    const repository = await follow('healing', { heal: true });
    const more = (lines: string, value = 'a') => configMap('one', `${value}\n${lines}`);
    const first = await repository.commit({ 'a.yaml': more('  dotted.key: a\n') });
    expect(first).toMatchObject({ outcome: 'Succeeded' });
    const path = { group: '', version: 'v1', resource: 'configmaps', namespace: repository.namespace };
    const edit = async (data: object) =>
      await cluster().client.patch(
        { ...path, name: 'one' },
        'merge',
        { data },
        { fieldManager: 'kubectl-edit' },
      );
    await edit({ key: 'theirs', 'dotted.key': 'theirs', other: 'theirs' });
    const second = await repository.commit({ 'a.yaml': more('  dotted.key: b\n', 'b') });
    expect(second).toMatchObject({ outcome: 'Succeeded' });
    expect(await repository.get('configmaps', 'one')).toMatchObject({
      data: { key: 'b', 'dotted.key': 'b', other: 'theirs' },
    });
    const notes = (await sync().inventory('healing'))?.status.commit?.notes;
    expect(notes).toEqual([
      `ConfigMap ${repository.namespace}/one: git has taken back data.dotted.key, data.key from "kubectl-edit"`,
    ]);
    const events = await cluster().events(INVENTORY_NAMESPACE);
    expect(events.find(({ message }) => message.includes(second.sha.slice(0, 8)))?.message).toContain(
      notes?.[0],
    );
    // Changed to what it was: it is no drift any more, and still not git's.
    await edit({ key: 'theirs' });
    await edit({ key: 'b' });
    expect(await repository.commit({ 'a.yaml': configMap('one', 'c') })).toMatchObject({
      outcome: 'Succeeded',
    });
    expect(await repository.get('configmaps', 'one')).toMatchObject({ data: { key: 'c' } });
    await edit({ key: 'theirs' });
    const { outcome, lines } = await repository.bad({ 'a.yaml': more('  other: ours\n', 'd') });
    expect({ outcome, lines }).toEqual({
      outcome: 'Refused',
      lines: [
        expect.stringMatching(/^Conflict a\.yaml:1@\w+: .*"kubectl-edit" owns \.data\.key, \.data\.other\./),
      ],
    });
    expect(await repository.get('configmaps', 'one')).toMatchObject({
      data: { key: 'theirs', other: 'theirs' },
    });
  }, 60_000);

  it('of a Secret too, however its values are written; those that an earlier version applied become git\u2019s', async () => {
    const repository = await follow('secret-owners');
    const secret = (values: object) =>
      JSON.stringify({ apiVersion: 'v1', kind: 'Secret', metadata: { name: 'one' }, ...values });
    const base64 = (text: string) => Buffer.from(text).toString('base64');
    const path = {
      group: '',
      version: 'v1',
      resource: 'secrets',
      namespace: repository.namespace,
      name: 'one',
    };
    const begin = { 'a.json': secret({ data: { b: base64('data') }, stringData: { a: 'git', b: 'wins' } }) };
    expect(await repository.commit(begin)).toMatchObject({ outcome: 'Succeeded' });
    const data = { a: base64('git'), b: base64('wins') };
    const made = await cluster().client.get<KubernetesObject & { data: object }>(path);
    expect(made.data).toEqual(data);

    // As it was applied before: the values have no owner.
    const { labels, annotations } = made.metadata;
    const manifest = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'one', labels, annotations } };
    const values = { stringData: { a: 'git', b: 'wins' } };
    await cluster().client.patch(path, 'apply', { ...manifest, ...values }, { force: true });
    const ownedBy = async () => {
      const { metadata } = await cluster().client.get(path);
      const entries = readManagedFields((metadata as { managedFields?: unknown }).managedFields);
      const fields = entries.find(({ manager }) => manager === 'fairlead')?.fieldsV1 ?? {};
      return Object.keys(fields).filter((name) => name !== 'f:metadata');
    };
    expect(await ownedBy()).toEqual(['f:stringData']);
    const second = await repository.commit({ 'a.json': secret({ stringData: { a: 'git-2', b: 'wins' } }) });
    expect(second).toMatchObject({ outcome: 'Succeeded' });
    expect(await ownedBy()).toEqual(['f:data']);
    expect(await repository.get('secrets', 'one')).toMatchObject({ data: { ...data, a: base64('git-2') } });

    await cluster().client.patch(
      path,
      'merge',
      { data: { a: base64('theirs') } },
      { fieldManager: 'kubectl-edit' },
    );
    const { lines } = await repository.bad({ 'a.json': secret({ stringData: { a: 'git-3', b: 'wins' } }) });
    expect(lines).toEqual([
      expect.stringMatching(/^Conflict a\.json:1@\w+: .*"kubectl-edit" owns \.data\.a\./),
    ]);
    expect(await repository.get('secrets', 'one')).toMatchObject({ data: { a: base64('theirs') } });
    for (const value of ['git-3', 'theirs']) expect(JSON.stringify(lines)).not.toContain(base64(value));
  }, 60_000);

  it('an object that was made anew out of a backup can be handed over: what sync itself writes stands in nobody\u2019s way', async () => {
    const repository = await follow('restored');
    expect(await repository.commit({ 'a.yaml': configMap('one', 'a') })).toMatchObject({
      outcome: 'Succeeded',
    });
    const all = { group: '', version: 'v1', resource: 'configmaps', namespace: repository.namespace };
    const path = { ...all, name: 'one' };
    const { metadata, ...rest } = await cluster().client.get<KubernetesObject & { data: object }>(path);
    const { name, labels, annotations } = metadata;
    await cluster().client.delete(path);
    const restored = { ...rest, metadata: { name, labels, annotations } };
    await cluster().client.create(all, restored, { fieldManager: 'backup' });
    const { lines } = await repository.bad({ 'a.yaml': configMap('one', 'b') });
    expect(lines[0]).toMatch(
      /: "backup" owns \.data\.key\. Remove the field from the manifest; or let git have it/,
    );
    // The command that the refusal prints.
    const manifest = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data: { key: 'b' } };
    await cluster().client.patch(path, 'apply', manifest, { force: true });
    expect(await repository.commit({ 'a.yaml': configMap('one', 'c') })).toMatchObject({
      outcome: 'Succeeded',
    });
    expect(await repository.get('configmaps', 'one')).toMatchObject({ data: { key: 'c' } });
  }, 60_000);
});

describe('what comes with the commit', () => {
  it('a namespace and a kind that did not exist before', async () => {
    const repository = await follow('fresh');
    const suffix = Math.random().toString(36).slice(2, 8);
    const crd = {
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: { name: `things.${suffix}.example.com` },
      spec: {
        group: `${suffix}.example.com`,
        scope: 'Namespaced',
        names: { kind: 'Thing', plural: 'things' },
        versions: [
          {
            name: 'v1',
            served: true,
            storage: true,
            schema: {
              openAPIV3Schema: {
                type: 'object',
                properties: { spec: { type: 'object', properties: { size: { type: 'integer' } } } },
              },
            },
          },
        ],
      },
    };
    const thing = (size: string): string =>
      `apiVersion: ${suffix}.example.com/v1\nkind: Thing\nmetadata: {name: it, namespace: fresh-${suffix}}\nspec:\n  size: ${size}\n`;
    const files = {
      'crd.json': JSON.stringify(crd),
      'namespace.yaml': `apiVersion: v1\nkind: Namespace\nmetadata: {name: fresh-${suffix}}\n`,
      'config.yaml': configMap('inside', 'a').replace(
        'name: inside',
        `name: inside\n  namespace: fresh-${suffix}`,
      ),
    };
    const bad = await repository.bad({
      ...files,
      'config.yaml': files['config.yaml'].replace('key: a', 'key: [1]'),
    });
    expect(bad.outcome).toBe('Refused');
    expect(bad.lines[0]).toMatch(/^Invalid config\.yaml:\d@/);
    const wrong = await repository.bad({ ...files, 'thing.yaml': thing('large') });
    expect(wrong.outcome).toBe('Failed');
    expect(wrong.lines[0]).toMatch(/^Invalid thing\.yaml:5@\w+: Thing\.\S+ fresh-\w+\/it: .*size/);
    expect(await repository.commit({ 'thing.yaml': thing('3') })).toMatchObject({ outcome: 'Succeeded' });
    const path = {
      group: `${suffix}.example.com`,
      version: 'v1',
      resource: 'things',
      namespace: `fresh-${suffix}`,
      name: 'it',
    };
    expect(await cluster().client.get(path)).toMatchObject({ spec: { size: 3 } });
    const last = await repository.commit({
      'namespace.yaml': undefined,
      'thing.yaml': undefined,
      'config.yaml': undefined,
    });
    expect(last).toMatchObject({ outcome: 'Succeeded' });
    const status = (await sync().inventory('fresh'))?.status.commit;
    expect(status).toMatchObject({ pruned: 2 });
    expect(status?.notes).toEqual([
      expect.stringMatching(
        /^Namespace fresh-\w+ was not pruned: deleting a Namespace may lose data: annotate it with fairlead\.dev\/prune=confirmed/,
      ),
    ]);
    const namespacePath = { group: '', version: 'v1', resource: 'namespaces', name: `fresh-${suffix}` };
    await cluster().annotate(namespacePath, { 'fairlead.dev/prune': 'confirmed' });
    expect(await repository.commit({ 'README.md': 'x' })).toMatchObject({ outcome: 'Succeeded' });
    const gone = await cluster()
      .client.get(namespacePath)
      .catch(() => undefined);
    expect(gone === undefined || gone.metadata.deletionTimestamp !== undefined).toBe(true);
  }, 60_000);
});

describe('a confirmed Namespace and a confirmed definition', () => {
  it('stay while something that is kept, detached, or of another repository would go with them', async () => {
    const repository = await follow('holder');
    const other = await follow('lodger');
    const suffix = repository.namespace.split('-').at(-1) ?? '';
    const [box, group] = [`box-${suffix}`, `box${suffix}.example.com`];
    const confirmed = 'annotations: {fairlead.dev/prune: confirmed}';
    const detach = 'annotations: {client.lifecycle.config.k8s.io/deletion: detach}';
    const definition =
      `apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata:\n  name: things.${group}\n  ${confirmed}\n` +
      `spec:\n  group: ${group}\n  scope: Namespaced\n  names: {plural: things, singular: thing, kind: Thing, listKind: ThingList}\n` +
      `  versions:\n  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}\n`;
    const inBox = (text: string, name: string): string =>
      text.replace(`name: ${name}`, `name: ${name}\n  namespace: ${box}`);
    const files = {
      'box.yaml': `apiVersion: v1\nkind: Namespace\nmetadata:\n  name: ${box}\n  ${confirmed}\n`,
      'crd.yaml': definition,
      'claim.yaml':
        `apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data, namespace: ${box}}\n` +
        'spec:\n  accessModes: [ReadWriteOnce]\n  resources: {requests: {storage: 1Gi}}\n',
      'mine.yaml': inBox(configMap('mine', 'a'), 'mine').replace('\ndata:', `\n  ${detach}\ndata:`),
      'plain.yaml': inBox(configMap('plain', 'a'), 'plain'),
      'thing.yaml': `apiVersion: ${group}/v1\nkind: Thing\nmetadata:\n  name: it\n  namespace: ${repository.namespace}\n  ${detach}\n`,
    };
    expect(await repository.commit({ ...files, 'base.yaml': configMap('base', 'a') })).toMatchObject({
      outcome: 'Succeeded',
    });
    const gone = Object.fromEntries(Object.keys(files).map((name) => [name, undefined]));
    const { changes } = await planOf(repository, await repository.git.commit(gone));
    expect(await repository.commit({ 'README.md': 'x' })).toMatchObject({ outcome: 'Succeeded' });
    const containers = [
      { group: '', version: 'v1', resource: 'namespaces', name: box },
      {
        group: 'apiextensions.k8s.io',
        version: 'v1',
        resource: 'customresourcedefinitions',
        name: `things.${group}`,
      },
    ] as const;
    const areLeft = async (): Promise<readonly boolean[]> =>
      await Promise.all(
        containers.map(async (path) => {
          const live = await cluster()
            .client.get(path)
            .catch((error: unknown) => {
              if (isNotFound(error)) return undefined;
              throw error;
            });
          return live !== undefined && live.metadata.deletionTimestamp === undefined;
        }),
      );
    expect(await areLeft()).toEqual([true, true]);
    const notes = async (): Promise<readonly string[]> =>
      (await sync().inventory('holder'))?.status.commit?.notes ?? [];
    const told = await notes();
    expect(told).toEqual([
      expect.stringMatching(`^Thing\\.${group} ${repository.namespace}/it was detached`),
      expect.stringMatching(`^PersistentVolumeClaim ${box}/data was not pruned: deleting`),
      expect.stringMatching(`^ConfigMap ${box}/mine was detached`),
      expect.stringMatching(
        `^CustomResourceDefinition\\S* things\\.${group} was not pruned: it would take Thing\\.${group} ${repository.namespace}/it \\(detached\\) with it: `,
      ),
      expect.stringMatching(
        `^Namespace ${box} was not pruned: it would take ConfigMap ${box}/mine \\(detached\\), PersistentVolumeClaim ${box}/data \\(not confirmed\\) with it: `,
      ),
    ]);
    // The plan of it said the same.
    const verbs = { keep: 'was not pruned', detach: 'was detached, not deleted' } as const;
    const planned = changes.flatMap(({ object, action, why }) =>
      action === 'keep' || action === 'detach' ? [`${object} ${verbs[action]}: ${why ?? ''}`] : [],
    );
    expect(planned.toSorted()).toEqual(told.toSorted());
    expect(changes.filter(({ action }) => action === 'delete')).toMatchObject([
      { object: `ConfigMap ${box}/plain` },
    ]);

    // What was let go is not in the inventory any more, and the claim can go by now: what is left still holds them.
    const claim = {
      group: '',
      version: 'v1',
      resource: 'persistentvolumeclaims',
      namespace: box,
      name: 'data',
    };
    await cluster().annotate(claim, { 'fairlead.dev/prune': 'confirmed' });
    await other.commit({ 'a.yaml': inBox(configMap('lodged', 'a'), 'lodged') });
    await repository.commit({ 'README.md': 'y' });
    expect(await areLeft()).toEqual([true, true]);
    expect((await notes()).at(-1)).toContain(
      `it would take ConfigMap ${box}/lodged (of another repository), ConfigMap ${box}/mine (detached) with it`,
    );
    const mine = { group: '', version: 'v1', resource: 'configmaps', namespace: box, name: 'mine' };
    const thing = { group, version: 'v1', resource: 'things', namespace: repository.namespace, name: 'it' };
    for (const path of [mine, thing])
      await cluster().annotate(path, { 'client.lifecycle.config.k8s.io/deletion': undefined });
    await repository.commit({ 'README.md': 'z' });
    expect(await areLeft()).toEqual([true, false]);
    await other.commit({ 'a.yaml': undefined, 'b.yaml': configMap('base', 'a') });
    await repository.commit({ 'README.md': 'end' });
    expect(await areLeft()).toEqual([false, false]);
  }, 90_000);
});

describe('a kind that is not there yet', () => {
  it('refuses the commit, and nothing more once its definition comes with it', async () => {
    const repository = await follow('absent');
    const group = `absent${repository.namespace.split('-').at(-1) ?? ''}.example.com`;
    const { outcome, lines } = await repository.bad({
      'a.yaml': configMap('one', 'a'),
      'b.yaml': `# first comes the object\napiVersion: ${group}/v1\nkind: Widget\nmetadata: {name: it}\n`,
    });
    expect(outcome).toBe('Refused');
    expect(lines).toEqual([
      expect.stringMatching(
        /^UnknownKind b\.yaml:2@\w+: Widget\.\S+ it: the cluster has no API group absent\S+ .*put its CustomResourceDefinition into the commit\./,
      ),
    ]);
    expect(await repository.get('configmaps', 'one')).toBeUndefined();
    const schema = 'schema: {openAPIV3Schema: {type: object}}';
    expect(
      await repository.commit({
        'z.yaml': `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.${group}}
spec:
  group: ${group}
  scope: Namespaced
  names: {plural: widgets, singular: widget, kind: Widget}
  versions: [{name: v1, served: true, storage: true, ${schema}}]
`,
      }),
    ).toMatchObject({ outcome: 'Succeeded' });
    expect(await repository.get('widgets', 'it', group)).toBeDefined();
    expect(await repository.get('configmaps', 'one')).toBeDefined();
  }, 60_000);
});

describe('a kind that never comes to be', () => {
  it('fails the commit at the line of its definition, with the reason', async () => {
    const repository = await follow('stillborn');
    const suffix = repository.namespace.split('-').at(-1) ?? '';
    const definition = (plural: string, kind: string): string => `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: ${plural}.still${suffix}.example.com}
spec:
  group: still${suffix}.example.com
  scope: Namespaced
  names: {plural: ${plural}, singular: ${kind.toLowerCase()}, kind: ${kind}, shortNames: [gd]}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
`;
    const object = (kind: string): string =>
      `apiVersion: still${suffix}.example.com/v1\nkind: ${kind}\nmetadata: {name: x}\n`;
    expect(
      await repository.commit({ 'a.yaml': `${definition('gadgets', 'Gadget')}---\n${object('Gadget')}` }),
    ).toMatchObject({ outcome: 'Succeeded' });
    const { outcome, lines, message } = await repository.bad({
      'b.yaml': `# the short name is taken\n${definition('gizmos', 'Gizmo')}`,
      'c.yaml': object('Gizmo'),
      'd.yaml': configMap('other', 'a'),
    });
    expect(outcome).toBe('Failed');
    expect(lines).toEqual([
      expect.stringMatching(
        /^NotEstablished b\.yaml:2@\w+: CustomResourceDefinition\.apiextensions\.k8s\.io gizmos\S+: its names are not accepted: ShortNamesConflict: .*gd.* Choose other names/,
      ),
    ]);
    expect(message).toContain('NotEstablished b.yaml:2');
    const crds = { group: 'apiextensions.k8s.io', version: 'v1', resource: 'customresourcedefinitions' };
    await cluster().client.delete({ ...crds, name: `gizmos.still${suffix}.example.com` });
  }, 60_000);
});

describe('whose inventory it is', () => {
  it('a ConfigMap of that name that is no inventory stays as it is, and the commit is refused', async () => {
    const repository = await follow('taken');
    const path = { group: '', version: 'v1', resource: 'configmaps', namespace: INVENTORY_NAMESPACE };
    const body = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'fairlead-taken' } };
    const before = await cluster().client.create(path, { ...body, data: { 'repositories.yaml': '[]' } });
    const { outcome, message = '' } = await repository.commit({ 'a.yaml': configMap('one', 'a') });
    expect(outcome).toBe('Refused');
    expect(message).toContain(
      `would be ConfigMap ${INVENTORY_NAMESPACE}/fairlead-taken, which exists and is no inventory: give the repository another \`name\`.`,
    );
    expect(await repository.get('configmaps', 'one')).toBeUndefined();
    expect(await cluster().client.get({ ...path, name: 'fairlead-taken' })).toEqual(before);
  });
});

describe('another repository of the same name', () => {
  it('touches nothing of the first one, until somebody confirms that it takes over', async () => {
    const first = await follow('shop');
    await first.commit({ 'a.yaml': configMap('one', 'a'), 'b.yaml': configMap('two', 'b') });
    const one = await first.get('configmaps', 'one');
    const inventory = await sync().inventory('shop');
    expect(inventory).toMatchObject({ source: first.git.path });

    const git = await ground.newRepository();
    sync().follow(repositoryFromFlags({ repo: git.path, name: 'shop', namespace: first.namespace }));
    const other = await git.commit({
      'b.yaml': configMap('two', 'changed'),
      'c.yaml': configMap('three', 'c'),
    });
    const refused = await sync().apply('shop', other);
    expect(refused.outcome).toBe('Refused');
    expect(refused.message).toContain(
      `has 2 objects in the cluster: ${first.git.path}. This one is ${git.path}.`,
    );
    expect(await first.get('configmaps', 'one')).toEqual(one);
    expect(await first.get('configmaps', 'two')).toMatchObject({ data: { key: 'b' } });
    expect(await first.get('configmaps', 'three')).toBeUndefined();
    const { entries, source, run, status } = (await sync().inventory('shop')) ?? {};
    expect({ entries, source, run }).toEqual({
      entries: inventory?.entries,
      source: inventory?.source,
      run: inventory?.run,
    });
    expect(status?.commit).toMatchObject({ outcome: 'Refused', sha: other });

    const place = { group: '', version: 'v1', resource: 'configmaps', namespace: INVENTORY_NAMESPACE };
    const handOver =
      /annotate configmap (\S+) -n \S+ --overwrite (\S+)=(\S+) /.exec(refused.message ?? '') ?? [];
    await cluster().annotate({ ...place, name: handOver[1] }, { [String(handOver[2])]: String(handOver[3]) });
    const next = await git.commit({ 'README.md': 'x' });
    expect(await sync().apply('shop', next)).toMatchObject({ outcome: 'Succeeded' });
    expect(await first.get('configmaps', 'one')).toBeUndefined();
    expect(await first.get('configmaps', 'two')).toMatchObject({ data: { key: 'changed' } });
  });

  it('an inventory of before sources were kept takes the one that it has', async () => {
    const repository = await follow('older');
    await repository.commit({ 'a.yaml': configMap('one', 'a') });
    const path = { group: '', version: 'v1', resource: 'configmaps', namespace: INVENTORY_NAMESPACE };
    await cluster().client.patch({ ...path, name: 'fairlead-older' }, 'merge', {
      metadata: { annotations: { 'fairlead.dev/source': null } },
    });
    expect((await sync().inventory('older'))?.source).toBeUndefined();
    expect(await repository.commit({ 'README.md': 'x' })).toMatchObject({ outcome: 'Succeeded' });
    expect((await sync().inventory('older'))?.source).toBe(repository.git.path);
  });
});

describe('a source that fails', () => {
  it('is shown in the inventory and as an Event, once, and when it is well again', async () => {
    const reporter = (): SourceReporter =>
      new SourceReporter({
        client: cluster().client,
        inventoryNamespace: INVENTORY_NAMESPACE,
        now: Date.now,
      });
    const first = reporter();
    await first.report('sourceless', { sha: 'a' });
    expect(await sync().inventory('sourceless')).toBeUndefined();
    const broken = problem('RepositoryNotFound', '/srv/x does not exist.');
    await first.report('sourceless', { problem: broken });
    await first.report('sourceless', { problem: broken });
    await reporter().report('sourceless', { problem: broken });
    const text =
      'RepositoryNotFound: /srv/x does not exist. Check `url`; for a private repository set `tokenFile`, or `sshKeyFile` with an ssh address.';
    expect((await sync().inventory('sourceless'))?.status.source).toMatchObject({ ok: false, problem: text });
    await reporter().report('sourceless', { sha: 'b' });
    expect((await sync().inventory('sourceless'))?.status.source).toMatchObject({ ok: true });
    const uid = (await sync().inventory('sourceless'))?.uid;
    const events = await cluster().client.list<
      KubernetesObject & { involvedObject: { uid: string }; reason: string; message: string }
    >({ group: '', version: 'v1', resource: 'events', namespace: INVENTORY_NAMESPACE });
    const own = events.items
      .filter((event) => event.involvedObject.uid === uid)
      .map(({ reason, message }) => `${reason} ${message}`);
    expect(own.sort()).toEqual([`SourceFailed ${text}`, 'SourceReady the repository can be read again']);
  });
});
