/** Scalars as they may stand in a manifest: words that YAML 1.1, YAML 1.2 and JSON read differently, numbers in every notation, text. */

import { fc } from './properties.ts';

const WORDS: readonly string[] = [
  ['y', 'Y', 'n', 'N', 'yes', 'Yes', 'YES', 'yEs', 'no', 'No', 'NO', 'nO', 'on', 'On', 'ON'],
  ['oN', 'off', 'Off', 'OFF', 'oFF', 'true', 'True', 'TRUE', 'tRUE', 'false', 'False'],
  ['FALSE', 'fALSE', '~', 'null', 'Null', 'NULL', 'nULL', 'nil', 'none', 'undefined', '='],
  ['<', '<<', '--', '.nan', '.NaN', '.NAN', '.Nan', 'NaN', '.inf', '.Inf', '.INF', '+.inf'],
  ['-.inf', '-.INF', 'inf', '-Inf', 'Infinity', '+Infinity', '-infinity', '.', '..', '+'],
  ['-', '+-1', '0x', '0b', '0o', '0x1p-2', '0x1.8p1', '1e', '1_', '_1', '2001-01-01'],
  ['2001-1-1', '2001-01-01T00:00:00Z', '2001-12-14t21:59:43.10-05:00'],
  ['2001-12-14 21:59:43.10 -5', '2001-12-14 21:59:43', '20010101', '1:20', '22:22'],
  ['190:20:30', '190:20:30.15', '-1:30', '0:0', '60:60', '1.2.3', '1.30', '10Gi', '100m'],
  ['1e3Gi', '0x1g', '08', '09.5', '1,000', '$HOME', 'a #b', 'a#b', 'http://a/b?c=d#e', '?a'],
  ['-a', ':a', 'a$b', '__proto__', 'constructor', 'toString', 'é', '日本', '😀', 'a\u00a0b'],
  ['a\u200bb'],
].flat();

const digits = (alphabet: string, maxLength = 6): fc.Arbitrary<string> =>
  fc.string({ unit: fc.constantFrom(...Array.from(alphabet)), minLength: 1, maxLength });

/** Every notation, and its neighbours that are none. */
const number: fc.Arbitrary<string> = fc
  .tuple(
    fc.constantFrom('', '', '', '-', '+'),
    fc.oneof(
      digits('0123456789'),
      digits('0123456789_'),
      digits('0123456789', 24),
      digits('01_', 8).map((text) => `0b${text}`),
      digits('012345678_', 8).map((text) => `0o${text}`),
      digits('01234567_').map((text) => `0${text}`),
      digits('0123456789abcdefABCDEF_', 12).map((text) => `0x${text}`),
      digits('01f').map((text) => `0${text.startsWith('0') ? 'X' : 'B'}${text}`),
      fc.tuple(digits('0123456789_', 4), digits('0123456789_', 4)).map((parts) => parts.join('.')),
      digits('0123456789_', 4).map((text) => `.${text}`),
      digits('0123456789_', 4).map((text) => `${text}.`),
      fc
        .tuple(
          digits('0123456789.', 4),
          fc.constantFrom('e', 'E', 'e+', 'e-', 'E-'),
          digits('0123456789_', 3),
        )
        .map((parts) => parts.join('')),
      fc.double({ noNaN: true }).map(String),
      fc.bigInt(-(2n ** 65n), 2n ** 65n).map(String),
      fc.constantFrom(
        ...[
          ['9007199254740991', '9007199254740992', '9007199254740993', '9223372036854775807'],
          ['9223372036854775808', '18446744073709551615', '18446744073709551616'],
          ['0x7fffffffffffffff', '0x20000000000000', '1e15', '1e16', '1e400', '1e-400', '-0', '0.0'],
          ['-0.0', '123456789012345.678', '9007199254740993.0', '1e22', '5e-324'],
        ].flat(),
      ),
    ),
  )
  .map((parts) => parts.join(''));

/** Words that are a mistake without quotes, in most places. */
const BROKEN: readonly string[] = [
  ['---', '...', 'a: b', '@a', '`a', '%a', '&a', '*a', '!a', '? a', '- a', ': a', 'a:'],
  ['a,b', 'a]', '{a', '${A}', '-'],
].flat();

const word: fc.Arbitrary<string> = fc.constantFrom(...WORDS);

const name: fc.Arbitrary<string> = fc.string({
  unit: fc.constantFrom(...Array.from('abcxyz019-_./')),
  minLength: 1,
  maxLength: 8,
});

/** Text of characters that mean something to one reader or another. */
const noise: fc.Arbitrary<string> = fc.string({
  unit: fc.oneof(
    {
      arbitrary: fc.constantFrom(
        ...Array.from('aab  1.:#-?[]{},&*!|>\'"%@`~=<\\\t'),
        'é',
        '日',
        '😀',
        '\u00a0',
      ),
      weight: 150,
    },
    {
      arbitrary: fc.constantFrom(
        '\u2028',
        '\u0085',
        '\ufeff',
        '\u007f',
        '\ufffe',
        '\u0001',
        '\u009f',
        '\ufdd0',
      ),
      weight: 1,
    },
  ),
  maxLength: 8,
});

