/**
 * Files that a commit is refused for, by their number in the checklist of bad inputs, and what people are told of each. A report tells of
 * all of a commit, of at most twenty mistakes each: these come in three commits.
 */

import type { FileChange } from './git-repository.ts';
import { NO_UTF8 } from './git-repository.ts';
import { FOLDER, named } from './bad-input-ground.ts';
import { aliasBomb, mergeStorm } from './yaml-bombs.ts';

export interface BadFile {
  /** In the checklist. */
  readonly number: number;
  readonly what: string;
  /** In the folder of the manifests. */
  readonly file: string;
  /** Undefined: made by the test. Some name the namespace of the repository's objects, or the neighbour's. */
  readonly content:
    Exclude<FileChange, undefined> | ((namespace: string, neighbour: string) => string) | undefined;
  /** How each line that is told of it begins; `FILE` is the file with its folder, `SHA` the commit's, `NS` the namespace. */
  readonly told: readonly string[];
}

/** What is in the file; undefined: the test makes it. */
export function contentOf(
  { content }: BadFile,
  namespace: string,
  neighbour: string,
): Exclude<FileChange, undefined> | undefined {
  return typeof content === 'function' ? content(namespace, neighbour) : content;
}

/** How each line of the report begins, by the order of files. */
export function toldOf(files: readonly BadFile[]): readonly string[] {
  return files
    .toSorted((a, b) => (a.file < b.file ? -1 : 1))
    .flatMap(({ file, told }) => told.map((line) => line.replaceAll('FILE', `${FOLDER}/${file}`)));
}

const of = (kind: string, metadata: string, more = ''): string =>
  `apiVersion: v1\nkind: ${kind}\nmetadata: ${metadata}\n${more}`;

/** What cannot be read as files, or as YAML. */
export const UNREAD_FILES: readonly BadFile[] = [
  {
    number: 1,
    what: 'a symbolic link instead of a file',
    file: '01.yaml',
    content: { link: '/etc/passwd' },
    told: ['SymlinkRefused FILE@SHA: FILE is a symbolic link. Replace'],
  },
  {
    number: 2,
    what: 'a symbolic link to a folder',
    file: '02.d',
    content: { link: '../../real' },
    told: ['SymlinkRefused FILE@SHA: FILE is a symbolic link to a folder.'],
  },
  {
    number: 3,
    what: 'a symbolic link to itself',
    file: '03.yaml',
    content: { link: '03.yaml' },
    told: ['SymlinkRefused FILE@SHA: FILE is a symbolic link'],
  },
  {
    number: 5,
    what: 'a submodule',
    file: '05',
    content: undefined,
    told: ['SubmoduleRefused FILE@SHA: FILE is a submodule.'],
  },
  {
    number: 6,
    what: 'a pointer of Git LFS',
    file: '06.yaml',
    content: 'version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n',
    told: ['LfsPointer FILE@SHA: the file is a Git LFS pointer.'],
  },
  {
    number: 12,
    what: 'an alias bomb',
    file: '12.yaml',
    content: `${named('bomb')}spec:\n${aliasBomb().replaceAll(/^/gm, '  ')}\n`,
    told: ['TooComplex FILE:11@SHA: its aliases and merge keys expand to more than 100000 values'],
  },
  {
    number: 13,
    what: 'ten thousand levels',
    file: '13.yaml',
    content: `${named('deep')}spec: ${'['.repeat(10_000)}${']'.repeat(10_000)}\n`,
    told: ['TooComplex FILE:5@SHA: nesting'],
  },
  {
    number: 14,
    what: 'a storm of merge keys',
    file: '14.yaml',
    content: mergeStorm(),
    told: ['TooComplex FILE:36@SHA: its aliases and merge keys expand to more'],
  },
  {
    number: 15,
    what: 'an alias that contains itself',
    file: '15.yaml',
    content: named('cycle', '&x {a: *x}'),
    told: ['YamlSyntax FILE:4@SHA: an anchor (&) contains itself'],
  },
  {
    number: 16,
    what: 'a key twice',
    file: '16.yaml',
    content: 'apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: x\n  name: y\n',
    told: ['DuplicateKey FILE:5@SHA: the key "name" appears twice in one mapping.'],
  },
  {
    number: 17,
    what: '__proto__ and constructor where they mean nothing',
    file: '17.yaml',
    content: `${named('plain')}__proto__: {metadata: {name: y}}\nconstructor: 1\n`,
    told: [
      'UnknownField FILE:5@SHA: ConfigMap NS/plain: unknown field ".__proto__"',
      'UnknownField FILE:6@SHA: ConfigMap NS/plain: unknown field ".constructor"',
    ],
  },
  {
    number: 18,
    what: 'tags of languages, of bytes, of nobody',
    file: '18.yaml',
    content: ['!!js/function "function () {}"', '!!binary aGVsbG8=', '!mine 3']
      .map((value) => named('x', `{a: ${value}}`))
      .join('---\n'),
    told: [4, 9, 14].map((line) => `YamlSyntax FILE:${line}@SHA: a tag (!) has no meaning in a manifest`),
  },
  {
    number: 19,
    what: 'keys that are no text',
    file: '19.yaml',
    content: [named('x', '{~: a}'), named('y', '{? [a] : b}'), named('z', '{on: 1}')].join('---\n'),
    told: [
      'YamlSyntax FILE:4@SHA: a key must be text, not null',
      'YamlSyntax FILE:9@SHA: a key must be text, not a list',
      'Invalid FILE:14@SHA: ConfigMap z: data[true] must be a string and is a number',
    ],
  },
  {
    number: 20,
    what: 'NUL characters',
    file: '20-nul.yaml',
    content: named('z', '{a: "x\u0000"}'),
    told: ['NotText FILE@SHA: the file holds NUL characters.'],
  },
  {
    number: 20,
    what: 'tabs',
    file: '20-tab.yaml',
    content: `${named('x', '')}\tkey: "1"\n`,
    told: ['YamlSyntax FILE:5@SHA: tab characters must not be used'],
  },
];

