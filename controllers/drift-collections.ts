/** The watches behind drift: one of metadata for each kind and namespace that a repository has objects of, and no other. */

import { APPLYSET } from '../git/inventory.ts';
import type { PreparedObject } from '../git/prepare.ts';
import { isNotFound, toMessage } from '../kubernetes/api-error.ts';
import type { KubernetesClient } from '../kubernetes/client.ts';
import type { WatchedMetadata } from '../kubernetes/metadata-watch.ts';
import { MetadataWatch } from '../kubernetes/metadata-watch.ts';
import { objectKey } from '../kubernetes/object-index.ts';
import { FIELD_MANAGER } from '../planners/names.ts';

/** In more namespaces a kind is watched in all of them at once. */
const NAMESPACE_LIMIT = 10;

export interface DriftCollectionsOptions {
  /** As whom the repository is applied. */
  readonly client: KubernetesClient;
  readonly applySetId: string;
  /** Something of the kind may have changed, beside its status. */
  readonly onChange: (group: string, kind: string, object: WatchedMetadata) => void;
  /** A collection was listed, cannot be listed or watched, or can be again. */
  readonly onProgress: () => void;
  /** A collection is not served where it was: its definition is gone, or has been made anew elsewhere. */
  readonly onGone: () => void;
}

interface Collection {
  readonly watch: MetadataWatch;
  readonly stop: AbortController;
  /** Why the last try failed. Undefined: it is watched, or was never tried. */
  trouble: string | undefined;
  /** It was listed, and is not served there any more. */
  isGone: boolean;
}

export class DriftCollections {
  readonly #options: DriftCollectionsOptions;
  readonly #collections = new Map<string, Collection>();
  /** Key of the collection of a kind and namespace. */
  #places = new Map<string, string>();

  constructor(options: DriftCollectionsOptions) {
    this.#options = options;
  }

  /** Watches what these objects are in, and nothing else from now on. */
  follow(objects: readonly PreparedObject[]): void {
    const namespaces = new Map<string, Set<string | undefined>>();
    for (const object of objects) {
      const kind = kindOf(object);
      namespaces.set(kind, (namespaces.get(kind) ?? new Set()).add(object.path.namespace));
    }
    const places = new Map<string, string>();
    const wanted = new Map<string, PreparedObject>();
    for (const object of objects) {
      const kind = kindOf(object);
      const isWide = (namespaces.get(kind)?.size ?? 0) > NAMESPACE_LIMIT;
      const namespace = isWide ? undefined : object.path.namespace;
      const key = `${kind} ${object.path.version} ${namespace ?? ''}`;
      places.set(placeOf(object), key);
      if (!wanted.has(key)) wanted.set(key, withNamespace(object, namespace));
    }
    this.#places = places;
    for (const [key, { stop }] of this.#collections) {
      if (wanted.has(key)) continue;
      stop.abort();
      this.#collections.delete(key);
    }
    for (const [key, object] of wanted) if (!this.#collections.has(key)) this.#begin(key, object);
  }

  /** What is known of an object; `absent`: it is not there, or not labelled as ours; undefined: that cannot be told (yet, or any more). */
  find(object: PreparedObject): WatchedMetadata | 'absent' | undefined {
    const collection = this.#collections.get(this.#places.get(placeOf(object)) ?? '');
    if (collection === undefined || !isKnown(collection)) return undefined;
    return collection.watch.get(objectKey(object.path.namespace, object.manifest.name)) ?? 'absent';
  }

  /** What cannot be watched, and why. */
  get unwatched(): readonly string[] {
    return [...this.#collections.values()].flatMap((collection) =>
      isKnown(collection) || collection.trouble === undefined ? [] : [collection.trouble],
    );
  }

  stop(): void {
    for (const { stop } of this.#collections.values()) stop.abort();
    this.#collections.clear();
  }

  #begin(key: string, { manifest: { group, kind }, path }: PreparedObject): void {
    const { client, applySetId, onChange, onProgress, onGone } = this.#options;
    const { name: _, ...collectionPath } = path;
    const collection: Collection = {
      stop: new AbortController(),
      trouble: undefined,
      isGone: false,
      watch: new MetadataWatch({
        client,
        path: collectionPath,
        labelSelector: `${APPLYSET.partOf}=${applySetId}`,
        manager: FIELD_MANAGER,
        onChange: (object) => onChange(group, kind, object),
        onError: (error) => {
          const trouble = `${kind}: ${toMessage(error)}`;
          // Each time: where it is served now may not be told yet.
          if (isNotFound(error)) onGone();
          collection.isGone = isNotFound(error) && collection.watch.isSynced;
          if (collection.trouble === trouble) return;
          collection.trouble = trouble;
          onProgress();
        },
        onWorking: () => {
          collection.isGone = false;
          if (collection.trouble === undefined) return;
          collection.trouble = undefined;
          onProgress();
        },
      }),
    };
    this.#collections.set(key, collection);
    void collection.watch.listed().then(onProgress);
    void collection.watch.run(collection.stop.signal);
  }
}

/** Whether what is held of it can be relied on: of a definition that was deleted, nothing; of a version or an API that is only served no more, what it last was. */
function isKnown({ watch, isGone }: Collection): boolean {
  return watch.isCurrent || (isGone && watch.isEmpty);
}

function kindOf({ path: { group, resource } }: PreparedObject): string {
  return `${resource}.${group}`;
}

function placeOf(object: PreparedObject): string {
  return `${kindOf(object)} ${object.path.namespace ?? ''}`;
}

function withNamespace(object: PreparedObject, namespace: string | undefined): PreparedObject {
  return { ...object, path: { ...object.path, namespace } };
}
