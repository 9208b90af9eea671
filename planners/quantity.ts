/** Resource quantities: their canonical spelling as apimachinery writes it, and their order. */

import { ownField } from './values.ts';

const DECIMAL: Readonly<Record<string, number>> = {
  n: -9,
  u: -6,
  m: -3,
  '': 0,
  k: 3,
  M: 6,
  G: 9,
  T: 12,
  P: 15,
  E: 18,
};
const BINARY: Readonly<Record<string, number>> = { Ki: 10, Mi: 20, Gi: 30, Ti: 40, Pi: 50, Ei: 60 };
const DECIMAL_SUFFIX = new Map(Object.entries(DECIMAL).map(([suffix, exponent]) => [exponent, suffix]));
const BINARY_SUFFIX = new Map(Object.entries(BINARY).map(([suffix, exponent]) => [exponent, suffix]));
const PATTERN = /^([+-]?)(\d*)(?:\.(\d*))?([a-zA-Z]*)([+-]?\d+)?$/;
/** Amounts are exact down to this power of ten; smaller ones are rounded away from zero. */
const NANO = -9;
const MAX_BINARY = (2n ** 63n - 1n) * 10n ** 9n;
const GO_INT64_DIGITS = 18;
/** What has more is compared, and told, as the text that it is: no amount of anything, and its arithmetic takes time. */
const MOST_DIGITS = 200;

/** As apimachinery reads them. */
const MOST_EXPONENT = 2 ** 31 - 1;

/** `mantissa` × 10^`exponent`, never written out: an exponent of seven digits stands for a number that takes minutes to make. */
interface Amount {
  /** Without zeros at its end. */
  readonly mantissa: bigint;
  /** At least {@link NANO}; 0 of nothing. */
  readonly exponent: number;
}

interface Parsed {
  readonly amount: Amount;
  readonly format: 'decimal' | 'exponent' | 'binary';
  /** The text is kept as it is when written again: apimachinery does so on its fast path. */
  readonly kept: boolean;
  /** Power of ten of the last digit written. */
  readonly scale: number;
}

/**
 * The spelling in which kube-apiserver serves a quantity: `1000m` → `1`, `0.5Gi` → `512Mi`. With `milli`, amounts are first
 * rounded up to a thousandth, as it does in lists of resources. Text that is no quantity is returned unchanged: refusing
 * it is the apiserver's business.
 */
export function canonicalQuantity(value: string | number, milli = false): string {
  const text = String(value);
  const parsed = parse(text);
  if (parsed === undefined) return text;
  let { amount } = parsed;
  if (milli && parsed.scale < -3) {
    amount = roundedUp(amount, -3);
  } else if (parsed.kept) {
    return text;
  }
  if (amount.mantissa === 0n) return '0';
  return parsed.format === 'binary' ? writeBinary(amount) : writeDecimal(amount, parsed.format);
}

/** Whether two quantities are the same amount. Text that is no quantity equals only itself. */
export function sameQuantity(a: string | number, b: string | number): boolean {
  const [left, right] = [parse(String(a)), parse(String(b))];
  if (left === undefined || right === undefined) return String(a) === String(b);
  return left.amount.mantissa === right.amount.mantissa && left.amount.exponent === right.amount.exponent;
}

/** Whether a quantity is zero. */
export function isZeroQuantity(value: string | number): boolean {
  return parse(String(value))?.amount.mantissa === 0n;
}

function parse(text: string): Parsed | undefined {
  const match = PATTERN.exec(text);
  if (match === null) return undefined;
  const [, sign = '', whole = '', fraction = '', suffix = '', exponentText] = match;
  const notation = readSuffix(suffix, exponentText);
  if (notation === undefined || (whole === '' && fraction === '')) return undefined;
  if (whole.length + fraction.length > MOST_DIGITS) return undefined;
  const { format, exponent } = notation;
  const digits = BigInt(`0${whole}${fraction}`);
  const scale = (format === 'binary' ? 0 : exponent) - fraction.length;
  let amount = roundedUp(amountOf(format === 'binary' ? digits << BigInt(exponent) : digits, scale), NANO);
  if (format === 'binary' && nanosOf(amount) > MAX_BINARY) amount = amountOf(MAX_BINARY, NANO);
  const small = format === 'binary' && amount.mantissa > 0n && nanosOf(amount) < 10n ** 9n;
  return {
    amount: sign === '-' ? { ...amount, mantissa: -amount.mantissa } : amount,
    format: small ? 'decimal' : format,
    kept: text === '0' || isKept(whole.replace(/^0+/, ''), fraction, format, exponent, scale),
    scale,
  };
}

