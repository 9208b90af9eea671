/** Which repositories the leader follows and what it saw of each, in one ConfigMap: what `fairlead get repositories` begins with. */

import { isNotFound } from '../kubernetes/api-error.ts';
import type { KubernetesClient, ResourcePath } from '../kubernetes/client.ts';
import { trusted } from '../kubernetes/values.ts';
import type { KubernetesObject } from '../planners/objects.ts';

/** A repositories entry, and the last look at it. */
export interface FollowedRow {
  readonly name: string;
  readonly url: string;
  readonly ref?: string | undefined;
  readonly path: string;
  readonly namespace: string;
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
}

/** What keeps the leader from following as it should, in words: its repositories file cannot be used, Temporal does not answer. */
export type Troubles = Readonly<Partial<Record<'file' | 'temporal', string>>>;

export interface Followed {
  readonly rows: readonly FollowedRow[];
  readonly troubles: Troubles;
}

export interface FollowedListOptions {
  readonly client: KubernetesClient;
  /** Of the workers; no repository can be called as the list is. */
  readonly namespace: string;
  /** Name of the cluster in workflow ids. */
  readonly cluster: string;
  readonly now: () => number;
  readonly onError: (error: unknown) => void;
}

/** Milliseconds after which a look that found nothing new is written all the same. */
const REFRESH_MS = 60_000;

interface ConfigMap extends KubernetesObject {
  readonly data?: Readonly<Record<string, string>>;
}

/** The list as its leader keeps it: one write for all that has changed, and one at a time. */
export class FollowedList {
  readonly #options: FollowedListOptions;
  readonly #rows = new Map<string, FollowedRow>();
  #troubles: Troubles = {};
  #isDirty = false;
  #writtenAt = 0;
  #writing: Promise<void> | undefined;

  constructor(options: FollowedListOptions) {
    this.#options = options;
  }

  /** A repository was looked at. */
  looked(row: FollowedRow): void {
    const { lookedAt: _, ...before } = this.#rows.get(row.name) ?? {};
    const { lookedAt: __, ...after } = row;
    this.#rows.set(row.name, row);
    const isOld = this.#options.now() - this.#writtenAt >= REFRESH_MS;
    if (isOld || JSON.stringify(before) !== JSON.stringify(after)) this.#write();
  }

  /** These and no others are followed from now on; what was seen of those that are known already stays. */
  follow(rows: readonly FollowedRow[]): void {
    const known = new Map(this.#rows);
    this.#rows.clear();
    for (const row of rows) {
      const { lookedAt, sha, problem } = known.get(row.name) ?? {};
      this.#rows.set(row.name, {
        ...row,
        ...(lookedAt !== undefined && { lookedAt }),
        ...(sha !== undefined && { sha }),
        ...(problem !== undefined && { problem }),
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

  /** Resolves when the last write is over. */
  async stop(): Promise<void> {
    await this.#writing;
  }

  #write(): void {
    this.#isDirty = true;
    this.#writing ??= this.#writeAll().finally(() => {
      this.#writing = undefined;
    });
  }

  async #writeAll(): Promise<void> {
    const { client, namespace, cluster, now, onError } = this.#options;
    const path = listPath(namespace, cluster);
    while (this.#isDirty) {
      this.#isDirty = false;
      this.#writtenAt = now();
      const rows = [...this.#rows.values()].toSorted((a, b) => (a.name < b.name ? -1 : 1));
      const data = { repositories: JSON.stringify(rows), troubles: JSON.stringify(this.#troubles) };
      try {
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
      } catch (error) {
        // The next look is written again.
        this.#writtenAt = 0;
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
    };
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

/** Inventories are called `fairlead-<repository>`, and a repository has no dot in its name. */
function listPath(namespace: string, cluster: string): ResourcePath {
  return {
    group: '',
    version: 'v1',
    resource: 'configmaps',
    namespace,
    name: `fairlead-${cluster}.repositories`,
  };
}
