/** One Lease behind HTTP, with optimistic locking, that can refuse, delay, and lose answers. */

import type { ServerResponse } from 'node:http';

import { parseJson } from '../../kubernetes/json.ts';
import { trusted } from '../../kubernetes/values.ts';
import type { Lease } from '../../kubernetes/lease.ts';
import { answer, WatchServer } from './watch-server.ts';
import type { SeenRequest } from './watch-server.ts';

type Fault = 'refuse' | 'lose-answer' | 'hold';

export class LeaseServer {
  lease: Lease | undefined;
  /** Successful writes. */
  writes = 0;
  /** Requests since the start, those that failed included. */
  requests = 0;
  /** What happens to writes. */
  fault: Fault | undefined;
  readonly held: (() => void)[] = [];
  readonly #server: WatchServer;
  #version = 1;

  private constructor(server: WatchServer) {
    this.#server = server;
    server.intercept = (request, response) => {
      this.#receive(request, response);
      return true;
    };
  }

  static async start(): Promise<LeaseServer> {
    return new LeaseServer(await WatchServer.start());
  }

  get url(): string {
    return this.#server.url;
  }

  stop(): Promise<void> {
    return this.#server.stop();
  }

  /** Somebody else writes the Lease. */
  change(spec: Lease['spec']): void {
    if (this.lease === undefined) throw new Error('there is no Lease to change');
    this.#store({ ...this.lease, spec: { ...this.lease.spec, ...spec } });
  }

  #receive(request: SeenRequest, response: ServerResponse): void {
    // Whatever else is sent here is never answered.
    if (!request.url.pathname.includes('/leases')) return;
    this.requests += 1;
    if (request.method === 'GET') {
      if (this.lease === undefined) refuse(response, 404, 'NotFound');
      else answer(response, 200, this.lease);
      return;
    }
    if (this.fault === 'refuse') {
      refuse(response, 500, 'InternalError');
      return;
    }
    if (this.fault === 'hold') {
      this.held.push(() => this.#write(request, response));
      return;
    }
    this.#write(request, response);
  }

  #write(request: SeenRequest, response: ServerResponse): void {
    const sent = trusted<Lease>(parseJson(request.body));
    const taken = request.method === 'POST' && this.lease !== undefined;
    const stale =
      request.method === 'PUT' && this.lease?.metadata.resourceVersion !== sent.metadata.resourceVersion;
    if (taken || stale) {
      refuse(response, 409, taken ? 'AlreadyExists' : 'Conflict');
      return;
    }
    this.#store(sent);
    this.writes += 1;
    if (this.fault === 'lose-answer') {
      this.fault = undefined;
      response.destroy();
    } else answer(response, 200, this.lease);
  }

  #store(lease: Lease): void {
    this.#version += 1;
    this.lease = { ...lease, metadata: { ...lease.metadata, resourceVersion: String(this.#version) } };
  }
}

function refuse(response: ServerResponse, code: number, reason: string): void {
  answer(response, code, { kind: 'Status', code, reason, message: reason });
}
