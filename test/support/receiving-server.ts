/** A server that others post to: keeps what it got, and answers as it is told. */

import { once } from 'node:events';
import { createServer } from 'node:http';
import type { IncomingHttpHeaders, Server } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Received {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

export class ReceivingServer {
  readonly received: Received[] = [];
  /** Status of the next answers; the last one stays. `hang`: none. `reset`: the connection ends. */
  readonly answers: (number | 'hang' | 'reset')[] = [200];
  /** Header of each answer. */
  retryAfter: string | undefined;
  /** Milliseconds that each answer takes. */
  answerAfterMs = 0;
  readonly #server: Server;

  private constructor() {
    this.#server = createServer((request, response) => {
      let body = '';
      request.setEncoding('utf8').on('data', (text: string) => (body += text));
      request.on('end', () => {
        this.received.push({ path: request.url ?? '', headers: request.headers, body });
        const answer = this.answers.length > 1 ? this.answers.shift() : this.answers[0];
        if (answer === 'reset') request.socket.destroy();
        if (typeof answer !== 'number') return;
        setTimeout(() => {
          const { retryAfter } = this;
          const asked = retryAfter === undefined ? {} : { 'retry-after': retryAfter };
          response.writeHead(answer, { location: '/elsewhere', ...asked }).end('answer');
        }, this.answerAfterMs);
      });
    });
  }

  static async start(): Promise<ReceivingServer> {
    const server = new ReceivingServer();
    server.#server.listen(0, '127.0.0.1');
    await once(server.#server, 'listening');
    return server;
  }

  url(path = ''): string {
    return `http://127.0.0.1:${String((this.#server.address() as AddressInfo).port)}${path}`;
  }

  async stop(): Promise<void> {
    this.#server.close();
    this.#server.closeAllConnections();
    await once(this.#server, 'close');
  }
}
