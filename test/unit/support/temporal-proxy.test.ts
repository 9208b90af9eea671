/** The proxy between a worker and Temporal: unary calls with their trailers, long polls, and the names of calls. */

import { connect, createServer } from 'node:http2';
import type { ClientHttp2Session, Http2Server, IncomingHttpHeaders, ServerHttp2Stream } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';

import proto from '@temporalio/proto';
import { afterEach, describe, expect, it } from '@jest/globals';

import { TemporalProxy } from '../../support/temporal-proxy.ts';
import type { TemporalProxyOptions } from '../../support/temporal-proxy.ts';

const service = proto.temporal.api.workflowservice.v1;
const closers: (() => Promise<void> | void)[] = [];

afterEach(async () => {
  for (const close of closers.splice(0).reverse()) {
    await close();
  }
});

function frame(message: Uint8Array, compressed = false): Buffer {
  const payload = compressed ? gzipSync(message) : Buffer.from(message);
  const head = Buffer.alloc(5);
  head.writeUInt8(compressed ? 1 : 0);
  head.writeUInt32BE(payload.length, 1);
  return Buffer.concat([head, payload]);
}

function answer(stream: ServerHttp2Stream, message: Uint8Array, compressed = false): void {
  stream.respond(
    { ':status': 200, ...(compressed && { 'grpc-encoding': 'gzip' }) },
    { waitForTrailers: true },
  );
  stream.once('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
  stream.end(frame(message, compressed));
}

async function setUp(
  handle: (stream: ServerHttp2Stream, method: string) => void,
  onCall?: TemporalProxyOptions['onCall'],
): Promise<{ readonly proxy: TemporalProxy; readonly session: ClientHttp2Session; readonly seen: string[] }> {
  const seen: string[] = [];
  const server: Http2Server = createServer();
  const sessions = new Set<{ destroy(): void }>();
  server.on('session', (session) => sessions.add(session));
  server.on('stream', (stream, headers) => {
    const method = String(headers[':path']).split('/').at(-1) ?? '';
    seen.push(method);
    stream.on('error', () => undefined);
    handle(stream, method);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = `127.0.0.1:${String((server.address() as AddressInfo).port)}`;
  const proxy = await TemporalProxy.start({ address, ...(onCall && { onCall }) });
  const session = connect(`http://${proxy.address}`);
  session.on('error', () => undefined);
  closers.push(
    () => {
      for (const one of sessions) {
        one.destroy();
      }
      server.close();
    },
    async () => await proxy.close(),
    () => session.destroy(),
  );
  return { proxy, session, seen };
}

interface Result {
  readonly headers: IncomingHttpHeaders | undefined;
  readonly trailers: IncomingHttpHeaders | undefined;
  readonly body: Buffer;
}

async function call(
  session: ClientHttp2Session,
  method: string,
  message: Uint8Array = new Uint8Array(),
): Promise<Result> {
  const stream = session.request({
    ':method': 'POST',
    ':path': `/temporal.api.workflowservice.v1.WorkflowService/${method}`,
  });
  const chunks: Buffer[] = [];
  let headers: IncomingHttpHeaders | undefined;
  let trailers: IncomingHttpHeaders | undefined;
  stream.on('response', (received) => void (headers = received));
  stream.on('trailers', (received) => void (trailers = received));
  stream.on('data', (chunk: Buffer) => chunks.push(chunk));
  stream.on('error', () => undefined);
  stream.end(frame(message));
  await new Promise((resolve) => stream.once('close', resolve));
  return { headers, trailers, body: Buffer.concat(chunks) };
}

const token = Buffer.from('token-1');
const task = service.PollActivityTaskQueueResponse.encode({
  taskToken: token,
  activityType: { name: 'updateBatch' },
}).finish();
const completed = service.RespondActivityTaskCompletedRequest.encode({ taskToken: token }).finish();

describe('Temporal proxy', () => {
  it('passes message and trailers on', async () => {
    const { session } = await setUp((stream) => answer(stream, Buffer.from('hello')));
    const { headers, trailers, body } = await call(session, 'GetSystemInfo');

    expect(headers?.[':status']).toBe(200);
    expect(trailers?.['grpc-status']).toBe('0');
    expect(body.subarray(5).toString()).toBe('hello');
  });

  it('passes an error without a message on: headers only', async () => {
    const { session } = await setUp((stream) => {
      stream.respond({ ':status': 200, 'grpc-status': '5' }, { endStream: true });
    });

    expect((await call(session, 'DescribeNamespace')).headers?.['grpc-status']).toBe('5');
  });

  it('names the activity of a task that is taken and answered, compressed or not', async () => {
    for (const compressed of [false, true]) {
      const passed: string[] = [];
      const { session, proxy } = await setUp(
        (stream, method) => answer(stream, method.startsWith('Poll') ? task : new Uint8Array(), compressed),
        ({ key, occurrence }, side) => void passed.push(`${side} ${key} #${String(occurrence)}`),
      );
      await call(session, 'PollActivityTaskQueue');
      await call(session, 'RecordActivityTaskHeartbeat');
      await call(session, 'RespondActivityTaskCompleted', completed);

      expect(passed).toEqual([
        'after PollActivityTaskQueue updateBatch #1',
        'before RespondActivityTaskCompleted updateBatch #1',
        'after RespondActivityTaskCompleted updateBatch #1',
      ]);
      expect(proxy.calls).toHaveLength(2);
    }
  });

  it('a poll that brings nothing is no call; a long poll stays open, and ends when the worker gives up', async () => {
    let ended: (() => void) | undefined;
    const upstreamEnded = new Promise<void>((resolve) => (ended = resolve));
    const { session, proxy } = await setUp((stream, method) => {
      if (method === 'PollWorkflowTaskQueue') {
        answer(stream, service.PollWorkflowTaskQueueResponse.encode({}).finish());
      } else {
        stream.once('close', () => ended?.());
      }
    });
    await call(session, 'PollWorkflowTaskQueue');
    const poll = session.request({ ':method': 'POST', ':path': '/x/PollActivityTaskQueue' });
    poll.on('error', () => undefined);
    poll.end(frame(new Uint8Array()));
    setTimeout(() => poll.close(8), 100);
    await upstreamEnded;

    expect(proxy.calls).toEqual([]);
  });

  it('stopped before: the server never sees the call; stopped after: it does, and the worker does not learn of it', async () => {
    for (const stop of ['before', 'after']) {
      const { session, proxy, seen } = await setUp(
        (stream) => answer(stream, new Uint8Array()),
        (_, side) => (side === stop ? proxyOf().closeToWorker() : undefined),
      );
      const proxyOf = () => proxy;
      const { headers } = await call(session, 'StartWorkflowExecution');

      expect(headers).toBeUndefined();
      expect(seen).toEqual(stop === 'before' ? [] : ['StartWorkflowExecution']);
    }
  });

  it('holds a call up for as long as the promise is open', async () => {
    const order: string[] = [];
    const { session } = await setUp(
      (stream, method) => {
        order.push(method);
        answer(stream, new Uint8Array());
      },
      async ({ key }, side) => {
        if (side === 'before' && key === 'StartWorkflowExecution') {
          await call(session, 'SignalWorkflowExecution');
        }
      },
    );
    await call(session, 'StartWorkflowExecution');

    expect(order).toEqual(['SignalWorkflowExecution', 'StartWorkflowExecution']);
  });
});
