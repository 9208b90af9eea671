/** The proxy that crashes are made with: what it sees, what it lets through, and when. */

import { createServer, request as httpRequest } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

import { afterEach, describe, expect, it } from '@jest/globals';

import { ApiProxy } from '../../support/api-proxy.ts';
import type { ApiProxyOptions } from '../../support/api-proxy.ts';
import { describeWrite } from '../../support/api-write.ts';

const open: (Server | ApiProxy)[] = [];

afterEach(async () => {
  for (const one of open.splice(0).reverse()) {
    if (one instanceof ApiProxy) {
      await one.close();
    } else {
      one.closeAllConnections();
      await new Promise((resolve) => one.close(resolve));
    }
  }
});

async function setUp(
  answer: (request: IncomingMessage, response: ServerResponse) => void,
  options: Omit<ApiProxyOptions, 'server' | 'ca'> = {},
): Promise<{ readonly proxy: ApiProxy; readonly seen: string[] }> {
  const seen: string[] = [];
  const server = createServer((request, response) => {
    seen.push(`${String(request.method)} ${String(request.url)} ${request.headers.authorization ?? ''}`);
    request.resume();
    answer(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const proxy = await ApiProxy.start({
    server: `http://127.0.0.1:${String(port)}`,
    ca: Buffer.alloc(0),
    ...options,
  });
  open.push(server, proxy);
  return { proxy, seen };
}

const created = (_: IncomingMessage, response: ServerResponse) =>
  void response.writeHead(201).end('{"made":true}');

async function remove(proxy: ApiProxy, pod = 'web-3'): Promise<Response> {
  return await fetch(`${proxy.url}/api/v1/namespaces/ns/pods/${pod}`, {
    method: 'DELETE',
    headers: { authorization: 'Bearer t' },
  });
}

describe('API proxy', () => {
  it('forwards a write with its bearer, and counts it on both sides', async () => {
    const passed: string[] = [];
    const { proxy, seen } = await setUp(created, {
      onWrite: ({ key, occurrence }, side) => {
        passed.push(`${side} ${key} #${String(occurrence)}`);
        return undefined;
      },
    });
    const first = await remove(proxy);
    await remove(proxy);

    expect([first.status, await first.json()]).toEqual([201, { made: true }]);
    expect(seen[0]).toBe('DELETE /api/v1/namespaces/ns/pods/web-3 Bearer t');
    expect(passed).toEqual([
      'before delete pods web-3 #1',
      'after delete pods web-3 #1',
      'before delete pods web-3 #2',
      'after delete pods web-3 #2',
    ]);
    expect(proxy.writes.map(({ number, status }) => [number, status])).toEqual([
      [1, 201],
      [2, 201],
    ]);
  });

  it('counts a write that meets a conflict and its next try as one', async () => {
    const answers = [200, 409, 200, 200];
    const counted: number[] = [];
    const { proxy } = await setUp(
      (_, response) => void response.writeHead(answers.shift() as number).end('{}'),
      {
        onWrite: ({ occurrence }, side) => {
          if (side === 'after') counted.push(occurrence);
          return undefined;
        },
      },
    );
    for (let left = answers.length; left > 0; left -= 1) await remove(proxy);
    expect(counted).toEqual([1, 2, 2, 3]);
  });

  it('stopped before: the apiserver never sees it; stopped after: it does, and the worker does not learn of it', async () => {
    for (const stop of ['before', 'after']) {
      const { proxy, seen } = await setUp(created, {
        onWrite: (_, side) => (side === stop ? (proxyOf().closeToWorker(), undefined) : undefined),
      });
      const proxyOf = () => proxy;

      await expect(remove(proxy)).rejects.toThrow('fetch failed');
      expect(seen).toHaveLength(stop === 'before' ? 0 : 1);
      await expect(remove(proxy)).rejects.toThrow('fetch failed');
      proxy.openToWorker();
      expect((await fetch(`${proxy.url}/version`)).status).toBe(201);
    }
  });

  it('answers for the apiserver: throttled, broken, late, cut', async () => {
    const faults = [
      { fault: 'answer', status: 429, retryAfterSeconds: 3 },
      { fault: 'answer', status: 503 },
      { fault: 'delay', milliseconds: 120 },
      { fault: 'drop' },
    ] as const;
    const { proxy, seen } = await setUp(created, {
      onWrite: ({ number }, side) => (side === 'before' ? faults[number - 1] : undefined),
    });
    const throttled = await remove(proxy);
    expect([throttled.status, throttled.headers.get('retry-after')]).toEqual([429, '3']);
    expect(await throttled.json()).toMatchObject({ kind: 'Status', code: 429 });
    expect((await remove(proxy)).status).toBe(503);
    const began = performance.now();
    expect((await remove(proxy)).status).toBe(201);
    expect(performance.now() - began).toBeGreaterThanOrEqual(115);
    await expect(remove(proxy)).rejects.toThrow('fetch failed');
    expect(seen).toHaveLength(1);
  });

  it('lets watches stream, and cuts them', async () => {
    let send: (text: string) => void = () => undefined;
    const { proxy } = await setUp((_, response) => {
      response.writeHead(200);
      send = (text) => void response.write(text);
      send('one\n');
    });
    const events: string[] = [];
    const ended = await new Promise<string>((resolve, reject) => {
      const outgoing = httpRequest(`${proxy.url}/api/v1/pods?watch=true`, (response) => {
        response.setEncoding('utf8').on('data', (text: string) => {
          events.push(text);
          if (events.length === 1) {
            send('two\n');
          } else {
            events.push(`cut ${String(proxy.cutWatches())}`);
          }
        });
        response.once('error', (error) => resolve(error.message));
        response.once('end', () => resolve('end'));
      });
      outgoing.once('error', reject).end();
    });

    expect(events).toEqual(['one\n', 'two\n', 'cut 1']);
    expect(ended).toBe('aborted');
    expect(proxy.writes).toEqual([]);
  });

  it('does not count what the clock does, or what changes nothing', async () => {
    const { proxy, seen } = await setUp(created);
    await fetch(`${proxy.url}/apis/coordination.k8s.io/v1/namespaces/ns/leases/l`, {
      method: 'PUT',
      body: '{}',
    });
    await fetch(`${proxy.url}/api/v1/namespaces/ns/pods?dryRun=All`, { method: 'POST', body: '{}' });
    const maps = `${proxy.url}/api/v1/namespaces/ns/configmaps`;
    const make = async (name: string) =>
      await fetch(maps, { method: 'POST', body: JSON.stringify({ metadata: { name } }) });
    await make('fairlead-two.repositories');
    await fetch(`${maps}/fairlead-two.repositories`, { method: 'PUT', body: '{}' });

    expect(seen).toHaveLength(4);
    expect(proxy.writes).toEqual([]);
    await make('fairlead-two');
    expect(proxy.writes.map(({ key }) => key)).toEqual(['create configmaps fairlead-two']);
  });
});

describe('names of writes', () => {
  const path = (text: string) => new URL(text, 'http://x');
  const gate = (status: string) => ({ status: { conditions: [{ type: 'InPlaceUpdateReady', status }] } });
  const mark = (value: string | null) => ({
    metadata: { annotations: { 'fairlead.dev/in-place-update': value } },
  });

  it.each([
    ['POST', '/api/v1/namespaces/n/pods', { metadata: { name: 'web-0' } }, 'create pods web-0'],
    ['DELETE', '/api/v1/namespaces/n/pods/web-0', {}, 'delete pods web-0'],
    [
      'POST',
      '/api/v1/namespaces/n/events',
      { reason: 'Killing', metadata: { name: 'x.1' } },
      'create events Killing',
    ],
    [
      'PATCH',
      '/apis/fairlead.dev/v1beta1/namespaces/n/statefulsets/web/status',
      {},
      'patch statefulsets/status web',
    ],
    [
      'PATCH',
      '/api/v1/namespaces/n/pods/w/status',
      { ...gate('False'), ...mark('{}') },
      'patch pods/status gate=False,marked w',
    ],
    ['PATCH', '/api/v1/namespaces/n/pods/w', { ...mark('{}'), spec: {} }, 'patch pods marked,spec w'],
    [
      'PATCH',
      '/api/v1/namespaces/n/pods/w/status',
      { ...gate('True'), ...mark(null) },
      'patch pods/status gate=True,done w',
    ],
    ['PATCH', '/api/v1/nodes/node-1', {}, 'patch nodes node-1'],
  ])('%s %s %j is "%s"', (method, url, body, key) => {
    expect(describeWrite(method, path(url), Buffer.from(JSON.stringify(body))).key).toBe(key);
  });

  it('a delete tells which object it is for', () => {
    const body = { kind: 'DeleteOptions', preconditions: { uid: 'u1', resourceVersion: '7' } };
    const url = path('/api/v1/namespaces/n/secrets/token');
    expect(describeWrite('DELETE', url, Buffer.from(JSON.stringify(body))).uid).toBe('u1');
    expect(describeWrite('PATCH', url, Buffer.from(JSON.stringify(body))).uid).toBeUndefined();
  });
});
