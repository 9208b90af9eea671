/** Watches the metadata of the objects of one kind that carry a label: what they hold is never sent, Secrets included. */

import type { KubernetesObject } from '../planners/objects.ts';
import type { KubernetesClient, ResourcePath } from './client.ts';
import { appliedFields, fieldsDigest } from './managed-fields.ts';
import { ObjectStore } from './object-store.ts';
import { trusted } from './values.ts';
import type { WatchTiming } from './watch-source.ts';
import { WATCH_TIMING, WatchSource } from './watch-source.ts';

/** What is kept of an object: some hundred bytes, and the fields that `manager` applied. */
export interface WatchedMetadata extends KubernetesObject {
  /** What the manager owns, JSON as the apiserver writes it: a text is smaller than what is in it. Undefined: nothing. */
  readonly owned: string | undefined;
  /** Another one where anything but the status has changed. */
  readonly digest: string;
}

export interface MetadataWatchOptions {
  readonly client: KubernetesClient;
  /** Of the collection. */
  readonly path: ResourcePath;
  readonly labelSelector: string;
  /** Whose fields are kept. */
  readonly manager: string;
  /** An object has appeared, changed or gone. */
  readonly onChange: (object: WatchedMetadata) => void;
  /** Each try that failed: it is made again. */
  readonly onError: (error: unknown) => void;
  /** A watch has stood for a second. */
  readonly onWorking: () => void;
  readonly timing?: Partial<WatchTiming>;
}

/** One watch; {@link run} keeps it up. */
export class MetadataWatch {
  readonly #store: ObjectStore;
  readonly #source: WatchSource;

  constructor(options: MetadataWatchOptions) {
    const { client, path, labelSelector, manager, onChange, onError, onWorking, timing } = options;
    const id = `${path.resource}.${path.group}`;
    this.#store = new ObjectStore(id, ({ object }) => onChange(trusted<WatchedMetadata>(object)), Date.now);
    this.#source = new WatchSource({
      client,
      resource: id,
      path,
      only: { labelSelector, metadataOnly: true },
      store: this.#store,
      transform: (object) => reduce(object, manager),
      timing: { ...WATCH_TIMING, ...timing },
      now: Date.now,
      onError,
      onProgress: () => undefined,
      onWorking,
    });
  }

  /** Whether everything that there was has been listed once. */
  get isSynced(): boolean {
    return this.#source.health.synced;
  }

  /** Whether everything that there is has been listed, and is heard of still: what is not held does not exist, or has lost its label. */
  get isCurrent(): boolean {
    return this.#source.health.ok;
  }

  /** Whether it holds nothing: all that was listed has been deleted since. */
  get isEmpty(): boolean {
    return this.#store.index.size === 0;
  }

  /** Resolves at the next complete list. */
  async listed(): Promise<void> {
    await this.#source.nextList();
  }

  /** By `namespace/name`. */
  get(key: string): WatchedMetadata | undefined {
    return trusted<WatchedMetadata | undefined>(this.#store.index.get(key));
  }

  /** Until the signal aborts; never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    await this.#source.run(signal);
  }
}

function reduce(object: KubernetesObject, manager: string): WatchedMetadata {
  const { name, namespace, uid, resourceVersion, deletionTimestamp } = object.metadata;
  const owned = appliedFields(object, manager);
  return {
    metadata: {
      name,
      uid,
      resourceVersion,
      ...(namespace !== undefined && { namespace }),
      ...(deletionTimestamp !== undefined && { deletionTimestamp }),
    },
    owned: owned === undefined ? undefined : JSON.stringify(owned),
    digest: fieldsDigest(object),
  };
}