function readSuffix(
  suffix: string,
  exponentText: string | undefined,
): { readonly format: Parsed['format']; readonly exponent: number } | undefined {
  if (exponentText !== undefined) {
    const exponent = Number(exponentText);
    const isExponent = (suffix === 'e' || suffix === 'E') && Math.abs(exponent) <= MOST_EXPONENT;
    return isExponent ? { format: 'exponent', exponent } : undefined;
  }
  const decimal = ownField(DECIMAL, suffix);
  if (decimal !== undefined) return { format: 'decimal', exponent: decimal };
  const binary = ownField(BINARY, suffix);
  return binary === undefined ? undefined : { format: 'binary', exponent: binary };
}

/** The conditions under which apimachinery's fast path keeps the text although it may not be canonical ("1.250"). */
function isKept(
  whole: string,
  fraction: string,
  format: Parsed['format'],
  exponent: number,
  scale: number,
): boolean {
  const digits = (whole === '' ? '0' : whole) + fraction;
  if (format === 'binary') {
    const precision =
      15 - (whole === '' ? 1 : whole.length) - Math.trunc(Math.fround((exponent * 3) / 10)) - 1;
    return fraction === '' && precision >= 0 && (BigInt(digits) & 7n) !== 0n;
  }
  return (
    digits.length <= GO_INT64_DIGITS &&
    scale >= NANO &&
    scale % 3 === 0 &&
    !digits.endsWith('000') &&
    !digits.startsWith('0')
  );
}

function amountOf(digits: bigint, scale: number): Amount {
  if (digits === 0n) return { mantissa: 0n, exponent: 0 };
  let [mantissa, exponent] = [digits, scale];
  for (; mantissa % 10n === 0n; mantissa /= 10n) exponent += 1;
  return { mantissa, exponent };
}

/** To a multiple of 10^`power`; digits that are lost round away from zero. */
function roundedUp({ mantissa, exponent }: Amount, power: number): Amount {
  const lost = power - exponent;
  if (lost <= 0 || mantissa === 0n) return { mantissa, exponent };
  // There are fewer digits: the least that is not nothing is left.
  const isTiny = lost > MOST_DIGITS;
  const least = mantissa > 0n ? 1n : -1n;
  return amountOf(isTiny ? least : roundAwayFromZero(mantissa, 10n ** BigInt(lost)), power);
}

/** In units of 10^-9, of an amount whose exponent is small: a binary one. */
function nanosOf({ mantissa, exponent }: Amount): bigint {
  return mantissa * 10n ** BigInt(exponent - NANO);
}

function roundAwayFromZero(value: bigint, divisor: bigint): bigint {
  const quotient = value / divisor;
  if (value % divisor === 0n) return quotient;
  return value > 0n ? quotient + 1n : quotient - 1n;
}

function writeBinary(amount: Amount): string {
  const nanos = nanosOf(amount);
  const whole = nanos / 10n ** 9n;
  if (nanos % 10n ** 9n !== 0n || (whole > -1024n && whole < 1024n)) return writeDecimal(amount, 'decimal');
  let mantissa = whole;
  let exponent = 0;
  while (mantissa % 1024n === 0n && exponent < 60) {
    mantissa /= 1024n;
    exponent += 10;
  }
  return `${String(mantissa)}${BINARY_SUFFIX.get(exponent) ?? ''}`;
}

function writeDecimal(amount: Amount, format: 'decimal' | 'exponent'): string {
  let { mantissa, exponent } = amount;
  while (exponent % 3 !== 0) {
    mantissa *= 10n;
    exponent -= 1;
  }
  if (format === 'exponent')
    return exponent === 0 ? String(mantissa) : `${String(mantissa)}e${String(exponent)}`;
  return `${String(mantissa)}${DECIMAL_SUFFIX.get(exponent) ?? ''}`;
}
