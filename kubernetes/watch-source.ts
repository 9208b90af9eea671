/**
 * Keeps one collection in a store: lists by quorum read, then watches from there, for ever. Follows the rules that a
 * client must follow on its own: bookmarks, a random end of each watch, silence is death, 410 lists again, and a back-off
 * that an event resets.
 */

import type { KubernetesObject } from '../planners/objects.ts';
import { isGone, toMessage } from './api-error.ts';
import { backoffMs, pause } from './backoff.ts';
import type { KubernetesClient, ResourcePath, WatchEvent, WatchOptions } from './client.ts';
import type { ObjectStore } from './object-store.ts';
import { BEFORE_ALL, compareVersions } from './resource-version.ts';
import { transportError } from './response-errors.ts';

export interface WatchTiming {
  /** A watch ends by itself after a random time between these. */
  readonly minWatchSeconds: number;
  readonly maxWatchSeconds: number;
  /** Silence for this long after a watch should have ended counts as a dead connection. */
  readonly idleMs: number;
  readonly firstBackoffMs: number;
  readonly lastBackoffMs: number;
}

export const WATCH_TIMING: WatchTiming = {
  minWatchSeconds: 240,
  maxWatchSeconds: 300,
  idleMs: 60_000,
  firstBackoffMs: 500,
  lastBackoffMs: 30_000,
};

/** A watch that lived this long and brought something was a good one: when it ends, the next one starts at once. */
const LIVED_MS = 1000;
/** A watch that lived this long was a good one, whatever it brought. */
const LIVED_LONG_MS = 10_000;
/** After so many failures in a row the position itself may be what the server refuses. */
const RELIST_AFTER = 5;

/** Without a sign of life for this long a source is reported as not ok. */
const SILENT_MS = 180_000;
const DISCONNECTED_MS = 60_000;

export interface SourceHealth {
  readonly resource: string;
  readonly namespace: string | undefined;
  /** Has listed at least once. */
  readonly synced: boolean;
  /** What it holds can be relied on: has listed, and the apiserver was heard of lately (bookmarks come each minute). */
  readonly ok: boolean;
  /** A watch stands now. */
  readonly connected: boolean;
  /** Milliseconds since the epoch of the last byte from the apiserver; 0 = never. */
  readonly lastContact: number;
  readonly resourceVersion: string;
  /** Tries in a row that failed. */
  readonly failures: number;
  readonly lastError: string | undefined;
}

export interface WatchSourceOptions {
  readonly client: KubernetesClient;
  readonly resource: string;
  readonly path: ResourcePath;
  /** Of lists and watches. @default everything, whole */
  readonly only?: Pick<WatchOptions, 'labelSelector' | 'metadataOnly'>;
  readonly store: ObjectStore;
  readonly transform: (object: KubernetesObject) => KubernetesObject;
  readonly timing: WatchTiming;
  readonly now: () => number;
  readonly onError: (error: unknown) => void;
  /** The position moved. */
  readonly onProgress: () => void;
  /** A watch has stood for a second: other sources that wait after a failure may try at once, too. */
  readonly onWorking: () => void;
}

export class WatchSource {
  /** Everything up to this version has been delivered. */
  position = BEFORE_ALL;
  readonly #options: WatchSourceOptions;
  #connected = false;
  #lastContact = 0;
  #failures = 0;
  #synced = false;
  #listed = makeSignalled();
  #mustList = true;
  #lastError: string | undefined;
  #interrupt = new AbortController();

  constructor(options: WatchSourceOptions) {
    this.#options = options;
  }

  get namespace(): string | undefined {
    return this.#options.path.namespace;
  }

  get health(): SourceHealth {
    const silentMs = this.#options.now() - this.#lastContact;
    return {
      resource: this.#options.resource,
      namespace: this.namespace,
      synced: this.#synced,
      ok: this.#synced && silentMs < (this.#connected ? SILENT_MS : DISCONNECTED_MS),
      connected: this.#connected,
      lastContact: this.#lastContact,
      resourceVersion: this.position,
      failures: this.#failures,
      lastError: this.#lastError,
    };
  }

  /** Resolves at the next complete list. */
  nextList(): Promise<void> {
    return this.#listed.promise;
  }

  /** Ends the present watch, list or wait, and tries again at once. */
  retryNow(): void {
    this.#interrupt.abort();
  }

