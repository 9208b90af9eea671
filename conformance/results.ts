/** Results of upstream's tests, kept in the repository: the built-in controllers' say which tests judge Fairlead. */

import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { errorCode, trusted } from '../kubernetes/values.ts';
import { packageRoot } from '../local/package-root.ts';
import type { Side } from './ground.ts';
import type { TestResult } from './upstream-tests.ts';

export interface KeptResult extends TestResult {
  /** Day of the run. */
  readonly at: string;
}

const DIRECTORY = join(packageRoot(), 'conformance', 'results');

/** By name of the test; empty if there was no run yet. */
export async function readResults(side: Side): Promise<ReadonlyMap<string, KeptResult>> {
  let text: string;
  try {
    text = await readFile(join(DIRECTORY, `${side}.json`), 'utf8');
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return new Map();
    throw error;
  }
  return new Map(trusted<readonly KeptResult[]>(JSON.parse(text)).map((result) => [result.name, result]));
}

let writing: Promise<void> = Promise.resolve();

/** Replaces the result of this test at once; those of others stay. An interrupted run loses nothing. */
export async function keepResult(side: Side, result: TestResult): Promise<void> {
  writing = writing.then(() => write(side, result));
  await writing;
}

async function write(side: Side, result: TestResult): Promise<void> {
  const at = new Date().toISOString().slice(0, 10);
  const kept = new Map(await readResults(side));
  kept.set(result.name, { ...result, seconds: Math.round(result.seconds), at });
  const sorted = [...kept.values()].toSorted((a, b) => (a.name < b.name ? -1 : 1));
  await mkdir(DIRECTORY, { recursive: true });
  await writeFile(join(DIRECTORY, `${side}.json`), `${JSON.stringify(sorted, undefined, 2)}\n`);
}
