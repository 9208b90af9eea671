/**
 * The one client for requests that decide anything: raw JSON over HTTP(S), nothing dropped, nothing added.
 * (The typed client's object patch drops fields that it does not know; see docs/decisions.)
 */

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
  /** Whole request, milliseconds. @default 30_000 */
  readonly timeoutMs?: number;
  /** User to impersonate; an empty string is refused with an error before anything is sent. */
  readonly impersonate?: string;
}
