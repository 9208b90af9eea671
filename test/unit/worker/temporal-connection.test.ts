import { once } from 'node:events';
import { createServer } from 'node:http2';
import type { Http2Server, Http2Session } from 'node:http2';
import type { AddressInfo } from 'node:net';

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { Client } from '@temporalio/client';

import { connectWorker, createTemporalClient } from '../../../worker/temporal-connection.ts';
import { silentServer } from '../../support/silent-server.ts';

const CANCELLED = 1;
const DEADLINE_EXCEEDED = 4;
const UNAVAILABLE = '14';

describe('a server of Temporal that takes calls and does not answer', () => {
  let server: Http2Server;
  const sessions = new Set<Http2Session>();
  const asked: string[] = [];
  let client: Client;
  /** A signal was answered: that it is not to be had now. */
  let onRefused: () => void;
  beforeEach(async () => {
    server = createServer();
    asked.length = 0;
    server.on('session', (session) => sessions.add(session));
    server.on('stream', (stream, { ':path': path = '' }) => {
      asked.push(path.slice(path.lastIndexOf('/') + 1));
      // Answers what a client asks when it connects, and nothing else.
      if (path.endsWith('/GetSystemInfo')) {
        stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true });
        stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
        stream.end(Buffer.alloc(5));
      }
      if (path.endsWith('/SignalWorkflowExecution')) {
        const refusal = { 'grpc-status': UNAVAILABLE, 'content-type': 'application/grpc' };
        stream.respond({ ':status': 200, ...refusal }, { endStream: true });
        stream.once('close', () => onRefused());
      }
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const address = `127.0.0.1:${String((server.address() as AddressInfo).port)}`;
    client = createTemporalClient(
      { address, namespace: 'default', connectionOptions: { address } },
      { callMs: 200, longPollMs: 600 },
    );
  });
  afterEach(async () => {
    await client.connection.close();
    for (const session of sessions) session.destroy();
    server.close();
  });

  it('is waited for as long as an answer may take, and longer where it is the server that waits', async () => {
    const handle = client.workflow.getHandle('sync');
    const took = async (call: () => Promise<unknown>): Promise<number> => {
      const begun = performance.now();
      await expect(call()).rejects.toMatchObject({ cause: { code: DEADLINE_EXCEEDED } });
      return performance.now() - begun;
    };
    await client.connection.ensureConnected();
    const [query, result] = await Promise.all([
      took(async () => await handle.query('status')),
      took(async () => await handle.result()),
    ]);
    expect(query).toBeGreaterThanOrEqual(190);
    expect(result).toBeGreaterThanOrEqual(590);
    expect(query).toBeLessThan(result);
    expect(asked.sort()).toEqual(['GetSystemInfo', 'GetWorkflowExecutionHistory', 'QueryWorkflow']);
  });

  it('a call that is to be tried again when the connection is closed fails, and nothing else does', async () => {
    await client.connection.ensureConnected();
    const refused = new Promise<void>((resolve) => {
      onRefused = resolve;
    });
    const call = client.workflow.getHandle('sync').signal('pause');
    await refused;
    // The next try comes after a tenth of a second.
    await client.connection.close();
    await expect(call).rejects.toMatchObject({ cause: { code: CANCELLED } });
  });
});

it('a server that takes connections and says nothing holds no worker: it is told, and can be asked again', async () => {
  await using server = await silentServer();
  const address = new URL(server.url).host;
  const settings = { address, namespace: 'default', connectionOptions: { address } };
  const connecting = connectWorker(settings, new AbortController().signal, 500);
  await expect(connecting).rejects.toThrow(`Temporal at ${address} takes connections and does not answer`);
  expect(server.connections()).toBeGreaterThan(0);

  const stopping = new AbortController();
  const stopped = connectWorker(settings, stopping.signal);
  stopping.abort();
  await expect(stopped).rejects.toThrow('had not answered yet');
});
