/** How much anybody may ask of an open port: a bucket of tokens for each address, and so many addresses that are remembered. */

export interface FloodLimitOptions {
  /** Tokens of a full bucket: what may come at once. */
  readonly burst: number;
  /** Tokens that come back each second. */
  readonly perSecond: number;
  /** Addresses that are remembered; beyond them the one that was quiet for longest is forgotten. */
  readonly addresses: number;
  /** Milliseconds, of a clock that only goes forward. */
  readonly now: () => number;
}

interface Bucket {
  tokens: number;
  at: number;
}

export class FloodLimit {
  readonly #options: FloodLimitOptions;
  /** In the order in which they were last used. */
  readonly #buckets = new Map<string, Bucket>();

  constructor(options: FloodLimitOptions) {
    this.#options = options;
  }

  /** Takes tokens of an address, at the cost of `tokens`; false: there are none left, and it has to wait. */
  take(address: string, tokens = 1): boolean {
    const { burst, perSecond, addresses, now } = this.#options;
    const at = now();
    const known = this.#buckets.get(address);
    const left =
      known === undefined ? burst : Math.min(burst, known.tokens + ((at - known.at) / 1_000) * perSecond);
    this.#buckets.delete(address);
    this.#buckets.set(address, { tokens: Math.max(0, left - tokens), at });
    if (this.#buckets.size > addresses) {
      const [oldest] = this.#buckets.keys();
      if (oldest !== undefined) this.#buckets.delete(oldest);
    }
    return left >= 1;
  }
}
