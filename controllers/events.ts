/** Kubernetes Events on workloads, written beside the work: never awaited by it, never able to fail it. */

import { randomBytes } from 'node:crypto';

import { isNotFound, toMessage } from '../kubernetes/api-error.ts';
import type { KubernetesClient } from '../kubernetes/client.ts';
import type { WorkloadRef } from '../planners/workload.ts';
import type { EventReason } from './reported-reasons.ts';

export interface EventRecorderOptions {
  readonly client: KubernetesClient;
  /** Identity of this replica, `source.host`. */
  readonly host: string;
  readonly now?: () => number;
  /** An event was lost: apiserver away, not leader, queue full. */
  readonly onLost?: (message: string) => void;
}

/** What an event can be about. */
export interface EventSubject {
  readonly ref: Pick<WorkloadRef, 'group' | 'version' | 'kind' | 'namespace' | 'name' | 'uid'>;
}

interface Series {
  readonly name: string;
  readonly namespace: string;
  count: number;
  lastSeen: number;
  /** A write of this series is waiting in the queue and will carry the newest count. */
  queued: boolean;
}

/** Events kept waiting at the most. */
const QUEUE_LIMIT = 1_000;
/** A repeated event raises the count of the first for this long. */
const SERIES_MS = 600_000;
const MESSAGE_LIMIT = 1_000;

export class EventRecorder {
  readonly #options: EventRecorderOptions;
  readonly #now: () => number;
  readonly #series = new Map<string, Series>();
  readonly #queue: (() => Promise<void>)[] = [];
  #draining: Promise<void> | undefined;

  constructor(options: EventRecorderOptions) {
    this.#options = options;
    this.#now = options.now ?? Date.now;
  }

  /** Queues an event; an equal one within ten minutes raises the count of the first instead. */
  record(subject: EventSubject, type: 'Normal' | 'Warning', reason: EventReason, message: string): void {
    const text = message.length > MESSAGE_LIMIT ? `${message.slice(0, MESSAGE_LIMIT - 1)}…` : message;
    const key = JSON.stringify([subject.ref.uid, type, reason, text]);
    const known = this.#series.get(key);
    const now = this.#now();
    if (known !== undefined && now - known.lastSeen < SERIES_MS) {
      known.count += 1;
      known.lastSeen = now;
      if (!known.queued) {
        known.queued = true;
        this.#enqueue(() => this.#raise(known));
      }
      return;
    }
    this.#forgetOld(now);
    const { ref } = subject;
    const series: Series = {
      name: `${ref.name.slice(0, 200)}.${randomBytes(8).toString('hex')}`,
      namespace: ref.namespace,
      count: 1,
      lastSeen: now,
      queued: true,
    };
    this.#series.set(key, series);
    this.#enqueue(async () => {
      series.queued = false;
      const time = new Date(now).toISOString().replace(/\.\d{3}Z$/, 'Z');
      await this.#options.client.create(
        { group: '', version: 'v1', resource: 'events', namespace: ref.namespace },
        {
          apiVersion: 'v1',
          kind: 'Event',
          metadata: { name: series.name, namespace: ref.namespace },
          involvedObject: {
            apiVersion: `${ref.group}/${ref.version}`,
            kind: ref.kind,
            namespace: ref.namespace,
            name: ref.name,
            uid: ref.uid,
          },
          type,
          reason,
          message: text,
          source: { component: 'fairlead', host: this.#options.host },
          reportingComponent: 'fairlead',
          reportingInstance: this.#options.host,
          firstTimestamp: time,
          lastTimestamp: time,
          count: series.count,
        },
      );
    });
  }

  /** Resolves when everything queued so far is written or lost. */
  async flush(): Promise<void> {
    await this.#draining;
  }

  async #raise(series: Series): Promise<void> {
    series.queued = false;
    await this.#options.client.patch(
      { group: '', version: 'v1', resource: 'events', namespace: series.namespace, name: series.name },
      'merge',
      {
        count: series.count,
        lastTimestamp: new Date(series.lastSeen).toISOString().replace(/\.\d{3}Z$/, 'Z'),
      },
    );
  }

  #enqueue(write: () => Promise<void>): void {
    if (this.#queue.length >= QUEUE_LIMIT) {
      this.#options.onLost?.(`more than ${String(QUEUE_LIMIT)} events are waiting`);
      return;
    }
    this.#queue.push(write);
    this.#draining ??= this.#drain();
  }

  async #drain(): Promise<void> {
    for (let write = this.#queue.shift(); write !== undefined; write = this.#queue.shift()) {
      try {
        await write();
      } catch (error) {
        if (!isNotFound(error)) {
          this.#options.onLost?.(toMessage(error));
        }
      }
    }
    this.#draining = undefined;
  }

  #forgetOld(now: number): void {
    for (const [key, series] of this.#series) {
      if (now - series.lastSeen >= SERIES_MS && !series.queued) {
        this.#series.delete(key);
      }
    }
  }
}
