/** `/metrics`, `/healthz` and `/readyz` of a worker process. */

import type { Server } from 'node:http';
import { createServer } from 'node:http';

import type { Registry } from 'prom-client';

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
}

/**
 * Starts listening.
 * @throws Error naming the address when it cannot be bound
 */
export async function startHttpServer(options: HttpServerOptions): Promise<Server> {
  const server = createServer((request, response) => {
    // Not `new URL`: it throws for what anybody may ask for (`GET //`), and an error here ends the process.
    const path = (request.url ?? '/').split('?', 1)[0];
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
