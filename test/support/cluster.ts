/** What tests do to a cluster and wait for: namespaces, applies, watches with a deadline. As the administrator. */

import { KubernetesClient } from '../../kubernetes/client.ts';
import type { ResourcePath } from '../../kubernetes/client.ts';
import { loadConnection } from '../../kubernetes/kubeconfig.ts';
import { WORKLOAD_RESOURCES, groupVersion } from '../../kubernetes/workload-api.ts';
import type { WorkloadApi } from '../../kubernetes/workload-api.ts';
import type { StatefulSetObject } from '../../kubernetes/statefulset-adapter.ts';
import type { Condition, ControllerRevision, KubernetesObject, Pod } from '../../planners/objects.ts';
import type { WorkloadKind } from '../../planners/workload.ts';
import type { DescribedKindName, Descriptions, ServedObjects } from './described-kinds.ts';
import { eventually } from './eventually.ts';
import { everyEvent } from './every-event.ts';
import { patient } from './patience.ts';
import { summary, untilObjects } from './until-objects.ts';
import { DESCRIBED_KINDS } from './described-kinds.ts';
import type { StatefulSetDescription } from './statefulset-manifest.ts';

export interface PodEvent {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly pod: Pod;
  /** Milliseconds since the epoch at which it was seen. */
  readonly at: number;
}

export interface PodRecording {
  readonly events: readonly PodEvent[];
  /** Resolves when it holds all that has happened up to now: another watch may know it sooner. */
  readonly caughtUp: () => Promise<void>;
  readonly stop: () => void;
}

/** What every kind's object has. */
interface Served extends KubernetesObject {
  readonly status?: { readonly conditions?: readonly Condition[]; readonly observedGeneration?: number };
}

const PODS = { group: '', version: 'v1', resource: 'pods' } as const;

export class Cluster {
  readonly client: KubernetesClient;
  readonly api: WorkloadApi;

  private constructor(client: KubernetesClient, api: WorkloadApi) {
    this.client = client;
    this.api = api;
  }

  static async connect(kubeconfig: string, api: WorkloadApi): Promise<Cluster> {
    return new Cluster(new KubernetesClient(await loadConnection({}, { kubeconfig })), api);
  }

  /** A namespace of its own with a name that nobody used before. */
  async createNamespace(prefix: string): Promise<string> {
    return await this.createNamespaceNamed(`${prefix}-${Math.random().toString(36).slice(2, 8)}`);
  }

  /** With the account that its pods run as: until there is one, the apiserver refuses them, and that is told as it should be. */
  async createNamespaceNamed(name: string): Promise<string> {
    await this.client.create(
      { group: '', version: 'v1', resource: 'namespaces' },
      {
        apiVersion: 'v1',
        kind: 'Namespace',
        metadata: { name },
      },
    );
    const account = {
      group: '',
      version: 'v1',
      resource: 'serviceaccounts',
      namespace: name,
      name: 'default',
    };
    await this.until(account, 'there', () => true);
    return name;
  }

  path(kind: WorkloadKind, namespace: string, name?: string): ResourcePath {
    return { ...groupVersion(this.api), resource: WORKLOAD_RESOURCES[kind], namespace, name };
  }

  setPath(namespace: string, name?: string): ResourcePath {
    return this.path('StatefulSet', namespace, name);
  }

  /** Server-side apply as a user would. */
  async apply<K extends DescribedKindName>(kind: K, description: Descriptions[K]): Promise<ServedObjects[K]> {
    return await this.client.patch<ServedObjects[K]>(
      this.path(kind, description.namespace, description.name),
      'apply',
      DESCRIBED_KINDS[kind].manifest(this.api, description),
      { fieldManager: 'test', force: true, fieldValidation: 'Strict' },
    );
  }

  async applySet(description: StatefulSetDescription): Promise<StatefulSetObject> {
    return await this.apply('StatefulSet', description);
  }

  async set(namespace: string, name: string): Promise<StatefulSetObject> {
    return await this.client.get<StatefulSetObject>(this.setPath(namespace, name));
  }

  /** Pods with label app=name, by name. */
  async pods(namespace: string, app: string): Promise<readonly Pod[]> {
    const { items } = await this.client.list<Pod>({ ...PODS, namespace }, { labelSelector: `app=${app}` });
    return [...items].sort((a, b) => a.metadata.name.localeCompare(b.metadata.name, 'en', { numeric: true }));
  }

  async revisions(namespace: string, app: string): Promise<readonly ControllerRevision[]> {
    const { items } = await this.client.list<ControllerRevision>(
      { group: 'apps', version: 'v1', resource: 'controllerrevisions', namespace },
      { labelSelector: `app=${app}` },
    );
    return [...items].sort((a, b) => Number(a.revision) - Number(b.revision));
  }

  /** Events on objects of a namespace, oldest first. */
  async events(
    namespace: string,
  ): Promise<readonly { readonly reason: string; readonly message: string; readonly type: string }[]> {
    const { items } = await this.client.list<
      KubernetesObject & { reason: string; message: string; type: string }
    >({
      group: '',
      version: 'v1',
      resource: 'events',
      namespace,
    });
    return [...items]
      .sort((a, b) => Number(BigInt(a.metadata.resourceVersion) - BigInt(b.metadata.resourceVersion)))
      .map(({ reason, message, type }) => ({ reason, message, type }));
  }

