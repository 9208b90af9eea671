/** Which repositories this worker follows: one of flags, and those of a file, which may change while it runs. */

import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { isDeepStrictEqual } from 'node:util';

import type { Logger } from 'pino';

import { openMirror } from '../git/mirror.ts';
import { ProblemError, formatOnce } from '../git/problems.ts';
import { entriesToKeep, parseRepositories, repositoryFromFlags } from '../git/repositories.ts';
import type { KeptEntries } from '../git/followed-list.ts';
import type { Repository, RepositoryFlags } from '../git/repositories.ts';
import { toMessage } from '../kubernetes/api-error.ts';
import { pause } from '../kubernetes/backoff.ts';
import { ConfigurationError } from '../kubernetes/configuration-error.ts';

/** Milliseconds between two looks at the file: it is short, and on a mounted ConfigMap nothing tells of a change. */
const LOOK_MS = 2_000;

export interface RepositoriesFileOptions {
  readonly file: string | undefined;
  /** Followed beside those of the file. */
  readonly own: readonly Repository[];
  readonly log: Pick<Logger, 'info' | 'warn'>;
  /** @default 2000 */
  readonly lookMs?: number;
}

/** The present list. An entry that has not changed stays the same object. */
export class RepositoriesFile {
  readonly #options: RepositoriesFileOptions;
  readonly #listeners = new Set<(repositories: readonly Repository[]) => void>();
  readonly #problemListeners = new Set<(problem: string | undefined) => void>();
  #problem: string | undefined;
  /** Why the file could not be used from the beginning. */
  #startError: ConfigurationError | undefined;
  #text: string | undefined;
  #kept: KeptEntries | undefined;
  #repositories: readonly Repository[];

  private constructor(options: RepositoriesFileOptions) {
    this.#options = options;
    this.#repositories = options.own;
  }

  /** The file as it is now; where that cannot be used, {@link recover} tells. */
  static async read(options: RepositoriesFileOptions): Promise<RepositoriesFile> {
    const source = new RepositoriesFile(options);
    const { file } = options;
    if (file === undefined) return source;
    try {
      const text = await readText(file);
      source.#repositories = source.#parse(text, file);
      source.#text = text;
    } catch (error) {
      if (!(error instanceof ConfigurationError)) throw error;
      source.#startError = error;
    }
    return source;
  }

  /** Why the file could not be used from the beginning; undefined: it could. */
  get startError(): ConfigurationError | undefined {
    return this.#startError;
  }

  /**
   * Where the file cannot be used from the beginning: the entries that were followed last, as they stay when it becomes unusable later. To be
   * awaited before anything is done with the list.
   * @param read What the last leader has kept.
   * @throws ConfigurationError of the file where nothing is kept of it
   */
  async recover(read: () => Promise<KeptEntries | undefined>): Promise<void> {
    const { file, log } = this.#options;
    const error = this.#startError;
    if (error === undefined || file === undefined) return;
    let kept: KeptEntries | undefined;
    try {
      kept = await read();
      if (kept?.file !== resolve(file)) throw error;
      this.#repositories = this.#parse(kept.entries, file);
    } catch {
      throw error;
    }
    this.#problem = toMessage(error);
    log.warn(
      { file, problem: this.#problem, repositories: this.#repositories.map(({ name }) => name) },
      'repositories file cannot be used, the repositories are those that were followed last',
    );
  }

  /** The entries of the file, for {@link recover} of a worker that starts later; undefined: there are none to be kept. */
  get kept(): KeptEntries | undefined {
    return this.#kept;
  }

  get repositories(): readonly Repository[] {
    return this.#repositories;
  }

  /** Called with the list whenever it has changed, until the answer is called. */
  onChange(listener: (repositories: readonly Repository[]) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** Why the file cannot be used since it was changed; undefined: it can. */
  get problem(): string | undefined {
    return this.#problem;
  }

  /** Called whenever {@link problem} has become another, until the answer is called. */
  onProblem(listener: (problem: string | undefined) => void): () => void {
    this.#problemListeners.add(listener);
    return () => void this.#problemListeners.delete(listener);
  }

  /** Looks at the file until the signal aborts. One that cannot be used is reported, and changes nothing. */
  async watch(signal: AbortSignal): Promise<void> {
    const { file, lookMs = LOOK_MS, log } = this.#options;
    if (file === undefined) return;
    while (!signal.aborted) {
      await pause(lookMs, signal);
      if (signal.aborted) return;
      let problem: string | undefined;
      try {
        await this.#look(file);
      } catch (error) {
        problem = toMessage(error);
      }
      if (problem === this.#problem) continue;
      this.#problem = problem;
      if (problem !== undefined)
        log.warn({ file, problem }, 'repositories file cannot be used, the repositories stay as they were');
      for (const listener of this.#problemListeners) listener(problem);
    }
  }

  async #look(file: string): Promise<void> {
    const text = await readText(file);
    if (text === this.#text) return;
    const before = this.#repositories;
    const read = this.#parse(text, file);
    // Only now: an editor may be in the middle of writing it.
    this.#text = text;
    const after = read.map((one) => before.find((other) => isDeepStrictEqual(one, other)) ?? one);
    const named = (list: readonly Repository[], other: readonly Repository[]): readonly string[] =>
      list.filter((one) => !other.some(({ name }) => name === one.name)).map(({ name }) => name);
    const [added, removed] = [named(after, before), named(before, after)];
    const changed = after.filter((one) => !before.includes(one) && !added.includes(one.name));
    if (added.length + removed.length + changed.length === 0) return;
    this.#repositories = after;
    this.#options.log.info(
      { added, removed, changed: changed.map(({ name }) => name) },
      'repositories file has changed',
    );
    for (const listener of this.#listeners) listener(after);
  }

  #parse(text: string, file: string): readonly Repository[] {
    const { own } = this.#options;
    const read = parseRepositories(text, file);
    const taken = read.find(({ name }) => own.some((one) => one.name === name));
    if (taken !== undefined)
      throw new ConfigurationError(`${file}: the name ${taken.name} is taken by --repo; set \`name\``);
    const entries = entriesToKeep(text);
    this.#kept = entries === undefined ? undefined : { file: resolve(file), entries };
    return [...own, ...read];
  }
}

/** @throws ConfigurationError */
async function readText(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    throw new ConfigurationError(`${file}: cannot be read: ${toMessage(error)}`, { cause: error });
  }
}

/**
 * The repository of `fairlead up`, looked at once: whoever names it is there to be told what is wrong with it.
 * @throws Error naming the problem and the next step; the reason of the signal
 */
export async function readableRepository(flags: RepositoryFlags, signal: AbortSignal): Promise<Repository> {
  const repository = repositoryFromFlags(flags);
  const cacheDirectory = await mkdtemp(join(tmpdir(), 'fairlead-look-'));
  try {
    await openMirror({ ...repository, cacheDirectory }).resolveRef(signal);
    return repository;
  } catch (error) {
    if (!(error instanceof ProblemError)) throw error;
    // The first commit is what it is started for; until then each look says so.
    if (error.problem.code === 'UnbornBranch') return repository;
    throw new Error(formatOnce(error.problem), { cause: error });
  } finally {
    await rm(cacheDirectory, { recursive: true, force: true });
  }
}
