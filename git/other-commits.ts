/** What the commits of the other repositories hold that these workers follow: an object that moves between them is handed over, not deleted. */

import { setMaxListeners } from 'node:events';

import { DeadlineExceeded, orAborted, startDeadline } from '../kubernetes/deadline.ts';
import { oneLine } from '../kubernetes/safe-text.ts';
import { toMessage } from '../kubernetes/api-error.ts';
import type { KubernetesClient } from '../kubernetes/client.ts';
import type { CommitContent, CommitContext, CommitReader } from './commit.ts';
import { PARALLEL, forEachLimited, prepareWhole } from './commit.ts';
import { entryKey } from './inventory-content.ts';
import type { CommitStatus } from './inventory-status.ts';
import { InventoryStore } from './inventory.ts';
import type { Mirror } from './mirror.ts';
import type { Prepared } from './prepare.ts';
import { inventoryEntry } from './prepare.ts';
import type { Problem, ProblemCode } from './problems.ts';
import { ProblemError, shortSha } from './problems.ts';
import type { Repository } from './repositories.ts';
import { asksForSignatures } from './signature.ts';
import { sourceIdentity } from './source-url.ts';

/** What the looks at a source have found so far. */
export interface SeenSource {
  /** The newest commit that any of them found. */
  readonly sha?: string;
  /** Why the last one found none. */
  readonly problem?: Problem;
}

export interface FollowedSources {
  /** All, in the order of their file. */
  readonly followed: () => readonly Repository[];
  readonly mirror: (repository: Repository) => Mirror;
  /** What it has read for this is kept with it. */
  readonly reader: CommitReader;
  /** What is known without asking; undefined: nobody has looked yet. Absent: nobody looks. */
  readonly seen?: (repository: Repository) => SeenSource | undefined;
  /** Who applies a repository's commits. Absent: nobody can be asked as another than who asks (a plan). */
  readonly account?: (repository: Repository) => KubernetesClient;
  /** Milliseconds for which servers are waited for, all of them together. @default 5000 */
  readonly lookMs?: number;
  /** Milliseconds for all of it, reading what has come included. @default as the asker says */
  readonly waitMs?: number;
}

/** A repository whose commit names an object: whether it may have it is for `chooseHeir` to tell. */
export interface Claim {
  readonly repository: Repository;
  /** Its account. Absent: nobody can be asked as it. */
  readonly account?: KubernetesClient;
  /** Why its commit, which has to be signed, is not accepted. */
  readonly unsigned?: Problem;
}

/** What the others want. */
export interface Wanted {
  /** Who names the object, by its key, in the order of the file. */
  readonly by: ReadonlyMap<string, readonly Claim[]>;
  /** Those of which it is not known, or not of their newest commit, each with the reason. */
  readonly unread: readonly string[];
}

/** For servers, of all together: what a commit may be late by for another repository's. */
const LOOK_MS = 5_000;
/** Short beside the 30 seconds that a prune may take. */
const WAIT_MS = 10_000;
/** Of the check before it, which has the time to read what the prune then finds read. */
export const CHECK_WAIT_MS = 60_000;

/** There is nothing that could be wanted. */
const NOTHING_YET: ReadonlySet<ProblemCode> = new Set(['UnbornBranch', 'RefNotFound']);

/** Which commit of another repository is read. */
interface Found {
  /** Undefined: there is none. */
  readonly sha: string | undefined;
  /** Why it may not be the newest, or why none is known. */
  readonly unread?: string;
}

/** What one run has found out about others, which its activities share: a prune of thousands of objects asks anew only after a minute. */
export interface FoundOthers {
  found?: { readonly at: number; readonly shas: ReadonlyMap<Repository, Found> };
}

const FOUND_MS = 60_000;

/** The other repositories, as one commit sees them. What was read is kept for as long as this is. */
export class OtherCommits {
  readonly #context: CommitContext;
  readonly #sources: FollowedSources;
  readonly #shared: FoundOthers;
  #wanted: Promise<Wanted> | undefined;
  readonly #newest = new Map<string, Promise<ReadonlySet<string> | undefined>>();

  constructor(context: CommitContext, sources: FollowedSources, shared: FoundOthers = {}) {
    this.#context = context;
    this.#sources = sources;
    this.#shared = shared;
  }

  /** One of those that are followed. */
  repository(name: string): Repository | undefined {
    return this.#sources.followed().find((one) => one.name === name);
  }

