/**
 * Plain scalars the way `kubectl` reads them (sigs.k8s.io/yaml, a YAML 1.1 reader with Go's number syntax): `0644` is 420,
 * `yes` and `on` are true, `1_000` is 1000, `22:22` and dates are strings.
 */

/** What a scalar is, or why it cannot be taken. */
export type Scalar =
  | {
      readonly value: string | number | boolean | null;
      /** What it is as a key, where that is not what {@link keyText} makes of the value. */
      readonly key?: string;
    }
  | { readonly refused: 'NumberTooLarge' | 'NumberNotFinite' | 'Tag'; readonly message: string };

/** Of a scalar, a list or a mapping. Not quoted: `!S3cret` may be meant as a value. */
export const UNKNOWN_TAG = 'a tag (!) has no meaning in a manifest';

const NAMED = new Map<string, boolean | null | number>([
  ...['y', 'Y', 'yes', 'Yes', 'YES', 'true', 'True', 'TRUE', 'on', 'On', 'ON'].map(
    (word) => [word, true] as const,
  ),
  ...['n', 'N', 'no', 'No', 'NO', 'false', 'False', 'FALSE', 'off', 'Off', 'OFF'].map(
    (word) => [word, false] as const,
  ),
  ...['', '~', 'null', 'Null', 'NULL'].map((word) => [word, null] as const),
  ...['.nan', '.NaN', '.NAN'].map((word) => [word, Number.NaN] as const),
  ...['.inf', '.Inf', '.INF', '+.inf', '+.Inf', '+.INF'].map(
    (word) => [word, Number.POSITIVE_INFINITY] as const,
  ),
  ...['-.inf', '-.Inf', '-.INF'].map((word) => [word, Number.NEGATIVE_INFINITY] as const),
]);

/** How the text of a key that is a boolean may be written in the file: `false` may be `n`, `no`, `off`. Of any other, itself. */
export function spellings(key: string): readonly string[] {
  if (!READ_AS.has(key)) return [key];
  return [
    key,
    ...[...NAMED].flatMap(([word, value]) => (String(value) === key && word !== key ? [word] : [])),
  ];
}

/** Why nobody may find such a key in the file; undefined for any other. */
export function whyUnfound(key: string): string | undefined {
  return READ_AS.has(key) ? `a key y, n, yes, no, on or off is read as ${key}` : undefined;
}

/** What words become that are no strings in YAML 1.1, which kubectl reads. */
const READ_AS: ReadonlySet<string> = new Set(['true', 'false']);

const INTEGER = /^([-+]?)(?:0[bB]([01]+)|0[oO]([0-7]+)|0[xX]([0-9a-fA-F]+)|0([0-7]+)|(0|[1-9][0-9]*))$/;
/** What Go's reader takes for one (`2001-1-2`, `2001-01-02T03:04:05Z`, `2001-01-02 03:04:05.6`); without a tag it stays text. */
const TIMESTAMP =
  /^\d{4}-\d{1,2}-\d{1,2}(?:[Tt]\d{1,2}:\d{1,2}:\d{1,2}(?:\.\d+)?(?:Z|[-+]\d\d:\d\d)| \d{1,2}:\d{1,2}:\d{1,2}(?:\.\d+)?)?$/;
