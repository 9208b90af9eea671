/**
 * The worker process gets SIGKILL before and after every API write, every activity boundary and every workflow task of whole
 * rollouts; the places come from a recorded run. The report of the last full run is docs/crash-report.md.
 */

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { packageRoot } from '../../local/package-root.ts';
import { builtWorker } from '../support/built-worker.ts';
import { useControlPlane } from '../support/control-plane.ts';
import { Stage } from '../support/stage.ts';
import { CrashArena } from './crash-arena.ts';
import { runCampaign } from './crash-campaign.ts';
import { crashReport } from './crash-report.ts';
import { CRASH_SCENARIOS } from './crash-scenarios.ts';
import { describeSite } from './crash-sites.ts';
import type { CrashVerdict } from './crash-verdict.ts';

const HOUR_MS = 3_600_000;
/** Most of a run is waiting for the Lease of the dead to expire; more at a time would measure the machine, not the worker. */
const PARALLEL = Number(process.env['CRASH_PARALLEL'] ?? 3);
/** For a quick look: one site of so many of those whose description matches. The report is kept only of all of them. */
const EVERY = Number(process.env['CRASH_EVERY'] ?? 1);
const SITES = process.env['CRASH_SITES'] ?? '';

describe('crash matrix', () => {
  const controlPlane = useControlPlane({ nodes: 8 });
  const verdicts: CrashVerdict[] = [];
  const began = Date.now();
  let stage: Stage;
  let arena: CrashArena;

  beforeAll(async () => {
    const build = await builtWorker();
    stage = await Stage.open(controlPlane());
    arena = new CrashArena(controlPlane(), stage, build);
  }, 240_000);

  afterAll(async () => {
    await stage?.close();
  });

  it.each(CRASH_SCENARIOS)(
    'every site of: $name',
    async (scenario) => {
      const clean = await arena.run(scenario);
      scenario.check(clean.end);
      expect(clean.budget.violations).toEqual([]);
      expect(clean.sites.length).toBeGreaterThan(0);

      const cases = clean.sites
        .filter((site) => new RegExp(SITES).test(describeSite(site)))
        .filter((_, index) => index % EVERY === 0)
        .map((site) => ({ scenario, clean, site }));
      const judged = await runCampaign(arena, cases, {
        parallel: scenario.alone === true ? 1 : PARALLEL,
        tries: 3,
        inTime: true,
        onVerdict: ({ site, resumedAfterMs, faults, reached }) => {
          const how = faults.length > 0 ? `FAILED ${faults.join('; ')}` : reached ? 'ok' : 'not reached';
          process.stdout.write(
            `${scenario.name}: ${describeSite(site)}: ${how}, resumed ${String(resumedAfterMs)} ms\n`,
          );
        },
      });
      verdicts.push(...judged);

      expect(judged.filter(({ faults }) => faults.length > 0)).toEqual([]);
      // Only what depends on the clock may be missed.
      expect(
        judged.filter(({ reached, site }) => !reached && site.kind !== 'create events').length,
      ).toBeLessThan(judged.length / 10);
    },
    4 * HOUR_MS,
  );

  it('writes the report', async () => {
    expect(new Set(verdicts.map(({ scenario }) => scenario)).size).toBe(CRASH_SCENARIOS.length);
    const report = crashReport(verdicts, { durationMs: Date.now() - began, parallel: PARALLEL });
    if (EVERY === 1 && SITES === '') await writeFile(join(packageRoot(), 'docs', 'crash-report.md'), report);
    process.stdout.write(report);
  });
});
