/** The report of the crash matrix, put together from what is kept of each scenario. */

import { mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { packageRoot } from '../../../local/package-root.ts';
import { crashReport, sourcesOfReport } from '../../crash/crash-report.ts';
import { definitionHash, keepResult, keptResults } from '../../crash/crash-results.ts';
import type { CrashResult } from '../../crash/crash-results.ts';
import { CRASH_SCENARIOS } from '../../crash/crash-scenarios.ts';
import type { CrashVerdict } from '../../crash/crash-verdict.ts';
import { DECIDING } from '../../../local/package-sources.ts';

const RECREATE = { name: 'StatefulSet: recreate', kind: 'StatefulSet', definition: 'four pods' } as const;
const SURGE = { name: 'DaemonSet: surge', kind: 'DaemonSet', definition: 'four nodes' } as const;

function verdictOf(change: Partial<CrashVerdict['site']>, parts: Partial<CrashVerdict> = {}): CrashVerdict {
  const kind = change.kind ?? 'delete pods';
  const site = { layer: 'apiserver', key: kind, kind, occurrence: 1, side: 'before', ...change } as const;
  return { site, reached: true, resumedAfterMs: 6_400, faults: [], ...parts };
}

function resultOf(change: Partial<CrashResult> = {}): CrashResult {
  return {
    scenario: RECREATE.name,
    kind: RECREATE.kind,
    definition: definitionHash(RECREATE),
    date: '2026-11-21',
    commit: '5d9863a1b2',
    sources: 'c0ffee',
    minutes: 9,
    parallel: 3,
    machine: '2 cores; Kubernetes 1.36.3',
    verdicts: [
      verdictOf({ key: 'delete pods web-3' }),
      verdictOf({ key: 'delete pods web-3', side: 'after' }, { resumedAfterMs: 9_400 }),
      verdictOf({ kind: 'create events', key: 'create events Paused' }, { resumedAfterMs: undefined }),
      verdictOf({ layer: 'temporal', kind: 'PollActivityTaskQueue', key: 'PollActivityTaskQueue closeRun' }),
    ],
    ...change,
  };
}

/** Folders of this repository that the files of one import from. */
async function importsOf(folder: string): Promise<readonly string[]> {
  const directory = join(packageRoot(), folder);
  const names = (await readdir(directory, { recursive: true })).filter((name) => name.endsWith('.ts'));
  const texts = await Promise.all(names.map(async (name) => await readFile(join(directory, name), 'utf8')));
  return texts.flatMap((text) =>
    [...text.matchAll(/from '(?:\.\.\/)+([a-z]+)\//g)].map(([, name = '']) => name),
  );
}

describe('crash report', () => {
  let folder: string;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'fairlead-crash-results-'));
  });

  afterAll(async () => {
    await rm(folder, { recursive: true });
  });

  it('reads back what was kept, and a further run replaces it', async () => {
    const failed = verdictOf(
      { key: 'delete pods web-1', occurrence: 2 },
      { faults: ['budget: 3 of 2', 'end'] },
    );
    await keepResult(folder, resultOf({ verdicts: [] }));
    await keepResult(folder, resultOf({ scenario: SURGE.name, kind: SURGE.kind }));
    await keepResult(folder, resultOf({ verdicts: [...resultOf().verdicts, failed] }));

    const kept = await keptResults(folder);

    expect(kept.map(({ scenario }) => scenario)).toEqual([SURGE.name, RECREATE.name]);
    expect(kept[1]).toEqual(resultOf({ verdicts: [...resultOf().verdicts, failed] }));
  });

  it('names the file that holds no result', async () => {
    const broken = join(folder, 'broken.json');
    await writeFile(broken, '{');

    await expect(keptResults(folder)).rejects.toThrow('broken.json holds no result of the crash matrix');

    await rm(broken);
  });

  it('names date and commit of each scenario, and counts all of them together', () => {
    const surge = resultOf({
      scenario: SURGE.name,
      kind: SURGE.kind,
      definition: definitionHash(SURGE),
      commit: 'bddc8b8',
    });
    const report = crashReport([RECREATE, SURGE], [surge, resultOf()], 'c0ffee').split('\n');

    expect(report).toContain('- 8 sites from recorded runs; killed at 8, failed at 0');
    expect(report.filter((line) => / min, /.test(line))).toEqual([
      '| StatefulSet: recreate | 4 | 4 | 0 | 0 | 6.4 s | 9.4 s |  | 2026-11-21, 5d9863a1b2, 9 min, 3 at a time |',
      '| DaemonSet: surge | 4 | 4 | 0 | 0 | 6.4 s | 9.4 s |  | 2026-11-21, bddc8b8, 9 min, 3 at a time |',
    ]);
    expect(report.filter((line) => line.startsWith('## '))).toEqual(['## StatefulSet', '## DaemonSet']);
    expect(report).toContain('| before + after | recreate | slowest to resume |');
    expect(report).toContain('| `delete pods` | 1 + 1 | 9.4 s |');
    expect(report).toContain('| `PollActivityTaskQueue closeRun` | 1 + 0 | 6.4 s |');
    expect(report.filter((line) => line.startsWith('- 2 cores'))).toEqual(['- 2 cores; Kubernetes 1.36.3']);
  });

  it('says which scenario was never run, and which is another one since', () => {
    const changed = { ...RECREATE, definition: 'five pods' };
    const report = crashReport([changed, SURGE], [resultOf()], 'c0ffee');

    expect(report).toContain('3 at a time; **the scenario has changed since** |');
    expect(report).toContain('| DaemonSet: surge |  |  |  |  |  |  |  | **never run in full** |');
  });

  it('says which is of other sources, or does not say of which', () => {
    const { sources: _, ...unsaid } = resultOf({ scenario: SURGE.name });
    const results = [resultOf(), unsaid];
    const staleOf = (sources: string) =>
      crashReport([RECREATE, SURGE], results, sources)
        .split('\n')
        .filter((line) => / min, /.test(line))
        .map((line) => line.split('|')[8]?.trim());

    expect(staleOf('c0ffee')).toEqual(['', '**yes**']);
    expect(staleOf('decade')).toEqual(['**yes**', '**yes**']);
    expect(sourcesOfReport(crashReport([RECREATE], results, 'decade'))).toBe('decade');
  });

  it('its sources are all that the worker is made of', async () => {
    const parts = new Set(['worker']);
    for (const part of parts) {
      for (const imported of await importsOf(part)) parts.add(imported);
    }

    expect([...parts].sort()).toEqual(DECIDING.toSorted());
  });

  it('of a run of which only figures were kept, those are reported', () => {
    const figures = { sites: 83, killed: 82, failed: 0, missed: 1 };
    const report = crashReport([RECREATE, SURGE], [resultOf({ verdicts: [], figures })], 'c0ffee');

    expect(report).toContain(
      '| StatefulSet: recreate | 83 | 82 | 0 | 1 | – | – |  | 2026-11-21, 5d9863a1b2, 9 min, 3 at a time; only these figures were kept |',
    );
    expect(report).toContain('- 83 sites from recorded runs; killed at 82, failed at 0');
    expect(report).not.toContain('## StatefulSet');
  });

  it('lists what failed and what was not come by; a run without sites is an error', () => {
    const verdicts = [
      verdictOf({ key: 'delete pods web-3' }, { faults: ['budget: 3 of 2'] }),
      verdictOf({ key: 'delete pods web-2' }, { reached: false, resumedAfterMs: undefined }),
    ];
    const report = crashReport([RECREATE], [resultOf({ verdicts, machine: '64 cores' })], 'c0ffee');

    expect(report).toContain(
      '- 2 sites from recorded runs; killed at 1, failed at 1\n- not come by in three tries: 1',
    );
    expect(report).toContain(
      '## Failed\n\n- StatefulSet: recreate: before delete pods web-3 #1: budget: 3 of 2\n',
    );
    expect(report).toContain('## Not come by\n\n- StatefulSet: recreate: before delete pods web-2 #1\n');
    expect(() => crashReport([RECREATE], [resultOf({ verdicts: [] })], 'c0ffee')).toThrow('had no sites');
  });

  it('the committed report is that of the kept results and of the scenarios of today', async () => {
    const kept = await keptResults(join(packageRoot(), 'test', 'crash', 'results'));
    const committed = await readFile(join(packageRoot(), 'docs', 'crash-report.md'), 'utf8');

    // If not: CRASH_SCENARIOS=none npm run test:crash
    const sources = sourcesOfReport(committed);
    expect(sources).not.toBe('');
    expect(committed).toBe(crashReport(CRASH_SCENARIOS, kept, sources));
  });
});
