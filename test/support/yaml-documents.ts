/** Files of manifests as people and programs write them, and as nobody should: what kubectl and Fairlead must read alike. */

import { fc } from './properties.ts';
import type { BlockScalar } from './yaml-scalars.ts';
import { blockScalar, key, scalar } from './yaml-scalars.ts';

/** A value that knows how it is written in either place. */
interface Node {
  /** What follows `key:` or `-`, with the blank or the line break; `indent` is that of the key. */
  readonly block: (indent: number, inSequence: boolean) => string;
  /** Between brackets. */
  readonly flow: () => string;
}

interface Entry {
  readonly key: string;
  readonly value: Node;
  /** What follows it: a comment, blank lines. */
  readonly after: string;
  readonly explicit: boolean;
}

const ANCHORS = ['a', 'b', 'c'] as const;
/** So that aliases have something to stand for. */
const ANCHORED = 'anchors: [&a {k: 1, l: {m: x}}, &b yes, &c [1, {n: 2}]]\n';

const pad = (indent: number): string => ' '.repeat(Math.max(indent, 0));
const indented = (text: string, indent: number): string => text.replaceAll('\n', `\n${pad(indent)}`);

function rarely<T>(usual: T, ...others: readonly T[]): fc.Arbitrary<T> {
  return fc.oneof(
    { arbitrary: fc.constant(usual), weight: 12 },
    { arbitrary: fc.constantFrom(...others), weight: 1 },
  );
}

const scalarNode: fc.Arbitrary<Node> = scalar.map((text) => ({
  block: (indent) => ` ${indented(text, indent + 2)}`,
  flow: () => indented(text, 6),
}));

const blockScalarNode: fc.Arbitrary<Node> = fc
  .tuple(blockScalar, fc.constantFrom(1, 2, 2, 2, 4))
  .map(([text, step]) => ({
    block: (indent) => ` ${text.header}${lines(text, Math.max(indent, 0) + step)}`,
    flow: () => JSON.stringify(text.lines.join('\n')),
  }));

function lines(text: BlockScalar, indent: number): string {
  return text.lines.map((line) => `\n${line === '' ? '' : pad(indent)}${line}`).join('');
}

const aliasNode: fc.Arbitrary<Node> = fc
  .constantFrom(...ANCHORS)
  .map((anchor) => ({ block: () => ` *${anchor}`, flow: () => `*${anchor} ` }));

const merged: fc.Arbitrary<Node> = fc
  .constantFrom('*a', '{z: 1}', '[*a, {k: 2, o: p}]', '[{k: 9}, *a ]', '[]', '{}', '&b {q: 1}')
  .map((text) => ({ block: () => ` ${text}`, flow: () => text }));

const after: fc.Arbitrary<string> = rarely(
  '',
  ...[
    [' # comment', '\n# comment', '\n      # odd', '\n', '\n\n', ' ', '\t', '\t# tab', ' #'],
    ['\n\t', '\n  ', ' # a: b'],
  ].flat(),
);

const TAGGED: readonly string[] = [
  ['!!str 1', '!!str yes', '!!str', '!!str ""', '!!int 1', '!!int "0x1f"', '!!int 1.0'],
  ['!!float 1', '!!float .5', '!!bool on', '!!bool "no"', '!!null ""', '!!null ~'],
  ['!!null null', '! 1', '! yes', '!!timestamp 2001-1-2'],
  ['!!timestamp 2001-01-02T03:04:05Z', '!!seq []', '!!map {}', '!!map {a: !!str 1}'],
  ['!<tag:yaml.org,2002:str> 1', '&a !!str 1', '!!int &b 1', '!!float 10000000'],
].flat();

const taggedNode: fc.Arbitrary<Node> = fc
  .constantFrom(...TAGGED)
  .map((text) => ({ block: () => ` ${text}`, flow: () => text }));

/** Anchors and tags, before a value that they may not fit. */
const properties: fc.Arbitrary<string> = fc.oneof(
  { arbitrary: fc.constantFrom(...ANCHORS).map((anchor) => `&${anchor}`), weight: 20 },
  {
    arbitrary: fc.constantFrom(
      '!!str',
      '!!int',
      '!!float',
      '!!bool',
      '!!null',
      '!!map',
      '!!seq',
      '!',
      '!!timestamp',
    ),
    weight: 2,
  },
  {
    arbitrary: fc.constantFrom(
      ...[
        ['!!binary', '!!set', '!!omap', '!!merge', '!x', '!x!y', '!<tag:yaml.org,2002:str>'],
        ['!!str &a', '&a !!str', '!!', '&é'],
      ].flat(),
    ),
    weight: 1,
  },
);

