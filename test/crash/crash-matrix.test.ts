/**
 * The worker process gets SIGKILL before and after every API write, every activity boundary and every workflow task of whole
 * rollouts and commits; the places come from a recorded run. What came of it is kept by scenario in test/crash/results, and the report of
 * all that is kept is docs/crash-report.md.
 */

import { writeFile } from 'node:fs/promises';
import { cpus } from 'node:os';
import { join } from 'node:path';

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import type { WorkloadApi } from '../../kubernetes/workload-api.ts';
import { startControlPlane } from '../../local/control-plane.ts';
import type { ControlPlane } from '../../local/control-plane.ts';
import { packageRoot } from '../../local/package-root.ts';
import { hashOfDecidingSources, presentCommit } from '../../local/package-sources.ts';
import { VERSIONS } from '../../local/versions.ts';
import { builtWorker } from '../support/built-worker.ts';
import { useControlPlane } from '../support/control-plane.ts';
import { Stage } from '../support/stage.ts';
import { CrashArena } from './crash-arena.ts';
import { runCampaign } from './crash-campaign.ts';
import type { CrashScenario } from './crash-play.ts';
import { crashReport } from './crash-report.ts';
import { definitionHash, keepResult, keptResults } from './crash-results.ts';
import { CRASH_SCENARIOS } from './crash-scenarios.ts';
import { describeSite } from './crash-sites.ts';
import type { CrashVerdict } from './crash-verdict.ts';
import { missedForGood } from './crash-verdict.ts';

const HOUR_MS = 3_600_000;
/** Most of a run is waiting for the Lease of the dead to expire; more at a time would measure the machine, not the worker. */
const PARALLEL = Number(process.env['CRASH_PARALLEL'] ?? 3);
/** Of a scenario that needs a control plane for itself, so many run at most, each on one of its own. */
const ALONE_PARALLEL = 3;
/**
 * A regular expression: only scenarios whose names match are run, and replace what was kept of them; `none` writes the report of
 * what is kept.
 */
const SCENARIOS = process.env['CRASH_SCENARIOS'] ?? '';
/** For a quick look: one site of so many of those whose description matches. Nothing is kept then. */
const EVERY = Number(process.env['CRASH_EVERY'] ?? 1);
const SITES = process.env['CRASH_SITES'] ?? '';

const RESULTS = join(packageRoot(), 'test', 'crash', 'results');
const chosen = SCENARIOS === 'none' ? [] : CRASH_SCENARIOS.filter(({ name }) => RegExp(SCENARIOS).test(name));
if (chosen.length === 0 && SCENARIOS !== 'none') {
  throw new Error(`CRASH_SCENARIOS=${SCENARIOS} matches none of ${names(CRASH_SCENARIOS)}`);
}

if (chosen.length > 0) {
  describe('crash matrix', () => {
    crashMatrix();
  });
}

it('writes the report of what is kept', async () => {
  process.stdout.write(await writeReport());
});

function crashMatrix(): void {
  const controlPlane = useControlPlane({ nodes: 8 });
  const open: Opened[] = [];
  let native: Opened | undefined;
  let build: string;
  let commit: string;
  let sources: string;

  beforeAll(async () => {
    commit = await presentCommit(['test/crash/results', 'docs/crash-report.md']);
    sources = await hashOfDecidingSources();
    build = await builtWorker();
    open.push(await openArena(controlPlane(), build));
  }, 240_000);

  afterAll(async () => {
    await Promise.all([...open, native].map(async (one) => await one?.close()));
  }, 60_000);

  async function addArena(options: { readonly workloadApi?: WorkloadApi } = {}): Promise<Opened> {
    const another = await startControlPlane({ nodes: 8, ...options });
    return await openArena(another, build, async () => await another.down());
  }

  /** So many at most, for what it needs. */
  async function arenasOf({ workloadApi, alone }: CrashScenario, parallel: number): Promise<CrashArena[]> {
    if (workloadApi !== undefined) return [(native ??= await addArena({ workloadApi })).arena];
    const needed = alone === true ? parallel : 1;
    while (open.length < needed) open.push(await addArena());
    return open.map(({ arena }) => arena);
  }

  it.each(chosen)(
    'every site of: $name',
    async (scenario) => {
      const began = Date.now();
      const parallel = scenario.alone === true ? Math.min(PARALLEL, ALONE_PARALLEL) : PARALLEL;
      const arenas = await arenasOf(scenario, parallel);
      const [arena] = arenas as [CrashArena];
      const clean = await arena.run(scenario);
      scenario.check(clean.end);
      expect(clean.budget.violations).toEqual([]);
      expect(clean.deletedTwice).toEqual([]);
      expect(clean.sites.length).toBeGreaterThan(0);
      process.stdout.write(`${scenario.name}: ${String(clean.sites.length)} sites\n`);

      const cases = clean.sites
        .filter((site) => new RegExp(SITES).test(describeSite(site)))
        .filter((_, index) => index % EVERY === 0)
        .map((site) => ({ scenario, clean, site }));
      const verdicts = await runCampaign(arenas, cases, {
        parallel,
        tries: 3,
        inTime: true,
        onVerdict: (verdict) => process.stdout.write(lineOf(scenario, verdict)),
      });
      if (EVERY === 1 && SITES === '') {
        await keepResult(RESULTS, {
          scenario: scenario.name,
          kind: scenario.kind,
          definition: definitionHash(scenario),
          date: new Date().toISOString().slice(0, 10),
          commit,
          sources,
          minutes: Math.round((Date.now() - began) / 60_000),
          parallel,
          machine: machine(),
          verdicts,
        });
        await writeReport();
      }

      expect(verdicts.filter(({ faults }) => faults.length > 0)).toEqual([]);
      expect(missedForGood(verdicts)).toEqual([]);
      // Only what depends on the clock may be missed, and little of it.
      expect(
        verdicts.filter(({ reached, site }) => !reached && site.kind !== 'create events').length,
      ).toBeLessThan(verdicts.length / 10);
    },
    4 * HOUR_MS,
  );
}

/** An arena, and what it stands on. */
interface Opened {
  readonly arena: CrashArena;
  readonly close: () => Promise<void>;
}

async function openArena(
  controlPlane: ControlPlane,
  build: string,
  down: () => Promise<void> = async () => undefined,
): Promise<Opened> {
  const stage = await Stage.open(controlPlane);
  return {
    arena: new CrashArena(controlPlane, stage, build),
    async close() {
      await stage.close();
      await down();
    },
  };
}

async function writeReport(): Promise<string> {
  const report = crashReport(CRASH_SCENARIOS, await keptResults(RESULTS), await hashOfDecidingSources());
  await writeFile(join(packageRoot(), 'docs', 'crash-report.md'), report);
  return report;
}

function lineOf({ name }: CrashScenario, { site, resumedAfterMs, faults, reached }: CrashVerdict): string {
  const how = faults.length > 0 ? `FAILED ${faults.join('; ')}` : reached ? 'ok' : 'not reached';
  return `${name}: ${describeSite(site)}: ${how}, resumed ${String(resumedAfterMs)} ms\n`;
}

function machine(): string {
  const { kubernetes, temporal } = VERSIONS;
  return `${String(cpus().length)} cores; Kubernetes ${kubernetes}, Temporal CLI ${temporal}, Node ${process.versions.node}`;
}

function names(scenarios: readonly CrashScenario[]): string {
  return scenarios.map(({ name }) => name).join(', ');
}