  /** Annotations merged into the object's; undefined removes one. */
  async annotate(
    path: ResourcePath,
    annotations: Readonly<Record<string, string | undefined>>,
  ): Promise<void> {
    const values = Object.fromEntries(
      Object.entries(annotations).map(([key, value]) => [key, value ?? null]),
    );
    await this.client.patch(path, 'merge', { metadata: { annotations: values } });
  }

  /** The object as soon as `predicate` holds of it; fails with its last state after `timeoutMs`. */
  async until<T extends KubernetesObject>(
    path: ResourcePath,
    what: string,
    predicate: (object: T) => boolean,
    timeoutMs = 60_000,
  ): Promise<T> {
    const { name, ...collection } = path;
    const deadline = AbortSignal.timeout(patient(timeoutMs));
    let last: T | undefined;
    while (!deadline.aborted) {
      const options = { fieldSelector: `metadata.name=${name ?? ''}`, signal: deadline };
      try {
        for await (const event of this.client.watch<T>(collection, options)) {
          last = event.type === 'BOOKMARK' ? last : event.object;
          if (last !== undefined && event.type !== 'DELETED' && predicate(last)) {
            return last;
          }
        }
      } catch (error) {
        // An apiserver that a test restarts: watch again until the deadline.
        if (deadline.aborted) {
          break;
        }
        await new Promise((resolve) => setTimeout(resolve, 100));
        void error;
      }
    }
    throw new Error(
      `${name ?? ''} did not become "${what}" within ${String(patient(timeoutMs))} ms:\n${await this.#tell(collection, last)}`,
    );
  }

  /** What an object is stuck in, in few lines: a log may show no more. */
  async #tell({ namespace }: ResourcePath, object: KubernetesObject | undefined): Promise<string> {
    const { status, metadata } = (object ?? {}) as Partial<KubernetesObject> & { readonly status?: unknown };
    const { managedFields: _, ...known } = (metadata ?? {}) as Record<string, unknown>;
    const pods = namespace === undefined ? [] : (await this.client.list({ ...PODS, namespace })).items;
    return [...pods.map(summary), status ?? {}, known].map((each) => JSON.stringify(each)).join('\n');
  }

  /** Until there is no object of that name: what was orphaned goes only when its finalizer is through. */
  async untilGone({ name, ...collection }: ResourcePath): Promise<void> {
    const isGone = (all: readonly KubernetesObject[]) => all.every(({ metadata }) => metadata.name !== name);
    await untilObjects(this.client, collection, `${name ?? ''} is gone`, isGone, 60_000);
  }

  /** The workload, once its controller calls it Ready at its newest generation. */
  async untilReadyOf<K extends DescribedKindName>(
    kind: K,
    namespace: string,
    name: string,
    timeoutMs = 60_000,
  ): Promise<ServedObjects[K]> {
    return await this.until<ServedObjects[K]>(
      this.path(kind, namespace, name),
      'Ready at its newest generation',
      isReady,
      timeoutMs,
    );
  }

  async untilReady(namespace: string, name: string, timeoutMs?: number): Promise<StatefulSetObject> {
    return await this.untilReadyOf('StatefulSet', namespace, name, timeoutMs);
  }

  /** Records the events of a namespace's pods from now on. */
  async recordPods(namespace: string): Promise<PodRecording> {
    const path = { ...PODS, namespace };
    const events: PodEvent[] = [];
    const stopping = new AbortController();
    const { items: first, resourceVersion } = await this.client.list<Pod>(path);
    const watch = async () => {
      for await (const seen of everyEvent<Pod>(this.client, path, stopping.signal, resourceVersion)) {
        events.push({ type: seen.type, pod: seen.object, at: Date.now() });
      }
    };
    void watch();
    const caughtUp = async () => {
      const list = await this.client.list<Pod>(path);
      await eventually(
        `the pods of ${namespace} are recorded`,
        () => isCaughtUp(first, events, list),
        30_000,
      );
    };
    return { events, caughtUp, stop: () => stopping.abort() };
  }

  close(): void {
    this.client.close();
  }
}

/** kstatus: Ready is True and the controller has seen the newest generation. */
export function isReady({ metadata, status }: Served): boolean {
  const ready = status?.conditions?.find((condition) => condition.type === 'Ready');
  return ready?.status === 'True' && status?.observedGeneration === metadata.generation;
}

/** Whether what was recorded since the first list has come as far as the list. */
function isCaughtUp(
  first: readonly Pod[],
  events: readonly PodEvent[],
  { items, resourceVersion }: { readonly items: readonly Pod[]; readonly resourceVersion: string },
): boolean {
  const known = new Map(first.map((pod) => [pod.metadata.uid, BigInt(pod.metadata.resourceVersion)]));
  const gone = new Set<string>();
  for (const { type, pod } of events) {
    const { uid } = pod.metadata;
    if (type === 'DELETED') {
      known.delete(uid);
      gone.add(uid);
    } else known.set(uid, BigInt(pod.metadata.resourceVersion));
  }
  const listed = new Set(items.map(({ metadata }) => metadata.uid));
  const hasAll = items.every(
    ({ metadata: { uid, resourceVersion: version } }) =>
      gone.has(uid) || (known.get(uid) ?? 0n) >= BigInt(version),
  );
  const hasDeletions = [...known].every(
    ([uid, version]) => listed.has(uid) || version > BigInt(resourceVersion),
  );
  return hasAll && hasDeletions;
}
