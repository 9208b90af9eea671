/** So many places for anybody who comes to an open port: one address alone can never have the others kept out. */

export class FairPlaces {
  readonly #most: number;
  /** Each address with what ends its holders, those who came first at the front. */
  readonly #held = new Map<string, Set<() => void>>();
  #count = 0;

  constructor(most: number) {
    this.#most = most;
  }

  /**
   * A place for a newcomer, always; the answer gives it back. When all are taken, the address that has most gives up the one that it has
   * had for longest, and its `giveWay` is called: whoever is honest is soon done, so it is hardly ever he who has to go.
   */
  take(address: string, giveWay: () => void): () => void {
    // Its own function for each place: two holders may have one and the same.
    const holder = (): void => giveWay();
    const own = this.#held.get(address) ?? new Set();
    this.#held.set(address, own.add(holder));
    this.#count += 1;
    if (this.#count > this.#most) this.#makeRoom();
    return () => this.#release(address, holder);
  }

  #makeRoom(): void {
    const [first] = this.#held;
    if (first === undefined) return;
    // Of those who have equally many, the address that has been here for longest.
    let [address, most] = first;
    for (const [other, holders] of this.#held)
      if (holders.size > most.size) [address, most] = [other, holders];
    const [oldest] = most;
    if (oldest === undefined) return;
    this.#release(address, oldest);
    oldest();
  }

  #release(address: string, holder: () => void): void {
    const holders = this.#held.get(address);
    if (holders?.delete(holder) !== true) return;
    this.#count -= 1;
    if (holders.size === 0) this.#held.delete(address);
  }
}
