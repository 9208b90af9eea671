/**
 * The one client for requests that decide anything: raw JSON over HTTP(S), nothing dropped, nothing added.
 * (The typed client's object patch drops fields that it does not know; see docs/decisions.)
 */

import type { JsonObject, KubernetesObject } from '../planners/objects.ts';
import { HttpTransport } from './http-transport.ts';
import type { Connection } from './kubeconfig.ts';
import { listAll } from './list-pages.ts';
import { checkedUser, exchange } from './requester.ts';
import type { RequestContext } from './requester.ts';
import { trusted } from './values.ts';
import { openWatch } from './watch-stream.ts';
import { FIELD_MANAGER } from '../planners/names.ts';

/** Where an object lives. `group` is `''` for core. `namespace` absent = cluster scoped or all namespaces. */
export interface ResourcePath {
  readonly group: string;
  readonly version: string;
  /** Plural, lower case: `pods`. */
  readonly resource: string;
  readonly namespace?: string | undefined;
  readonly name?: string | undefined;
  readonly subresource?: string | undefined;
}

export type PatchType = 'strategic' | 'merge' | 'json' | 'apply';

export interface RequestOptions {
  readonly query?: Readonly<Record<string, string | number | boolean | undefined>>;
  readonly signal?: AbortSignal;
  /** Whole request, milliseconds (of `list`: each page). @default 30_000 */
  readonly timeoutMs?: number;
  /** User to impersonate; an empty string is refused with an error before anything is sent. */
  readonly impersonate?: string;
  /** The server sends `metadata` alone (PartialObjectMetadata); of reads only. */
  readonly metadataOnly?: boolean;
}

export interface ListOptions<T = KubernetesObject> extends RequestOptions {
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  /** Objects a page. @default 500 */
  readonly limit?: number;
  /** Absent: a quorum read. `'0'`: whatever the apiserver's cache holds (cheap, may be stale). */
  readonly resourceVersion?: string;
  /** Applied to each object as its page arrives, so that a large list need not be held whole. */
  readonly transform?: (object: T) => T;
}

export interface ObjectList<T> {
  /** Complete: every page. `apiVersion` and `kind` are filled in from the list's own. */
  readonly items: readonly T[];
  readonly resourceVersion: string;
}

export interface WriteOptions extends RequestOptions {
  readonly dryRun?: boolean;
  /** @default {@link FIELD_MANAGER} */
  readonly fieldManager?: string;
  readonly fieldValidation?: 'Strict' | 'Warn' | 'Ignore';
}

export interface PatchOptions extends WriteOptions {
  /** Take fields from other managers (`apply` only). */
  readonly force?: boolean;
}

export interface DeleteOptions extends RequestOptions {
  /** Preconditions: another uid or resourceVersion is answered with a conflict. */
  readonly uid?: string;
  readonly resourceVersion?: string;
  readonly propagationPolicy?: 'Orphan' | 'Background' | 'Foreground';
  readonly gracePeriodSeconds?: number;
  readonly dryRun?: boolean;
}

export interface WatchOptions extends RequestOptions {
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  /** Events after this version. Absent: the server sends the present state as ADDED events first. */
  readonly resourceVersion?: string;
  readonly allowWatchBookmarks?: boolean;
  /** The server ends the watch after this long. @default 300 */
  readonly timeoutSeconds?: number;
  /** Without a byte for this long the connection counts as dead. @default (timeoutSeconds + 60) * 1000 */
  readonly idleTimeoutMs?: number;
  /** Called when the watch stands and whenever something arrives. */
  readonly onContact?: () => void;
}

/** A server's ERROR event is thrown as ApiError instead. */
export interface WatchEvent<T> {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK';
  /** Of a BOOKMARK: only `metadata.resourceVersion` means something. */
  readonly object: T;
}

/** The request behind every other method. */
export interface RawRequest extends RequestOptions {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** A resource, or a literal path such as `/version`. */
  readonly path: ResourcePath | string;
  readonly body?: unknown;
  /** @default 'application/json' */
  readonly contentType?: string;
}

/** What the metrics learn of each request. `status` is 0 if no answer came. */
export interface RequestRecord {
  readonly method: string;
  /** Plural resource (`pods`, `pods/status`), or the literal path. */
  readonly resource: string;
  readonly status: number;
  readonly durationMs: number;
}

export interface ClientOptions {
  /**
   * Runs synchronously right before each mutating request is put on the wire (after the connection stands); throws when
   * this process may not write. Dry runs are exempt: they change nothing.
   */
  readonly beforeWrite?: () => void;
  /** No request waits longer, whatever it asks for itself; milliseconds. @default as each asks */
  readonly longestRequestMs?: number | undefined;
  readonly onRequest?: (record: RequestRecord) => void;
  /** The apiserver's `Warning` headers. */
  readonly onWarning?: (message: string, request: { readonly method: string; readonly path: string }) => void;
}

const CONTENT_TYPES: Readonly<Record<PatchType, string>> = {
  strategic: 'application/strategic-merge-patch+json',
  merge: 'application/merge-patch+json',
  json: 'application/json-patch+json',
  apply: 'application/apply-patch+yaml',
};

