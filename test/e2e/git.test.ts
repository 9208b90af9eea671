/** Commits in, objects out: the workflows and activities of sync against a real apiserver and a real Temporal server. */

import { randomBytes } from 'node:crypto';

import { describe, expect, it } from '@jest/globals';

import type { KubernetesObject } from '../../planners/objects.ts';
import type { WorkloadApi } from '../../kubernetes/workload-api.ts';
import { problem } from '../../git/problems.ts';
import { SourceReporter } from '../../git/source-report.ts';
import { commitWorkflowId, syncWorkflowId } from '../../workflows/sync-messages.ts';
import { configMap, service, useCommitGround } from '../support/commit-ground.ts';
import { itInFull } from '../support/full-suite.ts';
import type { FileChange } from '../support/git-repository.ts';
import { INVENTORY_NAMESPACE } from '../support/git-sync.ts';
import { useLanes } from '../support/lanes.ts';
import { grantInCluster } from '../support/sync-account.ts';

const { cluster, sync, newRepository, newWorkerClient, follow } = useCommitGround('git');

// Two by themselves: the first counts what the apiserver has answered to anybody, the second keeps a processor busy.
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

describe('a commit of more than Temporal takes in one payload', () => {
  /** Bytes of everything that Temporal keeps of a run. */
  async function kept(workflowId: string): Promise<number> {
    const { historySize } = await sync().temporal.workflow.getHandle(workflowId).describe();
    return historySize ?? Infinity;
  }
  const COUNT = 30;
  // No two lines of them are the same: nothing could be made small by compressing.
  const noise = Array.from({ length: COUNT }, () => randomBytes(60_000).toString('hex'));
  const files = Object.fromEntries(
    noise.map((text, index) => [`${index}.yaml`, configMap(`large-${index}`, `"${text}"`)]),
  );

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
      expect(await kept(id)).toBeLessThan(128 * 1024);
    expect(await repository.get('configmaps', 'large-0')).toBeUndefined();
  }, 90_000);
});

/** Each play has a repository and a namespace of its own. */
const inLane = useLanes(3);

describe('a commit', () => {
  it(
    'is applied, changed, pruned; what did not change is not written',
    inLane(async () => {
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
    }),
    60_000,
  );
});

interface StatefulSetLines {
  readonly restartPolicy?: string;
  readonly label?: string;
  readonly maxUnavailable?: string;
  readonly podUpdatePolicy?: string;
  readonly policy?: string;
  readonly unknown?: string;
}

