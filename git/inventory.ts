/** The inventory of a repository: one ConfigMap in the cluster, an ApplySet parent (KEP-3659), and who is writing now. */

import { createHash } from 'node:crypto';
import { isAlreadyExists, isConflict, isNotFound, toMessage } from '../kubernetes/api-error.ts';
import type { KubernetesClient, ResourcePath } from '../kubernetes/client.ts';
import { shellWord } from '../kubernetes/shell-word.ts';
import { APPLYSET_LABEL } from '../planners/names.ts';
import type { KubernetesObject } from '../planners/objects.ts';
import type { CommitRun, RepositoryStatus } from './inventory-status.ts';
import { readRun, readStatus } from './inventory-status.ts';
import type { Entries, InventoryEntry } from './inventory-content.ts';
import { INVENTORY_LABEL, groupOf, packEntries, unpackEntries } from './inventory-content.ts';
import type { Problem } from './problems.ts';
import { ProblemError, problem } from './problems.ts';
import { ownerElsewhere } from './run-cluster.ts';

export const APPLYSET = {
  id: 'applyset.kubernetes.io/id',
  partOf: APPLYSET_LABEL,
  tooling: 'applyset.kubernetes.io/tooling',
  groupKinds: 'applyset.kubernetes.io/contains-group-kinds',
  namespaces: 'applyset.kubernetes.io/additional-namespaces',
} as const;

/** Where the objects of an inventory come from; written by people too, when a repository has moved. */
const SOURCE_ANNOTATION = 'fairlead.dev/source';
/** FAIRLEAD_CLUSTER of the workers that apply it; written by people too, when others are to. */
const CLUSTER_ANNOTATION = 'fairlead.dev/cluster';

/** Written from what else is in the inventory. */
const OWN_ANNOTATIONS: ReadonlySet<string> = new Set([
  APPLYSET.tooling,
  APPLYSET.groupKinds,
  APPLYSET.namespaces,
  SOURCE_ANNOTATION,
  CLUSTER_ANNOTATION,
]);

export interface Inventory {
  readonly uid: string;
  readonly resourceVersion: string;
  readonly entries: Entries;
  /** Of the entries, as {@link sourceIdentity} writes it; absent until a commit has been claimed. */
  readonly source?: string | undefined;
  /** FAIRLEAD_CLUSTER of the workers whose it is; absent until a commit has been claimed, and in older ones: its run tells. */
  readonly cluster?: string | undefined;
  readonly run?: CommitRun | undefined;
  readonly status: RepositoryStatus;
  /** Those that are not written from the fields above: they are people's. */
  readonly annotations?: Readonly<Record<string, string>>;
}

/** Without `annotations` those of people stay as they are. */
export type InventoryDraft = Pick<
  Inventory,
  'entries' | 'source' | 'cluster' | 'run' | 'status' | 'annotations'
>;

interface ConfigMap extends KubernetesObject {
  readonly data?: Readonly<Record<string, string>>;
  readonly binaryData?: Readonly<Record<string, string>>;
}

/**
 * The content of an inventory is damaged. No ProblemError: those are told as what a repository has, and an inventory that cannot be read
 * must not be taken for somebody else's, or for none.
 */
export class DamagedInventory extends Error {
  override name = 'DamagedInventory';
}

const EMPTY: InventoryDraft = { entries: new Map(), status: {} };
const CONFLICT_LIMIT = 12;
const NAME_PREFIX = 'fairlead-';

/** Whose inventory a ConfigMap in the workers' namespace would be by its name; undefined: nobody's. */
export function repositoryOfInventory(name: string): string | undefined {
  return name.startsWith(NAME_PREFIX) ? name.slice(NAME_PREFIX.length) : undefined;
}

export class InventoryStore {
  readonly repository: string;
  readonly namespace: string;
  readonly name: string;
  /** Value of the label {@link APPLYSET.partOf} on members. */
  readonly applySetId: string;
  /** FAIRLEAD_CLUSTER of who looks at it. */
  readonly cluster: string | undefined;
  readonly #client: KubernetesClient;
  readonly #path: ResourcePath;

  /**
   * `client` writes as the worker itself, never as the repository's ServiceAccount. With `cluster` nothing is written into an inventory
   * that belongs to the workers of another.
   */
  constructor(client: KubernetesClient, namespace: string, repository: string, cluster?: string) {
    this.#client = client;
    this.cluster = cluster;
    this.repository = repository;
    this.namespace = namespace;
    this.name = `${NAME_PREFIX}${repository}`;
    this.applySetId = applySetId(this.name, namespace);
    this.#path = { group: '', version: 'v1', resource: 'configmaps', namespace, name: this.name };
  }

