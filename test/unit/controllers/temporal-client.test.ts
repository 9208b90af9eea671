import { once } from 'node:events';
import { createServer } from 'node:http2';
import type { ServerHttp2Session } from 'node:http2';
import type { AddressInfo } from 'node:net';

import { expect, it } from '@jest/globals';

import { openConnection } from '../../../controllers/temporal-client.ts';

it('a connection to a server that takes calls and does not answer is closed, not only given up', async () => {
  const server = createServer();
  server.on('stream', () => undefined);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  try {
    const address = `127.0.0.1:${String((server.address() as AddressInfo).port)}`;
    const connected = once(server, 'session');
    const opening = openConnection({ address, connectTimeout: 500 });
    const [session] = (await connected) as [ServerHttp2Session];
    const closed = once(session, 'close');
    await expect(opening).rejects.toMatchObject({ cause: { code: 4 } });
    await closed;
  } finally {
    server.close();
  }
}, 10_000);
