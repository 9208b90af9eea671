/** A repository with a namespace of its own, what two commits of it hold, and what the second leaves in the cluster. */

import { setTimeout as delay } from 'node:timers/promises';

import { WorkflowNotFoundError } from '@temporalio/client';

import { InventoryStore } from '../../git/inventory.ts';
import { isNotFound } from '../../kubernetes/api-error.ts';
import type { ResourcePath } from '../../kubernetes/client.ts';
import type { StatefulSetObject } from '../../kubernetes/statefulset-adapter.ts';
import { groupVersion } from '../../kubernetes/workload-api.ts';
import { ANNOTATION } from '../../planners/names.ts';
import type { KubernetesObject, Pod } from '../../planners/objects.ts';
import { rolloutWorkflowId } from '../../workflows/messages.ts';
import { commitWorkflowId, syncWorkflowId } from '../../workflows/sync-messages.ts';
import { found } from '../support/eventually.ts';
import { TestRepository } from '../support/git-repository.ts';
import { INVENTORY_NAMESPACE } from '../support/git-sync.ts';
import { isPodReady } from '../support/scene.ts';
import type { Stage } from '../support/stage.ts';
import { TemporalRuns } from '../support/temporal-runs.ts';
import { PATIENCE_MS } from './crash-play.ts';

/** Manifests by the name of their file. */
export type Files = Readonly<Record<string, object>>;

/** What a commit leaves behind, without what differs from run to run: names of namespaces, uids, shas, times. */
export interface CommitEnd {
  /** Everything in the namespace: its value, the commit that it says to be of, and whether it was there before, untouched or not. */
  readonly objects: Readonly<Record<string, string>>;
  /** Entries of the inventory; `!` if its uid is not that of the object in the cluster. */
  readonly inventory: readonly string[];
  readonly status: unknown;
  /** Each try of a commit, oldest first. */
  readonly history: readonly unknown[];
  /** On the inventory. */
  readonly events: readonly string[];
  /** Status and outcome of each run of the commit, and of the rollouts that it caused. */
  readonly runs: readonly string[];
  readonly rollouts: readonly string[];
  /** What was written after the commit was recorded, while the repository was looked at again. */
  readonly writtenAfter: readonly string[];
}

interface Served extends KubernetesObject {
  readonly data?: Readonly<Record<string, string>>;
  readonly spec?: {
    readonly value?: string;
    readonly ports?: readonly { readonly port: number }[];
    readonly containers?: Pod['spec']['containers'];
    readonly template?: { readonly spec: Pod['spec'] };
  };
  readonly status?: { readonly availableReplicas?: number };
}

interface Seen {
  readonly kind: string;
  readonly object: Served;
}

/** A commit of fifty objects has more to do than a rollout. */
const COMMIT_PATIENCE_MS = 2 * PATIENCE_MS;
/** Seconds between two looks at the repository. */
const INTERVAL = 1;
const CORE = { group: '', version: 'v1' } as const;
/** The workload API of the cluster's own controllers. */
const NATIVE = { group: 'apps', version: 'v1' } as const;
const CRDS = { group: 'apiextensions.k8s.io', version: 'v1', resource: 'customresourcedefinitions' } as const;
const BINDINGS = {
  group: 'rbac.authorization.k8s.io',
  version: 'v1',
  resource: 'clusterrolebindings',
} as const;
/** Every namespace has them. */
const NATIVES = new Set(['ConfigMap kube-root-ca.crt', 'ServiceAccount default']);
/** The StatefulSet whose rollouts are told, if there is one. */
export const SET = 'web';
const OTHER_OBJECT = 'neighbour';
const COPY = 'copy';

/** What is played: `first` is applied before, `copied` is the file of a ConfigMap that somebody has copied since, marks and all. */
export interface CommitPlot {
  readonly first: (group: string) => Files;
  readonly second: (group: string) => Files;
  readonly copied: string;
  /** What somebody sets of {@link SET} in the cluster after the first commit, and its pods, which all are ready with it. */
  readonly set?: { readonly spec: object; readonly pods: number };
}

export class CommitScene {
  readonly namespace: string;
  /** Entries of the repositories file: its own, and another with one object in the same namespace. */
  readonly repositories: readonly object[];
  readonly #stage: Stage;
  readonly #owner: string;
  readonly #plot: CommitPlot;
  readonly #git: TestRepository;
  readonly #otherGit: TestRepository;
  readonly #store: InventoryStore;
  readonly #otherStore: InventoryStore;
  readonly #rollouts: TemporalRuns;
  /** Words for shas. */
  readonly #commits = new Map<string | undefined, string>([[undefined, 'none']]);