const node: fc.Arbitrary<Node> = fc.letrec<{ node: Node; entries: Entry[] }>((tie) => ({
  node: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    { arbitrary: scalarNode, weight: 8 },
    { arbitrary: blockScalarNode, weight: 3 },
    { arbitrary: aliasNode, weight: 1 },
    { arbitrary: taggedNode, weight: 1 },
    {
      arbitrary: fc.tuple(properties, tie('node')).map(([text, value]) => decorated(text, value)),
      weight: 1,
    },
    {
      arbitrary: fc
        .tuple(fc.array(tie('node'), { maxLength: 3 }), fc.constantFrom(0, 0, 1, 2, 4), fc.boolean(), after)
        .map((parts) => sequence(...parts)),
      weight: 3,
    },
    {
      arbitrary: fc.tuple(tie('entries'), fc.constantFrom(1, 2, 2, 3, 4)).map((parts) => mapping(...parts)),
      weight: 4,
    },
    {
      arbitrary: fc
        .tuple(
          tie('node'),
          tie('entries'),
          fc.constantFrom(', ', ',', ' ,\n', ',\n# c\n'),
          rarely('', ',', ' '),
        )
        .map((parts) => flowing(...parts)),
      weight: 2,
    },
  ),
  entries: fc.array(
    fc.oneof(
      {
        arbitrary: fc.record({ key, value: tie('node'), after, explicit: rarely(false, true) }),
        weight: 10,
      },
      {
        arbitrary: fc.record({
          key: rarely('<<', '"<<"', '!!merge <<'),
          value: fc.oneof({ arbitrary: merged, weight: 30 }, { arbitrary: tie('node'), weight: 1 }),
          after,
          explicit: fc.constant(false),
        }),
        weight: 1,
      },
    ),
    { minLength: 1, maxLength: 4 },
  ),
})).node;

function decorated(text: string, value: Node): Node {
  return {
    block: (indent, inSequence) => ` ${text}${value.block(indent, inSequence)}`,
    flow: () => `${text} ${value.flow()}`,
  };
}

function sequence(items: readonly Node[], step: number, compact: boolean, last: string): Node {
  const flow = (): string => `[${items.map((item) => item.flow()).join(', ')}]`;
  return {
    block(indent, inSequence) {
      if (items.length === 0) return ' []';
      const own = indent + (inSequence ? Math.max(step, 1) : step);
      return (
        items.map((item) => `\n${pad(own)}-${inItem(item.block(own, true), own, compact)}`).join('') + last
      );
    },
    flow,
  };
}

/** `- a: 1` instead of `-` and `a: 1` on the next line, where that is the same. */
function inItem(text: string, indent: number, compact: boolean): string {
  const inner = /^\n( +)\S/.exec(text)?.[1]?.length ?? 0;
  return compact && inner > indent + 1 ? text.slice(1 + indent + 1) : text;
}

function mapping(entries: readonly Entry[], step: number): Node {
  return {
    block: (indent) => entries.map((entry) => `\n${blockEntry(entry, indent + step)}`).join(''),
    flow: () => `{${entries.map(flowEntry).join(', ')}}`,
  };
}

function blockEntry(entry: Entry, indent: number): string {
  const text = indented(entry.key, indent + 1);
  const value = entry.value.block(indent, false) + entry.after;
  return entry.explicit
    ? `${pad(indent)}? ${text}\n${pad(indent)}:${value}`
    : `${pad(indent)}${text}:${value}`;
}

function flowEntry(entry: Entry): string {
  const text = indented(entry.key, 6);
  return `${entry.explicit ? '? ' : ''}${text}: ${entry.value.flow()}`;
}

/** Brackets over several lines, a comma too many, pairs in a list. */
function flowing(first: Node, entries: readonly Entry[], comma: string, end: string): Node {
  const pairs = entries.map(flowEntry).join(comma);
  const text = `[${first.flow()}${comma}{${pairs}${end}}${comma}${pairs}${end}]`;
  return { block: (indent) => ` ${indented(text, indent + 1)}`, flow: () => indented(text, 6) };
}

const HEADERS: readonly string[] = [
  'apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: x\n',
  'apiVersion: "v1"\nkind: \'ConfigMap\'\nmetadata: {name: x}\n',
  'kind: ConfigMap # comment\n\napiVersion: !!str v1\nmetadata: {"name":"x","namespace":"y"}\n',
];

/** An object with whatever it likes in it, in blocks. */
const blockDocument: fc.Arbitrary<string> = fc
  .tuple(
    rarely(HEADERS[0] ?? '', ...HEADERS.slice(1)),
    fc.array(fc.tuple(node, after), { minLength: 1, maxLength: 3 }),
  )
  .map(([header, values]) => {
    const fields = values
      .map(([value, last], index) => `x${String(index)}:${value.block(0, false)}${last}\n`)
      .join('');
    return header + (/\*[abc]\b/.test(fields) ? ANCHORED : '') + fields;
  });

/** In brackets, as JSON with what JSON does not know. */
const flowDocument: fc.Arbitrary<string> = fc
  .tuple(node, fc.constantFrom(', ', ',\n  ', ',\n# comment\n', ',\n// comment\n'), rarely('', ',', '}'))
  .map(
    ([value, comma, end]) =>
      `{"apiVersion": "v1"${comma}"kind": "ConfigMap"${comma}"metadata": {"name": "x"}${comma}"x": ${value.flow()}${end}}\n`,
  );

