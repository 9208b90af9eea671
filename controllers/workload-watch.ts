/** From watch events to the workloads that they concern (C11). */

import type { Change } from '../kubernetes/object-store.ts';
import type { WatchCache } from '../kubernetes/watch-cache.ts';
import { trusted } from '../kubernetes/values.ts';
import type { WorkloadApi } from '../kubernetes/workload-api.ts';
import { WORKLOAD_RESOURCES, groupVersion } from '../kubernetes/workload-api.ts';
import { workloadKey } from '../kubernetes/workload-key.ts';
import { WORKLOAD_KINDS } from '../kubernetes/workload-kinds.ts';
import { isReady } from '../planners/availability.ts';
import { canonicalJson } from '../planners/canonical-json.ts';
import type { KubernetesObject, Node, OwnerReference, Pod } from '../planners/objects.ts';
import { ANNOTATION, LABEL } from '../planners/names.ts';
import { readDrainMark } from '../planners/node-drain.ts';
import { matchesSelector } from '../planners/selector.ts';
import type { LabelSelector } from '../planners/objects.ts';
import type { WorkloadKind } from '../planners/workload.ts';

const KINDS = trusted<readonly WorkloadKind[]>(Object.keys(WORKLOAD_RESOURCES));

export class WorkloadWatch {
  readonly #cache: WatchCache;
  readonly #group: string;
  readonly #enqueue: (key: string) => void;
  #unsubscribe: (() => void) | undefined;

  constructor(cache: WatchCache, api: WorkloadApi, enqueue: (key: string) => void) {
    this.#cache = cache;
    this.#group = groupVersion(api).group;
    this.#enqueue = enqueue;
  }

  /** Enqueues every workload once, then those that an event concerns. */
  start(): void {
    this.#unsubscribe = this.#cache.onChange((change) => this.#changed(change));
    this.enqueueAll();
  }

  /** Something has changed that concerns every workload. */
  enqueueAll(): void {
    for (const kind of KINDS) this.#enqueueKind(kind);
    // Also for those that are gone, whose nodes are to be let go.
    for (const node of this.#cache.list<Node>('nodes')) this.#enqueueDrain(node);
  }

  #enqueueKind(kind: WorkloadKind): void {
    for (const object of this.#cache.list(WORKLOAD_RESOURCES[kind])) {
      this.#enqueue(workloadKey(kind, object.metadata.namespace ?? '', object.metadata.name));
    }
  }

  stop(): void {
    this.#unsubscribe?.();
  }

