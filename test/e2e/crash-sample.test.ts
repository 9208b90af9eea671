/**
 * A fixed sample of the crash matrix (`npm run test:crash` runs all of it): every kind of request of four whole rollouts, the
 * worker killed before the first of a kind and after the last. And the mutant that shows that the judge can convict.
 */

import { rm } from 'node:fs/promises';

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { CrashArena } from '../crash/crash-arena.ts';
import type { CrashRun } from '../crash/crash-arena.ts';
import { runCampaign } from '../crash/crash-campaign.ts';
import { CRASH_SCENARIOS, crashScenario } from '../crash/crash-scenarios.ts';
import { inParallel, sampleOf } from '../crash/crash-sites.ts';
import { builtWorker, mutantOf } from '../support/built-worker.ts';
import { useControlPlane } from '../support/control-plane.ts';
import { Stage } from '../support/stage.ts';

/** Most of a run is waiting for the Lease of the dead to expire. */
const PARALLEL = 8;

describe('crash sample', () => {
  const controlPlane = useControlPlane({ nodes: 8 });
  let stage: Stage;
  let arena: CrashArena;
  let build: string;
  let clean: readonly CrashRun[];

  beforeAll(async () => {
    build = await builtWorker();
    stage = await Stage.open(controlPlane());
    arena = new CrashArena(controlPlane(), stage, build);
    clean = await inParallel(CRASH_SCENARIOS, CRASH_SCENARIOS.length, (scenario) => arena.run(scenario));
  }, 240_000);

  afterAll(async () => {
    await stage?.close();
  });

  it.each(CRASH_SCENARIOS.map((scenario, index) => ({ scenario, name: scenario.name, index })))(
    'without a crash: $name',
    ({ scenario, index }) => {
      const { end, budget, sites } = clean[index] as CrashRun;
      scenario.check(end);
      expect(budget.violations).toEqual([]);
      expect(sites.length).toBeGreaterThan(20);
    },
  );

  it('killed before and after every kind of write, every rollout ends as if nothing had been', async () => {
    const places = CRASH_SCENARIOS.flatMap((scenario, index) => {
      const run = clean[index] as CrashRun;
      return run.sites.map((site) => ({ ...site, scenario, clean: run }));
    });
    const cases = sampleOf(places).map(({ scenario, clean: run, ...site }) => ({
      scenario,
      clean: run,
      site,
    }));
    const verdicts = await runCampaign(arena, cases, { parallel: PARALLEL, tries: 2, inTime: false });

    expect(verdicts.length).toBeGreaterThan(25);
    expect(verdicts.filter(({ faults }) => faults.length > 0)).toEqual([]);
  }, 300_000);

  it('design "Where the bar is": work goes on within 10 s after a worker is back', async () => {
    const scenario = crashScenario('recreate');
    const run = clean[CRASH_SCENARIOS.indexOf(scenario)] as CrashRun;
    const site = run.sites.find(({ key, side }) => key === 'delete pods web-2' && side === 'after');
    const cases = site === undefined ? [] : [{ scenario, clean: run, site }];
    const verdicts = await runCampaign(arena, cases, { parallel: 1, tries: 1, inTime: true });

    expect(verdicts).toMatchObject([{ reached: true, faults: [] }]);
  }, 60_000);

  it.each(['recreate', 'in place'])(
    'design "Budget": a planner that takes one pod more is convicted (%s)',
    async (name) => {
      const mutant = await mutantOf(build, {
        file: 'planners/budget.js',
        from: 'this.#unavailable - own + 1 <= this.max',
        to: 'this.#unavailable - own <= this.max',
      });
      try {
        const { budget } = await new CrashArena(controlPlane(), stage, mutant).run(crashScenario(name));

        expect(new Set(budget.violations.map(({ rule }) => rule))).toEqual(new Set(['budget']));
      } finally {
        await rm(mutant, { recursive: true });
      }
    },
    60_000,
  );
});