const jsonDocument: fc.Arbitrary<string> = fc
  .tuple(fc.jsonValue({ maxDepth: 3 }), fc.constantFrom(0, 2, '\t'), rarely('', '\n', ' ', '\n# comment\n'))
  .map(
    ([x, space, end]) =>
      `${JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'x' }, x }, undefined, space)}\n${end}`,
  );

const inList = (text: string): string => `- ${text.trimEnd().replaceAll('\n', '\n  ')}\n`;
const listDocument: fc.Arbitrary<string> = fc
  .tuple(
    fc.constantFrom('List', 'List', 'ConfigMapList'),
    fc.array(
      fc.oneof(
        { arbitrary: blockDocument.map(inList), weight: 8 },
        { arbitrary: fc.constantFrom('- null\n', '-\n', '- metadata: {name: x}\n  x: 1\n'), weight: 1 },
      ),
      { maxLength: 3 },
    ),
    rarely('metadata: {}\n', '', 'metadata: {resourceVersion: ""}\n'),
  )
  .map(
    ([kind, items, metadata]) =>
      `apiVersion: v1\nkind: ${kind}\n${metadata}items:${items.length === 0 ? ' []' : ''}\n${items.join('')}`,
  );

const emptyDocument: fc.Arbitrary<string> = fc.constantFrom(
  ...[
    ['', '\n', '# comment\n', 'null\n', '~\n', ' \n', '  # comment\n', '\t\n', 'text\n'],
    ['- x\n', '{}\n', '[]\n', '""\n', '...\n'],
  ].flat(),
);

/** As a program writes them that has several to print. */
const jsonDocuments: fc.Arbitrary<string> = fc
  .tuple(fc.array(jsonDocument, { minLength: 2, maxLength: 3 }), fc.constantFrom('', '\n', ' \n\n'))
  .map(([all, between]) => all.map((one) => one.trimEnd()).join(between));

const document: fc.Arbitrary<string> = fc.oneof(
  { arbitrary: blockDocument, weight: 12 },
  { arbitrary: flowDocument, weight: 2 },
  { arbitrary: jsonDocument, weight: 2 },
  { arbitrary: jsonDocuments, weight: 1 },
  { arbitrary: listDocument, weight: 2 },
  { arbitrary: emptyDocument, weight: 1 },
);

const separator: fc.Arbitrary<string> = rarely(
  '---\n',
  ...[
    ['--- # comment\n', '---   \n', '---\t\n', '---\n---\n', '...\n---\n', '...\n'],
    ['--- {}\n', '---#\n', '--- x\n', ' ---\n', '', '\n', '---\n%YAML 1.2\n---\n'],
    ['...\n%YAML 1.1\n---\n', '----\n', '---\n\n', '---\n\ufeff', '---\n# comment\n\ufeff'],
  ].flat(),
);

const begin: fc.Arbitrary<string> = rarely(
  '',
  ...[
    ['---\n', '\n', '# comment\n', '\ufeff', '\ufeff---\n', '%YAML 1.1\n---\n'],
    ['%YAML 1.2\n---\n', '%TAG !e! tag:e,2000:\n---\n', '%FOO\n---\n', '--- # comment\n'],
    ['---\n---\n', '\n\n---\n', '# comment\n---\n', ' \n', '\t\n', '...\n'],
  ].flat(),
);

/** A file of one document or several. */
const wellMade: fc.Arbitrary<string> = fc
  .tuple(
    begin,
    document,
    fc.oneof(
      { arbitrary: fc.constant([]), weight: 4 },
      { arbitrary: fc.array(fc.tuple(separator, document), { minLength: 1, maxLength: 2 }), weight: 1 },
    ),
    rarely('\n', '\r\n', '\r\n', '\r'),
    rarely('', '---\n', '...\n', 'no line feed'),
  )
  .map(([start, first, others, lineBreak, end]) => {
    const text = start + first + others.flat().join('');
    const whole = end === 'no line feed' ? text.trimEnd() : text + end;
    return lineBreak === '\n' ? whole : whole.replaceAll('\n', lineBreak);
  });

interface Slip {
  readonly at: number;
  readonly removed: number;
  readonly added: string;
}

const slip: fc.Arbitrary<Slip> = fc.record({
  at: fc.nat(10_000),
  removed: fc.constantFrom(0, 1, 1, 2),
  added: fc.constantFrom('', '', ...Array.from(' \n\t:-#"\'[]{},&*!|>%@?'), '  ', ': ', '- ', '\n\n', 'é'),
});

/** One that somebody has slipped in. */
const spoilt: fc.Arbitrary<string> = fc
  .tuple(wellMade, fc.array(slip, { minLength: 1, maxLength: 2 }))
  .map(([text, slips]) =>
    slips.reduce((before, { at, removed, added }) => {
      const place = before.length === 0 ? 0 : at % before.length;
      return before.slice(0, place) + added + before.slice(place + removed);
    }, text),
  );

/** The text of a file. No NUL, no half of a surrogate pair: such a file is no text, and is not read at all. */
export const manifestFile: fc.Arbitrary<string> = fc
  .oneof({ arbitrary: wellMade, weight: 9 }, { arbitrary: spoilt, weight: 1 })
  .map((text) => text.replaceAll(/\0|\p{Surrogate}/gu, ''));
