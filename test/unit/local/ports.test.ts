/** Ports of servers that are started later: nobody who looks for some meanwhile may get the same. */

import { createServer } from 'node:net';
import type { Server } from 'node:net';

import { afterEach, describe, expect, it, jest } from '@jest/globals';

import { claimBlock, findFreePorts } from '../../../local/ports.ts';

const servers: Server[] = [];

async function listen(port: number): Promise<void> {
  const server = createServer();
  servers.push(server);
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(port, '127.0.0.1', resolve);
  });
}

async function closeAll(): Promise<void> {
  const closed = servers.splice(0).map(async (server) => await new Promise((done) => server.close(done)));
  await Promise.all(closed);
}

afterEach(async () => {
  jest.useRealTimers();
  await closeAll();
});

describe('free ports', () => {
  it('are other ones each time, before anybody listens on them', async () => {
    const ports: number[] = [];
    for (let time = 0; time < 60; time += 1) ports.push(...(await findFreePorts(15)));
    expect(ports).toHaveLength(900);
    expect(new Set(ports).size).toBe(900);
  });

  it('can be listened on at once', async () => {
    for (const port of await findFreePorts(3)) await listen(port);
    expect(servers).toHaveLength(3);
  });

  it('are held for a minute, and then as long as one of them is in use', async () => {
    jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate', 'queueMicrotask'] });
    const [port = 0] = await findFreePorts(1);
    const first = port - 1;
    expect(await claimBlock(first)).toBeUndefined();
    await listen(port + 7);
    jest.advanceTimersByTime(60_000);
    expect(await claimBlock(first)).toBeUndefined();
    await closeAll();
    expect(await claimBlock(first)).toContain(port);
  });

  it('come fifteen at a time, at most', async () => {
    await expect(findFreePorts(16)).rejects.toThrow('16 ports: at most 15 at once');
  });
});
