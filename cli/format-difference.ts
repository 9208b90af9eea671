/** A difference as lines for a terminal: where, what was there, what is there now. */

import { manyLines, oneLine } from '../kubernetes/safe-text.ts';
import { stringifyJson } from '../kubernetes/json.ts';
import type { Colors } from './colors.ts';
import type { Difference } from '../git/differences.ts';
import { toYaml } from './structured.ts';

/** The path, then the old value after `-` and the new one after `+`. */
export async function formatDifference({ path, before, after }: Difference, colors: Colors): Promise<string> {
  const old = before === undefined ? [] : (await lines(before)).map((line) => colors.bad(`    - ${line}`));
  const present = after === undefined ? [] : (await lines(after)).map((line) => colors.good(`    + ${line}`));
  return [`  ${oneLine(path)}`, ...old, ...present].join('\n');
}

async function lines(value: unknown): Promise<readonly string[]> {
  if (typeof value === 'string') return manyLines(value).split('\n');
  if (typeof value !== 'object' || value === null) return [stringifyJson(value)];
  return manyLines(await toYaml(value))
    .trimEnd()
    .split('\n');
}
