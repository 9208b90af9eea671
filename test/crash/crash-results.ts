/**
 * What is kept of the last full run of each scenario, one JSON file each, so that the campaign can be done in pieces: the report
 * is put together from all of them.
 */

import { createHash } from 'node:crypto';
import { mkdir, readFile, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import type { CrashScenario } from './crash-play.ts';
import type { CrashSite } from './crash-sites.ts';
import type { CrashVerdict } from './crash-verdict.ts';

export interface CrashResult {
  readonly scenario: string;
  readonly kind: string;
  /** Of the scenario as it was played, see {@link definitionHash}. */
  readonly definition: string;
  /** Day of its end, `2026-11-21`. */
  readonly date: string;
  /** What was run; with `+` if files differed from it. */
  readonly commit: string;
  /** Of what decides, as it was run (`hashOfDecidingSources`); results of before do not say. */
  readonly sources?: string;
  /** Of this scenario alone, where that is known. */
  readonly minutes?: number;
  /** Runs at a time. */
  readonly parallel: number;
  /** Cores and versions, as one line. */
  readonly machine: string;
  readonly verdicts: readonly CrashVerdict[];
  /** Of a run of before verdicts were kept: all that is known of it. */
  readonly figures?: CrashFigures;
}

/** Numbers of places to crash at. */
export interface CrashFigures {
  readonly sites: number;
  readonly killed: number;
  readonly failed: number;
  readonly missed: number;
}

/** Layer, side, kind, the rest of the key, occurrence, what came of it, milliseconds to resume or null, faults if there are any. */
type Row = [
  CrashSite['layer'],
  CrashSite['side'],
  string,
  string,
  number,
  'killed' | 'not reached',
  number | null,
  ...string[],
];

export function definitionHash({ definition }: Pick<CrashScenario, 'definition'>): string {
  return createHash('sha256').update(definition).digest('hex').slice(0, 16);
}

/** `directory`/statefulset-in-place.json */
function fileOf(directory: string, scenario: string): string {
  return join(directory, `${scenario.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-')}.json`);
}

/** Replaces what was kept of this scenario. */
export async function keepResult(directory: string, result: CrashResult): Promise<void> {
  await mkdir(directory, { recursive: true });
  await writeFile(fileOf(directory, result.scenario), formatResult(result));
}

/** Everything that is kept. @throws Error naming a file that cannot be read as a result */
export async function keptResults(directory: string): Promise<readonly CrashResult[]> {
  const files = (await readdir(directory)).filter((name) => name.endsWith('.json')).sort();
  return await Promise.all(
    files.map(async (name) => {
      try {
        return parseResult(await readFile(join(directory, name), 'utf8'));
      } catch (error) {
        throw new Error(`${name} holds no result of the crash matrix`, { cause: error });
      }
    }),
  );
}

/** JSON with one line a site. */
function formatResult({ verdicts, ...facts }: CrashResult): string {
  const rows = verdicts.map(({ site, reached, resumedAfterMs, faults }): Row => {
    const { layer, side, kind, key, occurrence } = site;
    const rest = key.slice(kind.length).trimStart();
    const outcome = reached ? 'killed' : 'not reached';
    return [layer, side, kind, rest, occurrence, outcome, resumedAfterMs ?? null, ...faults];
  });
  const lines = rows.map((row) => `    ${JSON.stringify(row)}`);
  const head = JSON.stringify(facts, null, 2).replace(/\n\}$/, '');
  return [
    `${head},`,
    '  "verdicts": [',
    ...(lines.length > 0 ? [lines.join(',\n')] : []),
    '  ]',
    '}',
    '',
  ].join('\n');
}

function parseResult(text: string): CrashResult {
  const { verdicts, ...facts } = JSON.parse(text) as Omit<CrashResult, 'verdicts'> & {
    readonly verdicts: readonly Row[];
  };
  return {
    ...facts,
    verdicts: verdicts.map(([layer, side, kind, rest, occurrence, outcome, resumed, ...faults]) => ({
      site: { layer, side, kind, key: `${kind} ${rest}`.trimEnd(), occurrence },
      reached: outcome === 'killed',
      resumedAfterMs: resumed ?? undefined,
      faults,
    })),
  };
}
