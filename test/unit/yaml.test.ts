import { describe, expect, it } from '@jest/globals';

import { readYaml } from '../../git/yaml.ts';
import { aliasBomb, mergeStorm } from '../support/yaml-bombs.ts';

/**
 * The values are what `kubectl annotate --local -o json` (sigs.k8s.io/yaml) made of the same text; test/e2e/manifests.test.ts asks it
 * about generated ones, and what differed there is here.
 */
const VALUES: readonly (readonly [text: string, value: unknown])[] = [
  ['0644', 420],
  ['-0644', -420],
  ['0o17', 15],
  ['0O17', 15],
  ['-0o7', -7],
  ['0b11', 3],
  ['0B11', 3],
  ['-0b11', -3],
  ['0b1_1', 3],
  ['0x1f', 31],
  ['0X1F', 31],
  ['-0x1f', -31],
  ['0x_1f', 31],
  ['0_b11', 3],
  ['1_000', 1000],
  ['1__0', 10],
  ['1_', 1],
  ['-_1', -1],
  ['0_7', 7],
  ['007', 7],
  ['00', 0],
  ['08', 8],
  ['-08', -8],
  ['+1', 1],
  ['-0', 0],
  ['010.5', 10.5],
  ['01.5', 1.5],
  ['1.', 1],
  ['5.', 5],
  ['.5', 0.5],
  ['+.5', 0.5],
  ['-.5', -0.5],
  ['.5_0', 0.5],
  ['1_0.5', 10.5],
  ['2_000.5_0', 2000.5],
  ['1e3', 1000],
  ['1E3', 1000],
  ['1e+3', 1000],
  ['1.e3', 1000],
  ['12e03', 12000],
  ['5e-1', 0.5],
  ['1e5_0', 1e50],
  ['1e19', 10000000000000000000],
  ['1e21', 1e21],
  ['1e-400', 0],
  ['0.30000000000000004', 0.30000000000000004],
  ['123456789.123456789', 123456789.12345679],
  ['1e400', '1e400'],
  ['1e', '1e'],
  ['0x', '0x'],
  ['0xg', '0xg'],
  ['0b', '0b'],
  ['0b2', '0b2'],
  ['0o8', '0o8'],
  ['0x1p-2', '0x1p-2'],
  ['1.5.6', '1.5.6'],
  ['.', '.'],
  ['..', '..'],
  ['+', '+'],
  ['.e1', '.e1'],
  ['._5', '._5'],
  ['22:22', '22:22'],
  ['1:20', '1:20'],
  ['190:20:30', '190:20:30'],
  ['2001-01-01', '2001-01-01'],
  ['2024-01-01T00:00:00Z', '2024-01-01T00:00:00Z'],
  ['y', true],
  ['Y', true],
  ['yes', true],
  ['on', true],
  ['True', true],
  ['n', false],
  ['No', false],
  ['OFF', false],
  ['tRUE', 'tRUE'],
  ['nO', 'nO'],
  ['~', null],
  ['Null', null],
  ['', null],
  ['nULL', 'nULL'],
  ['.Nan', '.Nan'],
  ['=', '='],
  ['<<', '<<'],
  ['1 000', '1 000'],
  ['"yes"', 'yes'],
  ["'it''s'", "it's"],
  ['"22:22"', '22:22'],
  ['!!str 123', '123'],
  ['!!str yes', 'yes'],
  ['! 12', '12'],
  ['!!int "3"', 3],
  ['!!int 0644', 420],
  ['!!float 3', 3],
  ['!!float 0644', 420],
  ['!!bool yes', true],
  ['!!null ""', null],
  ['!!timestamp 2001-01-01', '2001-01-01'],
  ['!!seq [1]', [1]],
  ['!!map {}', {}],
  ['{b}', { b: null }],
  ['[1,]', [1]],
  ['b # c', 'b'],
  ['|\n  x\n  y\n', 'x\ny\n'],
  ['>-\n  x\n  y\n', 'x y'],
  ['"\\u0041\\x41"', 'AA'],
  ['!!timestamp 2001-1-2', '2001-1-2'],
  ['!!timestamp 2001-01-02T03:04:05.6Z', '2001-01-02T03:04:05.6Z'],
  ['"x\\\n  \n \n  y"', 'x\n\ny'],
  ['"\\\\\n  \n  y"', '\\\ny'],
  ['|\n  x', 'x\n'],
  ['|+\n  x\n\n', 'x\n\n'],
  ['|+\n  x\n\n---\n', 'x\n\n'],
  ['|+\r\n  x\r\n\r\n---\r\n', 'x\n\n'],
  ['[a:b, "?", "c:"]', ['a:b', '?', 'c:']],
];

