/** Where a repository is, how it is reached, and what reading it may cost. */

/** Files with what a server asks for; never the values themselves. */
export interface SourceFiles {
  /** Token for https. */
  readonly tokenFile?: string | undefined;
  /** Certificate authorities (PEM) for https. */
  readonly caFile?: string | undefined;
  /** Private key for ssh, without a passphrase. */
  readonly sshKeyFile?: string | undefined;
  /** Host keys that are trusted (`known_hosts`), for ssh. */
  readonly knownHostsFile?: string | undefined;
}

/** Files with the keys whose signature a commit must have; without either of them it needs none. */
export interface Signers {
  /** SSH keys, as `gpg.ssh.allowedSignersFile` of git. */
  readonly allowedSignersFile?: string | undefined;
  /** Public GPG keys, armoured or not. */
  readonly gpgKeysFile?: string | undefined;
}

/** A repository that can be read. */
export interface SourceOptions extends SourceFiles {
  /** User whom the token is of, for https. @default x-access-token, which most servers take with any token */
  readonly username?: string | undefined;
  /** https or ssh URL, or local path. */
  readonly url: string;
  /** Branch, tag, full name (`refs/…`) or full sha. @default the remote's HEAD */
  readonly ref?: string | undefined;
}

export interface MirrorOptions extends SourceOptions {
  /** Where bare mirrors are kept; may be deleted at any time. */
  readonly cacheDirectory: string;
  /** Milliseconds of a fetch. @default 120_000 */
  readonly fetchTimeoutMs?: number;
  /** Milliseconds of a look at the remote's refs. @default 20_000 */
  readonly lookTimeoutMs?: number;
  /** Bytes that a mirror may have on disk. @default 1 GiB */
  readonly maxBytes?: number;
  /** Bytes of memory of each git process that reads what the server sends. @default 512 MiB */
  readonly memoryBytes?: number;
}
