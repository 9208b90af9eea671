/**
 * Runs a scenario with a worker behind both proxies: once undisturbed, to record the places to crash at and the end that is
 * wanted, then again for each place, with the worker killed there and started anew.
 */

import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';

import type { ControlPlane } from '../../local/control-plane.ts';
import { ApiProxy } from '../support/api-proxy.ts';
import type { BudgetReport } from '../support/budget-checker.ts';
import type { Stage } from '../support/stage.ts';
import { TemporalProxy } from '../support/temporal-proxy.ts';
import { startWorker } from '../support/worker-process.ts';
import type { WorkerProcess } from '../support/worker-process.ts';
import type { CrashPlay, CrashScenario } from './crash-play.ts';
import { isSameSite } from './crash-sites.ts';
import type { CrashSite } from './crash-sites.ts';
import { RESUME_LIMIT_MS } from './crash-verdict.ts';

export interface CrashRun {
  /** Every place that this run came by, in order. */
  readonly sites: readonly CrashSite[];
  readonly end: object;
  readonly budget: BudgetReport;
  /** The worker was killed at the site. */
  readonly reached: boolean;
  /** From the second worker's first line of log to its first write or answer, milliseconds; undefined if nothing was left to do. */
  readonly resumedAfterMs: number | undefined;
}

/** Nothing more comes after a silence of this length: counters of the status wait 400 ms at the most. */
const SILENCE_MS = 1_000;
const SILENCE_TIMEOUT_MS = 30_000;
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

  /**
   * One run, in a namespace and with a Lease of its own, so that many go on at a time. Without a site nothing is killed. The end
   * is that of a worker that is silent; where one is wanted and not there yet, it is looked at again a little later.
   */
  async run(
    scenario: CrashScenario,
    { site, wanted }: { readonly site?: CrashSite; readonly wanted?: object } = {},
  ): Promise<CrashRun> {
    this.#count += 1;
    const owner = `crash-${String(this.#count)}-${Math.random().toString(36).slice(2, 8)}`;
    const play = await scenario.open(this.#stage, owner);
    // Each request of it writes the file anew.
    this.#kubeconfig ??= this.#controlPlane.workerKubeconfig();
    const fight = await Fight.open({
      controlPlane: this.#controlPlane,
      kubeconfig: await this.#kubeconfig,
      play,
      owner,
      dist: this.#build,
      site,
      seesAll: scenario.alone === true,
    });
    try {
      await fight.startWorker();
      await play.prepare();
      await fight.silence();
      const endState = await play.before();
      fight.arm();
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
      const { sites, reached, resumedAfterMs } = fight;
      return { sites, end, budget, reached, resumedAfterMs };
    } catch (error) {
      throw new Error(
        `${error instanceof Error ? error.message : String(error)}\nthe worker's last lines:\n${fight.tail}`,
        {
          cause: error,
        },
      );
    } finally {
      await fight.close();
      await play.remove();
    }
  }
}

interface FightSettings {
  readonly controlPlane: ControlPlane;
  readonly kubeconfig: string;
  readonly play: CrashPlay;
  readonly owner: string;
  readonly dist: string;
  readonly site: CrashSite | undefined;
  /** The worker looks after all namespaces. */
  readonly seesAll: boolean;
}

/** One worker, its proxies, and the place where it is to die. */
class Fight {
  readonly sites: CrashSite[] = [];
  /** Rejects when the second worker does not come up. */
  readonly failure: Promise<never>;
  readonly #open: () => Promise<WorkerProcess>;
  readonly #site: CrashSite | undefined;
  readonly #folder: string;
  #api: ApiProxy | undefined;
  #temporal: TemporalProxy | undefined;
  #worker: WorkerProcess | undefined;
  #armed = false;
  #revival: Promise<void> | undefined;
  #restarted = false;
  #revivedAt: number | undefined;
  /** When the worker did something after the crash; what the dead one had under way may still be among it. */
  readonly #signs: number[] = [];
  #lastSeenAt = Date.now();
  #fail: (error: unknown) => void = () => undefined;

  private constructor(
    folder: string,
    site: CrashSite | undefined,
    open: (fight: Fight) => Promise<WorkerProcess>,
  ) {
    this.#folder = folder;
    this.#site = site;
    this.#open = () => open(this);
    this.failure = new Promise((_, reject) => {
      this.#fail = reject;
    });
    this.failure.catch(() => undefined);
  }

