/** One workload in a namespace of its own, with everything that a case about faults asks and asserts. */

import { expect } from '@jest/globals';
import type { Client } from '@temporalio/client';

import { isNotFound } from '../../kubernetes/api-error.ts';
import type { ResourcePath } from '../../kubernetes/client.ts';
import type { WorkloadApi } from '../../kubernetes/workload-api.ts';
import { groupVersion } from '../../kubernetes/workload-api.ts';
import type { Condition, KubernetesObject, Node, Pod, ReplicaSet } from '../../planners/objects.ts';
import { rolloutWorkflowId } from '../../workflows/messages.ts';
import type { BudgetReport } from './budget-checker.ts';
import type { Cluster } from './cluster.ts';
import type { DescribedKindName, Descriptions, ServedObjects } from './described-kinds.ts';
import { DESCRIBED_KINDS } from './described-kinds.ts';
import type { OwnNodes } from './own-nodes.ts';
import { untilObjects } from './until-objects.ts';
import type { StatefulSetDescription } from './statefulset-manifest.ts';
import type { Stage } from './stage.ts';
import { TemporalRuns } from './temporal-runs.ts';
import type { RunRecord } from './temporal-runs.ts';

export interface SceneOptions extends Partial<StatefulSetDescription> {
  /** FAIRLEAD_CLUSTER of the worker that looks after it. @default the name of its namespace */
  readonly owner?: string | undefined;
  /** Where its runs are. @default the control plane's own; two clusters may share one */
  readonly temporal?: Client;
}

export interface WorkloadEvent {
  readonly reason: string;
  readonly message: string;
  readonly type: string;
}

interface EventObject extends WorkloadEvent {
  readonly metadata: Pod['metadata'];
  readonly involvedObject: { readonly kind: string; readonly name: string };
}

/** Reasons of a set whose rollout waits for pods that will not get ready. */
const STUCK = new Set(['BudgetUsed', 'PodNotReady', 'InPlaceRestarting']);

/** What a scene is played with. */
export interface SceneSettings {
  /** FAIRLEAD_CLUSTER of the worker that looks after it. */
  readonly owner: string;
  /** Nodes that only its pods use; absent: those that there are. */
  readonly nodes?: OwnNodes | undefined;
  /** Where its runs are. */
  readonly temporal: Client;
}

export class Scene<K extends DescribedKindName = 'StatefulSet'> {
  readonly kind: K;
  readonly cluster: Cluster;
  readonly runs: TemporalRuns;
  /** FAIRLEAD_CLUSTER of the worker that looks after it. */
  readonly owner: string;
  readonly nodes: OwnNodes | undefined;
  /** The namespace of pods that others have on its nodes, if there are any. */
  neighbourhood: string | undefined;
  readonly #stage: Stage;
  #description: Descriptions[K];

  constructor(
    stage: Stage,
    kind: K,
    { owner, nodes, temporal }: SceneSettings,
    description: Descriptions[K],
  ) {
    this.#stage = stage;
    this.kind = kind;
    this.cluster = stage.cluster;
    this.#description = description;
    this.owner = owner;
    this.nodes = nodes;
    const { namespace, name } = description;
    const { group } = groupVersion(this.api);
    this.runs = new TemporalRuns(temporal, rolloutWorkflowId(owner, { namespace, kind, group, name }));
  }

  get api(): WorkloadApi {
    return this.cluster.api;
  }

  get namespace(): string {
    return this.#description.namespace;
  }

