/** Files that a commit is refused for, by their number in the checklist of bad inputs, and what people are told of each. */

import type { FileChange } from './git-repository.ts';
import { named } from './bad-input-ground.ts';
import { aliasBomb, mergeStorm } from './yaml-bombs.ts';

export interface BadFiles {
  /** In the checklist. */
  readonly number: number;
  readonly what: string;
  /** In the folder of the manifests. Some name the namespace of the repository's objects. */
  readonly files: (namespace: string) => Readonly<Record<string, FileChange>>;
  /** Each line that is told, by their order; `SHA` is the commit's. */
  readonly told: readonly string[];
}

const of = (kind: string, metadata: string, more = ''): string =>
  `apiVersion: v1\nkind: ${kind}\nmetadata: ${metadata}\n${more}`;
const yaml = (text: string) => () => ({ 'bad.yaml': text });

export const BAD_FILES: readonly BadFiles[] = [
  {
    number: 1,
    what: 'a symbolic link instead of a file',
    files: () => ({ 'bad.yaml': { link: '/etc/passwd' } }),
    told: ['SymlinkRefused deploy/web/bad.yaml@SHA: deploy/web/bad.yaml is a symbolic link. Replace'],
  },
  {
    number: 2,
    what: 'a symbolic link to a folder',
    files: () => ({ '../../real/a.yaml': named('real'), 'chart.d': { link: '../../real' } }),
    told: ['SymlinkRefused deploy/web/chart.d@SHA: deploy/web/chart.d is a symbolic link to a folder.'],
  },
  {
    number: 2,
    what: 'a symbolic link in the middle of the path',
    files: () => ({ '../../real/web/a.yaml': named('real'), '../../deploy': { link: 'real' } }),
    told: ['SymlinkRefused deploy@SHA: deploy is a symbolic link.'],
  },
  {
    number: 3,
    what: 'a symbolic link to itself',
    files: () => ({ 'bad.yaml': { link: 'bad.yaml' } }),
    told: ['SymlinkRefused deploy/web/bad.yaml@SHA: deploy/web/bad.yaml is a symbolic link'],
  },
  {
    number: 6,
    what: 'a pointer of Git LFS',
    files: yaml('version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n'),
    told: ['LfsPointer deploy/web/bad.yaml@SHA: the file is a Git LFS pointer.'],
  },
  {
    number: 11,
    what: 'more than 10 MB together',
    files: () =>
      Object.fromEntries(
        Array.from({ length: 11 }, (_, index) => [
          `${index}.yaml`,
          `# ${'x'.repeat(1_000_000)}\n${named(`x${index}`)}`,
        ]),
      ),
    told: ['CommitTooLarge commit SHA: the manifests of commit SHA have 11'],
  },
  {
    number: 12,
    what: 'an alias bomb',
    files: yaml(`${named('bomb')}spec:\n${aliasBomb().replaceAll(/^/gm, '  ')}\n`),
    told: [
      'TooComplex deploy/web/bad.yaml:11@SHA: its aliases and merge keys expand to more than 100000 values',
    ],
  },
  {
    number: 13,
    what: 'ten thousand levels',
    files: yaml(`${named('deep')}spec: ${'['.repeat(10_000)}${']'.repeat(10_000)}\n`),
    told: ['TooComplex deploy/web/bad.yaml:5@SHA: nesting'],
  },
  {
    number: 14,
    what: 'a storm of merge keys',
    files: yaml(mergeStorm()),
    told: ['TooComplex deploy/web/bad.yaml:36@SHA: its aliases and merge keys expand to more'],
  },
  {
    number: 15,
    what: 'an alias that contains itself',
    files: yaml(named('cycle', '&x {a: *x}')),
    told: ['YamlSyntax deploy/web/bad.yaml:4@SHA: an anchor (&) contains itself'],
  },
  {
    number: 16,
    what: 'a key twice',
    files: yaml('apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: x\n  name: y\n'),
    told: ['DuplicateKey deploy/web/bad.yaml:5@SHA: the key "name" appears twice in one mapping.'],
  },
  {
    number: 17,
    what: '__proto__ and constructor where they mean nothing',
    files: yaml(`${named('x')}__proto__: {metadata: {name: y}}\nconstructor: 1\n`),
    told: [
      'UnknownField deploy/web/bad.yaml:5@SHA: ConfigMap NS/x: unknown field ".__proto__"',
      'UnknownField deploy/web/bad.yaml:6@SHA: ConfigMap NS/x: unknown field ".constructor"',
    ],
  },
  {
    number: 18,
    what: 'tags of languages, of bytes, of nobody',
    files: yaml(
      ['!!js/function "function () {}"', '!!binary aGVsbG8=', '!mine 3']
        .map((value) => named('x', `{a: ${value}}`))
        .join('---\n'),
    ),
    told: [4, 9, 14].map(
      (line) => `YamlSyntax deploy/web/bad.yaml:${line}@SHA: a tag (!) has no meaning in a manifest`,
    ),
  },
  {
    number: 19,
    what: 'keys that are no text',
    files: yaml([named('x', '{~: a}'), named('y', '{? [a] : b}'), named('z', '{on: 1}')].join('---\n')),
    told: [
      'YamlSyntax deploy/web/bad.yaml:4@SHA: a key must be text, not null',
      'YamlSyntax deploy/web/bad.yaml:9@SHA: a key must be text, not a list',
      'Invalid deploy/web/bad.yaml:14@SHA: ConfigMap z: data[true] must be a string and is a number',
    ],
  },
  {
    number: 20,
    what: 'tabs and NUL characters',
    files: () => ({
      'bad.yaml': `${named('x', '')}\tkey: "1"\n`,
      'nul.yaml': named('z', '{a: "x\u0000"}'),
    }),
    told: [
      'YamlSyntax deploy/web/bad.yaml:5@SHA: tab characters must not be used',
      'NotText deploy/web/nul.yaml@SHA: the file holds NUL characters.',
    ],
  },
  {
    number: 21,
    what: 'empty documents and comments alone',
    files: () => ({ 'bad.yaml': '---\n# nothing\n---\n\n', 'config.yaml': '', 'half.yaml': '# nothing\n' }),
    told: ['NoManifests commit SHA: deploy/web holds no manifests in this commit. Nothing was pruned.'],
  },
  {
    number: 22,
    what: 'a List of what is no object, beside null, and one without items',
    files: yaml(
      'apiVersion: v1\nkind: List\nitems:\n- null\n- text\n- - nested\n- apiVersion: v1\n  kind: List\n  items: [3]\n---\napiVersion: v1\nkind: List\n',
    ),
    told: [
      'NotAnObject deploy/web/bad.yaml:1@SHA: ',
      'NotAnObject deploy/web/bad.yaml:6@SHA: ',
      'NotAnObject deploy/web/bad.yaml:7@SHA: ',
      'ObjectIncomplete deploy/web/bad.yaml:11@SHA: List: items is missing, and must be a list.',
    ],
  },
  {
    number: 23,
    what: 'objects without kind, without name, with a name to be generated',
    files: yaml(
      [
        'apiVersion: v1\nmetadata: {name: x}\n',
        of('ConfigMap', '{}'),
        of('ConfigMap', '{generateName: x-}'),
      ].join('---\n'),
    ),
    told: [
      'ObjectIncomplete deploy/web/bad.yaml:1@SHA: kind is missing.',
      'ObjectIncomplete deploy/web/bad.yaml:4@SHA: ConfigMap: metadata.name is missing.',
      'GenerateName deploy/web/bad.yaml:8@SHA: ConfigMap: metadata.generateName without metadata.name.',
    ],
  },
  {
    number: 24,
    what: 'an object twice, once with its namespace and once without',
    files: (namespace) => ({
      'bad.yaml': named('x'),
      'worse.yaml': of('ConfigMap', `{name: x, namespace: ${namespace}}`),
    }),
    told: [
      'DuplicateObject deploy/web/worse.yaml:1@SHA: ConfigMap NS/x: it is also in deploy/web/bad.yaml:1.',
    ],
  },
  {
    number: 25,
    what: 'a name of more than 253 characters',
    files: yaml(named('x'.repeat(254))),
    told: [
      'ObjectIncomplete deploy/web/bad.yaml:1@SHA: ConfigMap: metadata.name is not a name Kubernetes allows.',
    ],
  },
  {
    number: 25,
    what: 'a name that no DNS takes',
    files: yaml(named('Not_Dns')),
    told: ['Invalid deploy/web/bad.yaml:3@SHA: ConfigMap NS/Not_Dns: metadata.name: '],
  },
  {
    number: 26,
    what: 'a kind that is not there',
    files: yaml('# first\napiVersion: absent.example.com/v1\nkind: Widget\nmetadata: {name: it}\n'),
    told: [
      'UnknownKind deploy/web/bad.yaml:2@SHA: Widget.absent.example.com it: the cluster has no API group absent',
    ],
  },
  {
    number: 27,
    what: 'objects of the whole cluster and of another namespace from a tenant',
    files: yaml(
      [
        of('Namespace', '{name: more}'),
        of('ConfigMap', '{name: x, namespace: kube-system}'),
        'apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: mine}\nrules: []\n',
      ].join('---\n'),
    ),
    told: [
      'Forbidden deploy/web/bad.yaml:1@SHA: Namespace more: ',
      'Forbidden deploy/web/bad.yaml:5@SHA: ConfigMap kube-system/x: ',
      'Forbidden deploy/web/bad.yaml:9@SHA: ClusterRole.rbac.authorization.k8s.io mine: ',
    ],
  },
  {
    number: 29,
    what: 'fields that the cluster writes',
    files: yaml(
      [
        of('ConfigMap', '{name: a}', 'status: {a: 1}\n'),
        of('ConfigMap', '{name: b, managedFields: []}'),
        of('ConfigMap', '{name: c, resourceVersion: "1"}'),
        of('ConfigMap', '{name: d, uid: u}'),
        of('ConfigMap', '{name: e, ownerReferences: []}'),
      ].join('---\n'),
    ),
    told: [
      'ForbiddenField deploy/web/bad.yaml:1@SHA: ConfigMap a: status must not be in a manifest.',
      'ForbiddenField deploy/web/bad.yaml:6@SHA: ConfigMap b: metadata.managedFields must not',
      'ForbiddenField deploy/web/bad.yaml:10@SHA: ConfigMap c: metadata.resourceVersion must not',
      'ForbiddenField deploy/web/bad.yaml:14@SHA: ConfigMap d: metadata.uid must not',
      'ForbiddenField deploy/web/bad.yaml:18@SHA: ConfigMap e: metadata.ownerReferences must not',
    ],
  },
  {
    number: 33,
    what: 'the path is gone',
    files: () => ({ '../../elsewhere/a.yaml': named('one'), '../../deploy': undefined }),
    told: ['PathVanished deploy/web@SHA: the path deploy does not exist in commit SHA. Nothing was pruned.'],
  },
  {
    number: 42,
    what: 'numbers and durations that are none',
    files: yaml(
      [
        of('Service', '{name: x}', 'spec: {ports: [{port: 1e999}]}\n'),
        of('Service', '{name: y}', 'spec: {ports: [{port: .inf}]}\n'),
        'apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: z}\nspec:\n  minReadySeconds: -1s\n  selector: {matchLabels: {app: z}}\n' +
          '  template: {metadata: {labels: {app: z}}, spec: {containers: [{name: main, image: "example.com/a:1"}]}}\n',
      ].join('---\n'),
    ),
    told: [
      'Invalid deploy/web/bad.yaml:4@SHA: Service NS/x: ',
      'NumberNotFinite deploy/web/bad.yaml:9@SHA: ',
      'Invalid deploy/web/bad.yaml:15@SHA: Deployment.apps NS/z: ',
    ],
  },
];