/** Our settings are fields, or annotations of an object of apps/v1. */
const statefulSet = (lines: StatefulSetLines = {}, api: WorkloadApi = 'fairlead.dev/v1beta1'): string => {
  const {
    restartPolicy,
    label = 'web',
    maxUnavailable,
    podUpdatePolicy,
    policy = 'Parallel',
    unknown,
  } = lines;
  const given = (line: string, value: string | undefined) => (value === undefined ? [] : [`${line}${value}`]);
  const isNative = api === 'apps/v1';
  const settings = [
    ...given(isNative ? '    fairlead.dev/max-unavailable: ' : '      maxUnavailable: ', maxUnavailable),
    ...given(isNative ? '    fairlead.dev/pod-update-policy: ' : '      podUpdatePolicy: ', podUpdatePolicy),
  ];
  const under = (parents: readonly string[]) => (settings.length === 0 ? [] : [...parents, ...settings]);
  return [
    `apiVersion: ${api}`,
    'kind: StatefulSet',
    'metadata:',
    '  name: web',
    ...(isNative ? under(['  annotations:']) : []),
    'spec:',
    '  replicas: 2',
    `  podManagementPolicy: ${policy}`,
    '  serviceName: web',
    '  selector: {matchLabels: {app: web}}',
    ...(isNative ? [] : under(['  updateStrategy:', '    type: RollingUpdate', '    rollingUpdate:'])),
    '  template:',
    `    metadata: {labels: {app: ${label}}}`,
    '    spec:',
    ...given('      restartPolicy: ', restartPolicy),
    '      containers:',
    '      - name: main',
    '        image: example.com/web:1',
    ...given('        ', unknown),
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
      'an unknown field',
      { 'bad.yaml': `${configMap('x', 'value')}\nspek: 1\n` },
      /^UnknownField bad\.yaml:8@SHA: ConfigMap \S+\/x: .*spek.* Correct the name of the field\.$/,
    ],
    [
      'an unknown field deep in a template',
      { 'bad.yaml': statefulSet({ unknown: 'imagee: y' }) },
      /^UnknownField bad\.yaml:16@SHA: StatefulSet\.fairlead\.dev \S+: .*imagee/,
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
      'a kind in the wrong version',
      {
        'bad.yaml': 'apiVersion: batch/v1beta1\nkind: CronJob\nmetadata: {name: x}\n',
      },
      /^UnknownKind bad\.yaml:1@SHA: CronJob\.batch x: the cluster has no CronJob in batch\/v1beta1, but in batch\/v1\./,
    ],
    [
      'a question to the apiserver, which is no object',
      {
        'bad.yaml':
          'apiVersion: authorization.k8s.io/v1\nkind: SelfSubjectAccessReview\nmetadata: {name: x}\nspec: {}\n',
      },
      /^KindNotKept bad\.yaml:1@SHA: SelfSubjectAccessReview\.authorization\.k8s\.io x: .* Remove it from the commit/,
    ],
    [
      'a name that is too long for its kind',
      { 'bad.yaml': service(`a${'x'.repeat(63)}`) },
      /^Invalid bad\.yaml:4@SHA: Service \S+: metadata\.name: .*63 characters/,
    ],
    [
      'a namespace that does not exist',
      { 'bad.yaml': configMap('x', 'value').replace('name: x', 'name: x\n  namespace: nowhere') },
      /^NamespaceNotFound bad\.yaml:1@SHA: ConfigMap nowhere\/x: /,
    ],
    [
      'a Secret in a namespace that does not exist',
      {
        'bad.yaml':
          'apiVersion: v1\nkind: Secret\nmetadata: {name: x, namespace: nowhere}\nstringData: {a: hunter2}\n',
      },
      /^NamespaceNotFound bad\.yaml:1@SHA: Secret nowhere\/x: namespaces "nowhere" not found\. Create the namespace/,
    ],
    [
      'a cluster-scoped object with a namespace',
      { 'bad.yaml': 'apiVersion: v1\nkind: Namespace\nmetadata: {name: x, namespace: other}\n' },
      /^NamespaceMismatch bad\.yaml:1@SHA: /,
    ],
  ];

  const plays = cases.map(
    ([what, files, expected], index) =>
      [
        what,
        inLane(async () => {
          const repository = await follow(`bad-${String(index)}`);
          // What is missing is told to who may write where it is missing.
          await grantInCluster(cluster().client, repository.namespace, ['configmaps', 'secrets']);
          const { outcome, lines, message, sha } = await repository.bad({
            'good.yaml': configMap('good', 'a'),
            ...files,
          });
          expect(outcome).toBe('Refused');
          expect(lines[0]?.replaceAll(sha.slice(0, 8), 'SHA') ?? lines.join('\n')).toMatch(expected);
          expect(message).toContain(`commit ${sha.slice(0, 8)}: refused before its first write, `);
          expect(await repository.get('configmaps', 'good')).toBeUndefined();
          expect(await repository.get('configmaps', 'x')).toBeUndefined();
        }),
      ] as const,
  );
  it.each(plays)('%s', async (_what, play) => await play(), 60_000);
});

