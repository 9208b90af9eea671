/**
 * Everything that planners look at, kept up to date by watches: a few collections, indexed, each at least as new as our
 * own last write to it (`observeWrite`, `observeDelete`; see `object-store.ts` for why that is safe).
 */

import type { KubernetesObject } from '../planners/objects.ts';
import type { KubernetesClient } from './client.ts';
import { orAborted } from './deadline.ts';
import { objectKey } from './object-index.ts';
import type { ObjectIndex } from './object-index.ts';
import { IndexedLookups } from './indexed-lookups.ts';
import { ObjectStore } from './object-store.ts';
import type { Change } from './object-store.ts';
import { waitUntil } from './observed.ts';
import type { ObservedOptions } from './observed.ts';
import { compareVersions } from './resource-version.ts';
import { templateEntries } from './template-writer.ts';
import { asRecord, trusted } from './values.ts';
import { WATCH_TIMING, WatchSource } from './watch-source.ts';
import type { SourceHealth, WatchTiming } from './watch-source.ts';

export interface CacheSource {
  readonly group: string;
  readonly version: string;
  /** Plural, lower case. */
  readonly resource: string;
  /** How lookups name it. @default `resource` */
  readonly id?: string;
  /** Only these; absent = all. Not for cluster-scoped resources. */
  readonly namespaces?: readonly string[] | undefined;
  /** What to keep of an object; of `managedFields` there is only what {@link templateEntries} leaves. Metadata must stay. */
  readonly transform?: (object: KubernetesObject) => KubernetesObject;
}

export interface WatchCacheOptions {
  readonly client: KubernetesClient;
  readonly sources: readonly CacheSource[];
  /** Errors of watches (each is tried again), of handlers and of transforms. `where` names the source. */
  readonly onError: (error: unknown, where: string) => void;
  readonly timing?: Partial<WatchTiming>;
  /** Milliseconds since the epoch. */
  readonly now?: () => number;
}

/** A write that the cache is to be as new as. */
export interface ObservedWrite {
  readonly namespace?: string | undefined;
  readonly name: string;
  readonly uid?: string | undefined;
  readonly resourceVersion: string;
}

interface Place {
  readonly namespace?: string | undefined;
  readonly name: string;
}

interface Collection {
  readonly store: ObjectStore;
  readonly sources: readonly WatchSource[];
  readonly transform: (object: KubernetesObject) => KubernetesObject;
}

export class WatchCache extends IndexedLookups {
  readonly #collections = new Map<string, Collection>();
  readonly #handlers = new Set<(change: Change) => void>();
  readonly #waiting = new Set<() => void>();
  readonly #onError: WatchCacheOptions['onError'];