/**
 * A client of one apiserver. Every method rejects with `ApiError` (`api-error.ts`), with the guard's own error, or with
 * the reason of the given signal. Nothing is retried, except a read on a kept connection that the server had closed.
 */
export class KubernetesClient {
  readonly #context: RequestContext;

  /** @param connection Of `loadConnection`; the context of another client shares its connections. */
  constructor(connection: Connection | RequestContext, options: ClientOptions = {}) {
    this.#context =
      'transport' in connection
        ? connection
        : {
            transport: new HttpTransport(connection),
            guards: options.beforeWrite === undefined ? [] : [options.beforeWrite],
            impersonate: undefined,
            longestRequestMs: options.longestRequestMs ?? Infinity,
            onRequest: options.onRequest,
            onWarning: options.onWarning,
          };
  }

  get connection(): Connection {
    return this.#context.transport.connection;
  }

  get<T = KubernetesObject>(path: ResourcePath, options: RequestOptions = {}): Promise<T> {
    return this.request<T>({ ...options, method: 'GET', path });
  }

  /** All pages. A quorum read unless `resourceVersion` says otherwise. */
  list<T = KubernetesObject>(path: ResourcePath, options: ListOptions<T> = {}): Promise<ObjectList<T>> {
    const { signal, timeoutMs, impersonate, metadataOnly } = options;
    const common = defined({ signal, timeoutMs, impersonate, metadataOnly });
    return listAll<T>((query) => this.request({ ...common, method: 'GET', path, query }), options);
  }

  /** `path` is the collection's: without a name. */
  create<T = KubernetesObject>(path: ResourcePath, body: unknown, options: WriteOptions = {}): Promise<T> {
    return this.request<T>({ ...options, method: 'POST', path, body, query: writeQuery(options) });
  }

  /** A PUT: `body.metadata.resourceVersion` is the precondition. */
  replace<T = KubernetesObject>(path: ResourcePath, body: unknown, options: WriteOptions = {}): Promise<T> {
    return this.request<T>({ ...options, method: 'PUT', path, body, query: writeQuery(options) });
  }

  /** Preconditions go into the patch itself: `metadata.uid` and `metadata.resourceVersion`. */
  patch<T = KubernetesObject>(
    path: ResourcePath,
    type: PatchType,
    body: unknown,
    options: PatchOptions = {},
  ): Promise<T> {
    const query = { ...writeQuery(options), ...(type === 'apply' ? { force: options.force } : {}) };
    return this.request<T>({
      ...options,
      method: 'PATCH',
      path,
      body,
      query,
      contentType: CONTENT_TYPES[type],
    });
  }

  /** The last state of the object (finalizers, grace) or a Status. */
  delete(path: ResourcePath, options: DeleteOptions = {}): Promise<JsonObject> {
    const { uid, resourceVersion, propagationPolicy, gracePeriodSeconds, dryRun, ...rest } = options;
    const preconditions = defined({ uid, resourceVersion });
    const body = {
      apiVersion: 'v1',
      kind: 'DeleteOptions',
      ...(Object.keys(preconditions).length > 0 ? { preconditions } : {}),
      ...defined({ propagationPolicy, gracePeriodSeconds }),
      ...(dryRun === true ? { dryRun: ['All'] } : {}),
    };
    return exchange(this.#context, { ...rest, method: 'DELETE', path, body, harmless: dryRun === true });
  }

  /**
   * Events until the server ends the watch, or `signal` aborts (both end the iteration quietly).
   * @throws {ApiError} on everything else: cut, silent, 410, a line that is no event
   */
  watch<T = KubernetesObject>(path: ResourcePath, options: WatchOptions = {}): AsyncIterable<WatchEvent<T>> {
    return openWatch<T>(this.#context, path, options);
  }

  /** Any request: JSON answers are parsed, others given as text. */
  request<T = JsonObject>(request: RawRequest): Promise<T> {
    return exchange<T>(this.#context, request);
  }

  /** The same connections, with one more guard that runs after the present ones. */
  withWriteGuard(guard: () => void): KubernetesClient {
    return this.#derive({ guards: [...this.#context.guards, guard] });
  }

  /**
   * The same connections, as another user (`Impersonate-User`).
   * @throws {Error} when the user is empty
   */
  impersonating(user: string): KubernetesClient {
    return this.#derive({ impersonate: checkedUser(user) });
  }

  /** The same over connections of its own: no other request is ever in front of its own. Close it by itself. */
  apart(): KubernetesClient {
    return this.#derive({ transport: new HttpTransport(this.connection) });
  }

  #derive(change: Partial<RequestContext>): KubernetesClient {
    return new KubernetesClient({ ...this.#context, ...change });
  }

  /** Closes all connections, those in use as well; also those of derived clients. */
  close(): void {
    this.#context.transport.close();
  }
}

function writeQuery(options: WriteOptions): NonNullable<RequestOptions['query']> {
  return {
    fieldManager: options.fieldManager ?? FIELD_MANAGER,
    fieldValidation: options.fieldValidation,
    dryRun: options.dryRun === true ? 'All' : undefined,
    ...options.query,
  };
}

/** Without the keys whose value is undefined. */
function defined<T extends object>(value: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return trusted(Object.fromEntries(Object.entries(value).filter(([, entry]) => entry !== undefined)));
}