const LONG = `${'d'.repeat(200)}/`.repeat(20);

/** Names of files, as git has them and as they are shown, by the order of the report. */
export const ODD_NAMES: readonly (readonly [name: Buffer, shown: string])[] = [
  [Buffer.from('--output=x.yaml'), '--output=x.yaml'],
  [Buffer.from('-rf.yaml'), '-rf.yaml'],
  [Buffer.from(`${LONG}a.yaml`), `${LONG}a.yaml`],
  [NO_UTF8, 'f\ufffd\ufffd.yaml'],
  [Buffer.from('tab\t\u001b[31m.yaml'), 'tab \\u001b[31m.yaml'],
  [Buffer.from('two\nlines.yaml'), 'two lines.yaml'],
];

/** Objects that are none, or that the cluster does not take. */
export const UNUSABLE_OBJECTS: readonly BadFile[] = [
  {
    number: 22,
    what: 'a List of what is no object, beside null, and one without items',
    file: '22.yaml',
    content:
      'apiVersion: v1\nkind: List\nitems:\n- null\n- text\n- - nested\n- apiVersion: v1\n  kind: List\n  items: [3]\n---\napiVersion: v1\nkind: List\n',
    told: [
      'NotAnObject FILE:1@SHA: items[0] of the list is null, not a Kubernetes object.',
      'NotAnObject FILE:1@SHA: items[1] of the list is a string, not a Kubernetes object.',
      'NotAnObject FILE:6@SHA: items[2] of the list is a list, not a Kubernetes object.',
      'NotAnObject FILE:7@SHA: items[0] of the list is a number, not a Kubernetes object.',
      'ObjectIncomplete FILE:11@SHA: List: items is missing, and must be a list. Add the missing field.',
    ],
  },
  {
    number: 23,
    what: 'objects without kind, without name, with a name to be generated',
    file: '23.yaml',
    content: [
      'apiVersion: v1\nmetadata: {name: x}\n',
      of('ConfigMap', '{}'),
      of('ConfigMap', '{generateName: x-}'),
    ].join('---\n'),
    told: [
      'ObjectIncomplete FILE:1@SHA: kind is missing.',
      'ObjectIncomplete FILE:4@SHA: ConfigMap: metadata.name is missing. Add the missing field.',
      'GenerateName FILE:8@SHA: ConfigMap: metadata.generateName without metadata.name.',
    ],
  },
  {
    number: 24,
    what: 'an object twice, once with its namespace and once without',
    file: '24.yaml',
    content: (namespace) =>
      `${named('twice')}---\n${of('ConfigMap', `{name: twice, namespace: ${namespace}}`)}`,
    told: ['DuplicateObject FILE:6@SHA: ConfigMap NS/twice: it is also in FILE:1.'],
  },
  {
    number: 25,
    what: 'a name of more than 253 characters, and one that no DNS takes',
    file: '25.yaml',
    content: `${named('x'.repeat(254))}---\n${named('Not_Dns')}`,
    told: [
      'ObjectIncomplete FILE:3@SHA: ConfigMap: metadata.name is "xxxxxxxx',
      'Invalid FILE:8@SHA: ConfigMap NS/Not_Dns: metadata.name: ',
    ],
  },
  {
    number: 26,
    what: 'a kind that is not there',
    file: '26.yaml',
    content: '# first\napiVersion: absent.example.com/v1\nkind: Widget\nmetadata: {name: it}\n',
    told: ['UnknownKind FILE:2@SHA: Widget.absent.example.com it: the cluster has no API group absent'],
  },
];