  #changed(change: Change): void {
    const workload = KINDS.find((kind) => WORKLOAD_RESOURCES[kind] === change.resource);
    const { object, previous } = change;
    const namespace = object.metadata.namespace ?? '';
    if (workload !== undefined) {
      this.#enqueue(workloadKey(workload, namespace, object.metadata.name));
      return;
    }
    if (change.resource === 'nodes') {
      this.#nodeChanged(change);
      return;
    }
    if (change.resource === 'pods') this.#podChanged(trusted<Pod>(object), namespace);
    const owner = controllerOf(object);
    const before = previous && controllerOf(previous);
    this.#enqueueOwner(owner, namespace);
    if (before !== undefined && before.uid !== owner?.uid) {
      this.#enqueueOwner(before, namespace);
    }
    if (change.resource === 'persistentvolumeclaims') {
      this.#enqueueNamesake(object, namespace, (stem, set) => stem.endsWith(`-${set}`));
    } else if (change.type === 'deleted') {
      // What stood in the place of a pod of ours is gone; nothing else tells that.
      this.#enqueueNamesake(object, namespace, (stem, set) => stem === set);
    } else if (owner === undefined) {
      this.#enqueueMatching(object, namespace);
    }
  }

  /** A pod that leaves a node that is being drained, and one that pulls images, concern a workload that does not control it. */
  #podChanged({ metadata, spec }: Pod, namespace: string): void {
    const node = this.#cache.get('nodes', undefined, spec.nodeName ?? '');
    if (node !== undefined) this.#enqueueDrain(trusted<Node>(node));
    if (metadata.labels?.[LABEL.prePull] === undefined) return;
    for (const owner of metadata.ownerReferences ?? []) this.#enqueueOwner(owner, namespace);
  }

  /** The workload that a node is drained for. */
  #enqueueDrain(node: Node): void {
    const mark = readDrainMark(node);
    const kind = KINDS.find((one) => one === mark?.kind);
    if (mark !== undefined && kind !== undefined) this.#enqueue(workloadKey(kind, mark.namespace, mark.name));
  }

  /**
   * A node that came, went, has other labels or taints, or is let go by the workload that it was drained for concerns what is placed
   * by node (D25); whether its kubelet can be believed, the owners of its pods.
   */
  #nodeChanged({ type, object, previous }: Change): void {
    this.#enqueueDrain(trusted<Node>(object));
    if (type !== 'modified' || previous === undefined || !isSamePlace(object, previous)) {
      for (const kind of KINDS) {
        if (WORKLOAD_KINDS[kind].runsOnNodes) this.#enqueueKind(kind);
      }
    }
    if (
      type === 'modified' &&
      previous !== undefined &&
      isReady(trusted<Node>(object)) === isReady(trusted<Node>(previous))
    )
      return;
    for (const pod of this.#cache.onNode('pods', object.metadata.name)) {
      this.#enqueueOwner(controllerOf(pod), pod.metadata.namespace ?? '');
    }
  }

  /** Kind, name and uid must be those of a workload of ours (C11). */
  #enqueueOwner(owner: OwnerReference | undefined, namespace: string): void {
    if (owner?.kind === 'ReplicaSet') {
      // What stands between a workload and its pods: its own owner is meant.
      const between = this.#cache.get('replicasets', namespace, owner.name);
      if (between?.metadata.uid === owner.uid) this.#enqueueOwner(controllerOf(between), namespace);
      return;
    }
    const kind = KINDS.find((one) => one === owner?.kind);
    if (owner === undefined || kind === undefined || owner.apiVersion.split('/')[0] !== this.#group) {
      return;
    }
    const workload = this.#cache.get(WORKLOAD_RESOURCES[kind], namespace, owner.name);
    if (workload === undefined || workload.metadata.uid === owner.uid) {
      this.#enqueue(workloadKey(kind, namespace, owner.name));
    }
  }

  /** An orphan wakes every workload whose selector matches it. */
  #enqueueMatching(object: KubernetesObject, namespace: string): void {
    for (const kind of KINDS) {
      for (const workload of this.#cache.inNamespace(WORKLOAD_RESOURCES[kind], namespace)) {
        const { selector } = trusted<{ readonly spec: { readonly selector: LabelSelector } }>(workload).spec;
        if (matchesSelector(selector, object.metadata.labels ?? {})) {
          this.#enqueue(workloadKey(kind, namespace, workload.metadata.name));
        }
      }
    }
  }

  /**
   * Names tell the set where owners do not: a claim `<template>-<set>-<ordinal>` has none, or its pod; a pod
   * `<set>-<ordinal>` that is not the set's keeps its place from one that would be.
   */
  #enqueueNamesake(
    { metadata }: KubernetesObject,
    namespace: string,
    isOf: (stem: string, set: string) => boolean,
  ): void {
    const stem = metadata.name.replace(/-\d+$/, '');
    for (const set of this.#cache.inNamespace(WORKLOAD_RESOURCES.StatefulSet, namespace)) {
      if (isOf(stem, set.metadata.name)) {
        this.#enqueue(workloadKey('StatefulSet', namespace, set.metadata.name));
      }
    }
  }
}

/** Nothing that decides on which nodes pods run has changed. */
function isSamePlace(a: KubernetesObject, b: KubernetesObject): boolean {
  const of = (node: KubernetesObject) =>
    canonicalJson({
      labels: node.metadata.labels ?? {},
      taints: trusted<Node>(node).spec?.taints ?? [],
      drain: node.metadata.annotations?.[ANNOTATION.drain] ?? '',
    });
  return of(a) === of(b);
}

function controllerOf(object: KubernetesObject): OwnerReference | undefined {
  return object.metadata.ownerReferences?.find((owner) => owner.controller === true);
}