  private constructor(
    stage: Stage,
    owner: string,
    plot: CommitPlot,
    namespace: string,
    [git, otherGit]: readonly [TestRepository, TestRepository],
  ) {
    this.#stage = stage;
    this.#owner = owner;
    this.#plot = plot;
    this.#git = git;
    this.#otherGit = otherGit;
    this.namespace = namespace;
    const { client, api } = stage.cluster;
    const entry = { ref: 'main', namespace, serviceAccount: `${namespace}/default`, interval: INTERVAL };
    this.repositories = [
      { name: namespace, url: git.path, ...entry },
      { name: `${namespace}-other`, url: otherGit.path, ...entry },
    ];
    this.#store = new InventoryStore(client, INVENTORY_NAMESPACE, namespace);
    this.#otherStore = new InventoryStore(client, INVENTORY_NAMESPACE, `${namespace}-other`);
    const set = { namespace, kind: 'StatefulSet', group: groupVersion(api).group, name: SET } as const;
    this.#rollouts = new TemporalRuns(stage.temporal, rolloutWorkflowId(owner, set));
  }

  /** The first commit is made, and nobody follows it yet. `owner` is FAIRLEAD_CLUSTER of the worker that will. */
  static async open(stage: Stage, owner: string, plot: CommitPlot): Promise<CommitScene> {
    const { cluster } = stage;
    const [namespace, git, otherGit] = await Promise.all([
      cluster.createNamespace('crash'),
      TestRepository.create(),
      TestRepository.create(),
    ]);
    // A repository with a CustomResourceDefinition needs more than its namespace.
    await cluster.client.create(BINDINGS, {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRoleBinding',
      metadata: { name: namespace },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
      subjects: [{ kind: 'ServiceAccount', name: 'default', namespace }],
    });
    const scene = new CommitScene(stage, owner, plot, namespace, [git, otherGit]);
    await scene.#commit('first', git, plot.first(scene.#group));
    const data = { value: '1' };
    const neighbour = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: OTHER_OBJECT }, data };
    await scene.#commit('other', otherGit, { [OTHER_OBJECT]: neighbour });
    return scene;
  }

  /** Both repositories are applied, and somebody has copied an object. */
  async prepare(): Promise<void> {
    await Promise.all([this.#untilRecorded(this.#store), this.#untilRecorded(this.#otherStore)]);
    const { client } = this.#stage.cluster;
    const path = this.#at({ ...CORE, resource: 'configmaps' });
    const original = await client.get<Served>({ ...path, name: this.#plot.copied });
    const { labels, annotations } = original.metadata;
    const metadata = { name: COPY, labels, annotations };
    await client.create(path, { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { value: 'copied' } });
    const { set } = this.#plot;
    if (set === undefined) return;
    const { cluster } = this.#stage;
    const native = this.#at({ ...NATIVE, resource: 'statefulsets', name: SET });
    await client.patch(native, 'merge', { spec: set.spec });
    await cluster.until<StatefulSetObject>(
      native,
      'set by somebody',
      ({ metadata: { generation }, status }) => {
        const { observedGeneration, readyReplicas, updatedReplicas } = status ?? {};
        return (
          observedGeneration === generation && readyReplicas === set.pods && updatedReplicas === set.pods
        );
      },
    );
  }

  /** Makes the second commit; resolves when it is recorded and its run is over. */
  async change(): Promise<void> {
    const [before, after] = [this.#plot.first(this.#group), this.#plot.second(this.#group)];
    const removed = Object.keys(before).filter((name) => !(name in after));
    await this.#commit('second', this.#git, after, removed);
    await this.#untilRecorded(this.#store);
    await this.#runs.until(
      'none is open',
      (runs) => runs.length > 0 && runs.every(({ status }) => status !== 'RUNNING'),
      COMMIT_PATIENCE_MS,
    );
  }

  /** Looks at what there is; resolves with the question what has become of it. */
  async before(): Promise<() => Promise<CommitEnd>> {
    const [seen, rollouts] = await Promise.all([this.#seen(), this.#rollouts.all()]);
    return async () => await this.#end(seen, new Set(rollouts.map(({ runId }) => runId)));
  }

  /** Names that are the same in every run. */
  alias(resource: string, name: string): string {
    if (resource === CRDS.resource) return name.replace(this.#group, 'example.com');
    const isInventory = resource === 'configmaps' && name.startsWith(`fairlead-${this.namespace}`);
    return isInventory ? name.replace(`fairlead-${this.namespace}`, 'inventory') : name;
  }

  async remove(): Promise<void> {
    const { client } = this.#stage.cluster;
    for (const { repository } of [this.#store, this.#otherStore]) {
      const sync = this.#stage.temporal.workflow.getHandle(syncWorkflowId(this.#owner, repository));
      await sync.terminate('the play is over').catch((error: unknown) => {
        if (!(error instanceof WorkflowNotFoundError)) throw error;
      });
    }
    const gone = [
      { ...CORE, resource: 'namespaces', name: this.namespace },
      { ...BINDINGS, name: this.namespace },
      { ...CRDS, name: `widgets.${this.#group}` },
      ...[this.#store, this.#otherStore].map(({ namespace, name }) => ({
        ...CORE,
        resource: 'configmaps',
        namespace,
        name,
      })),
    ];
    for (const path of gone) {
      await client.delete(path).catch((error: unknown) => {
        if (!isNotFound(error)) throw error;
      });
    }
    await Promise.all([this.#git.remove(), this.#otherGit.remove()]);
  }

  /** Of its CustomResourceDefinition, which is the cluster's. */
  get #group(): string {
    return `${this.namespace}.example.com`;
  }

  get #runs(): TemporalRuns {
    const [sha = ''] = [...this.#commits].find(([, word]) => word === 'second') ?? [];
    return new TemporalRuns(this.#stage.temporal, commitWorkflowId(this.#owner, this.#store.repository, sha));
  }

  async #commit(
    word: string,
    git: TestRepository,
    files: Files,
    removed: readonly string[] = [],
  ): Promise<void> {
    const changes = Object.entries(files).map(([name, object]) => [`${name}.yaml`, JSON.stringify(object)]);
    const removals = removed.map((name) => [`${name}.yaml`, undefined]);
    const sha = await git.commit(
      Object.fromEntries([...changes, ...removals]) as Record<string, string | undefined>,
      word,
    );
    this.#commits.set(sha, word);
  }

  /** The newest commit of this repository has been dealt with. */
  async #untilRecorded(store: InventoryStore): Promise<void> {
    const git = store === this.#store ? this.#git : this.#otherGit;
    const sha = await git.git('rev-parse', 'HEAD');
    let seen: unknown;
    await found(
      `commit ${sha} of ${store.repository} is recorded`,
      async () => {
        seen = (await store.read())?.status;
        const { commit } = (seen ?? {}) as {
          readonly commit?: { readonly sha: string; readonly outcome: string };
        };
        return commit?.sha === sha && commit.outcome !== 'Progressing' ? true : undefined;
      },
      COMMIT_PATIENCE_MS,
      () => JSON.stringify(seen),
    );
  }

  /** Everything in the namespace, by kind and name. */
  async #seen(): Promise<ReadonlyMap<string, Seen>> {
    const workloads = groupVersion(this.#stage.cluster.api);
    const kinds: readonly (readonly [string, ResourcePath])[] = [
      ['ConfigMap', { ...CORE, resource: 'configmaps' }],
      ['Secret', { ...CORE, resource: 'secrets' }],
      ['Service', { ...CORE, resource: 'services' }],
      ['ServiceAccount', { ...CORE, resource: 'serviceaccounts' }],
      ['StatefulSet', { ...workloads, resource: 'statefulsets' }],
      ['Deployment', { ...workloads, resource: 'deployments' }],
      ['StatefulSet.apps', { ...NATIVE, resource: 'statefulsets' }],
      ['Pod', { ...CORE, resource: 'pods' }],
      ['Widget', { group: this.#group, version: 'v1', resource: 'widgets' }],
    ];
    const lists = await Promise.all(
      kinds.map(async ([kind, path]) => {
        const { items } = await this.#stage.cluster.client
          .list<Served>(this.#at(path))
          .catch((error: unknown) => {
            // Its kind is not there yet.
            if (kind !== 'Widget' || !isNotFound(error)) throw error;
            return { items: [] };
          });
        return items.map((object) => [`${kind} ${object.metadata.name}`, { kind, object }] as const);
      }),
    );
    return new Map(lists.flat().filter(([label]) => !NATIVES.has(label)));
  }

  async #end(before: ReadonlyMap<string, Seen>, known: ReadonlySet<string>): Promise<CommitEnd> {
    const inventory = await this.#store.read();
    const seen = await this.#seen();
    // Time for a look at the repository: what is applied already is not written again.
    await delay(1.5 * 1_000 * INTERVAL);
    const [later, again] = await Promise.all([this.#seen(), this.#store.read()]);
    const { status, entries } = inventory ?? { status: {}, entries: new Map() };
    const [runs, rollouts] = await Promise.all([this.#runs.all(), this.#rollouts.all()]);
    return {
      objects: Object.fromEntries(
        [...seen]
          .map(([label, one]) => [label, this.#describe(one, before.get(label))] as const)
          .sort(([a], [b]) => byName(a, b)),
      ),
      inventory: [...entries.values()]
        .map((entry) => {
          const { kind, name, uid } = entry;
          const label = `${kind} ${name}`.replace(this.#group, 'example.com');
          const live = seen.get(label)?.object.metadata.uid;
          const isCluster = entry.namespace === undefined;
          return `${label}${uid !== undefined && (isCluster || uid === live) ? '' : '!'}`;
        })
        .sort(byName),
      status: {
        run: this.#word(inventory?.run?.sha),
        commit: this.#told(status.commit),
        lastSucceeded: this.#word(status.lastSucceeded?.sha),
        drift: status.drift ?? 'none',
        source: status.source?.problem ?? 'sound',
      },
      history: (status.history ?? []).map((attempt) => this.#told(attempt)),
      events: await this.#events(),
      runs: await outcomes(this.#runs, runs),
      rollouts: await outcomes(
        this.#rollouts,
        rollouts.filter(({ runId }) => !known.has(runId)),
      ),
      writtenAfter: [
        ...[...later].filter(([label, one]) => versionOf(one) !== versionOf(seen.get(label))),
        ...[...seen].filter(([label]) => !later.has(label)),
      ]
        .map(([label]) => label)
        .concat(again?.resourceVersion === inventory?.resourceVersion ? [] : ['inventory']),
    };
  }

  #describe({ kind, object }: Seen, before: Seen | undefined): string {
    const { annotations = {}, uid } = object.metadata;
    const commit = annotations[ANNOTATION.commit];
    const of = commit === undefined ? '' : ` of ${this.#word(commit)}`;
    const isKept = before?.object.metadata.uid === uid;
    const isTouched = versionOf(before) !== object.metadata.resourceVersion;
    return `${valueOf(kind, object)}${of}: ${!isKept ? 'new' : isTouched ? 'changed' : 'as it was'}`;
  }

  #word(sha: string | undefined): string {
    return this.#commits.get(sha) ?? `unknown ${String(sha)}`;
  }

  /** What became of a commit, without its times. */
  #told(commit: object | undefined): unknown {
    const { sha, outcome, applied, unchanged, pruned, problems, notes, tries, askedBy } = (commit ??
      {}) as Readonly<Record<string, unknown>>;
    const told = { outcome, applied, unchanged, pruned, problems, notes, tries, askedBy };
    return { sha: this.#word(sha as string | undefined), ...JSON.parse(JSON.stringify(told)) };
  }

  async #events(): Promise<readonly string[]> {
    const { namespace, name } = this.#store;
    const { items } = await this.#stage.cluster.client.list<
      KubernetesObject & { readonly reason: string; readonly count: number }
    >({ ...CORE, resource: 'events', namespace }, { fieldSelector: `involvedObject.name=${name}` });
    return items.map(({ reason, count }) => `${reason} ×${String(count)}`).sort();
  }

  #at(path: ResourcePath): ResourcePath {
    return { ...path, namespace: this.namespace };
  }
}

/** The tenth after the ninth. */
export function byName(a: string, b: string): number {
  return a.localeCompare(b, 'en', { numeric: true });
}

function versionOf(seen: Seen | undefined): string | undefined {
  return seen?.object.metadata.resourceVersion;
}

/** What the manifest says, where each kind says it. */
function valueOf(kind: string, object: Served): string {
  const { data = {}, spec = {}, status = {} } = object;
  const images = (containers: Pod['spec']['containers'] = []) => containers.map(({ image }) => image).join();
  switch (kind) {
    case 'ConfigMap':
      return data['value'] ?? '';
    case 'Secret':
      return Buffer.from(data['value'] ?? '', 'base64').toString();
    case 'Service':
      return String(spec.ports?.map(({ port }) => port));
    case 'ServiceAccount':
      return object.metadata.annotations?.['example.com/value'] ?? '';
    case 'Widget':
      return spec.value ?? '';
    case 'Pod':
      return `${images(spec.containers)}${isPodReady(object as unknown as Pod) ? ' ready' : ''}`;
    default:
      return `${images(spec.template?.spec.containers)}, ${String(status.availableReplicas)} available`;
  }
}

async function outcomes(
  of: TemporalRuns,
  runs: readonly { readonly runId: string; readonly status: string }[],
): Promise<readonly string[]> {
  return await Promise.all(
    runs.map(async ({ runId, status }) =>
      status === 'COMPLETED' ? `COMPLETED ${(await of.result(runId)).outcome}` : status,
    ),
  );
}
