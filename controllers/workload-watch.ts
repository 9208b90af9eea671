/** From watch events to the workloads that they concern (C11). */

import type { Change } from '../kubernetes/object-store.ts';
import type { WatchCache } from '../kubernetes/watch-cache.ts';
import { trusted } from '../kubernetes/values.ts';
import type { WorkloadApi } from '../kubernetes/workload-api.ts';
import { WORKLOAD_RESOURCES, groupVersion } from '../kubernetes/workload-api.ts';
import { workloadKey } from '../kubernetes/workload-key.ts';
import type { KubernetesObject, OwnerReference } from '../planners/objects.ts';
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
    for (const kind of KINDS) {
      for (const object of this.#cache.list(WORKLOAD_RESOURCES[kind])) {
        this.#enqueue(workloadKey(kind, object.metadata.namespace ?? '', object.metadata.name));
      }
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
    const owner = controllerOf(object);
    const before = previous && controllerOf(previous);
    this.#enqueueOwner(owner, namespace);
    if (before !== undefined && before.uid !== owner?.uid) {
      this.#enqueueOwner(before, namespace);
    }
    if (owner === undefined && change.resource === 'persistentvolumeclaims') {
      this.#enqueueClaimOwner(object, namespace);
    } else if (owner === undefined && change.type !== 'deleted') {
      this.#enqueueMatching(object, namespace);
    }
  }

  /** Kind, name and uid must be those of a workload of ours (C11). */
  #enqueueOwner(owner: OwnerReference | undefined, namespace: string): void {
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

  /** A claim `<template>-<set>-<ordinal>` has no owner while it is retained; its name tells the set. */
  #enqueueClaimOwner(claim: KubernetesObject, namespace: string): void {
    const stem = claim.metadata.name.replace(/-\d+$/, '');
    for (const set of this.#cache.inNamespace(WORKLOAD_RESOURCES.StatefulSet, namespace)) {
      if (stem.endsWith(`-${set.metadata.name}`)) {
        this.#enqueue(workloadKey('StatefulSet', namespace, set.metadata.name));
      }
    }
  }
}

function controllerOf(object: KubernetesObject): OwnerReference | undefined {
  return object.metadata.ownerReferences?.find((owner) => owner.controller === true);
}