/** Words of which a line may be made without a meaning of their own. */
const prose: fc.Arbitrary<string> = fc
  .array(
    fc.constantFrom(
      'some',
      'text',
      'is',
      "it's",
      'say "x"',
      'a#b',
      'x:y',
      '日本',
      'é',
      '10',
      '—',
      'a\\nb',
      'x - y',
      '%d',
    ),
    {
      minLength: 1,
      maxLength: 5,
    },
  )
  .map((words) => words.join(' '));

/** Without quotes. */
const plain: fc.Arbitrary<string> = fc.oneof(
  { arbitrary: word, weight: 40 },
  { arbitrary: number, weight: 40 },
  { arbitrary: name, weight: 25 },
  { arbitrary: prose, weight: 25 },
  { arbitrary: noise, weight: 1 },
  { arbitrary: fc.constantFrom(...BROKEN), weight: 1 },
);

const ESCAPES: readonly string[] = [
  ['\\0', '\\a', '\\b', '\\t', '\\n', '\\v', '\\f', '\\r', '\\e', '\\ ', '\\"', '\\\\'],
  ['\\N', '\\_', '\\L', '\\P', '\\x41', '\\xe9', '\\u0041', '\\u263A', '\\u2028'],
  ['\\U0001F600'],
].flat();
const BAD_ESCAPES: readonly string[] = [
  '\\/',
  '\\uD83D\\uDE00',
  '\\q',
  '\\x4',
  '\\u12',
  '\\ud800',
  '\\U00110000',
  "\\'",
  '\\\t',
];

/** Of a scalar of several lines; whoever writes it adds the indentation. */
const FOLDS: readonly string[] = ['\n', '\n  ', '  \n\n', '\n\n\n', '\n\t'];

const doubleQuoted: fc.Arbitrary<string> = fc
  .array(
    fc.oneof(
      {
        arbitrary: fc.oneof(word, number, prose, noise).map((text) => text.replaceAll(/["\\]/g, '')),
        weight: 60,
      },
      { arbitrary: fc.constantFrom(...ESCAPES), weight: 50 },
      { arbitrary: fc.constantFrom(...FOLDS, '\\\n', 'x\\\n  '), weight: 12 },
      { arbitrary: fc.constantFrom(...BAD_ESCAPES), weight: 1 },
    ),
    { maxLength: 4 },
  )
  .map((parts) => `"${parts.join('')}"`);

const singleQuoted: fc.Arbitrary<string> = fc
  .array(
    fc.oneof(
      {
        arbitrary: fc.oneof(word, number, prose, noise).map((text) => text.replaceAll("'", "''")),
        weight: 6,
      },
      { arbitrary: fc.constantFrom("''", '\\n', ...FOLDS), weight: 2 },
    ),
    { maxLength: 3 },
  )
  .map((parts) => `'${parts.join('')}'`);

/** Of the forms that may stand anywhere. Line breaks want the indentation of the place. */
export const scalar: fc.Arbitrary<string> = fc.oneof(
  { arbitrary: plain, weight: 6 },
  { arbitrary: doubleQuoted, weight: 2 },
  { arbitrary: singleQuoted, weight: 1 },
);

/** Mostly a name. */
export const key: fc.Arbitrary<string> = fc.oneof(
  { arbitrary: name, weight: 40 },
  { arbitrary: scalar, weight: 15 },
  // Longer than the 1,024 characters that YAML allows a key without `?`.
  { arbitrary: fc.integer({ min: 1015, max: 1030 }).map((length) => 'k'.repeat(length)), weight: 1 },
);

/** `|` and `>` with their lines; indented by whoever writes them. */
export interface BlockScalar {
  readonly header: string;
  readonly lines: readonly string[];
}

export const blockScalar: fc.Arbitrary<BlockScalar> = fc.record({
  header: fc
    .tuple(
      fc.constantFrom('|', '>'),
      fc.oneof(
        { arbitrary: fc.constant(''), weight: 20 },
        { arbitrary: fc.constantFrom('1', '2', '4'), weight: 1 },
      ),
      fc.constantFrom('', '', '-', '+'),
      fc.oneof(
        { arbitrary: fc.constant(''), weight: 5 },
        { arbitrary: fc.constantFrom(' # text', ' '), weight: 1 },
      ),
    )
    .map((parts) => parts.join('')),
  lines: fc.array(
    fc.oneof(
      { arbitrary: prose, weight: 5 },
      { arbitrary: noise, weight: 1 },
      {
        arbitrary: fc.constantFrom(
          '',
          ' ',
          '  ',
          '\t',
          ' more',
          '  more',
          '\tx',
          '# no comment',
          'x ',
          '---x',
        ),
        weight: 3,
      },
    ),
    { maxLength: 6 },
  ),
});
