/** Collects the evidence of the budget checker: watches of pods, nodes and workloads, and the apiserver's audit log. */

import { open } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';

import type { KubernetesClient, ResourcePath } from '../../kubernetes/client.ts';
import { WORKLOAD_RESOURCES, groupVersion } from '../../kubernetes/workload-api.ts';
import type { WorkloadApi } from '../../kubernetes/workload-api.ts';
import { readAuditLine } from './budget-evidence.ts';
import type { Observation, PodWrite, SeenObject } from './budget-evidence.ts';
import { patient } from './patience.ts';

export interface BudgetObserverOptions {
  /** Reads pods and workloads of all namespaces. */
  readonly client: KubernetesClient;
  readonly workloadApi: WorkloadApi;
  readonly auditLog: string;
  readonly isWorker: (user: string) => boolean;
}

type Kind = Observation['kind'];

/** What is watched; a namespace's evidence holds all nodes. */
const KINDS: readonly Kind[] = [
  'pod',
  'node',
  'StatefulSet',
  'DaemonSet',
  'Deployment',
  'ReplicaSet',
  'ReplicationController',
];

/** What no workload API of ours serves. */
const NATIVE: Partial<Record<Kind, ResourcePath>> = {
  pod: { group: '', version: 'v1', resource: 'pods' },
  node: { group: '', version: 'v1', resource: 'nodes' },
  ReplicaSet: { group: 'apps', version: 'v1', resource: 'replicasets' },
  ReplicationController: { group: '', version: 'v1', resource: 'replicationcontrollers' },
};

const RETRY_MS = 50;
const CATCH_UP_MS = 15_000;

