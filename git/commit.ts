/** One commit of one repository against one cluster: what check, apply, prune and await have in common. */

import { setImmediate as yieldToOthers } from 'node:timers/promises';
import type { KubernetesClient } from '../kubernetes/client.ts';
import type { Discovery } from '../kubernetes/discovery.ts';
import type { UpdateReference } from '../kubernetes/rolling-update-objects.ts';
import type { WorkloadApi } from '../kubernetes/workload-api.ts';
import type { UpdateRun } from '../planners/rolling-update-run.ts';
import { TRANSIENT_CODES } from './git-errors.ts';
import { entryKey } from './inventory-content.ts';
import type { InventoryStore } from './inventory.ts';
import type { Manifest } from './manifests.ts';
import { ManifestReader } from './manifests.ts';
import type { Mirror } from './mirror.ts';
import type { OtherCommits } from './other-commits.ts';
import type { Prepared } from './prepare.ts';
import { inventoryEntry, prepareObjects } from './prepare.ts';
import type { Problem } from './problems.ts';
import { ProblemError, formatProblem } from './problems.ts';
import { NotYetError } from './refusals.ts';
import type { Repository } from './repositories.ts';
import { servedVersions, withSignal } from './resources.ts';
import { asksForSignatures } from './signature.ts';
import type { SourceText } from './source-text.ts';

export interface CommitContext {
  readonly repository: Repository;
  readonly sha: string;
  /** RFC 3339, when its run began. Absent: not known. */
  readonly begunAt?: string | undefined;
  /** As the repository's ServiceAccount, if it has one. */
  readonly client: KubernetesClient;
  /** The worker's own identity: only to see whether something exists. */
  readonly worker: KubernetesClient;
  readonly discovery: Discovery;
  readonly store: InventoryStore;
  /** The one whose workloads this worker keeps. */
  readonly workloadApi: WorkloadApi;
  /** Makes sure that the run of a rolling update is open. */
  readonly startRollingUpdate: (update: CommittedUpdate) => Promise<void>;
  /** Its last run; undefined while Temporal is away. Absent: nobody can be asked. */
  readonly rollingUpdateRun?: ((update: UpdateReference) => Promise<UpdateRun | undefined>) | undefined;
  /** Whether the workers follow a repository of that name. */
  readonly isFollowed: (repository: string) => boolean;
  /** Of the repositories that the workers follow, by name, `NAMESPACE/NAME`; `''`: the worker itself. Absent: not known. */
  readonly accounts?: ReadonlyMap<string, string>;
  /** What the other repositories want. Absent: that is not known, and nothing is handed over. */
  readonly others?: Pick<OtherCommits, 'repository' | 'wanted' | 'newest' | 'lastTried'>;
  /** FAIRLEAD_CLUSTER. @default not known: every inventory is of these workers */
  readonly cluster?: string;
  /** What this worker does with an object, under any repository, one after the other; `object` names it in both workload APIs alike. */
  readonly inTurn: <T>(object: string, section: () => Promise<T>) => Promise<T>;
  /** Keys of the inventory: only these objects are looked at, and put back where they are not as applied. Absent: the whole commit. */
  readonly heal?: ReadonlySet<string> | undefined;
  /** The manifests of a commit that was applied before, signed or not. Undefined: it cannot be read any more. */
  readonly earlier?: (sha: string) => Promise<CommitContent | undefined>;
  readonly signal?: AbortSignal | undefined;
}

/** A rolling update that a commit asks for. */
export interface CommittedUpdate extends UpdateReference {
  readonly repository: string;
  readonly commit: string;
  /** The update of before is on its way back: its run is to look at once, also where it waits for the update period. */
  readonly isTurned?: boolean;
}

/** The manifests of a commit, read and parsed. */
export interface CommitContent {
  readonly manifests: readonly Manifest[];
  readonly problems: readonly Problem[];
  /** Each file by its path, to find lines in. */
  readonly texts: ReadonlyMap<string, SourceText>;
}

/** 10 MiB of YAML take seconds, and this process has a Lease to renew: others get their turn after so many milliseconds. */
const BREATH_MS = 20;

/** Reads a commit's manifests; the last few are kept, because every activity of a commit needs them. */
export class CommitReader {
  readonly #mirrors: (repository: Repository) => Mirror;
  readonly #onRead: (repository: Repository, sha: string, problem: Problem | undefined) => void;
  readonly #recent = new Map<string, CommitContent>();

  /** @param onRead called after each {@link read}: a problem is one that may pass, with which the commit waits for its next try */
  constructor(
    mirrors: (repository: Repository) => Mirror,
    onRead: (repository: Repository, sha: string, problem: Problem | undefined) => void = () => undefined,
  ) {
    this.#mirrors = mirrors;
    this.#onRead = onRead;
  }

  /** @throws ProblemError when the commit or its path cannot be read at all */
  async read(repository: Repository, sha: string, signal?: AbortSignal): Promise<CommitContent> {
    try {
      const content = await this.#verified(repository, sha, signal);
      this.#onRead(repository, sha, undefined);
      return content;
    } catch (error) {
      // Any other is what the commit is refused for.
      const isPassing = error instanceof ProblemError && TRANSIENT_CODES.has(error.problem.code);
      if (isPassing) this.#onRead(repository, sha, error.problem);
      throw error;
    }
  }