  /**
   * Undefined: this repository has never been applied here.
   * @throws ApiError; ProblemError InventoryForeign for a ConfigMap that Fairlead did not make; DamagedInventory
   */
  async read(signal?: AbortSignal): Promise<Inventory | undefined> {
    try {
      return this.#parse(
        await this.#client.get<ConfigMap>(this.#path, signal === undefined ? {} : { signal }),
      );
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }

  /**
   * Changes the inventory; `change` sees the present state and answers the new one, or undefined to leave it. It runs again
   * after a conflict. Nothing is written when nothing differs. The signal ends what is read: a write that has begun ends by itself.
   * @returns what is there now; undefined where it belongs to the workers of another cluster name, for who writes nothing into it
   * @throws as {@link read}; whatever `change` throws
   */
  async update(
    change: (present: InventoryDraft) => InventoryDraft | undefined,
    signal?: AbortSignal,
  ): Promise<Inventory | undefined> {
    for (let attempt = 1; ; attempt += 1) {
      const present = await this.read(signal);
      if (this.ownerElsewhere(present) !== undefined) return undefined;
      const wanted = change(present ?? EMPTY);
      if (wanted === undefined) return present;
      const body = this.#body(wanted, present);
      if (present !== undefined && JSON.stringify(this.#body(present, present)) === JSON.stringify(body))
        return present;
      try {
        const collection = { ...this.#path, name: undefined };
        const written =
          present === undefined
            ? await this.#client.create<ConfigMap>(collection, body)
            : await this.#client.replace<ConfigMap>(this.#path, body);
        return this.#parse(written);
      } catch (error) {
        if ((!isConflict(error) && !isAlreadyExists(error)) || attempt === CONFLICT_LIMIT) throw error;
      }
    }
  }

  /** {@link ownerElsewhere}, for those who look at it. */
  ownerElsewhere(inventory: Pick<Inventory, 'entries' | 'cluster' | 'run'> | undefined): string | undefined {
    if (this.cluster === undefined || inventory === undefined) return undefined;
    return ownerElsewhere(inventory, this.cluster);
  }

  #parse(object: ConfigMap): Inventory {
    const tooling = object.metadata.annotations?.[APPLYSET.tooling];
    if (tooling?.startsWith('fairlead/') !== true) {
      const whose =
        tooling === undefined
          ? 'exists and is no inventory'
          : `is the inventory of another tool (${tooling})`;
      const message = `the inventory of repository ${this.repository} would be ConfigMap ${this.namespace}/${this.name}, which ${whose}: give the repository another \`name\`.`;
      throw new ProblemError(problem('InventoryForeign', message));
    }
    const run = object.data?.['run'];
    const source = object.metadata.annotations?.[SOURCE_ANNOTATION];
    const cluster = object.metadata.annotations?.[CLUSTER_ANNOTATION];
    return {
      uid: object.metadata.uid,
      resourceVersion: object.metadata.resourceVersion,
      entries: this.#part('objects', () => unpackEntries(object.data, object.binaryData)),
      ...(source === undefined ? {} : { source }),
      ...(cluster === undefined ? {} : { cluster }),
      ...(run === undefined ? {} : { run: this.#part('run', () => readRun(run)) }),
      status: this.#part('status', () => readStatus(object.data?.['status'] ?? '{}')),
      annotations: Object.fromEntries(
        Object.entries(object.metadata.annotations ?? {}).filter(([name]) => !OWN_ANNOTATIONS.has(name)),
      ),
    };
  }

  /** One key of the ConfigMap. @throws DamagedInventory */
  #part<T>(key: 'objects' | 'run' | 'status', read: () => T): T {
    try {
      return read();
    } catch (error) {
      const where = `${this.name} -n ${this.namespace}`;
      // Without its status it is as before the first commit: nothing is forgotten that could be pruned.
      const mend =
        key === 'status'
          ? `kubectl patch configmap ${where} --type merge -p '{"data":{"status":null}}' (forgets what became of earlier commits)`
          : `kubectl edit configmap ${where}, or kubectl delete configmap ${where} (forgets what could be pruned)`;
      throw new DamagedInventory(
        `the inventory ConfigMap ${this.namespace}/${this.name} cannot be read (${key}: ${toMessage(error)}): ` +
          `nothing is applied or pruned until it is mended: ${mend}`,
        { cause: error },
      );
    }
  }

  #body(draft: InventoryDraft, present: Inventory | undefined): object {
    const packed = packEntries(draft.entries);
    const entries = [...draft.entries.values()];
    return {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: {
        name: this.name,
        namespace: this.namespace,
        ...(present === undefined ? {} : { uid: present.uid, resourceVersion: present.resourceVersion }),
        labels: {
          [APPLYSET.id]: this.applySetId,
          'app.kubernetes.io/managed-by': 'fairlead',
          [INVENTORY_LABEL]: this.repository,
        },
        annotations: {
          ...(draft.annotations ?? present?.annotations),
          [APPLYSET.tooling]: 'fairlead/v1',
          ...(draft.source === undefined ? {} : { [SOURCE_ANNOTATION]: draft.source }),
          ...(draft.cluster === undefined ? {} : { [CLUSTER_ANNOTATION]: draft.cluster }),
          [APPLYSET.groupKinds]: groupKinds(entries),
          [APPLYSET.namespaces]: sortedUnique(entries.flatMap((entry) => entry.namespace ?? []))
            .filter((name) => name !== this.namespace)
            .join(','),
        },
      },
      data: {
        ...packed.data,
        ...(draft.run === undefined ? {} : { run: JSON.stringify(draft.run) }),
        status: JSON.stringify(draft.status),
      },
      ...(Object.keys(packed.binaryData).length === 0 ? {} : { binaryData: packed.binaryData }),
    };
  }
}

/**
 * Why commits of `source` may not use this inventory: its objects come from another repository of the same name, or were applied by the
 * workers of another cluster name, maybe from another folder or branch of the same, and what this one lacks would be pruned. Undefined:
 * they may; an inventory that names no source, or nothing else either, is anybody's.
 */
export function foreignSource(
  inventory: Pick<Inventory, 'entries' | 'source' | 'cluster' | 'run'> | undefined,
  source: string,
  store: Pick<InventoryStore, 'repository' | 'namespace' | 'name' | 'cluster' | 'ownerElsewhere'>,
): Problem | undefined {
  const { repository, namespace, name, cluster = '' } = store;
  const elsewhere = store.ownerElsewhere(inventory);
  if (elsewhere !== undefined)
    return problem(
      'InventoryOfOther',
      `the workers with FAIRLEAD_CLUSTER=${elsewhere} apply a repository of this name, and have ${countObjects(inventory)} in the cluster. These have FAIRLEAD_CLUSTER=${cluster}.`,
      {
        next:
          'Give this repository a `name` of its own. If these workers shall take the place of those (what this repository lacks is then ' +
          `deleted): kubectl annotate configmap ${name} -n ${namespace} --overwrite ${CLUSTER_ANNOTATION}=${shellWord(cluster)} (then commit again, or \`fairlead sync ${repository}\`).`,
      },
    );
  if (inventory?.source === undefined || inventory.source === source || inventory.entries.size === 0)
    return undefined;
  return problem(
    'InventoryOfOther',
    `another repository of this name has ${countObjects(inventory)} in the cluster: ${inventory.source}. This one is ${source}.`,
    {
      next:
        'Give this repository a `name` of its own. If it is the same one at a new place, or shall replace it (what it lacks is then ' +
        `deleted): ${handOver({ namespace, name }, source)} (then commit again, or \`fairlead sync ${repository}\`).`,
    },
  );
}

/**
 * Whether the run that has claimed the inventory last has applied its commit as a whole: whatever was tried since has written nothing. Of one
 * whose attempt has left the history it is not known. Pure.
 */
export function nobodyWroteSince({ run, status }: Pick<Inventory, 'run' | 'status'>): boolean {
  const { lastSucceeded, history = [] } = status;
  if (run === undefined || run.sha !== lastSucceeded?.sha) return false;
  return history.some(({ runId, outcome }) => runId === run.runId && outcome === 'Succeeded');
}

function countObjects(inventory: Pick<Inventory, 'entries'> | undefined): string {
  const count = inventory?.entries.size ?? 0;
  return count === 1 ? 'one object' : `${count} objects`;
}

/** The command that makes `source` the place where the objects of an inventory come from. */
export function handOver(
  { namespace, name }: Pick<InventoryStore, 'namespace' | 'name'>,
  source: string,
): string {
  return `kubectl annotate configmap ${name} -n ${namespace} --overwrite ${SOURCE_ANNOTATION}=${shellWord(source)}`;
}

/** KEP-3659: `applyset-<base64url(sha256(<name>.<namespace>.<kind>.<group>))>-v1`. */
function applySetId(name: string, namespace: string): string {
  return `applyset-${createHash('sha256').update(`${name}.${namespace}.ConfigMap.`).digest('base64url')}-v1`;
}

function groupKinds(entries: readonly InventoryEntry[]): string {
  return sortedUnique(
    entries.map((entry) => {
      const group = groupOf(entry.apiVersion);
      return group === '' ? entry.kind : `${entry.kind}.${group}`;
    }),
  ).join(',');
}

function sortedUnique(values: readonly string[]): string[] {
  return [...new Set(values)].sort();
}
