/** The bare mirror of a repository on another machine: looked at with `ls-remote`, fetched one commit at a time. */

import { mkdir, opendir, readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { orAborted } from '../kubernetes/deadline.ts';
import { credentials, toldSecrets } from './credentials.ts';
import { distrustFailure, gitFailure, isOfCertificate, processFailure } from './git-errors.ts';
import type { GitOutput, GitRun } from './git-process.ts';
import { runGit } from './git-process.ts';
import type { RemoteCommand } from './git-turns.ts';
import { RemoteTurns } from './git-turns.ts';
import type { MirrorOptions } from './mirror-options.ts';
import { ProblemError, problem } from './problems.ts';
import { commitNamed, refsNamed } from './ref-names.ts';
import { describeDistrust } from './server-certificate.ts';
import type { RemoteSource } from './source-url.ts';

/** Fetches into one mirror never overlap: git would wait on its own locks. Keyed by directory, for the whole process. */
const fetching = new Map<string, Promise<unknown>>();
/** How often a damaged mirror was made anew, by directory: of many readers that find it damaged one does it. */
const renewals = new Map<string, number>();

/** For the whole process: what all repositories together may have under way. */
const turns = new RemoteTurns();
/**
 * Bytes. What a server sends is inflated by git: a few kB may be deltas, trees or commits of gigabytes. Measured: no
 * process of a fetch of half a million files has more than 75 MB of address space, which is what is limited.
 */
const MEMORY_BYTES = 512 * 1024 ** 2;

/** What a killed fetch, or a machine without power, leaves in the way. */
const LOCKS = ['shallow.lock', 'HEAD.lock', 'config.lock', 'packed-refs.lock', 'refs/fairlead/fetched.lock'];

const SEE_WHAT_ANSWERS =
  'Make the first commit; if there is one, see what answers at that address: a page for people (a sign-in, a proxy) is no repository.';

export class RemoteMirror {
  readonly #source: RemoteSource;
  readonly #url: string;
  readonly #ref: string | undefined;
  readonly #directory: string;
  readonly #options: MirrorOptions;

  constructor(source: RemoteSource, ref: string | undefined, directory: string, options: MirrorOptions) {
    this.#source = source;
    this.#url = source.url;
    this.#ref = ref;
    this.#directory = directory;
    this.#options = options;
  }

  async resolveRef(signal?: AbortSignal): Promise<string> {
    const ref = this.#ref;
    if (ref !== undefined && /^[0-9a-f]{40,64}$/.test(ref)) return ref;
    const names = this.#names();
    // An annotated tag is at an object of its own; with the suffix it is listed at its commit, too.
    const refs = await this.#listRefs(
      names.flatMap((name) => [name, `${name}^{}`]),
      signal,
    );
    const commits = new Map(
      names.flatMap((name) => {
        const sha = refs.get(`${name}^{}`) ?? refs.get(name);
        return sha === undefined ? [] : [[name, sha] as const];
      }),
    );
    const sha = ref === undefined ? commits.get('HEAD') : commitNamed(ref, this.#url, commits);
    if (sha !== undefined) return sha;
    if (ref === undefined)
      throw new ProblemError(
        problem(
          'UnbornBranch',
          `${this.#url} offers no commit: its default branch has none yet, or it is not a git repository.`,
          { next: SEE_WHAT_ANSWERS },
        ),
      );
    if ((await this.#listRefs([], signal)).size === 0) {
      // git takes a page of one line (200, text/html) for a repository without refs.
      const message = `${this.#url} offers no branch or tag at all: it is empty, or what answers there is not git.`;
      throw new ProblemError(problem('UnbornBranch', message, { next: SEE_WHAT_ANSWERS }));
    }
    throw new ProblemError(problem('RefNotFound', `${this.#url} has no branch or tag ${ref}.`));
  }

  /** Full names of what is followed, the likeliest first. */
  #names(): readonly string[] {
    return this.#ref === undefined ? ['HEAD'] : refsNamed(this.#ref);
  }

  /** Shas of these refs by name; without names of all. */
  async #listRefs(names: readonly string[], signal?: AbortSignal): Promise<ReadonlyMap<string, string>> {
    const output = await this.#remoteGit(
      'look',
      ['ls-remote', '--', this.#url, ...names],
      { timeoutMs: this.#options.lookTimeoutMs ?? 20_000 },
      signal,
    );
    const refs = new Map<string, string>();
    for (const line of output.stdout.toString('utf8').split('\n')) {
      const [sha, name] = line.split('\t');
      if (sha !== undefined && name !== undefined && /^[0-9a-f]{40,64}$/.test(sha)) refs.set(name, sha);
    }
    return refs;
  }

  async ensureCommit(sha: string, signal?: AbortSignal): Promise<void> {
    // What is here waits for no fetch of another commit, whose server may be silent.
    if (await this.holds(sha, signal)) return;
    await this.#exclusively(async () => {
      if (await this.holds(sha, signal)) return;
      try {
        await this.#obtain(sha, signal);
      } catch (error) {
        if (!isCorrupt(error)) throw error;
        // Either side may be damaged; on ours nothing is lost.
        await this.#renew(sha, signal);
      }
    }, signal);
  }

  /**
   * Reads a commit of the mirror, which is made sure of first; a mirror that turns out to be damaged is made anew, once. `work` gets
   * the git directory and may be called twice.
   * @throws ProblemError; whatever `work` throws
   */
  async read<T>(sha: string, work: (gitDirectory: string) => Promise<T>, signal?: AbortSignal): Promise<T> {
    const renewed = renewals.get(this.#directory);
    await this.ensureCommit(sha, signal);
    try {
      return await work(this.#directory);
    } catch (error) {
      if (!isCorrupt(error)) throw error;
      await this.#exclusively(async () => {
        if (renewals.get(this.#directory) === renewed) await this.#renew(sha, signal);
      }, signal);
      // It may have been made anew for another commit.
      await this.ensureCommit(sha, signal);
      return await work(this.#directory);
    }
  }

  async #renew(sha: string, signal?: AbortSignal): Promise<void> {
    renewals.set(this.#directory, (renewals.get(this.#directory) ?? 0) + 1);
    await rm(this.#directory, { recursive: true, force: true });
    await this.#obtain(sha, signal);
  }

  async #obtain(sha: string, signal?: AbortSignal): Promise<void> {
    await this.#prepare(signal);
    try {
      await this.#fetch(sha, signal);
      if (!(await this.holds(sha, signal)))
        throw new ProblemError(
          problem('CommitGone', `${this.#url} no longer offers commit ${sha.slice(0, 8)}.`),
        );
    } catch (error) {
      const isPinned = this.#ref === sha && error instanceof ProblemError;
      if (!isPinned || error.problem.code !== 'CommitGone') throw error;
      // Where `ref` is the commit itself, no other one mends it.
      const next = 'Set `ref` to a commit that a branch or tag of the repository leads to.';
      throw new ProblemError({ ...error.problem, next }, { cause: error });
    }
  }

  /** By sha; a server that refuses that (`uploadpack.allowReachableSHA1InWant`) is asked for what the ref may name instead. */
  async #fetch(sha: string, signal?: AbortSignal): Promise<void> {
    const maximum = this.#options.maxBytes ?? 1024 ** 3;
    const watchdog = async (): Promise<string | undefined> =>
      (await directoryBytes(join(this.#directory, 'objects'))) > maximum
        ? `the repository needs more than ${maximum} bytes`
        : undefined;
    const run = async (want: string): Promise<void> => {
      await this.#remoteGit(
        'fetch',
        [
          'fetch',
          '--quiet',
          '--depth=1',
          '--no-tags',
          '--no-write-fetch-head',
          '--no-recurse-submodules',
          '--force',
          '--',
          this.#url,
          `+${want}:refs/fairlead/fetched`,
        ],
        { gitDirectory: this.#directory, timeoutMs: this.#options.fetchTimeoutMs ?? 120_000, watchdog },
        signal,
      );
    };
    let gone: unknown;
    for (const want of [sha, ...(this.#ref === sha ? [] : this.#names())]) {
      try {
        await run(want);
        return;
      } catch (error) {
        if (!(error instanceof ProblemError) || error.problem.code !== 'CommitGone') throw error;
        gone ??= error;
      }
    }
    throw gone;
  }

  /** Whether the commit is here; nobody else is asked. */
  async holds(sha: string, signal?: AbortSignal): Promise<boolean> {
    if ((await stat(join(this.#directory, 'HEAD')).catch(() => undefined)) === undefined) return false;
    const args = ['cat-file', '-e', `${sha}^{tree}`];
    const output = await runGit({ args, gitDirectory: this.#directory, signal });
    return output.code === 0;
  }

  /**
   * An empty bare repository, freed of what a killed fetch left behind; started anew when it has grown to half its limit, or is none
   * any more.
   */
  async #prepare(signal: AbortSignal | undefined): Promise<void> {
    const objects = join(this.#directory, 'objects');
    const isLarge = (await directoryBytes(objects)) > (this.#options.maxBytes ?? 1024 ** 3) / 2;
    if (isLarge || !(await this.#isRepository(signal)))
      await rm(this.#directory, { recursive: true, force: true });
    for (const name of LOCKS) await rm(join(this.#directory, name), { force: true });
    await mkdir(this.#directory, { recursive: true, mode: 0o700 });
    const output = await runGit({ args: ['init', '--quiet', '--bare', '--', this.#directory], signal });
    if (output.code !== 0) throw gitFailure(output, this.#directory);
    for (const name of await readdir(join(objects, 'pack')).catch(() => [])) {
      if (name.startsWith('tmp_')) await rm(join(objects, 'pack', name), { force: true });
    }
  }

  async #isRepository(signal: AbortSignal | undefined): Promise<boolean> {
    const args = ['rev-parse', '--git-dir'];
    const output = await runGit({ args, gitDirectory: this.#directory, signal });
    return output.code === 0;
  }

  /** Who is told to stop while others work does not wait for them; its own work hears of the signal by itself. */
  async #exclusively<T>(work: () => Promise<T>, signal: AbortSignal | undefined): Promise<T> {
    const before = fetching.get(this.#directory) ?? Promise.resolve();
    const turn = before.then(
      () => undefined,
      () => undefined,
    );
    const mine = turn.then(async () => {
      signal?.throwIfAborted();
      return await work();
    });
    fetching.set(this.#directory, mine);
    const clear = (): void => {
      if (fetching.get(this.#directory) === mine) fetching.delete(this.#directory);
    };
    mine.then(clear, clear);
    if (signal !== undefined) await orAborted(turn, signal);
    return await mine;
  }

  async #remoteGit(
    command: RemoteCommand,
    args: readonly string[],
    run: Omit<GitRun, 'args'>,
    signal?: AbortSignal,
  ): Promise<GitOutput> {
    const { caFile, memoryBytes = MEMORY_BYTES } = this.#options;
    const work = async (): Promise<GitOutput> =>
      await runGit({
        ...run,
        args,
        protocols: this.#source.kind,
        settings: [...(caFile === undefined ? [] : [`http.sslCAInfo=${caFile}`]), ...(run.settings ?? [])],
        environment: await credentials(this.#source, this.#options),
        secrets: async () => await toldSecrets(this.#options),
        memoryBytes,
        signal,
      });
    const asker = { source: this.#url, host: this.#source.host };
    const output = await turns.run(command, asker, work, signal).catch((error: unknown) => {
      throw processFailure(error, this.#url);
    });
    if (output.code !== 0) throw await this.#failure(output);
    return output;
  }

  async #failure(output: GitOutput): Promise<ProblemError> {
    const { kind, host } = this.#source;
    const distrust =
      kind === 'https' && isOfCertificate(output)
        ? await describeDistrust(host, this.#options.caFile)
        : undefined;
    return distrust === undefined ? gitFailure(output, this.#url) : distrustFailure(distrust, this.#url);
  }
}

function isCorrupt(error: unknown): boolean {
  return error instanceof ProblemError && error.problem.code === 'SourceCorrupt';
}

async function directoryBytes(path: string): Promise<number> {
  let total = 0;
  const directory = await opendir(path, { recursive: true }).catch(() => undefined);
  if (directory === undefined) return 0;
  for await (const entry of directory) {
    if (!entry.isFile()) continue;
    total += (await stat(join(entry.parentPath, entry.name)).catch(() => undefined))?.size ?? 0;
  }
  return total;
}
