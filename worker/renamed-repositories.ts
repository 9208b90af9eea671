/** Repositories that were given another name: what was said of the earlier one counts before anything is done under the new one. */

import type { Logger } from 'pino';

import { KeyedMutex } from '../controllers/keyed-mutex.ts';
import type { NamedEntry } from '../git/earlier-names.ts';
import { earlierNames } from '../git/earlier-names.ts';
import type { InventoryStore } from '../git/inventory.ts';
import { ProblemError } from '../git/problems.ts';
import { describeSuspension, moveSuspension } from '../git/suspension.ts';
import type { Wish } from '../planners/workload.ts';

export interface RenamedRepositoriesOptions {
  /** What the leader before followed. */
  readonly before: () => Promise<readonly NamedEntry[]>;
  /** What is followed now. */
  readonly followed: () => readonly NamedEntry[];
  readonly store: (name: string) => InventoryStore;
  readonly log: Pick<Logger, 'info'>;
  /** Others have an earlier name that is to be asked for, or none any more. */
  readonly onChange: () => void;
}

export class RenamedRepositories {
  readonly #options: RenamedRepositoriesOptions;
  #names: ReadonlyMap<string, readonly string[]> = new Map();
  #knowsBefore = false;
  /** One after the other: a name that is taken back at once must not lose what is on its way from it. */
  readonly #mutex = new KeyedMutex();

  constructor(options: RenamedRepositoriesOptions) {
    this.#options = options;
  }

  /** The earlier names of a repository, the last one first, until it is known whether they were suspended. */
  earlier(name: string): readonly string[] | undefined {
    return this.#names.get(name);
  }

  /** Others are followed from now on. */
  change(before: readonly NamedEntry[], now: readonly NamedEntry[]): void {
    const known = before.map((entry) => ({ ...entry, earlierNames: this.earlier(entry.name) }));
    this.#names = earlierNames(known, now);
  }

  /**
   * To be awaited before anything is done under a name: where the one before was suspended, it is so too from then on.
   * @throws ApiError; DamagedInventory
   */
  async goOn(name: string): Promise<void> {
    await this.#learn();
    if (this.earlier(name) !== undefined) await this.#mutex.run('', async () => await this.#move(name));
  }

  async #move(name: string): Promise<void> {
    const names = this.earlier(name) ?? [];
    const { store, log, onChange } = this.#options;
    for (const one of names) {
      const moved = await unlessForeign(async () => await moveSuspension(store(one), store(name)));
      if (moved === undefined) continue;
      const text = `repository ${name} goes on for ${one} and stays suspended${describeSuspension(moved)}`;
      log.info({ repository: name, earlier: one }, text);
    }
    // Unless it was given another name meanwhile.
    if (this.earlier(name) !== names) return;
    this.#names = new Map([...this.#names].filter(([other]) => other !== name));
    onChange();
  }

  /** Those that got another name while no worker led, beside those that have got one since. */
  async #learn(): Promise<void> {
    if (this.#knowsBefore) return;
    const { before, followed, onChange } = this.#options;
    const entries = await before();
    if (this.#knowsBefore) return;
    this.#knowsBefore = true;
    const names = new Map(earlierNames(entries, followed()));
    for (const [name, since] of this.#names) names.set(name, [...since, ...(names.get(name) ?? [])]);
    this.#names = names;
    onChange();
  }
}

/** Where the inventory is somebody else's ConfigMap, the commit says so; it suspends nothing. @throws whatever else `read` throws */
export async function unlessForeign(read: () => Promise<Wish | undefined>): Promise<Wish | undefined> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof ProblemError && error.problem.code === 'InventoryForeign') return undefined;
    throw error;
  }
}
