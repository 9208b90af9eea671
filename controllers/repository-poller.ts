/** Looks at every repository again and again, each on its own: one that is broken or slow never holds another. */

import { toMessage } from '../kubernetes/api-error.ts';
import { backoffMs, pause } from '../kubernetes/backoff.ts';
import type { Mirror } from '../git/mirror.ts';
import type { SeenSource } from '../git/other-commits.ts';
import type { Problem } from '../git/problems.ts';
import { ProblemError, problem } from '../git/problems.ts';
import type { Repository } from '../git/repositories.ts';
import { settingsOf } from '../git/repositories.ts';
import type { SeenCommit, Suspension } from '../workflows/sync-messages.ts';

/** What a look at a repository found. */
export type Look =
  | { readonly ok: true; readonly sha: string; readonly isNew: boolean; readonly milliseconds: number }
  | { readonly ok: false; readonly problem: Problem; readonly milliseconds: number };

export interface RepositoryPollerOptions {
  readonly repositories: readonly Repository[];
  readonly mirror: (repository: Repository) => Mirror;
  /** Tells the sync workflow of a commit, how it is applied, and whether anything may be. */
  readonly commitSeen: (repository: string, seen: SeenCommit) => Promise<void>;
  /** Who suspended the repository; undefined: it is not suspended. */
  readonly suspension: (repository: string) => Promise<Suspension | undefined>;
  /** Whether the sync workflow runs and knows all of this: the last that it was told of. */
  readonly isKnown: (repository: string, seen: SeenCommit) => Promise<boolean>;
  /** Whether the sync workflow has tried the commit while the cluster tells nothing of it: it is told to try it again. */
  readonly isForgotten: (repository: string, seen: SeenCommit) => Promise<boolean>;
  /** After each look, beside what is told to Temporal; a rejection is reported by `onError` and changes nothing. */
  readonly onLook: (repository: Repository, look: Look) => Promise<void> | void;
  /** Temporal or the apiserver did not answer; it is tried again. `isNews`: the round of looking and telling before had no such error. */
  readonly onError: (repository: Repository, error: unknown, isNews: boolean) => void;
  readonly random?: () => number;
}

/** Milliseconds to the next try when Temporal did not take a commit. */
const SIGNAL_RETRY_MS = 2_000;
/** Milliseconds to the next look after one that failed, twice as many after each, until it is the interval: who pushes has said so once. */
const LOOK_RETRY_MS = 5_000;
/**
 * Milliseconds between two checks that a sync workflow has not been terminated, or told of another commit by an earlier leader, and that
 * nobody has deleted what the cluster holds of it.
 */
const KNOWN_CHECK_MS = 60_000;
const JITTER = 0.2;
/**
 * So many begin at once, the others one after the other, milliseconds apart: at a start, and whenever another replica takes over, each
 * look is a few processes, and requests to the apiserver and to Temporal. Later on the jitter keeps them apart.
 */
const FIRST_AT_ONCE = 20;
const FIRST_SPACING_MS = 20;
const STOPPED = 'this worker has stopped looking at repositories';

interface Followed {
  readonly repository: Repository;
  readonly mirror: Mirror;
  /** It is not followed any more. */
  readonly left: AbortController;
  /** Ends the present pause. */
  wake: AbortController;
  signalled: { readonly sha: string; readonly seen: string } | undefined;
  /** So many looks in a row have failed. */
  failures: number;
  checkedAt: number;
  looked: Look | undefined;
  /** By the last look that found one. */
  sha: string | undefined;
  /** What went wrong in this round, and in the one before. */
  errors: { readonly now: Set<string>; readonly before: ReadonlySet<string> };
  /** Those who want to know what a look finds that has not begun yet. */
  asking: Asking[];
}

interface Asking {
  readonly resolve: (look: Look) => void;
  readonly reject: (error: Error) => void;
}

export class RepositoryPoller {
  readonly #options: RepositoryPollerOptions;
  readonly #followed = new Map<string, Followed>();
  readonly #stopping = new AbortController();
  /** Each resolves when the last look at a repository is over. */
  readonly #running = new Set<Promise<void>>();
  #hasStarted = false;

  /** @throws ProblemError of a repository whose url or ref cannot be used (the repositories file was checked for that) */
  constructor(options: RepositoryPollerOptions) {
    this.#options = options;
    this.change(options.repositories);
  }

  start(): void {
    this.#hasStarted = true;
    this.#begin([...this.#followed.values()]);
  }

