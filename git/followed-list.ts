/** Which repositories the leader follows and what it saw of each, in one ConfigMap: what `fairlead get repositories` begins with. */

import { isNotFound } from '../kubernetes/api-error.ts';
import { pause } from '../kubernetes/backoff.ts';
import type { KubernetesClient, ResourcePath } from '../kubernetes/client.ts';
import { asRecord, trusted } from '../kubernetes/values.ts';
import type { KubernetesObject } from '../planners/objects.ts';
import type { NamedEntry } from './earlier-names.ts';
import { readNamed } from './earlier-names.ts';

/** A repositories entry, and the last look at it. */
export interface FollowedRow {
  readonly name: string;
  readonly url: string;
  readonly ref?: string | undefined;
  readonly path: string;
  /** Names that it had before, the last one first, whose suspension may still have to come over. */
  readonly earlierNames?: readonly string[] | undefined;
  readonly namespace: string;
  /** `NAMESPACE/NAME` of the account that its commits are applied as; `''`: the worker itself. Absent: an older worker leads. */
  readonly serviceAccount?: string;
  readonly intervalSeconds: number;
  /** Whether it takes webhooks. */
  readonly webhook: boolean;
  /** Whether what is changed in the cluster is put back. */
  readonly heal?: boolean;
  /** Ids of those who are told of its commits. */
  readonly receivers?: readonly string[];
  /** RFC 3339. Written with the next change, or a minute later. Absent: this leader has not looked yet. */
  readonly lookedAt?: string;
  /** The commit that its ref named. */
  readonly sha?: string | undefined;
  /** Why it could not be read. */
  readonly problem?: string | undefined;
  /** A commit that waits because the server, or the room for it, is not well, and why. */
  readonly unread?: { readonly sha: string; readonly problem: string } | undefined;
  /** Why it could not be seen whether the cluster is as the commit that was applied wants it. */
  readonly driftProblem?: string | undefined;
}

/**
 * What keeps the leader from following as it should, in words: its repositories file cannot be used, Temporal does not answer, a secret of
 * webhooks cannot be read.
 */
export type Troubles = Readonly<Partial<Record<'file' | 'temporal' | 'webhooks', string>>>;

export interface Followed {
  readonly rows: readonly FollowedRow[];
  readonly troubles: Troubles;
  /** Identity of the worker that has written it; undefined: not known. */
  readonly leader?: string | undefined;
}

/** What a repositories file says, kept in the cluster for a worker that starts when the file cannot be used. */
export interface KeptEntries {
  /** Its whole path. */
  readonly file: string;
  /** As a file has them: read and checked as one. */
  readonly entries: string;
}

export interface FollowedListOptions {
  readonly client: KubernetesClient;
  /** Of the workers; no repository can be called as the list is. */
  readonly namespace: string;
  /** Name of the cluster in workflow ids. */
  readonly cluster: string;
  /** Of the worker, as in its Lease. */
  readonly identity: string;
  readonly now: () => number;
  readonly onError: (error: unknown) => void;
  /** @default nothing is kept */
  readonly kept?: () => KeptEntries | undefined;
  /** @default {@link CHECK_MS} */
  readonly checkMs?: number;
}

/**
 * Milliseconds between two looks at whether the list is as it was written: one small read, and looks at repositories may be a day apart. A
 * watch would need a permission that the worker has no other use for.
 */
export const CHECK_MS = 5_000;
/** Milliseconds after which a look that found nothing new is written all the same. */
const REFRESH_MS = 60_000;
const READ_TIMEOUT_MS = 5_000;
/** What a server answered may be long. */
const LONGEST_PROBLEM = 600;

interface ConfigMap extends KubernetesObject {
  readonly data?: Readonly<Record<string, string>>;
}

interface ListData {
  readonly repositories: string;
  readonly troubles: string;
  readonly leader: string;
  readonly kept?: string;
}

