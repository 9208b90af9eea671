import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import { ApiError } from '../../../kubernetes/api-error.ts';
import type { RequestRecord } from '../../../kubernetes/client.ts';
import { KubernetesClient } from '../../../kubernetes/client.ts';
import { startStopwatch, startToCloseGuard, WriteRefusedError } from '../../../kubernetes/write-guard.ts';
import { answer, plainConnection, WatchServer } from '../../support/watch-server.ts';
import type { SeenRequest } from '../../support/watch-server.ts';

const PODS = { group: '', version: 'v1', resource: 'pods', namespace: 'default' };
const POD = { ...PODS, name: 'a' };

let server: WatchServer;
let client: KubernetesClient;
let records: RequestRecord[];

function last(): SeenRequest {
  const request = server.requests.at(-1);
  if (request === undefined) throw new Error('the server saw no request');
  return request;
}

function answerAll(status: number, body: unknown, headers: Record<string, string> = {}): void {
  server.intercept = (_request, response) => {
    answer(response, status, body, headers);
    return true;
  };
}

beforeEach(async () => {
  server = await WatchServer.start();
  records = [];
  client = new KubernetesClient(plainConnection(server.url), { onRequest: (record) => records.push(record) });
});

afterEach(async () => {
  client.close();
  await server.stop();
});

describe('requests', () => {
  it('sends what each verb needs, bigints as numbers (C10)', async () => {
    answerAll(200, { metadata: { name: 'a' } });
    await client.create(
      PODS,
      { revision: 3546343826724305833n },
      { dryRun: true, fieldValidation: 'Strict' },
    );
    expect(last()).toMatchObject({ method: 'POST', body: '{"revision":3546343826724305833}' });
    expect(last().url.href).toContain(
      '/api/v1/namespaces/default/pods?fieldManager=fairlead&fieldValidation=Strict&dryRun=All',
    );
    await client.patch({ ...POD, group: 'apps' }, 'apply', {}, { fieldManager: 'sync', force: true });
    expect(last().url.href).toContain('/apis/apps/v1/namespaces/default/pods/a?fieldManager=sync&force=true');
    expect(last().headers).toMatchObject({
      'content-type': 'application/apply-patch+yaml',
      'user-agent': 'fairlead',
    });
    await client.delete(POD, {
      uid: 'u',
      resourceVersion: '7',
      propagationPolicy: 'Orphan',
      gracePeriodSeconds: 0,
    });
    expect(JSON.parse(last().body)).toEqual({
      apiVersion: 'v1',
      kind: 'DeleteOptions',
      preconditions: { uid: 'u', resourceVersion: '7' },
      propagationPolicy: 'Orphan',
      gracePeriodSeconds: 0,
    });
    await client.get({ ...POD, name: 'a b/c', subresource: 'status' });
    expect(last().url.pathname).toBe('/api/v1/namespaces/default/pods/a%20b%2Fc/status');
    expect(records.map((record) => `${record.method} ${record.resource} ${String(record.status)}`)).toEqual([
      'POST pods 200',
      'PATCH pods.apps 200',
      'DELETE pods 200',
      'GET pods/status 200',
    ]);
  });

  it.each(['/api/v1', '/api/planted', '/apis/planted.example.com/v1', '/apis'])(
    'names no group and version that somebody may have made up in a metric: %s',
    async (path) => {
      answerAll(404, {});
      await client.request({ method: 'GET', path }).catch(() => undefined);
      expect(records.map(({ resource }) => resource)).toEqual([`/${path.split('/')[1] ?? ''}`]);
    },
  );

  it('refuses a path that would leave its place', async () => {
    await expect(client.get({ ...POD, name: '..' })).rejects.toThrow("'..' cannot be a part of a path");
    await expect(client.get({ ...POD, namespace: '' })).rejects.toThrow("'' cannot be a part of a path");
  });

  it('impersonates, and refuses an empty user before anything is sent', async () => {
    answerAll(200, {});
    await client.impersonating('system:serviceaccount:a:b').get(POD);
    expect(last().headers['impersonate-user']).toBe('system:serviceaccount:a:b');
    const sent = server.requests.length;
    expect(() => client.impersonating(' ')).toThrow('an empty user');
    await expect(client.get(POD, { impersonate: '' })).rejects.toThrow('an empty user');
    expect(server.requests).toHaveLength(sent);
  });

  it('reads a list again in one piece when its continue token expires, so that it is of one moment', async () => {
    for (const name of ['a', 'b', 'c']) server.put(name);
    server.intercept = (request, response) => {
      if (!request.url.searchParams.has('continue')) return false;
      answer(response, 410, { kind: 'Status', reason: 'Expired', code: 410, message: 'expired' });
      return true;
    };
    const list = await client.list(PODS, { limit: 2 });
    expect(list.items.map((item) => item.metadata.name)).toEqual(['a', 'b', 'c']);
    expect(server.requests).toHaveLength(3);
    expect(last().url.searchParams.has('limit')).toBe(false);
  });

  it('hands over warnings', async () => {
    const warnings: string[] = [];
    const warned = new KubernetesClient(plainConnection(server.url), {
      onWarning: (text) => warnings.push(text),
    });
    answerAll(200, {}, { warning: '299 - "unknown field \\"a\\"", 299 - "deprecated"' });
    await warned.get(POD);
    expect(warnings).toEqual(['unknown field "a"', 'deprecated']);
    warned.close();
  });

  it('answers that are no JSON are text', async () => {
    server.intercept = (_request, response) => {
      response.writeHead(200, { 'content-type': 'text/plain' }).end('ok');
      return true;
    };
    await expect(client.request({ method: 'GET', path: '/readyz' })).resolves.toBe('ok');
  });
});