const KEYS: readonly (readonly [text: string, value: unknown])[] = [
  ['on: push', { true: 'push' }],
  ['y: 1', { true: 1 }],
  ['"y": 1', { y: 1 }],
  ['1: a', { 1: 'a' }],
  ['1.50: a', { '1.5': 'a' }],
  ['1.0: a', { 1: 'a' }],
  ['0644: b', { 420: 'b' }],
  ['1e3: b', { 1000: 'b' }],
  ['.5: a', { '0.5': 'a' }],
  ['2001-01-01: b', { '2001-01-01': 'b' }],
  ['~x: 1', { '~x': 1 }],
  ['? a\n: b', { a: 'b' }],
  ['1e6: a', { '1e+06': 'a' }],
  ['1000000: a', { 1000000: 'a' }],
  ['123456.0: a', { 123456: 'a' }],
  ['1234567.0: a', { '1.234567e+06': 'a' }],
  ['16777217.0: a', { '1.6777216e+07': 'a' }],
  ['6.188567894: a', { '6.188568': 'a' }],
  ['0.0001: a', { '0.0001': 'a' }],
  ['0.00001: a', { '1e-05': 'a' }],
  ['-5e-69: a', { '-0': 'a' }],
  ['-0.0: a', { '-0': 'a' }],
  ['-0: a', { 0: 'a' }],
  ['1e300: a', { '.inf': 'a' }],
  ['-1e300: a', { '-.inf': 'a' }],
  ['!!float 10000000: a', { '1e+07': 'a' }],
  ['x: &a 1e6\n*a : b', { x: 1000000, '1e+06': 'b' }],
  [`${'k'.repeat(1024)}: a`, { ['k'.repeat(1024)]: 'a' }],
  [`? ${'k'.repeat(1025)}\n: a`, { ['k'.repeat(1025)]: 'a' }],
  ['{? "a\n b" : c}', { 'a b': 'c' }],
];

const MERGES: readonly (readonly [text: string, value: unknown])[] = [
  ['<<: {a: 2, z: 9}\na: 1', { a: 1, z: 9 }],
  // kubectl's reader merges in order: what stands before is overridden.
  ['a: 1\n<<: {a: 2, z: 9}', { a: 2, z: 9 }],
  ['<<: [{a: 1}, {a: 2, b: 3}]', { a: 1, b: 3 }],
  ['base: &b {k: [1]}\nm: {<<: *b}', { base: { k: [1] }, m: { k: [1] } }],
];

