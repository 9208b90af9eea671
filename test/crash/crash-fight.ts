/** A worker behind both proxies, which is killed at one place of a play and started anew. */

import { mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

import type { ControlPlane } from '../../local/control-plane.ts';
import { ApiProxy } from '../support/api-proxy.ts';
import { TemporalProxy } from '../support/temporal-proxy.ts';
import { startWorker } from '../support/worker-process.ts';
import type { WorkerProcess } from '../support/worker-process.ts';
import type { CrashPlay } from './crash-play.ts';
import { isSameSite } from './crash-sites.ts';
import type { CrashSite } from './crash-sites.ts';
import { deletedTwice } from './crash-verdict.ts';

export interface FightSettings {
  readonly controlPlane: ControlPlane;
  readonly kubeconfig: string;
  /** FAIRLEAD_CLUSTER */
  readonly owner: string;
  readonly dist: string;
  readonly play: CrashPlay;
  /** The worker looks after all namespaces. */
  readonly seesAll: boolean;
}

/** One play: where the worker is to die, and what came of it. */
interface Round {
  readonly site: CrashSite | undefined;
  /** Opens the play after this one, for the worker that ends this one. */
  readonly openNext: (() => Promise<CrashPlay>) | undefined;
  readonly sites: CrashSite[];
  /** When the worker did something after the crash; what the dead one had under way may still be among it. */
  readonly signs: number[];
  revival: Promise<void> | undefined;
  restarted: boolean;
  revivedAt: number;
}

/** Nothing more comes after a silence of this length: counters of the status wait 400 ms at the most. */
export const SILENCE_MS = 1_000;
const SILENCE_TIMEOUT_MS = 30_000;

/**
 * Plays come one after the other. The worker that ends one is the first of the next, so that a place costs one start of a worker, not
 * two; it is started with the namespaces of both.
 */
export class Fight {
  /** Rejects when the second worker does not come up. */
  readonly failure: Promise<never>;
  readonly #settings: FightSettings;
  readonly #folder: string;
  #play: CrashPlay;
  #next: CrashPlay | undefined;
  /** Plays that are over; their namespaces go when no worker sees it. */
  readonly #over: CrashPlay[] = [];
  readonly #removals: Promise<void>[] = [];
  #api: ApiProxy | undefined;
  #temporal: TemporalProxy | undefined;
  #worker: WorkerProcess | undefined;
  #round: Round | undefined;
  #lastSeenAt = Date.now();
  #fail: (error: unknown) => void = () => undefined;

  private constructor(settings: FightSettings, folder: string) {
    this.#settings = settings;
    this.#play = settings.play;
    this.#folder = folder;
    this.failure = new Promise((_, reject) => {
      this.#fail = reject;
    });
    this.failure.catch(() => undefined);
  }

  /** The worker is up when this resolves. Rejects if it does not come up. */
  static async open(settings: FightSettings): Promise<Fight> {
    const { controlPlane } = settings;
    const fight = new Fight(settings, await mkdtemp(join(tmpdir(), 'fairlead-crash-')));
    try {
      fight.#api = await ApiProxy.start({
        server: controlPlane.serverUrl,
        ca: await readFile(controlPlane.caFile),
        alias: (resource, name, body) => fight.#play.alias?.(resource, name, body) ?? name,
        onWrite: ({ key, kind, occurrence }, side) => {
          fight.#pass({ layer: 'apiserver', key, kind, occurrence, side });
          return undefined;
        },
      });
      await fight.#api.writeKubeconfig(settings.kubeconfig, fight.#kubeconfig);
      await fight.#writeRepositories();
      fight.#temporal = await TemporalProxy.start({
        address: controlPlane.temporalAddress,
        onCall: ({ key, method, occurrence }, side) => {
          fight.#pass({ layer: 'temporal', key, kind: method, occurrence, side });
        },
      });
      await fight.#startWorker();
      return fight;
    } catch (error) {
      await fight.close();
      throw error;
    }
  }

  get owner(): string {
    return this.#settings.owner;
  }

  get play(): CrashPlay {
    return this.#play;
  }

  /** The places that the worker came by since it was armed, each once, in order. */
  get sites(): readonly CrashSite[] {
    return this.#round?.sites ?? [];
  }

  get reached(): boolean {
    return this.#round?.revival !== undefined;
  }

  get resumedAfterMs(): number | undefined {
    const { signs = [], revivedAt = Infinity } = this.#round ?? {};
    const first = signs.find((at) => at >= revivedAt);
    return first === undefined ? undefined : first - revivedAt;
  }

  /** Deletes of an object that the apiserver took again since the worker was armed. */
  get deletedTwice(): readonly string[] {
    return deletedTwice(this.#api?.writes ?? []);
  }

  get tail(): string {
    return this.#worker?.tail ?? '';
  }

  /** From now on places count. Without a site nothing is killed. */
  arm(site: CrashSite | undefined, openNext: (() => Promise<CrashPlay>) | undefined): void {
    this.#api?.restartCounts();
    this.#temporal?.restartCounts();
    this.#round = {
      site,
      openNext,
      sites: [],
      signs: [],
      revival: undefined,
      restarted: false,
      revivedAt: Infinity,
    };
  }

  /** Resolves when the second worker leads, at once if there is none. */
  async revived(): Promise<void> {
    await this.#round?.revival;
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

  /** Goes on to the next play, if the worker that is up was started for it; says whether. */
  async advance(): Promise<boolean> {
    if (this.#next === undefined) return false;
    this.#over.push(this.#play);
    this.#play = this.#next;
    this.#next = undefined;
    this.#round = undefined;
    await this.#writeRepositories();
    return true;
  }

  /** Ends the worker, and removes what its plays left. */
  async close(): Promise<void> {
    await this.#round?.revival?.catch(() => undefined);
    await this.#worker?.kill();
    await this.#api?.close();
    await this.#temporal?.close();
    await rm(this.#folder, { recursive: true });
    const left = [...this.#over, this.#play, ...(this.#next === undefined ? [] : [this.#next])];
    await Promise.all([...this.#removals, ...left.map(async (play) => await play.remove())]);
  }

  get #kubeconfig(): string {
    return join(this.#folder, 'kubeconfig');
  }

  get #repositories(): string {
    return join(this.#folder, 'repositories.yaml');
  }

  /** Those of the play that is on. Put in place at once: the worker looks at the file. */
  async #writeRepositories(): Promise<void> {
    const written = `${this.#repositories}.new`;
    await writeFile(written, JSON.stringify(this.#play.repositories ?? []));
    await rename(written, this.#repositories);
  }

  async #startWorker(): Promise<void> {
    const { controlPlane, owner, dist, seesAll } = this.#settings;
    const plays = [this.#play, ...(this.#next === undefined ? [] : [this.#next])];
    const namespaces = plays.map(({ namespace }) => namespace);
    const follows = plays.some(({ repositories }) => repositories !== undefined);
    this.#worker = await startWorker({
      controlPlane,
      cluster: owner,
      ...(!seesAll && { namespaces }),
      kubeconfig: this.#kubeconfig,
      temporalAddress: this.#temporal?.address ?? '',
      environment: {
        FAIRLEAD_CACHE_DIRECTORY: this.#folder,
        ...(follows && { FAIRLEAD_REPOSITORIES: this.#repositories }),
      },
      dist,
      onSpawn: (worker) => {
        this.#worker = worker;
      },
    });
  }

  /** At each place that the worker comes by: SIGKILL, before the proxy does anything else, if it is the one. */
  #pass(site: CrashSite): void {
    this.#lastSeenAt = Date.now();
    const round = this.#round;
    if (round === undefined) return;
    if (!round.sites.some((other) => isSameSite(other, site))) round.sites.push(site);
    if (round.revival !== undefined) {
      // Events are written beside the work; everything else is the work itself.
      if (round.restarted && !site.kind.endsWith(' events') && isWork(site)) round.signs.push(Date.now());
      return;
    }
    if (round.site !== undefined && isSameSite(site, round.site)) {
      this.#worker?.killNow();
      this.#api?.closeToWorker();
      this.#temporal?.closeToWorker();
      round.revival = this.#revive(round);
      round.revival.catch((error: unknown) => this.#fail(error));
    }
  }

  async #revive(round: Round): Promise<void> {
    // Waits until the process is reaped: nothing of it is left.
    await this.#worker?.kill();
    for (const play of this.#over.splice(0)) {
      const removal = play.remove();
      // Whoever closes the fight hears of it.
      removal.catch(() => undefined);
      this.#removals.push(removal);
    }
    this.#next = await round.openNext?.();
    this.#api?.openToWorker();
    this.#temporal?.openToWorker();
    round.restarted = true;
    await this.#startWorker();
    const first = await this.#worker?.untilLine(({ msg }) => msg === 'worker starting', 0);
    round.revivedAt = Number(first?.['time']);
    this.#lastSeenAt = Date.now();
  }
}

/**
 * A poll that brings a task shows that the server goes on, not that the worker does; and an answer that orders nothing (a sync that is
 * told of the commit that it knows) moves nothing.
 */
function isWork({ layer, key }: CrashSite): boolean {
  return layer === 'apiserver' || (key.startsWith('Respond') && key !== 'RespondWorkflowTaskCompleted');
}
