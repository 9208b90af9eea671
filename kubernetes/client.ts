/**
 * The one client for requests that decide anything: raw JSON over HTTP(S), nothing dropped, nothing added.
 * (The typed client's object patch drops fields that it does not know; see docs/decisions.)
 */

import type { JsonObject, KubernetesObject } from '../planners/objects.ts';

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
}

export interface ListOptions extends RequestOptions {
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  /** Objects a page. @default 500 */
  readonly limit?: number;
  /** Absent: a quorum read. `'0'`: whatever the apiserver's cache holds (cheap, may be stale). */
  readonly resourceVersion?: string;
}

export interface ObjectList<T> {
  /** Complete: every page. `apiVersion` and `kind` are filled in from the list's own. */
  readonly items: readonly T[];
  readonly resourceVersion: string;
}

export interface WriteOptions extends RequestOptions {
  readonly dryRun?: boolean;
  /** @default 'fairlead' */
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
  readonly onRequest?: (record: RequestRecord) => void;
  /** The apiserver's `Warning` headers. */
  readonly onWarning?: (message: string, request: { readonly method: string; readonly path: string }) => void;
}

/** Every method rejects with `ApiError` (`api-error.ts`) or with the guard's or the signal's own error. */
export interface KubernetesClient {
  get<T = KubernetesObject>(path: ResourcePath, options?: RequestOptions): Promise<T>;
  list<T = KubernetesObject>(path: ResourcePath, options?: ListOptions): Promise<ObjectList<T>>;
  create<T = KubernetesObject>(path: ResourcePath, body: unknown, options?: WriteOptions): Promise<T>;
  replace<T = KubernetesObject>(path: ResourcePath, body: unknown, options?: WriteOptions): Promise<T>;
  patch<T = KubernetesObject>(
    path: ResourcePath,
    type: PatchType,
    body: unknown,
    options?: PatchOptions,
  ): Promise<T>;
  /** The last state of the object (finalizers, grace) or a Status. */
  delete(path: ResourcePath, options?: DeleteOptions): Promise<JsonObject>;
  watch<T = KubernetesObject>(path: ResourcePath, options?: WatchOptions): AsyncIterable<WatchEvent<T>>;
  request<T = JsonObject>(request: RawRequest): Promise<T>;
  /** The same connections, with one more guard that runs after the present one. */
  withWriteGuard(guard: () => void): KubernetesClient;
  /** The same connections, as another user (`Impersonate-User`); an empty one is refused. */
  impersonating(user: string): KubernetesClient;
  /** Closes idle connections and ends open watches. */
  close(): void;
}