describe.each(['fairlead.dev/v1beta1', 'apps/v1'] as const)('a bad StatefulSet of %s', (api) => {
  const isNative = api === 'apps/v1';
  const maxUnavailable = isNative
    ? 'metadata.annotations[fairlead.dev/max-unavailable]'
    : 'spec.updateStrategy.rollingUpdate.maxUnavailable';
  const setting = isNative ? 'max-unavailable: ' : 'maxUnavailable: ';
  const format = 'must be a whole number of at least 1 or a percentage from 1% to 100%';
  const parallel = 'or create the object again with podManagementPolicy: Parallel';
  const gate = 'add "- conditionType: InPlaceUpdateReady" to spec.template.spec.readinessGates';
  /** What is wrong; where: a word of its line, and the field; what to do. */
  const cases: readonly (readonly [
    what: string,
    lines: StatefulSetLines,
    word: string,
    field: string,
    remedy: string,
  ])[] = [
    [
      'a selector that does not match its template',
      { label: 'other' },
      'app: other',
      'spec.template.metadata.labels',
      '`selector` does not match template `labels`',
    ],
    [
      'a restartPolicy other than Always',
      { restartPolicy: 'Never' },
      'Never',
      'spec.template.spec.restartPolicy',
      'supported values: "Always"',
    ],
    ['maxUnavailable 0', { maxUnavailable: isNative ? '"0"' : '0' }, setting, maxUnavailable, format],
    ['maxUnavailable "0%"', { maxUnavailable: '"0%"' }, setting, maxUnavailable, format],
    ['maxUnavailable "5x%"', { maxUnavailable: '"5x%"' }, setting, maxUnavailable, format],
    [
      'maxUnavailable 2 with OrderedReady',
      { maxUnavailable: isNative ? '"2"' : '2', policy: 'OrderedReady' },
      setting,
      maxUnavailable,
      parallel,
    ],
    ...['InPlaceIfPossible', 'InPlaceOnly'].map(
      (podUpdatePolicy) =>
        [
          `${podUpdatePolicy} without the readiness gate`,
          { podUpdatePolicy },
          '    spec:',
          'spec.template.spec.readinessGates',
          gate,
        ] as const,
    ),
  ];

  const plays = cases.map(
    ([what, lines, word, field, remedy], index) =>
      [
        what,
        inLane(async () => {
          const repository = await follow(`bad-${isNative ? 'native' : 'ours'}-${String(index)}`);
          const text = statefulSet(lines, api);
          const bad = await repository.bad({ 'good.yaml': configMap('good', 'a'), 'bad.yaml': text });
          expect(bad.outcome).toBe('Refused');
          const line = text.split('\n').findIndex((one) => one.includes(word)) + 1;
          const [group = ''] = api.split('/');
          const object = `StatefulSet.${group} ${repository.namespace}/web`;
          expect(bad.lines).toEqual([
            expect.stringContaining(
              `Invalid bad.yaml:${String(line)}@${bad.sha.slice(0, 8)}: ${object}: ${field}: `,
            ),
          ]);
          expect(bad.lines[0]).toContain(remedy);
          expect(bad.message).toContain('refused before its first write, ');
          expect(await repository.get('configmaps', 'good')).toBeUndefined();
        }),
      ] as const,
  );
  it.each(plays)('%s', async (_what, play) => await play(), 60_000);
});