export class BudgetObserver {
  readonly #options: BudgetObserverOptions;
  readonly #observations: Observation[] = [];
  readonly #writes: PodWrite[] = [];
  readonly #stopping = new AbortController();
  /** The newest version of each object that the watches have shown; those deleted are gone from it. */
  readonly #present: Readonly<Record<Kind, Map<string, string>>> = {
    pod: new Map(),
    node: new Map(),
    StatefulSet: new Map(),
    DaemonSet: new Map(),
    Deployment: new Map(),
    ReplicaSet: new Map(),
    ReplicationController: new Map(),
  };
  #failure: unknown;
  #auditOffset = 0;
  #auditRest = '';
  #reading: Promise<void> = Promise.resolve();

  constructor(options: BudgetObserverOptions) {
    this.#options = options;
  }

  /** Resolves when the watches stand. What happened before is the initial state, not judged. */
  async start(): Promise<void> {
    await Promise.all(KINDS.map(async (kind) => await this.#watch(kind)));
    await this.#readAudit();
    this.#writes.length = 0;
  }

  stop(): void {
    this.#stopping.abort();
  }

  /**
   * The evidence of one namespace up to now: waits until the watches have shown everything that a list shows.
   * @throws Error if a watch was lost for good, or does not catch up within 15 s
   */
  async evidence(
    namespace: string,
  ): Promise<{ readonly observations: readonly Observation[]; readonly writes: readonly PodWrite[] }> {
    await Promise.all(
      KINDS.map(async (kind) => await this.#catchUp(kind, kind === 'node' ? undefined : namespace)),
    );
    await this.#readAudit();
    return {
      observations: this.#observations.filter(
        ({ kind, object }) => kind === 'node' || object.metadata.namespace === namespace,
      ),
      writes: this.#writes.filter((write) => write.namespace === namespace),
    };
  }

  #path(kind: Kind): ResourcePath {
    return (
      NATIVE[kind] ?? {
        ...groupVersion(this.#options.workloadApi),
        resource: WORKLOAD_RESOURCES[kind as keyof typeof WORKLOAD_RESOURCES],
      }
    );
  }

  async #watch(kind: Kind): Promise<void> {
    const { client } = this.#options;
    const { items, resourceVersion } = await client.list<Observation['object']>(this.#path(kind));
    for (const object of items) {
      this.#observe(kind, 'ADDED', object);
    }
    this.#follow(kind, resourceVersion).catch((error: unknown) => {
      this.#failure = error;
    });
  }

  /** Without a gap: each watch goes on where the last one ended, or where a new apiserver began. */
  async #follow(kind: Kind, from: string): Promise<void> {
    const { signal } = this.#stopping;
    let resourceVersion = from;
    while (!signal.aborted) {
      const options = { resourceVersion, signal, allowWatchBookmarks: true };
      try {
        for await (const event of this.#options.client.watch<Observation['object']>(
          this.#path(kind),
          options,
        )) {
          resourceVersion = event.object.metadata.resourceVersion;
          if (event.type !== 'BOOKMARK') {
            this.#observe(kind, event.type, event.object);
          }
        }
      } catch (error) {
        if ((error as { readonly status?: unknown }).status === 410) {
          resourceVersion = await this.#bridge(kind, error);
          continue;
        }
        // The apiserver is away, perhaps because a test restarts it; nothing is missed meanwhile.
        await delay(RETRY_MS, undefined, { signal }).catch(() => undefined);
      }
    }
  }

  /**
   * An apiserver that has started anew knows no event before its start, and names the version at which that was. Nothing can
   * have been written between the end of the old one and then: what a list of exactly that version shows beyond the events
   * seen are those that the old one did not send any more. Resolves with the version to go on from.
   */
  async #bridge(kind: Kind, expired: unknown): Promise<string> {
    const [, start] = /too old resource version: \d+ \((\d+)\)/.exec(String(expired)) ?? [];
    if (start === undefined) {
      throw expired;
    }
    const { items } = await this.#options.client.list<Observation['object']>(this.#path(kind), {
      resourceVersion: start,
      query: { resourceVersionMatch: 'Exact' },
    });
    const gone = new Map(this.#present[kind]);
    for (const object of items) {
      const { uid, resourceVersion } = object.metadata;
      const seen = gone.get(uid);
      gone.delete(uid);
      if (seen !== resourceVersion) {
        this.#observe(kind, seen === undefined ? 'ADDED' : 'MODIFIED', object);
      }
    }
    for (const uid of gone.keys()) {
      const last = this.#observations.findLast((one) => one.kind === kind && one.object.metadata.uid === uid);
      if (last !== undefined) {
        const metadata = { ...last.object.metadata, resourceVersion: start };
        this.#observe(kind, 'DELETED', { ...last.object, metadata });
      }
    }
    return start;
  }

  #observe(kind: Kind, type: Observation['type'], object: SeenObject): void {
    const { uid, resourceVersion } = object.metadata;
    if (type === 'DELETED') {
      this.#present[kind].delete(uid);
    } else {
      this.#present[kind].set(uid, resourceVersion);
    }
    this.#observations.push({ kind, type, object, at: Date.now() } as Observation);
  }

  async #catchUp(kind: Kind, namespace: string | undefined): Promise<void> {
    const { items, resourceVersion } = await this.#options.client.list<SeenObject>({
      ...this.#path(kind),
      namespace,
    });
    const listed = new Map(items.map(({ metadata }) => [metadata.uid, BigInt(metadata.resourceVersion)]));
    const asOf = BigInt(resourceVersion);
    const deadline = Date.now() + patient(CATCH_UP_MS);
    for (;;) {
      if (this.#failure !== undefined) {
        throw new Error(`the checker's watch of ${kind}s was lost: events were missed`, {
          cause: this.#failure,
        });
      }
      const behind = this.#behind(kind, namespace, listed, asOf);
      if (behind === undefined) {
        return;
      }
      if (Date.now() > deadline) {
        throw new Error(`the checker's watch of ${kind}s does not catch up: ${behind}`);
      }
      await delay(10);
    }
  }

  /** What the watch has not shown yet, or undefined. */
  #behind(
    kind: Kind,
    namespace: string | undefined,
    listed: ReadonlyMap<string, bigint>,
    asOf: bigint,
  ): string | undefined {
    const here = this.#observations.filter(
      ({ kind: other, object }) => other === kind && object.metadata.namespace === namespace,
    );
    const gone = new Set(
      here.filter(({ type }) => type === 'DELETED').map(({ object }) => object.metadata.uid),
    );
    const present = this.#present[kind];
    for (const [uid, version] of listed) {
      const seen = present.get(uid);
      if (!gone.has(uid) && (seen === undefined || BigInt(seen) < version)) {
        return `${uid} is at version ${String(version)}, seen was ${seen ?? 'nothing'}`;
      }
    }
    // Shown by the watch and not by the list: made after it, or deleted before it.
    const lost = here.find(({ object: { metadata } }) => {
      const seen = present.get(metadata.uid);
      return seen !== undefined && BigInt(seen) <= asOf && !listed.has(metadata.uid);
    });
    return lost && `the end of ${lost.object.metadata.name} was not seen`;
  }

  /** The apiserver writes a line before it answers, so that everything answered is in the file. One reader at a time. */
  async #readAudit(): Promise<void> {
    const before = this.#reading;
    const mine = before.then(() => this.#readAuditOnce());
    // The next reader goes on where this one got to, also if it failed; its error is this caller's.
    this.#reading = mine.catch(() => undefined);
    await mine;
  }

  async #readAuditOnce(): Promise<void> {
    const file = await open(this.#options.auditLog, 'r');
    try {
      const { size } = await file.stat();
      const { buffer, bytesRead } = await file.read(
        Buffer.alloc(size - this.#auditOffset),
        0,
        size - this.#auditOffset,
        this.#auditOffset,
      );
      this.#auditOffset += bytesRead;
      // A character may be cut at the end: bytes are kept as they are until the line is complete.
      const text = this.#auditRest + buffer.subarray(0, bytesRead).toString('latin1');
      const lines = text.split('\n');
      this.#auditRest = lines.pop() ?? '';
      for (const line of lines) {
        const write = readAuditLine(Buffer.from(line, 'latin1').toString('utf8'), this.#options.isWorker);
        if (write !== undefined) {
          this.#writes.push(write);
        }
      }
    } finally {
      await file.close();
    }
  }
}
