/** Open runs and calls, behind a proxy that takes only so many streams on a connection. */

import { once, setMaxListeners } from 'node:events';
import { createServer } from 'node:http2';
import type { Http2Session, ServerHttp2Stream } from 'node:http2';
import type { AddressInfo } from 'node:net';

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { Client } from '@temporalio/client';

import { createTemporalClient } from '../../../worker/temporal-connection.ts';
import { eventually } from '../../support/eventually.ts';

/** Streams that a connection takes. */
const STREAMS = 60;
const RUNS = 2 * STREAMS;
const CALL_MS = 5_000;

describe('long polls of open runs', () => {
  const server = createServer({ settings: { maxConcurrentStreams: STREAMS } });
  const sessions = new Map<Http2Session, { polls: number; calls: number }>();
  const open = new Set<ServerHttp2Stream>();
  let client: Client;
  beforeEach(async () => {
    server.on('session', (session) => sessions.set(session, { polls: 0, calls: 0 }));
    server.on('stream', (stream, { ':path': path = '' }) => {
      const seen = stream.session && sessions.get(stream.session);
      if (path.endsWith('/GetWorkflowExecutionHistory')) {
        if (seen) seen.polls += 1;
        open.add(stream);
        stream.on('error', () => undefined).on('close', () => open.delete(stream));
        return;
      }
      if (seen) seen.calls += 1;
      stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true });
      stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
      stream.end(Buffer.alloc(5));
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const address = `127.0.0.1:${String((server.address() as AddressInfo).port)}`;
    client = createTemporalClient({ address, namespace: 'default', connectionOptions: { address } });
  });
  afterEach(async () => {
    await client.connection.close();
    for (const session of sessions.keys()) session.destroy();
    server.close();
  });

  const awaitRuns = async (count: number, signal: AbortSignal) => {
    setMaxListeners(0, signal);
    await client.withAbortSignal(signal, async () => {
      const handles = Array.from({ length: count }, (_, index) =>
        client.workflow.getHandle(`run-${String(index)}`),
      );
      await Promise.allSettled(handles.map(async (handle) => await handle.result()));
    });
  };

  it('hold up no call and no other run, and give their places back', async () => {
    const given = new AbortController();
    const first = awaitRuns(RUNS, given.signal);
    await eventually('every run is awaited', () => open.size === RUNS, CALL_MS);
    await client.withDeadline(Date.now() + CALL_MS, async () => {
      await client.workflowService.getSystemInfo({});
    });
    expect([...sessions.values()].filter(({ polls, calls }) => polls > 0 && calls > 0)).toEqual([]);
    const { size } = sessions;

    given.abort();
    await first;
    await eventually('none is awaited', () => open.size === 0, CALL_MS);
    const stopping = new AbortController();
    const second = awaitRuns(RUNS, stopping.signal);
    await eventually('every run is awaited again', () => open.size === RUNS, CALL_MS);
    expect(sessions.size).toBe(size);
    stopping.abort();
    await second;
  });
});
