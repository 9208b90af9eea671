/** What an apiserver keeps in etcd, written down and put back. Over the JSON gateway of etcd's v3 API. */

import { readFile } from 'node:fs/promises';
import { Agent, request } from 'node:https';

import type { InstanceLayout } from '../../local/layout.ts';

/** Values are base64, as the gateway has them; so are keys. */
export type EtcdKeys = ReadonlyMap<string, string>;

interface KeyValue {
  readonly key: string;
  readonly value: string;
}

interface Revisions {
  readonly key: string;
  readonly create_revision: string;
  readonly mod_revision: string;
}

/** Deletes that are under way at the same time. */
const AT_ONCE = 8;
const REGISTRY = Buffer.from('/registry/').toString('base64');
/** The first key that does not begin with it. */
const REGISTRY_END = Buffer.from('/registry0').toString('base64');

/** Kept alive by whoever holds them; to put an old one back would only make its holder write again. */
const HEARTBEATS = /^\/registry\/(?:masterleases\/|leases\/kube-(?:system|node-lease)\/)/;
/** They act on the others: without them nothing makes anew what is deleted next. */
const WORKLOADS =
  /^\/registry\/(?:fairlead\.dev|apps|deployments|replicasets|statefulsets|daemonsets|controllers|jobs|cronjobs|horizontalpodautoscalers)\//;

export class Etcd {
  readonly #agent: Agent;
  readonly #port: number;

  private constructor(agent: Agent, port: number) {
    this.#agent = agent;
    this.#port = port;
  }

  /** As the apiserver: with its certificate. `port` is the instance's. */
  static async open(layout: InstanceLayout, port: number): Promise<Etcd> {
    const [ca, cert, key] = await Promise.all(
      [layout.caFile, layout.certificate('etcd-client'), layout.key('etcd-client')].map((path) =>
        readFile(path),
      ),
    );
    return new Etcd(new Agent({ ca, cert, key, keepAlive: true }), port);
  }

  async keys(): Promise<EtcdKeys> {
    const { kvs = [] } = await this.#post<{ readonly kvs?: readonly KeyValue[] }>('range', {
      key: REGISTRY,
      range_end: REGISTRY_END,
    });
    return new Map(kvs.map(({ key, value }) => [key, value]));
  }

  /**
   * What there is in a namespace, but for Events: of each object when it was made, which stands for its uid, and its resourceVersion, in
   * one look, of one moment, whatever kinds are served.
   */
  async revisions(namespace: string): Promise<Readonly<Record<string, string>>> {
    const { kvs = [] } = await this.#post<{ readonly kvs?: readonly Revisions[] }>('range', {
      key: REGISTRY,
      range_end: REGISTRY_END,
      keys_only: true,
    });
    const all = kvs.map((kv) => [nameOf(kv.key), `${kv.create_revision} ${kv.mod_revision}`] as const);
    return Object.fromEntries(
      all.filter(([name]) => name.includes(`/${namespace}/`) && !name.startsWith('/registry/events/')),
    );
  }

  /**
   * Deletes every key that is not in `base`, workloads first, and gives those that are their values of then. Resolves with the names of
   * those that were deleted: controllers that have not heard of it yet may make one or two anew.
   *
   * Each in a transaction of its own, as the apiserver does it: a watch that ends (long frozen, it is over its time) goes on behind the
   * revision of the last event that came, and its client would never hear of the others of one revision.
   */
  async putBack(base: EtcdKeys): Promise<readonly string[]> {
    const present = await this.keys();
    const surplus = [...present.keys()].filter((key) => !base.has(key) && !isHeartbeat(key));
    const [workloads, others] = [surplus.filter(isWorkload), surplus.filter((key) => !isWorkload(key))];
    for (const keys of [workloads, others]) {
      for (let from = 0; from < keys.length; from += AT_ONCE) {
        const some = keys.slice(from, from + AT_ONCE);
        await Promise.all(some.map((key) => this.#post('deleterange', { key })));
      }
    }
    for (const [key, value] of base) {
      if (present.get(key) !== value && !isHeartbeat(key)) await this.#post('put', { key, value });
    }
    return surplus.map(nameOf);
  }

  close(): void {
    this.#agent.destroy();
  }

  async #post<T>(path: 'range' | 'put' | 'deleterange', body: object): Promise<T> {
    const text = await new Promise<string>((resolve, reject) => {
      const outgoing = request(
        { agent: this.#agent, host: '127.0.0.1', port: this.#port, path: `/v3/kv/${path}`, method: 'POST' },
        (incoming) => {
          const chunks: Buffer[] = [];
          incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
          incoming.on('error', reject);
          incoming.on('end', () => {
            const answer = Buffer.concat(chunks).toString('utf8');
            if (incoming.statusCode === 200) resolve(answer);
            else reject(new Error(`etcd answers ${String(incoming.statusCode)} to ${path}: ${answer}`));
          });
        },
      );
      outgoing.on('error', reject);
      outgoing.end(JSON.stringify(body));
    });
    return JSON.parse(text) as T;
  }
}

function nameOf(key: string): string {
  return Buffer.from(key, 'base64').toString('utf8');
}

function isHeartbeat(key: string): boolean {
  return HEARTBEATS.test(nameOf(key));
}

function isWorkload(key: string): boolean {
  return WORKLOADS.test(nameOf(key));
}