  /**
   * Follows these and no others from now on. One whose entry is the same object as before is not disturbed; one that is another is
   * looked at at once (of many, one after the other).
   * @throws ProblemError as the constructor; nothing is changed then
   */
  change(repositories: readonly Repository[]): void {
    const added = repositories
      .filter((repository) => this.#followed.get(repository.name)?.repository !== repository)
      .map((repository): Followed => ({
        repository,
        mirror: this.#options.mirror(repository),
        left: new AbortController(),
        wake: new AbortController(),
        signalled: undefined,
        failures: 0,
        checkedAt: 0,
        looked: undefined,
        sha: undefined,
        errors: { now: new Set(), before: new Set() },
        asking: [],
      }));
    for (const [name, followed] of this.#followed) {
      if (repositories.includes(followed.repository)) continue;
      followed.left.abort();
      this.#followed.delete(name);
    }
    for (const followed of added) this.#followed.set(followed.repository.name, followed);
    if (this.#hasStarted) this.#begin(added);
  }

  #begin(several: readonly Followed[]): void {
    for (const [index, followed] of several.entries()) {
      const waitMs = Math.max(0, index + 1 - FIRST_AT_ONCE) * FIRST_SPACING_MS;
      const running = this.#follow(followed, waitMs).finally(() => this.#running.delete(running));
      this.#running.add(running);
    }
  }

  /** Ends all looks; resolves when the last is over. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await Promise.all(this.#running);
  }

  /** Looks now. False: no repository of that name is followed. */
  poke(name: string): boolean {
    const followed = this.#followed.get(name);
    followed?.wake.abort();
    return followed !== undefined;
  }

  /**
   * Looks now, and answers what was found, which the sync workflow has been told by then if Temporal takes it. Undefined: no
   * repository of that name is followed. Rejects when the poller ends before.
   */
  async look(name: string): Promise<Look | undefined> {
    const followed = this.#followed.get(name);
    if (followed === undefined) return undefined;
    if (this.#stopping.signal.aborted) throw new Error(STOPPED);
    return await new Promise<Look>((resolve, reject) => {
      followed.asking.push({ resolve, reject });
      followed.wake.abort();
    });
  }

  /** The last look at each repository. */
  looks(): ReadonlyMap<string, Look | undefined> {
    return new Map([...this.#followed].map(([name, { looked }]) => [name, looked]));
  }

  /** What its looks have found so far, for who must not wait for one; undefined: none is over, or it is not followed. */
  seen({ name }: Pick<Repository, 'name'>): SeenSource | undefined {
    const { looked, sha } = this.#followed.get(name) ?? {};
    if (looked === undefined) return undefined;
    return { ...(sha !== undefined && { sha }), ...(!looked.ok && { problem: looked.problem }) };
  }

  /** @param waitMs Milliseconds until the first look, unless somebody asks for one */
  async #follow(followed: Followed, waitMs: number): Promise<void> {
    const { repository } = followed;
    const signal = AbortSignal.any([this.#stopping.signal, followed.left.signal]);
    const random = this.#options.random ?? Math.random;
    if (waitMs > 0) await pause(waitMs, signal, followed.wake.signal);
    while (!signal.aborted) {
      followed.wake = new AbortController();
      const asking = followed.asking.splice(0);
      const look = await this.#look(followed, signal);
      if (signal.aborted) {
        followed.asking.push(...asking);
        break;
      }
      followed.looked = look;
      followed.failures = look.ok ? 0 : followed.failures + 1;
      if (look.ok) followed.sha = look.sha;
      // Beside each other: where Temporal does not answer for long, what was found is known all the same.
      const [isTold] = await Promise.all([
        this.#tellThose(followed, look, asking),
        this.#report(followed, look),
      ]);
      followed.errors = { now: new Set(), before: followed.errors.now };
      const interval = repository.intervalSeconds * 1_000 * (1 - JITTER + 2 * JITTER * random());
      const retry = look.ok ? SIGNAL_RETRY_MS : backoffMs(followed.failures, LOOK_RETRY_MS, interval, random);
      const wait = look.ok && isTold ? interval : Math.min(interval, retry);
      await pause(wait, signal, followed.wake.signal);
    }
    for (const { reject } of followed.asking) reject(new Error(STOPPED));
  }

  /** Tells the sync workflow, then those who asked. False: it was not told. */
  async #tellThose(followed: Followed, look: Look, asking: readonly Asking[]): Promise<boolean> {
    const isTold = !look.ok || (await this.#tell(followed, look.sha, asking.length > 0));
    for (const { resolve } of asking) resolve(look);
    return isTold;
  }

  async #report(followed: Followed, look: Look): Promise<void> {
    try {
      await this.#options.onLook(followed.repository, look);
    } catch (error) {
      this.#onError(followed, error);
    }
  }

  #onError({ repository, errors: { now, before } }: Followed, error: unknown): void {
    const text = toMessage(error);
    const isNews = !now.has(text) && !before.has(text);
    now.add(text);
    this.#options.onError(repository, error, isNews);
  }

  async #look(followed: Followed, signal: AbortSignal): Promise<Look> {
    const begun = performance.now();
    const took = (): number => Math.round(performance.now() - begun);
    try {
      const sha = await followed.mirror.resolveRef(signal);
      return { ok: true, sha, isNew: sha !== followed.signalled?.sha, milliseconds: took() };
    } catch (error) {
      const found =
        error instanceof ProblemError ? error.problem : problem('SourceUnreachable', `${toMessage(error)}.`);
      return { ok: false, problem: found, milliseconds: took() };
    }
  }

  /**
   * Whether the sync workflow knows of the commit. Temporal is only written to when there is something new; one that asked may itself be
   * new, after somebody has terminated the last.
   */
  async #tell(followed: Followed, sha: string, isAsked: boolean): Promise<boolean> {
    const { name } = followed.repository;
    try {
      const suspended = await this.#options.suspension(name);
      const settings = settingsOf(followed.repository);
      const notify = followed.repository.notify?.map(({ id }) => id);
      const seen = {
        sha,
        settings,
        ...(suspended !== undefined && { suspended }),
        ...(notify !== undefined && { notify }),
      };
      const text = JSON.stringify(seen);
      const now = Date.now();
      const isDue = isAsked || now - followed.checkedAt >= KNOWN_CHECK_MS;
      if (followed.signalled?.seen === text && isDue) {
        followed.checkedAt = now;
        if (!(await this.#options.isKnown(name, seen))) followed.signalled = undefined;
        else if (await this.#options.isForgotten(name, seen))
          await this.#options.commitSeen(name, { ...seen, unrecorded: true });
      }
      if (followed.signalled?.seen !== text) {
        await this.#options.commitSeen(name, seen);
        followed.signalled = { sha, seen: text };
        followed.checkedAt = now;
      }
      return true;
    } catch (error) {
      this.#onError(followed, error);
      return false;
    }
  }
}