describe('an object with several mistakes', () => {
  /** What the commit's only object is refused for: code, line and message. */
  async function refusals(name: string, text: string): Promise<readonly string[]> {
    const repository = await follow(name);
    await grantInCluster(cluster().client, repository.namespace, ['namespaces', 'configmaps']);
    const { outcome, lines } = await repository.bad({ 'bad.yaml': text });
    expect(outcome).toBe('Refused');
    return lines.map((line) => line.replace(/@\w+: \S+ \S+/, ''));
  }

  it(
    'has each of its unknown fields and wrong types told with its line',
    inLane(async () => {
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
      expect(await refusals('several-types', deployment)).toEqual([
        expect.stringMatching(/^Invalid bad\.yaml:5 metadata\.annotations: Invalid value: .*name part/),
        'UnknownField bad.yaml:7 unknown field ".spec.foo". Correct the name of the field.',
        'UnknownField bad.yaml:8 unknown field ".spec.bar". Correct the name of the field.',
        expect.stringMatching(/^Invalid bad\.yaml:9 \.spec\.replicas: expected numeric/),
        expect.stringMatching(/^Invalid bad\.yaml:10 spec\.minReadySeconds: Invalid value: -3: must be/),
        'UnknownField bad.yaml:15 unknown field ".spec.template.spec.contaners". Correct the name of the field.',
        expect.stringMatching(/^UnknownField bad\.yaml:19 unknown field ".*\.imagee"\./),
        expect.stringMatching(/^Invalid bad\.yaml:22 .*expected string, got a number\. Quote the value\.$/),
      ]);
    }),
    60_000,
  );

  it(
    'has each value told that the apiserver refuses',
    inLane(async () => {
      const metadata = 'metadata:\n  name: Not_Dns\n  annotations:\n    "a b": c\n';
      const text = `apiVersion: v1\nkind: ConfigMap\n${metadata}data:\n  "k k": v\n`;
      expect(await refusals('several-values', text)).toEqual([
        expect.stringMatching(/^Invalid bad\.yaml:4 metadata\.name: .*RFC 1123/),
        expect.stringMatching(/^Invalid bad\.yaml:5 metadata\.annotations: /),
        expect.stringMatching(/^Invalid bad\.yaml:8 data\[k k\]: .*a valid config key/),
      ]);
    }),
    60_000,
  );

  it(
    'of our own kinds has what is wrong by itself told, and what only rules see that are not asked before that is mended',
    inLane(async () => {
      const text = `apiVersion: fairlead.dev/v1beta1
kind: StatefulSet
metadata: {name: web}
spec:
  podManagementPolicy: Parallel
  selector: {matchLabels: {app: other}}
  updateStrategy:
    type: RollingUpdate
    rollingUpdate:
      maxUnavailable: 5x%
      podUpdatePolicy: InPlaceOnly
  template:
    metadata: {labels: {app: web}}
    spec:
      restartPolicy: Never
      containers: [{name: main, image: "web:1"}]
`;
      expect(await refusals('several-rules', text)).toEqual([
        expect.stringMatching(
          /^Invalid bad\.yaml:10 spec\..*\.maxUnavailable: Invalid value: "5x%": must be a whole /,
        ),
        expect.stringMatching(
          /^Invalid bad\.yaml:13 spec\.template\.metadata\.labels: .*does not match template/,
        ),
        expect.stringMatching(
          /^Invalid bad\.yaml:14 .*readinessGates: Required value: .* InPlaceOnly needs the readiness gate/,
        ),
        expect.stringMatching(/^Invalid bad\.yaml:15 spec\.template\.spec\.restartPolicy: Unsupported value/),
      ]);
    }),
    60_000,
  );

  it(
    'has the names of a Secret told that are wrong, and no value',
    inLane(async () => {
      const secret =
        'apiVersion: v1\nkind: Secret\nmetadata:\n  name: x\n  owner: hunter2\nspec: {a: hunter2}\ndataa:\n  x: hunter2\nstringData:\n  "k k": hunter2\n';
      const lines = await refusals('several-names', secret);
      expect(lines).toEqual([
        'UnknownField bad.yaml:5 unknown field ".metadata.owner". Correct the name of the field.',
        'UnknownField bad.yaml:6 unknown field ".spec". Correct the name of the field.',
        'UnknownField bad.yaml:7 unknown field ".dataa". Correct the name of the field.',
      ]);
    }),
    60_000,
  );

  it(
    'has the type of a field of a Secret told beside a field that nobody knows, whatever its name',
    inLane(async () => {
      const secret =
        'apiVersion: v1\nkind: Secret\nmetadata: {name: x}\nimmutable: PLANTED\nmy_field: PLANTED\n';
      expect(await refusals('several-beside', secret)).toEqual([
        'Invalid bad.yaml:4 .immutable: expected boolean, got something else. Correct the field.',
        'UnknownField bad.yaml:5 unknown field ".my_field". Correct the name of the field.',
      ]);
    }),
    60_000,
  );

  it(
    'has them told also where its namespace comes with the commit',
    inLane(async () => {
      const name = `several-${randomBytes(4).toString('hex')}`;
      const object = configMap('x', 'value').replace('name: x', `name: x\n  namespace: ${name}`);
      const namespace = `apiVersion: v1\nkind: Namespace\nmetadata: {name: ${name}}\n`;
      expect(await refusals('several-coming', `${namespace}---\n${object}foo: 1\nbar: 2\n`)).toEqual([
        'UnknownField bad.yaml:12 unknown field ".foo". Correct the name of the field.',
        'UnknownField bad.yaml:13 unknown field ".bar". Correct the name of the field.',
      ]);
    }),
    60_000,
  );
});