/** The list as its leader keeps it: one write for all that has changed, and one at a time. */
export class FollowedList {
  readonly #options: FollowedListOptions;
  readonly #rows = new Map<string, FollowedRow>();
  #troubles: Troubles = {};
  #isDirty = false;
  #writtenAt = 0;
  #writing: Promise<void> | undefined;
  /** What was written last; undefined: it was not taken. */
  #written: ListData | undefined;
  #keeping: Promise<void> | undefined;
  #before: Promise<readonly NamedEntry[]> | undefined;
  readonly #stopping = new AbortController();

  constructor(options: FollowedListOptions) {
    this.#options = options;
  }

  /** What the leader before followed: nothing is written over it until it is known. @throws ApiError */
  async before(): Promise<readonly NamedEntry[]> {
    const { client, namespace, cluster } = this.#options;
    this.#before ??= readFollowedList(client, namespace, cluster, READ_TIMEOUT_MS)
      .then((list) => readNamed(list?.rows ?? []))
      .catch((error: unknown) => {
        // What somebody has made of it tells nothing.
        if (error instanceof SyntaxError) return [];
        this.#before = undefined;
        throw error;
      });
    return await this.#before;
  }

  /** A repository was looked at. */
  looked(seen: FollowedRow): void {
    const known = this.#rows.get(seen.name);
    const { driftProblem, unread } = known ?? {};
    const row = {
      ...seen,
      ...(unread !== undefined && { unread }),
      ...(driftProblem !== undefined && { driftProblem }),
    };
    const { lookedAt: _, ...before } = known ?? {};
    const { lookedAt: __, ...after } = row;
    this.#rows.set(row.name, row);
    const isOld = this.#options.now() - this.#writtenAt >= REFRESH_MS;
    if (isOld || JSON.stringify(before) !== JSON.stringify(after)) this.#write();
  }

  /** Drift of a repository could not be looked at, or (without `problem`) can be again. */
  driftLooked(name: string, problem: string | undefined): void {
    const known = this.#rows.get(name);
    if (known === undefined) return;
    const { driftProblem, ...row } = known;
    const next = problem?.slice(0, LONGEST_PROBLEM);
    if (driftProblem === next) return;
    this.#rows.set(name, next === undefined ? row : { ...row, driftProblem: next });
    this.#write();
  }

  /** A commit could not be read for a reason that may pass, or (without `problem`) was read. */
  commitRead(name: string, sha: string, problem: string | undefined): void {
    const known = this.#rows.get(name);
    if (known === undefined) return;
    const { unread, ...row } = known;
    const next = problem === undefined ? undefined : { sha, problem: problem.slice(0, LONGEST_PROBLEM) };
    if (unread?.sha === next?.sha && unread?.problem === next?.problem) return;
    this.#rows.set(name, next === undefined ? row : { ...row, unread: next });
    this.#write();
  }