const REFUSED: readonly (readonly [text: string, code: string, line: number, message: RegExp])[] = [
  ['a: [\n', 'YamlSyntax', 1, /indentation, or a bracket that is not closed$/],
  ['a: [b\nc: d\n', 'YamlSyntax', 2, /indentation, or a bracket that is not closed$/],
  ['# x\na:\n  b: "c\n\n\n', 'YamlSyntax', 3, /indentation/],
  ['a: 1\na: 2', 'DuplicateKey', 2, /the key "a" appears twice/],
  ['a:\n  b: 1\n  "b": 2', 'DuplicateKey', 3, /"b"/],
  ['1: a\n"1": b', 'DuplicateKey', 2, /"1"/],
  ['{"a": 1,\n "a": 2}', 'DuplicateKey', 2, /"a"/],
  ['x: 1\na: 9007199254740993', 'NumberTooLarge', 2, /^a number is beyond 2\^53$/],
  ['a: 18446744073709551616', 'NumberTooLarge', 1, /beyond 2\^53/],
  ['a: -12345678901234567890', 'NumberTooLarge', 1, /beyond/],
  ['a: 0xffffffffffffffff', 'NumberTooLarge', 1, /beyond/],
  ['a: .inf', 'NumberNotFinite', 1, /infinite/],
  ['a: -.INF', 'NumberNotFinite', 1, /infinite/],
  ['a: .NaN', 'NumberNotFinite', 1, /infinite/],
  ['~: a', 'YamlSyntax', 1, /a key must be text, not null/],
  ['? [a]\n: b', 'YamlSyntax', 1, /a key must be text, not a list/],
  ['a: *x', 'YamlSyntax', 1, /^an alias \(\*\) has no anchor before it$/],
  ['a: &x [*x]', 'YamlSyntax', 1, /contains itself/],
  ['a: !!js/function x', 'YamlSyntax', 1, /^a tag \(!\) has no meaning in a manifest$/],
  ['a: !!binary aGVsbG8=', 'YamlSyntax', 1, /has no meaning/],
  ['a: !foo 3', 'YamlSyntax', 1, /has no meaning/],
  ['a: !!set {b}', 'YamlSyntax', 1, /has no meaning/],
  ['a: !!int foo', 'YamlSyntax', 1, /does not fit its tag !!int/],
  ['a: !!int 1.5', 'YamlSyntax', 1, /does not fit/],
  ['a:\n  <<: 3', 'YamlSyntax', 2, /merge key/],
  ['a: b: c', 'YamlSyntax', 1, /./],
  ['ok: 1\nx: [1', 'YamlSyntax', 2, /a bracket that is not closed$/],
  ['\ta: b', 'YamlSyntax', 1, /./],
  ['a: "x\u0000"', 'YamlSyntax', 1, /null byte/],
  ['a: !!timestamp soon', 'YamlSyntax', 1, /does not fit its tag !!timestamp/],
  ['a: !!int 3.0', 'YamlSyntax', 1, /does not fit its tag !!int/],
  ['a: [!!str, b]', 'YamlSyntax', 1, /a tag \(!\) wants a blank/],
  ['a: "\\ud800"', 'YamlSyntax', 1, /an escape is no character/],
  ['a: "\\U00110000"', 'YamlSyntax', 1, /an escape is no character/],
  ['a: 1\nb: "x\u0085y"', 'YamlSyntax', 2, /^U\+0085 ends a line to kubectl/],
  ['a: |\n  x\u2028y', 'YamlSyntax', 2, /^U\+2028 ends a line/],
  ['a: x # \u2029', 'YamlSyntax', 1, /^U\+2029 ends a line/],
  ['a: "\u007f"', 'YamlSyntax', 1, /^U\+007F is no text to kubectl/],
  ['a: "\ufffe"', 'YamlSyntax', 1, /^U\+FFFE is no text/],
  ['a: [http://b/?c=d]', 'YamlSyntax', 1, /\? begins a key to kubectl; quote/],
  ['{?a: b}', 'YamlSyntax', 1, /\? begins a key/],
  ['a: [:b]', 'YamlSyntax', 1, /a colon wants a blank/],
  ['a: [b:, c]', 'YamlSyntax', 1, /a colon wants a blank/],
  ['a: &x b: c', 'YamlSyntax', 1, /a mapping does not begin on the line of its key/],
  ['a:\n  &b: c', 'YamlSyntax', 2, /the name of an anchor/],
  ['a: &é b', 'YamlSyntax', 1, /the name of an anchor/],
  ['a: {"b\n c": d}', 'YamlSyntax', 1, /a key without \? .* has one line/],
  [`${'k'.repeat(1025)}: a`, 'YamlSyntax', 1, /and 1024 characters/],
  [`a: {${'k'.repeat(1025)}: a}`, 'YamlSyntax', 1, /and 1024 characters/],
  ['--- {a: 1}', 'YamlSyntax', 1, /begins on the line after its ---/],
  ['a: 1\n---b: 2', 'YamlSyntax', 2, /begins on the line after its ---/],
  ['a: 1\r---\rb: 2\r', 'YamlSyntax', 1, /a carriage return alone/],
  ['{"a": 1e400}', 'NumberTooLarge', 1, /beyond what 64 bits hold/],
  ['['.repeat(10_000), 'TooComplex', 1, /nesting/],
  [`a: &a {b: 1}\nc: [${'*a,'.repeat(201)}]`, 'TooComplex', 2, /aliases/],
  [
    `a: &a ${'['.repeat(60)}${']'.repeat(60)}\nb: ${'['.repeat(60)}*a${']'.repeat(60)}`,
    'TooComplex',
    2,
    /aliases nest more than 100 levels/,
  ],
  [aliasBomb(), 'TooComplex', 6, /expand to more than 100000 values/],
  [mergeStorm(), 'TooComplex', 36, /expand to more/],
];

