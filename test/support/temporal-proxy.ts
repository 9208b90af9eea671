/**
 * A cleartext HTTP/2 proxy between one worker and the Temporal server. Every gRPC call of the worker is unary, so requests
 * and answers are taken in whole; long polls simply stay open. It names each call, and can act before a call is forwarded or
 * after the server has answered it but before the worker learns of that.
 */

import { connect, constants, createServer } from 'node:http2';
import type {
  ClientHttp2Session,
  ClientHttp2Stream,
  Http2Server,
  IncomingHttpHeaders,
  ServerHttp2Session,
  ServerHttp2Stream,
} from 'node:http2';
import type { AddressInfo } from 'node:net';

import type { Side } from './api-proxy.ts';
import { TemporalCallNames } from './temporal-call-names.ts';
import type { CallName } from './temporal-call-names.ts';

/** A call that means something for a rollout: polls only if they bring a task, heartbeats and descriptions not at all. */
export interface TemporalCall extends CallName {
  /** From 1, over all calls with this key. */
  readonly occurrence: number;
  /** Milliseconds since the epoch. */
  readonly at: number;
}

export interface TemporalProxyOptions {
  /** `host:port` of the server. */
  readonly address: string;
  /**
   * `before` when the request is complete and not forwarded yet, `after` when the answer is complete and not passed on yet. Called
   * synchronously; a promise holds the call up until it is settled. A poll that brought a task is only known `after`.
   */
  readonly onCall?: (call: TemporalCall, side: Side) => void | Promise<void>;
}

const { HTTP2_HEADER_PATH, NGHTTP2_CANCEL, NGHTTP2_NO_ERROR, NGHTTP2_INTERNAL_ERROR } = constants;

export class TemporalProxy {
  /** Every meaningful call that came, in order. */
  readonly calls: TemporalCall[] = [];
  readonly #options: TemporalProxyOptions;
  readonly #server: Http2Server;
  readonly #names = new TemporalCallNames();
  readonly #occurrences = new Map<string, number>();
  /** The server's session for each of the worker's. */
  readonly #sessions = new Map<ServerHttp2Session, ClientHttp2Session>();
  #closedToWorker = false;