  /** As {@link retryNow}, but only if it is waiting after a failure. */
  wake(): void {
    if (this.#failures > 0 && !this.#connected) this.retryNow();
  }

  /** Runs until the signal aborts; never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      this.#interrupt = new AbortController();
      const interrupt = this.#interrupt;
      const stop = (): void => interrupt.abort();
      signal.addEventListener('abort', stop, { once: true });
      try {
        await this.#turn(interrupt.signal);
      } finally {
        signal.removeEventListener('abort', stop);
      }
    }
  }

  /** One list if needed, one watch, one wait. */
  async #turn(signal: AbortSignal): Promise<void> {
    const { timing, onError } = this.#options;
    const watch = { events: 0, livedMs: 0 };
    let gone = false;
    try {
      if (this.#mustList) await this.#list(signal);
      await this.#watch(signal, watch);
      if (signal.aborted) return;
      if (watch.livedMs < LIVED_LONG_MS && watch.events === 0)
        this.#failed('the apiserver ended the watch at once');
    } catch (error) {
      if (signal.aborted) return;
      gone = isGone(error);
      this.#failed(toMessage(error));
      if (gone || this.#failures % RELIST_AFTER === 0) this.#mustList = true;
      if (!gone || this.#failures > 1) onError(error);
    }
    const good = watch.livedMs >= (watch.events > 0 ? LIVED_MS : LIVED_LONG_MS);
    if (good || (gone && this.#failures === 1)) return;
    await pause(backoffMs(this.#failures, timing.firstBackoffMs, timing.lastBackoffMs), signal);
  }

  async #list(signal: AbortSignal): Promise<void> {
    const { client, path, store, transform, now, onProgress } = this.#options;
    const list = await client.list(path, { ...this.#options.only, signal, transform });
    signal.throwIfAborted();
    this.#lastContact = now();
    store.replaceAll(list.items, list.resourceVersion, path.namespace);
    this.position = list.resourceVersion;
    this.#mustList = false;
    this.#synced = true;
    this.#listed.signal();
    this.#listed = makeSignalled();
    onProgress();
  }

  /** One watch, to its end. */
  async #watch(signal: AbortSignal, counts: { events: number; livedMs: number }): Promise<void> {
    const { client, path, timing, now, onWorking } = this.#options;
    const { minWatchSeconds, maxWatchSeconds } = timing;
    const timeoutSeconds = Math.round(minWatchSeconds + Math.random() * (maxWatchSeconds - minWatchSeconds));
    const watch = client.watch(path, {
      ...this.#options.only,
      signal,
      resourceVersion: this.position,
      allowWatchBookmarks: true,
      timeoutSeconds,
      idleTimeoutMs: timeoutSeconds * 1000 + timing.idleMs,
      onContact: () => {
        this.#lastContact = now();
        this.#connected = true;
      },
    });
    const started = performance.now();
    const working = setTimeout(() => this.#connected && onWorking(), LIVED_MS);
    try {
      for await (const event of watch) {
        this.#apply(event);
        counts.events += 1;
        this.#failures = 0;
        this.#lastError = undefined;
      }
    } finally {
      clearTimeout(working);
      this.#connected = false;
      counts.livedMs = performance.now() - started;
      if (counts.livedMs >= LIVED_LONG_MS) this.#failures = 0;
    }
  }

  #failed(message: string): void {
    this.#failures += 1;
    this.#lastError = message;
  }

  #apply(event: WatchEvent<KubernetesObject>): void {
    const { store, transform, client, path } = this.#options;
    const version: unknown = event.object.metadata?.resourceVersion;
    if (typeof version !== 'string' || version === '') {
      const request = { method: 'GET', path, server: client.connection.server };
      throw transportError(
        request,
        'BadResponse',
        `the watch sent a ${event.type} event without a resourceVersion`,
      );
    }
    if (event.type === 'DELETED') store.applyDeletion(transform(event.object));
    else if (event.type !== 'BOOKMARK') store.applyEvent(transform(event.object));
    if (compareVersions(version, this.position) > 0) this.position = version;
    this.#options.onProgress();
  }
}

interface Signalled {
  readonly promise: Promise<void>;
  readonly signal: () => void;
}

function makeSignalled(): Signalled {
  const target = new EventTarget();
  const promise = new Promise<void>((resolve) => {
    target.addEventListener('done', () => resolve(), { once: true });
  });
  return { promise, signal: () => void target.dispatchEvent(new Event('done')) };
}