  /**
   * What the others want. Of an entry with this one's `url` and `ref` the same commit is read, which it may not have seen yet; of any
   * other its newest, or if that cannot be had the last that is here. A source whose last look failed is not asked again: who is
   * silent, or slow, is named and holds nothing up.
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
      const other = new InventoryStore(worker, store.namespace, name, store.cluster);
      const inventory = await other.read(signal);
      return other.ownerElsewhere(inventory) === undefined ? inventory?.status.commit : undefined;
    } catch (error) {
      // Somebody else's ConfigMap, as one of workers of another name is: it has tried nothing.
      if (error instanceof ProblemError) return undefined;
      throw error;
    }
  }

  async #readAll(waitMs: number): Promise<Wanted> {
    const { repository, signal } = this.#context;
    const others = this.#sources.followed().filter(({ name }) => name !== repository.name);
    const by = new Map<string, Claim[]>();
    const unread = new Map<Repository, string>();
    const deadline = startDeadline(waitMs, signal);
    // Each of those that are asked listens to it.
    setMaxListeners(0, deadline.signal);
    try {
      const shas = await this.#find(others, deadline.signal);
      // One after the other: that is work of this process, and none of it shall make a source look slow.
      for (const other of others) {
        const { sha, unread: why } = shas.get(other) ?? { sha: undefined };
        if (why !== undefined) unread.set(other, why);
        if (sha === undefined) continue;
        try {
          const keys = await orAborted(this.#keysAt(other, sha, deadline.signal), deadline.signal);
          if (keys.size === 0) continue;
          const claim = await orAborted(this.#claimOf(other, sha, deadline.signal), deadline.signal);
          for (const key of keys) by.set(key, [...(by.get(key) ?? []), claim]);
        } catch (error) {
          signal?.throwIfAborted();
          unread.set(other, reasonOf(error));
        }
      }
    } finally {
      deadline.clear();
    }
    return { by, unread: [...unread].map(([{ name }, reason]) => `${name} (${oneLine(reason)})`).toSorted() };
  }

  /** Which commit of each is to be read, all of which are here then. */
  async #find(others: readonly Repository[], signal: AbortSignal): Promise<ReadonlyMap<Repository, Found>> {
    const { repository } = this.#context;
    const { found } = this.#shared;
    const isFresh = found !== undefined && Date.now() - found.at < FOUND_MS;
    if (isFresh && others.every((other) => found.shas.has(other))) return found.shas;
    const own = await sourceIdentity(repository.url);
    const shas = new Map<Repository, Found>();
    const looking = startDeadline(this.#sources.lookMs ?? LOOK_MS, signal);
    setMaxListeners(0, looking.signal);
    try {
      await forEachLimited(others, PARALLEL, async (other) => {
        try {
          const isSame = other.ref === repository.ref && (await sourceIdentity(other.url)) === own;
          const obtained = this.#obtain(other, isSame, { asking: looking.signal, signal });
          shas.set(other, await orAborted(obtained, signal));
        } catch (error) {
          this.#context.signal?.throwIfAborted();
          shas.set(other, { sha: undefined, unread: reasonOf(error) });
        }
      });
    } finally {
      looking.clear();
    }
    this.#shared.found = { at: Date.now(), shas };
    return shas;
  }

  /** `asking`: until when servers are waited for; what is here is read after that, too. @throws ProblemError; ApiError; the abort */
  async #obtain(
    other: Repository,
    isSame: boolean,
    { asking, signal }: { readonly asking: AbortSignal; readonly signal: AbortSignal },
  ): Promise<Found> {
    const mirror = this.#sources.mirror(other);
    const seen = this.#sources.seen?.(other);
    let newest = isSame ? this.#context.sha : seen?.sha;
    let failure: unknown = seen?.problem && new ProblemError(seen.problem);
    if (isSame || failure === undefined) {
      try {
        if (isSame && (await mirror.holds(this.#context.sha))) return { sha: newest };
        asking.throwIfAborted();
        if (!isSame) newest = await orAborted(mirror.resolveRef(asking), asking);
        if (newest !== undefined) await orAborted(mirror.ensureCommit(newest, asking), asking);
        return { sha: newest };
      } catch (error) {
        signal.throwIfAborted();
        failure = error;
      }
    }
    if (failure instanceof ProblemError && NOTHING_YET.has(failure.problem.code)) return { sha: undefined };
    // It has been read here, unless by a worker of before.
    for (const sha of new Set([newest, (await this.lastTried(other.name))?.sha])) {
      if (sha === undefined || !(await mirror.holds(sha))) continue;
      const isNewest = newest === undefined || sha === newest;
      const unread = `its newest commit, ${shortSha(newest ?? '')}, is not here yet`;
      return isNewest ? { sha } : { sha, unread };
    }
    throw failure;
  }

  async #keysAt(other: Repository, sha: string, signal: AbortSignal): Promise<ReadonlySet<string>> {
    const { reader } = this.#sources;
    const kept = KEPT.get(reader) ?? new KeptKeys();
    KEPT.set(reader, kept);
    const place = [other.url, other.path, other.namespace, sha].join('\n');
    const known = kept.get(place);
    if (known !== undefined) return known;
    const content = await reader.readEarlier(other, sha, signal);
    if (content === undefined) return new Set();
    const prepared = await this.#prepare(other, content);
    const keys = keysOf(prepared);
    // A kind that is not known yet may be soon.
    if (prepared.problems.length === 0) kept.set(place, keys);
    return keys;
  }

  async #claimOf(other: Repository, sha: string, signal: AbortSignal): Promise<Claim> {
    const { account, mirror } = this.#sources;
    const claim = { repository: other, ...(account !== undefined && { account: account(other) }) };
    if (!asksForSignatures(other)) return claim;
    try {
      await mirror(other).verifyCommit(sha, other, signal);
      return claim;
    } catch (error) {
      if (!(error instanceof ProblemError)) throw error;
      return { ...claim, unsigned: error.problem };
    }
  }

  async #readNewest(name: string): Promise<ReadonlySet<string> | undefined> {
    const { mirror, reader, seen, lookMs = LOOK_MS } = this.#sources;
    const { signal } = this.#context;
    const other = this.repository(name);
    // Nor is it certain where the last look has failed.
    if (other === undefined || seen?.(other)?.problem !== undefined) return undefined;
    try {
      return await within(lookMs, signal, async (until) => {
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
    return await prepareWhole({ ...this.#context, repository: other, heal: undefined }, content);
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