describe('YAML as kubectl reads it', () => {
  it.each(VALUES)('%j is %j', (text, value) => {
    expect(readYaml(`k: ${text}`)).toMatchObject({ problems: [], documents: [{ value: { k: value } }] });
  });

  it.each(KEYS)('keys: %j', (text, value) => {
    expect(readYaml(text).documents.map((document) => document.value)).toEqual([value]);
  });

  it.each(MERGES)('merge keys: %j', (text, value) => {
    expect(readYaml(text).documents.map((document) => document.value)).toEqual([value]);
  });

  it.each(REFUSED)('refuses %#', (text, code, line, message) => {
    const { documents, problems } = readYaml(text);
    expect(documents).toEqual([]);
    expect(problems).toEqual([{ code, line, message: expect.stringMatching(message) }]);
  });

  it.each([
    'a: *S3cret',
    'a: &S3cret [*S3cret]',
    'a: !S3cret',
    'a: !S3cret {b: 1}',
    'a: !S3cret!x 1',
    'a: !<S3cret\u00a0> 1',
    'a: !S3cret\u0301 1',
    'a: 84729103551234567890',
    'a: -0x8472910355123456789',
    'a: 84729103551234567890 # S3cret\nb: ]',
  ])('never quotes a value, or what may be one: %j', (text) => {
    const { problems } = readYaml(text);
    expect(problems).toHaveLength(1);
    expect(problems[0]?.line).toBeGreaterThan(0);
    expect(problems[0]?.message).not.toMatch(/S3cret|8472910355/i);
  });

  it('keeps __proto__ and constructor plain keys', () => {
    const value = readYaml('__proto__: {polluted: 1}\nconstructor: 2').documents[0]?.value;
    expect(JSON.stringify(value)).toBe('{"__proto__":{"polluted":1},"constructor":2}');
    expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
  });

  it('reads documents one by one: what is wrong with one does not hide the others', () => {
    const text =
      '\uFEFF# first\na: 1\r\n---\r\n# nothing here\n---\nb: [\n--- # third\nc: 3\n---\nd: 4\nd: 5\n...\n---\ne: |\n  ---\n  x\n';
    const { documents, problems } = readYaml(text);
    expect(documents.map(({ value, line }) => [value, line])).toEqual([
      [{ a: 1 }, 2],
      [{ c: 3 }, 8],
      [{ e: '---\nx\n' }, 14],
    ]);
    expect(problems.map(({ code, line }) => [code, line])).toEqual([
      ['YamlSyntax', 6],
      ['DuplicateKey', 11],
    ]);
  });

  it('takes a comment directly after --- for one, and JSON as JSON', () => {
    const { documents, problems } = readYaml('{"a": "x\u2028y\u007f\\/"}\n---# second\nb: 1\n');
    expect(problems).toEqual([]);
    expect(documents.map(({ value, line }) => [value, line])).toEqual([
      [{ a: 'x\u2028y\u007f/' }, 1],
      [{ b: 1 }, 3],
    ]);
  });

  it('reads objects of JSON that stand one after the other, and a byte order mark before each document', () => {
    const objects = ['{"a": "}{"}', '{"b":\n {"c": 1}}', '{"d": 1, "d": 2}', '{"e": "\u007f"}'];
    const { documents, problems } = readYaml(`${objects.join('')}\n\n{"f": "\\""}\n`);
    expect(documents.map(({ value, line }) => [value, line])).toEqual([
      [{ a: '}{' }, 1],
      [{ b: { c: 1 } }, 1],
      [{ e: '\u007f' }, 2],
      [{ f: '"' }, 4],
    ]);
    expect(problems.map(({ code, line }) => [code, line])).toEqual([['DuplicateKey', 2]]);
    // What is no JSON is YAML, which ends after its first object.
    expect(readYaml('{"a": 1}{b: 2}').problems).toMatchObject([{ code: 'YamlSyntax', line: 1 }]);
    expect(readYaml('a: 1\n---\n\uFEFFb: 1\n').documents.map(({ value }) => value)).toEqual([
      { a: 1 },
      { b: 1 },
    ]);
  });

  it('keeps directives with their document', () => {
    const { documents, problems } = readYaml('%YAML 1.2\n%TAG !e! tag:yaml.org,2002:\n---\na: !e!str 1\n');
    expect(problems).toEqual([]);
    expect(documents.map((document) => document.value)).toEqual([{ a: '1' }]);
  });

  it('knows the line of every item of a list', () => {
    const document = readYaml('kind: List\nitems:\n- a: 1\n\n- a: 2\n- {a: 3}\n').documents[0];
    const lines = [...(document?.lines ?? [])].map(([value, line]) => [JSON.stringify(value), line]);
    expect(lines.slice(2)).toEqual([
      ['{"a":1}', 3],
      ['{"a":2}', 5],
      ['{"a":3}', 6],
    ]);
  });

  it.each<[string, string]>([
    ['backslashes in double quotes', `a: "${'\\\\'.repeat(500_000)}"\n`],
    ['JSON with a string that is not closed', `{"a": "${'\\"x'.repeat(300_000)}\n`],
    ['JSON objects without anything between them', '{}'.repeat(100_000)],
  ])('reads a megabyte of %s in seconds, not minutes', (_, text) => {
    const begun = performance.now();
    const { documents, problems } = readYaml(text);
    expect(documents.length + problems.length).toBeGreaterThan(0);
    expect(performance.now() - begun).toBeLessThan(60_000);
  });

  it('reads a megabyte of flow mappings in seconds, not minutes', () => {
    const text = `a: [${Array.from({ length: 30_000 }, (_, index) => `{name: x${index}, value: 'v'}`).join(',')}]`;
    const begun = performance.now();
    expect(readYaml(text).problems).toEqual([]);
    expect(performance.now() - begun).toBeLessThan(60_000);
  });
});
