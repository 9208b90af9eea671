/** Durations as people type them, and ages as kubectl prints them. */

import { InvalidArgumentError } from 'commander';

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/**
 * `90`, `30s`, `1m30s`, `500ms`, `2h` → milliseconds. A number without a unit means seconds; what `0` means is the flag's.
 * @throws Error naming what is accepted
 */
export function parseDuration(text: string): number {
  if (/^\d{1,9}$/.test(text)) {
    return Number(text) * 1_000;
  }
  if (/^(\d{1,9}(?:\.\d{1,3})?(?:ms|s|m|h|d))+$/.test(text)) {
    let total = 0;
    for (const [, amount, unit] of text.matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h|d)/g)) {
      total += Number(amount) * (UNITS[unit ?? ''] ?? 0);
    }
    return Math.round(total);
  }
  throw new Error(`"${text}" is not a duration: write seconds, or like 30s, 1m30s, 2h`);
}

/** {@link parseDuration} for the grammar of the command line. @throws InvalidArgumentError */
export function durationOption(text: string): number {
  try {
    return parseDuration(text);
  } catch (error) {
    throw new InvalidArgumentError(error instanceof Error ? error.message : String(error));
  }
}

/** kubectl's ages: `45s`, `3m12s`, `25m`, `5h10m`, `12h`, `3d4h`, `12d`, `2y33d`. */
export function formatAge(milliseconds: number): string {
  const seconds = Math.floor(milliseconds / 1_000);
  if (seconds < 0) return '0s';
  if (seconds < 120) return `${String(seconds)}s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 10) return withRest(minutes, 'm', seconds % 60, 's');
  if (minutes < 180) return `${String(minutes)}m`;
  const hours = Math.floor(minutes / 60);
  if (hours < 8) return withRest(hours, 'h', minutes % 60, 'm');
  if (hours < 48) return `${String(hours)}h`;
  const days = Math.floor(hours / 24);
  if (days < 8) return withRest(days, 'd', hours % 24, 'h');
  if (days < 730) return `${String(days)}d`;
  const years = Math.floor(days / 365);
  return years < 8 ? withRest(years, 'y', days % 365, 'd') : `${String(years)}y`;
}

/** Age of an RFC 3339 time; `<unknown>` when there is none. */
export function ageOf(timestamp: string | undefined, now: number): string {
  const then = timestamp === undefined ? Number.NaN : Date.parse(timestamp);
  return Number.isNaN(then) ? '<unknown>' : formatAge(now - then);
}

function withRest(large: number, largeUnit: string, small: number, smallUnit: string): string {
  return small === 0
    ? `${String(large)}${largeUnit}`
    : `${String(large)}${largeUnit}${String(small)}${smallUnit}`;
}
