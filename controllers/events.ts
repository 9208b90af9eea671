/** Kubernetes Events on workloads, written beside the work: never awaited by it, never able to fail it. */

import { randomBytes } from 'node:crypto';

import { isAlreadyExists, isNotFound, isTransient, isUnreached, toMessage } from '../kubernetes/api-error.ts';
import { backoffMs, pause } from '../kubernetes/backoff.ts';
import type { KubernetesClient } from '../kubernetes/client.ts';
import type { WorkloadRef } from '../planners/workload.ts';
import type { EventReason } from './reported-reasons.ts';

export interface EventRecorderOptions {
  readonly client: KubernetesClient;
  /** Identity of this replica, `source.host`. */
  readonly host: string;
  readonly now?: () => number;
  /** An event was lost: refused, apiserver away for too long, not leader, queue full. */
  readonly onLost?: (message: string) => void;
  /** Milliseconds between tries of a write that got no answer. @default from 500, doubled up to 15,000 */
  readonly retryMs?: { readonly first: number; readonly last: number };
}

/** What an event can be about. */
export interface EventSubject {
  readonly ref: Pick<WorkloadRef, 'group' | 'version' | 'namespace' | 'name' | 'uid'> & {
    readonly kind: string;
  };
}

interface Series {
  readonly name: string;
  readonly ref: EventSubject['ref'];
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly message: string;
  readonly firstSeen: number;
  count: number;
  lastSeen: number;
  /** The Event is there, as far as is known. */
  written: boolean;
  /** A write of this series is waiting in the queue and will carry the newest count. */
  queued: boolean;
  /** When what is not written yet was queued first, milliseconds since the epoch. */
  queuedAt: number;
  /** The last write has failed. */
  failed: boolean;
  /** By what the apiserver could not reach, which may be of its namespace alone. */
  heldUp: boolean;
}

/** Events kept waiting at the most. */
const QUEUE_LIMIT = 1_000;
/** A repeated event raises the count of the first for this long. */
const SERIES_MS = 600_000;
const MESSAGE_LIMIT = 1_000;
/** For so long after it happened an event is tried again, milliseconds: its name makes it once. */
const PATIENCE_MS = 120_000;
const RETRY_MS = { first: 500, last: 15_000 };

export class EventRecorder {
  readonly #options: EventRecorderOptions;
  readonly #now: () => number;
  readonly #series = new Map<string, Series>();
  readonly #queue: Series[] = [];
  #draining: Promise<void> | undefined;
  /** Aborts when nothing may be waited for any more. */
  #flushing = new AbortController();

  constructor(options: EventRecorderOptions) {
    this.#options = options;
    this.#now = options.now ?? Date.now;
  }

  /** Queues an event; an equal one within ten minutes raises the count of the first instead. */
  record(subject: EventSubject, type: 'Normal' | 'Warning', reason: EventReason, message: string): void {
    const text = message.length > MESSAGE_LIMIT ? `${message.slice(0, MESSAGE_LIMIT - 1)}…` : message;
    const key = JSON.stringify([subject.ref.uid, type, reason, text]);
    const now = this.#now();
    let series = this.#series.get(key);
    if (series !== undefined && now - series.lastSeen < SERIES_MS) {
      series.count += 1;
      series.lastSeen = now;
    } else {
      this.#forgetOld(now);
      const { ref } = subject;
      const name = `${ref.name.slice(0, 200)}.${randomBytes(8).toString('hex')}`;
      const times = { firstSeen: now, lastSeen: now };
      const state = { count: 1, written: false, queued: false, queuedAt: now, failed: false, heldUp: false };
      series = { name, ref, type, reason, message: text, ...times, ...state };
      this.#series.set(key, series);
    }
    this.#enqueue(series);
  }

  /** Resolves when everything queued so far is written or lost: what gets no answer is not tried again. */
  async flush(): Promise<void> {
    this.#flushing.abort();
    await this.#draining;
    this.#flushing = new AbortController();
  }

  /** A write that was lost leaves the series as not written: the next equal event makes up for it. */
  async #write(series: Series): Promise<void> {
    series.queued = false;
    if (series.written && (await this.#raise(series))) {
      return;
    }
    series.written = false;
    try {
      await this.#create(series);
    } catch (error) {
      // The answer to an earlier try was lost.
      if (!isAlreadyExists(error)) {
        throw error;
      }
      await this.#raise(series);
    }
    series.written = true;
  }

