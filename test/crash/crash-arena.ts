/**
 * Runs a scenario with a worker behind both proxies: once undisturbed, to record the places to crash at and the end that is
 * wanted, then again for each place, with the worker killed there and started anew.
 */

import { setTimeout as delay } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';

import type { ControlPlane } from '../../local/control-plane.ts';
import type { BudgetReport } from '../support/budget-checker.ts';
import type { Stage } from '../support/stage.ts';
import { Fight, SILENCE_MS } from './crash-fight.ts';
import type { CrashScenario } from './crash-play.ts';
import type { CrashSite } from './crash-sites.ts';
import { RESUME_LIMIT_MS } from './crash-verdict.ts';

export interface CrashRun {
  /** Every place that this run came by, in order. */
  readonly sites: readonly CrashSite[];
  readonly end: object;
  readonly budget: BudgetReport;
  /** Objects whose deletion the apiserver took twice. */
  readonly deletedTwice: readonly string[];
  /** The worker was killed at the site. */
  readonly reached: boolean;
  /** From the second worker's first line of log to its first write or answer, milliseconds; undefined if nothing was left to do. */
  readonly resumedAfterMs: number | undefined;
}

export interface CrashRunOptions {
  /** Without it nothing is killed. */
  readonly site?: CrashSite;
  /** Where this end is wanted and not there yet, it is looked at again a little later. */
  readonly wanted?: object;
  /** What this lane runs after this: the second worker is its first. */
  readonly next?: CrashScenario | undefined;
}

/** A worker that leads and is late is given as long to look round as it has to resume. */
const SETTLE_MS = RESUME_LIMIT_MS;

export class CrashArena {
  readonly #controlPlane: ControlPlane;
  readonly #stage: Stage;
  /** Compiled code; one build for all runs. */
  readonly #build: string;
  #kubeconfig: Promise<string> | undefined;
  #count = 0;

  constructor(controlPlane: ControlPlane, stage: Stage, build: string) {
    this.#controlPlane = controlPlane;
    this.#stage = stage;
    this.#build = build;
  }

  /** Runs that follow each other, beside those of other lanes. */
  lane(): CrashLane {
    return new CrashLane(this.#stage, async (scenario) => await this.#open(scenario));
  }

  /** One run without a crash. */
  async run(scenario: CrashScenario): Promise<CrashRun> {
    return await this.lane().run(scenario);
  }

  /** In a namespace and with a Lease of its own, so that many go on at a time. */
  async #open(scenario: CrashScenario): Promise<Fight> {
    this.#count += 1;
    const owner = `crash-${String(this.#count)}-${Math.random().toString(36).slice(2, 8)}`;
    const play = await scenario.open(this.#stage, owner);
    // Each request of it writes the file anew.
    this.#kubeconfig ??= this.#controlPlane.workerKubeconfig();
    return await Fight.open({
      controlPlane: this.#controlPlane,
      kubeconfig: await this.#kubeconfig,
      play,
      owner,
      dist: this.#build,
      seesAll: scenario.alone === true,
    });
  }
}

export class CrashLane {
  readonly #stage: Stage;
  readonly #open: (scenario: CrashScenario) => Promise<Fight>;
  /** The worker of the last run, ready for the scenario that was announced. */
  #ready: { readonly fight: Fight; readonly scenario: CrashScenario } | undefined;

  constructor(stage: Stage, open: (scenario: CrashScenario) => Promise<Fight>) {
    this.#stage = stage;
    this.#open = open;
  }

  /** One run; its end is that of a worker that is silent. Rejects with the worker's last lines. */
  async run(scenario: CrashScenario, options: CrashRunOptions = {}): Promise<CrashRun> {
    const fight = (await this.#taken(scenario)) ?? (await this.#open(scenario));
    let goesOn = false;
    try {
      const run = await this.#play(fight, scenario, options);
      goesOn = options.next !== undefined && (await fight.advance());
      if (goesOn) this.#ready = { fight, scenario: options.next as CrashScenario };
      return run;
    } catch (error) {
      throw new Error(
        `${error instanceof Error ? error.message : String(error)}\nthe worker's last lines:\n${fight.tail}`,
        { cause: error },
      );
    } finally {
      if (!goesOn) await fight.close();
    }
  }

  /** Ends the worker of a run that was announced and did not come. */
  async close(): Promise<void> {
    await this.#ready?.fight.close();
    this.#ready = undefined;
  }

  async #taken(scenario: CrashScenario): Promise<Fight | undefined> {
    if (this.#ready?.scenario !== scenario) {
      await this.close();
      return undefined;
    }
    const { fight } = this.#ready;
    this.#ready = undefined;
    return fight;
  }

  async #play(
    fight: Fight,
    scenario: CrashScenario,
    { site, wanted, next }: CrashRunOptions,
  ): Promise<CrashRun> {
    const { play } = fight;
    await play.prepare();
    await fight.silence();
    const endState = await play.before();
    // A worker that looks after all namespaces is for one play.
    const follows = next !== undefined && scenario.alone !== true && next.alone !== true;
    fight.arm(site, follows ? async () => await next.open(this.#stage, fight.owner) : undefined);
    await Promise.race([play.act(), fight.failure]);
    await fight.revived();
    await fight.silence();
    let end = await endState();
    const deadline = Date.now() + SETTLE_MS;
    const isThere = () => wanted === undefined || isDeepStrictEqual(end, wanted);
    while (!isThere() && Date.now() < deadline) {
      await delay(SILENCE_MS / 2);
      await fight.silence();
      end = await endState();
    }
    const budget = await this.#stage.verdict(play.namespace);
    const { sites, reached, resumedAfterMs, deletedTwice } = fight;
    return { sites, end, budget, deletedTwice, reached, resumedAfterMs };
  }
}
