/**
 * A plain-HTTP proxy between one worker and the apiserver. It sees every request, counts the writes, and can act before a
 * write is forwarded or after the apiserver has answered it but before the worker learns of that. Reads and watches stream.
 */

import { readFile, writeFile } from 'node:fs/promises';
import { createServer, request as httpRequest } from 'node:http';
import type { IncomingHttpHeaders, IncomingMessage, Server, ServerResponse } from 'node:http';
import { Agent, request as httpsRequest } from 'node:https';
import type { AddressInfo } from 'node:net';

import { describeWrite, isIgnored } from './api-write.ts';
import type { Alias, ApiWrite } from './api-write.ts';

export type Side = 'before' | 'after';

/**
 * What happens to a request. `drop` cuts the connection without an answer; `answer` is the proxy's own and the apiserver
 * never sees the request (side `before`), or its answer is replaced (side `after`).
 */
export type Fault =
  | { readonly fault: 'drop' }
  | { readonly fault: 'delay'; readonly milliseconds: number }
  | { readonly fault: 'answer'; readonly status: 429 | 500 | 503; readonly retryAfterSeconds?: number };

export interface ApiProxyOptions {
  /** `https://…` (or `http://…`) of the apiserver. */
  readonly server: string;
  /** PEM of the authority that signed the apiserver's certificate. */
  readonly ca: Buffer;
  /** Called synchronously at each write, on both sides; a SIGKILL sent here hits before anything else happens. */
  readonly onWrite?: (write: ApiWrite, side: Side) => Fault | undefined;
  /** Names in keys that are the same in every run. @default the names themselves */
  readonly alias?: Alias;
  /** Called for each other request before it is forwarded. */
  readonly onRead?: (read: { readonly path: string; readonly watch: boolean }) => Fault | undefined;
}

/** Nothing was written: the next try is the same write. How many it takes is by the clock. */
const CONFLICT = 409;

/** Headers that belong to one connection only. */
const HOP_BY_HOP = new Set([
  'connection',
  'keep-alive',
  'transfer-encoding',
  'upgrade',
  'te',
  'trailer',
  'host',
]);

export class ApiProxy {
  /** Every write that came, in order; `status` is there as soon as the apiserver has answered. */
  readonly writes: ApiWrite[] = [];
  readonly #options: ApiProxyOptions;
  readonly #server: Server;
  readonly #agent: Agent;
  readonly #upstream: URL;
  readonly #watches = new Set<ServerResponse>();
  readonly #occurrences = new Map<string, number>();
  #closedToWorker = false;