  async #verified(repository: Repository, sha: string, signal?: AbortSignal): Promise<CommitContent> {
    // At each read: a key that was taken away must not be good because it was once.
    if (asksForSignatures(repository)) await this.#mirrors(repository).verifyCommit(sha, repository, signal);
    return await this.#contentOf(repository, sha, signal);
  }

  /**
   * A commit that this repository has applied, as its inventory says, to see whether the cluster still is as it wants it: it was verified
   * then, and is what the cluster is to be like until another one is taken.
   * @throws ProblemError when the commit or its path cannot be read at all
   */
  async readApplied(repository: Repository, sha: string, signal?: AbortSignal): Promise<CommitContent> {
    return await this.#contentOf(repository, sha, signal);
  }

  /**
   * A commit that was applied before, to see what it said: whether it is signed, by the rules of today, makes no difference to that.
   * Undefined: the repository does not offer it any more.
   * @throws ProblemError when the source is away
   */
  async readEarlier(
    repository: Repository,
    sha: string,
    signal?: AbortSignal,
  ): Promise<CommitContent | undefined> {
    try {
      return await this.#contentOf(repository, sha, signal);
    } catch (error) {
      if (!(error instanceof ProblemError) || TRANSIENT_CODES.has(error.problem.code)) throw error;
      return undefined;
    }
  }

  async #contentOf(repository: Repository, sha: string, signal?: AbortSignal): Promise<CommitContent> {
    const key = `${repository.url}\n${repository.path}\n${sha}`;
    const known = this.#recent.get(key);
    if (known !== undefined) return known;
    const tree = await this.#mirrors(repository).readManifests(sha, repository.path, signal);
    const reader = new ManifestReader();
    let begun = performance.now();
    for (const file of tree.files) {
      for (const _document of reader.read(file)) {
        if (performance.now() - begun < BREATH_MS) continue;
        await yieldToOthers();
        signal?.throwIfAborted();
        begun = performance.now();
      }
    }
    const { manifests, problems, texts } = reader;
    const content = { manifests, problems: byPlace([...tree.problems, ...problems]), texts };
    this.#recent.set(key, content);
    for (const old of [...this.#recent.keys()].slice(0, -3)) this.#recent.delete(old);
    return content;
  }
}

/**
 * Gives every manifest its place in the cluster. Of a commit that heals only what it is about: what is wrong with others (a kind that was
 * taken from the cluster) holds nothing up, as long as all that it is about has a place. @throws ApiError
 */
export async function prepareCommit(context: CommitContext, content: CommitContent): Promise<Prepared> {
  const prepared = await prepareObjects(content.manifests, {
    defaultNamespace: context.repository.namespace,
    find: async (apiVersion, kind) =>
      await context.discovery.find(apiVersion, kind, withSignal(context.signal)),
    versions: async (group) => await servedVersions(context.discovery, group, withSignal(context.signal)),
  });
  const { heal } = context;
  if (heal === undefined) return prepared;
  const objects = prepared.objects.filter((object) => heal.has(entryKey(inventoryEntry(object))));
  if (objects.length < heal.size) return { ...prepared, objects };
  const labels = new Set<string | undefined>(objects.map(({ label }) => label));
  return { objects, problems: prepared.problems.filter(({ object }) => labels.has(object)) };
}

/**
 * Of a commit that was checked, for who does away with what it does not hold: an API that has gone away since hides what it holds.
 * @throws NotYetError while the place of an object cannot be told; ApiError
 */
export async function prepareWhole(context: CommitContext, content: CommitContent): Promise<Prepared> {
  const prepared = await prepareCommit(context, content);
  const hidden = prepared.problems.find(isHidden);
  if (hidden === undefined) return prepared;
  throw new NotYetError(formatProblem(hidden, context.sha));
}

/** Whether the problem is that its API is away, with which its object is in the commit all the same. */
export function isHidden({ code }: Problem): boolean {
  return code === 'ApiServiceUnavailable';
}

/** By file and line, so that a report reads like the files do. */
export function byPlace(problems: readonly Problem[]): Problem[] {
  return problems.toSorted((a, b) => {
    const [fileA, fileB] = [a.file ?? '', b.file ?? ''];
    return fileA < fileB ? -1 : fileA > fileB ? 1 : (a.line ?? 0) - (b.line ?? 0);
  });
}

/** Requests at a time. */
export const PARALLEL = 8;

/** Runs `work` for every item, at most `limit` at a time, in order of the items; stops starting new ones once aborted. */
export async function forEachLimited<T>(
  items: readonly T[],
  limit: number,
  work: (item: T) => Promise<void>,
  signal?: AbortSignal,
): Promise<void> {
  let next = 0;
  const worker = async (): Promise<void> => {
    while (next < items.length) {
      signal?.throwIfAborted();
      const item = items[next++];
      if (item !== undefined) await work(item);
    }
  };
  const workers = Array.from({ length: Math.min(limit, items.length) }, worker);
  const results = await Promise.allSettled(workers);
  for (const result of results) if (result.status === 'rejected') throw result.reason;
}
