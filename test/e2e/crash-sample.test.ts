/**
 * A fixed sample of the crash matrix (`npm run test:crash` runs all of it): every kind of request of four whole rollouts of a
 * StatefulSet, the worker killed before the first of a kind and after the last, and of a DaemonSet's the deletes of pods, which
 * nothing but its names makes safe. And the mutant that shows that the judge can convict.
 */

import { rm } from 'node:fs/promises';

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { CrashArena } from '../crash/crash-arena.ts';
import type { CrashRun } from '../crash/crash-arena.ts';
import { runCampaign } from '../crash/crash-campaign.ts';
import { CRASH_SCENARIOS, crashScenario } from '../crash/crash-scenarios.ts';
import type { CrashScenario } from '../crash/crash-scenarios.ts';
import { inParallel, sampleOf } from '../crash/crash-sites.ts';
import { builtWorker, mutantOf } from '../support/built-worker.ts';
import { useControlPlane } from '../support/control-plane.ts';
import { Stage } from '../support/stage.ts';

/** Most of a run is waiting for the Lease of the dead to expire. */
const PARALLEL = 8;
const DAEMONS = 'DaemonSet: recreate';
const SAMPLED = CRASH_SCENARIOS.filter(({ name }) => !name.startsWith('DaemonSet:') || name === DAEMONS);

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
    clean = await inParallel(SAMPLED, SAMPLED.length, (scenario) => arena.run(scenario));
  }, 240_000);

  afterAll(async () => {
    await stage?.close();
  });

  it.each(SAMPLED.map((scenario, index) => ({ scenario, name: scenario.name, index })))(
    'without a crash: $name',
    ({ scenario, index }) => {
      const { end, budget, sites } = clean[index] as CrashRun;
      scenario.check(end);
      expect(budget.violations).toEqual([]);
      expect(sites.length).toBeGreaterThan(20);
    },
  );

  it('killed before and after every kind of write, every rollout ends as if nothing had been', async () => {
    const places = SAMPLED.flatMap((scenario, index) => {
      const run = clean[index] as CrashRun;
      return run.sites.map((site) => ({ ...site, scenario, clean: run }));
    });
    const isDaemons = ({ scenario }: { readonly scenario: CrashScenario }) => scenario.name === DAEMONS;
    const sample = [
      ...sampleOf(places.filter((place) => !isDaemons(place))),
      ...sampleOf(places.filter((place) => isDaemons(place) && place.kind === 'delete pods')),
    ];
    const cases = sample.map(({ scenario, clean: run, ...site }) => ({ scenario, clean: run, site }));
    const verdicts = await runCampaign(arena, cases, { parallel: PARALLEL, tries: 2, inTime: false });

    expect(verdicts.length).toBeGreaterThan(20);
    expect(cases.filter(isDaemons)).toHaveLength(2);
    expect(new Set(cases.map(({ site }) => site.side))).toEqual(new Set(['before', 'after']));
    expect(verdicts.filter(({ faults }) => faults.length > 0)).toEqual([]);
    // How soon is judged by the full matrix, a few at a time: so many at once keep a small machine busy.
    expect(verdicts.filter(({ resumedAfterMs }) => resumedAfterMs !== undefined).length).toBeGreaterThan(0);
  }, 600_000);

  it('design "Budget": a planner that takes one pod more is convicted', async () => {
    const mutant = await mutantOf(build, {
      file: 'planners/budget.js',
      from: 'this.#unavailable - own + 1 <= this.max',
      to: 'this.#unavailable - own <= this.max',
    });
    try {
      const mutated = new CrashArena(controlPlane(), stage, mutant);
      const names = ['recreate', 'in place', DAEMONS];
      const runs = await inParallel(names, names.length, (name) => mutated.run(crashScenario(name)));

      for (const { budget } of runs) {
        expect(new Set(budget.violations.map(({ rule }) => rule))).toEqual(new Set(['budget']));
      }
    } finally {
      await rm(mutant, { recursive: true });
    }
  }, 120_000);
});