  private constructor(options: ApiProxyOptions) {
    this.#options = options;
    this.#upstream = new URL(options.server);
    this.#agent = new Agent({ keepAlive: true, ca: options.ca, maxSockets: Infinity });
    this.#server = createServer((request, response) => {
      this.#handle(request, response).catch((error: unknown) => {
        // The apiserver is away or cut the connection: so shall it look to the worker.
        response.destroy(error instanceof Error ? error : undefined);
      });
    });
  }

  /** Listens on a free port of the loopback interface. */
  static async start(options: ApiProxyOptions): Promise<ApiProxy> {
    const proxy = new ApiProxy(options);
    await new Promise<void>((resolve, reject) => {
      proxy.#server.once('error', reject);
      proxy.#server.listen(0, '127.0.0.1', resolve);
    });
    return proxy;
  }

  get url(): string {
    return `http://127.0.0.1:${String((this.#server.address() as AddressInfo).port)}`;
  }

  /** Writes a copy of a kubeconfig (JSON, with a token) that leads through this proxy. */
  async writeKubeconfig(source: string, target: string): Promise<string> {
    const config = JSON.parse(await readFile(source, 'utf8')) as {
      readonly clusters: readonly { readonly name: string }[];
    };
    const clusters = config.clusters.map(({ name }) => ({ name, cluster: { server: this.url } }));
    await writeFile(target, JSON.stringify({ ...config, clusters }, null, 2), { mode: 0o600 });
    return target;
  }

  /** Whatever a killed worker has still in its sockets is not forwarded any more. */
  closeToWorker(): void {
    this.#closedToWorker = true;
    this.#server.closeAllConnections();
  }

  /** For the next worker; the counts go on. */
  openToWorker(): void {
    this.#closedToWorker = false;
  }

  /** Counts from 1 again: what came so far was preparation. */
  restartCounts(): void {
    this.#occurrences.clear();
    this.writes.length = 0;
  }

  /** Cuts the connections of all watches, as a broken network would; says how many. */
  cutWatches(): number {
    const count = this.#watches.size;
    for (const response of this.#watches) {
      response.destroy();
    }
    return count;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
    this.#agent.destroy();
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (this.#closedToWorker) {
      response.destroy();
      return;
    }
    const url = new URL(request.url ?? '/', this.url);
    const method = request.method ?? 'GET';
    const body = await readAll(request);
    if (method === 'GET' || method === 'HEAD' || isIgnored(url, body)) {
      await this.#pass(request, body, response, url);
    } else {
      await this.#write(request, body, response, url);
    }
  }

  async #pass(request: IncomingMessage, body: Buffer, response: ServerResponse, url: URL): Promise<void> {
    const watch = url.searchParams.get('watch') === 'true' || url.searchParams.get('watch') === '1';
    if (await this.#act(this.#options.onRead?.({ path: url.pathname, watch }), response)) {
      return;
    }
    const answer = await this.#forward(request, body, response);
    response.writeHead(answer.statusCode ?? 502, endToEnd(answer.headers));
    // A watch without events would keep even the head of the answer back.
    response.flushHeaders();
    if (watch) {
      this.#watches.add(response);
      response.once('close', () => this.#watches.delete(response));
    }
    answer.once('error', () => response.destroy());
    answer.pipe(response);
  }

  async #write(request: IncomingMessage, body: Buffer, response: ServerResponse, url: URL): Promise<void> {
    if (this.#closedToWorker) {
      return;
    }
    const described = describeWrite(request.method ?? '', url, body, this.#options.alias);
    const occurrence = (this.#occurrences.get(described.key) ?? 0) + 1;
    this.#occurrences.set(described.key, occurrence);
    const write: ApiWrite = {
      ...described,
      number: this.writes.length + 1,
      occurrence,
      at: Date.now(),
      status: undefined,
    };
    this.writes.push(write);
    if (await this.#act(this.#options.onWrite?.(write, 'before'), response)) {
      return;
    }
    const answer = await this.#forward(request, body, response);
    const text = await readAll(answer);
    write.status = answer.statusCode;
    if (write.status === CONFLICT && this.#occurrences.get(write.key) === occurrence)
      this.#occurrences.set(write.key, occurrence - 1);
    if (await this.#act(this.#options.onWrite?.(write, 'after'), response)) {
      return;
    }
    response.writeHead(answer.statusCode ?? 502, endToEnd(answer.headers)).end(text);
  }

  /** True if the request is done with. */
  async #act(fault: Fault | undefined, response: ServerResponse): Promise<boolean> {
    if (this.#closedToWorker) {
      response.destroy();
      return true;
    }
    switch (fault?.fault) {
      case undefined:
        return false;
      case 'drop':
        response.destroy();
        return true;
      case 'delay':
        await new Promise((resolve) => setTimeout(resolve, fault.milliseconds));
        return false;
      case 'answer': {
        const message = `the test's proxy answers ${String(fault.status)}`;
        const reason = { 429: 'TooManyRequests', 500: 'InternalError', 503: 'ServiceUnavailable' }[
          fault.status
        ];
        response
          .writeHead(fault.status, {
            'content-type': 'application/json',
            ...(fault.retryAfterSeconds !== undefined && { 'retry-after': String(fault.retryAfterSeconds) }),
          })
          .end(
            JSON.stringify({
              kind: 'Status',
              apiVersion: 'v1',
              status: 'Failure',
              message,
              reason,
              code: fault.status,
            }),
          );
        return true;
      }
    }
  }

  async #forward(request: IncomingMessage, body: Buffer, response: ServerResponse): Promise<IncomingMessage> {
    const { protocol, hostname, port } = this.#upstream;
    const secure = protocol === 'https:';
    const options = {
      hostname,
      port,
      method: request.method,
      path: request.url,
      headers: { ...endToEnd(request.headers), ...(body.length > 0 && { 'content-length': body.length }) },
    };
    return await new Promise((resolve, reject) => {
      const outgoing = secure ? httpsRequest({ ...options, agent: this.#agent }) : httpRequest(options);
      outgoing.once('error', reject);
      outgoing.once('response', resolve);
      // The worker hung up: a watch must not live on. A write that is under way is not taken back.
      response.once('close', () => {
        if (request.method === 'GET') {
          outgoing.destroy();
        }
      });
      outgoing.end(body);
    });
  }
}

function endToEnd(headers: IncomingHttpHeaders): Record<string, string | string[]> {
  return Object.fromEntries(
    Object.entries(headers).filter(
      (entry): entry is [string, string | string[]] => entry[1] !== undefined && !HOP_BY_HOP.has(entry[0]),
    ),
  );
}

async function readAll(stream: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) {
    chunks.push(chunk as Buffer);
  }
  return Buffer.concat(chunks);
}
