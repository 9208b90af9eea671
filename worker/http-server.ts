/** `/metrics`, `/healthz`, `/readyz` and `/hook` of a worker process. */

import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { createServer } from 'node:http';

import type { Registry } from 'prom-client';

import { addressKey } from './address-key.ts';
import { FairPlaces } from './fair-places.ts';

/** One line of `/readyz`. */
export interface Check {
  readonly name: string;
  readonly ok: boolean;
  readonly message?: string;
}

export interface HttpServerOptions {
  readonly address: { readonly host: string; readonly port: number };
  readonly registry: Registry;
  /** The process is alive: anything false means that a restart would help. */
  readonly health: () => readonly Check[];
  /** The process does its part: a standby replica is ready too. */
  readonly readiness: () => readonly Check[];
  /** What else is served, whatever the method; answers whether the path is its own. */
  readonly more?: (request: IncomingMessage, response: ServerResponse, path: string) => boolean;
  /** Connections that are open at a time. @default 500 */
  readonly mostConnections?: number;
}

/** Milliseconds for a request to arrive: one that comes a byte at a time must not stay. */
const REQUEST_TIMEOUT_MS = 10_000;
/** Far more than probes, metrics and webhooks need; each costs a file descriptor. */
const MOST_CONNECTIONS = 500;

/**
 * Starts listening.
 * @throws Error naming the address when it cannot be bound
 */
export async function startHttpServer(options: HttpServerOptions): Promise<Server> {
  const limits = {
    requestTimeout: REQUEST_TIMEOUT_MS,
    headersTimeout: REQUEST_TIMEOUT_MS,
    connectionsCheckingInterval: 1_000,
  };
  const server = createServer(limits, (request, response) => {
    // Not `new URL`: it throws for what anybody may ask for (`GET //`), and an error here ends the process.
    const [path = '/'] = (request.url ?? '/').split('?', 1);
    if (options.more?.(request, response, path) === true) return;
    if (request.method !== 'GET') {
      response.writeHead(405).end();
    } else if (path === '/metrics') {
      options.registry.metrics().then(
        (text) => response.writeHead(200, { 'content-type': options.registry.contentType }).end(text),
        (error: unknown) => response.writeHead(500).end(String(error)),
      );
    } else if (path === '/healthz' || path === '/readyz') {
      const checks = path === '/healthz' ? options.health() : options.readiness();
      const failed = checks.some((check) => !check.ok);
      const lines = checks.map(
        ({ name, ok, message }) =>
          `[${ok ? '+' : '-'}] ${name}${message === undefined ? '' : `: ${message}`}`,
      );
      response.writeHead(failed ? 503 : 200, { 'content-type': 'text/plain' }).end(`${lines.join('\n')}\n`);
    } else {
      response.writeHead(404).end();
    }
  });
  // Not `server.maxConnections`: whoever opens so many would keep out everybody else, the probes of the kubelet among them.
  const places = new FairPlaces(options.mostConnections ?? MOST_CONNECTIONS);
  server.on('connection', (socket) => {
    const release = places.take(addressKey(socket.remoteAddress ?? ''), () => socket.destroy());
    socket.once('close', release);
  });
  const { host, port } = options.address;
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error) => {
      reject(
        new Error(`cannot listen on ${host}:${String(port)} for metrics: ${error.message}`, { cause: error }),
      );
    });
    server.listen(port, host, resolve);
  });
  return server;
}
