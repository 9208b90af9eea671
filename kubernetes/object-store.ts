/**
 * What the cache knows of one resource, fed by lists, watch events and the answers to our own writes.
 *
 * Our own writes are put in at once (C14: a planner that runs after a write sees it, without waiting for the watch), by
 * three rules that keep the store from ever going backwards:
 * 1. An answer is taken only if its resourceVersion is newer than the stored object's.
 * 2. An answer about an object that is not stored is taken only if it is newer than the watch's position: up to that
 *    position everything has been delivered, so an older object that is absent has been deleted since.
 * 3. A uid that the apiserver called deleted never comes back: events of it that are still on their way are dropped.
 * A list is the truth for everything but answers that are newer than the list itself.
 */

import type { KubernetesObject } from '../planners/objects.ts';
import { ObjectIndex, objectKey } from './object-index.ts';
import { compareVersions } from './resource-version.ts';

export interface Change {
  readonly type: 'added' | 'modified' | 'deleted';
  /** Id of the source's resource. */
  readonly resource: string;
  /** Of `deleted`: the last known state. */
  readonly object: KubernetesObject;
  /** The state before, of `modified`. */
  readonly previous?: KubernetesObject;
}

/** Deleted uids are forgotten after this; their last events have come long before. */
const FORGET_DELETED_MS = 600_000;

export class ObjectStore {
  readonly index = new ObjectIndex();
  readonly #resource: string;
  readonly #emit: (change: Change) => void;
  readonly #now: () => number;
  /** Key → version of an answer that the watch has not confirmed yet. */
  readonly #ahead = new Map<string, string>();
  /** Deleted uid → when we learnt of it. */
  readonly #deleted = new Map<string, number>();

  constructor(resource: string, emit: (change: Change) => void, now: () => number) {
    this.#resource = resource;
    this.#emit = emit;
    this.#now = now;
  }

  /** An ADDED or MODIFIED event. */
  applyEvent(object: KubernetesObject): void {
    const { key, version, stored } = this.#find(object);
    if (this.#deleted.has(object.metadata.uid)) return;
    if (stored !== undefined && compareVersions(version, stored.metadata.resourceVersion) < 0) return;
    this.#confirm(key, version);
    this.#put(key, object);
  }

  /** A DELETED event; `object` is the last state, its version that of the deletion. */
  applyDeletion(object: KubernetesObject): void {
    const { key, version, stored } = this.#find(object);
    this.#deleted.delete(object.metadata.uid);
    if (stored === undefined) return;
    const same = stored.metadata.uid === object.metadata.uid;
    // A successor of the same name whose creation we were told of by its own answer.
    if (!same && compareVersions(stored.metadata.resourceVersion, version) > 0) return;
    this.#remove(key, same ? object : stored);
  }

  /**
   * A complete list: what it does not hold is deleted, with an event each.
   * @param namespace What was listed; undefined = everything.
   */
  replaceAll(objects: readonly KubernetesObject[], version: string, namespace: string | undefined): void {
    const listed = new Set<string>();
    for (const object of objects) {
      const key = objectKey(object.metadata.namespace, object.metadata.name);
      listed.add(key);
      if (this.#isAhead(key, version) || this.#deleted.has(object.metadata.uid)) continue;
      this.#ahead.delete(key);
      this.#put(key, object);
    }
    for (const key of this.index.keys(namespace)) {
      const stored = this.index.get(key);
      if (stored === undefined || listed.has(key) || this.#isAhead(key, version)) continue;
      this.#remove(key, stored);
    }
  }

  /**
   * The answer to one of our writes, or to a GET.
   * @param position Version up to which the watch has delivered everything.
   */
  applyWrite(object: KubernetesObject, position: string): void {
    const { key, version, stored } = this.#find(object);
    if (this.#deleted.has(object.metadata.uid)) return;
    if (compareVersions(version, stored?.metadata.resourceVersion ?? position) <= 0) return;
    if (compareVersions(version, position) > 0) this.#ahead.set(key, version);
    // Its name was free for another: the one we knew is gone, although the watch has not said so yet.
    if (stored !== undefined && stored.metadata.uid !== object.metadata.uid)
      this.#markDeleted(stored.metadata.uid);
    this.#put(key, object);
  }

  /** The apiserver said that the object with this uid is gone. */
  applyGone(namespace: string | undefined, name: string, uid: string): void {
    this.#markDeleted(uid);
    const key = objectKey(namespace, name);
    const stored = this.index.get(key);
    if (stored?.metadata.uid === uid) this.#remove(key, stored);
  }

  #find(object: KubernetesObject): { key: string; version: string; stored: KubernetesObject | undefined } {
    const key = objectKey(object.metadata.namespace, object.metadata.name);
    return { key, version: object.metadata.resourceVersion, stored: this.index.get(key) };
  }

  #isAhead(key: string, version: string): boolean {
    const ahead = this.#ahead.get(key);
    return ahead !== undefined && compareVersions(ahead, version) > 0;
  }

  #confirm(key: string, version: string): void {
    if (!this.#isAhead(key, version)) this.#ahead.delete(key);
  }

  #put(key: string, object: KubernetesObject): void {
    const previous = this.index.get(key);
    const sameObject = previous?.metadata.uid === object.metadata.uid;
    if (sameObject && previous?.metadata.resourceVersion === object.metadata.resourceVersion) return;
    this.index.set(key, object);
    const resource = this.#resource;
    if (previous !== undefined && sameObject) {
      this.#emit({ type: 'modified', resource, object, previous });
      return;
    }
    if (previous !== undefined) this.#emit({ type: 'deleted', resource, object: previous });
    this.#emit({ type: 'added', resource, object });
  }

  #remove(key: string, last: KubernetesObject): void {
    this.#ahead.delete(key);
    this.index.delete(key);
    this.#emit({ type: 'deleted', resource: this.#resource, object: last });
  }

  #markDeleted(uid: string): void {
    const limit = this.#now() - FORGET_DELETED_MS;
    for (const [old, at] of this.#deleted) {
      if (at > limit) break; // in the order of insertion
      this.#deleted.delete(old);
    }
    this.#deleted.set(uid, this.#now());
  }
}