  get path(): ResourcePath {
    return this.cluster.path(this.kind, this.namespace, this.#description.name);
  }

  /** Applies the description with this change, which stays. Resolves with the time just before. */
  async apply(change: Partial<Descriptions[K]>): Promise<number> {
    this.#description = { ...this.#description, ...change };
    const at = Date.now();
    await this.cluster.apply(this.kind, this.#description);
    return at;
  }

  /** Applies it, and waits until its first rollout is over. */
  async deploy(): Promise<void> {
    await this.apply({});
    await this.untilDone();
  }

  async annotate(annotations: Readonly<Record<string, string | undefined>>): Promise<void> {
    await this.cluster.annotate(this.path, annotations);
  }

  async set(): Promise<ServedObjects[K]> {
    return await this.cluster.client.get<ServedObjects[K]>(this.path);
  }

  async untilSet(
    what: string,
    predicate: (set: ServedObjects[K]) => boolean,
    timeoutMs = 60_000,
  ): Promise<ServedObjects[K]> {
    return await this.cluster.until<ServedObjects[K]>(this.path, what, predicate, timeoutMs);
  }

  /** The status says that so many pods are at the update revision. */
  async untilUpdated(count: number, timeoutMs?: number): Promise<ServedObjects[K]> {
    const { updated } = DESCRIBED_KINDS[this.kind];
    return await this.untilSet(`${String(count)} updated`, (set) => updated(set) === count, timeoutMs);
  }

  async pods(): Promise<readonly Pod[]> {
    return await this.cluster.pods(this.namespace, this.#description.name);
  }

  /** Those of the namespace: a Deployment's pods belong to them, and they are its history. */
  async replicaSets(): Promise<readonly ReplicaSet[]> {
    const { namespace } = this;
    const path = { group: 'apps', version: 'v1', resource: 'replicasets', namespace };
    return (await this.cluster.client.list<ReplicaSet>(path)).items;
  }

  /** Every pod of the namespace: those that help a rollout as well. */
  async allPods(): Promise<readonly Pod[]> {
    return (await this.cluster.client.list<Pod>(this.#podsPath())).items;
  }

  /** The pods of the namespace by name, as soon as they are so. */
  async untilPods(
    what: string,
    predicate: (pods: readonly Pod[]) => boolean,
    timeoutMs = 60_000,
  ): Promise<readonly Pod[]> {
    return await untilObjects<Pod>(this.cluster.client, this.#podsPath(), what, predicate, timeoutMs);
  }

  /** A rollout under way: at least one pod at this image, at least one at another. */
  async untilMidRollout(image: string): Promise<readonly Pod[]> {
    return await this.untilPods(`some pods at ${image}, others not`, (pods) => {
      const images = pods.map(imageOf);
      return images.includes(image) && images.some((one) => one !== image);
    });
  }

  /** Milliseconds from `since` (of the epoch) until a pod of this image was seen. */
  async untilFirstPodAt(image: string, since: number, timeoutMs = 15_000): Promise<number> {
    await this.untilPods(
      `a pod at ${image}`,
      (pods) => pods.some((pod) => imageOf(pod) === image),
      timeoutMs,
    );
    return Date.now() - since;
  }

  /** A rollout that can go no further: exactly these pods (by ordinal) hold this image, and no other write is to come. */
  async untilHeldAt(image: string, ordinals: readonly number[]): Promise<void> {
    const names = ordinals.map((ordinal) => `${this.#description.name}-${String(ordinal)}`).sort();
    await this.untilPods(
      `${names.join(', ')} at ${image}`,
      (pods) =>
        pods
          .filter((pod) => imageOf(pod) === image)
          .map(nameOf)
          .sort()
          .join() === names.join(),
    );
    const { updated } = DESCRIBED_KINDS[this.kind];
    await this.untilSet('waiting for pods that do not get ready', (set) => {
      const why = conditionOf(set, 'Ready')?.reason ?? '';
      return updated(set) === ordinals.length && STUCK.has(why);
    });
  }

  async deletePod(name: string): Promise<void> {
    await this.cluster.client.delete({
      group: '',
      version: 'v1',
      resource: 'pods',
      namespace: this.namespace,
      name,
    });
  }

  /** Resolves when a pod of this name and of another uid is Ready: evidence that the controllers have come by since. */
  async untilHealed({ metadata: { name, uid } }: Pod): Promise<void> {
    await this.untilPods(`${name} made again and ready`, (pods) =>
      pods.some((pod) => pod.metadata.name === name && pod.metadata.uid !== uid && isPodReady(pod)),
    );
  }

  async deleteSet(propagationPolicy: 'Background' | 'Orphan' = 'Background'): Promise<void> {
    await this.cluster.client.delete(this.path, { propagationPolicy });
  }

  /** Orphaned or deleted for good. */
  async untilSetGone(): Promise<void> {
    const sets = this.cluster.path(this.kind, this.namespace);
    const { client } = this.cluster;
    await untilObjects(client, sets, 'the set is gone', (all) => all.length === 0, 60_000);
  }

  /** The object, Ready at its newest generation. */
  async untilReady(timeoutMs = 60_000): Promise<ServedObjects[K]> {
    return await this.cluster.untilReadyOf(this.kind, this.namespace, this.#description.name, timeoutMs);
  }

  /** Every wanted pod at the wanted image and ready, the object Ready at its newest generation, no run open. */
  async untilDone(timeoutMs = 60_000): Promise<readonly Pod[]> {
    const { image } = this.#description;
    const set = await this.untilReady(timeoutMs);
    const wanted = await this.#wantedPods();
    const pods = await this.untilPods(
      `${String(wanted)} pods ready at ${image}`,
      (all) => all.length === wanted && all.every((pod) => imageOf(pod) === image && isPodReady(pod)),
      timeoutMs,
    );
    const through = new Map((await this.replicaSets()).map((one) => [one.metadata.uid, ownerOf(one)]));
    const owners = pods.map((pod) => through.get(ownerOf(pod) ?? '') ?? ownerOf(pod));
    expect(new Set(owners)).toEqual(new Set([set.metadata.uid]));
    await this.runs.until('none is open', (runs) => runs.every((run) => run.status !== 'RUNNING'), timeoutMs);
    return pods;
  }

  /** Statuses of all runs, oldest first; at no time two of them were open. */
  async statuses(): Promise<readonly string[]> {
    const runs = await this.runs.all();
    for (const [index, run] of runs.entries()) {
      const before: RunRecord | undefined = runs[index - 1];
      const closedAt = before === undefined ? 0 : (before.closedAt ?? Infinity);
      expect(closedAt).toBeLessThanOrEqual(run.startedAt);
    }
    return runs.map((run) => run.status);
  }

  /** Events on the workload, oldest first. */
  async events(): Promise<readonly WorkloadEvent[]> {
    const { items } = await this.cluster.client.list<EventObject>(this.#eventsPath());
    return items.filter((event) => this.#isOnSet(event)).sort(byAge);
  }

  async untilEvent(reason: string, timeoutMs = 60_000): Promise<WorkloadEvent> {
    const find = (events: readonly EventObject[]) =>
      events.find((event) => this.#isOnSet(event) && event.reason === reason);
    const what = `an event ${reason}`;
    const { client } = this.cluster;
    const events = await untilObjects<EventObject>(
      client,
      this.#eventsPath(),
      what,
      (all) => find(all) !== undefined,
      timeoutMs,
    );
    return find(events) as EventObject;
  }

  /** The workload has warnings for these reasons (sorted), and no others: a failure says what they say. */
  async expectWarnings(reasons: readonly string[]): Promise<void> {
    const told = (await this.events()).filter(({ type }) => type === 'Warning');
    const others = told.filter(({ reason }) => !reasons.includes(reason));
    expect(others.map(({ reason, message }) => `${reason}: ${message}`)).toEqual([]);
    expect([...new Set(told.map(({ reason }) => reason))].sort()).toEqual(reasons);
  }

  /** The outside checker's verdict: fails on any violation of budget, order, ownership, and on anything deleted twice. */
  async judge(): Promise<BudgetReport> {
    const report = await this.#stage.verdict(this.namespace);
    expect(report.violations.map(({ rule, message }) => `${rule}: ${message}`)).toEqual([]);
    return report;
  }

  async isGone(): Promise<boolean> {
    try {
      await this.set();
      return false;
    } catch (error) {
      if (isNotFound(error)) {
        return true;
      }
      throw error;
    }
  }

  async #wantedPods(): Promise<number> {
    const { items } = await this.cluster.client.list<Node>({ group: '', version: 'v1', resource: 'nodes' });
    return DESCRIBED_KINDS[this.kind].wantedPods(this.#description, items);
  }

  #isOnSet({ involvedObject }: EventObject): boolean {
    return involvedObject.kind === this.kind;
  }

  #podsPath(): ResourcePath {
    return { group: '', version: 'v1', resource: 'pods', namespace: this.namespace };
  }

  #eventsPath(): ResourcePath {
    return { group: '', version: 'v1', resource: 'events', namespace: this.namespace };
  }
}

function ownerOf({ metadata }: KubernetesObject): string | undefined {
  return metadata.ownerReferences?.find(({ controller }) => controller === true)?.uid;
}

export function imageOf(pod: Pod): string | undefined {
  return pod.spec.containers[0]?.image;
}

export function nameOf(pod: Pod): string {
  return pod.metadata.name;
}

export function uidOf(pod: Pod): string {
  return pod.metadata.uid;
}

export function isPodReady(pod: Pod): boolean {
  const ready = pod.status?.conditions?.find((condition) => condition.type === 'Ready');
  return ready?.status === 'True' && pod.metadata.deletionTimestamp === undefined;
}

export function conditionOf(
  { status }: ServedObjects[DescribedKindName],
  type: string,
): Condition | undefined {
  return status?.conditions?.find((condition) => condition.type === type);
}

function byAge(a: EventObject, b: EventObject): number {
  return Number(BigInt(a.metadata.resourceVersion) - BigInt(b.metadata.resourceVersion));
}
