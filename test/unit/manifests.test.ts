import { describe, expect, it } from '@jest/globals';

import { ManifestReader, canonicalJson } from '../../git/manifests.ts';
import { formatProblem, mayPassLater } from '../../git/problems.ts';

const SHA = '0123456789abcdef0123456789abcdef01234567';

function readAll(files: Readonly<Record<string, string>>): ManifestReader {
  const reader = new ManifestReader();
  for (const [path, text] of Object.entries(files)) {
    for (const _document of reader.read({ path, text }));
  }
  return reader;
}

function parse(text: string, path = 'a.yaml') {
  const { manifests, problems } = readAll({ [path]: text });
  return { manifests, problems: problems.map((item) => formatProblem(item, SHA)) };
}

describe('manifests', () => {
  it('flattens Lists, typed and nested, and gives each item its place', () => {
    const text = `apiVersion: v1
kind: List
items:
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: one}
- apiVersion: v1
  kind: ConfigMapList
  items:
  - apiVersion: v1
    kind: ConfigMap
    metadata: {name: two, namespace: ns}
  - metadata: {name: like-the-apiserver-says-it}
---
# nothing
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: three}
`;
    const { manifests, problems } = parse(text);
    expect(problems).toEqual([]);
    expect(
      manifests.map(({ group, version, kind, namespace, name, line }) => [
        group,
        version,
        kind,
        namespace,
        name,
        line,
      ]),
    ).toEqual([
      ['', 'v1', 'ConfigMap', undefined, 'one', 4],
      ['', 'v1', 'ConfigMap', 'ns', 'two', 10],
      ['', 'v1', 'ConfigMap', undefined, 'like-the-apiserver-says-it', 13],
      ['apps', 'v1', 'Deployment', undefined, 'three', 17],
    ]);
  });

  it.each(['List', 'ConfigMapList'])('does not pass over a null in a %s', (kind) => {
    const { manifests, problems } = parse(`apiVersion: v1\nkind: ${kind}\nitems:\n-\n`);
    expect(manifests).toEqual([]);
    expect(problems).toEqual([
      expect.stringMatching(
        /^NotAnObject .*: items\[\d\] of the list is null, .* or take it out of the list\.$/,
      ),
    ]);
  });

  it('reads JSON files, and every object of a file of lines', () => {
    expect(
      parse('{"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "x"}}\n', 'x.json').manifests,
    ).toMatchObject([{ kind: 'Secret', name: 'x', line: 1 }]);
  });

  it('does not take a custom kind that ends in List for a list', () => {
    const { manifests } = parse(
      'apiVersion: x.io/v1\nkind: AllowList\nmetadata: {name: a}\nspec: {items: [1]}\n',
    );
    expect(manifests).toMatchObject([{ kind: 'AllowList' }]);
    expect(
      parse('apiVersion: x.io/v1\nkind: DenyList\nmetadata: {name: b}\nitems: {a: 1}\n').manifests,
    ).toMatchObject([{ kind: 'DenyList', name: 'b' }]);
  });

  it('an empty List is nothing, and no mistake', () => {
    expect(parse('apiVersion: v1\nkind: List\nitems: []\n---\napiVersion: v1\nkind: List\nitems:\n')).toEqual(
      {
        manifests: [],
        problems: [],
      },
    );
  });

  it.each([
    ['just text', 'NotAnObject a.yaml:1@01234567: the document is a string, not a Kubernetes object.'],
    ['- a\n- b', 'NotAnObject a.yaml:1@01234567: the document is a list, not'],
    ['a: 1', 'NotAnObject a.yaml:1@01234567: the document has neither apiVersion nor kind.'],
    ['apiVersion: v1\nmetadata: {name: x}', 'ObjectIncomplete a.yaml:1@01234567: kind is missing.'],
    ['kind: Pod\nmetadata: {name: x}', 'ObjectIncomplete a.yaml:1@01234567: Pod: apiVersion is missing.'],
    [
      'apiVersion: a/b/c\nkind: Pod\nmetadata: {name: x}',
      'ObjectIncomplete a.yaml:1@01234567: Pod: apiVersion a/b/c is not GROUP/VERSION. Correct the field.',
    ],
    [
      '# typo\napiVersion: v1\nkind: List\nitem:\n- apiVersion: v1\n  kind: Pod\n',
      'ObjectIncomplete a.yaml:2@01234567: List: items is missing, and must be a list. Add the missing field.',
    ],
    [
      'apiVersion: v1\nkind: List\nmetadata: {name: x}\nitems: {a: {kind: Pod}}',
      'ObjectIncomplete a.yaml:4@01234567: List: items is a mapping, and must be a list. Correct the field.',
    ],
    [
      'apiVersion: v1\nkind: ConfigMapList\nitems: {a: {kind: ConfigMap}}',
      'ObjectIncomplete a.yaml:3@01234567: ConfigMapList: items is a mapping',
    ],
    [
      'apiVersion: v1\nkind: Pod\nmetadata: [a]',
      'ObjectIncomplete a.yaml:3@01234567: Pod: metadata is a list. Correct the field.',
    ],
    ['apiVersion: v1\nkind: [a]', 'ObjectIncomplete a.yaml:2@01234567: kind is a list. Correct the field.'],
    ['apiVersion: v1\nkind: Pod', 'ObjectIncomplete a.yaml:1@01234567: Pod: metadata is missing.'],
    [
      'apiVersion: v1\nkind: Pod\nmetadata: {}',
      'ObjectIncomplete a.yaml:1@01234567: Pod: metadata.name is missing. Add the missing field.',
    ],
    [
      'apiVersion: v1\nkind: Pod\nmetadata:\n  name: y',
      'Invalid a.yaml:4@01234567: Pod: metadata.name is a boolean, and must be text. Quote the value.',
    ],
    [
      'apiVersion: v1\nkind: Pod\nmetadata: {name: ../x}',
      'ObjectIncomplete a.yaml:3@01234567: Pod: metadata.name is "../x", which is not a name Kubernetes allows. Correct it',
    ],
    [
      'apiVersion: v1\nkind: Pod\nmetadata: {name: x, namespace: a/b}',
      'ObjectIncomplete a.yaml:3@01234567: Pod a/b/x: metadata.namespace is "a/b", which is not a name',
    ],
    [
      'apiVersion: v1\nkind: Pod\nmetadata: {generateName: x-}',
      'GenerateName a.yaml:1@01234567: Pod: metadata.generateName without metadata.name. Give the object',
    ],
    [
      'apiVersion: v1\nkind: Pod\nmetadata: {name: x}\nstatus: {phase: Running}',
      'ForbiddenField a.yaml:4@01234567: Pod x: status must not',
    ],
    [
      'apiVersion: v1\nkind: Pod\nmetadata: {name: x, uid: abc}',
      'ForbiddenField a.yaml:3@01234567: Pod x: metadata.uid must not',
    ],
    [
      'apiVersion: v1\nkind: Pod\nmetadata: {name: x, resourceVersion: "1"}',
      'ForbiddenField a.yaml:3@01234567: Pod x: metadata.resourceVersion',
    ],
    [
      'apiVersion: v1\nkind: Pod\nmetadata: {name: x, managedFields: []}',
      'ForbiddenField a.yaml:3@01234567: Pod x: metadata.managedFields',
    ],
    [
      'apiVersion: v1\nkind: Pod\nmetadata: {name: x, ownerReferences: []}',
      'ForbiddenField a.yaml:3@01234567: Pod x: metadata.ownerReferences',
    ],
    [
      'apiVersion: v1\nkind: Pod\nmetadata: {name: x, labels: {applyset.kubernetes.io/part-of: abc, a: b}}',
      'ForbiddenField a.yaml:3@01234567: Pod x: the label applyset.kubernetes.io/part-of must not',
    ],
    [
      'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x, labels: {fairlead.dev/inventory: abc}}',
      'ForbiddenField a.yaml:3@01234567: ConfigMap x: the label fairlead.dev/inventory must not',
    ],
    [
      'apiVersion: v1\nkind: Pod\nmetadata: {name: x, annotations: {fairlead.dev/commit: abc}}',
      'ForbiddenField a.yaml:3@01234567: Pod x: the annotation fairlead.dev/commit',
    ],
    [
      'apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: []',
      'NotRendered a.yaml:1@01234567: Kustomization: a kustomization is not a manifest. Commit the rendered',
    ],
  ])('%j', (text, expected) => {
    const { manifests, problems } = parse(text);
    expect(manifests).toEqual([]);
    expect(problems).toHaveLength(1);
    expect(problems[0]?.startsWith(expected)).toBe(true);
  });

  it.each(['kustomization.yaml', 'base/kustomization.yml', 'Kustomization.yaml'])(
    '%s, which kustomize takes without apiVersion and kind',
    (path) => {
      const { problems } = parse('resources: [a.yaml]', path);
      const code = path.startsWith('K') ? 'NotAnObject' : 'NotRendered';
      expect(problems).toEqual([expect.stringMatching(new RegExp(`^${code} ${path}:1@`))]);
    },
  );

  it.each([
    [
      'kind: Secret\ndata:\n  a: aGVsbG8=\n  b: hunter2',
      'Invalid a.yaml:6@01234567: Secret x: data[b] is not base64: plain text belongs into stringData.',
    ],
    [
      'kind: Secret\nstringData:\n  port: 80',
      'Invalid a.yaml:5@01234567: Secret x: stringData[port] must be a string and is a number: quote it.',
    ],
    [
      'kind: Secret\nstringData:\n  password: {a: hunter2}',
      'Invalid a.yaml:5@01234567: Secret x: stringData[password] must be a string and is a mapping: write it as a block of text (`|`).',
    ],
    [
      'kind: ConfigMap\ndata:\n  hosts:\n  - a',
      'Invalid a.yaml:5@01234567: ConfigMap x: data[hosts] must be a string and is a list: write it as a block of text (`|`).',
    ],
    [
      'kind: ConfigMap\ndata:\n  on: yes',
      'Invalid a.yaml:5@01234567: ConfigMap x: data[true] must be a string and is a boolean: quote it (a key y, n, yes, no, on or off is read as true: quote the key, too, if that is meant).',
    ],
    [
      'kind: Secret\nstringData: [hunter2]',
      'Invalid a.yaml:4@01234567: Secret x: stringData must be a mapping and is a list: write each value under its key.',
    ],
    [
      'kind: Secret\ndata: hunter2',
      'Invalid a.yaml:4@01234567: Secret x: data must be a mapping and is a string: write each value under its key.',
    ],
    [
      'kind: ConfigMap\nbinaryData: {a: "%"}',
      'Invalid a.yaml:4@01234567: ConfigMap x: binaryData[a] is not base64: plain text belongs into data.',
    ],
  ])('says what is wrong with a value without quoting it: %j', (text, expected) => {
    const { problems } = parse(`apiVersion: v1\nmetadata: {name: x}\n${text}\n`);
    expect(problems).toHaveLength(1);
    expect(problems[0]).toContain(expected);
  });

  it.each([
    ['stringData: {a: x}', { data: { a: 'eA==' } }],
    ['stringData: {a: x}\ndata: {a: eQ==, b: eQ==}', { data: { a: 'eA==', b: 'eQ==' } }],
    ['stringData: {}', { data: {} }],
    ['stringData: {a: null}\ndata: {b: eQ==}', { stringData: { a: null }, data: { b: 'eQ==' } }],
  ])('keeps the values of a Secret in one place, whatever they are written in: %j', (values, expected) => {
    const { manifests } = parse(`apiVersion: v1\nkind: Secret\nmetadata: {name: x}\n${values}\n`);
    const { apiVersion: _, kind: __, metadata: ___, ...rest } = manifests[0]?.body ?? {};
    expect(rest).toEqual(expected);
  });

  it('tells everything that is wrong with one object', () => {
    const { manifests, problems } = parse(
      'apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: x\n  uid: u\n  annotations:\n    fairlead.dev/wave: soon\n    config.kubernetes.io/depends-on: nobody\ndata:\n  a: 1\n  b: true\nstatus: {a: 1}\n',
    );
    expect(manifests).toEqual([]);
    expect(problems).toEqual([
      expect.stringMatching(
        /^ForbiddenField a\.yaml:5@\w+: ConfigMap x: metadata\.uid, status must not be in a manifest\./,
      ),
      expect.stringMatching(/^Invalid a\.yaml:10@\w+: ConfigMap x: data\[a\] must be a string/),
      expect.stringMatching(/^Invalid a\.yaml:11@\w+: ConfigMap x: data\[b\] must be a string/),
      expect.stringMatching(/^BadWave a\.yaml:7@/),
      expect.stringMatching(/^BadDependency a\.yaml:8@/),
    ]);
  });

  it('takes what kubectl create --dry-run prints', () => {
    const { manifests, problems } = parse(
      'apiVersion: v1\nkind: Service\nmetadata:\n  creationTimestamp: null\n  name: x\nstatus:\n  loadBalancer: {}\n'
        .replace('  loadBalancer: {}\n', '')
        .replace('status:', 'status: {}'),
    );
    expect(problems).toEqual([]);
    expect(manifests).toHaveLength(1);
  });

  it('collects every problem of every file', () => {
    const { problems } = readAll({
      'a.yaml': 'a: [\n---\napiVersion: v1\nkind: Pod\n',
      'b.yaml': 'x: 1\nx: 2\n',
    });
    expect(problems.map(({ code, file, line }) => `${code} ${file ?? ''}:${line ?? ''}`)).toEqual([
      'YamlSyntax a.yaml:1',
      'ObjectIncomplete a.yaml:3',
      'DuplicateKey b.yaml:2',
    ]);
  });

  it('hashes what a manifest says, not how it is written', () => {
    const one = parse('apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\ndata: {a: "1", b: "2"}\n')
      .manifests[0];
    const same = parse(
      '# moved\n---\nkind: ConfigMap\ndata:\n  b: "2"\n  a: "1"\nmetadata:\n  name: x\napiVersion: v1\n',
    ).manifests[0];
    const other = parse('apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\ndata: {a: "1", b: "3"}\n')
      .manifests[0];
    expect(same?.hash).toBe(one?.hash);
    expect(other?.hash).not.toBe(one?.hash);
    const text = '{"a":true,"b":[1,{"c":"x","d":null}]}';
    const value = { b: [1, { d: null, c: 'x' }], a: true };
    expect(canonicalJson(value, text.length)).toBe(text);
    expect(canonicalJson(value, text.length - 1)).toBeUndefined();
  });

  describe('that are made to cost much', () => {
    const config = (name: string, data: string): string =>
      `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ${name}}\ndata: ${data}\n`;
    const times = (count: number, text: string): string =>
      `[${Array.from({ length: count }, () => text).join(',')}]`;

    it('a long text repeated by aliases: counted where it is expanded, not when it has filled the memory', () => {
      const text = `x: &x ${'a'.repeat(8_192)}\ny: &y ${times(50, '*x')}\nz: &z ${times(50, '*y')}\nall: ${times(39, '*z')}\n`;
      const { problems } = parse(text);
      expect(problems).toEqual([
        expect.stringMatching(
          /^TooComplex a\.yaml:3@.*: its aliases and merge keys expand to more than 10485760 characters in one commit\./,
        ),
      ]);
    });

    it('the JSON of an object ends at its limit, however much its aliases share', () => {
      // 3 characters each, as many values as the reader lets pass: nothing that a limit of characters there would see.
      const values = `x: &x ${times(300, 'aaa')}\ny: ${times(199, '*x')}\n`;
      const wide = parse(`apiVersion: v1\nkind: Thing\nmetadata: {name: x}\n${values}`);
      expect(wide.problems).toEqual([]);
      const long = `x: &x ${'a'.repeat(9_000)}\ny: ${times(199, '*x')}\n`;
      expect(parse(`apiVersion: v1\nkind: Thing\nmetadata: {name: x}\n${long}`).problems).toEqual([
        expect.stringMatching(/^ObjectTooLarge .* the object has more than 1048576 bytes as JSON\./),
      ]);
    });

    it('two hundred thousand empty documents cost nothing', () => {
      const begun = performance.now();
      expect(parse('---\n'.repeat(200_000))).toEqual({ manifests: [], problems: [] });
      expect(performance.now() - begun).toBeLessThan(60_000);
    });

    it('many small documents that expand share one budget, and the problems end as well', () => {
      const bomb = `x: &x ${times(50, 'a')}\ny: &y ${times(50, '*x')}\nz: ${times(30, '*y')}\n`;
      const begun = performance.now();
      const { problems } = parse(Array.from({ length: 3_000 }, () => bomb).join('---\n'));
      expect(performance.now() - begun).toBeLessThan(60_000);
      expect(problems).toHaveLength(1_001);
      expect(problems[0]).toMatch(
        /^TooManyProblems commit 01234567: reading was given up after 1000 problems; there may be more\. Correct these/,
      );
      expect(problems.at(-1)).toMatch(/expand to more than 500000 values in one commit/);
    });

    it('a file with ten thousand bad values is looked through once, and not to its end', () => {
      const bad = Array.from({ length: 10_000 }, (_, index) => config(`x${index}`, '{a: 1}')).join('---\n');
      const begun = performance.now();
      const { problems } = readAll({ 'a.yaml': bad, 'b.yaml': 'x: [' });
      expect(performance.now() - begun).toBeLessThan(60_000);
      expect(problems).toHaveLength(1_001);
      expect(problems.at(-1)).toMatchObject({ code: 'Invalid', file: 'a.yaml', line: 5 * 1_000 - 1 });
    });
  });

  it('shows control characters and direction marks of file names, it does not obey them', () => {
    const { problems } = parse('a: [', 'evil\u001b[31m\n\u202elmay.yaml');
    expect(problems[0]).toMatch(/^YamlSyntax evil\\u001b\[31m \\u202elmay\.yaml:\d@/);
  });
});

describe('what is wrong with the file alone', () => {
  it.each([
    'apiVersion: v1\nkind: Pod\nmetadata: {name: y}',
    'apiVersion: v1\nkind: Pod\nmetadata: {name: x, namespace: 1}',
    'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\ndata: {a: 1}',
  ])('is mended by another commit alone, though the code is one of the cluster: %j', (text) => {
    const { problems } = readAll({ 'a.yaml': text });
    expect(problems).toMatchObject([{ code: 'Invalid' }]);
    expect(mayPassLater({ first: problems })).toBe(false);
  });
});
