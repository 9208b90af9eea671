import type { ServerResponse } from 'node:http';

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import { ApiError } from '../../../kubernetes/api-error.ts';
import { KubernetesClient } from '../../../kubernetes/client.ts';
import { assertNoOtherOwner, isCanary } from '../../../worker/other-owner.ts';
import { eventually } from '../../support/eventually.ts';
import type { SeenRequest } from '../../support/watch-server.ts';
import { WatchServer, answer, plainConnection } from '../../support/watch-server.ts';

const NAMESPACE = 'fairlead-system';
const NAME = 'fairlead-canary';

/** An apiserver that has one object of each kind at most; who watches is told of all of them, by their names. */
class Ground {
  readonly server: WatchServer;
  readonly client: KubernetesClient;
  /** Plural → generation of its canary. */
  readonly canaries = new Map<string, number>();
  /** Plurals whose controller runs. */
  readonly kept = new Set<string>();
  /** Called before a write is done; true = it has been answered. */
  before: ((method: string, plural: string, response: ServerResponse) => boolean) | undefined;

  constructor(server: WatchServer) {
    this.server = server;
    this.client = new KubernetesClient(plainConnection(server.url));
    server.intercept = (request, response) => this.#answer(request, response);
  }

  /** Method and plural of the writes so far. */
  get writes(): readonly string[] {
    return this.server.requests
      .filter(({ method }) => method !== 'GET')
      .map(({ method, url }) => `${method} ${pluralOf(url)}`);
  }

  #answer({ method, url }: SeenRequest, response: ServerResponse): boolean {
    if (url.searchParams.has('watch')) return this.#watch(pluralOf(url), response);
    const plural = pluralOf(url);
    if (this.before?.(method, plural, response) === true) return true;
    const generation = this.canaries.get(plural);
    if (method === 'POST' && generation !== undefined) {
      answer(response, 409, { kind: 'Status', code: 409, reason: 'AlreadyExists' });
    } else if (method === 'POST' || method === 'PATCH') {
      const next = (generation ?? 0) + 1;
      this.canaries.set(plural, next);
      answer(response, 200, canary(next, next - 1));
    } else if (method === 'DELETE') {
      this.canaries.delete(plural);
      answer(response, 200, {});
    } else {
      answer(response, 200, canary(generation ?? 1, generation ?? 0));
    }
    return true;
  }

  #watch(plural: string, response: ServerResponse): boolean {
    response.writeHead(200, { 'content-type': 'application/json' });
    response.flushHeaders();
    const generation = this.canaries.get(plural) ?? 0;
    if (this.kept.has(plural)) {
      response.write(`${JSON.stringify({ type: 'MODIFIED', object: canary(generation, generation) })}\n`);
    }
    return true;
  }
}

function pluralOf(url: URL): string {
  return /\/namespaces\/fairlead-system\/([^/]+)/.exec(url.pathname)?.[1] ?? '';
}

function canary(generation: number, observedGeneration: number): object {
  return {
    metadata: { name: NAME, namespace: NAMESPACE, uid: 'u', resourceVersion: '7', generation },
    status: { observedGeneration },
  };
}

let ground: Ground;
beforeEach(async () => {
  ground = new Ground(await WatchServer.start());
});
afterEach(async () => {
  ground.client.close();
  await ground.server.stop();
});

/** Whoever is there must be heard within it, on a busy machine too. */
const HEARD_MS = 3000;

async function look({ signal = new AbortController().signal, windowMs = 300 } = {}): Promise<void> {
  await assertNoOtherOwner({ client: ground.client, namespace: NAMESPACE, signal, windowMs });
}

describe('another controller of apps/v1', () => {
  it('is none when nobody says within the window that it has seen a canary', async () => {
    const started = performance.now();
    await look();
    expect(performance.now() - started).toBeGreaterThan(290);
    expect([...ground.writes].sort()).toEqual(
      ['DELETE', 'POST'].flatMap((verb) =>
        ['daemonsets', 'deployments', 'statefulsets'].map((one) => `${verb} ${one}`),
      ),
    );
  });

  it('is found by what it keeps, and told with the flag that switches it off', async () => {
    ground.kept.add('daemonsets').add('deployments');
    const error = await look({ windowMs: HEARD_MS }).catch((caught: unknown) => caught);
    expect(String(error)).toContain('DaemonSet, Deployment of apps/v1');
    expect(String(error)).not.toContain('StatefulSet,');
    expect(String(error)).toContain(
      '--controllers=*,-daemonset-controller,-statefulset-controller,-deployment-controller',
    );
    expect([...ground.canaries]).toEqual([]);
  });

  it('is not believed to be there because a canary of a killed worker was seen once', async () => {
    ground.canaries.set('statefulsets', 1);
    await look();
    expect(ground.writes).toContain('PATCH statefulsets');
    expect([...ground.canaries]).toEqual([]);
  });

  it('is found by a canary of a killed worker, too', async () => {
    ground.canaries.set('statefulsets', 1);
    ground.kept.add('statefulsets');
    await expect(look({ windowMs: HEARD_MS })).rejects.toThrow('StatefulSet of apps/v1');
  });

  it('cannot be found out where canaries are refused: the words of the apiserver, and none is left', async () => {
    ground.before = (method, plural, response) => {
      if (method !== 'POST' || plural !== 'deployments') return false;
      answer(response, 403, { kind: 'Status', code: 403, reason: 'Forbidden', message: 'no canaries' });
      return true;
    };
    const error = await look().catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(ApiError);
    expect(String(error)).toContain('no canaries');
    expect([...ground.canaries]).toEqual([]);
  });

  it('is looked for during a whole window after the apiserver was away', async () => {
    let refusals = 2;
    ground.before = (method, plural, response) => {
      if (method !== 'POST' || plural !== 'deployments' || refusals === 0) return false;
      refusals -= 1;
      ground.kept.add('deployments');
      answer(response, 503, { kind: 'Status', code: 503, reason: 'ServiceUnavailable', message: 'away' });
      return true;
    };
    await expect(look({ windowMs: HEARD_MS })).rejects.toThrow('Deployment of apps/v1');
    expect(refusals).toBe(0);
  });

  it('is not looked for any longer by a worker that stops; its canaries go', async () => {
    const stopping = new AbortController();
    const looking = look({ signal: stopping.signal, windowMs: 60_000 }).catch((caught: unknown) => caught);
    await eventually('all canaries are there', () => ground.canaries.size === 3);
    stopping.abort(new Error('stopped'));
    expect(String(await looking)).toContain('stopped');
    expect([...ground.canaries]).toEqual([]);
  });
});

describe('a canary', () => {
  it('is told by its name in the namespace of workers alone', () => {
    expect(isCanary(`Deployment/${NAMESPACE}/${NAME}`, NAMESPACE)).toBe(true);
    expect(isCanary(`Deployment/shop/${NAME}`, NAMESPACE)).toBe(false);
    expect(isCanary(`Deployment/${NAMESPACE}/web`, NAMESPACE)).toBe(false);
  });
});