describe('a Service that is renamed', () => {
  itInFull(
    'and keeps its node port, or its cluster IP, names the one that has it, and is applied when that is gone',
    inLane(async () => {
      const repository = await follow('renamed-service');
      const { name, namespace } = repository;
      const kept = (of: string, spec: object) =>
        `${JSON.stringify({ apiVersion: 'v1', kind: 'Service', metadata: { name: of }, spec })}\n`;
      const port = (of: string) => kept(of, { type: 'NodePort', ports: [{ port: 80, nodePort: 30_180 }] });
      const address = (of: string) => kept(of, { clusterIP: '10.0.0.77', ports: [{ port: 80 }] });
      const begin = { 'a.json': port('port-old'), 'b.json': address('address-old') };
      expect(await repository.commit(begin)).toMatchObject({ outcome: 'Succeeded' });

      const told = (of: string) =>
        expect.stringContaining(
          `Service ${namespace}/${of}, which the commit no longer holds, has it. Delete that one: \`kubectl delete service ${of} -n ${namespace}\`, then \`fairlead sync ${name}\`; or`,
        );
      const services = { group: '', version: 'v1', resource: 'services', namespace };
      const first = await repository.bad({ 'a.json': port('port-new') });
      expect(first).toMatchObject({ outcome: 'Refused', lines: [told('port-old')] });
      await cluster().client.delete({ ...services, name: 'port-old' });
      expect(await repository.commit({ 'README.md': 'x' })).toMatchObject({ outcome: 'Succeeded' });

      // A dry run allocates no address.
      const second = await repository.bad({ 'b.json': address('address-new') });
      expect(second).toMatchObject({ outcome: 'Failed', lines: [told('address-old')] });
      await cluster().client.delete({ ...services, name: 'address-old' });
      expect(await repository.commit({ 'README.md': 'y' })).toMatchObject({ outcome: 'Succeeded' });
    }),
    120_000,
  );
});

describe('whose inventory it is', () => {
  it(
    'a ConfigMap of that name that is no inventory stays as it is, and the commit is refused',
    inLane(async () => {
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
    }),
  );
});

describe('another repository of the same name', () => {
  it(
    'touches nothing of the first one, until somebody confirms that it takes over',
    inLane(async () => {
      const first = await follow('shop');
      await first.commit({ 'a.yaml': configMap('one', 'a'), 'b.yaml': configMap('two', 'b') });
      const one = await first.get('configmaps', 'one');
      const inventory = await sync().inventory('shop');
      expect(inventory).toMatchObject({ source: first.git.path });

      const git = await newRepository();
      sync().follow({ ...first.repository, url: git.path });
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
      await cluster().annotate(
        { ...place, name: handOver[1] },
        { [String(handOver[2])]: String(handOver[3]) },
      );
      const next = await git.commit({ 'README.md': 'x' });
      expect(await sync().apply('shop', next)).toMatchObject({ outcome: 'Succeeded' });
      expect(await first.get('configmaps', 'one')).toBeUndefined();
      expect(await first.get('configmaps', 'two')).toMatchObject({ data: { key: 'changed' } });
    }),
  );

  it(
    'an inventory of before sources were kept takes the one that it has',
    inLane(async () => {
      const repository = await follow('older');
      await repository.commit({ 'a.yaml': configMap('one', 'a') });
      const path = { group: '', version: 'v1', resource: 'configmaps', namespace: INVENTORY_NAMESPACE };
      await cluster().client.patch({ ...path, name: 'fairlead-older' }, 'merge', {
        metadata: { annotations: { 'fairlead.dev/source': null } },
      });
      expect((await sync().inventory('older'))?.source).toBeUndefined();
      expect(await repository.commit({ 'README.md': 'x' })).toMatchObject({ outcome: 'Succeeded' });
      expect((await sync().inventory('older'))?.source).toBe(repository.git.path);
    }),
  );
});

describe('a source that fails', () => {
  it(
    'is shown in the inventory and as an Event, once, and when it is well again',
    inLane(async () => {
      const client = await newWorkerClient();
      const reporter = (): SourceReporter =>
        new SourceReporter({
          client,
          inventoryNamespace: INVENTORY_NAMESPACE,
          cluster: 'git',
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
      expect((await sync().inventory('sourceless'))?.status.source).toMatchObject({
        ok: false,
        problem: text,
      });
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
    }),
  );
});
