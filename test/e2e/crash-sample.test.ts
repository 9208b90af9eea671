/**
 * A fixed sample of the crash matrix (`npm run test:crash` runs all of it): every kind of request of four whole rollouts of a
 * StatefulSet, the worker killed before the first of a kind or after the last; of a DaemonSet's the deletes of pods, which
 * nothing but its names makes safe; of a Deployment's the writes to ReplicaSets; those to ReplicationControllers that are rolled
 * out and renamed; of a commit of fifty objects an apply, a prune and the inventory. And the mutants that show that the
 * judge can convict.
 */

import { rm } from 'node:fs/promises';

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { CrashArena } from '../crash/crash-arena.ts';
import type { CrashRun } from '../crash/crash-arena.ts';
import { runCampaign } from '../crash/crash-campaign.ts';
import { missedForGood } from '../crash/crash-verdict.ts';
import { CRASH_SCENARIOS, crashScenario, LATE_READY } from '../crash/crash-scenarios.ts';
import { inParallel, sampleOf } from '../crash/crash-sites.ts';
import type { CrashSite } from '../crash/crash-sites.ts';
import { builtWorker, mutantOf } from '../support/built-worker.ts';
import { useControlPlane } from '../support/control-plane.ts';
import { IS_FULL } from '../support/full-suite.ts';
import { Stage } from '../support/stage.ts';

/** Most of a run is waiting for the Lease of the dead to expire. */
const PARALLEL = 8;
const DAEMONS = 'DaemonSet: recreate';
const DEPLOYMENT = 'Deployment: rolling update';
const CONTROLLERS = 'ReplicationController: renamed';
const COMMIT = 'Commit: fifty objects';
/** Of these only such requests; of a StatefulSet's all. */
const FEW: Readonly<Record<string, RegExp>> = {
  [DAEMONS]: /^delete pods /,
  [DEPLOYMENT]: /^(create|patch) replicasets /,
  [CONTROLLERS]: /^(create|delete|patch) replicationcontrollers /,
  [COMMIT]: /^((patch|delete) secrets |update configmaps inventory)/,
};
const SAMPLED = CRASH_SCENARIOS.filter(({ kind, name }) => kind === 'StatefulSet' || name in FEW);

/** In the full suite also these on both sides, and every kind of call of Temporal. */
const BOTH_SIDES = IS_FULL ? / pods\b/ : undefined;
const isSampled = ({ layer, kind }: CrashSite) =>
  IS_FULL || layer === 'apiserver' || kind.startsWith('Respond');

/** Each planner's budget, by one pod too many. */
const MUTATIONS = [
  {
    file: 'planners/budget.js',
    from: 'this.#unavailable - own + 1 <= this.max',
    to: 'this.#unavailable - own <= this.max',
  },
  {
    file: 'planners/deployment-size.js',
    from: 'replicas + budget.maxSurge - taken',
    to: 'replicas + budget.maxSurge + 1 - taken',
  },
  {
    file: 'planners/rolling-update-scale.js',
    from: 'desired + surge - taken',
    to: 'desired + surge + 1 - taken',
  },
] as const;

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
    clean = await inParallel(SAMPLED, SAMPLED.length / 2, (scenario) => arena.run(scenario));
  }, 240_000);

  afterAll(async () => {
    await stage?.close();
  });

  it.each(SAMPLED.map((scenario, index) => ({ scenario, name: scenario.name, index })))(
    'without a crash: $name',
    ({ scenario, index }) => {
      const { end, budget, sites, deletedTwice } = clean[index] as CrashRun;
      scenario.check(end);
      expect(budget.violations).toEqual([]);
      expect(deletedTwice).toEqual([]);
      expect(sites.length).toBeGreaterThan(20);
    },
  );

  it('killed before and after every kind of write, every rollout ends as if nothing had been', async () => {
    const places = SAMPLED.flatMap((scenario, index) => {
      const run = clean[index] as CrashRun;
      return run.sites.map((site) => ({ ...site, scenario, clean: run }));
    });
    const few = (name: string) =>
      sampleOf(
        places.filter(({ scenario, key }) => scenario.name === name && FEW[name]?.test(key)),
        BOTH_SIDES,
      );
    const sample = [
      ...sampleOf(
        places.filter((place) => place.scenario.kind === 'StatefulSet' && isSampled(place)),
        BOTH_SIDES,
      ),
      ...Object.keys(FEW).flatMap(few),
    ];
    const cases = sample.map(({ scenario, clean: run, ...site }) => ({ scenario, clean: run, site }));
    const verdicts = await runCampaign([arena], cases, { parallel: PARALLEL, tries: 2, inTime: false });

    expect(verdicts.length).toBeGreaterThan(20);
    const sampled = Object.keys(FEW).map(
      (name) => cases.filter(({ scenario }) => scenario.name === name).length,
    );
    expect(sampled).toEqual([IS_FULL ? 2 : 1, 2, 3, 3]);
    expect(new Set(cases.map(({ site }) => site.side))).toEqual(new Set(['before', 'after']));
    expect(verdicts.filter(({ faults }) => faults.length > 0)).toEqual([]);
    expect(missedForGood(verdicts)).toEqual([]);
    // Only what depends on the clock may be missed, and little of it.
    const missed = verdicts.filter(({ reached }) => !reached);
    expect(missed.length).toBeLessThan(verdicts.length / 10);
    // How soon is judged by the full matrix, a few at a time: so many at once keep a small machine busy.
    expect(verdicts.filter(({ resumedAfterMs }) => resumedAfterMs !== undefined).length).toBeGreaterThan(0);
  }, 600_000);

  it('design "Budget": planners that take one pod more are convicted', async () => {
    const mutants = [build];
    for (const mutation of MUTATIONS) {
      mutants.push(await mutantOf(mutants.at(-1) as string, mutation));
    }
    try {
      const mutated = new CrashArena(controlPlane(), stage, mutants.at(-1) as string);
      const scenarios = [...LATE_READY, crashScenario(DEPLOYMENT), crashScenario(CONTROLLERS)];
      const runs = await inParallel(scenarios, scenarios.length, (scenario) => mutated.run(scenario));

      const rules = runs.map(({ budget }) => [...new Set(budget.violations.map(({ rule }) => rule))]);
      expect(rules).toEqual([['budget'], ['budget'], ['budget'], ['too many pods'], ['too many pods']]);
    } finally {
      await Promise.all(mutants.slice(1).map(async (mutant) => await rm(mutant, { recursive: true })));
    }
  }, 120_000);
});