  async #create({ name, ref, type, reason, message, firstSeen, lastSeen, count }: Series): Promise<void> {
    const { namespace } = ref;
    await this.#options.client.create(
      { group: '', version: 'v1', resource: 'events', namespace },
      {
        apiVersion: 'v1',
        kind: 'Event',
        metadata: { name, namespace },
        involvedObject: {
          apiVersion: ref.group === '' ? ref.version : `${ref.group}/${ref.version}`,
          kind: ref.kind,
          namespace,
          name: ref.name,
          uid: ref.uid,
        },
        type,
        reason,
        message,
        source: { component: 'fairlead', host: this.#options.host },
        reportingComponent: 'fairlead',
        reportingInstance: this.#options.host,
        firstTimestamp: timestamp(firstSeen),
        lastTimestamp: timestamp(lastSeen),
        count,
      },
    );
  }

  /** False: there is no such Event any more. */
  async #raise({ name, ref: { namespace }, count, lastSeen }: Series): Promise<boolean> {
    const path = { group: '', version: 'v1', resource: 'events', namespace, name };
    try {
      await this.#options.client.patch(path, 'merge', { count, lastTimestamp: timestamp(lastSeen) });
      return true;
    } catch (error) {
      if (isNotFound(error)) {
        return false;
      }
      throw error;
    }
  }

  #enqueue(series: Series): void {
    if (series.queued) {
      return;
    }
    if (this.#queue.length >= QUEUE_LIMIT) {
      this.#options.onLost?.(`more than ${String(QUEUE_LIMIT)} events are waiting`);
      return;
    }
    series.queued = true;
    // An equal one that comes while the first is tried again does not prolong that.
    if (!series.failed) series.queuedAt = this.#now();
    this.#queue.push(series);
    this.#draining ??= this.#drain();
  }

  async #drain(): Promise<void> {
    let failures = 0;
    for (let series = this.#take(); series !== undefined; series = this.#take()) {
      try {
        await this.#write(series);
        series.failed = false;
        series.heldUp = false;
        failures = 0;
      } catch (error) {
        failures += 1;
        if (this.#mayTryAgain(series, error)) await this.#tryAgain(series, failures, error);
        else {
          series.failed = false;
          series.heldUp = false;
          // Not found: its namespace is gone.
          if (!isNotFound(error)) this.#options.onLost?.(toMessage(error));
        }
      }
    }
    this.#draining = undefined;
  }

  /** The first that nothing is known to hold up; else the first of those that something does. */
  #take(): Series | undefined {
    const free = this.#queue.findIndex(({ heldUp }) => !heldUp);
    return this.#queue.splice(Math.max(free, 0), 1)[0];
  }

  #mayTryAgain({ queuedAt }: Series, error: unknown): boolean {
    return isTransient(error) && !this.#flushing.signal.aborted && this.#now() - queuedAt < PATIENCE_MS;
  }

  /**
   * Before all others, so that they stay in order: whoever does not answer for one does not answer for them. A webhook that is away
   * may be that of one namespace: then the others come first, and those that have not been tried do not wait.
   */
  async #tryAgain(series: Series, failures: number, error: unknown): Promise<void> {
    // An equal one that came while it was written has queued it.
    if (series.queued) this.#queue.splice(this.#queue.indexOf(series), 1);
    series.queued = true;
    series.failed = true;
    series.heldUp = isUnreached(error);
    if (series.heldUp) {
      this.#queue.push(series);
      if (this.#queue.some(({ heldUp }) => !heldUp)) return;
    } else {
      this.#queue.unshift(series);
    }
    const { first, last } = this.#options.retryMs ?? RETRY_MS;
    await pause(backoffMs(failures, first, last), this.#flushing.signal);
  }

  #forgetOld(now: number): void {
    for (const [key, series] of this.#series) {
      if (now - series.lastSeen >= SERIES_MS && !series.queued) {
        this.#series.delete(key);
      }
    }
  }
}

/** RFC 3339, whole seconds. */
function timestamp(milliseconds: number): string {
  return new Date(milliseconds).toISOString().replace(/\.\d{3}Z$/, 'Z');
}