describe('failures', () => {
  it('a write whose connection breaks is not sent again; a read on a kept connection is', async () => {
    answerAll(200, {});
    await client.get(POD);
    let broken = 0;
    server.intercept = (request, response) => {
      if (request.method === 'GET' && broken > 0) return answerOk(response);
      broken += 1;
      response.destroy();
      return true;
    };
    await client.get(POD);
    expect(server.requests.map((request) => request.method)).toEqual(['GET', 'GET', 'GET']);
    const failure = await client.create(PODS, {}).catch((error: unknown) => error);
    expect(failure).toMatchObject({ status: 0, reason: 'Network' });
    expect(server.requests.filter((request) => request.method === 'POST')).toHaveLength(1);
  });

  it('gives up after its time, and says where', async () => {
    server.intercept = () => true;
    await expect(client.get(POD, { timeoutMs: 50 })).rejects.toThrow(
      `GET pods default/a at ${server.url}: RequestTimeout: no answer within 50 ms`,
    );
    expect(records).toMatchObject([{ status: 0 }]);
  });

  it('gives up sooner where nobody waits for so long', async () => {
    server.intercept = () => true;
    const hasty = new KubernetesClient(plainConnection(server.url), { longestRequestMs: 50 });
    try {
      await expect(hasty.get(POD)).rejects.toThrow('RequestTimeout: no answer within 50 ms');
      await expect(hasty.get(POD, { timeoutMs: 20 })).rejects.toThrow('no answer within 20 ms');
    } finally {
      hasty.close();
    }
  });

  it('gives up in time also where no connection is free yet', async () => {
    server.intercept = () => true;
    const stop = new AbortController();
    const { signal } = stop;
    let ended = 0;
    const get = async () => await client.get(POD, { signal, timeoutMs: 5_000 }).finally(() => (ended += 1));
    const first = Promise.allSettled(Array.from({ length: 100 }, get));
    while (server.requests.length < 100) await new Promise(setImmediate);
    await expect(client.get(POD, { timeoutMs: 50 })).rejects.toThrow(
      'RequestTimeout: no answer within 50 ms',
    );
    expect(ended).toBe(0);
    const reason = new Error('enough');
    const waiting = client.get(POD, { signal });
    stop.abort(reason);
    await expect(waiting).rejects.toBe(reason);
    await first;
    expect(server.requests).toHaveLength(100);
  });

  it("an abort rejects with the signal's reason, also while the answer is read", async () => {
    const reason = new Error('enough');
    const stop = new AbortController();
    server.intercept = (_request, response) => {
      response.writeHead(200, { 'content-type': 'application/json' }).write('{');
      setTimeout(() => stop.abort(reason), 20);
      return true;
    };
    await expect(client.get(POD, { signal: stop.signal })).rejects.toBe(reason);
    await expect(client.get(POD, { signal: stop.signal })).rejects.toBe(reason);
  });

  it('an answer that is cut or is no JSON is a failure', async () => {
    server.intercept = (_request, response) => {
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': '100' }).write('{');
      response.destroy();
      return true;
    };
    await expect(client.create(PODS, {})).rejects.toMatchObject({ status: 0, reason: 'Network' });
    server.intercept = (_request, response) => {
      response.writeHead(200, { 'content-type': 'application/json' }).end('{"a":');
      return true;
    };
    await expect(client.get(POD)).rejects.toMatchObject({ status: 0, reason: 'BadResponse' });
  });

  it('nothing listens', async () => {
    await server.stop();
    const failure = await client.get(POD).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(ApiError);
    expect(String(failure)).toContain('ECONNREFUSED');
    server = await WatchServer.start();
  });

  it('credentials that do not come keep nobody waiting longer than it may', async () => {
    const waiting = new KubernetesClient({
      ...plainConnection(server.url),
      credentials: { renewable: true, get: async () => await new Promise(() => undefined) },
    });
    await expect(waiting.get(POD, { timeoutMs: 50 })).rejects.toThrow(
      'RequestTimeout: no answer within 50 ms: the credentials are still awaited, nothing was sent',
    );
    const reason = new Error('enough');
    const stop = new AbortController();
    const read = waiting.get(POD, { signal: stop.signal });
    stop.abort(reason);
    await expect(read).rejects.toBe(reason);
    waiting.close();
  });

  it('a 401 is tried once more with fresh credentials', async () => {
    const asked: boolean[] = [];
    const renewing = new KubernetesClient({
      ...plainConnection(server.url),
      credentials: {
        renewable: true,
        get: (refresh) => {
          asked.push(refresh);
          return Promise.resolve({ authorization: refresh ? 'Bearer new' : 'Bearer old' });
        },
      },
    });
    server.intercept = (request, response) => {
      answer(response, request.headers.authorization === 'Bearer new' ? 200 : 401, {});
      return true;
    };
    await renewing.create(PODS, {});
    expect(asked).toEqual([false, true]);
    renewing.close();
  });
});

describe('write guard', () => {
  const refuse = (): void => {
    throw new WriteRefusedError('no');
  };

  it('stops every mutating verb before a byte is sent; reads, dry runs and reviews pass', async () => {
    const guarded = client.withWriteGuard(refuse);
    answerAll(200, {});
    await expect(guarded.create(PODS, {})).rejects.toThrow(WriteRefusedError);
    await expect(guarded.replace(POD, {})).rejects.toThrow(WriteRefusedError);
    await expect(guarded.patch(POD, 'merge', {})).rejects.toThrow(WriteRefusedError);
    await expect(guarded.delete(POD)).rejects.toThrow(WriteRefusedError);
    expect(server.requests).toEqual([]);
    expect(records).toEqual([]);
    await guarded.get(POD);
    await guarded.delete(POD, { dryRun: true });
    await guarded.patch(POD, 'apply', {}, { dryRun: true });
    await guarded.create(
      { group: 'authorization.k8s.io', version: 'v1', resource: 'selfsubjectaccessreviews' },
      {},
    );
    await client.create(PODS, {});
    expect(server.requests).toHaveLength(5);
  });

  it('runs after the connection stands, however long that took', async () => {
    let open = true;
    let asked = 0;
    const guarded = client.withWriteGuard(() => {
      asked += 1;
      if (!open) refuse();
    });
    // More writes than connections: the last one gets its connection only when the first is answered.
    const held: (() => void)[] = [];
    server.intercept = (_request, response) => {
      held.push(() => answer(response, 200, {}));
      return true;
    };
    const writes = Array.from({ length: 101 }, () =>
      guarded.create(PODS, {}).catch((error: unknown) => error),
    );
    while (held.length < 100) await new Promise(setImmediate);
    expect(asked).toBe(100);
    open = false;
    for (const release of held) release();
    const results = await Promise.all(writes);
    expect(asked).toBe(101);
    expect(results[100]).toBeInstanceOf(WriteRefusedError);
    expect(server.requests).toHaveLength(100);
  });

  it('guards add up, and derived clients keep them', async () => {
    answerAll(200, {});
    const order: string[] = [];
    const guarded = new KubernetesClient(plainConnection(server.url), {
      beforeWrite: () => order.push('first'),
    })
      .withWriteGuard(() => order.push('second'))
      .impersonating('someone');
    await guarded.create(PODS, {});
    expect(order).toEqual(['first', 'second']);
    guarded.close();
  });

  it('no write starts after 70 % of startToClose, suspended time included', () => {
    let monotonic = 0;
    let wall = 1_000_000;
    const elapsed = startStopwatch(
      () => monotonic,
      () => wall,
    );
    const guard = startToCloseGuard(10_000, elapsed);
    monotonic = 6999;
    wall -= 3_600_000; // set back by an operator
    expect(guard).not.toThrow();
    wall += 3_600_000 + 7001; // the machine slept: only the wall clock saw it
    expect(guard).toThrow('no write starts after 70 %');
  });
});

function answerOk(response: Parameters<typeof answer>[0]): boolean {
  answer(response, 200, {});
  return true;
}
