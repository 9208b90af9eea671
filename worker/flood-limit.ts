/** How much anybody may ask of an open port: a bucket of tokens for each address, and so many addresses that are remembered. */

export interface FloodLimitOptions {
  /** Tokens of a full bucket: what may come at once. */
  readonly burst: number;
  /** Tokens that come back each second. */
  readonly perSecond: number;
  /** Addresses that are remembered; beyond them newcomers share one bucket until another one is full again. */
  readonly addresses: number;
  /** Milliseconds, of a clock that only goes forward. */
  readonly now: () => number;
}

interface Bucket {
  tokens: number;
  at: number;
}

/** How many of those that were quiet for longest are looked at for room: a flood of addresses must not cost more. */
const LOOKED_AT = 16;

export class FloodLimit {
  readonly #options: FloodLimitOptions;
  /** In the order in which they were last used. */
  readonly #buckets = new Map<string, Bucket>();
  /** Of all who come while there is no room to remember them. */
  readonly #shared: Bucket;

  constructor(options: FloodLimitOptions) {
    this.#options = options;
    this.#shared = { tokens: options.burst, at: options.now() };
  }

  /** Takes tokens of an address, also more than it has left: it owes them then. False: there is none left, and it has to wait. */
  take(address: string, tokens = 1): boolean {
    const left = this.#change(address, 0);
    if (left < 1) return false;
    this.#change(address, -tokens);
    return true;
  }

  /** For what was taken and not used. */
  giveBack(address: string, tokens: number): void {
    this.#change(address, tokens);
  }

  /** Takes tokens for what is done already, whether there are any left or not. */
  charge(address: string, tokens: number): void {
    this.#change(address, -tokens);
  }

  /** Adds tokens, and answers how many there are then. */
  #change(address: string, tokens: number): number {
    const at = this.#options.now();
    const bucket = this.#bucketOf(address, at);
    bucket.tokens = this.#refilled(bucket, at) + tokens;
    bucket.at = at;
    return bucket.tokens;
  }

  #bucketOf(address: string, at: number): Bucket {
    const known = this.#buckets.get(address);
    // It is the last that was used now.
    this.#buckets.delete(address);
    if (known === undefined && !this.#hasRoom(at)) return this.#shared;
    const bucket = known ?? { tokens: this.#options.burst, at };
    this.#buckets.set(address, bucket);
    return bucket;
  }

  /** One that is full again is forgotten without loss; any other would be filled by it, at the wish of whoever has many addresses. */
  #hasRoom(at: number): boolean {
    const { burst, addresses } = this.#options;
    if (this.#buckets.size < addresses) return true;
    let looked = 0;
    for (const [address, bucket] of this.#buckets) {
      if (looked >= LOOKED_AT) return false;
      looked += 1;
      if (this.#refilled(bucket, at) < burst) continue;
      this.#buckets.delete(address);
      return true;
    }
    return false;
  }

  #refilled({ tokens, at: before }: Bucket, at: number): number {
    const { burst, perSecond } = this.#options;
    return Math.min(burst, tokens + ((at - before) / 1_000) * perSecond);
  }
}
