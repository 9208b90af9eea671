import { once } from 'node:events';
import { request } from 'node:http';
import type { IncomingMessage, Server } from 'node:http';
import { connect } from 'node:net';
import type { AddressInfo } from 'node:net';

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Registry } from 'prom-client';

import { startHttpServer } from '../../../worker/http-server.ts';

let server: Server;

beforeEach(async () => {
  server = await startHttpServer({
    address: { host: '127.0.0.1', port: 0 },
    registry: new Registry(),
    health: () => [{ name: 'process', ok: true }],
    readiness: () => [{ name: 'watches', ok: false, message: 'silent: pods' }],
    mostConnections: 20,
  });
});
afterEach(async () => {
  server.close();
  server.closeAllConnections();
  await once(server, 'close');
});

/** `path` goes out as it is: `fetch` would make an address of it first. */
async function ask(
  path: string,
  method = 'GET',
  localAddress = '127.0.0.1',
): Promise<{ status: number | undefined; text: string }> {
  const { port } = server.address() as AddressInfo;
  const asked = request({ host: '127.0.0.1', port, path, method, localAddress, agent: false }).end();
  const [answer] = (await once(asked, 'response')) as [IncomingMessage];
  let text = '';
  for await (const chunk of answer.setEncoding('utf8')) text += String(chunk);
  return { status: answer.statusCode, text };
}

describe('metrics and probes over HTTP', () => {
  it.each(['//', '//[', 'http://[/', '/unknown', '*'])(
    'GET %s is not found and ends nothing',
    async (path) => {
      expect((await ask(path)).status).toBe(404);
      expect(await ask('/healthz')).toEqual({ status: 200, text: '[+] process\n' });
    },
  );

  it('says what fails, and answers with a query too', async () => {
    expect(await ask('/readyz?verbose')).toEqual({ status: 503, text: '[-] watches: silent: pods\n' });
    expect((await ask('/metrics')).status).toBe(200);
  });

  it('only reads', async () => {
    expect((await ask('/healthz', 'POST')).status).toBe(405);
  });

  it.each(['127.0.0.1', '127.0.0.2'])('answers %s whoever holds how many connections', async (address) => {
    const { port } = server.address() as AddressInfo;
    const idle = Array.from({ length: 50 }, () => connect(port, '127.0.0.1').on('error', () => undefined));
    await Promise.all(idle.map(async (socket) => await once(socket, 'connect')));
    expect((await ask('/healthz', 'GET', address)).status).toBe(200);
    const open = await new Promise((resolve) => {
      server.getConnections((_error, count) => resolve(count));
    });
    expect(open).toBeLessThanOrEqual(20);
    for (const socket of idle) socket.destroy();
  });
});
