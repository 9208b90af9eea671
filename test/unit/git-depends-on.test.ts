/** `config.kubernetes.io/depends-on`: what is read, in which order it is applied, and what is refused. */

import { describe, expect, it } from '@jest/globals';

import { parseDependsOn } from '../../git/depends-on.ts';
import { ManifestReader } from '../../git/manifests.ts';
import { applySteps } from '../../git/order.ts';
import type { Prepared } from '../../git/prepare.ts';
import { prepareObjects } from '../../git/prepare.ts';
import { formatProblem } from '../../git/problems.ts';

const SERVED: Readonly<Record<string, { resource: string; namespaced: boolean }>> = {
  'v1 ConfigMap': { resource: 'configmaps', namespaced: true },
  'v1 Namespace': { resource: 'namespaces', namespaced: false },
  'apps/v1 Deployment': { resource: 'deployments', namespaced: true },
  'batch/v1 Job': { resource: 'jobs', namespaced: true },
  'networking.k8s.io/v1 Ingress': { resource: 'ingresses', namespaced: true },
};

interface Described {
  readonly on?: string;
  readonly wave?: number;
  readonly type?: string;
}

/** A document of a file; `on` is the annotation's value as written. */
function document(name: string, { on, wave, type = 'batch/v1 Job' }: Described = {}): string {
  const [apiVersion, kind] = type.split(' ');
  const lines = [
    ...(on === undefined ? [] : [`    config.kubernetes.io/depends-on: ${on}`]),
    ...(wave === undefined ? [] : [`    fairlead.dev/wave: "${String(wave)}"`]),
  ];
  const annotations = lines.length === 0 ? [] : ['  annotations:', ...lines];
  return [
    `apiVersion: ${String(apiVersion)}`,
    `kind: ${String(kind)}`,
    'metadata:',
    `  name: ${name}`,
    ...annotations,
    '',
  ].join('\n');
}

async function prepare(files: Readonly<Record<string, readonly string[]>>): Promise<Prepared> {
  const reader = new ManifestReader();
  for (const [path, documents] of Object.entries(files))
    for (const _ of reader.read({ path, text: documents.join('---\n') }));
  expect(reader.problems).toEqual([]);
  return await prepareObjects(reader.manifests, {
    defaultNamespace: 'shop',
    find: async (apiVersion, kind) => SERVED[`${apiVersion} ${kind}`],
    versions: async () => [],
  });
}

const job = (name: string): string => `batch/namespaces/shop/Job/${name}`;

/** `name` of each object in order, with its rank where it has one. */
function order({ objects }: Prepared): readonly string[] {
  return objects.map(({ manifest, rank }) => `${manifest.name}${rank === 0 ? '' : ` ${String(rank)}`}`);
}

describe('the annotation', () => {
  it.each<[string, object]>([
    [
      'apps/namespaces/shop/Deployment/web',
      [{ group: 'apps', namespace: 'shop', kind: 'Deployment', name: 'web' }],
    ],
    ['/namespaces/shop/ConfigMap/a', [{ group: '', namespace: 'shop', kind: 'ConfigMap', name: 'a' }]],
    ['/Namespace/shop', [{ group: '', kind: 'Namespace', name: 'shop' }]],
    [
      'rbac.authorization.k8s.io/ClusterRole/system:a , /Namespace/shop',
      [
        { group: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'system:a' },
        { group: '', kind: 'Namespace', name: 'shop' },
      ],
    ],
  ])('%j is read', (text, references) => {
    expect(parseDependsOn(text)).toEqual(references);
  });

  it.each([
    ['', ''],
    ['web', 'web'],
    ['Deployment/web', 'Deployment/web'],
    ['apps/namespaces/shop/Deployment', 'apps/namespaces/shop/Deployment'],
    ['apps/v1/namespaces/shop/Deployment/web', 'apps/v1/namespaces/shop/Deployment/web'],
    ['apps/namespaces//Deployment/web', 'apps/namespaces//Deployment/web'],
    ['/Namespace/', '/Namespace/'],
    ['/Namespace/a,', ''],
    ['/Namespace/a b', '/Namespace/a b'],
  ])('%j is refused', (text, bad) => {
    expect(parseDependsOn(text)).toEqual({ bad });
  });

  it.each([
    ['"web"', 'config.kubernetes.io/depends-on names "web", which is no object.'],
    ['[a, b]', 'config.kubernetes.io/depends-on is a list, and must be text.'],
    ['7', 'config.kubernetes.io/depends-on is a number, and must be text.'],
  ])('of %s is a problem at its line', (on, message) => {
    const reader = new ManifestReader();
    for (const _ of reader.read({ path: 'a.yaml', text: document('a', { on }) }));
    expect(reader.manifests).toEqual([]);
    expect(reader.problems).toMatchObject([{ code: 'BadDependency', file: 'a.yaml', line: 6, message }]);
  });
});

