/** What was measured, kept as JSON: one file for a scenario and a day. */

import { mkdir, readFile, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { errorCode, trusted } from '../kubernetes/values.ts';
import { packageRoot } from '../local/package-root.ts';
import type { Machine } from './machine.ts';
import type { Outcome } from './scenario.ts';

export interface Result extends Outcome {
  readonly scenario: string;
  readonly title: string;
  /** When it began. */
  readonly at: string;
  readonly machine: Machine;
  /** What was run; with `+` if files differed from it. Results of before do not say. */
  readonly commit?: string;
  /** Of what decides, as it was run (`hashOfDecidingSources`). */
  readonly sources?: string;
  /** Before it began: see {@link Machine}. */
  readonly loadAverage: number;
}

const DIRECTORY = join(packageRoot(), 'bench', 'results');
const NAME = /^(?<date>\d{4}-\d{2}-\d{2})-(?<scenario>.+)\.json$/;

/** Resolves with the path below the repository. A second run on the same day replaces the first. */
export async function keepResult(result: Result): Promise<string> {
  const name = `${result.at.slice(0, 10)}-${result.scenario}.json`;
  await mkdir(DIRECTORY, { recursive: true });
  await writeFile(join(DIRECTORY, name), `${JSON.stringify(result, rounded, 1)}\n`);
  return `bench/results/${name}`;
}

/** The newest result of each scenario that was ever kept. */
export async function newestResults(): Promise<ReadonlyMap<string, Result>> {
  const newest = new Map<string, Result>();
  for (const name of await names()) {
    const scenario = NAME.exec(name)?.groups?.['scenario'];
    if (scenario === undefined) continue;
    newest.set(scenario, trusted<Result>(JSON.parse(await readFile(join(DIRECTORY, name), 'utf8'))));
  }
  return newest;
}

/** Oldest first. */
async function names(): Promise<readonly string[]> {
  try {
    return (await readdir(DIRECTORY)).toSorted();
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return [];
    throw error;
  }
}

/** Nobody reads more than four digits after the point. */
function rounded(_key: string, value: unknown): unknown {
  return typeof value === 'number' && !Number.isInteger(value) ? Number(value.toFixed(4)) : value;
}