  constructor(options: WatchCacheOptions) {
    super();
    const { client, now = () => Date.now() } = options;
    this.#onError = options.onError;
    for (const source of options.sources) {
      const id = source.id ?? source.resource;
      if (this.#collections.has(id))
        throw new Error(`two sources of the cache are named '${id}': give one an id`);
      const store = new ObjectStore(id, (change) => this.#emit(change), now);
      const transform = this.#safeTransform(id, source.transform);
      const { group, version, resource } = source;
      const sources = (source.namespaces ?? [undefined]).map(
        (namespace) =>
          new WatchSource({
            client,
            resource: id,
            path: { group, version, resource, namespace },
            store,
            transform,
            timing: { ...WATCH_TIMING, ...options.timing },
            now,
            onError: (error) => this.#onError(error, namespace === undefined ? id : `${id} in ${namespace}`),
            onProgress: () => this.#progress(),
            onWorking: () => this.#wakeAll(),
          }),
      );
      this.#collections.set(id, { store, sources, transform });
    }
  }

  /**
   * Starts all watches, which run until the signal aborts, and resolves when every source has listed (quorum reads).
   * What cannot be listed is reported and tried again. Rejects with the signal's reason when that comes first.
   */
  async start(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const listed = this.#sources().map((source) => source.nextList());
    for (const source of this.#sources()) {
      source.run(signal).catch((error: unknown) => this.#onError(error, source.health.resource));
    }
    await orAborted(Promise.all(listed), signal);
  }

  /** Called for each change, in order, with the cache already changed. @returns what removes the handler */
  onChange(handler: (change: Change) => void): () => void {
    this.#handlers.add(handler);
    return () => void this.#handlers.delete(handler);
  }

  /** Takes the answer to a create, patch or replace (or a GET): lookups see it from now on. Never goes backwards. */
  observeWrite(resource: string, object: KubernetesObject): void {
    const collection = this.#collection(resource);
    const source = sourceOf(collection, object.metadata.namespace);
    if (source === undefined) return; // a namespace that is not watched is not looked at either
    collection.store.applyWrite(collection.transform(object), source.position);
    this.#progress();
  }

  /**
   * Takes the answer to a delete: the object is gone from lookups, or terminating if the answer says that it stays for a
   * while (grace period, finalizers).
   */
  observeDelete(resource: string, response: object, place: Partial<Place>): void {
    const answer = asRecord(response);
    const metadata = asRecord(answer['metadata']);
    const name = place.name ?? String(metadata['name']);
    // Where the object was gone before the answer was made, the answer has no version, and is of the past.
    const isThere =
      metadata['deletionTimestamp'] !== undefined && typeof metadata['resourceVersion'] === 'string';
    if (metadata['uid'] !== undefined && isThere) {
      this.observeWrite(resource, trusted<KubernetesObject>(response));
      return;
    }
    const uid = metadata['uid'] ?? asRecord(answer['details'])['uid'];
    if (typeof uid === 'string') this.observeGone(resource, { ...place, name, uid });
  }

  /** The apiserver said that this uid does not exist (a 404, or a conflict with another uid). */
  observeGone(resource: string, gone: Place & { readonly uid: string }): void {
    this.#collection(resource).store.applyGone(gone.namespace, gone.name, gone.uid);
    this.#progress();
  }

  /**
   * Resolves when the cache is at least as new as the write: the object is stored at that version or a newer one, or
   * everything up to that version has been delivered. After `timeoutMs` (30 s) it rejects and the watch is started anew.
   */
  awaitObserved(resource: string, write: ObservedWrite, options: ObservedOptions = {}): Promise<void> {
    const collection = this.#collection(resource);
    const source = sourceOf(collection, write.namespace);
    const key = objectKey(write.namespace, write.name);
    const isObserved = (): boolean => {
      const stored = collection.store.index.get(key)?.metadata;
      const same = stored !== undefined && (write.uid === undefined || stored.uid === write.uid);
      const version = same ? stored.resourceVersion : source?.position;
      return (
        version !== undefined &&
        [version, source?.position ?? version].some(
          (known) => compareVersions(known, write.resourceVersion) >= 0,
        )
      );
    };
    const what = `${resource} ${key} at version ${write.resourceVersion}`;
    return waitUntil(this.#waiting, isObserved, what, options, () => source?.retryNow());
  }

  /**
   * Resolves when the object of this uid is gone from the cache. Call it when the apiserver has said so (404): a known uid
   * is then dropped at once. Without a uid it is whatever is stored now, and the watch has to tell.
   */
  async awaitGone(
    resource: string,
    gone: Place & { readonly uid?: string | undefined },
    options: ObservedOptions = {},
  ): Promise<void> {
    if (gone.uid !== undefined) {
      this.observeGone(resource, { ...gone, uid: gone.uid });
      return;
    }
    const { store, sources } = this.#collection(resource);
    const key = objectKey(gone.namespace, gone.name);
    const uid = store.index.get(key)?.metadata.uid;
    const isGone = (): boolean => store.index.get(key)?.metadata.uid !== uid || uid === undefined;
    await waitUntil(this.#waiting, isGone, `${resource} ${key} to be gone`, options, () => {
      for (const source of sources) source.retryNow();
    });
  }

  /** One entry a source, for metrics and /readyz. */
  health(): readonly SourceHealth[] {
    return this.#sources().map((source) => source.health);
  }

  /** Tries again at once what waits after a failure: call it when something else shows that the apiserver is back. */
  retryNow(): void {
    this.#wakeAll();
  }

  #wakeAll(): void {
    for (const source of this.#sources()) source.wake();
  }

  #sources(): readonly WatchSource[] {
    return [...this.#collections.values()].flatMap((collection) => collection.sources);
  }

  protected indexOf(resource: string): ObjectIndex {
    return this.#collection(resource).store.index;
  }

  #collection(resource: string): Collection {
    const collection = this.#collections.get(resource);
    if (collection !== undefined) return collection;
    throw new Error(`the cache holds no '${resource}', only ${[...this.#collections.keys()].join(', ')}`);
  }

  #emit(change: Change): void {
    for (const handler of this.#handlers) {
      try {
        handler(change);
      } catch (error) {
        this.#onError(error, `handler of ${change.resource}`);
      }
    }
  }

  #progress(): void {
    for (const check of this.#waiting) check();
  }

  #safeTransform(id: string, transform: CacheSource['transform']): Collection['transform'] {
    return (object) => {
      const pruned = withoutManagedFields(object);
      try {
        return transform === undefined ? pruned : transform(pruned);
      } catch (error) {
        this.#onError(error, `transform of ${id}`);
        return pruned;
      }
    };
  }
}

/** Who set which field is the apiserver's business, and half of an object's size; but for who made a template that came from git. */
function withoutManagedFields(object: KubernetesObject): KubernetesObject {
  const metadata: Record<string, unknown> = { ...object.metadata };
  const kept = templateEntries(metadata['managedFields']);
  if (kept === undefined) delete metadata['managedFields'];
  else metadata['managedFields'] = kept;
  return { ...object, metadata: trusted<KubernetesObject['metadata']>(metadata) };
}

function sourceOf(collection: Collection, namespace: string | undefined): WatchSource | undefined {
  return collection.sources.find(
    (source) => source.namespace === undefined || source.namespace === namespace,
  );
}