describe('the order', () => {
  it('puts an object after what it depends on, whatever their names and files are', async () => {
    const prepared = await prepare({
      'a.yaml': [document('a', { on: job('z') }), document('b', { on: `${job('a')}, ${job('z')}` })],
      'z.yaml': [document('z'), document('x')],
    });
    expect(prepared.problems).toEqual([]);
    expect(order(prepared)).toEqual(['x', 'z', 'a 1', 'b 2']);
    expect(prepared.objects.at(-1)?.dependsOn).toEqual(['Job.batch shop/a', 'Job.batch shop/z']);
  });

  it('is within the waves of a stage, and these are within the stages', async () => {
    const prepared = await prepare({
      'a.yaml': [
        document('late', { wave: 1 }),
        document('first', { wave: 1, on: job('late') }),
        document('web', { type: 'apps/v1 Deployment', on: job('early') }),
        document('early', { wave: -1 }),
        document('a', { type: 'networking.k8s.io/v1 Ingress', on: 'apps/namespaces/shop/Deployment/web' }),
        document('settings', { type: 'v1 ConfigMap' }),
      ],
    });
    expect(prepared.problems).toEqual([]);
    expect(order(prepared)).toEqual(['settings', 'early', 'web', 'late', 'first 1', 'a']);
    expect(applySteps(prepared.objects, ({ manifest }) => manifest.name !== 'web')).toEqual([
      { stage: 1, wave: 0, count: 1, changes: 1 },
      { stage: 3, wave: -1, inWaves: true, count: 1, changes: 1 },
      { stage: 3, wave: 0, dependent: true, inWaves: true, count: 1, changes: 0 },
      { stage: 3, wave: 1, inWaves: true, count: 1, changes: 1 },
      { stage: 3, wave: 1, rank: 1, dependent: true, inWaves: true, count: 1, changes: 1 },
      { stage: 4, wave: 0, dependent: true, count: 1, changes: 1 },
    ]);
  });

  it('of a commit without dependencies is as ever: one step for each wave', async () => {
    const { objects } = await prepare({ 'a.yaml': [document('b'), document('a'), document('c')] });
    expect(applySteps(objects, () => true)).toEqual([{ stage: 3, wave: 0, count: 3, changes: 3 }]);
  });

  it('of a chain of ten thousand takes neither long nor a stack', async () => {
    const names = Array.from({ length: 10_000 }, (_, index) => `job-${String(index)}`);
    const prepared = await prepare({
      'a.yaml': names.map((name, index) =>
        document(name, index === 0 ? {} : { on: job(`job-${String(index - 1)}`) }),
      ),
    });
    expect(prepared.problems).toEqual([]);
    expect(prepared.objects.at(-1)).toMatchObject({ rank: 9_999 });
    // What grows with the square of the chain would not end within it.
  }, 180_000);
});

describe('a dependency that cannot be', () => {
  const told = ({ problems }: Prepared): readonly string[] =>
    problems.map((item) => formatProblem(item, 'a'.repeat(40)));

  it('a cycle is named with every member and its place, once, whatever the order of the files', async () => {
    const [a, b, c] = [
      document('a', { on: job('b') }),
      document('b', { on: job('c') }),
      document('c', { on: job('a') }),
    ] as const;
    const expected = [
      'DependencyCycle a.yaml:6@aaaaaaaa: Job.batch shop/a: these depend on each other: Job.batch shop/a (a.yaml:1) → ' +
        'Job.batch shop/b (b.yaml:1) → Job.batch shop/c (b.yaml:8) → Job.batch shop/a. Remove one of these dependencies.',
    ];
    expect(told(await prepare({ 'a.yaml': [a], 'b.yaml': [b, c] }))).toEqual(expected);
    expect(told(await prepare({ 'b.yaml': [b, c], 'a.yaml': [a] }))).toEqual(expected);
  });

  it('on itself is a cycle of one', async () => {
    expect(told(await prepare({ 'a.yaml': [document('a', { on: job('a') })] }))).toEqual([
      'DependencyCycle a.yaml:6@aaaaaaaa: Job.batch shop/a: these depend on each other: Job.batch shop/a (a.yaml:1) → ' +
        'Job.batch shop/a. Remove one of these dependencies.',
    ]);
  });

  it('two cycles are two problems, and what hangs on them is none', async () => {
    const prepared = await prepare({
      'a.yaml': [
        document('a', { on: job('b') }),
        document('b', { on: job('a') }),
        document('c', { on: job('d') }),
        document('d', { on: job('c') }),
        document('e', { on: `${job('a')},${job('c')}` }),
      ],
    });
    expect(prepared.problems.map(({ code, object }) => [code, object])).toEqual([
      ['DependencyCycle', 'Job.batch shop/a'],
      ['DependencyCycle', 'Job.batch shop/c'],
    ]);
  });

  it('in cycles without number: the first are told', async () => {
    const count = 3_000;
    const all = Array.from({ length: count }, (_, index) => {
      const on = [(index + 1) % count, 0].map((other) => job(`x${String(other)}`)).join(',');
      return document(`x${String(index)}`, { on });
    });
    const { problems } = await prepare({ 'a.yaml': all });
    expect(problems.map(({ code }) => code)).toEqual(Array.from({ length: 100 }, () => 'DependencyCycle'));
  });

  it('on what is not in the commit', async () => {
    expect(
      told(await prepare({ 'a.yaml': [document('a', { on: '/namespaces/other/ConfigMap/b' })] })),
    ).toEqual([
      'DependencyMissing a.yaml:6@aaaaaaaa: Job.batch shop/a: it depends on ConfigMap other/b, which is not in the commit. ' +
        'Correct the reference, add the object to the commit, or remove the annotation.',
    ]);
  });

  it('on what a later stage or a later wave brings', async () => {
    const { problems } = await prepare({
      'a.yaml': [
        document('settings', { type: 'v1 ConfigMap', on: job('late') }),
        document('early', { on: job('late') }),
        document('late', { wave: 3 }),
      ],
    });
    expect(problems).toMatchObject([
      {
        code: 'DependencyOrder',
        message: 'it depends on Job.batch shop/late, but configuration is applied before workloads.',
        next: expect.stringMatching(
          /^Remove the annotation: foundations, configuration, network, workloads, rest come/,
        ),
      },
      {
        code: 'DependencyOrder',
        message:
          'it depends on Job.batch shop/late, which is in wave 3 of their stage, and itself in wave 0.',
      },
    ]);
  });
});