/** What is not the repository's to write, and values that are none. */
export const FOREIGN_OBJECTS: readonly BadFile[] = [
  {
    number: 9,
    what: 'a file of 100 MB',
    file: '09.yaml',
    content: undefined,
    told: ['FileTooLarge FILE@SHA: the file has 104857600 bytes, at most 1048576 are read.'],
  },
  {
    number: 27,
    what: 'objects of the whole cluster and of another namespace from a tenant',
    file: '27.yaml',
    content: [
      of('Namespace', '{name: more}'),
      of('ConfigMap', '{name: x, namespace: kube-system}'),
      'apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: mine}\nrules: []\n',
    ].join('---\n'),
    told: [
      'Forbidden FILE:1@SHA: Namespace more: ',
      'Forbidden FILE:5@SHA: ConfigMap kube-system/x: ',
      'Forbidden FILE:9@SHA: ClusterRole.rbac.authorization.k8s.io mine: ',
    ],
  },
  {
    number: 28,
    what: 'an object of the neighbour, and one of the set of another tool',
    file: '28.yaml',
    content: (_, neighbour) => `${named(`config, namespace: ${neighbour}`)}---\n${named('theirs')}`,
    told: [
      'OwnedByOther FILE:1@SHA: ConfigMap OTHER/config: repository good applies this',
      'OwnedByOther FILE:6@SHA: ConfigMap NS/theirs: ',
    ],
  },
  {
    number: 29,
    what: 'fields that the cluster writes',
    file: '29.yaml',
    content: [
      of('ConfigMap', '{name: a}', 'status: {a: 1}\n'),
      of('ConfigMap', '{name: b, managedFields: []}'),
      of('ConfigMap', '{name: c, resourceVersion: "1"}'),
      of('ConfigMap', '{name: d, uid: u}'),
      of('ConfigMap', '{name: e, ownerReferences: []}'),
    ].join('---\n'),
    told: [
      'ForbiddenField FILE:4@SHA: ConfigMap a: status must not be in a manifest.',
      'ForbiddenField FILE:8@SHA: ConfigMap b: metadata.managedFields must not',
      'ForbiddenField FILE:12@SHA: ConfigMap c: metadata.resourceVersion must not',
      'ForbiddenField FILE:16@SHA: ConfigMap d: metadata.uid must not',
      'ForbiddenField FILE:20@SHA: ConfigMap e: metadata.ownerReferences must not',
    ],
  },
  {
    number: 42,
    what: 'numbers and durations that are none',
    file: '42.yaml',
    content: [
      of('Service', '{name: x}', 'spec: {ports: [{port: 1e999}]}\n'),
      of('Service', '{name: y}', 'spec: {ports: [{port: .inf}]}\n'),
      'apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: z}\nspec:\n  minReadySeconds: -1s\n  selector: {matchLabels: {app: z}}\n' +
        '  template: {metadata: {labels: {app: z}}, spec: {containers: [{name: main, image: "example.com/a:1"}]}}\n',
    ].join('---\n'),
    told: [
      'Invalid FILE:4@SHA: Service NS/x: ',
      'NumberNotFinite FILE:9@SHA: ',
      'Invalid FILE:15@SHA: Deployment.apps NS/z: ',
    ],
  },
];