  private constructor(options: TemporalProxyOptions) {
    this.#options = options;
    this.#server = createServer();
    this.#server.on('session', (session) => {
      if (this.#closedToWorker) {
        session.destroy();
        return;
      }
      const upstream = connect(`http://${options.address}`);
      this.#sessions.set(session, upstream);
      // Either end gone means the connection is gone; streams in flight learn of it by their own close.
      session.on('error', () => session.destroy());
      upstream.on('error', () => upstream.destroy());
      session.once('close', () => {
        this.#sessions.delete(session);
        upstream.destroy();
      });
      // The server renews connections every few minutes: calls in flight end, new ones get a new connection.
      upstream.once('goaway', () => session.close());
      upstream.once('close', () => session.destroy());
    });
    this.#server.on('stream', (stream, headers) => {
      this.#handle(stream, headers).catch(() => {
        if (!stream.destroyed) {
          stream.close(NGHTTP2_INTERNAL_ERROR);
        }
      });
    });
  }

  /** Listens on a free port of the loopback interface. */
  static async start(options: TemporalProxyOptions): Promise<TemporalProxy> {
    const proxy = new TemporalProxy(options);
    await new Promise<void>((resolve, reject) => {
      proxy.#server.once('error', reject);
      proxy.#server.listen(0, '127.0.0.1', resolve);
    });
    return proxy;
  }

  /** For TEMPORAL_ADDRESS. */
  get address(): string {
    return `127.0.0.1:${String((this.#server.address() as AddressInfo).port)}`;
  }

  /** Counts from 1 again: what came so far was preparation. */
  restartCounts(): void {
    this.#occurrences.clear();
    this.calls.length = 0;
  }

  /** Cuts every connection of the worker and takes no new one: what a killed worker still has in flight is lost. */
  closeToWorker(): void {
    this.#closedToWorker = true;
    for (const session of this.#sessions.keys()) {
      session.destroy();
    }
  }

  /** For the next worker; the counts go on. */
  openToWorker(): void {
    this.#closedToWorker = false;
  }

  async close(): Promise<void> {
    this.closeToWorker();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }

  async #handle(stream: ServerHttp2Stream, headers: IncomingHttpHeaders): Promise<void> {
    stream.on('error', () => stream.destroy());
    const upstream =
      stream.session === undefined ? undefined : this.#sessions.get(stream.session as ServerHttp2Session);
    const path = String(headers[HTTP2_HEADER_PATH] ?? '');
    const method = path.slice(path.lastIndexOf('/') + 1);
    const request = await readAll(stream);
    if (upstream === undefined || upstream.destroyed || this.#closedToWorker || stream.destroyed) {
      stream.destroy();
      return;
    }
    const asked = this.#count(this.#names.ofRequest(method, request, headers));
    if (asked !== undefined) {
      await this.#options.onCall?.(asked, 'before');
      if (this.#closedToWorker) {
        stream.destroy();
        return;
      }
    }
    const answer = await this.#forward(upstream, stream, headers, request);
    const call = asked ?? this.#count(this.#names.ofAnswer(method, answer.body, answer.headers));
    if (call !== undefined) {
      await this.#options.onCall?.(call, 'after');
    }
    if (this.#closedToWorker || stream.destroyed) {
      stream.destroy();
      return;
    }
    respond(stream, answer);
  }

  #count(name: CallName | undefined): TemporalCall | undefined {
    if (name === undefined) {
      return undefined;
    }
    const occurrence = (this.#occurrences.get(name.key) ?? 0) + 1;
    this.#occurrences.set(name.key, occurrence);
    const call = { ...name, occurrence, at: Date.now() };
    this.calls.push(call);
    return call;
  }

  async #forward(
    upstream: ClientHttp2Session,
    stream: ServerHttp2Stream,
    headers: IncomingHttpHeaders,
    body: Buffer,
  ): Promise<Answer> {
    const outgoing = upstream.request(headers, { endStream: false });
    // The worker gave up (a deadline, a shutdown): so does the call.
    stream.once('close', () => {
      if (!outgoing.closed) {
        outgoing.close(NGHTTP2_CANCEL);
      }
    });
    outgoing.end(body);
    return await readAnswer(outgoing);
  }
}

interface Answer {
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  /** Undefined when the answer was headers only ("trailers-only" of gRPC). */
  readonly trailers: IncomingHttpHeaders | undefined;
}

async function readAnswer(outgoing: ClientHttp2Stream): Promise<Answer> {
  return await new Promise((resolve, reject) => {
    let headers: IncomingHttpHeaders | undefined;
    let trailers: IncomingHttpHeaders | undefined;
    const chunks: Buffer[] = [];
    outgoing.once('response', (received) => {
      headers = received;
    });
    outgoing.once('trailers', (received) => {
      trailers = received;
    });
    outgoing.on('data', (chunk: Buffer) => chunks.push(chunk));
    outgoing.once('error', reject);
    outgoing.once('close', () => {
      if (headers === undefined || outgoing.rstCode !== NGHTTP2_NO_ERROR) {
        reject(new Error(`the server ended the call with code ${String(outgoing.rstCode)}`));
      } else {
        resolve({ headers, body: Buffer.concat(chunks), trailers });
      }
    });
  });
}

function respond(stream: ServerHttp2Stream, { headers, body, trailers }: Answer): void {
  if (trailers === undefined) {
    stream.respond(headers, { endStream: body.length === 0 });
    if (body.length > 0) {
      stream.end(body);
    }
    return;
  }
  stream.respond(headers, { waitForTrailers: true });
  stream.once('wantTrailers', () => stream.sendTrailers(trailers));
  stream.end(body);
}

async function readAll(stream: ServerHttp2Stream): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) {
    chunks.push(chunk as Buffer);
  }
  return Buffer.concat(chunks);
}
