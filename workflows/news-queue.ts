/** What one receiver has not been told yet, in order; bounded, so that one that hangs for long does not make its repository heavy. */

import type { CommitNews } from '../git/notifications.ts';
import type { QueuedNews, UntoldNews } from './sync-messages.ts';

export interface BegunNews extends QueuedNews {
  readonly since: number;
}

/** News that wait behind the one that is being told. */
const MOST_WAITING = 10;

export class NewsQueue {
  readonly #news: QueuedNews[];
  /** News that were given up since the last one of the queue. */
  #missed: number;

  constructor({ news, missed }: UntoldNews = { news: [], missed: 0 }) {
    this.#news = [...news];
    this.#missed = missed;
  }

  get length(): number {
    return this.#news.length;
  }

  /** Nothing has to be remembered. */
  get isEmpty(): boolean {
    return this.#news.length === 0 && this.#missed === 0;
  }

  get untold(): UntoldNews {
    return { news: this.#news, missed: this.#missed };
  }

  /**
   * Behind all others. Where there are too many, one is given up: that a commit is begun, where it is known how it ended; else the
   * oldest that is not being told. The newest state is never given up.
   */
  add(news: CommitNews): void {
    const missed = this.#missed;
    this.#missed = 0;
    this.#news.push({ ...news, ...(missed > 0 && { missed }) });
    if (this.#news.length <= MOST_WAITING + 1) return;
    const isOutdated = ({ sha, outcome }: QueuedNews, index: number) =>
      index > 0 && outcome === 'Pending' && this.#news.some((other, at) => at > index && other.sha === sha);
    this.#drop(Math.max(1, this.#news.findIndex(isOutdated)));
  }

  /** The one to be told now. @param now milliseconds since the epoch */
  begin(now: number): BegunNews | undefined {
    const [first] = this.#news;
    if (first === undefined) return undefined;
    const begun = { ...first, since: first.since ?? now };
    this.#news[0] = begun;
    return begun;
  }

  /** The first one was told. */
  told(): void {
    this.#news.shift();
  }

  /** The first one could not be told: the next says so. */
  givenUp(): void {
    this.#drop(0);
  }

  #drop(index: number): void {
    const [dropped] = this.#news.splice(index, 1);
    const missed = 1 + (dropped?.missed ?? 0);
    const next = this.#news[index];
    if (next === undefined) this.#missed += missed;
    else this.#news[index] = { ...next, missed: (next.missed ?? 0) + missed };
  }
}
