/** One HTTP exchange with the apiserver over keep-alive connections. Knows nothing of Kubernetes objects. */

import * as http from 'node:http';
import * as https from 'node:https';
import type { Socket } from 'node:net';
import { createSecureContext } from 'node:tls';
import type { SecureContext } from 'node:tls';

import type { Credentials } from './credentials.ts';
import { DeadlineExceeded, orAborted } from './deadline.ts';
import type { Connection } from './kubeconfig.ts';
import { asError, errorCode } from './values.ts';

/** Requests at once; the apiserver's own limit for one client is far above. */
const MAX_SOCKETS = 100;
/** Below the 90 s after which the apiserver closes idle connections, so that a request rarely meets a closing one. */
const IDLE_SOCKET_MS = 60_000;
/** The kernel notices a dead peer after this plus 10 probes of 1 s. */
const TCP_KEEP_ALIVE_MS = 15_000;

const CLOSED: ReadonlySet<string | undefined> = new Set(['ECONNRESET', 'EPIPE']);

interface Attempt {
  onKeptConnection: boolean;
}

export interface Exchange {
  readonly method: string;
  /** Path and query. */
  readonly target: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
  /** Aborts the exchange, also while the answer is being read; its reason becomes the error. */
  readonly signal: AbortSignal;
  /** Runs when the connection stands, just before the first byte of the request; what it throws is the error. */
  readonly beforeSend?: (() => void) | undefined;
  /** A watch: taken out of the limit of requests at once. */
  readonly streaming?: boolean;
}

/** Connections to one apiserver. */
export class HttpTransport {
  readonly connection: Connection;
  readonly #base: URL;
  readonly #requests: http.Agent;
  readonly #watches: http.Agent;
  /** Sockets whose handshake is done: a request on another one waits for it. */
  readonly #established = new WeakSet<Socket>();
  #secure: { readonly credentials: Credentials; readonly context: SecureContext } | undefined;

  constructor(connection: Connection) {
    this.connection = connection;
    this.#base = new URL(connection.server);
    this.#requests = this.#agent(MAX_SOCKETS);
    this.#watches = this.#agent(Number.POSITIVE_INFINITY);
  }

  #agent(maxSockets: number): http.Agent {
    const options = { keepAlive: true, maxSockets, timeout: IDLE_SOCKET_MS, scheduling: 'lifo' as const };
    if (this.#base.protocol === 'http:') return new http.Agent(options);
    const { ca, serverName, insecure } = this.connection.tls;
    return new https.Agent({
      ...options,
      ...(ca === undefined ? {} : { ca }),
      ...(serverName === undefined ? {} : { servername: serverName }),
      rejectUnauthorized: !insecure,
    });
  }

  /**
   * Sends the request and resolves with the answer's head; the caller reads the body. Rejects with the error of the
   * socket, of `beforeSend`, or the signal's reason. A 401 is tried once more with fresh credentials.
   */
  async send(exchange: Exchange): Promise<http.IncomingMessage> {
    const attempt: Attempt = { onKeptConnection: false };
    const first = await this.#sendOnce(exchange, false, attempt).catch((error: unknown) => {
      // The server closed the kept connection at the moment we used it. A read is safe to send again.
      const closed = attempt.onKeptConnection && !exchange.signal.aborted && CLOSED.has(errorCode(error));
      if (!closed || exchange.method !== 'GET') throw error;
      return this.#sendOnce(exchange, false, attempt);
    });
    if (first.statusCode !== 401 || !this.connection.credentials.renewable) return first;
    first.resume();
    return this.#sendOnce(exchange, true, attempt);
  }

  async #sendOnce(exchange: Exchange, refresh: boolean, attempt: Attempt): Promise<http.IncomingMessage> {
    const credentials = await this.#credentials(refresh, exchange.signal);
    exchange.signal.throwIfAborted();
    const headers: Record<string, string> = { ...exchange.headers };
    if (credentials.authorization !== undefined) headers['authorization'] = credentials.authorization;
    if (exchange.body !== undefined) headers['content-length'] = String(Buffer.byteLength(exchange.body));
    const secure = this.#base.protocol === 'https:';
    const options: https.RequestOptions = {
      method: exchange.method,
      protocol: this.#base.protocol,
      hostname: this.#base.hostname.replace(/^\[(.*)\]$/, '$1'),
      port: this.#base.port === '' ? (secure ? 443 : 80) : this.#base.port,
      path: this.#base.pathname.replace(/\/$/, '') + exchange.target,
      headers,
      agent: exchange.streaming === true ? this.#watches : this.#requests,
      ...(secure && credentials.cert !== undefined ? { cert: credentials.cert } : {}),
      ...(secure && credentials.key !== undefined ? { key: credentials.key } : {}),
      ...(secure && { secureContext: this.#secureContext(credentials) }),
    };
    return new Promise((resolve, reject) => {
      const request = secure ? https.request(options) : http.request(options);
      const { signal } = exchange;
      let response: http.IncomingMessage | undefined;
      const abort = (): void => {
        const reason = asError(signal.reason);
        // Once the head is there the error must reach whoever reads the body.
        (response ?? request).destroy(reason);
        // One that still waits for a free connection would tell of it only when it gets one.
        reject(reason);
      };
      signal.addEventListener('abort', abort, { once: true });
      request.once('close', () => signal.removeEventListener('abort', abort));
      request.once('response', (head) => {
        response = head;
        resolve(head);
      });
      request.on('error', (error) => reject(signal.aborted ? asError(signal.reason) : error));
      request.once('socket', (socket) => {
        const send = (): void => {
          this.#established.add(socket);
          try {
            exchange.beforeSend?.();
          } catch (error) {
            request.destroy(asError(error));
            return;
          }
          request.end(exchange.body);
        };
        attempt.onKeptConnection = this.#established.has(socket);
        if (attempt.onKeptConnection) {
          send();
          return;
        }
        socket.setKeepAlive(true, TCP_KEEP_ALIVE_MS);
        socket.once(secure ? 'secureConnect' : 'connect', send);
      });
    });
  }

  /** All requests share what is being made of them; none waits longer for it than it may. */
  async #credentials(refresh: boolean, signal: AbortSignal): Promise<Credentials> {
    try {
      return await orAborted(this.connection.credentials.get(refresh), signal);
    } catch (error) {
      if (!(error instanceof DeadlineExceeded)) throw error;
      throw new DeadlineExceeded(`${error.message}: the credentials are still awaited, nothing was sent`);
    }
  }

  /** Certificates and key, read once for all connections with them: for each anew it would take longer than the handshake. */
  #secureContext(credentials: Credentials): SecureContext {
    const { cert, key } = credentials;
    const kept = this.#secure;
    if (kept !== undefined && kept.credentials.cert === cert && kept.credentials.key === key)
      return kept.context;
    const context = createSecureContext({ ca: this.connection.tls.ca, cert, key });
    this.#secure = { credentials, context };
    return context;
  }

  /** Closes idle connections and cuts those in use. */
  close(): void {
    this.#requests.destroy();
    this.#watches.destroy();
  }
}
