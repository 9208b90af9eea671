/** What the commits of the other repositories hold that these workers follow: an object that moves between them is handed over, not deleted. */

import { setMaxListeners } from 'node:events';

import { DeadlineExceeded, orAborted, startDeadline } from '../kubernetes/deadline.ts';
import { oneLine } from '../kubernetes/safe-text.ts';
import { toMessage } from '../kubernetes/api-error.ts';
import type { CommitContent, CommitContext, CommitReader } from './commit.ts';
import { PARALLEL, forEachLimited, prepareCommit } from './commit.ts';
import { entryKey } from './inventory-content.ts';
import type { CommitStatus } from './inventory.ts';
import { InventoryStore } from './inventory.ts';
import type { Mirror } from './mirror.ts';
import type { Prepared } from './prepare.ts';
import { inventoryEntry } from './prepare.ts';
import type { ProblemCode } from './problems.ts';
import { ProblemError } from './problems.ts';
import type { Repository } from './repositories.ts';
import { sourceIdentity } from './source-url.ts';

export interface FollowedSources {
  /** All, in the order of their file. */
  readonly followed: () => readonly Repository[];
  readonly mirror: (repository: Repository) => Mirror;
  /** What it has read for this is kept with it. */
  readonly reader: CommitReader;
  /** Milliseconds for which one source that does not answer is waited for. @default 5000 */
  readonly lookMs?: number;
  /** Milliseconds for all of them together. @default as the asker says */
  readonly waitMs?: number;
}

/** What the others want. */
export interface Wanted {
  /** Name of the repository by the object's key; of several the first. */
  readonly by: ReadonlyMap<string, string>;
  /** Those that could not be asked, each with the reason. */
  readonly unread: readonly string[];
}

const LOOK_MS = 5_000;
/** Short beside the 30 seconds that a prune may take. */
const WAIT_MS = 10_000;
/** Of the check before it, which has the time to read what the prune then finds read. */
export const CHECK_WAIT_MS = 60_000;

/** There is nothing that could be wanted. */
const NOTHING_YET: ReadonlySet<ProblemCode> = new Set(['UnbornBranch', 'RefNotFound']);

/** The other repositories, as one commit sees them. What was read is kept for as long as this is. */
export class OtherCommits {
  readonly #context: CommitContext;
  readonly #sources: FollowedSources;
  #wanted: Promise<Wanted> | undefined;
  readonly #newest = new Map<string, Promise<ReadonlySet<string> | undefined>>();

  constructor(context: CommitContext, sources: FollowedSources) {
    this.#context = context;
    this.#sources = sources;
  }

