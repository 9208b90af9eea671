/** Where a repository is and what reading it may cost. */

export interface MirrorOptions {
  /** https URL or local path. */
  readonly url: string;
  /** Branch, tag or full sha. @default the remote's HEAD */
  readonly ref?: string | undefined;
  /** File that holds a token for https. */
  readonly tokenFile?: string | undefined;
  /** Certificate authorities (PEM) for https. */
  readonly caFile?: string | undefined;
  /** Where bare mirrors are kept; may be deleted at any time. */
  readonly cacheDirectory: string;
  /** Milliseconds of a fetch. @default 120_000 */
  readonly fetchTimeoutMs?: number;
  /** Milliseconds of a look at the remote's refs. @default 20_000 */
  readonly lookTimeoutMs?: number;
  /** Bytes that a mirror may have on disk. @default 1 GiB */
  readonly maxBytes?: number;
}
