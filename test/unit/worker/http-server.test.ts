import { once } from 'node:events';
import { request } from 'node:http';
import type { IncomingMessage, Server } from 'node:http';
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
  });
});
afterEach(async () => {
  server.close();
  server.closeAllConnections();
  await once(server, 'close');
});

/** `path` goes out as it is: `fetch` would make an address of it first. */
async function ask(path: string, method = 'GET'): Promise<{ status: number | undefined; text: string }> {
  const { port } = server.address() as AddressInfo;
  const asked = request({ host: '127.0.0.1', port, path, method }).end();
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
});
