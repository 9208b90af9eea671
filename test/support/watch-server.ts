/**
 * A small HTTP server that lists and watches one collection and can fail in ways that a real apiserver cannot be made to:
 * silence, garbage, events cut in the middle, versions that are gone. Everything that needs no fault is tested against a
 * real apiserver.
 */

import { createServer } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

import { fixedCredentials } from '../../kubernetes/credentials.ts';
import type { Connection } from '../../kubernetes/kubeconfig.ts';
import { trusted } from '../../kubernetes/values.ts';
import type { KubernetesObject, OwnerReference } from '../../planners/objects.ts';

interface Event {
  readonly type: string;
  readonly object: KubernetesObject;
}

export interface SeenRequest {
  readonly method: string;
  readonly url: URL;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

/** A connection without TLS and credentials. */
export function plainConnection(server: string): Connection {
  return {
    server,
    context: 'test',
    namespace: 'default',
    source: 'test',
    tls: { insecure: false },
    credentials: fixedCredentials({}),
  };
}

export class WatchServer {
  readonly requests: SeenRequest[] = [];
  readonly objects = new Map<string, KubernetesObject>();
  /** Answers a request instead of the server; true = handled. */
  intercept: ((request: SeenRequest, response: ServerResponse) => boolean) | undefined;
  /** Watches get no events while this is set; they are kept for later. */
  muted = false;
  /** Versions below this are gone. */
  compacted = 0;
  /** How a version that is gone is answered. */
  goneBy: 'status' | 'event' = 'status';
  #version = 100;
  readonly #history: Event[] = [];
  readonly #watches = new Set<ServerResponse>();
  readonly #server: Server;

  private constructor() {
    this.#server = createServer((request, response) => this.#receive(request, response));
  }

  static async start(): Promise<WatchServer> {
    const server = new WatchServer();
    await new Promise<void>((resolve) => server.#server.listen(0, '127.0.0.1', () => resolve()));
    return server;
  }

  get url(): string {
    const { port } = trusted<AddressInfo>(this.#server.address());
    return `http://127.0.0.1:${String(port)}`;
  }

  get version(): string {
    return String(this.#version);
  }

  get openWatches(): number {
    return this.#watches.size;
  }

  get watchRequests(): readonly SeenRequest[] {
    return this.requests.filter((request) => request.url.searchParams.has('watch'));
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  /** Creates or changes an object, and tells the watches unless they are muted. */
  put(
    name: string,
    options: { uid?: string; namespace?: string; owner?: string; fields?: object } = {},
  ): KubernetesObject {
    const { namespace = 'default', owner } = options;
    const key = `${namespace}/${name}`;
    const previous = this.objects.get(key);
    this.#version += 1;
    const uid = options.uid ?? previous?.metadata.uid ?? `uid-${String(this.#version)}`;
    const ownerReferences: readonly OwnerReference[] | undefined =
      owner === undefined
        ? undefined
        : [{ apiVersion: 'apps/v1', kind: 'StatefulSet', name: 'owner', uid: owner, controller: true }];
    const object = {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: {
        name,
        namespace,
        uid,
        resourceVersion: this.version,
        managedFields: [{ manager: 'someone' }],
        ...(ownerReferences && { ownerReferences }),
      },
      ...options.fields,
    };
    this.objects.set(key, object);
    this.#publish({ type: previous?.metadata.uid === uid ? 'MODIFIED' : 'ADDED', object });
    return object;
  }

  remove(name: string, namespace = 'default'): KubernetesObject {
    const key = `${namespace}/${name}`;
    const last = this.objects.get(key);
    if (last === undefined) throw new Error(`no object ${key}`);
    this.objects.delete(key);
    this.#version += 1;
    const object = { ...last, metadata: { ...last.metadata, resourceVersion: this.version } };
    this.#publish({ type: 'DELETED', object });
    return object;
  }

  bookmark(): void {
    this.#version += 1;
    const object = trusted<KubernetesObject>({ kind: 'Pod', metadata: { resourceVersion: this.version } });
    this.#publish({ type: 'BOOKMARK', object });
  }

  /** Raw bytes to every open watch. */
  send(text: string): void {
    for (const watch of this.#watches) watch.write(text);
  }

  /** Ends the watches in order, as the apiserver does after timeoutSeconds. */
  endWatches(): void {
    for (const watch of this.#watches) watch.end();
    this.#watches.clear();
  }

  /** Cuts the watches' connections. */
  cutWatches(): void {
    for (const watch of this.#watches) watch.destroy();
    this.#watches.clear();
  }

  #publish(event: Event): void {
    this.#history.push(event);
    if (!this.muted) this.send(`${JSON.stringify(event)}\n`);
  }

  #receive(request: IncomingMessage, response: ServerResponse): void {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const seen = {
        method: request.method ?? '',
        url: new URL(request.url ?? '/', 'http://server'),
        headers: request.headers,
        body: Buffer.concat(chunks).toString(),
      };
      this.requests.push(seen);
      if (this.intercept?.(seen, response) === true) return;
      if (seen.url.searchParams.has('watch')) this.#watch(seen, response);
      else this.#list(seen, response);
    });
  }

  #list(request: SeenRequest, response: ServerResponse): void {
    const namespace = /\/namespaces\/([^/]+)\//.exec(request.url.pathname)?.[1];
    const all = [...this.objects.values()].filter(
      (object) => namespace === undefined || object.metadata.namespace === namespace,
    );
    const start = Number(request.url.searchParams.get('continue') ?? 0);
    const limit = Number(request.url.searchParams.get('limit') ?? all.length);
    const end = start + limit;
    answer(response, 200, {
      apiVersion: 'v1',
      kind: 'PodList',
      metadata: { resourceVersion: this.version, ...(end < all.length && { continue: String(end) }) },
      items: all.slice(start, end).map((object) => ({ ...object, apiVersion: undefined, kind: undefined })),
    });
  }

  #watch(request: SeenRequest, response: ServerResponse): void {
    const since = Number(request.url.searchParams.get('resourceVersion') ?? 0);
    const gone = since < this.compacted;
    if (gone && this.goneBy === 'status') {
      answer(response, 410, goneStatus());
      return;
    }
    response.writeHead(200, { 'content-type': 'application/json' });
    response.flushHeaders();
    if (gone) {
      response.end(`${JSON.stringify({ type: 'ERROR', object: goneStatus() })}\n`);
      return;
    }
    this.#watches.add(response);
    response.on('close', () => this.#watches.delete(response));
    if (this.muted) return;
    for (const event of this.#history) {
      if (Number(event.object.metadata.resourceVersion) > since) response.write(`${JSON.stringify(event)}\n`);
    }
  }
}

/** Writes a JSON answer. */
export function answer(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(JSON.stringify(body));
}

function goneStatus(): object {
  return {
    kind: 'Status',
    apiVersion: 'v1',
    status: 'Failure',
    reason: 'Expired',
    code: 410,
    message: 'too old resource version',
  };
}