  /** These and no others are followed from now on; what was seen of those that are known already stays. */
  follow(rows: readonly FollowedRow[]): void {
    const known = new Map(this.#rows);
    this.#rows.clear();
    for (const row of rows) {
      const { lookedAt, sha, problem, unread, driftProblem } = known.get(row.name) ?? {};
      this.#rows.set(row.name, {
        ...row,
        ...(lookedAt !== undefined && { lookedAt }),
        ...(sha !== undefined && { sha }),
        ...(problem !== undefined && { problem }),
        ...(unread !== undefined && { unread }),
        ...(driftProblem !== undefined && { driftProblem }),
      });
    }
    this.#write();
  }

  /** Something keeps it from following as it should, or (without `text`) does so no more. */
  trouble(kind: keyof Troubles, text: string | undefined): void {
    if (this.#troubles[kind] === text) return;
    const { [kind]: _, ...others } = this.#troubles;
    this.#troubles = text === undefined ? others : { ...others, [kind]: text };
    this.#write();
  }

  /** Writes it again whenever somebody has deleted or changed it, until {@link stop}. */
  start(): void {
    this.#keeping ??= this.#keep();
  }

  /** Resolves when the last write is over. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#keeping;
    await this.#writing;
  }

  async #keep(): Promise<void> {
    const { checkMs = CHECK_MS } = this.#options;
    const { signal } = this.#stopping;
    for (;;) {
      await pause(checkMs, signal);
      if (signal.aborted) return;
      const written = this.#written;
      if (written === undefined || this.#writing !== undefined || (await this.#isThere(written, signal)))
        continue;
      // Nothing was written meanwhile, and nobody else leads by now.
      if (written === this.#written && this.#writing === undefined && !signal.aborted) this.#write();
    }
  }

  /** Whether the list is what was written; an apiserver that does not answer says nothing else. */
  async #isThere(written: ListData, signal: AbortSignal): Promise<boolean> {
    const { client, namespace, cluster } = this.#options;
    try {
      const { data } = await client.get<ConfigMap>(listPath(namespace, cluster), { signal });
      return Object.entries(written).every(([key, text]) => data?.[key] === text);
    } catch (error) {
      return !isNotFound(error);
    }
  }

  #write(): void {
    this.#isDirty = true;
    this.#writing ??= this.#writeAll().finally(() => {
      this.#writing = undefined;
    });
  }

  async #writeAll(): Promise<void> {
    const { client, namespace, cluster, identity, now, onError } = this.#options;
    const path = listPath(namespace, cluster);
    while (this.#isDirty) {
      this.#isDirty = false;
      this.#writtenAt = now();
      const rows = [...this.#rows.values()].toSorted((a, b) => (a.name < b.name ? -1 : 1));
      const kept = this.#options.kept?.();
      const data = {
        repositories: JSON.stringify(rows),
        troubles: JSON.stringify(this.#troubles),
        leader: identity,
        ...(kept !== undefined && { kept: JSON.stringify(kept) }),
      };
      try {
        await this.before();
        await client.patch(path, 'merge', { data }).catch(async (error: unknown) => {
          if (!isNotFound(error)) throw error;
          const { name, ...collection } = path;
          const labels = { 'app.kubernetes.io/managed-by': 'fairlead' };
          await client.create(collection, {
            apiVersion: 'v1',
            kind: 'ConfigMap',
            metadata: { name, namespace, labels },
            data,
          });
        });
        this.#written = data;
      } catch (error) {
        // The next look is written again.
        this.#writtenAt = 0;
        this.#written = undefined;
        onError(error);
      }
    }
  }
}

/** What the leader follows; undefined: no leader has written it yet. @throws ApiError */
export async function readFollowedList(
  client: KubernetesClient,
  namespace: string,
  cluster: string,
  timeoutMs: number,
): Promise<Followed | undefined> {
  try {
    const { data } = await client.get<ConfigMap>(listPath(namespace, cluster), { timeoutMs });
    return {
      rows: trusted<readonly FollowedRow[]>(JSON.parse(data?.['repositories'] ?? '[]')),
      troubles: trusted<Troubles>(JSON.parse(data?.['troubles'] ?? '{}')),
      leader: data?.['leader'],
    };
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

/** What the last leader has kept of its repositories file; undefined: nothing that can be read. @throws ApiError */
export async function readKeptEntries(
  client: KubernetesClient,
  namespace: string,
  cluster: string,
): Promise<KeptEntries | undefined> {
  try {
    const { data } = await client.get<ConfigMap>(listPath(namespace, cluster), {
      timeoutMs: READ_TIMEOUT_MS,
    });
    const { file, entries } = asRecord(JSON.parse(data?.['kept'] ?? '{}'));
    return typeof file === 'string' && typeof entries === 'string' ? { file, entries } : undefined;
  } catch (error) {
    if (isNotFound(error) || error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/** What the ConfigMap of the list is called, with its namespace. */
export function listName(namespace: string, cluster: string): string {
  return `${namespace}/${listPath(namespace, cluster).name}`;
}

/** Inventories are called `fairlead-<repository>`, and a repository has no dot in its name. */
function listPath(namespace: string, cluster: string): ResourcePath & { readonly name: string } {
  return {
    group: '',
    version: 'v1',
    resource: 'configmaps',
    namespace,
    name: `fairlead-${cluster}.repositories`,
  };
}