  static async open(settings: FightSettings): Promise<Fight> {
    const { controlPlane, play, owner, dist, site, seesAll } = settings;
    const folder = await mkdtemp(join(tmpdir(), 'fairlead-crash-'));
    const kubeconfig = join(folder, 'kubeconfig');
    const fight: Fight = new Fight(folder, site, async (self) =>
      startWorker({
        controlPlane,
        cluster: owner,
        ...(!seesAll && { namespaces: [play.namespace] }),
        kubeconfig,
        temporalAddress: self.#temporal?.address ?? '',
        dist,
        onSpawn: (worker) => {
          self.#worker = worker;
        },
      }),
    );
    try {
      fight.#api = await ApiProxy.start({
        server: controlPlane.serverUrl,
        ca: await readFile(controlPlane.caFile),
        ...(play.alias && { alias: play.alias }),
        onWrite: ({ key, kind, occurrence }, side) => {
          fight.#pass({ layer: 'apiserver', key, kind, occurrence, side });
          return undefined;
        },
      });
      await fight.#api.writeKubeconfig(settings.kubeconfig, kubeconfig);
      fight.#temporal = await TemporalProxy.start({
        address: controlPlane.temporalAddress,
        onCall: ({ key, method, occurrence }, side) => {
          fight.#pass({ layer: 'temporal', key, kind: method, occurrence, side });
        },
      });
      return fight;
    } catch (error) {
      await fight.close();
      throw error;
    }
  }

  get reached(): boolean {
    return this.#revival !== undefined;
  }

  get resumedAfterMs(): number | undefined {
    const revivedAt = this.#revivedAt ?? Infinity;
    const first = this.#signs.find((at) => at >= revivedAt);
    return first === undefined ? undefined : first - revivedAt;
  }

  get tail(): string {
    return this.#worker?.tail ?? '';
  }

  async startWorker(): Promise<void> {
    this.#worker = await this.#open();
  }

  arm(): void {
    this.#api?.restartCounts();
    this.#temporal?.restartCounts();
    this.#armed = true;
  }

  /** Resolves when the second worker leads, at once if there is none. */
  async revived(): Promise<void> {
    await this.#revival;
  }

  /** Resolves when the worker has not written or answered anything for a second. */
  async silence(): Promise<void> {
    const deadline = Date.now() + SILENCE_TIMEOUT_MS;
    while (Date.now() - this.#lastSeenAt < SILENCE_MS) {
      if (Date.now() > deadline) {
        throw new Error(
          `the worker still writes after ${String(SILENCE_TIMEOUT_MS / 1000)} s: ${JSON.stringify(this.sites.slice(-6))}`,
        );
      }
      await delay(SILENCE_MS - (Date.now() - this.#lastSeenAt) + 1);
    }
  }

  async close(): Promise<void> {
    await this.#worker?.kill();
    await this.#api?.close();
    await this.#temporal?.close();
    await rm(this.#folder, { recursive: true });
  }

  /** At each place that the worker comes by: SIGKILL, before the proxy does anything else, if it is the one. */
  #pass(site: CrashSite): void {
    this.#lastSeenAt = Date.now();
    if (!this.#armed) {
      return;
    }
    this.sites.push(site);
    if (this.#revival !== undefined) {
      // Events are written beside the work; everything else is the work itself.
      if (this.#restarted && !site.kind.endsWith(' events') && isWork(site)) {
        this.#signs.push(Date.now());
      }
      return;
    }
    if (this.#site !== undefined && isSameSite(site, this.#site)) {
      this.#worker?.killNow();
      this.#api?.closeToWorker();
      this.#temporal?.closeToWorker();
      this.#revival = this.#revive();
      this.#revival.catch((error: unknown) => this.#fail(error));
    }
  }

  async #revive(): Promise<void> {
    // Waits until the process is reaped: nothing of it is left.
    await this.#worker?.kill();
    this.#api?.openToWorker();
    this.#temporal?.openToWorker();
    this.#restarted = true;
    await this.startWorker();
    const first = await this.#worker?.untilLine(({ msg }) => msg === 'worker starting', 0);
    this.#revivedAt = Number(first?.['time']);
    this.#lastSeenAt = Date.now();
  }
}

/** A poll that brings a task shows that the server goes on, not that the worker does. */
function isWork({ layer, key }: CrashSite): boolean {
  return layer === 'apiserver' || key.startsWith('Respond');
}