  /**
   * What the others want. Of an entry with this one's `url` and `ref` the same commit is read, which it may not have seen yet; of any
   * other its newest, or if that cannot be read the one that it tried last. Whether it is signed makes no difference: it only keeps
   * something from being deleted. A source that is away, or slow, is named and holds nothing up.
   * @param waitMs milliseconds after which the rest counts as slow; of the first who asks
   * @throws only when the run is aborted
   */
  async wanted(waitMs = WAIT_MS): Promise<Wanted> {
    return await (this.#wanted ??= this.#readAll(this.#sources.waitMs ?? waitMs));
  }

  /**
   * Keys of the objects that a repository's newest commit holds, none where its path is gone. Undefined where that is not known for
   * certain: it cannot be read, or is no commit that would be applied.
   * @throws only when the run is aborted
   */
  async newest(name: string): Promise<ReadonlySet<string> | undefined> {
    const known = this.#newest.get(name) ?? this.#readNewest(name);
    this.#newest.set(name, known);
    return await known;
  }

  /** The last commit that a repository has tried. @throws ApiError */
  async lastTried(name: string): Promise<CommitStatus | undefined> {
    const { worker, store, signal } = this.#context;
    try {
      return (await new InventoryStore(worker, store.namespace, name).read(signal))?.status.commit;
    } catch (error) {
      // Somebody else's ConfigMap: it has tried nothing.
      if (error instanceof ProblemError) return undefined;
      throw error;
    }
  }

  async #readAll(waitMs: number): Promise<Wanted> {
    const { repository, signal } = this.#context;
    const own = await sourceIdentity(repository.url);
    const others = this.#sources.followed().filter(({ name }) => name !== repository.name);
    const shas = new Map<Repository, string>();
    const unread = new Map<Repository, string>();
    const by = new Map<string, string>();
    const deadline = startDeadline(waitMs, signal);
    // Each of those that are asked listens to it.
    setMaxListeners(0, deadline.signal);
    const attempt = async <T>(other: Repository, work: () => Promise<T>): Promise<T | undefined> => {
      try {
        return await orAborted(work(), deadline.signal);
      } catch (error) {
        signal?.throwIfAborted();
        unread.set(other, reasonOf(error));
        return undefined;
      }
    };
    try {
      await forEachLimited(others, PARALLEL, async (other) => {
        const sha = await attempt(other, async () => {
          const isSame = other.ref === repository.ref && (await sourceIdentity(other.url)) === own;
          return await this.#obtain(other, isSame, deadline.signal);
        });
        if (sha !== undefined) shas.set(other, sha);
      });
      // One after the other: that is work of this process, and none of it shall make a source look slow.
      for (const other of others) {
        const sha = shas.get(other);
        const keys = sha === undefined ? undefined : await attempt(other, () => this.#keysAt(other, sha));
        for (const key of keys ?? []) if (!by.has(key)) by.set(key, other.name);
      }
    } finally {
      deadline.clear();
    }
    return { by, unread: [...unread].map(([{ name }, reason]) => `${name} (${oneLine(reason)})`).toSorted() };
  }

  /** The commit to read, which is here then. Undefined: there is none yet. */
  async #obtain(other: Repository, isSame: boolean, signal: AbortSignal): Promise<string | undefined> {
    const { mirror, lookMs = LOOK_MS } = this.#sources;
    try {
      return await within(lookMs, signal, async (until) => {
        const sha = isSame ? this.#context.sha : await mirror(other).resolveRef(until);
        await mirror(other).ensureCommit(sha, until);
        return sha;
      });
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof ProblemError && NOTHING_YET.has(error.problem.code)) return undefined;
      const last = await this.lastTried(other.name);
      if (last === undefined) throw error;
      // It has been read here, unless by a worker of before.
      await within(lookMs, signal, async (until) => await mirror(other).ensureCommit(last.sha, until));
      return last.sha;
    }
  }

  async #keysAt(other: Repository, sha: string): Promise<ReadonlySet<string>> {
    const { reader } = this.#sources;
    const kept = KEPT.get(reader) ?? new KeptKeys();
    KEPT.set(reader, kept);
    const place = [other.url, other.path, other.namespace, sha].join('\n');
    const known = kept.get(place);
    if (known !== undefined) return known;
    const content = await reader.readEarlier(other, sha, this.#context.signal);
    if (content === undefined) return new Set();
    const prepared = await this.#prepare(other, content);
    const keys = keysOf(prepared);
    // A kind that is not known yet may be soon.
    if (prepared.problems.length === 0) kept.set(place, keys);
    return keys;
  }

  async #readNewest(name: string): Promise<ReadonlySet<string> | undefined> {
    const { followed, mirror, reader, waitMs = WAIT_MS } = this.#sources;
    const { signal } = this.#context;
    const other = followed().find((one) => one.name === name);
    if (other === undefined) return undefined;
    try {
      return await within(waitMs, signal, async (until) => {
        const sha = await mirror(other).resolveRef(until);
        const content = await reader.read(other, sha, until);
        const prepared = await this.#prepare(other, content);
        // What it does not hold may be in what is wrong with it.
        return content.problems.length === 0 && prepared.problems.length === 0 ? keysOf(prepared) : undefined;
      });
    } catch (error) {
      signal?.throwIfAborted();
      // Its last object has moved. (That this prunes nothing is because it may be a mistake; what is wanted elsewhere is none.)
      if (error instanceof ProblemError && error.problem.code === 'PathVanished') return new Set();
      // Whatever else it is, the repository itself tells of it.
      return undefined;
    }
  }

  async #prepare(other: Repository, content: CommitContent): Promise<Prepared> {
    return await prepareCommit({ ...this.#context, repository: other, heal: undefined }, content);
  }
}

/** Keys that are kept at the most: some 20 MiB. */
const MOST_KEPT = 200_000;

/** What commits hold, as far as it was read: the same commit is asked for by the check, by the prune, and for other repositories. */
class KeptKeys {
  readonly #sets = new Map<string, ReadonlySet<string>>();
  #count = 0;

  get(place: string): ReadonlySet<string> | undefined {
    return this.#sets.get(place);
  }

  set(place: string, keys: ReadonlySet<string>): void {
    this.#count += keys.size - (this.#sets.get(place)?.size ?? 0);
    this.#sets.set(place, keys);
    for (const [oldest, { size }] of this.#sets) {
      if (this.#count <= MOST_KEPT) return;
      this.#sets.delete(oldest);
      this.#count -= size;
    }
  }
}

const KEPT = new WeakMap<CommitReader, KeptKeys>();

/** Milliseconds for the work, which is told to end then; it is not waited for. @throws DeadlineExceeded; whatever the work throws */
async function within<T>(
  ms: number,
  parent: AbortSignal | undefined,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const deadline = startDeadline(ms, parent);
  try {
    return await orAborted(work(deadline.signal), deadline.signal);
  } finally {
    deadline.clear();
  }
}

function keysOf({ objects }: Prepared): ReadonlySet<string> {
  return new Set(objects.map((object) => entryKey(inventoryEntry(object))));
}

function reasonOf(error: unknown): string {
  if (error instanceof ProblemError) return error.problem.message;
  return error instanceof DeadlineExceeded ? 'it did not answer in time' : toMessage(error);
}