const FLOAT = /^[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?$/;

/** A plain scalar without a tag. */
export function plainScalar(source: string): Scalar {
  const named = NAMED.get(source);
  if (named !== undefined) return checked(named);
  if (!/^[-+.0-9]/.test(source)) return { value: source };
  // Go's ParseFloat, which reads what begins with a point, wants digits on both sides of an underscore.
  if (source.startsWith('.') && /(?:^|\D)_|_(?:\D|$)/.test(source)) return { value: source };
  const digits = source.replaceAll('_', '');
  const integer = parseInteger(digits);
  if (integer !== undefined) return checked(integer);
  if (FLOAT.test(digits)) {
    const float = Number(digits);
    // Go's ParseFloat fails on overflow, which leaves a string: `1e400`.
    return Number.isFinite(float)
      ? { value: float === 0 ? 0 : float, key: floatKeyText(float) }
      : { value: source };
  }
  return { value: source };
}

/** A scalar with an explicit tag (`!!str 1`); tags that Kubernetes has no use for are refused. */
export function taggedScalar(source: string, tag: string): Scalar {
  const standard = 'tag:yaml.org,2002:';
  const name = tag.startsWith(standard) ? tag.slice(standard.length) : tag;
  if (name === 'str' || name === '!' || (name === 'timestamp' && TIMESTAMP.test(source)))
    return { value: source };
  const scalar = plainScalar(source);
  if (!('value' in scalar)) return scalar;
  const value = scalar.value;
  const fits =
    // What is written as a float is none, be it whole.
    (name === 'int' && typeof value === 'number' && scalar.key === undefined) ||
    (name === 'float' && typeof value === 'number') ||
    (name === 'bool' && typeof value === 'boolean') ||
    (name === 'null' && value === null);
  if (fits) {
    if (name === 'float' && typeof value === 'number') return { key: floatKeyText(value), ...scalar };
    return scalar;
  }
  const known = ['int', 'float', 'bool', 'null', 'timestamp'].includes(name);
  return { refused: 'Tag', message: known ? `the value does not fit its tag !!${name}` : UNKNOWN_TAG };
}

/** A mapping key as JSON has it: numbers and booleans become their text, as in kubectl. Undefined: cannot be a key. */
export function keyText(value: unknown): string | undefined {
  if (typeof value === 'string') return value;
  if (typeof value === 'boolean') return String(value);
  if (typeof value === 'number' && Number.isFinite(value)) return String(value);
  return undefined;
}

/**
 * kubectl writes a key that is a float as one of 32 bits, the way Go does with `%g`: `1e6` is `1e+06`, `16777217.0` is `1.6777216e+07`.
 */
function floatKeyText(value: number): string {
  const single = Math.fround(value);
  if (!Number.isFinite(single)) return single > 0 ? '.inf' : '-.inf';
  if (single === 0) return Object.is(single, -0) ? '-0' : '0';
  // As few digits as tell it from its neighbours; nine always do.
  let shortest = '';
  for (let digits = 0; digits < 9; digits++) {
    shortest = single.toExponential(digits);
    if (Math.fround(Number(shortest)) === single) break;
  }
  const [mantissa = '', exponent = ''] = shortest.split('e');
  if (Number(exponent) >= -4 && Number(exponent) < 6) return String(Number(shortest));
  return `${mantissa}e${exponent.slice(0, 1)}${exponent.slice(1).padStart(2, '0')}`;
}

function parseInteger(digits: string): number | bigint | undefined {
  const match = INTEGER.exec(digits);
  if (match === null) return undefined;
  const [, sign, binary, octal, hex, oldOctal, decimal] = match;
  const text =
    binary !== undefined
      ? `0b${binary}`
      : octal !== undefined
        ? `0o${octal}`
        : hex !== undefined
          ? `0x${hex}`
          : oldOctal !== undefined
            ? `0o${oldOctal}`
            : (decimal ?? '');
  const value = BigInt(text);
  const signed = sign === '-' ? -value : value;
  const number = Number(signed);
  return Number.isSafeInteger(number) ? number : signed;
}

function checked(value: number | bigint | boolean | null): Scalar {
  if (typeof value === 'bigint') return { refused: 'NumberTooLarge', message: 'a number is beyond 2^53' };
  if (typeof value === 'number' && !Number.isFinite(value)) {
    return { refused: 'NumberNotFinite', message: 'an infinite number, or none (.inf, .nan), is not JSON' };
  }
  return { value: Object.is(value, -0) ? 0 : value };
}
